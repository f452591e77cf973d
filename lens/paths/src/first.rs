//! First letters: which letters of a profile can come next, from each point of a program.
//!
//! ```text
//!  first(point) = its letter, if it is a witness
//!               = else the first letters of all points after it;
//!                 "returns", where the function can return without a letter
//!  first(Follow f) = the first letters after every call of f
//! ```
//!
//! A function is *silent* if a path through it has no letter: the letters after its call then come
//! first, too. Points in one circle without letters share a set. Design: `.paths.condition`
//! in `design/paths.md`.

use crate::graph::{ElementId, FunctionId};
use crate::points::{Fork, NONE, Points, Way};
use crate::profile::{END, Profile};
use crate::seen::Seen;

/// Letters in all sets of a profile, at most.
const LETTER_COUNT_MAX: usize = 1 << 26;
/// Letters of a set, at most. A larger set counts as all letters: it differs from no other.
const SET_SIZE_MAX: usize = 1024;
/// The set of all letters.
const ALL: u32 = u32::MAX - 1;

/// A profile has more first letters than fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl core::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the program has more than {LETTER_COUNT_MAX} first letters or pairs of ways")
    }
}

impl core::error::Error for TooLarge {}

/// The first letters of a profile. Within, a letter is its place in `alphabet`.
#[derive(Debug)]
pub(crate) struct First {
    /// All letters, in order; the last is [`END`].
    alphabet: Vec<u32>,
    letters: Vec<u32>,
    returns: Vec<bool>,
    set_of: Vec<u32>,
    /// The first letter of each set in `pool`, and the end of the last.
    starts: Vec<usize>,
    pool: Vec<u32>,
}

/// The set without a letter.
const EMPTY: u32 = 0;

impl First {
    /// Finds the first letters of all points.
    pub(crate) fn new(points: &Points<'_>, profile: &Profile) -> Result<First, TooLarge> {
        First::from(points, profile, 0..points.count() as u32)
    }

    /// Finds the first letters of some points, and of all that a path reaches from them without a
    /// letter.
    pub(crate) fn from(
        points: &Points<'_>,
        profile: &Profile,
        roots: impl IntoIterator<Item = u32>,
    ) -> Result<First, TooLarge> {
        let mut alphabet: Vec<u32> = profile.letters().iter().map(|own| own.1).collect();
        alphabet.push(END);
        alphabet.sort_unstable();
        alphabet.dedup();
        let mut letters = vec![NONE; points.count()];
        for (ElementId(element), letter) in profile.letters() {
            let own = letters.get_mut(*element as usize);
            if let (Some(own), Ok(letter)) = (own, alphabet.binary_search(letter)) {
                *own = letter as u32;
            }
        }
        let returns = returning(points, &letters);
        let set_of = vec![NONE; points.count()];
        let (starts, pool) = (vec![0, 0], Vec::new());
        let mut first = First { alphabet, letters, returns, set_of, starts, pool };
        first.fill(points, roots)?;
        Ok(first)
    }

    /// Returns the number of letters, with [`END`].
    pub(crate) fn letter_count(&self) -> usize {
        self.alphabet.len()
    }

    /// Returns the number of a letter.
    pub(crate) fn number(&self, letter: u32) -> Option<u32> {
        self.alphabet.binary_search(&letter).ok().map(|own| own as u32)
    }

    /// Returns a note of letters, for these and one more.
    pub(crate) fn seen(&self) -> Seen {
        Seen::new(self.letter_count() + 1)
    }

    /// Returns the letter of a number.
    pub(crate) fn letter_of(&self, number: u32) -> u32 {
        self.alphabet.get(number as usize).copied().unwrap_or(END)
    }

    pub(crate) fn letter(&self, point: u32) -> Option<u32> {
        let own = self.letters.get(point as usize).filter(|own| **own != NONE);
        own.map(|own| self.letter_of(*own))
    }

    /// Returns whether a path from a point has no letter up to the return of its function.
    pub(crate) fn returns(&self, point: u32) -> bool {
        self.returns.get(point as usize).copied().unwrap_or(false)
    }

    /// Returns the first letters from a point by their numbers, in order, without those after its
    /// function.
    pub(crate) fn set(&self, point: u32) -> &[u32] {
        self.letters_of(self.set_of(point))
    }

    fn set_of(&self, point: u32) -> u32 {
        self.set_of.get(point as usize).copied().unwrap_or(NONE)
    }

