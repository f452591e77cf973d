//! The calling-context tree: counts and times for each path of calls.
//!
//! ```text
//!  root ─ main ─┬─ sell ─ hash       a node: path main, sell, hash
//!               └─ hash              another node: path main, hash
//! ```
//!
//! A full tree gives a further path one node with all others of the same caller and function. So
//! the sums of functions and edges stay exact. The innermost node around it that is one path's own
//! keeps its time. Design: `.calls.tree` in `design/calls.md`.

use crate::calls::model::{Function, NONE};
use crate::slices::Verdict;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Nodes with a path of their own, at most: about 100 bytes each.
pub const NODE_COUNT_MAX: usize = 1 << 19;
/// Pairs of caller and function, at most; further ones are one pair, of no functions.
const EDGE_COUNT_MAX: usize = 1 << 20;

/// Counts and times of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// All calls.
    pub count: u64,
    /// Those with a time.
    pub timed: u64,
    /// Those that were open at the end of the log.
    pub unfinished: u64,
    /// Those without a time for other reasons.
    pub doubtful: u64,
    /// Those that a panic ended.
    pub unwound: u64,
    /// Their time in ns, with that of the calls in them.
    pub total: u64,
    /// Their time in ns, without that of the calls in them.
    pub own: u64,
    /// Their time in ns, of those that no call of the same kind encloses.
    pub outermost: u64,
}

impl Sum {
    /// Adds the sum of other calls.
    pub fn add(&mut self, other: &Sum) {
        self.count += other.count;
        self.timed += other.timed;
        self.unfinished += other.unfinished;
        self.doubtful += other.doubtful;
        self.unwound += other.unwound;
        self.total = self.total.saturating_add(other.total);
        self.own = self.own.saturating_add(other.own);
        self.outermost = self.outermost.saturating_add(other.outermost);
    }

    /// Returns the mean time in ns.
    pub fn mean(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.total as f64 / self.timed as f64)
    }
}

/// What of a new node occurs above it on its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Above {
    /// Its function.
    pub(crate) function: bool,
    /// Its function, with the same caller.
    pub(crate) edge: bool,
}

/// A path of calls.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The innermost function.
    pub function: Function,
    /// The node without that function; the root is its own parent.
    pub parent: u32,
    /// The pair of caller and function, by its number in [`Tree::edges`].
    pub edge: u32,
    /// The calls on this path. Its `outermost` is empty.
    pub sum: Sum,
    /// The own time of the calls below it whose paths share nodes, in ns.
    pub rest: u64,
    /// Whether its function, and its edge, occur above it too.
    pub is_function_above: bool,
    /// As `is_function_above`, of the edge.
    pub is_edge_above: bool,
}

/// The children of a node that were found last. They are apart from the nodes, because a small
/// table stays in the processor's cache.
type Recent = [(Function, u32); 2];

/// No children: no function has this number.
const NO_CHILDREN: Recent = [(Function::MAX, Tree::ROOT); 2];

/// The calling-context tree.
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    /// By node.
    recent: Vec<Recent>,
    children: HashMap<(u32, Function), u32, RandomState>,
    /// Nodes of a full tree, by edge.
    shared: HashMap<(u32, Above), u32, RandomState>,
    edges: Vec<(Function, Function)>,
    edge_places: HashMap<(Function, Function), u32, RandomState>,
    node_count_max: usize,
    /// The first node of several paths: all nodes from it on are such.
    first_shared: u32,
}

impl Tree {
    /// The node of no calls.
    pub const ROOT: u32 = 0;

    /// Returns a tree with a limit for its nodes.
    pub fn new(node_count_max: usize) -> Tree {
        let root = Node {
            function: NONE,
            parent: Tree::ROOT,
            edge: 0,
            sum: Sum::default(),
            rest: 0,
            is_function_above: false,
            is_edge_above: false,
        };
        Tree {
            nodes: vec![root],
            recent: vec![NO_CHILDREN],
            children: HashMap::default(),
            shared: HashMap::default(),
            edges: vec![(NONE, NONE)],
            edge_places: HashMap::from_iter([((NONE, NONE), 0)]),
            node_count_max,
            first_shared: u32::MAX,
        }
    }

