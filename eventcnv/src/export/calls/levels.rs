//! Calls by the level of their recursion, as callgrind has it.
//!
//! ```text
//!  main ─ fib ─ fib ─ fib        fib: calls in no other call of fib       fib'2: calls in these
//!          │     └──────┴─ of the calls of fib'2, the outer one alone has a time
//!          └─ the time of fib
//! ```
//!
//! So the times of the calls of a function add up to its outermost time, and those of a level to at
//! most as much. Design: `.cnv.export.calls` in `design/eventcnv.md`.

use lens::calls::{Function, NONE, Node, Tree};
use std::collections::BTreeMap;

/// A function, outside of its own calls or in one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Level {
    pub(super) function: Function,
    pub(super) is_inner: bool,
}

/// No function: it calls those that no function calls.
pub(super) const OUTSIDE: Level = Level { function: NONE, is_inner: false };

/// The calls of a level of a function.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub(super) own: u64,
    /// Number and time of its calls of others.
    pub(super) called: BTreeMap<Level, (u64, u64)>,
}

/// The calls of a log by level.
#[derive(Clone, Debug, Default)]
pub(super) struct Levels {
    pub(super) records: BTreeMap<Level, Record>,
    /// The time in which any call ran that no other call with a time encloses.
    pub(super) time: u64,
}

/// What a node is in.
#[derive(Clone, Copy)]
struct Around {
    level: Level,
    has_time: bool,
}

impl Levels {
    /// Returns the calls of a tree. `same` has for each function the first one that a reader takes
    /// for the same, by its name.
    pub(super) fn of(tree: &Tree, same: &[Function]) -> Levels {
        let mut levels = Levels::default();
        let nodes = tree.nodes();
        // By node: the last child, and the child before.
        let (mut last, mut before) = (vec![Tree::ROOT; nodes.len()], vec![Tree::ROOT; nodes.len()]);
        for (at, node) in (0..).zip(nodes).skip(1) {
            let children = last.get_mut(node.parent as usize).zip(before.get_mut(at as usize));
            if let Some((last, before)) = children {
                *before = std::mem::replace(last, at);
            }
        }
        let get = |list: &[u32], at: u32| list.get(at as usize).copied().unwrap_or_default();
        // Calls around the current node, by function.
        let mut open = vec![0u32; same.len()];
        let mut path: Vec<(u32, Around)> = Vec::new();
        let mut at = get(&last, Tree::ROOT);
        loop {
            while let Some(node) = nodes.get(at as usize).filter(|_| at != Tree::ROOT) {
                let around = path.last().map(|(_, around)| *around);
                let function = get(same, node.function);
                let count = open.get_mut(function as usize).map_or(0, |count| {
                    *count += 1;
                    *count - 1
                });
                let is_shared = tree.is_shared(at);
                let around = if is_shared {
                    levels.add_shared(tree, node, same)
                } else {
                    levels.add(node, function, count, around)
                };
                path.push((at, around));
                at = get(&last, at);
            }
            let Some((inner, around)) = path.pop() else { break levels };
            if let Some(count) = open.get_mut(around.level.function as usize) {
                *count -= 1;
            }
            at = get(&before, inner);
        }
    }

    /// Adds the calls of a path; `count` others of its function are around it.
    fn add(
        &mut self,
        node: &Node,
        function: Function,
        count: u32,
        around: Option<Around>,
    ) -> Around {
        let around = around.unwrap_or(Around { level: OUTSIDE, has_time: false });
        let level = Level { function, is_inner: count > 0 };
        let time = if count < 2 { node.sum.total } else { 0 };
        self.count(around.level, level, node, time);
        if !around.has_time {
            self.time = self.time.saturating_add(node.sum.total);
        }
        Around { level, has_time: around.has_time || node.sum.timed > 0 }
    }

    /// Adds calls of several paths, for which the tree has the caller and what occurs above.
    fn add_shared(&mut self, tree: &Tree, node: &Node, same: &[Function]) -> Around {
        let one = |function: Function| same.get(function as usize).copied().unwrap_or(NONE);
        let caller = tree.edges().get(node.edge as usize).map_or(NONE, |(caller, _)| *caller);
        let caller = Level { function: one(caller), is_inner: node.is_edge_above };
        let level = Level { function: one(node.function), is_inner: node.is_function_above };
        let time = if node.is_function_above { 0 } else { node.sum.total };
        self.count(caller, level, node, time);
        Around { level, has_time: true }
    }

    fn count(&mut self, caller: Level, level: Level, node: &Node, time: u64) {
        if node.sum.count == 0 {
            return;
        }
        let own = &mut self.records.entry(level).or_default().own;
        *own = own.saturating_add(node.sum.own);
        let called = &mut self.records.entry(caller).or_default().called;
        let (count, sum) = called.entry(level).or_default();
        *count += node.sum.count;
        *sum = sum.saturating_add(time);
    }
}
