//! Random programs, from a seed that a failing test prints.
#![allow(dead_code)]

use lens_paths::graph::{BlockId, Builder, Edge, EdgeKind, FunctionId, Program};

/// Random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Returns whether one of `of` chances came true.
    pub fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// Returns a program of any shape: self loops, dead blocks, recursion, indirect and outside calls.
pub fn random_program(random: &mut Random, functions_max: usize, blocks_max: usize) -> Program {
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
                let kind = EdgeKind::WORDS[random.below(5)].0;
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
            if random.one_in(5) {
                builder.returns(*id, *from).unwrap();
            }
        }
    }
    builder.build().unwrap()
}
