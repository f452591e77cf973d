//! The counters of a log, and their values at the time of the last step.
//!
//! ```text
//!  Step { stream, pair, key } ──▶ places ──▶ Counter { value, low, … }
//! ```
//!
//! Design: `.cnv.counters` in `design/eventcnv.md`.

use super::model::{Counter, NameId, Number, Step, Steps};
use super::source::NAME_COUNT_MAX;
use crate::slices::Gap;
use eventdef::Sort;
use eventlog::format::text::OneLine;
use eventlog::reader::marks::{Change, Key, Marks, Pair, Unit};
use eventlog::reader::{EventType, Format, Held, Log, Registry};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// Counters of a log, at most, unless a caller sets a lower limit.
pub const COUNTER_COUNT_MAX: usize = 1 << 16;

/// Changes that no counter took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Their counter came after those that are kept.
    pub full: u64,
    /// The new value is not a finite number, or needs more than 128 bits.
    pub overflow: u64,
}

/// What all counters of a mark share.
#[derive(Clone, Debug, Default)]
struct Sum {
    /// With that of the registry, if another one of the stream names a counter alike.
    name: Box<str>,
    /// The name of the registry of its event types.
    registry: Box<str>,
    unit: Option<Unit>,
    /// The sorts of the key.
    sorts: Vec<Sort>,
    /// The place of its event types: stream, registry.
    place: (u16, u16),
    /// The kinds of its event types, a bit each.
    kinds: u64,
    /// Whether the log lacks events that change it.
    is_short: bool,
    /// From which ticks on the log lacks none, except at its end. Values before are sums of other
    /// sets of changes.
    from: u64,
    /// Whether an event before that changed it.
    is_early: bool,
}

/// The stream, the mark and the key of a counter.
type Place = (u16, u32, Key);

/// The counters of a log.
#[derive(Clone, Debug)]
pub struct Counters {
    /// By the index of the mark.
    sums: Vec<Sum>,
    /// The marks of each stream that change counters: a log may have thousands of streams.
    of_stream: HashMap<u16, Vec<u32>, RandomState>,
    counters: Vec<Counter>,
    places: HashMap<Place, usize, RandomState>,
    last: Option<(Place, usize)>,
    names: HashMap<NameId, Box<str>, RandomState>,
    refused: Refused,
    count_max: usize,
}

impl Counters {
    /// Returns the counters of a log before its first event, when all are zero. `reads` tells of
    /// each event type that changes any whether the caller reads all of its events. This reads the
    /// store for lost events.
    pub fn new(
        log: &Log,
        marks: &Marks,
        reads: impl Fn(&Registry, &EventType) -> bool,
    ) -> Counters {
        let sum = |pair: &Pair| {
            // The log has the name, and may be hostile.
            let name = OneLine(pair.name.as_bytes()).to_string().into();
            Sum { name, unit: pair.unit, ..Sum::default() }
        };
        let mut sums: Vec<Sum> = marks.pairs.iter().map(sum).collect();
        for registry in log.registries() {
            let place = (registry.stream, registry.index);
            let is_cut = log.streams().get(usize::from(place.0)).is_some_and(|of| of.is_cut);
            for row in &registry.event_types {
                for count in &marks.role_of(registry, row.code).counts {
                    let Some(sum) = sums.get_mut(count.side.pair as usize) else { continue };
                    let sort = |at: usize| row.params.get(at).map(|param| param.sort);
                    sum.sorts = count.side.params().filter_map(sort).collect();
                    sum.place = place;
                    sum.registry = OneLine(registry.name.as_bytes()).to_string().into();
                    sum.kinds |= bit(row.kind);
                    sum.is_short |= is_cut || !reads(registry, row);
                }
            }
        }
        tell_apart(&mut sums, log.registries());
        let (counters, places, names) = <(Vec<_>, HashMap<_, _, _>, HashMap<_, _, _>)>::default();
        let mut of_stream: HashMap<_, Vec<u32>, RandomState> = HashMap::default();
        for (pair, sum) in (0..).zip(&sums).filter(|(_, sum)| sum.kinds != 0) {
            of_stream.entry(sum.place.0).or_default().push(pair);
        }
        let mut all = Counters {
            sums,
            of_stream,
            counters,
            places,
            last: None,
            names,
            refused: Refused::default(),
            count_max: COUNTER_COUNT_MAX,
        };
        if all.sums.iter().all(|sum| sum.kinds == 0) {
            return all;
        }
        if log.format() != Format::Stream && log.faults().loss_count() > 0 {
            all.sums.iter_mut().for_each(|sum| sum.is_short = true);
        }
        for ((stream, registry, kind), losses) in log.losses_by_kind(log.faults()) {
            if losses.total() > 0 || losses.overwritten > 0 {
                all.lack((stream, registry), bit(kind));
            }
        }
        all.find_beginnings(log);
        all
    }

