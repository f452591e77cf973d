//! Counts of events over time, and a sample of the events: for a page of bounded size.
//!
//! ```text
//!  event ── Axis ──▶ place in time, 0 … 1 ─┬─▶ a count of its kind, in 4096 parts of the time
//!                                          ├─▶ a count of its type, in 512 parts
//!                                          └─▶ the hash of its number: the least of each type and
//!                                              of each part stay
//! ```
//!
//! A hash chooses the events of the sample, so the sample does not depend on the partitions.
//! Design: `.cnv.report` in `design/eventcnv.md`.

use crate::ask::stats::summary::overview::identity;
use crate::ask::stats::summary::seconds;
use eventlog::reader::{Event, Log};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Parts of the time for counts of kinds, for counts of types, and for the sample.
pub(crate) const KIND_CELL_COUNT: usize = 4096;
pub(crate) const TYPE_CELL_COUNT: usize = 512;
const SAMPLE_CELL_COUNT: usize = 1024;
/// Series of kinds and of types, at most.
const KIND_COUNT_MAX: usize = 64;
const TYPE_COUNT_MAX: usize = 256;
/// Events in the sample, at most: of all event types together, of one type, of each part of the
/// time, and of the whole log.
const SAMPLE_COUNT_OF_TYPES: usize = 5120;
const SAMPLE_COUNT_OF_TYPE: std::ops::RangeInclusive<usize> = 2..=256;
const SAMPLE_COUNT_IN_CELL: usize = 3;
const SAMPLE_COUNT: usize = 4000;

/// The time axis of all streams.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// For each stream: its first ticks, its beginning after that of the first stream, and the
    /// length of a tick.
    streams: Vec<(u64, f64, f64)>,
    pub(crate) length: f64,
    /// Whether the unit is a second; else it is a tick.
    pub(crate) is_seconds: bool,
}

impl Axis {
    /// Returns an axis in seconds if all streams relate their clocks to seconds, else in ticks.
    pub(crate) fn new(log: &Log, spans: &[Option<(u64, u64)>]) -> Axis {
        let streams = log.streams();
        let of = |(stream, span): (&eventlog::reader::Stream, &Option<(u64, u64)>)| {
            let (first, last) = (*span)?;
            let length = seconds(stream, first, last)?;
            let begin = stream.wall_time(first).map_or(0, |time| time.realtime);
            Some((first, begin, length, length / (last - first).max(1) as f64))
        };
        let known: Vec<_> = streams.iter().zip(spans).filter_map(of).collect();
        if !spans.is_empty() && known.len() == spans.len() {
            let begin = known.iter().map(|row| row.1).min().unwrap_or(0);
            let after = |row: &(u64, u64, f64, f64)| (row.1 - begin) as f64 / 1e9;
            let length = known.iter().map(|row| after(row) + row.2).fold(0.0, f64::max);
            let streams = known.iter().map(|row| (row.0, after(row), row.3)).collect();
            return Axis { streams, length, is_seconds: true };
        }
        let spans = spans.iter().map(|span| span.unwrap_or((0, 0)));
        let length = spans.clone().map(|(first, last)| last - first).max().unwrap_or(0) as f64;
        let streams = spans.map(|(first, _)| (first, 0.0, 1.0)).collect();
        Axis { streams, length, is_seconds: false }
    }

    /// Returns the time of ticks of a stream since the beginning of the log.
    #[inline]
    pub(crate) fn time(&self, stream: u16, ticks: u64) -> Option<f64> {
        let (first, begin, scale) = *self.streams.get(usize::from(stream))?;
        Some((begin + ticks.saturating_sub(first) as f64 * scale).min(self.length))
    }

    /// Returns a time as a part of the whole, 0 … 1.
    #[inline]
    fn part(&self, time: f64) -> f64 {
        if self.length > 0.0 { time / self.length } else { 0.0 }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    pub(crate) time: f64,
    pub(crate) stream: u16,
    pub(crate) thread: u32,
    /// The event type.
    pub(crate) of: Key,
    pub(crate) text: Vec<u8>,
}

/// Hash, stream, buffer and number of an event.
pub(crate) type Id = (u64, u16, u32, u64);

/// The key of a series: stream and index of the registry, kind or code.
pub(crate) type Key = (u16, u16, u16);

/// Counts of events over time, and a sample of the events.
#[derive(Debug)]
pub(crate) struct Sample {
    axis: Axis,
    /// The first equal registry of each registry, by stream and index.
    registries: BTreeMap<(u16, u16), (u16, u16)>,
    pub(crate) kinds: BTreeMap<Key, Vec<u32>>,
    pub(crate) types: BTreeMap<Key, Vec<u32>>,
    of_types: BTreeMap<Key, BTreeSet<Id>>,
    cells: Vec<BTreeSet<Id>>,
    all: BTreeSet<Id>,
    events: BTreeMap<Id, Sampled>,
}

impl Sample {
    pub(crate) fn new(log: &Log, axis: &Axis) -> Sample {
        let mut firsts = HashMap::new();
        let registries = log.registries().iter().map(|registry| {
            let place = (registry.stream, registry.index);
            (place, *firsts.entry(identity(registry)).or_insert(place))
        });
        Sample {
            axis: axis.clone(),
            registries: registries.collect(),
            of_types: BTreeMap::new(),
            kinds: BTreeMap::new(),
            types: BTreeMap::new(),
            cells: vec![BTreeSet::new(); SAMPLE_CELL_COUNT],
            all: BTreeSet::new(),
            events: BTreeMap::new(),
        }
    }

