//! Reads the slices of a log with all processors, and pairs them on one.
//!
//! ```text
//!  partitions ── workers: edges, numbers, values ──▶ pieces ── in order ──▶ pairing ──▶ Told
//! ```
//!
//! All events are read, as the numbers of the others show where events are missing. A selection
//! chooses slices by their beginning. Design: `.cnv.pairs` in `design/eventcnv.md`, `.slice.source`
//! in `design/slices.md`.

#[cfg(any(feature = "parquet", feature = "sql"))]
pub(crate) mod counts;
pub(crate) mod values;
pub(crate) mod worker;

pub(crate) use crate::ask::pairs::reading::values::Values;
use crate::ask::pairs::reading::worker::Worker;
use crate::open::parallel;
use crate::open::parallel::Emit;
#[cfg(feature = "sql")]
use crate::open::select::BufferCounts;
use crate::open::select::times::Clocks;
use crate::open::select::{Selected, Selection};
use cli::Stop;
#[cfg(any(feature = "parquet", feature = "sql"))]
use eventdef::Sort;
#[cfg(any(feature = "parquet", feature = "sql"))]
use eventlog::reader::marks::Key;
use eventlog::reader::marks::{Form, Marks};
use eventlog::reader::{Clock, Event, EventType, Faults, Log, Order, Picker, Registry};
use lens::counters::{Counters, Refused};
use lens::slices::{
    Batch, Counts, Edge, Gap, Holes, Limits, Numbers, Pairing, Slice, Slot, Source, Step, Turn,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Entries of a piece, about.
const PIECE_COUNT: usize = 1 << 12;
/// Streams that a note names, at most.
const STREAM_COUNT_MAX: usize = 3;
/// Values by which slices are grouped, at most; further ones are one value.
const VALUE_COUNT_MAX: usize = 1 << 16;
/// Bytes of a value, at most; and of a name, which may be mangled.
const VALUE_SIZE_MAX: usize = 128;
const NAME_SIZE_MAX: usize = 512;
/// In the tag of an edge: the selection lacks the event.
const UNSELECTED: u32 = 1 << 31;

/// The value by which slices are grouped, in addition to their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// None.
    Event,
    /// The thread of the beginning.
    Thread,
    /// The key.
    Key,
    /// A parameter of the beginning, else of the end.
    Param(String),
    /// The label that names the slice; of a span without such a name, its key.
    Name,
}