    /// Returns the numbers of the letters of a set.
    pub(crate) fn letters_of(&self, set: u32) -> &[u32] {
        let at = |set: usize| self.starts.get(set).copied().unwrap_or(0);
        let end = self.starts.get((set as usize).saturating_add(1)).copied();
        end.and_then(|end| self.pool.get(at(set as usize)..end)).unwrap_or_default()
    }

    /// Returns whether all letters can be first, as far as the sets tell.
    pub(crate) fn is_all(&self, point: u32) -> bool {
        self.set_of(point) == ALL
    }

    /// Returns whether a letter can be first.
    pub(crate) fn has(&self, point: u32, letter: u32) -> bool {
        let of = |number: &u32| self.letter_of(*number);
        self.is_all(point) || self.set(point).binary_search_by_key(&letter, of).is_ok()
    }

    /// Calls `each` with the points whose first letters are those of a way; returns whether the way
    /// can return without a letter.
    pub(crate) fn way(
        &self,
        points: &Points<'_>,
        fork: Fork,
        way: Way,
        each: &mut dyn FnMut(u32),
    ) -> bool {
        let after = points.after(fork.function, fork.block);
        let point = match way {
            Way::Edge(edge) => points.edge(fork.function, edge),
            Way::Return => points.leave(fork.function),
            Way::Stop => return false,
            Way::Outside => after,
            Way::Into(callee) => {
                let enter = points.enter(callee);
                each(enter);
                if !self.returns(enter) {
                    return false;
                }
                after
            }
        };
        each(point);
        self.returns(point)
    }

    /// Calls `each` with the sets of a way, those after its function, too. Returns whether it can
    /// return without a letter.
    pub(crate) fn sets(
        &self,
        points: &Points<'_>,
        fork: Fork,
        way: Way,
        each: &mut dyn FnMut(u32),
    ) -> bool {
        let mut add = |point: u32| each(self.set_of(point));
        let returns = self.way(points, fork, way, &mut add);
        if returns {
            add(points.follow(fork.function));
        }
        returns
    }

    /// Adds the numbers of the first letters of a way: those after its function, too, and one more
    /// than there are letters if it can return without a letter. Returns whether all letters can be
    /// first.
    pub(crate) fn letters_of_way(
        &self,
        points: &Points<'_>,
        fork: Fork,
        way: Way,
        letters: &mut Vec<u32>,
    ) -> bool {
        let mut is_all = false;
        let returns = self.sets(points, fork, way, &mut |set| {
            is_all |= set == ALL;
            letters.extend(self.letters_of(set));
        });
        let end = self.letter_count() as u32 - 1;
        letters.extend((way == Way::Stop).then_some(end));
        // What follows the function is the same after each way that returns.
        letters.extend(returns.then_some(end + 1));
        is_all
    }

    /// Adds the numbers of the letters after a function, as of a way that can return.
    pub(crate) fn letters_after(
        &self,
        points: &Points<'_>,
        function: FunctionId,
        letters: &mut Vec<u32>,
    ) {
        letters.extend(self.set(points.follow(function)));
        letters.push(self.letter_count() as u32);
    }

