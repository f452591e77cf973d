//! The call graph: sums for each function, and for each pair of caller and function.
//!
//! ```text
//!  nodes of the tree ──┬─ by function ──▶ count, total, own, outermost
//!                      └─ by edge ──────▶ the same
//! ```
//!
//! A call of a function that runs already counts in `total` again, and in `outermost` not. Design:
//! `.calls.graph` in `design/calls.md`.

use crate::calls::model::Function;
use crate::calls::tree::{Sum, Tree};

/// A function that called another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEdge {
    /// The caller.
    pub caller: Function,
    /// The function that it called.
    pub function: Function,
    /// The calls.
    pub sum: Sum,
}

/// The call graph of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    functions: Vec<Sum>,
    edges: Vec<CallEdge>,
}

impl Graph {
    /// Returns the call graph of a tree.
    pub fn of(tree: &Tree) -> Graph {
        let edge = |&(caller, function)| CallEdge { caller, function, sum: Sum::default() };
        let mut edges: Vec<CallEdge> = tree.edges().iter().map(edge).collect();
        let mut functions: Vec<Sum> = Vec::new();
        for node in tree.nodes().iter().skip(1) {
            let outermost = |is_above| if is_above { 0 } else { node.sum.total };
            let at = node.function as usize;
            if functions.len() <= at {
                functions.resize(at + 1, Sum::default());
            }
            if let Some(sum) = functions.get_mut(at) {
                sum.add(&Sum { outermost: outermost(node.is_function_above), ..node.sum });
            }
            if let Some(edge) = edges.get_mut(node.edge as usize) {
                edge.sum.add(&Sum { outermost: outermost(node.is_edge_above), ..node.sum });
            }
        }
        Graph { functions, edges }
    }

    /// Returns the sum of a function.
    pub fn function(&self, function: Function) -> Sum {
        self.functions.get(function as usize).copied().unwrap_or_default()
    }

    /// Returns the edges, by their numbers in the tree. Some may have no calls, as their calls are
    /// not selected.
    pub fn edges(&self) -> &[CallEdge] {
        &self.edges
    }
}
