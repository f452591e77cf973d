//! The selection of events: the options that all commands share.
//!
//! ```text
//!  Select ──┬─ names.rs      kinds, types, threads ──▶ Filter, which skips whole blocks
//!           ├─ times.rs      --from, --to ──────────▶
//!           ├─ syntax.rs     --where ──▶ condition.rs, for each event that passes the filter
//!           └─ --first, --last ──────▶ counted     ──▶ Selected, event by event
//! ```
//!
//! Design: `.cnv.select` in `design/eventcnv.md`.

pub(crate) mod chooser;
pub(crate) mod complete;
pub(crate) mod condition;
pub(crate) mod names;
pub(crate) mod part;
pub(crate) mod syntax;
pub(crate) mod times;

pub(crate) use crate::open::select::chooser::Chooser;
use crate::open::select::condition::{Expression, Operand};
pub(crate) use crate::open::select::names::{is_selected, near, unknown};
#[cfg(feature = "sql")]
pub(crate) use crate::open::select::part::BufferCounts;
pub(crate) use crate::open::select::part::Part;
use crate::open::select::times::{Clocks, Time};
use eventlog::reader::{Event, EventType, Events, Faults, Filter, Log, Order, Partitions};
use eventlog::reader::{Registry, Run};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The heading of these options in the help.
const HEADING: &str = "Selection";

/// The options.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Select {
    /// Only events of these kinds (names in any case; 'P*' for all that begin with P)
    #[arg(help_heading = HEADING, long, value_name = "KIND", value_delimiter = ',')]
    #[arg(add = complete::kinds())]
    kinds: Vec<String>,

    /// Only events of these types (names in any case, 'Pool*', or codes in hexadecimal)
    #[arg(help_heading = HEADING, long, value_name = "EVENT", value_delimiter = ',')]
    #[arg(add = complete::events())]
    events: Vec<String>,

    /// Only events that these threads recorded (index in the log, name, or tid:NUMBER)
    #[arg(help_heading = HEADING, long, value_name = "THREAD", value_delimiter = ',')]
    threads: Vec<String>,

    /// Only events from this time on: clock value, +1.5s after the start, -2s before the end,
    /// #1000 (the time of the event of this number), or 2026-11-22T10:00:00Z
    #[arg(help_heading = HEADING, long, value_name = "TIME")]
    #[arg(value_parser = times::parse, allow_hyphen_values = true)]
    from: Option<Time>,

    /// Only events up to this time, inclusive
    #[arg(help_heading = HEADING, long, value_name = "TIME")]
    #[arg(value_parser = times::parse, allow_hyphen_values = true)]
    to: Option<Time>,

    /// Only events for which a condition is true: 'size >= 4096 and pool == "symbols"'
    #[arg(help_heading = HEADING, long = "where", value_name = "CONDITION")]
    conditions: Vec<String>,

    /// Only the first N of these events
    #[arg(help_heading = HEADING, long, value_name = "N", conflicts_with = "last")]
    first: Option<u64>,

    /// Only the last N of these events
    #[arg(help_heading = HEADING, long, value_name = "N")]
    last: Option<u64>,
}

impl Select {
    /// Returns whether any of the options is given.
    pub(crate) fn is_given(&self) -> bool {
        !(self.kinds.is_empty()
            && self.events.is_empty()
            && self.threads.is_empty()
            && self.conditions.is_empty())
            || self.from.is_some()
            || self.to.is_some()
            || self.first.is_some()
            || self.last.is_some()
    }

    /// Returns whether the log has the times of the options.
    pub(crate) fn finds_times(&self, log: &Log) -> bool {
        let mut times = [self.from, self.to].into_iter().flatten();
        times.all(|time| matches!(time, Time::Ticks(_)) || Clocks::new(log).ticks(time).is_ok())
    }

    /// Returns whether a time counts seconds.
    pub(crate) fn is_relative(&self) -> bool {
        let is_relative = |time: Time| matches!(time, Time::AfterStart(_) | Time::BeforeEnd(_));
        self.from.is_some_and(is_relative) || self.to.is_some_and(is_relative)
    }

