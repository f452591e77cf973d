//! A summary with the names that the log declares.
//!
//! ```text
//!  Summary (codes, places) + Log (registries, streams, accounts) ──▶ Overview (names, seconds)
//! ```
//!
//! Design: `.cnv.stats` in `design/eventcnv.md`.

use super::params::Distribution;
use super::timeline::{Gap, Timeline};
use super::{Count, OTHERS, Summary, all_seconds, seconds, widen};
use crate::input::threads::{self, Thread};
use crate::select::Selection;
use eventdef::{Sort, Version};
use eventlog::reader::{Faults, Log, Losses, Registry, Stream};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Gaps of a stream that an overview lists.
const GAP_COUNT: usize = 3;
/// Holes in numbering that an overview lists, at most.
const HOLE_COUNT_MAX: usize = 20;

/// The names of threads, by stream and index.
type ThreadNames = BTreeMap<(u16, u32), String>;

/// Name and version, which identify a registry in all streams.
pub(crate) type Identity = (String, Version);

/// The contents of a log, in numbers.
pub(crate) struct Overview<'l> {
    pub(crate) streams: &'l [Stream],
    pub(crate) total: Count,
    /// Ticks of the first and last event, by stream.
    pub(crate) times: BTreeMap<u16, (u64, u64)>,
    /// The time in which any stream existed, if the clocks of all are known.
    pub(crate) seconds: Option<f64>,
    pub(crate) kinds: Vec<(String, Count)>,
    /// The most frequent first.
    pub(crate) types: Vec<TypeOverview>,
    pub(crate) threads: Vec<(String, Count)>,
    /// Index in `threads`, by stream and index of the thread.
    pub(crate) thread_places: BTreeMap<(u16, u32), usize>,
    pub(crate) gaps: Vec<GapOverview>,
    pub(crate) holes: Vec<Hole>,
    /// Holes beyond those in `holes`.
    pub(crate) unlisted_hole_count: usize,
    pub(crate) losses: Vec<(String, Losses)>,
    pub(crate) fault_count: u64,
    /// Whether the overview has parameters, and whether some are left out.
    pub(crate) has_params: bool,
    pub(crate) is_params_cut: bool,
}

pub(crate) struct TypeOverview {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Whether the type is of the runtime's own registry.
    pub(crate) is_own: bool,
    pub(crate) count: Count,
    pub(crate) params: Vec<ParamOverview>,
}

impl TypeOverview {
    /// Adds the counts of another stream.
    fn add(&mut self, count: Count, params: Vec<ParamOverview>) {
        self.count.add(count);
        for (own, other) in self.params.iter_mut().zip(params) {
            own.values.merge(other.values);
        }
    }
}

/// A parameter of an event type.
pub(crate) struct ParamOverview {
    pub(crate) name: String,
    pub(crate) sort: Sort,
    pub(crate) values: Distribution,
}

/// A stretch without events.
pub(crate) struct GapOverview {
    /// The name of a thread, or "all".
    pub(crate) of: String,
    pub(crate) stream: u16,
    pub(crate) gap: Gap,
    pub(crate) seconds: Option<f64>,
    /// From the first event of the stream to the gap.
    pub(crate) seconds_before: Option<f64>,
}

/// Numbers that no event of a buffer has.
pub(crate) struct Hole {
    pub(crate) stream: u16,
    pub(crate) buffer: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl<'l> Overview<'l> {
    pub(crate) fn new(
        summary: Summary,
        log: &'l Log,
        selection: &Selection,
        faults: &Faults,
    ) -> Overview<'l> {
        let filter = selection.filter();
        // Only a reading of all events of a buffer tells which of them are unreadable.
        let is_all = !selection.is_conditional()
            && filter.event_types.is_empty()
            && filter.threads.is_empty()
            && filter.times.is_empty();
        let none = Faults::default();
        let losses = log.losses_by_kind(if is_all { faults } else { &none });
        let fault_count = log.faults().loss_count() + faults.loss_count();
        let threads = threads::recorded(log);
        Overview::of(summary, log.streams(), log.registries(), &threads, losses, fault_count)
    }

