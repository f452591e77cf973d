//! Edges to slices, one at a time, in bounded memory.
//!
//! ```text
//!  a thread's stack      A ── B ── C        top = C; `below` leads from C to A
//!  A ends:               B and C leave the stack: they cross; they stay open until their ends come
//!  pair, key, owner ──▶  the newest open slice ── `older` ──▶ the next one (recursion)
//! ```
//!
//! Most ends are those of the innermost slice. So a stack's slices enter the table of keys only
//! when another end comes: an end that is found at the top needs no table.
//!
//! Each edge takes a bounded number of steps on average, whatever the depth of the stack. Design:
//! `.slice.pair`, `.slice.gap`, `.slice.bounds` in `design/slices.md`.

mod holes;
#[cfg(test)]
mod tests;

use crate::slices::model::{Edge, Limits, Slice, Slot, Track, Verdict};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
pub use holes::Holes;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

/// The part of a full table that gives way at once, so that a look at all of it is rare.
const ROOM: usize = 16;
/// No slot.
const NONE: Slot = u32::MAX;

/// A slice that has begun.
#[derive(Clone, Debug)]
struct Open {
    edge: Edge,
    /// How many edges came before it.
    since: u64,
    /// The neighbours on the stack; of a slice that crosses, in the list of these.
    below: Slot,
    above: Slot,
    /// The neighbours of the same pair, key and owner.
    older: Slot,
    newer: Slot,
    /// How many slices of the same pair, key and owner began in it and found the table full.
    dropped: u32,
    /// How many slices lay below it on the stack when it began.
    depth: u32,
    is_crossing: bool,
    /// Whether `newest`, `older` and `newer` have it. On a stack, the slices that they lack lie
    /// above all others.
    is_entered: bool,
}

/// What an edge did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It began a slice, which lies in the slice `within` on the stack of its thread.
    Begun {
        /// The place of the slice.
        slot: Slot,
        /// The place of the enclosing slice.
        within: Option<Slot>,
    },
    /// It ended the slice that had this place.
    Ended {
        /// The place of the slice; another slice may take it now.
        slot: Slot,
        /// Whether the slice was on the stack of its thread until now.
        was_on_stack: bool,
        /// How many slices left the stack with it, because they still lie open in it.
        crossed: u32,
    },
    /// It found nothing to end.
    Alone,
    /// It began a slice while the table was full, or ended one that the table had no room for.
    Full,
}

/// Counts of edges that made no slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ends that found nothing to end.
    pub alone: u64,
    /// Beginnings that found the table full.
    pub full: u64,
    /// Open slices that gave way in a full table.
    pub gave_way: u64,
    /// Ends that found nothing to end, as slices of their pair had found no room or gave way.
    pub late: u64,
}

/// Pairs edges, which come in order of time.
#[derive(Clone, Debug)]
pub struct Pairing {
    open: Vec<Open>,
    free: Vec<Slot>,
    /// The newest open slice of each pair, key and owner, of those that have entered.
    newest: HashTable<Slot>,
    hasher: RandomState,
    /// The innermost slice of each thread that has any, except for the thread in `top`.
    tops: HashMap<Track, Slot, RandomState>,
    /// The thread of the last slice, and its innermost slice.
    top: (Track, Slot),
    /// The first and the last of the slices that cross: the first one left its stack first.
    crossing: (Slot, Slot),
    /// By pair: slices that found no room or gave way, and whose ends did not come yet.
    missing: HashMap<u32, u64, RandomState>,
    holes: Holes,
    /// How many edges came so far.
    now: u64,
    open_count_max: usize,
    counts: Counts,
}

impl Pairing {
    /// Returns a pairing in which nothing is open, of a log without holes.
    pub fn new(limits: Limits) -> Pairing {
        Pairing {
            open: Vec::new(),
            free: Vec::new(),
            newest: HashTable::new(),
            hasher: RandomState::default(),
            tops: HashMap::default(),
            top: (Track::default(), NONE),
            crossing: (NONE, NONE),
            missing: HashMap::default(),
            holes: Holes::default(),
            now: 0,
            open_count_max: limits.open_count.min(NONE as usize),
            counts: Counts::default(),
        }
    }

    /// Returns the pairing of a log with holes.
    #[must_use]
    pub fn with_holes(self, holes: Holes) -> Pairing {
        Pairing { holes, ..self }
    }

    /// Returns the holes, for a log that has grown.
    pub fn holes(&mut self) -> &mut Holes {
        &mut self.holes
    }

