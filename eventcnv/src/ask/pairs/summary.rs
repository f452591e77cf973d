//! Sums up the slices of a log by group.
//!
//! ```text
//!  Told ── name, thread │ key │ parameter ──▶ Groups ──▶ rows: counts, durations, percentiles
//! ```
//!
//! Design: `.cnv.pairs` in `design/eventcnv.md`.

use crate::ask::calls::summary::demangled;
use crate::ask::pairs::lanes::Shape;
use crate::ask::pairs::rates::Rates;
use crate::ask::pairs::reading::{By, Told, Values};
use crate::open::input::threads;
use eventlog::reader::marks::{Marks, Pair};
use eventlog::reader::{Clock, ClockBase, Filter, History, Log, Registry};
use foldhash::fast::RandomState;
use lens::slices::{Durations, Edge, Group, Limits, Runs, Slowest, Verdict};
use std::borrow::Cow;
use std::collections::HashMap;

/// Groups, at most; further ones of a name are one group.
const GROUP_COUNT_MAX: usize = 1 << 16;
/// The value of that group.
const OTHERS: u64 = u64::MAX;

/// What became of the slices of a group, apart from those with a duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) crossing: u64,
    pub(crate) doubtful: u64,
    pub(crate) again: u64,
    pub(crate) unfinished: u64,
    /// Unfinished, as they gave way in a full table.
    pub(crate) gave_way: u64,
    /// Ends that found nothing to end.
    pub(crate) alone: u64,
}

impl Tally {
    /// The names of these counts.
    pub(crate) const NAMES: [&'static str; 6] =
        ["crossing", "doubtful", "again", "unfinished", "gave way", "without beginning"];

    pub(crate) fn counts(&self) -> [u64; 6] {
        let Tally { crossing, doubtful, again, unfinished, gave_way, alone } = *self;
        [crossing, doubtful, again, unfinished, gave_way, alone]
    }
}

/// The slices of a log, in groups.
pub(crate) struct Groups {
    by: By,
    /// The number of the name of each pair. Equal pairs of several streams have one name.
    names: Vec<u32>,
    texts: Vec<String>,
    /// By these numbers: whether the name of the pair stands before those of its slices.
    is_apart: Vec<bool>,
    /// By pair: whether an event that begins it names its slices.
    is_named: Vec<bool>,
    places: HashMap<Place, usize, RandomState>,
    groups: Vec<(Place, Tally)>,
    durations: Durations,
    runs: Runs,
    limits: Limits,
    /// The place that was found last.
    last: (Place, usize),
    pub(crate) slowest: Slowest,
}

/// The numbers of the name of a group's pair, of the name of its slices, and of its value.
type Place = (u32, u32, u64);

/// A group with its names.
pub(crate) struct Row<'g> {
    /// Its number: see [`Groups::place_of`].
    pub(crate) place: usize,
    /// The name of its pair: the slices of two pairs may have one name.
    pub(crate) pair: &'g str,
    pub(crate) name: Cow<'g, str>,
    pub(crate) value: String,
    pub(crate) tally: Tally,
    pub(crate) durations: &'g Group,
    /// The mean duration of each run, if runs are to be compared.
    pub(crate) means: Vec<f64>,
    /// The seconds to which its rate refers, if they are known.
    pub(crate) seconds: Option<f64>,
}

