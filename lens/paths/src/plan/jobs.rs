//! Jobs: groups of forks that one machine tells.
//!
//! Design: `.paths.jobs` in `design/paths.md`.

use super::Strategy;
use crate::graph::{EdgeId, Function};
use crate::points::{Fork, Points, Way};
use std::collections::BTreeMap;

/// Returns the forks of each job, by their indexes.
pub(crate) fn jobs(points: &Points<'_>, forks: &[Fork], strategy: Strategy) -> Vec<Vec<u32>> {
    let mut groups: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
    let mut parts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (index, fork) in (0..).zip(forks) {
        let function = fork.function.0;
        let group = match strategy {
            Strategy::Single => (0, 0),
            Strategy::Fine => (function, index),
            Strategy::Functions => (function, 0),
            Strategy::Grouped => {
                let own = points.program.function(fork.function);
                let parts = parts.entry(function).or_insert_with(|| own.map_or(vec![], connected));
                let mut edge = None;
                points.ways(*fork, |way| match way {
                    Way::Edge(EdgeId(at)) if edge.is_none() => edge = parts.get(at as usize),
                    _ => {}
                });
                (function, edge.map_or(u32::MAX - index, |part| *part))
            }
        };
        groups.entry(group).or_default().push(index);
    }
    groups.into_values().collect()
}

/// Returns the part of each edge: edges on one simple circle without directions are in one part,
/// and so are the edges that leave one block.
fn connected(function: &Function) -> Vec<u32> {
    let count = function.blocks().len();
    let mut touching: Vec<Vec<(u32, u32)>> = vec![Vec::new(); count];
    for (at, edge) in (0..).zip(function.edges()) {
        touching[edge.from.0 as usize].push((at, edge.to.0));
        touching[edge.to.0 as usize].push((at, edge.from.0));
    }
    let mut part = super::links::Joined::new(function.edges().len());
    let (mut order, mut low) = (vec![0u32; count], vec![0u32; count]);
    let (mut time, mut stack) = (0, Vec::<u32>::new());
    for root in 0..count {
        if order[root] != 0 {
            continue;
        }
        (time, order[root], low[root]) = (time + 1, time + 1, time + 1);
        // A block, the edge that led to it, the next edge to look at.
        let mut work = vec![(root, u32::MAX, 0usize)];
        while let Some((block, from, at)) = work.last_mut() {
            let (block, from) = (*block, *from);
            if let Some(&(edge, next)) = touching[block].get(*at) {
                *at += 1;
                let next = next as usize;
                if edge == from {
                } else if order[next] == 0 {
                    (time, order[next], low[next]) = (time + 1, time + 1, time + 1);
                    stack.push(edge);
                    work.push((next, edge, 0));
                } else if order[next] < order[block] {
                    stack.push(edge);
                    low[block] = low[block].min(order[next]);
                }
                continue;
            }
            work.pop();
            let Some((parent, ..)) = work.last() else { break };
            low[*parent] = low[*parent].min(low[block]);
            if low[block] >= order[*parent] {
                let begin = stack.iter().rposition(|edge| *edge == from).unwrap_or(0);
                for edge in stack.split_off(begin) {
                    part.join(edge, from);
                }
            }
        }
    }
    for block in (0..count as u32).map(crate::graph::BlockId) {
        let range = function.range(block);
        for edge in range.clone() {
            part.join(edge as u32, range.start as u32);
        }
    }
    (0..function.edges().len() as u32).map(|edge| part.find(edge)).collect()
}
