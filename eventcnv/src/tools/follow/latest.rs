//! Which events come late, and whether a log has all its events.
//!
//! ```text
//!  look 1:  thread 1: ─── JobFinish 7        look 2:  thread 2: JobStart 7 ───   is earlier: late
//! ```
//!
//! Slices pair on a thread, spans across the threads of a stream, and counters are summed across
//! them. Design: `.cnv.follow.sql` in `design/eventcnv.md`.

use eventlog::reader::marks::{Form, Marks};
use eventlog::reader::{Event, Log, Stream};
use std::collections::BTreeMap;

/// The latest events so far that begin, end or count anything, by which later looks tell late ones.
#[derive(Clone, Default)]
pub(super) struct Latest {
    threads: BTreeMap<(u16, u32), u64>,
    /// By stream: of events that pair across threads.
    streams: BTreeMap<u16, u64>,
    /// By stream: of events that change counters.
    counts: BTreeMap<u16, u64>,
    /// By stream: of all events.
    pub(super) all: BTreeMap<u16, u64>,
}

impl Latest {
    /// Notes an event in `next`. Returns whether it is earlier than what this has of the events
    /// with which it pairs, or counts.
    pub(super) fn is_late(&self, event: &Event<'_, '_>, marks: &Marks, next: &mut Latest) -> bool {
        let note = |latest: &mut u64| *latest = (*latest).max(event.ticks);
        let is_late = |latest: Option<&u64>| latest.is_some_and(|latest| event.ticks < *latest);
        note(next.all.entry(event.stream).or_default());
        let role = marks.role(event);
        let mut is_late_one = false;
        if !role.counts.is_empty() {
            note(next.counts.entry(event.stream).or_default());
            is_late_one = is_late(self.counts.get(&event.stream));
        }
        let part = role.part;
        let is_span = part.is_some_and(|side| {
            marks.pairs.get(side.pair as usize).is_some_and(|pair| pair.form == Form::Span)
        });
        let is_switch = &*event.registry.name == "calls" && event.name() == "Switch";
        if part.is_none() && !is_switch {
            return is_late_one;
        }
        let thread = (event.stream, event.thread);
        note(next.threads.entry(thread).or_default());
        is_late_one |= is_late(self.threads.get(&thread));
        if is_span || is_switch {
            note(next.streams.entry(event.stream).or_default());
            is_late_one |= is_late(self.streams.get(&event.stream));
        }
        is_late_one
    }
}

/// Returns whether a log has all its events, from the first on.
pub(super) fn is_whole(log: &Log) -> bool {
    let is_whole = |stream: &Stream| !stream.is_cut && stream.volumes.0 == 0;
    let has_all = log.accounts().iter().all(|account| account.overwritten == 0);
    has_all && log.streams().iter().all(is_whole)
}
