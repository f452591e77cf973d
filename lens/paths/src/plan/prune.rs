//! Removes witnesses that the ways of some forks are told apart without.
//!
//! ```text
//!  no first letter of these ways? ─▶ removed, all at once
//!  dearest first: the next letters in its place clash? ─▶ kept
//!                 does the condition hold without it? ─▶ removed
//! ```
//!
//! Design: `.paths.prune` in `design/paths.md`.

use crate::condition::tells;
use crate::first::{First, TooLarge};
use crate::graph::{ElementId, FunctionId, Program};
use crate::points::{Fork, Point, Points};
use crate::profile::Profile;
use crate::seen::Seen;
use crate::weights::Weights;
use core::cmp::Reverse;
use std::collections::BTreeSet;

/// Points that may be visited to remove witnesses, in a whole plan.
pub(crate) const BUDGET: usize = 400_000;
/// Letters that take as long as a point.
const LETTERS_OF_POINT: usize = 8;

/// Removes witnesses without which the ways of some forks are still told apart, the dearest first,
/// as long as the budget of points to visit lasts. Of ways that are not told apart, none is.
pub(crate) fn prune(
    points: &Points<'_>,
    weights: &Weights,
    witnesses: &mut BTreeSet<ElementId>,
    forks: &[Fork],
    budget: &mut usize,
) -> Result<(), TooLarge> {
    let Some(mut told) = Told::new(points, witnesses, forks)? else { return Ok(()) };
    witnesses.retain(|own| !told.forks_of(*own).is_empty());
    let mut order: Vec<ElementId> = witnesses.iter().copied().collect();
    order.sort_by_key(|own| Reverse(weights.of(*own)));
    for element in order {
        if *budget < points.count() {
            break;
        }
        let mut letters = 0;
        let clashes = told.clashes_without(points, forks, element, &mut letters);
        *budget = budget.saturating_sub(1 + letters / LETTERS_OF_POINT);
        if clashes {
            continue;
        }
        *budget = budget.saturating_sub(points.count());
        witnesses.remove(&element);
        match Told::new(points, witnesses, forks)? {
            Some(next) => told = next,
            None => {
                witnesses.insert(element);
            }
        }
    }
    Ok(())
}

/// Finds the first letters of the ways of some forks.
pub(super) fn first_of(
    points: &Points<'_>,
    witnesses: &BTreeSet<ElementId>,
    forks: &[Fork],
) -> Result<First, TooLarge> {
    let mut roots = Vec::new();
    for fork in forks {
        let (function, block) = (fork.function, fork.block);
        let end = if fork.is_call { Points::block } else { Points::after };
        roots.extend(points.next(end(points, function, block)).iter().map(|own| own.0));
        roots.push(points.follow(fork.function));
    }
    First::from(points, &Profile::of(witnesses.iter().copied()), roots)
}

/// The first letters of some forks whose ways are told apart.
struct Told {
    first: First,
    seen: Seen,
    /// Letters with the sets that have them, in order.
    holders: Vec<(u32, u32)>,
    /// Sets with the forks that have a way with them, in order.
    users: Vec<(u32, u32)>,
}

impl Told {
    /// Returns nothing, if two ways are not told apart.
    fn new(
        points: &Points<'_>,
        witnesses: &BTreeSet<ElementId>,
        forks: &[Fork],
    ) -> Result<Option<Told>, TooLarge> {
        let first = first_of(points, witnesses, forks)?;
        let mut seen = first.seen();
        if !forks.iter().all(|fork| tells(points, &first, *fork, &mut seen)) {
            return Ok(None);
        }
        let (mut users, mut holders) = (Vec::new(), Vec::new());
        for (at, fork) in (0..).zip(forks) {
            points.ways(*fork, |way| {
                first.sets(points, *fork, way, &mut |set| users.push((set, at)));
            });
        }
        users.sort_unstable();
        users.dedup();
        for set in users.chunk_by(|one, other| one.0 == other.0).filter_map(|own| own.first()) {
            holders.extend(first.letters_of(set.0).iter().map(|letter| (*letter, set.0)));
        }
        holders.sort_unstable();
        Ok(Some(Told { first, seen, holders, users }))
    }

    /// Returns the forks that have a way with a witness as its first letter.
    fn forks_of(&self, element: ElementId) -> Vec<u32> {
        let Some(letter) = self.first.number(element.0) else { return Vec::new() };
        let sets = of(&self.holders, letter);
        let mut forks: Vec<u32> = sets.flat_map(|set| of(&self.users, set)).collect();
        forks.sort_unstable();
        forks.dedup();
        forks
    }

    /// Returns whether two ways surely have a letter in common, if the next letters take the place
    /// of a witness. Counts the letters that it visits.
    fn clashes_without(
        &mut self,
        points: &Points<'_>,
        forks: &[Fork],
        element: ElementId,
        count: &mut usize,
    ) -> bool {
        let own = self.forks_of(element);
        let Told { first, seen, .. } = self;
        let Some(number) = first.number(element.0) else { return false };
        let mut after: Vec<u32> = Vec::new();
        for next in first.next(points, element.0) {
            after.extend(first.set(next));
        }
        let leaves = returns_after(points, first, element.0);
        for fork in own.into_iter().filter_map(|at| forks.get(at as usize)) {
            let ways = points.ways_of(*fork);
            seen.begin(ways.len() as u32);
            for (at, way) in (0..).zip(ways) {
                let mut letters = Vec::new();
                first.letters_of_way(points, *fork, way, &mut letters);
                if letters.contains(&number) {
                    letters.extend(&after);
                    if leaves == Some(fork.function) {
                        first.letters_after(points, fork.function, &mut letters);
                    }
                }
                *count += letters.len();
                for letter in letters.into_iter().filter(|own| *own != number) {
                    if seen.owner(letter).is_some_and(|other| other != at) {
                        return true;
                    }
                    seen.add(letter, at);
                }
            }
        }
        false
    }
}

/// Returns what some pairs in order have for a number.
fn of(pairs: &[(u32, u32)], number: u32) -> impl Iterator<Item = u32> {
    let begin = pairs.partition_point(|own| own.0 < number);
    pairs.iter().skip(begin).take_while(move |own| own.0 == number).map(|own| own.1)
}

/// Returns the function of a point, if it can return after it without a letter.
fn returns_after(points: &Points<'_>, first: &First, point: u32) -> Option<FunctionId> {
    match points.point(point)? {
        Point::Leave(function) => Some(function),
        Point::Block(function, _) | Point::Edge(function, _) => {
            let is_inner = |to| matches!(points.point(to), Some(Point::Enter(_)));
            let mut next = first.next(points, point);
            next.any(|to| !is_inner(to) && first.returns(to)).then_some(function)
        }
        _ => None,
    }
}

/// Returns the witnesses of a profile that tell nothing: without all of them, the profile still
/// tells the ways of each fork that it tells alone. The dearest are looked at first.
///
/// # Errors
///
/// Fails if the first letters are too many.
pub fn spare(
    program: &Program,
    weights: &Weights,
    profile: &Profile,
) -> Result<Vec<ElementId>, TooLarge> {
    let points = Points::new(program);
    let first = First::new(&points, profile)?;
    let (mut told, mut seen) = (points.forks(), first.seen());
    told.retain(|fork| tells(&points, &first, *fork, &mut seen));
    let all: BTreeSet<ElementId> = profile.letters().iter().map(|own| own.0).collect();
    let mut needed = all.clone();
    let mut budget = BUDGET;
    prune(&points, weights, &mut needed, &told, &mut budget)?;
    Ok(all.difference(&needed).copied().collect())
}
