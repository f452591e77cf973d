//! Random programs, from a seed that a failing test prints.
#![allow(dead_code)]

pub(crate) mod executions;
pub(crate) mod run;

use lens_paths::Profile;
use lens_paths::graph::{BlockId, Builder, Edge, EdgeKind, ElementId, FunctionId, Program};

/// Random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Returns whether one of `of` chances came true.
    pub(crate) fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// Returns a program of any shape: self loops, dead blocks, recursion, indirect and outside calls.
pub(crate) fn random_program(
    random: &mut Random,
    functions_max: usize,
    blocks_max: usize,
) -> Program {
    let mut builder = Builder::default();
    let count = 1 + random.below(functions_max);
    let ids: Vec<FunctionId> =
        (0..count).map(|n| builder.function(&format!("f{n}"), None).unwrap()).collect();
    for id in &ids {
        let blocks: Vec<BlockId> = (0..1 + random.below(blocks_max))
            .map(|n| {
                let address = (n % 3 == 0).then_some(n as u64 * 16);
                let label = (n % 4 == 1).then(|| format!("label {n}"));
                builder.block(*id, address, label.as_deref()).unwrap()
            })
            .collect();
        for from in &blocks {
            for _ in 0..[0, 1, 1, 2, 2, 3][random.below(6)] {
                let to = blocks[random.below(blocks.len())];
                let kind = EdgeKind::WORDS[random.below(4)].0;
                let weight = random.one_in(2).then(|| random.below(100) as u64);
                let edge = Edge { from: *from, to, kind, weight };
                builder.weighted_edge(*id, edge).unwrap();
            }
            if random.one_in(4) {
                builder.call(*id, *from, ids[random.below(ids.len())]).unwrap();
            }
            if random.one_in(12) {
                builder.call_outside(*id, *from).unwrap();
            }
            if Some(from) == blocks.last() || random.one_in(6) {
                builder.returns(*id, *from).unwrap();
            }
        }
    }
    builder.build().unwrap()
}

/// Returns a program of one function: node 0 is its entry, the last one returns.
pub(crate) fn function_of(node_count: usize, edges: &[(u32, u32)]) -> Program {
    let mut builder = Builder::default();
    let main = builder.function("main", None).unwrap();
    let blocks: Vec<BlockId> =
        (0..node_count).map(|_| builder.block(main, None, None).unwrap()).collect();
    for (from, to) in edges {
        builder.edge(main, BlockId(*from), BlockId(*to), EdgeKind::Jump).unwrap();
    }
    builder.returns(main, blocks[node_count - 1]).unwrap();
    builder.build().unwrap()
}

/// Returns the lines of a packed recording.
pub(crate) fn recorded(packed: &[u8]) -> Vec<String> {
    let mut all = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(packed), &mut all).unwrap();
    all.lines().map(str::to_owned).collect()
}

/// Returns a profile of some of a program's elements, each with a chance of one in `of`.
pub(crate) fn random_profile(random: &mut Random, program: &Program, of: usize) -> Profile {
    let elements = (0..program.element_count() as u32).map(ElementId);
    Profile::of(elements.filter(|_| random.one_in(of)).collect::<Vec<_>>())
}
