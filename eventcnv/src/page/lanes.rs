//! Reads what the threads of a log did, for the tab of threads.
//!
//! ```text
//!  the busiest threads ─┐
//!  slices, flows, events ┴─▶ Lanes ── the events of what is kept ──▶ read again ──▶ their texts
//! ```
//!
//! Design: `.cnv.report.threads` in `design/eventcnv.md`.

use crate::ask::pairs::lanes::{Entries, Kinds, Lanes, Limits, Maker, Shape};
use crate::ask::pairs::reading::{By, Marked, Open, Told, Values, is_selected};
use crate::ask::stats::summary::gather::gather;
use crate::ask::stats::summary::overview::Overview;
use crate::export::processes::Processes;
use crate::open::Reading;
use crate::open::select::Selection;
use crate::page;
use crate::page::counters::Charts;
use crate::page::durations::Timed;
use crate::page::sample;
use crate::page::sample::{Sample, Sampled};
use crate::page::view::Ids;
use crate::page::{Report, worker_count};
use cli::Stop;
use eventlog::reader::marks::Marks;
use eventlog::reader::{Clock, ClockBase, History, Log};
use lens::counters::Source;
use lens::slices::{Gap, Id, Verdict};
use serde_json::Value;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::convert::Infallible;

/// Threads of the page, at most.
const THREAD_COUNT_MAX: usize = 300;

/// The longest slices of a name that the sample has, and the events of all names, at most.
const SLOW_COUNT: usize = 2;
const SLOW_COUNT_MAX: usize = 2000;

/// What the threads of a log did.
pub(super) struct Laned {
    base: ClockBase,
    marks: Marks,
    lanes: Lanes,
    values: Values,
    texts: HashMap<Id, Vec<u8>>,
    /// The first and the last moment in ns.
    pub(super) range: (u64, u64),
    /// When the history of a thread is complete in ns, by stream and index; without those that are
    /// complete from the first moment on.
    lates: HashMap<(u16, u32), u64>,
    processes: Processes,
    /// As [`page::view::durations::data`] returns them.
    durations: Value,
    /// Threads without a lane.
    other_count: usize,
    is_part: bool,
}

impl Laned {
    /// Reads slices, flows and events of a log, if it has slices or flows. Also returns its
    /// counters.
    pub(super) fn new(
        args: &Report,
        reading: &Reading,
        overview: &Overview<'_>,
        sample: &mut Sample,
    ) -> Result<(Option<Laned>, Option<Value>), Stop> {
        let log = &reading.log;
        let marks = Marks::of(log.registries());
        if marks.pairs.is_empty() {
            return Ok((None, None));
        }
        let counters = Source::new(log, &marks);
        let selection = reading.select(&args.select, !counters.is_empty())?;
        let clock = Clock::new(log);
        let threads = threads(overview);
        let history = log.history();
        let ends = (0..).zip(history.spans());
        let ends = ends.map(|(stream, span)| span.map(|(_, last)| clock.ns(stream, last)));
        let shapes = Shape::of(log.registries(), &marks);
        let chosen = threads.get(..THREAD_COUNT_MAX).unwrap_or(&threads);
        let mut timed = Timed::new(log, &marks, shapes.clone());
        let lanes = RefCell::new(Lanes::new(chosen, shapes, ends.collect(), Limits::default()));
        let marked = Marked { log, clock: &clock, marks: &marks };
        let range = range(&history, &clock, &selection);
        let mut charts = Charts::new(log, &marks, range);
        let values = read(&marked, &selection, counters, &lanes, (&mut timed, &mut charts));
        let charts = page::view::counters::data(log, &charts);
        let lanes = lanes.into_inner();
        if !lanes.has_any() {
            return Ok((None, charts));
        }
        reading.begin_pass();
        let (texts, slow) = texts(log, &page::view::wanted(&lanes), &slowest(&lanes), sample);
        sample.extend(slow);
        let is_ns = clock.base != ClockBase::Ticks;
        let of = (log, &marks, &values);
        let durations = page::view::durations::data(&mut timed, of, &lanes.names, is_ns);
        let laned = Laned {
            base: clock.base,
            marks,
            values,
            texts,
            range,
            lates: lates(&history, &clock),
            processes: Processes::new(log),
            durations,
            other_count: threads.iter().skip(chosen.len()).filter(|key| key.1 > 0).count(),
            is_part: args.select.is_given(),
            lanes,
        };
        Ok((Some(laned), charts))
    }

    pub(super) fn shown<'l>(&'l self, log: &'l Log) -> page::view::Threads<'l> {
        let Laned { base, marks, lanes, values, texts, range, lates, durations, .. } = self;
        let Laned { other_count, is_part, .. } = self;
        let same = |stream, thread| self.processes.place(stream, thread);
        let number = |stream, thread| {
            self.processes.threads.get(&(stream, thread)).map_or(0, |thread| thread.tid)
        };
        page::view::Threads {
            log,
            marks,
            lanes,
            values,
            texts,
            is_ns: *base != ClockBase::Ticks,
            range: *range,
            lates,
            durations,
            same: Box::new(same),
            number: Box::new(number),
            other_count: *other_count,
            is_part: *is_part,
        }
    }
}

