//! Repairs a profile until the condition holds at some forks; removes spare witnesses.
//!
//! Design: `.paths.repair` in `design/paths.md`.

use super::Kind;
use crate::condition::pairs_of;
use crate::first::{First, TooLarge};
use crate::graph::{BlockId, EdgeId, Element, ElementId};
use crate::points::{Fork, Points, Way};
use crate::profile::Profile;
use crate::weights::{Weights, element_of};
use std::collections::BTreeSet;

/// Returns whether a profile tells all ways of some forks.
pub(crate) fn tells(
    points: &Points<'_>,
    witnesses: &BTreeSet<ElementId>,
    forks: &[Fork],
) -> Result<bool, TooLarge> {
    let first = First::new(points, &Profile::of(witnesses.iter().copied()))?;
    Ok(forks.iter().all(|fork| pairs_of(points, &first, *fork).is_empty()))
}

/// Returns how many pairs of ways of some forks a profile does not tell apart.
pub(crate) fn clash_count(
    points: &Points<'_>,
    witnesses: &BTreeSet<ElementId>,
    forks: &[Fork],
) -> Result<usize, TooLarge> {
    let first = First::new(points, &Profile::of(witnesses.iter().copied()))?;
    Ok(forks.iter().map(|fork| pairs_of(points, &first, *fork).len()).sum())
}

/// Adds witnesses until all ways of some forks are told apart, as far as the kind allows it: of two
/// ways the cheaper one first. More witnesses never make a way less clear.
pub(crate) fn repair(
    points: &Points<'_>,
    weights: &Weights,
    kind: Kind,
    witnesses: &mut BTreeSet<ElementId>,
    forks: &[Fork],
) -> Result<(), TooLarge> {
    loop {
        let first = First::new(points, &Profile::of(witnesses.iter().copied()))?;
        let before = witnesses.len();
        for fork in forks {
            for (one, other) in pairs_of(points, &first, *fork) {
                let ways = [one, other].map(|way| lacking(points, kind, witnesses, *fork, way));
                let cheapest = ways.into_iter().filter(|own| !own.is_empty());
                let cheapest = cheapest.min_by_key(|own| weights.cost(own.iter().copied()));
                witnesses.extend(cheapest.into_iter().flatten());
            }
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

/// Removes witnesses without which the ways of some forks are still told apart, the dearest first,
/// as long as the budget of points to visit lasts.
pub(crate) fn prune(
    points: &Points<'_>,
    weights: &Weights,
    witnesses: &mut BTreeSet<ElementId>,
    forks: &[Fork],
    budget: &mut usize,
) -> Result<(), TooLarge> {
    let mut order: Vec<ElementId> = witnesses.iter().copied().collect();
    order.sort_by_key(|own| core::cmp::Reverse(weights.of(*own)));
    for element in order {
        if *budget < points.count() {
            break;
        }
        *budget -= points.count();
        witnesses.remove(&element);
        if !tells(points, witnesses, forks)? {
            witnesses.insert(element);
        }
    }
    Ok(())
}