    /// Returns an event as the sample has it; `write` appends its parameters.
    pub(crate) fn sampled(
        &self,
        event: &Event<'_, '_>,
        write: impl Fn(&Event<'_, '_>, &mut Vec<u8>),
    ) -> Option<(Id, Sampled)> {
        let Event { stream, thread, .. } = *event;
        let time = self.axis.time(stream, event.ticks)?;
        let (own, registry) = self.registry(event);
        let mut text = Vec::new();
        write(event, &mut text);
        Some((id(event), Sampled { time, stream, thread, of: (own, registry, event.code()), text }))
    }

    /// Adds events that are in the sample in any case, after all others.
    pub(crate) fn extend(&mut self, events: impl IntoIterator<Item = (Id, Sampled)>) {
        self.events.extend(events);
    }

    /// Returns the first registry that equals that of an event: streams of the MPS share one.
    fn registry(&self, event: &Event<'_, '_>) -> (u16, u16) {
        let place = (event.registry.stream, event.registry.index);
        self.registries.get(&place).copied().unwrap_or(place)
    }

    /// Counts an event; `write` appends its parameters if it enters the sample.
    pub(crate) fn add(
        &mut self,
        event: &Event<'_, '_>,
        write: impl Fn(&Event<'_, '_>, &mut Vec<u8>),
    ) {
        let Some(time) = self.axis.time(event.stream, event.ticks) else { return };
        let part = self.axis.part(time);
        let (stream, registry) = self.registry(event);
        let kind = (stream, registry, u16::from(event.kind));
        count(&mut self.kinds, kind, KIND_COUNT_MAX, cell(part, KIND_CELL_COUNT), KIND_CELL_COUNT);
        let of = (stream, registry, event.code());
        count(&mut self.types, of, TYPE_COUNT_MAX, cell(part, TYPE_CELL_COUNT), TYPE_CELL_COUNT);
        let id = id(event);
        if !self.keep(id, time, of) {
            return;
        }
        let sampled = self.sampled(event, write);
        self.events.extend(sampled);
    }

    /// Adds an event to the samples of its type, of its part of the time, and of the log, and
    /// removes the events that it displaces. Returns whether it entered any.
    fn keep(&mut self, id: Id, time: f64, of: Key) -> bool {
        let mut displaced = Vec::new();
        let is_new = !self.of_types.contains_key(&of);
        if is_new && self.of_types.len() < SAMPLE_COUNT_OF_TYPES / SAMPLE_COUNT_OF_TYPE.start() {
            self.of_types.insert(of, BTreeSet::new());
            // More types leave less room for each.
            let max = self.count_of_type();
            for least in self.of_types.values_mut() {
                displaced.extend((max..least.len()).filter_map(|_| least.pop_last()));
            }
        }
        let max = self.count_of_type();
        let at = cell(self.axis.part(time), SAMPLE_CELL_COUNT);
        let of_type = self.of_types.get_mut(&of).map(|least| (least, max));
        let of_cell = self.cells.get_mut(at).map(|least| (least, SAMPLE_COUNT_IN_CELL));
        let of_all = Some((&mut self.all, SAMPLE_COUNT));
        let mut is_kept = false;
        for (least, max) in [of_type, of_cell, of_all].into_iter().flatten() {
            let (is_in, out) = insert(least, id, max);
            is_kept |= is_in;
            displaced.extend(out);
        }
        for id in displaced {
            let is_in = |least: Option<&BTreeSet<Id>>| least.is_some_and(|ids| ids.contains(&id));
            let stays = self.events.get(&id).is_some_and(|event| {
                let at = cell(self.axis.part(event.time), SAMPLE_CELL_COUNT);
                is_in(self.of_types.get(&event.of)) || is_in(self.cells.get(at))
            });
            if !stays && !self.all.contains(&id) {
                self.events.remove(&id);
            }
        }
        is_kept
    }

    /// Returns how many events of a type the sample holds, at most.
    pub(crate) fn count_of_type(&self) -> usize {
        let (least, most) = (*SAMPLE_COUNT_OF_TYPE.start(), *SAMPLE_COUNT_OF_TYPE.end());
        (SAMPLE_COUNT_OF_TYPES / self.of_types.len().max(1)).clamp(least, most)
    }