/// What an event meant.
#[derive(Clone, Copy)]
pub(crate) enum Told<'a> {
    /// A slice ended, or never will. Its beginning is selected.
    Slice(Slice<'a>),
    /// A slice gave way in a full table. Its beginning is selected.
    GaveWay(Slice<'a>),
    /// A selected event found nothing to end.
    Alone(&'a Edge),
    /// A slice began in the slice `within`, by its place in the pairing. Only an [`Aside`] that
    /// asks for all is told.
    Begun { begin: &'a Edge, slot: Slot, within: Option<Slot> },
}

/// Returns whether the selection has an event.
pub(crate) fn is_selected(edge: &Edge) -> bool {
    edge.tag & UNSELECTED == 0
}

/// A log with its clock and its marks.
pub(crate) struct Marked<'l> {
    pub(crate) log: &'l Log,
    pub(crate) clock: &'l Clock,
    pub(crate) marks: &'l Marks,
}

/// Edges, with the values that their tags number from 1.
struct Piece {
    batch: Batch,
    values: Vec<Arc<str>>,
}

/// What a worker makes of events apart from their edges.
pub(crate) trait Aside {
    /// What it made of the events of a piece.
    type Entries: Send;
    /// Whether it asks which events are selected, for events without an edge too.
    const ASKS: bool;
    /// Whether the slices that the selection lacks are told too, and what begins.
    const TELLS_ALL: bool = false;
    /// Whether it needs the labels of events.
    const HAS_LABELS: bool = false;

    /// Adds an event, and whether the selection has it. Returns the number of entries.
    fn add(&mut self, event: &Event<'_, '_>, is_chosen: bool) -> usize;

    /// Takes the entries.
    fn take(&mut self) -> Self::Entries;
}

impl Aside for () {
    type Entries = ();
    const ASKS: bool = false;

    #[inline]
    fn add(&mut self, _: &Event<'_, '_>, _: bool) -> usize {
        0
    }

    fn take(&mut self) {}
}

/// What the events so far left open, and their numbers.
pub(crate) struct Open {
    numbers: Numbers,
    pairing: Pairing,
    pub(crate) values: Values,
}

impl Open {
    /// Returns what is open before the first event of a log.
    pub(crate) fn new(marked: &Marked<'_>) -> Open {
        let mut open = Open::before(marked.log);
        *open.pairing.holes() = Holes::new(marked.log, marked.marks);
        open
    }

    /// As [`Open::new`], before [`Open::go_on`] finds the holes of the log.
    pub(crate) fn before(log: &Log) -> Open {
        let pairing = Pairing::new(Limits::default());
        Open { numbers: Numbers::new(log), pairing, values: Values::default() }
    }

    /// Goes on with a log that has grown, and that may still be growing; `known` events were read.
    #[cfg(feature = "sql")]
    pub(crate) fn go_on(&mut self, marked: &Marked<'_>, known: &BufferCounts, is_growing: bool) {
        let Marked { log, clock, marks } = *marked;
        self.pairing.holes().go_on(log, marks, known, is_growing);
        self.pairing.set_times(|stream, ticks| clock.ns(stream, ticks));
    }

    /// Pairs the edges of a piece, and passes what they mean to `tell`, which returns whether it
    /// wants more; what begins too if `is_all`. Returns whether it does, and gaps in the numbers.
    fn pair(
        &mut self,
        piece: &Piece,
        is_all: bool,
        tell: &mut impl FnMut(Told<'_>, &Edge, &Values) -> bool,
    ) -> (bool, Vec<Gap>) {
        let Open { numbers, pairing, values } = self;
        let ids: Vec<u32> = piece.values.iter().map(|text| values.tag(text)).collect();
        let (mut is_wanted, mut gaps) = (true, Vec::new());
        for step in piece.batch.steps() {
            let edge = match step {
                Step::Jump(jump) => {
                    gaps.extend(numbers.gap(jump));
                    continue;
                }
                Step::Edge(edge) => numbered(edge, &ids),
            };
            if !edge.is_end {
                pairing.make_room(|slice| {
                    is_wanted = tell(Told::GaveWay(slice), slice.begin, values);
                });
            }
            let each = |slice: Slice<'_>| {
                is_wanted = tell(Told::Slice(slice), slice.begin, values);
            };
            let begin = &edge;
            is_wanted = match pairing.take(&edge, each) {
                Turn::Alone => tell(Told::Alone(begin), begin, values),
                Turn::Begun { slot, within } if is_all => {
                    tell(Told::Begun { begin, slot, within }, begin, values)
                }
                _ => is_wanted,
            };
        }
        numbers.follow(&piece.batch);
        (is_wanted, gaps)
    }

    /// Passes the open slices that are selected to `take`, in the order of their beginnings.
    pub(crate) fn each(&self, mut take: impl FnMut(Slice<'_>, &Values)) {
        self.pairing.finish(|slice| {
            if is_selected(slice.begin) {
                take(slice, &self.values);
            }
        });
    }
}

/// What a reading of slices found apart from them.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) faults: Faults,
    pub(crate) notes: Vec<String>,
}

impl Marked<'_> {
    /// Returns whether a selection may have events that begin anything.
    #[cfg(any(feature = "parquet", feature = "sql"))]
    pub(crate) fn has_beginnings(&self, selection: &Selection) -> bool {
        self.first_side(selection, false).is_some()
    }

    /// Returns the first event type of a selection that begins something, or that ends something.
    fn first_side(&self, selection: &Selection, is_end: bool) -> Option<&EventType> {
        let registries = self.log.registries();
        let picker = Picker::new(selection.filter(), registries);
        registries.iter().enumerate().find_map(|(at, registry)| {
            let side = |code| self.marks.role_of(registry, code).part;
            let is_it = |code| side(code).is_some_and(|side| side.is_end == is_end);
            let mut rows = registry.event_types.iter().enumerate();
            let found = rows.find(|(index, row)| is_it(row.code) && picker.has_type(at, *index));
            found.map(|(_, row)| row)
        })
    }

    /// Returns a note on a selection of ends without beginnings, which has no slices.
    pub(crate) fn beginnings_note(&self, selection: &Selection) -> Option<String> {
        let end = self.first_side(selection, true)?;
        self.first_side(selection, false).is_none().then(|| {
            format!(
                "a selection chooses slices by the events that begin them, and this one has none \
                 of these; to choose by the end: eventcnv query LOG \"SELECT slices.* FROM slices \
                 JOIN {} ON event = end_event\", with WHERE",
                end.name
            )
        })
    }

    /// Returns the sorts of the parameters that distinguish the slices of each pair.
    #[cfg(any(feature = "parquet", feature = "sql"))]
    pub(crate) fn key_sorts(&self) -> Vec<Vec<Sort>> {
        let mut sorts = vec![Vec::new(); self.marks.pairs.len()];
        for registry in self.log.registries() {
            for row in &registry.event_types {
                let part = self.marks.role_of(registry, row.code).part;
                let Some(side) = part.filter(|side| !side.is_end) else { continue };
                let params = side.params().filter_map(|index| row.params.get(index));
                if let Some(place) = sorts.get_mut(side.pair as usize) {
                    *place = params.map(|param| param.sort).collect();
                }
            }
        }
        sorts
    }

    /// Returns the indices of the parameters that are name and value of an event, by the index of
    /// its registry in the log, and of its event type in the registry.
    fn params(&self, by: &By) -> Vec<Vec<[Vec<usize>; 2]>> {
        let registries = self.log.registries().iter();
        let of = |registry: &Registry| {
            let row = |row: &EventType| {
                let value = match by {
                    By::Event | By::Thread => Vec::new(),
                    // The key names a span that nothing else names.
                    By::Name => self.unnamed_span(registry, row),
                    By::Param(name) => {
                        row.param(name).into_iter().map(|(index, _)| index).collect()
                    }
                    By::Key => {
                        let part = self.marks.role_of(registry, row.code).part;
                        part.map_or_else(Vec::new, |side| side.params().collect())
                    }
                };
                [self.name_params(registry, row), value]
            };
            registry.event_types.iter().map(row).collect()
        };
        registries.map(of).collect()
    }

    /// Returns the indices of the parameters that name what an event begins.
    fn name_params(&self, registry: &Registry, row: &EventType) -> Vec<usize> {
        let role = self.marks.role_of(registry, row.code);
        let begins = role.part.is_some_and(|side| !side.is_end);
        role.name.filter(|_| begins).into_iter().map(usize::from).collect()
    }

    /// Returns the indices of the parameters of the key of a span without a name that an event
    /// begins.
    fn unnamed_span(&self, registry: &Registry, row: &EventType) -> Vec<usize> {
        let role = self.marks.role_of(registry, row.code);
        let Some(side) = role.part.filter(|side| !side.is_end) else { return Vec::new() };
        let form = self.marks.pairs.get(side.pair as usize).map(|pair| pair.form);
        let is_unnamed = role.name.is_none() && form == Some(Form::Span);
        if is_unnamed { side.params().collect() } else { Vec::new() }
    }

    /// Passes the slices of a selection to `take`, in the order of their ends; then the unfinished
    /// ones, in the order of their beginnings. Ends at the first error of `take`.
    pub(crate) fn each<E>(
        &self,
        selection: &Selection,
        by: &By,
        mut take: impl FnMut(Told<'_>, &Values) -> Result<(), E>,
    ) -> Result<(Found, Values), E> {
        let mut open = Open::new(self);
        let found = self.advance(selection, by, &mut open, &mut take)?;
        let mut result = Ok(());
        open.each(|slice, values| {
            if result.is_ok() {
                result = take(Told::Slice(slice), values);
            }
        });
        result.map(|()| (found, open.values))
    }

    /// Passes the slices that end in a selection to `take`, in the order of their ends. `open` is
    /// what the events before left open.
    pub(crate) fn advance<E>(
        &self,
        selection: &Selection,
        by: &By,
        open: &mut Open,
        take: &mut impl FnMut(Told<'_>, &Values) -> Result<(), E>,
    ) -> Result<Found, E> {
        self.advance_with(selection, by, open, take, || (), |(), _| {})
    }

    /// As [`Marked::advance`]. Passes what a worker makes of the events of each piece to `others`,
    /// after the slices that end there, with the gaps in the numbers of the events.
    pub(crate) fn advance_with<A: Aside, E>(
        &self,
        selection: &Selection,
        by: &By,
        open: &mut Open,
        take: &mut impl FnMut(Told<'_>, &Values) -> Result<(), E>,
        aside: impl Fn() -> A + Sync,
        mut others: impl FnMut(A::Entries, &[Gap]),
    ) -> Result<Found, E> {
        let Marked { log, clock, marks } = *self;
        let params = self.params(by);
        let is_any = params.iter().flatten().flatten().any(|params| !params.is_empty());
        let labels = selection.filter().labels || is_any || A::HAS_LABELS;
        let mut all = Selection::all(labels, selection.is_counted());
        all.restrict(selection.part());
        let source = Source::new(log, clock, marks);
        let chooser = selection.chooser(log);
        let work = |events: &mut Selected<'_>, emit: Emit<'_, (Piece, A::Entries)>| {
            let worker = Worker::new(log, source.clone(), chooser.clone(), &params);
            let worker = worker.with_named_values(*by == By::Name);
            let (mut worker, mut aside) = (worker, aside());
            events.each_while(|event| {
                let is_chosen = worker.add(event, A::ASKS);
                let count = worker.len() + aside.add(event, is_chosen);
                count < PIECE_COUNT || emit((worker.piece(), aside.take()))
            });
            emit((worker.piece(), aside.take()));
        };
        let mut result = Ok(());
        let mut tell = |told: Told<'_>, edge: &Edge, values: &Values| {
            if result.is_ok() && (A::TELLS_ALL || is_selected(edge)) {
                result = take(told, values);
            }
            result.is_ok()
        };
        let faults =
            parallel::run(log, &all, Order::Time, work, |(piece, entries): (Piece, A::Entries)| {
                let (is_wanted, gaps) = open.pair(&piece, A::TELLS_ALL, &mut tell);
                others(entries, &gaps);
                if is_wanted { Ok(()) } else { Err(Stop::Closed) }
            });
        result?;
        // Nothing but `take` fails.
        let faults = faults.unwrap_or_default();
        let mut notes = notes(log, &open.pairing.counts());
        notes.extend(open.values.note());
        Ok(Found { faults, notes })
    }
}

/// Returns notes for the user about the slices of a log.
fn notes(log: &Log, counts: &Counts) -> Vec<String> {
    let Counts { gave_way, late, .. } = *counts;
    let room = Limits::default().open_count;
    let gave_way = (gave_way > 0).then(|| {
        format!(
            "slices that are unfinished, as they gave way while {room} were open: {gave_way}; ends \
             that came later: {late}"
        )
    });
    let cut = log.streams().iter().position(|stream| stream.is_cut).map(|index| {
        format!("stream {index} is cut: slices may pair across events that were left out")
    });
    gave_way.into_iter().chain(cut).collect()
}

/// Returns notes for the user about the counters of a log.
pub(crate) fn counter_notes(log: &Log, counters: &Counters) -> impl Iterator<Item = String> {
    let Refused { full, overflow } = counters.refused();
    let relative = counters.all().iter().filter(|one| counters.least(one).is_some()).count() as u64;
    let first = counters.all().len();
    let all = [
        (relative, "counters are relative to a first value that the log does not tell".to_owned()),
        (full, format!("changes are left out: their counters came after the first {first}")),
        (overflow, "changes of counters are left out: the value would be no number".to_owned()),
    ];
    let all = all.into_iter().filter(|(count, _)| *count > 0);
    all.map(|(count, what)| format!("{count} {what}")).chain(certainty_note(log, counters))
}

/// Returns from when on and up to when counters are certain, in words.
pub(crate) fn certainty_note(log: &Log, counters: &Counters) -> Option<String> {
    let from = times_of(log, &counters.certain_from()).map(|times| {
        format!(
            "threads and kinds lack events up to different times: counters that several of them \
             change are sums, relative to one first value, only from {times} on (times as --from \
             takes them)"
        )
    });
    let until = times_of(log, &counters.certain_until(log)).map(|times| {
        format!(
            "the log was not closed, and lacks the last events of some threads and kinds: counters \
             that several of them change may be wrong after {times} (times as --to takes them)"
        )
    });
    from.into_iter().chain(until).reduce(|one, other| format!("{one}; {other}"))
}

/// Returns times of streams in words, if there are any.
fn times_of(log: &Log, all: &BTreeMap<u16, u64>) -> Option<String> {
    let clocks = Clocks::new(log);
    let is_one = log.streams().len() == 1;
    let time = |(stream, ticks): (&u16, &u64)| {
        let time = match clocks.since_start(*stream, *ticks) {
            Some(ns) => format!("{:+}s", ns as f64 / 1e9),
            None => format!("{ticks}"),
        };
        if is_one { time } else { format!("{time} of stream {stream}") }
    };
    let times: Vec<String> = all.iter().take(STREAM_COUNT_MAX).map(time).collect();
    let more = all.len().saturating_sub(STREAM_COUNT_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!times.is_empty()).then(|| format!("{}{more}", times.join(", ")))
}

/// Returns an edge of a piece whose tag numbers the values of all pieces.
fn numbered(edge: &Edge, ids: &[u32]) -> Edge {
    let local = (edge.tag & !UNSELECTED) as usize;
    let value = local.checked_sub(1).and_then(|at| ids.get(at)).copied().unwrap_or(0);
    Edge { tag: edge.tag & UNSELECTED | value, ..*edge }
}

/// Returns a key as text; `sorts` are those of its parameters. A string is its hash.
#[cfg(any(feature = "parquet", feature = "sql"))]
pub(crate) fn key_text(key: &Key, sorts: &[Sort]) -> String {
    let text = |(value, sort): (&u64, &Sort)| match sort {
        Sort::P | Sort::A => format!("0x{value:X}"),
        Sort::D => f64::from_bits(*value).to_string(),
        Sort::S => format!("{value:016x}"),
        _ => value.to_string(),
    };
    key.iter().zip(sorts).map(text).collect::<Vec<_>>().join(" ")
}
