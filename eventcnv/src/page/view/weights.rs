//! Weights: own times of calls, with those of all calls in them.
//!
//! ```text
//!  nodes of the tree: own + rest ── from the leaves to the root ──▶ nodes ──▶ functions, edges
//! ```
//!
//! A call in progress has the times of the calls that ended in it. Design: `.cnv.report.calls` in
//! `design/eventcnv.md`.

use lens::calls::{Graph, Node, Sum, Tree};

/// Own times, each with those of all calls in them.
pub(super) struct Weights {
    pub(super) nodes: Vec<u64>,
    /// Recursion counts once.
    pub(super) functions: Vec<u64>,
    pub(super) edges: Vec<u64>,
}

impl Weights {
    pub(super) fn new(tree: &Tree, graph: &Graph, function_count: usize) -> Weights {
        let weight = |node: &Node| node.sum.own.saturating_add(node.rest);
        let mut nodes: Vec<u64> = tree.nodes().iter().map(weight).collect();
        // A parent comes before its children. A shared node is below no path: its calls are in the
        // rest of others, and it has the calls in them in its total.
        for (at, node) in tree.nodes().iter().enumerate().skip(1).rev() {
            let Some(own) = nodes.get_mut(at) else { continue };
            if tree.is_shared(at as u32) {
                *own = node.sum.total;
                continue;
            }
            let own = *own;
            if let Some(parent) = nodes.get_mut(node.parent as usize) {
                *parent = parent.saturating_add(own);
            }
        }
        let (mut functions, mut edges) = (vec![0; function_count], vec![0; tree.edges().len()]);
        let add = |all: &mut Vec<u64>, at: u32, weight: u64| {
            if let Some(sum) = all.get_mut(at as usize) {
                *sum = weight.saturating_add(*sum);
            }
        };
        for (node, weight) in tree.nodes().iter().zip(&nodes).skip(1) {
            if !node.is_function_above {
                add(&mut functions, node.function, *weight);
            }
            if !node.is_edge_above {
                add(&mut edges, node.edge, *weight);
            }
        }
        if tree.is_full() {
            // The total of a shared node lacks its calls in progress.
            let raise = |weight: &mut u64, sum: &Sum| {
                *weight = sum.outermost.max(sum.own).max(*weight);
            };
            for (at, weight) in (0..).zip(&mut functions) {
                raise(weight, &graph.function(at));
            }
            edges.iter_mut().zip(graph.edges()).for_each(|(weight, edge)| raise(weight, &edge.sum));
        }
        Weights { nodes, functions, edges }
    }

    pub(super) fn of(all: &[u64], at: u32) -> u64 {
        all.get(at as usize).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::calls::reading::advance;
    use crate::open::select::Selection;
    use eventlog::reader::{Clock, Log};
    use lens::slices::Limits;
    use std::collections::HashMap;
    use std::convert::Infallible;

    /// `.cnv.report.calls`: calls of paths without a node of their own count for their callers.
    #[test]
    fn a_full_tree_has_the_weights_of_a_large_one() {
        let log =
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/calls/shop.log"));
        let log = Log::from_source(&log[..]).unwrap();
        let (clock, marks) = (Clock::new(&log), lens::calls::marks(&log, false));
        let mut truth: Vec<HashMap<Vec<u32>, u64>> = Vec::new();
        for node_count_max in [1000, 0, 1, 3, 5] {
            let mut calls =
                lens::calls::Calls::with_limits(&log, &marks, Limits::default(), node_count_max);
            let selection = Selection::all(false, false);
            let mut take = |_: &_, _: lens::calls::Told<'_>| Ok::<(), Infallible>(());
            let Ok(_) = advance(&log, &clock, &marks, &selection, &mut calls, &mut take);
            let _ = calls.finish(&mut |_, _| {});
            let (tree, graph) = (calls.tree(), Graph::of(calls.tree()));
            assert_eq!(tree.is_full(), node_count_max < 1000);
            let weights = Weights::new(tree, &graph, calls.functions().count());
            let all = Weights::of(&weights.nodes, Tree::ROOT);
            assert!(all > 0);
            // Each path that has a node has the weight that it has in a large tree.
            let path = |mut at: u32| {
                let node = |at: u32| tree.nodes().get(at as usize).expect("a node");
                let mut path = Vec::new();
                while at != Tree::ROOT {
                    path.push(node(at).function);
                    at = node(at).parent;
                }
                path
            };
            let own_nodes = (0..tree.nodes().len() as u32).filter(|at| !tree.is_shared(*at));
            let own_nodes = own_nodes.map(|at| (path(at), Weights::of(&weights.nodes, at)));
            let own_nodes: HashMap<_, _> = own_nodes.collect();
            assert_eq!(own_nodes.len(), tree.nodes().len().min(node_count_max + 1));
            truth.push(own_nodes);
            let [large, .., small] = &*truth else { continue };
            assert!(small.iter().all(|(path, weight)| large.get(path) == Some(weight)));
            let totals = calls.functions().iter().map(|(at, _)| (at, graph.function(at)));
            let totals = totals.map(|(at, sum)| (sum, Weights::of(&weights.functions, at)));
            let edges = (0..).zip(graph.edges());
            let edges = edges.map(|(at, edge)| (edge.sum, Weights::of(&weights.edges, at)));
            for (sum, total) in totals.chain(edges) {
                assert!(sum.own.max(sum.outermost) <= total && total <= all, "{sum:?} {total}");
            }
        }
    }
}
