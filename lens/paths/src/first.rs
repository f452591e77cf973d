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

use crate::graph::ElementId;
use crate::points::{Fork, Point, Points, Way};
use crate::profile::{END, Profile};

/// Letters in all sets of a profile, at most.
const LETTER_COUNT_MAX: usize = 1 << 26;
/// Letters of a set, at most. A larger set counts as all letters: it differs from no other.
const SET_SIZE_MAX: usize = 1024;
/// The set of all letters.
const ALL: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX;

/// A profile has more first letters than fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl core::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the program has more than {LETTER_COUNT_MAX} first letters or pairs of ways")
    }
}

impl core::error::Error for TooLarge {}

/// The first letters of a profile.
#[derive(Debug)]
pub(crate) struct First {
    letters: Vec<u32>,
    returns: Vec<bool>,
    set_of: Vec<u32>,
    sets: Vec<Box<[u32]>>,
}

impl First {
    pub(crate) fn new(points: &Points<'_>, profile: &Profile) -> Result<First, TooLarge> {
        let mut letters = vec![NONE; points.count()];
        for (ElementId(element), letter) in profile.letters() {
            if let Some(own) = letters.get_mut(*element as usize) {
                *own = *letter;
            }
        }
        let returns = returning(points, &letters);
        let mut first =
            First { letters, returns, set_of: vec![NONE; points.count()], sets: vec![] };
        first.fill(points)?;
        Ok(first)
    }

    pub(crate) fn letter(&self, point: u32) -> Option<u32> {
        self.letters.get(point as usize).copied().filter(|letter| *letter != NONE)
    }

    /// Returns whether a path from a point has no letter up to the return of its function.
    pub(crate) fn returns(&self, point: u32) -> bool {
        self.returns.get(point as usize).copied().unwrap_or(false)
    }

    /// Returns the first letters from a point, in order, without those after its function.
    pub(crate) fn set(&self, point: u32) -> &[u32] {
        let set = self.set_of.get(point as usize).and_then(|set| self.sets.get(*set as usize));
        set.map_or(&[], |set| set)
    }

    /// Returns whether all letters can be first, as far as the sets tell.
    pub(crate) fn is_all(&self, point: u32) -> bool {
        self.set_of.get(point as usize) == Some(&ALL)
    }

