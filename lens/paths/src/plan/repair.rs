//! Repairs a profile until the condition holds at some forks.
//!
//! Design: `.paths.repair` in `design/paths.md`.

use super::Kind;
use super::prune::first_of;
use crate::condition::{like_others, pairs_of, tells};
use crate::first::TooLarge;
use crate::graph::{BlockId, EdgeId, Element, ElementId};
use crate::points::{Fork, Points, Way};
use crate::weights::{Weights, element_of};
use core::cmp::Reverse;
use std::collections::BTreeSet;

/// Returns how many pairs of ways of some forks a profile does not tell apart.
pub(crate) fn clash_count(
    points: &Points<'_>,
    witnesses: &BTreeSet<ElementId>,
    forks: &[Fork],
) -> Result<usize, TooLarge> {
    let first = first_of(points, witnesses, forks)?;
    Ok(forks.iter().map(|fork| pairs_of(points, &first, *fork).len()).sum())
}

/// Adds witnesses until all ways of some forks are told apart, as far as the kind allows it: ways
/// that would cost most stay without. More witnesses never make a way less clear.
pub(crate) fn repair(
    points: &Points<'_>,
    weights: &Weights,
    kind: Kind,
    witnesses: &mut BTreeSet<ElementId>,
    forks: &[Fork],
) -> Result<(), TooLarge> {
    loop {
        let first = first_of(points, witnesses, forks)?;
        let mut seen = first.seen();
        let before = witnesses.len();
        for fork in forks {
            if tells(points, &first, *fork, &mut seen) {
                continue;
            }
            // Those that cannot have one first, then the dearest.
            let cost = |way: &Way| {
                let own = lacking(points, kind, witnesses, *fork, *way);
                (!own.is_empty(), Reverse(weights.cost(own)))
            };
            let mut ways = points.ways_of(*fork);
            ways.reverse();
            ways.sort_by_cached_key(cost);
            like_others(points, (&first, *fork), &ways, &mut seen, |way| {
                let own = lacking(points, kind, witnesses, *fork, way);
                witnesses.extend(own);
                true
            });
        }
        if witnesses.len() == before {
            return Ok(());
        }
    }
}

/// Returns the witnesses that a way has and a profile lacks.
fn lacking(
    points: &Points<'_>,
    kind: Kind,
    witnesses: &BTreeSet<ElementId>,
    fork: Fork,
    way: Way,
) -> Vec<ElementId> {
    let mut elements = Vec::new();
    let mut add = |way: Way| match kind {
        Kind::Edges => elements.extend(element_of(fork.function, way)),
        Kind::Blocks => elements.extend(block_of(points, fork, way)),
    };
    match way {
        // Every way after the call.
        Way::Outside => points.ways(Fork { is_call: false, ..fork }, add),
        way => add(way),
    }
    let ids = elements.into_iter().filter_map(|element| points.program.id(element));
    ids.filter(|id| !witnesses.contains(id)).collect()
}

/// Returns all witnesses that some ways of a fork can have.
pub(crate) fn of_ways(
    points: &Points<'_>,
    kind: Kind,
    fork: Fork,
    ways: &[Way],
) -> BTreeSet<ElementId> {
    let none = BTreeSet::new();
    ways.iter().flat_map(|way| lacking(points, kind, &none, fork, *way)).collect()
}

/// Returns the block that a way begins with.
fn block_of(points: &Points<'_>, fork: Fork, way: Way) -> Option<Element> {
    let (function, block) = match way {
        Way::Edge(EdgeId(edge)) => {
            let own = points.program.function(fork.function)?;
            (fork.function, own.edges().get(edge as usize)?.to)
        }
        Way::Into(callee) => (callee, points.program.function(callee)?.entry()),
        Way::Return | Way::Stop | Way::Outside => return None,
    };
    Some(Element::Block(function, BlockId(block.0)))
}