/// Returns the threads of a log, those with the most events first.
fn threads(overview: &Overview<'_>) -> Vec<(u16, u32)> {
    let count = |place: usize| overview.threads.get(place).map_or(0, |row| row.count.events);
    let mut threads: Vec<((u16, u32), u64)> =
        overview.thread_places.iter().map(|(key, place)| (*key, count(*place))).collect();
    threads.retain(|((_, thread), _)| *thread != u32::MAX);
    // Events without a thread come last.
    threads.sort_by_key(|(key, count)| (key.1 == 0, Reverse(*count), *key));
    threads.into_iter().map(|(key, _)| key).collect()
}

/// Reads the log into the lanes and the durations. Returns the values that name slices.
fn read(
    marked: &Marked<'_>,
    selection: &Selection,
    counters: Source,
    lanes: &RefCell<Lanes>,
    (timed, charts): (&mut Timed, &mut Charts),
) -> Values {
    let Marked { log, clock, marks } = *marked;
    let kinds = Kinds::new(log, marks);
    let mut open = Open::new(marked);
    let mut take = |told: Told<'_>, values: &Values| {
        timed.add(told, values);
        let mut lanes = lanes.borrow_mut();
        match told {
            Told::Begun { .. } => {}
            Told::Slice(slice) | Told::GaveWay(slice) if !is_selected(slice.begin) => {}
            Told::Alone(edge) if !is_selected(edge) => {}
            Told::Slice(slice) => lanes.add(&slice, values.shown(slice.begin), false),
            Told::GaveWay(slice) => lanes.add(&slice, values.shown(slice.begin), true),
            Told::Alone(edge) => lanes.add_alone(edge),
        }
        Ok::<(), Infallible>(())
    };
    let maker = || Maker::new(log, clock, &kinds, counters.clone());
    let each = |mut entries: Entries, gaps: &[Gap]| {
        lanes.borrow_mut().add_entries(&entries);
        charts.take(&mut entries.steps, gaps);
    };
    let Ok(_) = marked.advance_with(selection, &By::Name, &mut open, &mut take, maker, each);
    open.each(|slice, values| {
        timed.add(Told::Slice(slice), values);
        lanes.borrow_mut().add(&slice, values.shown(slice.begin), false);
    });
    open.values
}

/// Returns the events that begin and end the longest slices of each name.
fn slowest(lanes: &Lanes) -> Ids {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    let mut ids = Ids::default();
    for bar in lanes.bars() {
        let count = counts.entry(bar.name).or_default();
        let is_known = matches!(bar.verdict, Verdict::Whole | Verdict::Crossing);
        if is_known && *count < SLOW_COUNT && ids.len() < SLOW_COUNT_MAX {
            *count += 1;
            ids.insert(bar.begin_id);
            ids.extend(bar.end_id);
        }
    }
    ids
}

/// The parameters of events, and events of the sample.
type Texts = HashMap<Id, Vec<u8>>;
type Chosen = Vec<(sample::Id, Sampled)>;

/// Returns the parameters of events; and the events that the sample gets in addition.
fn texts(log: &Log, wanted: &Ids, slow: &Ids, sample: &Sample) -> (Texts, Chosen) {
    let all = Selection::all(true, false);
    let (found, _) = gather(
        log,
        &all,
        worker_count(),
        <(Texts, Chosen)>::default,
        |(texts, chosen), events| {
            events.each(|event| {
                let id = Id { stream: event.stream, buffer: event.buffer, number: event.number };
                if wanted.contains(&id) {
                    let mut text = Vec::new();
                    page::view::params(event, &mut text);
                    texts.insert(id, text);
                    if slow.contains(&id) {
                        chosen.extend(sample.sampled(event, page::view::params));
                    }
                }
            });
        },
        |(texts, chosen), others| {
            texts.extend(others.0);
            chosen.extend(others.1);
        },
    );
    found
}

/// Returns when the history of each thread is complete, if the log lacks its first events.
fn lates(history: &History, clock: &Clock) -> HashMap<(u16, u32), u64> {
    let mut lates: HashMap<(u16, u32), u64> = HashMap::new();
    for held in history.held().filter(|held| held.is_late) {
        let late = lates.entry((held.stream, held.thread)).or_default();
        *late = clock.ns(held.stream, held.span.0).max(*late);
    }
    lates
}

/// Returns the first and the last moment of a selection in ns.
fn range(history: &History, clock: &Clock, selection: &Selection) -> (u64, u64) {
    let times = &selection.filter().times;
    let mut all: Option<(u64, u64)> = None;
    for (stream, span) in (0..).zip(history.spans()) {
        let Some((first, last)) = *span else { continue };
        let asked = times.get(usize::from(stream)).cloned().unwrap_or(0..=u64::MAX);
        let (first, last) = (first.max(*asked.start()), last.min(*asked.end()));
        let (from, to) = (clock.ns(stream, first), clock.ns(stream, last.max(first)));
        let (least, greatest) = all.unwrap_or((from, to));
        all = Some((least.min(from), greatest.max(to)));
    }
    all.unwrap_or_default()
}
