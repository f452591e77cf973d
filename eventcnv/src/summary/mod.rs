//! What there is in a log: counted, without keeping an event.
//!
//! ```text
//!  events, in any order ──▶ Summary, one of each processor ── merge ──▶ Summary
//!  Log: registries, accounts, faults ──────────────────────────────────┴──▶ Overview (overview.rs)
//!  Overview ──▶ view/stats.rs, json.rs, difference.rs, the report
//! ```
//!
//! Design: `.cnv.stats` in `design/eventcnv.md`.

pub(crate) mod difference;
pub(crate) mod gather;
pub(crate) mod histogram;
pub(crate) mod json;
pub(crate) mod length;
pub(crate) mod overview;
pub(crate) mod params;
pub(crate) mod runs;
pub(crate) mod sample;
pub(crate) mod timeline;
pub(crate) mod top;

use eventlog::reader::{Account, Event, Log, Run, Value};
use params::Params;
use runs::Runs;
use std::collections::BTreeMap;
use timeline::Timeline;

/// Timelines of threads; the threads of a stream for which there is none share one.
const TIMELINE_COUNT_MAX: usize = 48;
/// The thread that stands for all others of its stream.
const OTHERS: u32 = u32::MAX;
/// Of the name of a thread, at most so many bytes; and so many threads have one.
const NAME_SIZE_MAX: usize = 128;
const NAME_COUNT_MAX: usize = 1 << 14;

/// How many events, and their bytes.
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

/// The times of no event.
const NEVER: (u64, u64) = (u64::MAX, 0);

fn widen(times: &mut (u64, u64), (first, last): (u64, u64)) {
    *times = (times.0.min(first), times.1.max(last));
}

/// What is to be found out beside counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// What values parameters have.
    pub(crate) params: bool,
    /// Which numbers of events are missing: not to be known of a selection.
    pub(crate) runs: bool,
}

/// The events of a registry of a stream, by event type.
#[derive(Debug, Default)]
struct Rows {
    /// By the place of the event type in the registry.
    known: Vec<Count>,
    /// Those that the registry lacks, by code and kind.
    unknown: BTreeMap<(u16, u8), Count>,
}

impl Rows {
    /// Counts an event whose code the registry lacks.
    #[cold]
    fn add_unknown(&mut self, event: Option<Event<'_, '_>>, one: Count) {
        if let Some(event) = event {
            self.unknown.entry((event.code(), event.kind)).or_default().add(one);
        }
    }
}

/// Where events come from: most come from the same place as the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    stream: u16,
    registry: u16,
    buffer: u32,
    thread: u32,
}

/// Counts of the events seen.
#[derive(Debug)]
pub(crate) struct Summary {
    wanted: Wanted,
    /// Ticks of the first and last event of the first streams.
    spans: Vec<Option<(u64, u64)>>,
    place: Option<Place>,
    /// Where, by `place`, is what follows.
    at_rows: usize,
    at_buffer: usize,
    at_timeline: usize,
    rows: Vec<Rows>,
    /// By the registry's own stream and index, where in `rows`: raw streams of the MPS share one.
    places_of_rows: BTreeMap<(u16, u16), usize>,
    buffers: Vec<(Count, Runs)>,
    /// By stream, buffer and thread: a thread may have the buffer of one that ended.
    places_of_buffers: BTreeMap<(u16, u32, u32), usize>,
    timelines: Vec<Timeline>,
    places_of_timelines: BTreeMap<(u16, u32), usize>,
    /// Ticks of the first and last event of streams that have no timeline.
    far: BTreeMap<u16, (u64, u64)>,
    params: Params,
    thread_names: BTreeMap<(u16, u32), String>,
}

impl Summary {
    /// Of nothing yet; of a log whose streams last so long.
    pub(crate) fn new(wanted: Wanted, spans: &[Option<(u64, u64)>]) -> Summary {
        Summary {
            wanted,
            spans: spans.to_vec(),
            place: None,
            at_rows: 0,
            at_buffer: 0,
            at_timeline: usize::MAX,
            rows: Vec::new(),
            places_of_rows: BTreeMap::new(),
            buffers: Vec::new(),
            places_of_buffers: BTreeMap::new(),
            timelines: Vec::new(),
            places_of_timelines: BTreeMap::new(),
            far: BTreeMap::new(),
            params: Params::default(),
            thread_names: BTreeMap::new(),
        }
    }