    /// Returns the points after a point without a letter, as far as letters flow.
    pub(crate) fn next<'n>(
        &'n self,
        points: &'n Points<'_>,
        point: u32,
    ) -> impl Iterator<Item = u32> + 'n {
        let is_open = |(_, gate): &&(u32, u32)| *gate == NONE || self.returns(*gate);
        points.next(point).iter().filter(is_open).map(|own| own.0)
    }

    /// Finds the sets of points: circles first that lead to no other (Tarjan's algorithm, without
    /// recursion).
    fn fill(
        &mut self,
        points: &Points<'_>,
        roots: impl IntoIterator<Item = u32>,
    ) -> Result<(), TooLarge> {
        let count = points.count();
        let (mut order, mut low) = (vec![0u32; count], vec![0u32; count]);
        // The points after each point of `work`, from a place in `targets` on.
        let (mut stack, mut work) = (Vec::<u32>::new(), Vec::<(u32, usize, usize)>::new());
        let mut targets: Vec<u32> = Vec::new();
        let mut scratch = Scratch { seen: self.seen(), known: Vec::new(), own: Vec::new() };
        let mut time = 0;
        for root in roots {
            if order.get(root as usize).is_none_or(|order| *order != 0) {
                continue;
            }
            targets.clear();
            self.targets(points, root, &mut targets);
            work.push((root, 0, 0));
            (time, order[root as usize], low[root as usize]) = (time + 1, time + 1, time + 1);
            stack.push(root);
            while let Some((point, begin, at)) = work.last_mut() {
                let (own, begin) = (*point as usize, *begin);
                if let Some(&next) = targets.get(*at) {
                    *at += 1;
                    let next_at = next as usize;
                    if order[next_at] == 0 {
                        (time, order[next_at], low[next_at]) = (time + 1, time + 1, time + 1);
                        stack.push(next);
                        let end = targets.len();
                        self.targets(points, next, &mut targets);
                        work.push((next, end, end));
                    } else if self.set_of[next_at] == NONE {
                        low[own] = low[own].min(order[next_at]);
                    }
                    continue;
                }
                if low[own] == order[own] {
                    let begin = stack.iter().rposition(|other| *other == own as u32).unwrap_or(0);
                    self.set_circle(points, &stack[begin..], &mut scratch);
                    stack.truncate(begin);
                    if self.pool.len() > LETTER_COUNT_MAX {
                        return Err(TooLarge);
                    }
                }
                targets.truncate(begin);
                work.pop();
                if let Some((parent, ..)) = work.last() {
                    let parent = *parent as usize;
                    low[parent] = low[parent].min(low[own]);
                }
            }
        }
        Ok(())
    }

    fn targets(&self, points: &Points<'_>, point: u32, targets: &mut Vec<u32>) {
        if self.letters.get(point as usize) == Some(&NONE) {
            targets.extend(self.next(points, point));
        }
    }

    /// Gives the points of a circle one set: a new one, if none after them is the same.
    fn set_circle(&mut self, points: &Points<'_>, circle: &[u32], scratch: &mut Scratch) {
        let Scratch { seen, known, own } = scratch;
        known.clear();
        own.clear();
        for point in circle {
            match self.letters.get(*point as usize) {
                Some(&NONE) => {
                    own.extend(points.is_end(*point).then_some(self.alphabet.len() as u32 - 1));
                    let sets = self.next(points, *point).map(|next| self.set_of(next));
                    known.extend(sets.filter(|set| *set != NONE && *set != EMPTY));
                }
                letter => own.extend(letter),
            }
        }
        known.sort_unstable();
        known.dedup();
        let set = match (known.as_slice(), own.as_slice()) {
            ([.., ALL], _) => ALL,
            ([], []) => EMPTY,
            ([set], []) => *set,
            _ => self.union(known, own, seen),
        };
        for point in circle {
            self.set_of[*point as usize] = set;
        }
    }

    /// Returns the set of the letters of some sets, and of some letters.
    fn union(&mut self, known: &[u32], own: &[u32], seen: &mut Seen) -> u32 {
        seen.begin(1);
        let begin = self.pool.len();
        self.pool.extend(own.iter().filter(|own| seen.add(**own, 0)));
        for set in known {
            let at = |set: u32| self.starts.get(set as usize).copied().unwrap_or(0);
            for at in at(*set)..at(set + 1) {
                let letter = self.pool[at];
                if seen.add(letter, 0) {
                    self.pool.push(letter);
                }
            }
            if self.pool.len() - begin > SET_SIZE_MAX {
                self.pool.truncate(begin);
                return ALL;
            }
        }
        // These letters have those of each set: one of as many letters is the same.
        let size = self.pool.len() - begin;
        let same = |set: &&u32| self.letters_of(**set).len() == size;
        if let Some(same) = known.iter().find(same).copied() {
            self.pool.truncate(begin);
            return same;
        }
        self.pool[begin..].sort_unstable();
        self.starts.push(self.pool.len());
        self.starts.len() as u32 - 2
    }
}

/// What the search for sets uses again and again.
struct Scratch {
    seen: Seen,
    known: Vec<u32>,
    own: Vec<u32>,
}

/// Returns from which points the function can return without a letter.
fn returning(points: &Points<'_>, letters: &[u32]) -> Vec<bool> {
    let mut returns = vec![false; points.count()];
    let is_silent = |point: u32| letters.get(point as usize) == Some(&NONE);
    let mut open: Vec<u32> =
        points.program.ids().map(|id| points.leave(id)).filter(|leave| is_silent(*leave)).collect();
    while let Some(index) = open.pop() {
        if core::mem::replace(&mut returns[index as usize], true) {
            continue;
        }
        for (from, other) in points.before(index) {
            if is_silent(*from) && (*other == NONE || returns[*other as usize]) {
                open.push(*from);
            }
        }
    }
    returns
}
