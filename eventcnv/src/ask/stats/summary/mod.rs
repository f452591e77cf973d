//! Counts the contents of a log without keeping an event.
//!
//! ```text
//!  events, in any order ──▶ Summary, one for each processor ── merge ──▶ Summary
//!  Log: registries, accounts, faults ──────────────────────────────────┴──▶ Overview (overview.rs)
//!  Overview ──▶ stats/view.rs, json.rs, diff, the page
//! ```
//!
//! Design: `.cnv.stats` in `design/eventcnv.md`.

pub(crate) mod gather;
pub(crate) mod histogram;
pub(crate) mod json;
pub(crate) mod overview;
pub(crate) mod params;
pub(crate) mod runs;
pub(crate) mod timeline;
pub(crate) mod top;

use crate::ask::stats::summary::params::Params;
use crate::ask::stats::summary::runs::Runs;
use crate::ask::stats::summary::timeline::Timeline;
use eventlog::reader::{Event, Run, Stream};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Timelines of threads, at most; further threads of a stream share one.
const TIMELINE_COUNT_MAX: usize = 48;
/// The index that stands for the further threads of a stream.
const OTHERS: u32 = u32::MAX;

/// A number of events, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) events: u64,
    pub(crate) bytes: u64,
}

impl Count {
    pub(crate) fn add(&mut self, other: Count) {
        self.events += other.events;
        self.bytes += other.bytes;
    }
}

/// Values by key. The place of a value, an index, never changes.
#[derive(Debug)]
struct Keyed<K, V> {
    places: BTreeMap<K, usize>,
    values: Vec<V>,
}

impl<K, V> Default for Keyed<K, V> {
    fn default() -> Keyed<K, V> {
        Keyed { places: BTreeMap::new(), values: Vec::new() }
    }
}

impl<K: Ord + Copy, V> Keyed<K, V> {
    /// Returns the place of a key; makes its value if it is new.
    fn place(&mut self, key: K, make: impl FnOnce() -> V) -> usize {
        *self.places.entry(key).or_insert_with(|| {
            self.values.push(make());
            self.values.len() - 1
        })
    }

    fn get_mut(&mut self, place: usize) -> Option<&mut V> {
        self.values.get_mut(place)
    }

    /// Returns the values in order of their keys.
    fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.places.iter().filter_map(|(&key, &place)| Some((key, self.values.get(place)?)))
    }

    fn range(&self, keys: RangeInclusive<K>) -> impl Iterator<Item = (K, &V)> {
        let places = self.places.range(keys);
        places.filter_map(|(&key, &place)| Some((key, self.values.get(place)?)))
    }
}

/// The first and last ticks of no event.
const NEVER: (u64, u64) = (u64::MAX, 0);

fn widen(times: &mut (u64, u64), (first, last): (u64, u64)) {
    *times = (times.0.min(first), times.1.max(last));
}

/// What a summary finds out in addition to counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) params: bool,
    /// The missing numbers of events, which a selection does not know.
    pub(crate) runs: bool,
}

/// The events of a registry of a stream, by event type.
#[derive(Debug, Default)]
struct Rows {
    /// By the index of the event type in the registry.
    known: Vec<Count>,
    /// Events of unknown type, by code and kind.
    unknown: BTreeMap<(u16, u8), Count>,
}

impl Rows {
    #[cold]
    fn add_unknown(&mut self, event: Option<Event<'_, '_>>, one: Count) {
        if let Some(event) = event {
            self.unknown.entry((event.code(), event.kind)).or_default().add(one);
        }
    }
}

/// The source of an event. Most events have the source of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Source {
    stream: u16,
    registry: u16,
    buffer: u32,
    thread: u32,
}

