//! The condition that profiles must keep, so that their collections tell one path.
//!
//! ```text
//!  at each fork, for each two ways: one profile whose first letters after the one way
//!  differ from those after the other
//! ```
//!
//! It is sufficient: two executions with equal collections part at a fork; of the profile that
//! tells the two ways, the next letter is the same in both executions, and lies in both sets. There
//! is no such letter. Design: `.paths.condition` in `design/paths.md`.

use crate::first::{First, TooLarge};
use crate::graph::Program;
use crate::points::{Fork, Points, Way};
use crate::profile::Profile;
use crate::seen::Seen;
use std::collections::BTreeSet;

/// Pairs of ways of the forks that no profile tells alone, at most.
const PAIR_COUNT_MAX: usize = 1 << 24;

/// Two ways from a fork that no profile tells apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The fork.
    pub fork: Fork,
    /// The two ways.
    pub ways: (Way, Way),
}

/// Returns the pairs of ways that no profile tells apart; none if the condition holds.
///
/// # Errors
///
/// Fails if the sets of first letters are too large.
pub fn clashes(program: &Program, profiles: &[Profile]) -> Result<Vec<Clash>, TooLarge> {
    let points = Points::new(program);
    let mut open = points.forks();
    for profile in profiles {
        let first = First::new(&points, profile)?;
        let mut seen = first.seen();
        open.retain(|fork| !tells(&points, &first, *fork, &mut seen));
    }
    // Several profiles together may tell what none tells alone.
    let pair_count = |fork: &Fork| points.ways_of(*fork).len().pow(2) / 2;
    if open.iter().map(pair_count).sum::<usize>() > PAIR_COUNT_MAX {
        return Err(TooLarge);
    }
    let mut pairs: Vec<_> = open.iter().map(|fork| all_pairs(&points, *fork)).collect();
    for profile in profiles.iter().filter(|_| !open.is_empty()) {
        let first = First::new(&points, profile)?;
        for (fork, pairs) in open.iter().zip(&mut pairs) {
            let clashing = pairs_of(&points, &first, *fork);
            pairs.retain(|pair| clashing.binary_search(pair).is_ok());
        }
    }
    let found = open.into_iter().zip(pairs);
    let found = found.flat_map(|(fork, own)| own.into_iter().map(move |ways| Clash { fork, ways }));
    Ok(found.collect())
}

fn all_pairs(points: &Points<'_>, fork: Fork) -> Vec<(Way, Way)> {
    let mut pairs = Vec::new();
    let ways = points.ways_of(fork);
    for (at, one) in ways.iter().enumerate() {
        pairs.extend(ways.iter().skip(at + 1).map(|other| (*one, *other)));
    }
    pairs
}

/// Returns whether no two ways of a fork have a first letter in common.
pub(crate) fn tells(points: &Points<'_>, first: &First, fork: Fork, seen: &mut Seen) -> bool {
    let mut is_told = true;
    like_others(points, (first, fork), &points.ways_of(fork), seen, |_| {
        is_told = false;
        false
    });
    is_told
}

/// Calls `each` with those of some ways that have a first letter in common with a way before them
/// which was not given to `each`, as long as it returns true.
pub(crate) fn like_others(
    points: &Points<'_>,
    (first, fork): (&First, Fork),
    ways: &[Way],
    seen: &mut Seen,
    mut each: impl FnMut(Way) -> bool,
) {
    seen.begin(ways.len() as u32);
    let (mut letters, mut is_all_before) = (Vec::new(), false);
    for (at, way) in (0..).zip(ways) {
        letters.clear();
        let is_all = first.letters_of_way(points, fork, *way, &mut letters);
        let is_like = (is_all && at > 0) || is_all_before;
        if is_like || letters.iter().any(|own| seen.owner(*own).is_some()) {
            if !each(*way) {
                return;
            }
        } else {
            is_all_before |= is_all;
            letters.iter().for_each(|own| {
                seen.add(*own, at);
            });
        }
    }
}

/// Returns the pairs of ways of a fork that a profile does not tell apart, in order.
pub(crate) fn pairs_of(points: &Points<'_>, first: &First, fork: Fork) -> Vec<(Way, Way)> {
    let ways = points.ways_of(fork);
    let (mut letters, mut own, mut pairs) = (Vec::<(u32, u32)>::new(), Vec::new(), Vec::new());
    for (at, way) in ways.iter().enumerate() {
        own.clear();
        if first.letters_of_way(points, fork, *way, &mut own) {
            // A set of all letters differs from no other.
            let (before, after) = (ways.iter().take(at), ways.iter().skip(at + 1));
            pairs.extend(before.map(|other| (*other, *way)));
            pairs.extend(after.map(|other| (*way, *other)));
        }
        letters.extend(own.iter().map(|own| (*own, at as u32)));
    }
    letters.sort_unstable();
    letters.dedup();
    let groups = letters.chunk_by(|one, other| one.0 == other.0).filter(|group| group.len() > 1);
    let groups: BTreeSet<Vec<u32>> =
        groups.map(|group| group.iter().map(|own| own.1).collect()).collect();
    for group in groups {
        for (index, one) in group.iter().enumerate() {
            for other in group.iter().skip(index + 1) {
                let way = |at: &u32| ways.get(*at as usize).copied();
                pairs.extend(way(one).zip(way(other)));
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}