    /// Returns the selection for this log, with labels if wanted; or what is wrong with the
    /// options.
    pub(crate) fn resolve(&self, log: &Log, labels: bool) -> Result<Selection, String> {
        let registries = log.registries();
        let mut filter = names::filter(&self.kinds, &self.events, registries, labels)?;
        filter.threads = names::threads(&self.threads, log)?;
        if self.from.is_some() || self.to.is_some() {
            let clocks = Clocks::new(log);
            let ticks = |time: Option<Time>| time.map(|time| clocks.ticks(time)).transpose();
            let from = ticks(self.from).map_err(|what| format!("--from: {what}"))?;
            let to = ticks(self.to).map_err(|what| format!("--to: {what}"))?;
            let at = |times: &Option<Vec<u64>>, index: usize, default| {
                times.as_ref().and_then(|times| times.get(index)).copied().unwrap_or(default)
            };
            let range = |index| at(&from, index, 0)..=at(&to, index, u64::MAX);
            filter.times = (0..log.streams().len()).map(range).collect();
        }
        let parsed = self
            .conditions
            .iter()
            .map(|text| syntax::parse(text).map_err(|error| format!("--where: {error}")));
        let mut parsed = parsed.collect::<Result<Vec<Expression>, String>>()?;
        let condition = match parsed.len() {
            0 => None,
            1 => parsed.pop(),
            _ => Some(Expression::And(parsed)),
        };
        let condition = condition.map(|term| term.without_units_apart(registries));
        if let Some(condition) = &condition {
            let is_wrong = |what| format!("--where: {what}");
            names::check(condition, &filter, registries).map_err(is_wrong)?;
            filter.event_types = names::possible(&filter.event_types, condition, registries);
            condition.operands(&mut |operand| {
                filter.labels |= matches!(operand, Operand::Text(_));
            });
        }
        Ok(Selection {
            filter,
            part: Part::default(),
            condition,
            first: self.first,
            last: self.last,
            is_given: self.is_given(),
            found: Arc::default(),
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Selection {
    filter: Filter,
    part: Part,
    condition: Option<Expression>,
    first: Option<u64>,
    last: Option<u64>,
    is_given: bool,
    found: Arc<Found>,
}

impl Selection {
    /// Returns the selection of all events, with labels if wanted. `is_whole` prevents partitions.
    pub(crate) fn all(labels: bool, is_whole: bool) -> Selection {
        let first = is_whole.then_some(u64::MAX);
        Selection { filter: Filter::new().labels(labels), first, ..Selection::default() }
    }

    /// Returns the selection of the events that a filter wants.
    #[cfg(feature = "waits")]
    pub(crate) fn of(filter: Filter) -> Selection {
        Selection { filter, ..Selection::default() }
    }

    /// Returns the kinds, event types, threads, times, and whether labels are wanted.
    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Returns whether the selection has less than all events of the filter.
    pub(crate) fn is_conditional(&self) -> bool {
        self.condition.is_some() || self.first.is_some() || self.last.is_some()
    }

    /// Returns whether it has all events of a type, from the first one on.
    pub(crate) fn has_all_of(&self, registry: &Registry, row: &EventType) -> bool {
        let Filter { threads, times, known, .. } = &self.filter;
        let is_late = times.iter().any(|times| *times.start() > 0);
        let is_part = is_late || !threads.is_empty() || !known.is_empty() || self.is_conditional();
        !is_part && self.part.known.is_empty() && names::is_selected(&self.filter, registry, row)
    }

    /// Takes the numbers of `--first` and `--last`: the caller counts.
    pub(crate) fn take_ends(&mut self) -> (Option<u64>, Option<u64>) {
        (self.first.take(), self.last.take())
    }

    /// Notes that the caller found a selected event earlier.
    pub(crate) fn note_found(&self) {
        self.found.has_any.store(true, Ordering::Relaxed);
    }

    /// Restricts the selection to a part of the log, whose other blocks are not read.
    pub(crate) fn restrict(&mut self, part: &Part) {
        self.part = part.clone();
        self.filter.known = (*part.known).clone();
        let times = self.filter.times.iter().cloned().chain(std::iter::repeat(0..=u64::MAX));
        let until = |(times, until): (RangeInclusive<u64>, &u64)| {
            *times.start()..=(*until).min(*times.end())
        };
        if !part.until.is_empty() {
            self.filter.times = times.zip(&part.until).map(until).collect();
        }
    }

    /// Returns the part to which the selection is restricted.
    pub(crate) fn part(&self) -> &Part {
        &self.part
    }

    pub(crate) fn finder(&self) -> Finder {
        let mut labels = Vec::new();
        if let Some(condition) = &self.condition {
            condition.labels(&mut labels);
        }
        Finder { is_given: self.is_given, found: self.found.clone(), labels }
    }

    /// Returns whether `--first` or `--last` is given.
    pub(crate) fn is_counted(&self) -> bool {
        self.first.is_some() || self.last.is_some()
    }

    pub(crate) fn events<'l>(&'l self, log: &'l Log, order: Order) -> Selected<'l> {
        let mut selected = self.selected(log.events(order, &self.filter));
        if let Some(last) = self.last {
            selected.skip = self.count(log, order).saturating_sub(last);
        }
        selected.left = self.first.unwrap_or(u64::MAX);
        selected
    }

    /// Counts the events without regard to `--first` and `--last`.
    pub(crate) fn count(&self, log: &Log, order: Order) -> u64 {
        let mut all = self.selected(log.events(order, &self.filter));
        let mut count = 0;
        while all.next().is_some() {
            count += 1;
        }
        count
    }

    /// Returns the log in partitions of about `count` events, for several readers; `None` for
    /// `--first` and `--last`, which count from the first event.
    pub(crate) fn partitions<'l>(
        &self,
        log: &'l Log,
        order: Order,
        count: u64,
    ) -> Option<Partitions<'l>> {
        (!self.is_counted()).then(|| log.partitions(order, &self.filter, count))
    }

    /// Returns the selected among these events, without regard to `--first` and `--last`.
    pub(crate) fn selected<'l>(&'l self, events: Events<'l>) -> Selected<'l> {
        self.found.is_read.store(true, Ordering::Relaxed);
        let (condition, found) = (self.condition.as_ref(), &*self.found);
        let part = Some(&self.part).filter(|part| !part.known.is_empty());
        Selected { events, part, condition, skip: 0, left: u64::MAX, found, has_any: false }
    }
}

/// Whether events were read, and whether any was selected.
#[derive(Debug, Default)]
struct Found {
    is_read: AtomicBool,
    has_any: AtomicBool,
}

/// Reports a selection that selects nothing.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    is_given: bool,
    found: Arc<Found>,
    labels: Vec<Vec<u8>>,
}

impl Finder {
    /// Returns labels that are similar to labels in the condition that the log lacks, as text.
    pub(crate) fn hint(&self, log: &Log) -> String {
        names::unknown_labels(&self.labels, log)
    }