    /// Goes on with a log that has grown, and its marks.
    #[must_use]
    pub fn go_on(self, log: &Log, marks: &Marks) -> Counters {
        let Counters { mut sums, of_stream, .. } = Counters::new(log, marks, |_, _| true);
        for (sum, before) in sums.iter_mut().zip(&self.sums) {
            sum.is_short |= before.is_short;
            (sum.from, sum.is_early) = (before.from, before.is_early);
        }
        Counters { sums, of_stream, ..self }
    }

    /// Keeps at most a number of counters, in place of [`COUNTER_COUNT_MAX`].
    #[must_use]
    pub fn at_most(self, count_max: usize) -> Counters {
        Counters { count_max, ..self }
    }

    /// Takes steps, which come in order of time, and leaves none. Calls `each` for each changed
    /// counter, with all counters.
    pub fn take(&mut self, steps: &mut Steps, mut each: impl FnMut(&Counters, &Counter, &Step)) {
        for (id, name) in steps.names.drain(..) {
            if self.names.len() < NAME_COUNT_MAX {
                self.names.insert(id, name);
            }
        }
        for step in steps.steps.drain(..) {
            let changed = self.step(&step).and_then(|index| self.counters.get(index));
            if let Some(counter) = changed {
                each(self, counter, &step);
            }
        }
    }

    /// Takes a gap in the numbers of a buffer.
    pub fn gap(&mut self, gap: &Gap) {
        self.lack((gap.stream, gap.registry), gap.kind.map_or(u64::MAX, bit));
    }

    /// Returns all counters, in the order of their first changes.
    pub fn all(&self) -> &[Counter] {
        &self.counters
    }

    /// Returns the sorts of a counter's key.
    pub fn sorts(&self, counter: &Counter) -> &[Sort] {
        self.sums.get(counter.pair as usize).map_or(&[], |sum| &sum.sorts)
    }

    /// Returns the name of a counter's mark.
    pub fn name(&self, counter: &Counter) -> &str {
        self.sums.get(counter.pair as usize).map_or("?", |sum| &sum.name)
    }

    /// Returns the name of the registry of a counter's mark.
    pub fn registry(&self, counter: &Counter) -> &str {
        self.sums.get(counter.pair as usize).map_or("?", |sum| &sum.registry)
    }

    /// Returns the least first value that keeps the counter from falling below zero, if the first
    /// value is unknown: values are relative to it, from [`Counters::certain_from`] on. `None`:
    /// they are absolute.
    pub fn least(&self, counter: &Counter) -> Option<Number> {
        let is_short = self.sums.get(counter.pair as usize).is_some_and(|sum| sum.is_short);
        let is_relative = if counter.is_stated {
            is_short && !counter.is_last_stated
        } else {
            is_short || counter.low.is_some_and(Number::is_negative)
        };
        is_relative.then(|| match counter.low.unwrap_or(Number::Whole(0)) {
            Number::Whole(low) => Number::Whole(low.saturating_neg()),
            Number::Real(low) => Number::Real(-low),
        })
    }

    /// Returns up to which ticks the log has the changes of all counters, by stream: for streams
    /// that may lack their last blocks, if several buffers change one counter. A counter that one
    /// thread changes by events of one kind ends early, and its values are right.
    pub fn certain_until(&self, log: &Log) -> BTreeMap<u16, u64> {
        let pairs: BTreeSet<u32> = self.counters.iter().map(|counter| counter.pair).collect();
        let sums = pairs.into_iter().filter_map(|pair| self.sums.get(pair as usize));
        let sums: Vec<&Sum> = sums.filter(|sum| log.is_open_ended(sum.place.0)).collect();
        let mut until = BTreeMap::new();
        if sums.is_empty() {
            return until;
        }
        let history = log.history();
        for Sum { place: (stream, index), kinds, .. } in sums {
            let is_of = |held: &&Held| {
                let registry = log.registries().get(held.registry as usize);
                let is_of_registry = registry.is_some_and(|registry| registry.index == *index);
                is_of_registry && kinds & bit(held.kind) != 0
            };
            let held = || history.held_of(*stream).filter(is_of);
            // The first block of a kind may be missing.
            let last = match held().fold(0, |all, held| all | bit(held.kind)) == *kinds {
                true if held().count() < 2 => continue,
                true => held().map(|held| held.span.1).min(),
                false => history.begin(*stream),
            };
            let until = until.entry(*stream).or_insert(u64::MAX);
            *until = last.unwrap_or(0).min(*until);
        }
        until
    }

    /// Returns from which ticks on values are relative to one first value, by stream: of streams in
    /// which a counter changes before.
    pub fn certain_from(&self) -> BTreeMap<u16, u64> {
        let mut from = BTreeMap::new();
        for sum in self.sums.iter().filter(|sum| sum.is_early) {
            let all = from.entry(sum.place.0).or_insert(0);
            *all = sum.from.max(*all);
        }
        from
    }