/// Counts of events.
#[derive(Debug)]
pub(crate) struct Summary {
    wanted: Wanted,
    /// When the history of each stream begins and ends (`.cnv.history`).
    spans: Vec<Option<(u64, u64)>>,
    /// The source of the last event, and the places of its counts.
    source: Option<Source>,
    rows_place: usize,
    buffer_place: usize,
    timeline_place: usize,
    /// By the registry's own stream and index: raw streams of the MPS share a registry.
    rows: Keyed<(u16, u16), Rows>,
    /// By stream, buffer and thread: a thread may reuse the buffer of one that ended.
    buffers: Keyed<(u16, u32, u32), (Count, Runs)>,
    timelines: Keyed<(u16, u32), Timeline>,
    /// Ticks of the first and last event of streams without a timeline.
    far: BTreeMap<u16, (u64, u64)>,
    params: Params,
}

impl Summary {
    /// Returns an empty summary for streams with these spans.
    pub(crate) fn new(wanted: Wanted, spans: &[Option<(u64, u64)>]) -> Summary {
        Summary {
            wanted,
            spans: spans.to_vec(),
            source: None,
            rows_place: 0,
            buffer_place: 0,
            timeline_place: usize::MAX,
            rows: Keyed::default(),
            buffers: Keyed::default(),
            timelines: Keyed::default(),
            far: BTreeMap::new(),
            params: Params::default(),
        }
    }

