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
use crate::profile::{END, Profile};

/// Two ways that are not told apart, in all forks and profiles, at most.
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
    let forks = points.forks().into_iter();
    let mut open: Vec<_> = forks.map(|fork| (fork, None::<Vec<(Way, Way)>>)).collect();
    for profile in profiles {
        let first = First::new(&points, profile)?;
        let mut count = 0;
        for (fork, pairs) in &mut open {
            let mut clashing = pairs_of(&points, &first, *fork);
            if let Some(pairs) = pairs {
                clashing.retain(|pair| pairs.binary_search(pair).is_ok());
            }
            count += clashing.len();
            *pairs = Some(clashing);
            if count > PAIR_COUNT_MAX {
                return Err(TooLarge);
            }
        }
        open.retain(|(_, pairs)| pairs.as_ref().is_none_or(|pairs| !pairs.is_empty()));
    }
    let mut found = Vec::new();
    for (fork, pairs) in open {
        let pairs = pairs.unwrap_or_else(|| all_pairs(&points, fork));
        found.extend(pairs.into_iter().map(|ways| Clash { fork, ways }));
    }
    Ok(found)
}

fn ways(points: &Points<'_>, fork: Fork) -> Vec<Way> {
    let mut ways = Vec::new();
    points.ways(fork, |way| ways.push(way));
    ways
}

fn all_pairs(points: &Points<'_>, fork: Fork) -> Vec<(Way, Way)> {
    let mut pairs = Vec::new();
    let ways = ways(points, fork);
    for (at, one) in ways.iter().enumerate() {
        pairs.extend(ways.iter().skip(at + 1).map(|other| (*one, *other)));
    }
    pairs
}

/// Returns the pairs of ways of a fork that a profile does not tell apart, in order.
pub(crate) fn pairs_of(points: &Points<'_>, first: &First, fork: Fork) -> Vec<(Way, Way)> {
    let ways = ways(points, fork);
    let mut letters: Vec<(u32, u32)> = Vec::new();
    let (mut returning, mut pairs) = (Vec::new(), Vec::new());
    let follow = points.follow(fork.function);
    for (at, way) in (0..).zip(&ways) {
        let mut is_all = false;
        let returns = first.way(points, fork, *way, &mut |point| {
            is_all |= first.is_all(point);
            letters.extend(first.set(point).iter().map(|letter| (*letter, at)));
        });
        if *way == Way::Stop {
            letters.push((END, at));
        }
        if returns {
            is_all |= first.is_all(follow);
            letters.extend(first.set(follow).iter().map(|own| (*own, at)));
            returning.push(at);
        }
        if is_all {
            // A set of all letters differs from no other.
            let others = ways.iter().filter(|other| *other != way);
            pairs.extend(others.map(|other| {
                let is_later = ways.iter().position(|own| own == other) > Some(at as usize);
                if is_later { (*way, *other) } else { (*other, *way) }
            }));
        }
    }
    letters.sort_unstable();
    letters.dedup();
    let mut add = |group: &[u32]| {
        for (index, one) in group.iter().enumerate() {
            for other in group.iter().skip(index + 1) {
                let way = |at: &u32| ways.get(*at as usize).copied();
                pairs.extend(way(one).zip(way(other)));
            }
        }
    };
    // What follows the function is the same after each of them.
    add(&returning);
    for group in letters.chunk_by(|one, other| one.0 == other.0).filter(|group| group.len() > 1) {
        add(&group.iter().map(|(_, at)| *at).collect::<Vec<u32>>());
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}
