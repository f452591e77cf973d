//! Lets the functions of a binary be a graph, and keeps where each block lies.
//!
//! ```text
//!  Binary ── which functions ──▶ graph::Program, blocks by address
//!                            └─▶ functions outside: not chosen, or not fully known
//! ```

use super::code::{Binary, Block, Ends, Function};
use super::draft::Trouble;
use super::flow::{Callee, returns_twice, unwinds};
use crate::graph::{self, BlockId, Builder, EdgeKind, FunctionId, GraphError};
use std::collections::{BTreeMap, BTreeSet};

/// A function that the graph leaves out. Calls of it are calls of code outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its address.
    pub start: u64,
    /// Its name.
    pub name: String,
    /// Why its edges may be incomplete; empty if it was not chosen.
    pub troubles: Vec<Trouble>,
}

/// The graph of a binary, and where its parts lie.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The graph.
    pub program: graph::Program,
    /// The blocks of each function of the graph, by their numbers.
    pub blocks: Vec<Vec<Block>>,
    /// The chosen functions that code outside may call: their beginnings and names.
    pub callable: BTreeMap<u64, String>,
    /// Where the program goes on when a callee throws, and whether that is in a function of the
    /// graph.
    pub landings: BTreeMap<u64, bool>,
    /// Whether the root is the program's `main`.
    pub is_main: bool,
    /// The functions that the graph leaves out.
    pub left: Vec<Left>,
}

impl Chart {
    /// Makes the graph of the functions that a caller chooses by their names. The root is always
    /// chosen.
    ///
    /// # Errors
    ///
    /// The graph is too large, or the root itself is not fully known.
    pub fn new(binary: &Binary, is_chosen: impl Fn(&str) -> bool) -> Result<Chart, GraphError> {
        let is_inside = |own: &&Function| {
            own.troubles.is_empty()
                && (own.start == binary.root || is_chosen(&own.name) && !is_leap(&own.name))
        };
        let inside: Vec<&Function> = binary.functions.values().filter(is_inside).collect();
        let numbers: BTreeMap<u64, FunctionId> =
            inside.iter().map(|own| own.start).zip((0..).map(FunctionId)).collect();
        let left: Vec<Left> = binary
            .functions
            .values()
            .filter(|own| !numbers.contains_key(&own.start))
            .map(|own| Left {
                start: own.start,
                name: own.name.clone(),
                troubles: own.troubles.clone(),
            })
            .collect();
        let mut builder = Builder::default();
        let mut names = BTreeSet::new();
        for own in &inside {
            let is_new = names.insert(own.name.clone());
            let name =
                if is_new { own.name.clone() } else { format!("{}@{:x}", own.name, own.start) };
            builder.function(&name, Some(own.start))?;
        }
        let taken: Vec<FunctionId> = inside
            .iter()
            .filter(|own| own.is_taken)
            .filter_map(|own| numbers.get(&own.start).copied())
            .collect();
        for own in &inside {
            let Some(id) = numbers.get(&own.start) else { continue };
            add(&mut builder, *id, own, &numbers, &taken)?;
        }
        if let Some(root) = numbers.get(&binary.root) {
            builder.main(*root)?;
        }
        Ok(Chart {
            program: builder.build()?,
            blocks: inside.iter().map(|own| blocks(binary, own)).collect(),
            callable: callable(binary, &numbers, is_chosen),
            landings: landings(binary, &inside),
            is_main: binary.is_main,
            left,
        })
    }

    /// Returns a block of the binary.
    pub fn block(&self, function: FunctionId, block: BlockId) -> Option<&Block> {
        self.blocks.get(function.0 as usize)?.get(block.0 as usize)
    }
}

