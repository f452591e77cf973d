//! When events are missing, and which slices that makes doubtful.
//!
//! ```text
//!  a slice, a span of a thread:   a hole of the thread's own buffers, in between
//!  another span:                  a hole of any buffer of its stream, in between
//! ```
//!
//! Design: `.slice.gap` in `design/slices.md`.

use crate::slices::model::Edge;
use eventlog::reader::marks::Marks;
use eventlog::reader::{Hole, Log};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The first and the last moment of times, in order. No two overlap, but they may touch.
type Times = Vec<(u64, u64)>;
/// Stream, registry and kind of events; of one thread, or of all.
type Place = (u16, u16, u8, Option<u32>);

/// When events that begin or end slices are missing.
#[derive(Clone, Debug, Default)]
pub struct Holes {
    times: HashMap<Place, Times, RandomState>,
    /// Since when the last events are missing; a log that grows may have them later.
    tails: HashMap<Place, u64, RandomState>,
}

impl Holes {
    /// Returns the holes of a log.
    #[must_use]
    pub fn new(log: &Log, marks: &Marks) -> Holes {
        let mut holes = Holes::default();
        holes.go_on(log, marks, &BTreeMap::new(), false);
        holes
    }

    /// Adds the holes of a log that has grown, and that may still be growing. The first `known`
    /// events of each buffer were read before.
    pub fn go_on(
        &mut self,
        log: &Log,
        marks: &Marks,
        known: &BTreeMap<(u16, u32), u64>,
        is_growing: bool,
    ) {
        let mut kinds: HashSet<(u32, u8), RandomState> = HashSet::default();
        for (place, registry) in (0..).zip(log.registries()) {
            let rows = registry.event_types.iter();
            let rows = rows.filter(|row| marks.role_of(registry, row.code).part.is_some());
            kinds.extend(rows.map(|row| (place, row.kind)));
        }
        self.tails.clear();
        if kinds.is_empty() {
            return;
        }
        let is_wanted = |registry, kind| kinds.contains(&(registry, kind));
        for hole in log.holes(is_wanted, known, is_growing) {
            let Hole { stream, registry, kind, thread, from, to } = hole;
            for thread in [Some(thread), None] {
                let place = (stream, registry, kind, thread);
                if to == u64::MAX {
                    let since = self.tails.entry(place).or_insert(from);
                    *since = from.min(*since);
                } else {
                    self.times.entry(place).or_default().push((from, to));
                }
            }
        }
        self.times.values_mut().for_each(join);
    }

    /// Returns whether an event that may begin or end what lies between two edges is missing there.
    #[inline]
    pub(super) fn are_between(&self, begin: &Edge, end: &Edge) -> bool {
        let is_empty = self.times.is_empty() && self.tails.is_empty();
        !is_empty && [begin, end].iter().any(|of| self.has(of, begin, end))
    }

    fn has(&self, of: &Edge, begin: &Edge, end: &Edge) -> bool {
        let thread = Some(of.thread).filter(|_| !of.is_shared);
        let place = (of.id.stream, of.registry, of.kind, thread);
        let (begin, end) = (begin.ticks, end.ticks);
        if self.tails.get(&place).is_some_and(|since| *since < end) {
            return true;
        }
        let Some(times) = self.times.get(&place) else { return false };
        // What is missing lies in the hole, whose ends are events that the log has: unless all are
        // at one moment.
        let is_before = |&(from, to): &(u64, u64)| to < begin || to == begin && from < begin;
        let next = times.get(times.partition_point(is_before));
        next.is_some_and(|&(from, to)| from < end || from == end && to == end)
    }
}

/// Sorts times, and joins those that overlap.
fn join(times: &mut Times) {
    times.sort_unstable();
    let mut last: Option<(u64, u64)> = None;
    let mut joined = Times::with_capacity(times.len());
    for time in times.drain(..) {
        match &mut last {
            Some((from, to)) if time.0 < *to || time.0 == *from => *to = time.1.max(*to),
            _ => joined.extend(last.replace(time)),
        }
    }
    joined.extend(last);
    *times = joined;
}