    /// Counts events of one source together, unless the summary needs their parameters.
    pub(crate) fn add_run(&mut self, run: &Run<'_, '_>) {
        if self.wanted.params {
            return run.each(&mut |event| self.add(event));
        }
        let Some(first) = run.event(0) else { return };
        self.find_source(&first);
        let mut bytes = 0;
        if let Some(rows) = self.rows.get_mut(self.rows_place) {
            for (glance, index) in run.glances().zip(0..) {
                bytes += u64::from(glance.size);
                let one = Count { events: 1, bytes: glance.size.into() };
                match rows.known.get_mut(usize::from(glance.event_type_index)) {
                    Some(count) => count.add(one),
                    None => rows.add_unknown(run.event(index), one),
                }
            }
        }
        let count = run.count() as u64;
        if let Some((all, runs)) = self.buffers.get_mut(self.buffer_place) {
            all.add(Count { events: count, bytes });
            if self.wanted.runs {
                runs.add(run.number(), count);
            }
        }
        let ticks = run.glances().map(|glance| glance.ticks);
        if let Some(timeline) = self.timelines.get_mut(self.timeline_place) {
            timeline.add_all(ticks);
        } else {
            let begin = self.begin(first.stream);
            let far = self.far.entry(first.stream).or_insert(NEVER);
            ticks.filter(|ticks| *ticks >= begin).for_each(|ticks| widen(far, (ticks, ticks)));
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, event: &Event<'_, '_>) {
        self.find_source(event);
        let one = Count { events: 1, bytes: event.bytes.len() as u64 };
        let row = event.event_type.and_then(|row| event.registry.event_type_index(row.code));
        if let Some(rows) = self.rows.get_mut(self.rows_place) {
            match row.and_then(|row| rows.known.get_mut(row)) {
                Some(count) => count.add(one),
                None => rows.add_unknown(Some(*event), one),
            }
        }
        if let Some((count, runs)) = self.buffers.get_mut(self.buffer_place) {
            count.add(one);
            if self.wanted.runs {
                runs.add(event.number, 1);
            }
        }
        if let Some(timeline) = self.timelines.get_mut(self.timeline_place) {
            timeline.add(event.ticks);
        } else if event.ticks >= self.begin(event.stream) {
            widen(self.far.entry(event.stream).or_insert(NEVER), (event.ticks, event.ticks));
        }
        if self.wanted.params
            && let Some(row) = row
        {
            self.params.add(event, row as u16);
        }
    }

    /// Finds the places of the counts for the source of this event.
    #[inline]
    fn find_source(&mut self, event: &Event<'_, '_>) {
        let source = Source {
            stream: event.stream,
            registry: event.registry.index,
            buffer: event.buffer,
            thread: event.thread,
        };
        if self.source != Some(source) {
            self.find(source, event);
        }
    }

    #[cold]
    fn find(&mut self, source: Source, event: &Event<'_, '_>) {
        self.source = Some(source);
        let Source { stream, registry, buffer, thread } = source;
        self.rows_place = self.rows.place((event.registry.stream, registry), Rows::default);
        if let Some(rows) = self.rows.get_mut(self.rows_place) {
            let count = event.registry.event_types.len().max(rows.known.len());
            rows.known.resize(count, Count::default());
        }
        self.buffer_place = self.buffers.place((stream, buffer, thread), Default::default);
        self.timeline_place = self.timeline_of(stream, thread);
    }

    /// Returns the ticks with which the history of a stream begins.
    fn begin(&self, stream: u16) -> u64 {
        let span = self.spans.get(usize::from(stream)).copied().flatten();
        span.map_or(0, |(first, _)| first)
    }

    fn timeline_of(&mut self, stream: u16, thread: u32) -> usize {
        let spans = self.spans.iter().take(TIMELINE_COUNT_MAX);
        let Some(span) = spans.copied().nth(stream.into()).flatten() else { return usize::MAX };
        let has_room = self.timelines.values.len() < TIMELINE_COUNT_MAX
            || self.timelines.places.contains_key(&(stream, thread));
        let thread = if has_room { thread } else { OTHERS };
        self.timelines.place((stream, thread), || Timeline::new(span))
    }

    /// Adds the counts of a summary of later events in the file.
    pub(crate) fn merge(&mut self, other: Summary) {
        self.source = None;
        for (key, others) in other.rows.iter() {
            let place = self.rows.place(key, Rows::default);
            let Some(own) = self.rows.get_mut(place) else { continue };
            let count = own.known.len().max(others.known.len());
            own.known.resize(count, Count::default());
            own.known.iter_mut().zip(&others.known).for_each(|(own, other)| own.add(*other));
            for (&key, &count) in &others.unknown {
                own.unknown.entry(key).or_default().add(count);
            }
        }
        for (key, (count, others)) in other.buffers.iter() {
            let place = self.buffers.place(key, Default::default);
            let Some((own, runs)) = self.buffers.get_mut(place) else { continue };
            own.add(*count);
            runs.merge(others);
        }
        for ((stream, thread), other) in other.timelines.iter() {
            let own = self.timeline_of(stream, thread);
            if let Some(own) = self.timelines.get_mut(own) {
                own.merge(other);
            }
        }
        for (stream, times) in other.far {
            widen(self.far.entry(stream).or_insert(NEVER), times);
        }
        self.params.merge(other.params);
    }
}

/// Returns the seconds between two ticks, if known: by the clock syncs, else by the stated rate.
pub(crate) fn seconds(stream: &Stream, first: u64, last: u64) -> Option<f64> {
    if let (Some(first), Some(last)) = (stream.wall_time(first), stream.wall_time(last)) {
        return Some(last.realtime.checked_sub(first.realtime)? as f64 / 1e9);
    }
    let ticks = last.checked_sub(first)?;
    (stream.clock_rate > 0).then(|| ticks as f64 / stream.clock_rate as f64)
}

/// Returns the seconds in which any of these streams existed. Streams with times of day may
/// overlap; others came one after the other.
fn all_seconds(streams: &[Stream], times: &BTreeMap<u16, (u64, u64)>) -> Option<f64> {
    let (mut alone, mut walls) = (None, Vec::new());
    for (&index, &(first, last)) in times {
        let stream = streams.get(usize::from(index))?;
        match (stream.wall_time(first), stream.wall_time(last)) {
            (Some(from), Some(to)) if from.realtime > 0 && from.realtime <= to.realtime => {
                walls.push((from.realtime, to.realtime));
            }
            _ => *alone.get_or_insert(0.0) += seconds(stream, first, last)?,
        }
    }
    walls.sort_unstable();
    let mut side_by_side = (!walls.is_empty()).then_some(0);
    let mut end = 0;
    for (from, to) in walls {
        let length = to.saturating_sub(from.max(end));
        side_by_side = side_by_side.map(|sum: u64| sum.saturating_add(length));
        end = end.max(to);
    }
    match (alone, side_by_side.map(|ns| ns as f64 / 1e9)) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}
