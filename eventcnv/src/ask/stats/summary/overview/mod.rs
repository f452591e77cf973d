//! A summary with the names that the log declares.
//!
//! ```text
//!  Summary (codes, places) + Log (registries, streams, accounts) ──▶ Overview (names, seconds)
//! ```
//!
//! Design: `.cnv.stats` in `design/eventcnv.md`.

pub(crate) mod gaps;
pub(crate) mod late;

pub(crate) use crate::ask::stats::summary::overview::gaps::GapOverview;
pub(crate) use crate::ask::stats::summary::overview::late::{Late, reason};

use crate::ask::pairs::rates::Rates;
use crate::ask::stats::summary::params::Distribution;
use crate::ask::stats::summary::{Count, OTHERS, Summary, all_seconds, seconds, widen};
use crate::open::input::threads;
use crate::open::input::threads::Thread;
use crate::open::open_end;
use crate::open::select::Selection;
use eventdef::marks::Unit;
use eventdef::{Sort, Version};
use eventlog::reader::marks::Marks;
use eventlog::reader::{Faults, History, Log, Losses, Param, Registry, Stream};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Holes in numbering that an overview lists, at most.
const HOLE_COUNT_MAX: usize = 20;

/// The names of threads, by stream and index.
type ThreadNames = BTreeMap<(u16, u32), String>;

/// Name and version, which identify a registry in all streams.
pub(crate) type Identity = (String, Version);

/// The parts of a log, with what it has of its threads and buffers.
pub(crate) struct Parts<'l, 'p> {
    pub(crate) streams: &'l [Stream],
    pub(crate) registries: &'p [Registry],
    pub(crate) history: &'p History,
    pub(crate) recorded: &'p [Thread],
}

/// The contents of a log, in numbers.
pub(crate) struct Overview<'l> {
    pub(crate) streams: &'l [Stream],
    pub(crate) total: Count,
    /// Ticks of the first and last event, by stream.
    pub(crate) times: BTreeMap<u16, (u64, u64)>,
    /// The time before the history of a stream for which the log lacks its events, in ticks.
    pub(crate) before: BTreeMap<u16, (u64, u64)>,
    /// The time in which any stream existed, if the clocks of all are known.
    pub(crate) seconds: Option<f64>,
    /// Events and bytes a second, if the time is known.
    pub(crate) rates: Option<(f64, f64)>,
    pub(crate) kinds: Vec<Counted>,
    /// The most frequent first.
    pub(crate) types: Vec<TypeOverview>,
    pub(crate) threads: Vec<Counted>,
    /// Index in `threads`, by stream and index of the thread.
    pub(crate) thread_places: BTreeMap<(u16, u32), usize>,
    pub(crate) gaps: Vec<GapOverview>,
    pub(crate) holes: Vec<Hole>,
    /// Holes beyond those in `holes`.
    pub(crate) unlisted_hole_count: usize,
    pub(crate) losses: Vec<(String, Losses)>,
    pub(crate) fault_count: u64,
    /// What the log may lack because it was not closed, in words.
    pub(crate) open_end: Option<String>,
    /// Whether the overview has parameters, and whether some are left out.
    pub(crate) has_params: bool,
    pub(crate) is_params_cut: bool,
}

/// A kind or a thread.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) name: String,
    pub(crate) count: Count,
    /// Events a second, if the time is known.
    pub(crate) rate: Option<f64>,
    /// Of a kind, when its history is complete, if that is later than the log begins.
    pub(crate) late: Option<Late>,
}

impl Counted {
    fn new(name: String) -> Counted {
        Counted { name, count: Count::default(), rate: None, late: None }
    }

    /// Adds events in a number of seconds.
    fn add(&mut self, count: Count, seconds: Option<f64>) {
        self.count.add(count);
        self.rate = sum(self.rate, count.events, seconds);
    }
}

/// Returns a rate and that of further things in a number of seconds.
fn sum(rate: Option<f64>, count: u64, seconds: Option<f64>) -> Option<f64> {
    let seconds = seconds.filter(|seconds| *seconds > 0.0)?;
    Some(rate.unwrap_or(0.0) + count as f64 / seconds)
}

pub(crate) struct TypeOverview {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Whether the type is of the runtime's own registry.
    pub(crate) is_own: bool,
    pub(crate) count: Count,
    pub(crate) rate: Option<f64>,
    pub(crate) params: Vec<ParamOverview>,
}

impl TypeOverview {
    /// Adds the counts of another stream, in a number of seconds.
    fn add(&mut self, count: Count, seconds: Option<f64>, params: Vec<ParamOverview>) {
        self.count.add(count);
        self.rate = sum(self.rate, count.events, seconds);
        for (own, other) in self.params.iter_mut().zip(params) {
            own.values.merge(other.values);
        }
    }
}