    /// Returns whether options were given, events were read, and none was selected.
    pub(crate) fn is_empty_handed(&self) -> bool {
        let Found { is_read, has_any } = &*self.found;
        self.is_given && is_read.load(Ordering::Relaxed) && !has_any.load(Ordering::Relaxed)
    }
}

/// The selected events of a log.
pub(crate) struct Selected<'l> {
    events: Events<'l>,
    /// The part of the log, if it lacks any events that are known.
    part: Option<&'l Part>,
    condition: Option<&'l Expression>,
    /// Events to skip before the first, and the number of events after them.
    skip: u64,
    left: u64,
    found: &'l Found,
    has_any: bool,
}

impl Selected<'_> {
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Event<'_, '_>> {
        if self.left == 0 {
            return None;
        }
        let (part, condition) = (self.part, self.condition);
        let is_selected = |event: &Event<'_, '_>| {
            part.is_none_or(|part| part.has(event.stream, event.buffer, event.number))
                && condition.is_none_or(|condition| condition.holds(event) == Some(true))
        };
        while self.skip > 0 {
            self.skip -= 1;
            self.events.next_where(is_selected)?;
        }
        let event = self.events.next_where(is_selected)?;
        self.left -= 1;
        if !self.has_any {
            self.has_any = true;
            self.found.has_any.store(true, Ordering::Relaxed);
        }
        Some(event)
    }

    /// Passes the remaining events to functions, with `state`: in runs if all events are selected,
    /// else one at a time.
    #[inline]
    pub(crate) fn each_run<T>(
        &mut self,
        state: &mut T,
        take_run: impl Fn(&mut T, &Run<'_, '_>),
        take: impl Fn(&mut T, &Event<'_, '_>),
    ) {
        let is_whole = self.part.is_none() && self.condition.is_none();
        if is_whole && self.skip == 0 && self.left == u64::MAX {
            let has_any = &self.found.has_any;
            let mut is_noted = false;
            return self.events.each_run(|run| {
                if !is_noted {
                    is_noted = true;
                    has_any.store(true, Ordering::Relaxed);
                }
                take_run(state, run);
            });
        }
        while let Some(event) = self.next() {
            take(state, &event);
        }
    }

    /// Passes the remaining events to a function, which costs less than [`Selected::next`].
    #[inline]
    pub(crate) fn each(&mut self, take: impl FnMut(&Event<'_, '_>)) {
        let each = |take: &mut _, run: &Run<'_, '_>| run.each(take);
        self.each_run(&mut { take }, each, |take, event| take(event));
    }

    /// Passes events to a function until it returns false.
    #[inline]
    pub(crate) fn each_while(&mut self, mut take: impl FnMut(&Event<'_, '_>) -> bool) {
        let (part, condition) = (self.part, self.condition);
        let (mut skip, mut left) = (self.skip, self.left);
        if left == 0 {
            return;
        }
        self.events.each_while(|event| {
            let is_selected = part
                .is_none_or(|part| part.has(event.stream, event.buffer, event.number))
                && condition.is_none_or(|condition| condition.holds(event) == Some(true));
            if !is_selected || skip > 0 {
                skip -= u64::from(is_selected);
                return true;
            }
            left -= 1;
            take(event) && left > 0
        });
        if left < self.left {
            self.found.has_any.store(true, Ordering::Relaxed);
        }
        (self.skip, self.left) = (skip, left);
    }

    /// Returns the faults found so far.
    pub(crate) fn faults(&self) -> &Faults {
        self.events.faults()
    }
}