impl Groups {
    pub(crate) fn new(
        registries: &[Registry],
        marks: &Marks,
        by: By,
        slowest_count: usize,
        limits: Limits,
    ) -> Groups {
        // Two pairs of one name, such as XStart=XEnd and XCreate=XDestroy, differ by their types.
        let mut places = HashMap::new();
        let mut kinds: Vec<&Pair> = Vec::new();
        let names: Vec<u32> = marks
            .pairs
            .iter()
            .map(|pair| {
                *places.entry((&pair.name, &pair.from, &pair.to)).or_insert_with(|| {
                    kinds.push(pair);
                    kinds.len() as u32 - 1
                })
            })
            .collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        kinds.iter().for_each(|pair| *counts.entry(&pair.name).or_default() += 1);
        let text = |pair: &&Pair| match &pair.to {
            Some(to) if counts.get(&*pair.name) > Some(&1) => format!("{}={to}", pair.from),
            _ => pair.name.to_string(),
        };
        let texts: Vec<String> = kinds.iter().map(text).collect();
        let mut is_apart = vec![false; texts.len()];
        for (shape, name) in Shape::of(registries, marks).iter().zip(&names) {
            if let Some(is_apart) = is_apart.get_mut(*name as usize) {
                *is_apart |= shape.is_apart();
            }
        }
        Groups {
            by,
            names,
            texts,
            is_apart,
            is_named: is_named(registries, marks),
            places: HashMap::default(),
            groups: Vec::new(),
            durations: Durations::new(limits),
            runs: Runs::default(),
            limits,
            last: ((u32::MAX, 0, 0), 0),
            slowest: Slowest::new(slowest_count),
        }
    }

    /// Keeps the runs apart.
    pub(crate) fn with_runs(self, runs: Runs) -> Groups {
        Groups { runs, ..self }
    }

    /// Returns the number of runs that are apart.
    pub(crate) fn run_count(&self) -> usize {
        self.runs.count()
    }

    /// Returns the number of the group of slices of a pair, by the numbers of their name and value.
    #[inline]
    pub(crate) fn place_of(&mut self, pair: u32, name: u32, value: u64) -> usize {
        let is_named = self.is_named.get(pair as usize) == Some(&true);
        let of = self.names.get(pair as usize).copied().unwrap_or_default();
        self.place((of, if is_named { name } else { 0 }, value))
    }

    /// Adds a slice, or an end that ends nothing.
    #[inline]
    pub(crate) fn add(&mut self, told: Told<'_>, values: &Values) {
        let (edge, value) = match &told {
            Told::Slice(slice) | Told::GaveWay(slice) => (slice.begin, values.of(slice)),
            Told::Alone(edge) => (*edge, values.of_edge(edge)),
            Told::Begun { .. } => return,
        };
        let value = match self.by {
            By::Event => 0,
            By::Thread => u64::from(edge.id.stream) << 32 | u64::from(edge.thread),
            By::Key | By::Param(_) | By::Name => value.into(),
        };
        let place = self.place_of(edge.pair, values.name_of(edge), value);
        let Some((_, tally)) = self.groups.get_mut(place) else { return };
        let slice = match told {
            Told::Slice(slice) => slice,
            Told::GaveWay(_) => return tally.gave_way += 1,
            Told::Alone(_) | Told::Begun { .. } => return tally.alone += 1,
        };
        match slice.verdict {
            Verdict::Whole => {}
            Verdict::Crossing => tally.crossing += 1,
            Verdict::Doubtful => tally.doubtful += 1,
            Verdict::Again => tally.again += 1,
            Verdict::Unfinished => tally.unfinished += 1,
        }
        if let Some(ns) = slice.duration() {
            self.durations.add(place, ns);
            self.runs.add(place, edge.id.stream, ns);
            self.slowest.add(&slice);
        }
    }