    /// Adds the counts and the sample of another part of the log.
    pub(crate) fn merge(&mut self, other: Sample) {
        for (own, others, max) in [
            (&mut self.kinds, other.kinds, KIND_COUNT_MAX),
            (&mut self.types, other.types, TYPE_COUNT_MAX),
        ] {
            for (key, counts) in others {
                if own.len() < max || own.contains_key(&key) {
                    let own = own.entry(key).or_insert_with(|| vec![0; counts.len()]);
                    own.iter_mut().zip(counts).for_each(|(own, n)| *own = own.saturating_add(n));
                }
            }
        }
        for (id, event) in other.events {
            if self.keep(id, event.time, event.of) {
                self.events.insert(id, event);
            }
        }
    }

    /// Returns the sample in order of time.
    pub(crate) fn events(&self) -> Vec<&Sampled> {
        let mut events: Vec<&Sampled> = self.events.values().collect();
        events.sort_by(|a, b| a.time.total_cmp(&b.time));
        events
    }
}

fn cell(part: f64, count: usize) -> usize {
    ((part * count as f64) as usize).min(count - 1)
}

fn count(series: &mut BTreeMap<Key, Vec<u32>>, key: Key, max: usize, cell: usize, cells: usize) {
    if let Some(count) = series.get_mut(&key).and_then(|counts| counts.get_mut(cell)) {
        *count = count.saturating_add(1);
    } else if series.len() < max {
        let mut counts = vec![0; cells];
        if let Some(count) = counts.get_mut(cell) {
            *count = 1;
        }
        series.insert(key, counts);
    }
}

/// Inserts an event if it is among the `count` least. Returns whether it was, and the event that it
/// displaced.
fn insert(least: &mut BTreeSet<Id>, id: Id, count: usize) -> (bool, Option<Id>) {
    if least.len() >= count && least.last().is_some_and(|last| *last <= id) {
        return (false, None);
    }
    least.insert(id);
    (true, if least.len() > count { least.pop_last() } else { None })
}

/// Returns the identity of an event. The hash is the finisher of S. Vigna's splitmix64.
fn id(event: &Event<'_, '_>) -> Id {
    let Event { stream, buffer, number, .. } = *event;
    let mut hash = number ^ u64::from(buffer) << 40 ^ u64::from(stream) << 24;
    hash = (hash ^ hash >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (hash ^ hash >> 31, stream, buffer, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::select::Select;
    use eventlog::reader::Order;

    fn sample(parts: usize) -> (Sample, u64) {
        let bytes =
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/mps/mpmss-cut.log"))
                .repeat(20);
        let log = Log::from_source(bytes).unwrap();
        let spans: Vec<_> = (0..20).map(|stream| log.span(stream)).collect();
        let axis = Axis::new(&log, &spans);
        let mut samples: Vec<Sample> = (0..parts).map(|_| Sample::new(&log, &axis)).collect();
        let selection = Select::default().resolve(&log, false).unwrap();
        let mut events = selection.events(&log, Order::File);
        let mut index = 0;
        while let Some(event) = events.next() {
            let sample = &mut samples[index % parts];
            sample.add(&event, |event, text| text.extend(event.offset.to_string().bytes()));
            index += 1;
        }
        let mut samples = samples.into_iter();
        let mut first = samples.next().unwrap();
        samples.for_each(|other| first.merge(other));
        (first, index as u64)
    }

    /// `.cnv.report`
    #[test]
    fn the_sample_does_not_depend_on_the_partitions() {
        let (whole, count) = sample(1);
        let (merged, _) = sample(3);
        let texts = |sample: &Sample| -> Vec<Vec<u8>> {
            sample.events().into_iter().map(|event| event.text.clone()).collect()
        };
        let mut all = [texts(&whole), texts(&merged)];
        all.iter_mut().for_each(|texts| texts.sort());
        assert_eq!(all[0], all[1]);
        let sum: u64 = whole.types.values().flatten().map(|&count| u64::from(count)).sum();
        assert_eq!(sum, count);
        assert_eq!(whole.kinds, merged.kinds);
        let max = SAMPLE_COUNT + SAMPLE_COUNT_OF_TYPES + SAMPLE_CELL_COUNT * SAMPLE_COUNT_IN_CELL;
        assert!(all[0].len() >= SAMPLE_COUNT.min(count as usize) && all[0].len() <= max);
    }

    /// `.cnv.report`
    #[test]
    fn all_events_of_a_rare_type_are_in_the_sample() {
        for parts in [1, 3] {
            let (sample, count) = sample(parts);
            assert!(count > 20_000, "{count}");
            let mut rare_count = 0;
            for (of, counts) in &sample.types {
                let is_it = |event: &&Sampled| event.of == *of;
                let found = sample.events.values().filter(is_it).count();
                let all: u32 = counts.iter().sum();
                let max = sample.count_of_type();
                assert!(found >= max.min(all as usize), "{of:?}: {found} of {all}");
                rare_count += usize::from((all as usize) < max);
            }
            assert!(rare_count > 3, "{rare_count}");
        }
    }
}