/// Returns the chosen functions that code outside may call: those that the image names, and those
/// that its functions outside the graph call.
fn callable(
    binary: &Binary,
    inside: &BTreeMap<u64, FunctionId>,
    is_chosen: impl Fn(&str) -> bool,
) -> BTreeMap<u64, String> {
    let named = binary.named.iter().filter(|(_, name)| is_chosen(name));
    let outside = binary.functions.values().filter(|own| !inside.contains_key(&own.start));
    let called = outside.flat_map(|own| &own.blocks).filter_map(|block| match &block.ends {
        Ends::Call { callee: Callee::Own(at), .. } | Ends::Tail(Callee::Own(at)) => Some(*at),
        _ => None,
    });
    let called = called.filter(|at| inside.contains_key(at));
    let called = called.filter_map(|at| Some((at, binary.functions.get(&at)?.name.clone())));
    named.map(|(at, name)| (*at, name.clone())).chain(called).collect()
}

/// Returns whether a function, in a static program one of the image, jumps out of calls, or is
/// where such a jump arrives.
fn is_leap(name: &str) -> bool {
    unwinds(name) || returns_twice(name)
}

/// Returns the blocks of a function. Functions that jump out of calls are called by their names.
fn blocks(binary: &Binary, own: &Function) -> Vec<Block> {
    let mut all = own.blocks.clone();
    for block in &mut all {
        if let Ends::Call { callee, .. } | Ends::Tail(callee) = &mut block.ends
            && let Callee::Own(at) = callee
            && let Some(called) = binary.functions.get(at).filter(|own| is_leap(&own.name))
        {
            *callee = Callee::Import(called.name.clone());
        }
    }
    all
}

/// Returns the landing pads, and whether each is one of a function of the graph.
fn landings(binary: &Binary, inside: &[&Function]) -> BTreeMap<u64, bool> {
    let starts: BTreeSet<u64> =
        inside.iter().flat_map(|own| &own.blocks).map(|block| block.start).collect();
    let is_inside = |(start, end): (u64, u64)| starts.range(start..end.max(start)).next().is_some();
    binary.landings.iter().map(|(pad, code)| (*pad, is_inside(*code))).collect()
}

/// Adds the blocks, edges and calls of a function.
fn add(
    builder: &mut Builder,
    id: FunctionId,
    own: &Function,
    numbers: &BTreeMap<u64, FunctionId>,
    taken: &[FunctionId],
) -> Result<(), GraphError> {
    let blocks: BTreeMap<u64, BlockId> =
        own.blocks.iter().map(|block| block.start).zip((0..).map(BlockId)).collect();
    for block in &own.blocks {
        builder.block(id, Some(block.start), None)?;
    }
    for (block, from) in own.blocks.iter().zip((0..).map(BlockId)) {
        for (to, kind) in successors(&block.ends) {
            if let Some(to) = blocks.get(&to) {
                builder.edge(id, from, *to, kind)?;
            }
        }
        let callee = match &block.ends {
            Ends::Call { callee, .. } | Ends::Tail(callee) => callee,
            _ => {
                if block.ends == Ends::Return {
                    builder.returns(id, from)?;
                }
                continue;
            }
        };
        match callee {
            Callee::Own(at) => match numbers.get(at) {
                Some(target) => builder.call(id, from, *target)?,
                None => builder.call_outside(id, from)?,
            },
            Callee::Import(_) => builder.call_outside(id, from)?,
            Callee::Indirect => {
                for target in taken {
                    builder.call(id, from, *target)?;
                }
                builder.call_outside(id, from)?;
            }
        }
        if matches!(block.ends, Ends::Tail(_)) {
            builder.returns(id, from)?;
        }
    }
    Ok(())
}

fn successors(ends: &Ends) -> Vec<(u64, EdgeKind)> {
    match ends {
        Ends::Next(next) | Ends::Jump(next) | Ends::Call { back: Some(next), .. } => {
            vec![(*next, EdgeKind::Jump)]
        }
        Ends::Branch { taken, next } => {
            vec![(*taken, EdgeKind::Taken), (*next, EdgeKind::Next)]
        }
        Ends::Table(targets) => targets.iter().map(|to| (*to, EdgeKind::Case)).collect(),
        Ends::Call { back: None, .. } | Ends::Tail(_) | Ends::Return | Ends::Stop => Vec::new(),
    }
}