    /// Takes the next edge. Passes each slice that ends here to `each`.
    #[inline]
    pub fn take(&mut self, edge: &Edge, each: impl FnMut(Slice<'_>)) -> Turn {
        self.now += 1;
        if !edge.is_end {
            return self.begin(edge, each);
        }
        let top = if edge.is_span { NONE } else { self.top(edge.track) };
        let is_newest = |open: &Open| open.newer == NONE && is_same(open, edge);
        let newest =
            if self.get(top).is_some_and(is_newest) { Some(top) } else { self.newest_of(edge) };
        match newest {
            Some(slot) => self.end(edge, slot, each),
            None => match self.missing.get_mut(&edge.pair).filter(|count| **count > 0) {
                Some(count) => {
                    *count -= 1;
                    self.counts.late += 1;
                    Turn::Full
                }
                None => {
                    self.counts.alone += 1;
                    Turn::Alone
                }
            },
        }
    }

    /// Makes room in a full table for what begins next, which else may find none: passes what
    /// gives way to `each` as unfinished. What crosses gives way first. If nothing crosses, a
    /// sixteenth of the table does: the oldest slices of the pair with the most open ones.
    pub fn make_room(&mut self, mut each: impl FnMut(Slice<'_>)) {
        if !self.is_full() {
            return;
        }
        if self.crossing.0 != NONE {
            return self.give_way(self.crossing.0, each);
        }
        let open = || (0..).zip(&self.open).filter(|(slot, open)| open.is_open(*slot));
        let mut counts: HashMap<u32, u32, RandomState> = HashMap::default();
        open().for_each(|(_, open)| *counts.entry(open.edge.pair).or_default() += 1);
        let rank = |(slot, open): (Slot, &Open)| {
            let pair = open.edge.pair;
            (Reverse(counts.get(&pair).copied()), pair, open.since, slot)
        };
        let mut ranks: Vec<_> = open().map(rank).collect();
        let count = (self.open_count_max / ROOM).clamp(1, ranks.len().max(1));
        if count < ranks.len() {
            ranks.select_nth_unstable(count);
        }
        ranks.truncate(count);
        ranks.sort_unstable();
        ranks.into_iter().for_each(|(.., slot)| self.give_way(slot, &mut each));
    }

    fn is_full(&self) -> bool {
        self.open.len() - self.free.len() >= self.open_count_max
    }

    fn give_way(&mut self, slot: Slot, each: impl FnMut(Slice<'_>)) {
        self.counts.gave_way += 1;
        if let Some(pair) = self.get(slot).map(|open| open.edge.pair) {
            *self.missing.entry(pair).or_default() += 1;
        }
        self.give_up(slot, each);
    }

    /// Gives up an open slice: passes it to `each` as unfinished.
    pub fn give_up(&mut self, slot: Slot, mut each: impl FnMut(Slice<'_>)) {
        if !self.get(slot).is_some_and(|open| open.is_open(slot)) {
            return;
        }
        self.remove(slot);
        if let Some(open) = self.get(slot) {
            each(open.slice(slot, None, Verdict::Unfinished));
        }
    }

    /// Sets the times in ns of the open slices' beginnings, by stream and ticks: a log that grew
    /// has another clock.
    pub fn set_times(&mut self, ns: impl Fn(u16, u64) -> u64) {
        for Open { edge, .. } in &mut self.open {
            edge.ns = ns(edge.id.stream, edge.ticks);
        }
    }

    /// Ends the pairing: passes all open slices to `each`, in the order of their beginnings.
    pub fn finish(&self, mut each: impl FnMut(Slice<'_>)) {
        let open = (0..).zip(&self.open).filter(|(slot, open)| open.is_open(*slot));
        let mut left: Vec<(u64, Slot)> = open.map(|(slot, open)| (open.since, slot)).collect();
        left.sort_unstable();
        for (_, slot) in left {
            if let Some(open) = self.get(slot) {
                each(open.slice(slot, None, Verdict::Unfinished));
            }
        }
    }

    /// Returns the beginning of an open slice.
    pub fn begin_of(&self, slot: Slot) -> Option<&Edge> {
        self.get(slot).filter(|open| open.is_open(slot)).map(|open| &open.edge)
    }

    /// Returns the open slices on the stack of a thread, the innermost first.
    pub fn stack(&self, track: Track) -> impl Iterator<Item = (Slot, &Edge)> {
        let mut slot = match self.top {
            (current, top) if current == track => top,
            _ => self.tops.get(&track).copied().unwrap_or(NONE),
        };
        std::iter::from_fn(move || {
            let (open, own) = (self.get(slot)?, slot);
            slot = open.below;
            Some((own, &open.edge))
        })
    }

    /// Returns the counts of edges that made no slice, and of gaps.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    #[inline]
    fn get(&self, slot: Slot) -> Option<&Open> {
        self.open.get(slot as usize)
    }

    #[inline]
    fn change(&mut self, slot: Slot, change: impl FnOnce(&mut Open)) {
        if let Some(open) = self.open.get_mut(slot as usize) {
            change(open);
        }
    }

    /// Returns the innermost slice of a thread.
    #[inline]
    fn top(&mut self, track: Track) -> Slot {
        if self.top.0 != track {
            let (before, top) = self.top;
            if top != NONE {
                self.tops.insert(before, top);
            }
            self.top = (track, self.tops.remove(&track).unwrap_or(NONE));
        }
        self.top.1
    }

    fn set_top(&mut self, track: Track, slot: Slot) {
        self.top(track);
        self.top.1 = slot;
    }

    fn begin(&mut self, edge: &Edge, mut each: impl FnMut(Slice<'_>)) -> Turn {
        if edge.is_span
            && let Some(slot) = self.newest_of(edge)
        {
            // The new span takes the place of the one that did not end.
            let now = self.now;
            self.change(slot, |open| {
                each(open.slice(slot, None, Verdict::Again));
                (open.edge, open.since) = (*edge, now);
            });
            return Turn::Begun { slot, within: None };
        }
        if self.is_full() {
            if self.crossing.0 == NONE {
                self.counts.full += 1;
                match self.newest_of(edge) {
                    Some(slot) => self.change(slot, |open| open.dropped += 1),
                    None => *self.missing.entry(edge.pair).or_default() += 1,
                }
                return Turn::Full;
            }
            // Its end has been missing for the longest time.
            self.give_way(self.crossing.0, each);
        }
        let slot = self.free.pop().unwrap_or(self.open.len() as Slot);
        let top = if edge.is_span { NONE } else { self.top(edge.track) };
        let open = Open {
            edge: *edge,
            since: self.now,
            below: top,
            above: NONE,
            older: NONE,
            newer: NONE,
            dropped: 0,
            depth: self.get(top).map_or(0, |below| below.depth.saturating_add(1)),
            is_crossing: false,
            is_entered: false,
        };
        match self.open.get_mut(slot as usize) {
            Some(place) => *place = open,
            None => self.open.push(open),
        }
        if edge.is_span {
            self.enter(slot);
        } else {
            self.change(top, |open| open.above = slot);
            self.top.1 = slot;
        }
        Turn::Begun { slot, within: Some(top).filter(|top| *top != NONE) }
    }

    /// Returns the newest open slice of an edge's pair, key and owner.
    fn newest_of(&mut self, edge: &Edge) -> Option<Slot> {
        if !edge.is_span {
            self.enter_stack(edge.track);
        }
        let same = |slot: &Slot| self.get(*slot).is_some_and(|open| is_same(open, edge));
        self.newest.find(hash_of(&self.hasher, edge), same).copied()
    }

    /// Enters the slices of a stack that have not entered, the outermost first.
    fn enter_stack(&mut self, track: Track) {
        let (mut next, mut first) = (self.top(track), NONE);
        while let Some(open) = self.get(next).filter(|open| !open.is_entered) {
            (first, next) = (next, open.below);
        }
        while let Some(open) = self.get(first) {
            let above = open.above;
            self.enter(first);
            first = above;
        }
    }

    /// Enters a slice in the table of keys, as the newest one of its pair, key and owner.
    fn enter(&mut self, slot: Slot) {
        let (all, hasher) = (&self.open, &self.hasher);
        let get = |slot: &Slot| all.get(*slot as usize);
        let Some(Open { edge, .. }) = get(&slot) else { return };
        let same = |slot: &Slot| get(slot).is_some_and(|open| is_same(open, edge));
        let rehash = |slot: &Slot| get(slot).map_or(0, |open| hash_of(hasher, &open.edge));
        let older = match self.newest.entry(hash_of(hasher, edge), same, rehash) {
            Entry::Occupied(mut newest) => std::mem::replace(newest.get_mut(), slot),
            Entry::Vacant(place) => {
                place.insert(slot);
                NONE
            }
        };
        self.change(slot, |open| (open.older, open.is_entered) = (older, true));
        self.change(older, |open| open.newer = slot);
    }

    fn end(&mut self, edge: &Edge, slot: Slot, mut each: impl FnMut(Slice<'_>)) -> Turn {
        if let Some(open) = self.open.get_mut(slot as usize)
            && open.dropped > 0
        {
            open.dropped -= 1;
            return Turn::Full;
        }
        let mut crossed = 0;
        let was_on_stack = self.get(slot).is_some_and(|open| !open.is_crossing);
        if was_on_stack && !edge.is_span {
            // What lies open in it leaves the stack.
            loop {
                let top = self.top(edge.track);
                if top == slot || top == NONE {
                    break;
                }
                self.leave_stack(top);
                self.join_crossing(top);
                crossed += 1;
            }
        }
        self.remove(slot);
        let Some(open) = self.get(slot) else { return Turn::Alone };
        let verdict = if self.holes.are_between(&open.edge, edge) {
            Verdict::Doubtful
        } else if open.is_crossing {
            Verdict::Crossing
        } else {
            Verdict::Whole
        };
        each(open.slice(slot, Some(edge), verdict));
        Turn::Ended { slot, was_on_stack, crossed }
    }

    /// Takes an open slice out of all lists and tables. What is known of it stays at its place
    /// until another slice takes this.
    fn remove(&mut self, slot: Slot) {
        let Some(&Open { ref edge, is_crossing, is_entered, .. }) = self.get(slot) else { return };
        if is_crossing {
            self.leave_crossing(slot);
        } else if !edge.is_span {
            self.leave_stack(slot);
        }
        if is_entered {
            self.leave_table(slot);
        }
        // A free place is its own neighbour.
        self.change(slot, |open| open.older = slot);
        self.free.push(slot);
    }

    fn leave_table(&mut self, slot: Slot) {
        let Some(&Open { ref edge, older, newer, .. }) = self.get(slot) else { return };
        let hash = hash_of(&self.hasher, edge);
        self.change(older, |open| open.newer = newer);
        self.change(newer, |open| open.older = older);
        if newer == NONE
            && let Ok(mut place) = self.newest.find_entry(hash, |newest| *newest == slot)
        {
            match older {
                NONE => drop(place.remove()),
                older => *place.get_mut() = older,
            }
        }
    }

    fn leave_stack(&mut self, slot: Slot) {
        let Some(Open { edge, below, above, .. }) = self.get(slot) else { return };
        let (track, below, above) = (edge.track, *below, *above);
        self.change(below, |open| open.above = above);
        match above {
            NONE => self.set_top(track, below),
            above => self.change(above, |open| open.below = below),
        }
    }

    fn join_crossing(&mut self, slot: Slot) {
        let last = self.crossing.1;
        self.change(slot, |open| {
            (open.is_crossing, open.below, open.above) = (true, last, NONE);
        });
        self.change(last, |open| open.above = slot);
        self.crossing = (if last == NONE { slot } else { self.crossing.0 }, slot);
    }

    fn leave_crossing(&mut self, slot: Slot) {
        let Some(&Open { below, above, .. }) = self.get(slot) else { return };
        self.change(below, |open| open.above = above);
        self.change(above, |open| open.below = below);
        if below == NONE {
            self.crossing.0 = above;
        }
        if above == NONE {
            self.crossing.1 = below;
        }
    }
}

impl Open {
    fn is_open(&self, own: Slot) -> bool {
        self.older != own
    }

    fn slice<'a>(&'a self, slot: Slot, end: Option<&'a Edge>, verdict: Verdict) -> Slice<'a> {
        Slice { slot, depth: self.depth, begin: &self.edge, end, verdict }
    }
}

/// Returns whether an open slice has the pair, key and owner of an edge.
#[inline]
fn is_same(open: &Open, edge: &Edge) -> bool {
    open.edge.pair == edge.pair && open.edge.key == edge.key && open.edge.owner() == edge.owner()
}

#[inline]
fn hash_of(hasher: &RandomState, edge: &Edge) -> u64 {
    let mut hasher = hasher.build_hasher();
    edge.key.iter().for_each(|value| hasher.write_u64(*value));
    let (stream, thread) = edge.owner();
    hasher.write_u64(u64::from(edge.pair) << 32 | u64::from(thread));
    hasher.write_u16(stream);
    hasher.finish()
}