/// A parameter of an event type.
pub(crate) struct ParamOverview {
    pub(crate) name: String,
    pub(crate) sort: Sort,
    pub(crate) unit: Option<Unit>,
    pub(crate) values: Distribution,
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
        let parts = Parts {
            streams: log.streams(),
            registries: log.registries(),
            history: &log.history(),
            recorded: &threads,
        };
        let overview = Overview::of(summary, &parts, losses, fault_count);
        Overview { open_end: open_end(log), ..overview }
    }

    /// Returns the overview of the parts of a log.
    pub(crate) fn of(
        summary: Summary,
        parts: &Parts<'l, '_>,
        losses: BTreeMap<(u16, u16, u8), Losses>,
        fault_count: u64,
    ) -> Overview<'l> {
        let Parts { streams, registries, history, recorded } = *parts;
        let prefixes = prefixes(registries);
        let times = times(&summary);
        let name = |thread: &Thread| {
            Some(((thread.stream, u32::try_from(thread.index).ok()?), thread.name.clone()))
        };
        let names = recorded.iter().filter_map(name).collect();
        let seconds = all_seconds(streams, &times);
        let length = |stream: u16, from, to| seconds_of(streams, stream, from, to);
        let begin = |stream| times.get(&stream).map(|(first, _)| *first);
        let rates = Rates::new(history, seconds, begin, length);
        let threads = threads(&summary, &names, streams.len() > 1, &rates);
        let mut overview = Overview {
            streams,
            total: Count::default(),
            before: (0..streams.len() as u16)
                .filter_map(|stream| Some((stream, history.before(stream)?)))
                .collect(),
            rates: None,
            seconds,
            kinds: Vec::new(),
            types: Vec::new(),
            threads: threads.values().cloned().collect(),
            thread_places: threads.into_keys().zip(0..).collect(),
            gaps: gaps::gaps(&summary, &names, streams, &times, history),
            holes: Vec::new(),
            unlisted_hole_count: 0,
            losses: named_losses(registries, &prefixes, losses),
            fault_count,
            open_end: None,
            has_params: summary.wanted.params,
            is_params_cut: summary.params.is_cut,
            times,
        };
        overview.add_types(&summary, registries, &prefixes, &rates);
        overview.add_lates(parts, &prefixes);
        overview.add_holes(summary);
        overview
    }

    fn add_types(
        &mut self,
        summary: &Summary,
        registries: &[Registry],
        prefixes: &HashMap<Identity, String>,
        rates: &Rates,
    ) {
        let mut kinds: BTreeMap<(u16, String), Counted> = BTreeMap::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut add = |name: String, kind: (u16, String), count: Count, seconds, params: Vec<_>| {
            self.total.add(count);
            let [events, bytes] =
                [count.events, count.bytes].map(|count| sum(None, count, seconds));
            if let (Some(events), Some(bytes)) = (events, bytes) {
                let all = self.rates.unwrap_or_default();
                self.rates = Some((all.0 + events, all.1 + bytes));
            }
            let of_kind = kinds.entry(kind.clone());
            of_kind.or_insert_with(|| Counted::new(kind.1.clone())).add(count, seconds);
            let place = *places.entry(name.clone()).or_insert(self.types.len());
            match self.types.get_mut(place) {
                Some(row) => row.add(count, seconds, params),
                None => {
                    let (is_own, kind) = (kind.0 == 0, kind.1);
                    let rate = events;
                    self.types.push(TypeOverview { name, kind, is_own, count, rate, params });
                }
            }
        };
        let place = |stream, index| {
            let is_it = |found: &Registry| (found.stream, found.index) == (stream, index);
            registries.iter().position(is_it).unwrap_or(usize::MAX) as u32
        };
        let marks = Marks::of(registries);
        for ((stream, index), rows) in summary.rows.iter() {
            let Some(registry) = find_registry(registries, stream, index) else { continue };
            let prefix = prefixes.get(&identity(registry)).map_or("", String::as_str);
            let kind = |kind| (index, format!("{prefix}{}", kind_name(registry, kind)));
            let place = place(stream, index);
            let seconds = |kind| rates.of_kinds([(place, kind)]);
            for (at, (row, &count)) in registry.event_types.iter().zip(&rows.known).enumerate() {
                if count.events > 0 {
                    let values = summary.params.get(stream, index, at);
                    let role = marks.role_of(registry, row.code);
                    let of = |(at, (param, values)): (usize, (&Param, &Distribution))| {
                        let (name, sort) = (param.name.to_string(), param.sort);
                        ParamOverview { name, sort, unit: role.unit(at), values: values.clone() }
                    };
                    let params = row.params.iter().zip(values).enumerate().map(of).collect();
                    let name = format!("{prefix}{}", row.name);
                    add(name, kind(row.kind), count, seconds(row.kind), params);
                }
            }
            for (&(code, of_kind), &count) in &rows.unknown {
                let name = format!("{prefix}{code:04X}");
                add(name, kind(of_kind), count, seconds(of_kind), Vec::new());
            }
        }
        self.kinds = kinds.into_values().collect();
        self.types.sort_by_key(|row| Reverse(row.count.events));
    }

    fn add_holes(&mut self, summary: Summary) {
        let mut buffers: BTreeMap<(u16, u32), crate::ask::stats::summary::Runs> = BTreeMap::new();
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
}

/// Returns the seconds between two ticks of a stream, if known.
fn seconds_of(streams: &[Stream], stream: u16, from: u64, to: u64) -> Option<f64> {
    seconds(streams.get(usize::from(stream))?, from, to)
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
    rates: &Rates,
) -> BTreeMap<(u16, u32), Counted> {
    let mut threads: BTreeMap<(u16, u32), Counted> = BTreeMap::new();
    for ((stream, buffer, thread), (count, _)) in summary.buffers.iter() {
        let key = (stream, thread);
        let new = || Counted::new(thread_name(names, key, is_stream_shown));
        threads.entry(key).or_insert_with(new).add(*count, rates.of_buffer(stream, buffer));
    }
    threads
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