    /// Returns all nodes, the root first. The parent of a node comes before it.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns all pairs of a caller and a function. The first one is that of no functions.
    pub fn edges(&self) -> &[(Function, Function)] {
        &self.edges
    }

    /// Returns the pair of a node's caller and function, by its number, and the caller in the pair.
    #[inline]
    pub(crate) fn edge_of(&self, node: u32) -> (u32, Function) {
        let edge = self.nodes.get(node as usize).map_or(0, |node| node.edge);
        (edge, self.edges.get(edge as usize).map_or(NONE, |(caller, _)| *caller))
    }

    /// Returns whether some nodes stand for several paths.
    pub fn is_full(&self) -> bool {
        self.first_shared < u32::MAX
    }

    /// Returns whether a node stands for several paths.
    #[inline]
    pub fn is_shared(&self, node: u32) -> bool {
        node >= self.first_shared
    }

    /// Returns the node of a call of `function` in a call of the node `parent`. `above` is given
    /// the edge and the caller of a new node.
    #[inline]
    pub(crate) fn child(
        &mut self,
        parent: u32,
        function: Function,
        above: impl FnOnce(u32, Function) -> Above,
    ) -> u32 {
        let Some(recent) = self.recent.get_mut(parent as usize) else { return Tree::ROOT };
        if let Some((_, child)) = recent.iter().find(|(known, _)| *known == function) {
            return *child;
        }
        match self.children.get(&(parent, function)) {
            Some(child) => {
                *recent = [(function, *child), recent[0]];
                *child
            }
            None => self.add(parent, function, above),
        }
    }

    #[cold]
    fn add(
        &mut self,
        parent: u32,
        function: Function,
        above: impl FnOnce(u32, Function) -> Above,
    ) -> u32 {
        let caller = self.nodes.get(parent as usize).map_or(NONE, |node| node.function);
        let edge = self.edge(caller, function);
        let above = above(edge, caller);
        let is_full = self.children.len() >= self.node_count_max;
        if is_full {
            self.first_shared = self.first_shared.min(self.nodes.len() as u32);
            if let Some(node) = self.shared.get(&(edge, above)) {
                return *node;
            }
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(Node {
            function,
            parent: if is_full { Tree::ROOT } else { parent },
            edge,
            sum: Sum::default(),
            rest: 0,
            is_function_above: above.function,
            is_edge_above: above.edge,
        });
        self.recent.push(NO_CHILDREN);
        if is_full {
            self.shared.insert((edge, above), node);
        } else {
            self.children.insert((parent, function), node);
        }
        node
    }

    fn edge(&mut self, caller: Function, function: Function) -> u32 {
        if let Some(edge) = self.edge_places.get(&(caller, function)) {
            return *edge;
        }
        if self.edges.len() >= EDGE_COUNT_MAX {
            return 0;
        }
        self.edges.push((caller, function));
        let edge = self.edges.len() as u32 - 1;
        self.edge_places.insert((caller, function), edge);
        edge
    }

    /// Counts a call of a node, in a call of the node `home` if it is shared.
    #[inline]
    pub(crate) fn count(
        &mut self,
        node: u32,
        home: u32,
        verdict: Verdict,
        times: Option<(u64, u64)>,
        is_unwound: bool,
    ) {
        let Some(Node { sum, .. }) = self.nodes.get_mut(node as usize) else { return };
        sum.count += 1;
        sum.unwound += u64::from(is_unwound);
        match (times, verdict) {
            (Some((total, own)), _) => {
                sum.timed += 1;
                sum.total = sum.total.saturating_add(total);
                sum.own = sum.own.saturating_add(own);
            }
            (None, Verdict::Unfinished) => sum.unfinished += 1,
            (None, _) => sum.doubtful += 1,
        }
        if node >= self.first_shared
            && let Some((_, own)) = times
            && let Some(home) = self.nodes.get_mut(home as usize)
        {
            home.rest = home.rest.saturating_add(own);
        }
    }

    /// Returns the number of calls around those of a node.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths: Vec<u32> = vec![0; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().skip(1) {
            let above = depths.get(node.parent as usize).copied().unwrap_or(0);
            if let Some(depth) = depths.get_mut(at) {
                *depth = if node.parent == Tree::ROOT { 0 } else { above + 1 };
            }
        }
        depths
    }
}