    /// Finds when the last of the buffers that change a counter goes on after its last hole.
    fn find_beginnings(&mut self, log: &Log) {
        let mut sums: Vec<&mut Sum> = self.sums.iter_mut().filter(|sum| sum.is_short).collect();
        if sums.is_empty() {
            return;
        }
        let is_of = |sum: &Sum, place, kind| sum.place == place && sum.kinds & bit(kind) != 0;
        let is_wanted = |registry: u32, kind| {
            let registry = log.registries().get(registry as usize);
            let place = registry.map(|registry| (registry.stream, registry.index));
            place.is_some_and(|place| sums.iter().any(|sum| is_of(sum, place, kind)))
        };
        let holes = log.holes(is_wanted, &BTreeMap::new(), false);
        for hole in holes.into_iter().filter(|hole| hole.to < u64::MAX) {
            let place = (hole.stream, hole.registry);
            for sum in sums.iter_mut().filter(|sum| is_of(sum, place, hole.kind)) {
                sum.from = hole.to.max(sum.from);
            }
        }
    }

    /// Returns the number of changes that no counter took.
    pub fn refused(&self) -> Refused {
        self.refused
    }

    fn lack(&mut self, place: (u16, u16), kinds: u64) {
        let pairs = self.of_stream.get(&place.0).map_or(&[][..], Vec::as_slice);
        for pair in pairs {
            let Some(sum) = self.sums.get_mut(*pair as usize) else { continue };
            let is_of = [sum.place.1, u16::MAX].contains(&place.1);
            sum.is_short |= is_of && sum.kinds & kinds != 0;
        }
    }

    /// Returns the index of the counter that a step changed.
    fn step(&mut self, step: &Step) -> Option<usize> {
        let index = self.index(step)?;
        let counter = self.counters.get_mut(index)?;
        let Some(value) = counter.value.changed(step.change, step.by) else {
            self.refused.overflow += 1;
            return None;
        };
        (counter.before, counter.value) = (counter.value, value);
        counter.is_last_stated = step.change == Change::Is;
        counter.is_stated |= counter.is_last_stated;
        let sum = self.sums.get_mut(step.pair as usize);
        if let Some(sum) = sum.filter(|sum| step.ticks < sum.from) {
            sum.is_early = true;
        } else if !counter.is_stated {
            counter.low = Some(counter.low.unwrap_or(counter.before).min(value));
        }
        Some(index)
    }

    /// Returns the index of the counter of a step. Most steps change the counter of the last one.
    #[inline]
    fn index(&mut self, step: &Step) -> Option<usize> {
        let place = (step.id.stream, step.pair, step.key);
        if let Some((last, index)) = self.last
            && last == place
        {
            return Some(index);
        }
        let index = match self.places.get(&place) {
            Some(index) => *index,
            None if self.counters.len() >= self.count_max => {
                self.refused.full += 1;
                return None;
            }
            None => {
                let index = self.counters.len();
                self.counters.push(self.counter(step, index));
                self.places.insert(place, index);
                index
            }
        };
        self.last = Some((place, index));
        Some(index)
    }

    /// Makes the counter of a first step.
    fn counter(&self, step: &Step, index: usize) -> Counter {
        let of_none = Sum::default();
        let sum = self.sums.get(step.pair as usize).unwrap_or(&of_none);
        let label = step.name.and_then(|name| self.names.get(&name)).cloned();
        let mut title = sum.name.to_string();
        for (at, (value, sort)) in step.key.iter().zip(&sum.sorts).enumerate() {
            let _ = match sort {
                Sort::P | Sort::A => write!(title, " 0x{value:x}"),
                Sort::D => write!(title, " {}", f64::from_bits(*value)),
                // The label says it.
                Sort::S if at == 0 && label.is_some() => Ok(()),
                _ => write!(title, " {value}"),
            };
        }
        if let Some(label) = &label {
            let _ = write!(title, " {label}");
        }
        if sum.is_short && step.change != Change::Is {
            title += " (relative)";
        }
        Counter {
            stream: step.id.stream,
            pair: step.pair,
            index,
            key: step.key,
            label,
            title: OneLine(title.as_bytes()).to_string().into(),
            unit: sum.unit,
            value: Number::Whole(0),
            before: Number::Whole(0),
            low: None,
            is_stated: false,
            is_last_stated: false,
        }
    }
}

/// Tells counters of one name apart that several registries of a stream declare: viewers and
/// queries take those with one name for one.
fn tell_apart(sums: &mut [Sum], registries: &[Registry]) {
    let mut counts: HashMap<(u16, Box<str>), u32> = HashMap::new();
    let used = |sum: &&mut Sum| sum.kinds != 0;
    for sum in sums.iter_mut().filter(used) {
        *counts.entry((sum.place.0, sum.name.clone())).or_default() += 1;
    }
    for sum in sums.iter_mut().filter(used) {
        let is_of = |of: &&Registry| (of.stream, of.index) == sum.place;
        if counts.get(&(sum.place.0, sum.name.clone())) > Some(&1)
            && let Some(registry) = registries.iter().find(is_of)
        {
            let name = format!("{} of {}", sum.name, registry.name);
            sum.name = OneLine(name.as_bytes()).to_string().into();
        }
    }
}

/// Returns the bit of a kind.
fn bit(kind: u8) -> u64 {
    1u64.checked_shl(kind.into()).unwrap_or(0)
}