    /// Returns notes for the user about groups without percentiles, and groups that are one row.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let (count, Limits { duration_count, .. }) = (self.durations.lost_count(), self.limits);
        let lost = (count > 0).then(|| {
            format!(
                "{count} groups have no percentiles: all groups together have more than \
                 {duration_count} durations; select fewer slices"
            )
        });
        let are_full = self.groups.iter().any(|((.., value), _)| *value == OTHERS);
        let others = are_full.then(|| {
            format!(
                "there are more than {GROUP_COUNT_MAX} groups: further ones of a name are its row \
                 (others); a selection has fewer"
            )
        });
        lost.into_iter().chain(others)
    }

    #[inline]
    fn place(&mut self, key: Place) -> usize {
        if self.last.0 != key {
            self.last = (key, self.find(key));
        }
        self.last.1
    }

    fn find(&mut self, key: Place) -> usize {
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        if self.groups.len() >= GROUP_COUNT_MAX && key.2 != OTHERS {
            return self.find((key.0, 0, OTHERS));
        }
        self.groups.push((key, Tally::default()));
        self.places.insert(key, self.groups.len() - 1);
        self.groups.len() - 1
    }

    /// Returns the groups, those with the greatest sum first.
    pub(crate) fn rows<'v>(
        &'v mut self,
        log: &Log,
        marks: &Marks,
        values: &'v Values,
        rates: &Rates,
    ) -> Vec<Row<'v>> {
        self.durations.settle();
        let threads = Threads::new(log);
        let seconds = self.seconds(log, marks, rates);
        let row = |(place, ((name, own, value), tally)): (usize, &(Place, Tally))| Row {
            place,
            pair: self.pair(*name),
            name: self.name(*name, values.text(*own)),
            value: match (&self.by, *value) {
                (By::Event, _) => String::new(),
                (_, OTHERS) => "(others)".to_owned(),
                (By::Thread, place) => threads.name((place >> 32) as u16, place as u32),
                (_, number) => values.text(number as u32).to_owned(),
            },
            tally: *tally,
            durations: self.durations.group(place),
            means: self.runs.means(place),
            seconds: seconds.get(*name as usize).copied().flatten(),
        };
        let mut rows: Vec<Row<'_>> = self.groups.iter().enumerate().map(row).collect();
        rows.sort_by(|a, b| {
            let key = |row: &Row<'_>| (row.durations.sum(), row.durations.count());
            key(b).cmp(&key(a)).then_with(|| (&a.name, &a.value).cmp(&(&b.name, &b.value)))
        });
        rows
    }

    fn pair(&self, pair: u32) -> &str {
        self.texts.get(pair as usize).map_or("?", String::as_str)
    }

    /// Returns the name of slices of a pair by the number of its name.
    fn name<'v>(&'v self, pair: u32, name: &'v str) -> Cow<'v, str> {
        slice_name(self.pair(pair), name, self.is_apart.get(pair as usize) == Some(&true))
    }

    /// Returns the name of the slice that an event begins.
    pub(crate) fn name_of<'v>(&'v self, begin: &Edge, values: &'v Values) -> Cow<'v, str> {
        let pair = self.names.get(begin.pair as usize).copied().unwrap_or(u32::MAX);
        self.name(pair, values.text(values.name_of(begin)))
    }

    /// Returns for each name the seconds for which the log has the events that begin its slices.
    fn seconds(&self, log: &Log, marks: &Marks, rates: &Rates) -> Vec<Option<f64>> {
        let mut kinds = vec![Vec::new(); self.texts.len()];
        for (registry, at) in log.registries().iter().zip(0..) {
            for row in &registry.event_types {
                let part = marks.role_of(registry, row.code).part;
                let Some(side) = part.filter(|side| !side.is_end) else { continue };
                let name = self.names.get(side.pair as usize).copied().unwrap_or_default();
                if let Some(kinds) = kinds.get_mut(name as usize) {
                    kinds.push((at, row.kind));
                }
            }
        }
        kinds.into_iter().map(|kinds| rates.of_kinds(kinds)).collect()
    }
}

/// Returns for each pair whether an event that begins it names its slices.
fn is_named(registries: &[Registry], marks: &Marks) -> Vec<bool> {
    let mut is_named = vec![false; marks.pairs.len()];
    for registry in registries {
        for row in &registry.event_types {
            let role = marks.role_of(registry, row.code);
            let side = role.part.filter(|side| !side.is_end && role.name.is_some());
            if let Some(place) = side.and_then(|side| is_named.get_mut(side.pair as usize)) {
                *place = true;
            }
        }
    }
    is_named
}

/// Returns the name of slices of a pair that the label or string `name` names. The name of the pair
/// stands before it if they are not a thread's own work (`is_apart`).
pub(crate) fn slice_name<'n>(pair: &'n str, name: &'n str, is_apart: bool) -> Cow<'n, str> {
    match name {
        "" => pair.into(),
        _ if is_apart => format!("{pair} {}", demangled(name)).into(),
        _ => demangled(name),
    }
}