    /// Returns whether a letter can be first.
    pub(crate) fn has(&self, point: u32, letter: u32) -> bool {
        self.is_all(point) || self.set(point).binary_search(&letter).is_ok()
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

    /// Calls `each` with the points after a point without a letter, as far as letters flow.
    fn next(&self, points: &Points<'_>, index: u32, mut each: impl FnMut(u32)) {
        let Some(point) = points.point(index) else { return };
        match point {
            Point::Enter(function) => {
                if let Some(own) = points.program.function(function) {
                    each(points.block(function, own.entry()));
                }
            }
            Point::Leave(_) => {}
            Point::Edge(function, edge) => {
                let own = points.program.function(function);
                if let Some(own) = own.and_then(|own| own.edges().get(edge.0 as usize)) {
                    each(points.block(function, own.to));
                }
            }
            Point::Block(function, block) => {
                let Some((_, own)) = points.own(function, block) else { return };
                match &own.call {
                    None => each(points.after(function, block)),
                    Some(_) => {
                        let fork = Fork { function, block, is_call: true };
                        points.ways(fork, |way| {
                            self.way(points, fork, way, &mut each);
                        });
                    }
                }
            }
            Point::After(function, block) => {
                let fork = Fork { function, block, is_call: false };
                points.ways(fork, |way| {
                    self.way(points, fork, way, &mut each);
                });
            }
            Point::Follow(function) => {
                for (after, caller) in points.callers(function) {
                    each(*after);
                    if self.returns(*after) {
                        each(points.follow(*caller));
                    }
                }
            }
        }
    }

    /// Returns whether the program can end at a point, without a letter.
    fn is_end(points: &Points<'_>, index: u32) -> bool {
        match points.point(index) {
            Some(Point::After(function, block)) => {
                points.own(function, block).is_some_and(|(_, own)| own.stops)
            }
            Some(Point::Follow(function)) => {
                function == points.program.main() || points.callers(function).is_empty()
            }
            _ => false,
        }
    }

    /// Finds the sets of all points: circles first that lead to no other (Tarjan's algorithm,
    /// without recursion).
    fn fill(&mut self, points: &Points<'_>) -> Result<(), TooLarge> {
        let count = points.count();
        let (mut order, mut low) = (vec![0u32; count], vec![0u32; count]);
        // The points after each point of `work`, from a place in `targets` on.
        let (mut stack, mut work) = (Vec::<u32>::new(), Vec::<(u32, usize, usize)>::new());
        let mut targets: Vec<u32> = Vec::new();
        let (mut time, mut size) = (0, 0);
        for root in 0..count as u32 {
            if order[root as usize] != 0 {
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
                    let circle = stack.split_off(begin);
                    size += self.set_circle(points, &circle);
                    if size > LETTER_COUNT_MAX {
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
        if self.letter(point).is_none() {
            self.next(points, point, |next| targets.push(next));
        }
    }

    /// Gives the points of a circle one set. Returns the size of a set that is new.
    fn set_circle(&mut self, points: &Points<'_>, circle: &[u32]) -> usize {
        let (mut known, mut letters): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut is_all = false;
        for point in circle {
            match self.letter(*point) {
                Some(letter) => letters.push(letter),
                None => {
                    if First::is_end(points, *point) {
                        letters.push(END);
                    }
                    self.next(points, *point, |next| {
                        let set = self.set_of.get(next as usize).copied().unwrap_or(NONE);
                        is_all |= set == ALL;
                        if self.sets.get(set as usize).is_some_and(|set| !set.is_empty()) {
                            known.push(set);
                        }
                    });
                }
            }
        }
        known.sort_unstable();
        known.dedup();
        let (set, size) = match (known.as_slice(), letters.as_slice()) {
            _ if is_all => (ALL, 0),
            ([set], []) => (*set, 0),
            _ => {
                letters.extend(known.iter().flat_map(|set| self.sets[*set as usize].iter()));
                letters.sort_unstable();
                letters.dedup();
                match letters.len() {
                    size if size > SET_SIZE_MAX => (ALL, 0),
                    size => {
                        self.sets.push(letters.into());
                        (self.sets.len() as u32 - 1, size)
                    }
                }
            }
        };
        for point in circle {
            self.set_of[*point as usize] = set;
        }
        size
    }
}

/// Returns from which points the function can return without a letter.
fn returning(points: &Points<'_>, letters: &[u32]) -> Vec<bool> {
    let mut returns = vec![false; points.count()];
    let is_silent = |point: u32| letters.get(point as usize).is_some_and(|own| *own == NONE);
    let mut open: Vec<u32> =
        points.program.ids().map(|id| points.leave(id)).filter(|leave| is_silent(*leave)).collect();
    while let Some(index) = open.pop() {
        if core::mem::replace(&mut returns[index as usize], true) {
            continue;
        }
        let mut add = |before: u32, is_open: bool| {
            if is_open && is_silent(before) && !returns[before as usize] {
                open.push(before);
            }
        };
        match points.point(index) {
            Some(Point::Leave(function)) => {
                let own = points.program.function(function);
                let blocks = own.map_or(&[][..], |own| own.blocks());
                for (block, _) in (0..).zip(blocks).filter(|(_, own)| own.returns) {
                    add(points.after(function, crate::graph::BlockId(block)), true);
                }
            }
            Some(Point::After(function, block)) => {
                let call = points.own(function, block).and_then(|(_, own)| own.call.as_ref());
                let passes = call.is_none_or(|call| {
                    let mut callees = call.targets.iter();
                    call.outside || callees.any(|callee| returns[points.enter(*callee) as usize])
                });
                add(points.block(function, block), passes);
            }
            Some(Point::Edge(function, edge)) => {
                let own = points.program.function(function);
                if let Some(own) = own.and_then(|own| own.edges().get(edge.0 as usize)) {
                    add(points.after(function, own.from), true);
                }
            }
            Some(Point::Block(function, block)) => {
                for edge in points.arriving_at(index) {
                    add(*edge, true);
                }
                let own = points.program.function(function);
                add(points.enter(function), own.is_some_and(|own| own.entry() == block));
            }
            Some(Point::Enter(function)) => {
                // Calls that were not silent yet.
                for (after, _) in points.callers(function) {
                    if let Some(Point::After(caller, block)) = points.point(*after) {
                        add(points.block(caller, block), returns[*after as usize]);
                    }
                }
            }
            _ => {}
        }
    }
    returns
}