    /// How long the streams of a log last, as far as there are timelines for them.
    pub(crate) fn spans(log: &Log) -> Vec<Option<(u64, u64)>> {
        let streams = log.streams().len().min(TIMELINE_COUNT_MAX);
        (0..streams as u16).map(|stream| log.span(stream)).collect()
    }

    /// Counts events that come from one place: all at a glance, but for those of which more is to
    /// be known.
    pub(crate) fn add_run(&mut self, run: &Run<'_, '_>) {
        if self.wanted.params || run.registry().index == 0 {
            return run.each(&mut |event| self.add(event));
        }
        let Some(first) = run.event(0) else { return };
        self.go_to(&first);
        let mut bytes = 0;
        if let Some(rows) = self.rows.get_mut(self.at_rows) {
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
        if let Some((all, runs)) = self.buffers.get_mut(self.at_buffer) {
            all.add(Count { events: count, bytes });
            if self.wanted.runs {
                runs.add(run.number(), count);
            }
        }
        let ticks = run.glances().map(|glance| glance.ticks);
        if let Some(timeline) = self.timelines.get_mut(self.at_timeline) {
            timeline.add_all(ticks);
        } else {
            let far = self.far.entry(first.stream).or_insert(NEVER);
            ticks.for_each(|ticks| widen(far, (ticks, ticks)));
        }
    }

    /// Counts an event.
    #[inline]
    pub(crate) fn add(&mut self, event: &Event<'_, '_>) {
        self.go_to(event);
        let one = Count { events: 1, bytes: event.bytes.len() as u64 };
        let row = event.event_type.and_then(|row| event.registry.event_type_index(row.code));
        if let Some(rows) = self.rows.get_mut(self.at_rows) {
            match row.and_then(|row| rows.known.get_mut(row)) {
                Some(count) => count.add(one),
                None => rows.add_unknown(Some(*event), one),
            }
        }
        if let Some((count, runs)) = self.buffers.get_mut(self.at_buffer) {
            count.add(one);
            if self.wanted.runs {
                runs.add(event.number, 1);
            }
        }
        if let Some(timeline) = self.timelines.get_mut(self.at_timeline) {
            timeline.add(event.ticks);
        } else {
            widen(self.far.entry(event.stream).or_insert(NEVER), (event.ticks, event.ticks));
        }
        if self.wanted.params
            && let Some(row) = row
        {
            self.params.add(event, row as u16);
        }
        if event.registry.index == 0 {
            self.add_own(event);
        }
    }

    /// Sees to it that it is known where the events that come from the place of this one are
    /// counted.
    #[inline]
    fn go_to(&mut self, event: &Event<'_, '_>) {
        let place = Place {
            stream: event.stream,
            registry: event.registry.index,
            buffer: event.buffer,
            thread: event.thread,
        };
        if self.place != Some(place) {
            self.find(place, event);
        }
    }

    #[cold]
    fn find(&mut self, place: Place, event: &Event<'_, '_>) {
        self.place = Some(place);
        let Place { stream, registry, buffer, thread } = place;
        let rows = &mut self.rows;
        let key = (event.registry.stream, registry);
        self.at_rows = *self.places_of_rows.entry(key).or_insert_with(|| {
            rows.push(Rows::default());
            rows.len() - 1
        });
        if let Some(rows) = rows.get_mut(self.at_rows) {
            let count = event.registry.event_types.len().max(rows.known.len());
            rows.known.resize(count, Count::default());
        }
        let buffers = &mut self.buffers;
        let key = (stream, buffer, thread);
        self.at_buffer = *self.places_of_buffers.entry(key).or_insert_with(|| {
            buffers.push(<(Count, Runs)>::default());
            buffers.len() - 1
        });
        self.at_timeline = self.timeline_of(stream, thread);
    }

    fn timeline_of(&mut self, stream: u16, thread: u32) -> usize {
        let span = self.spans.get(usize::from(stream)).copied().flatten();
        let Some(span) = span else { return usize::MAX };
        if let Some(&place) = self.places_of_timelines.get(&(stream, thread)) {
            return place;
        }
        let is_room = self.timelines.len() < TIMELINE_COUNT_MAX;
        let thread = if is_room { thread } else { OTHERS };
        let timelines = &mut self.timelines;
        *self.places_of_timelines.entry((stream, thread)).or_insert_with(|| {
            timelines.push(Timeline::new(span));
            timelines.len() - 1
        })
    }

    /// What the runtime says about itself.
    #[cold]
    fn add_own(&mut self, event: &Event<'_, '_>) {
        let number = |name| event.param(name).and_then(|value| value.as_u64());
        let stream = event.stream;
        if event.name() == "Thread" && self.thread_names.len() < NAME_COUNT_MAX {
            let thread = number("thread").and_then(|thread| u32::try_from(thread).ok());
            let name = event.param("name");
            if let (Some(thread), Some(Value::S(name))) = (thread, name) {
                let name = name.get(..NAME_SIZE_MAX).unwrap_or(name);
                let name = String::from_utf8_lossy(name).into_owned();
                self.thread_names.insert((stream, thread), name);
            }
        }
    }

    /// Adds what another counted, of events that come later in the file.
    pub(crate) fn merge(&mut self, other: Summary) {
        self.place = None;
        for (key, place) in other.places_of_rows {
            let Some(others) = other.rows.get(place) else { continue };
            let rows = &mut self.rows;
            let own = *self.places_of_rows.entry(key).or_insert_with(|| {
                rows.push(Rows::default());
                rows.len() - 1
            });
            let Some(own) = rows.get_mut(own) else { continue };
            let count = own.known.len().max(others.known.len());
            own.known.resize(count, Count::default());
            own.known.iter_mut().zip(&others.known).for_each(|(own, other)| own.add(*other));
            for (&key, &count) in &others.unknown {
                own.unknown.entry(key).or_default().add(count);
            }
        }
        for (key, place) in other.places_of_buffers {
            let Some((count, others)) = other.buffers.get(place) else { continue };
            let buffers = &mut self.buffers;
            let own = *self.places_of_buffers.entry(key).or_insert_with(|| {
                buffers.push(<(Count, Runs)>::default());
                buffers.len() - 1
            });
            let Some((own, runs)) = buffers.get_mut(own) else { continue };
            own.add(*count);
            runs.merge(others);
        }
        for ((stream, thread), place) in other.places_of_timelines {
            let own = self.timeline_of(stream, thread);
            if let (Some(own), Some(other)) =
                (self.timelines.get_mut(own), other.timelines.get(place))
            {
                own.merge(other);
            }
        }
        for (stream, times) in other.far {
            widen(self.far.entry(stream).or_insert(NEVER), times);
        }
        self.params.merge(other.params);
        self.thread_names.extend(other.thread_names);
    }

    /// The account of a buffer all of whose events were asked for: what the headers promised and
    /// is not here counts as lost.
    pub(crate) fn settled(&self, account: &Account) -> Account {
        let (stream, buffer) = (account.stream, account.buffer);
        let found: u64 = self.buffers_of(stream, buffer).map(|(_, (count, _))| count.events).sum();
        let missing = account.found.saturating_sub(found);
        Account { lost: account.lost.saturating_add(missing), ..*account }
    }

    /// What was counted of a buffer, by thread.
    fn buffers_of(&self, stream: u16, buffer: u32) -> impl Iterator<Item = (u32, &(Count, Runs))> {
        let range = (stream, buffer, 0)..=(stream, buffer, u32::MAX);
        let threads = self.places_of_buffers.range(range);
        threads.filter_map(|(key, &place)| Some((key.2, self.buffers.get(place)?)))
    }
}