    /// Returns the overview of the parts of a log.
    pub(crate) fn of(
        summary: Summary,
        streams: &'l [Stream],
        registries: &[Registry],
        recorded: &[Thread],
        losses: BTreeMap<(u16, u16, u8), Losses>,
        fault_count: u64,
    ) -> Overview<'l> {
        let prefixes = prefixes(registries);
        let times = times(&summary);
        let name = |thread: &Thread| {
            Some(((thread.stream, u32::try_from(thread.index).ok()?), thread.name.clone()))
        };
        let names = recorded.iter().filter_map(name).collect();
        let threads = threads(&summary, &names, streams.len() > 1);
        let seconds = all_seconds(streams, &times);
        let mut overview = Overview {
            streams,
            total: Count::default(),
            seconds,
            kinds: Vec::new(),
            types: Vec::new(),
            threads: threads.values().cloned().collect(),
            thread_places: threads.into_keys().zip(0..).collect(),
            gaps: gaps(&summary, &names, streams, &times),
            holes: Vec::new(),
            unlisted_hole_count: 0,
            losses: named_losses(registries, &prefixes, losses),
            fault_count,
            has_params: summary.wanted.params,
            is_params_cut: summary.params.is_cut,
            times,
        };
        overview.add_types(&summary, registries, &prefixes);
        overview.add_holes(summary);
        overview
    }

    fn add_types(
        &mut self,
        summary: &Summary,
        registries: &[Registry],
        prefixes: &HashMap<Identity, String>,
    ) {
        let mut kinds: BTreeMap<(u16, String), Count> = BTreeMap::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut add = |name: String, kind: (u16, String), count: Count, params: Vec<_>| {
            self.total.add(count);
            kinds.entry(kind.clone()).or_default().add(count);
            let place = *places.entry(name.clone()).or_insert(self.types.len());
            match self.types.get_mut(place) {
                Some(row) => row.add(count, params),
                None => {
                    let (is_own, kind) = (kind.0 == 0, kind.1);
                    self.types.push(TypeOverview { name, kind, is_own, count, params });
                }
            }
        };
        for ((stream, index), rows) in summary.rows.iter() {
            let Some(registry) = find_registry(registries, stream, index) else { continue };
            let prefix = prefixes.get(&identity(registry)).map_or("", String::as_str);
            let kind = |kind| (index, format!("{prefix}{}", kind_name(registry, kind)));
            for (place, (row, &count)) in registry.event_types.iter().zip(&rows.known).enumerate() {
                if count.events > 0 {
                    let values = summary.params.get(stream, index, place);
                    let of = |(param, values): (&eventlog::reader::Param, &Distribution)| {
                        let name = param.name.to_string();
                        ParamOverview { name, sort: param.sort, values: values.clone() }
                    };
                    let params = row.params.iter().zip(values).map(of).collect();
                    add(format!("{prefix}{}", row.name), kind(row.kind), count, params);
                }
            }
            for (&(code, of_kind), &count) in &rows.unknown {
                add(format!("{prefix}{code:04X}"), kind(of_kind), count, Vec::new());
            }
        }
        self.kinds = kinds.into_iter().map(|((_, name), count)| (name, count)).collect();
        self.types.sort_by_key(|row| Reverse(row.count.events));
    }

    fn add_holes(&mut self, summary: Summary) {
        let mut buffers: BTreeMap<(u16, u32), super::Runs> = BTreeMap::new();
        for ((stream, buffer, _), (_, runs)) in summary.buffers.iter() {
            buffers.entry((stream, buffer)).or_default().merge(runs);
        }
        for ((stream, buffer), runs) in buffers {
            for (from, to) in runs.holes() {
                self.holes.push(Hole { stream, buffer, from, to });
            }
        }
        self.holes.sort_by_key(|hole| Reverse(hole.to - hole.from));
        self.unlisted_hole_count = self.holes.len().saturating_sub(HOLE_COUNT_MAX);
        self.holes.truncate(HOLE_COUNT_MAX);
    }

    pub(crate) fn all_losses(&self) -> Losses {
        let mut sum = Losses::default();
        self.losses.iter().for_each(|(_, losses)| sum.add(losses));
        sum
    }

    /// Returns a count a second, if the duration is known.
    pub(crate) fn rate(&self, count: u64) -> Option<f64> {
        self.seconds.filter(|seconds| *seconds > 0.0).map(|seconds| count as f64 / seconds)
    }
}

fn times(summary: &Summary) -> BTreeMap<u16, (u64, u64)> {
    let mut times = summary.far.clone();
    for ((stream, _), timeline) in summary.timelines.iter() {
        if let Some(span) = timeline.span() {
            widen(times.entry(stream).or_insert(span), span);
        }
    }
    times
}

fn threads(
    summary: &Summary,
    names: &ThreadNames,
    is_stream_shown: bool,
) -> BTreeMap<(u16, u32), (String, Count)> {
    let mut threads: BTreeMap<(u16, u32), Count> = BTreeMap::new();
    for ((stream, _, thread), (count, _)) in summary.buffers.iter() {
        threads.entry((stream, thread)).or_default().add(*count);
    }
    let named = |(key, count)| (key, (thread_name(names, key, is_stream_shown), count));
    threads.into_iter().map(named).collect()
}