/// The names of the threads of a log.
pub(crate) struct Threads {
    names: HashMap<(u16, u32), String>,
    is_stream_shown: bool,
}

impl Threads {
    pub(crate) fn new(log: &Log) -> Threads {
        let name = |thread: threads::Thread| {
            Some(((thread.stream, u32::try_from(thread.index).ok()?), thread.name))
        };
        let names = threads::recorded(log).into_iter().filter_map(name).collect();
        Threads { names, is_stream_shown: log.streams().len() > 1 }
    }

    pub(crate) fn name(&self, stream: u16, thread: u32) -> String {
        let name = match (self.names.get(&(stream, thread)), thread) {
            (Some(name), _) if !name.is_empty() => format!("{thread} {name}"),
            (_, 0) => "none".to_owned(),
            _ => thread.to_string(),
        };
        if self.is_stream_shown { format!("stream {stream}: {name}") } else { name }
    }
}

/// Returns the rates of a selection of times, by a clock: from the beginning of the history to the
/// last event. Streams that do not share a clock count one after the other.
pub(crate) fn rates(log: &Log, clock: &Clock, filter: &Filter) -> Rates {
    let history = log.history();
    let seconds = seconds(&history, clock, filter);
    let begin = |stream| {
        let times = filter.times.get(usize::from(stream));
        Some(history.begin(stream)?.max(times.map_or(0, |times| *times.start())))
    };
    let length = |stream, from, to| {
        Some(clock.ns(stream, to).saturating_sub(clock.ns(stream, from)) as f64 / 1e9)
    };
    Rates::new(&history, seconds, begin, length)
}

fn seconds(history: &History, clock: &Clock, filter: &Filter) -> Option<f64> {
    let (mut all, mut sum) = (None, 0.0);
    for (stream, span) in (0..).zip(history.spans()) {
        let Some((mut first, mut last)) = *span else { continue };
        if let Some(times) = filter.times.get(usize::from(stream)) {
            (first, last) = (first.max(*times.start()), last.min(*times.end()));
        }
        if first > last {
            continue;
        }
        let (from, to) = (clock.ns(stream, first), clock.ns(stream, last));
        let (least, greatest) = all.unwrap_or((from, to));
        all = Some((from.min(least), to.max(greatest)));
        sum += to.saturating_sub(from) as f64 / 1e9;
    }
    match clock.base {
        ClockBase::Ticks => None,
        ClockBase::Start => Some(sum),
        _ => all.map(|(from, to)| to.saturating_sub(from) as f64 / 1e9),
    }
    .filter(|seconds| *seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use eventlog::reader::marks::Form;
    use lens::slices::Slice;

    /// `.slice.durations`: no percentile goes without a word.
    #[test]
    fn a_note_counts_the_groups_without_percentiles() {
        let (name, from) = ("Job".into(), "a".into());
        let pair = Pair { form: Form::Slice, name, from, to: None, unit: None, group: None };
        let mut marks = Marks::default();
        marks.pairs.push(pair);
        let limits = Limits { duration_count: 10, histogram_count: 1, ..Limits::default() };
        let mut groups = Groups::new(&[], &marks, By::Thread, 0, limits);
        let mut note = None;
        for (count, expected) in [(9, false), (40, true)] {
            for thread in 0..count {
                let begin = Edge { thread, ..Edge::default() };
                let (begin, verdict) = (&begin, Verdict::Whole);
                let slice = Slice { slot: 0, depth: 0, begin, end: Some(begin), verdict };
                groups.add(Told::Slice(slice), &Values::default());
            }
            note = groups.notes().next();
            assert_eq!(note.is_some(), expected, "{note:?}");
        }
        let lost = groups.durations.groups().iter().filter(|group| {
            group.count() > 0 && group.percentile(lens::slices::Percent::P50).is_none()
        });
        let expected = format!("{} groups have no percentiles", lost.count());
        assert!(note.unwrap().starts_with(&expected));
    }
}