fn thread_name(names: &ThreadNames, key: (u16, u32), is_stream_shown: bool) -> String {
    let (stream, thread) = key;
    let name = match (names.get(&key), thread) {
        (Some(name), _) => format!("{thread} {name:?}"),
        (None, 0) => "none".to_owned(),
        (None, OTHERS) => "others".to_owned(),
        (None, _) => thread.to_string(),
    };
    if is_stream_shown { format!("stream {stream}: {name}") } else { name }
}

/// Returns the longest gaps of each stream, and the longest of each thread.
fn gaps(
    summary: &Summary,
    names: &ThreadNames,
    streams: &[Stream],
    times: &BTreeMap<u16, (u64, u64)>,
) -> Vec<GapOverview> {
    let mut gaps = Vec::new();
    let mut push = |of: String, number: u16, gap: Gap| {
        let stream = streams.get(usize::from(number));
        let first = times.get(&number).map_or(gap.from, |times| times.0);
        let seconds = |from, to| stream.and_then(|stream| seconds(stream, from, to));
        gaps.push(GapOverview {
            of,
            stream: number,
            gap,
            seconds: seconds(gap.from, gap.to),
            seconds_before: seconds(first, gap.from),
        });
    };
    let is_stream_shown = streams.len() > 1;
    for &stream in times.keys() {
        let range = (stream, 0)..=(stream, u32::MAX);
        let timelines = summary.timelines.range(range);
        let of_stream: BTreeMap<u32, &Timeline> =
            timelines.map(|((_, thread), timeline)| (thread, timeline)).collect();
        let Some((_, &first)) = of_stream.first_key_value() else { continue };
        let mut all = first.clone();
        of_stream.values().skip(1).for_each(|timeline| all.merge(timeline));
        let name = if is_stream_shown { format!("stream {stream}: all") } else { "all".to_owned() };
        all.gaps(GAP_COUNT).into_iter().for_each(|gap| push(name.clone(), stream, gap));
        if of_stream.len() > 1 {
            for (&thread, timeline) in &of_stream {
                let name = thread_name(names, (stream, thread), is_stream_shown);
                let longest = timeline.gaps(1).into_iter();
                longest.for_each(|gap| push(format!("thread {name}"), stream, gap));
            }
        }
    }
    gaps
}

fn named_losses(
    registries: &[Registry],
    prefixes: &HashMap<Identity, String>,
    losses: BTreeMap<(u16, u16, u8), Losses>,
) -> Vec<(String, Losses)> {
    let mut lost: BTreeMap<(u16, String), Losses> = BTreeMap::new();
    for ((stream, index, kind), losses) in losses {
        let key = match find_registry(registries, stream, index) {
            Some(registry) => {
                let prefix = prefixes.get(&identity(registry)).map_or("", String::as_str);
                (index, format!("{prefix}{}", kind_name(registry, kind)))
            }
            // `.store.discarded`
            None if index == u16::MAX => (index, format!("kind {kind} of no registry")),
            None => (u16::MAX, format!("kind {kind} of registry {index}")),
        };
        lost.entry(key).or_default().add(&losses);
    }
    lost.retain(|_, losses| *losses != Losses::default());
    lost.into_iter().map(|((_, kind), losses)| (kind, losses)).collect()
}

pub(crate) fn find_registry(registries: &[Registry], stream: u16, index: u16) -> Option<&Registry> {
    registries.iter().find(|found| (found.stream, found.index) == (stream, index))
}

pub(crate) fn identity(registry: &Registry) -> Identity {
    (registry.name.to_string(), registry.version)
}

/// Returns the prefix of names of each registry. It is the index, if the registry has the same in
/// all streams and shares it with none; else name and version.
pub(crate) fn prefixes(registries: &[Registry]) -> HashMap<Identity, String> {
    let mut indices: HashMap<Identity, BTreeSet<u16>> = HashMap::new();
    let mut sharers: HashMap<u16, HashSet<Identity>> = HashMap::new();
    for registry in registries {
        indices.entry(identity(registry)).or_default().insert(registry.index);
        sharers.entry(registry.index).or_default().insert(identity(registry));
    }
    let prefix = |(registry, indices): (Identity, BTreeSet<u16>)| {
        let is_shared = |index| sharers.get(index).is_some_and(|sharers| sharers.len() > 1);
        let prefix = match indices.first() {
            _ if indices.len() > 1 || indices.iter().any(is_shared) => {
                format!("{} {}:", registry.0, registry.1)
            }
            Some(&index) if index > 1 => format!("{index}:"),
            _ => String::new(),
        };
        (registry, prefix)
    };
    indices.into_iter().map(prefix).collect()
}

pub(crate) fn kind_name(registry: &Registry, kind: u8) -> String {
    registry.kind(kind).map_or_else(|| "?".to_owned(), |kind| kind.name.to_string())
}
