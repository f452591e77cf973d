//! Reads the slices of a log with all processors, and pairs them on one.
//!
//! ```text
//!  partitions ── workers: edges, numbers, values ──▶ pieces ── in order ──▶ pairing ──▶ Told
//! ```
//!
//! All events are read, as the numbers of the others show where events are missing. A selection
//! chooses slices by their beginning. Design: `.cnv.pairs` in `design/eventcnv.md`, `.slice.source`
//! in `design/slices.md`.

use super::parallel::{self, Emit};
use crate::select::{Chooser, Selected, Selection};
use crate::text;
use cli::Stop;
use eventlog::format::text::OneLine;
use eventlog::reader::marks::Marks;
use eventlog::reader::{Clock, Event, Faults, Log, Order, Value};
use slices::{Batch, Counts, Edge, Limits, Numbers, Pairing, Slice, Source, Step, Turn};
use std::collections::HashMap;
use std::io::Write;

/// Entries of a piece, about.
const PIECE_COUNT: usize = 1 << 12;
/// Values by which slices are grouped, at most; further ones are one value.
const VALUE_COUNT_MAX: usize = 1 << 16;
/// Bytes of a value, at most.
const VALUE_SIZE_MAX: usize = 128;
/// The value that stands for further ones.
const OTHERS: &str = "(others)";
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
}

/// What an event meant.
#[derive(Clone, Copy)]
pub(crate) enum Told<'a> {
    /// A slice ended, or never will. Its beginning is selected.
    Slice(Slice<'a>),
    /// A selected event found nothing to end.
    Alone(&'a Edge),
}

/// The slices of a log: what names them, and their times.
pub(crate) struct Pairs<'l> {
    pub(crate) log: &'l Log,
    pub(crate) clock: &'l Clock,
    pub(crate) marks: &'l Marks,
}

/// Edges, with the values that their tags number from 1.
struct Piece {
    batch: Batch,
    values: Vec<String>,
}

/// The values of the slices of a log, as the tags of edges number them.
#[derive(Default)]
pub(crate) struct Values {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Values {
    /// Returns the value of a slice by its number: that of the beginning, else that of the end.
    pub(crate) fn of(slice: &Slice<'_>) -> u32 {
        match Values::of_edge(slice.begin) {
            0 => slice.end.map_or(0, Values::of_edge),
            own => own,
        }
    }

    /// Returns the value of an event by its number.
    pub(crate) fn of_edge(edge: &Edge) -> u32 {
        edge.tag & !UNSELECTED
    }

    /// Returns the value with a number; 0 is no value.
    pub(crate) fn name(&self, number: u32) -> &str {
        number.checked_sub(1).and_then(|at| self.names.get(at as usize)).map_or("", String::as_str)
    }

    fn number(&mut self, name: String) -> u32 {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let is_full = self.names.len() >= VALUE_COUNT_MAX;
        if is_full && name != OTHERS {
            return self.number(OTHERS.to_owned());
        }
        self.names.push(name.clone());
        let number = self.names.len() as u32;
        self.numbers.insert(name, number);
        number
    }
}

/// What a reading of slices found apart from them.
pub(crate) struct Found {
    pub(crate) faults: Faults,
    pub(crate) counts: Counts,
    pub(crate) values: Values,
}

impl Pairs<'_> {
    /// Passes the slices of a selection to `take`, in the order of their ends; then the unfinished
    /// ones, in the order of their beginnings.
    pub(crate) fn each(
        &self,
        selection: &Selection,
        by: &By,
        mut take: impl FnMut(Told<'_>) -> Result<(), Stop>,
    ) -> Result<Found, Stop> {
        let Pairs { log, clock, marks } = *self;
        let labels = selection.filter().labels || matches!(by, By::Key | By::Param(_));
        let all = Selection::all(labels, selection.is_counted());
        let source = Source::new(log, clock, marks);
        let work = |events: &mut Selected<'_>, emit: Emit<'_, Piece>| {
            let mut worker = Worker {
                source: source.clone(),
                chooser: selection.chooser(log),
                marks,
                by,
                batch: Batch::new(log),
                values: Vec::new(),
                numbers: HashMap::new(),
                text: Vec::new(),
            };
            events.each_while(|event| {
                worker.add(event);
                worker.batch.len() < PIECE_COUNT || emit(worker.piece())
            });
            emit(worker.piece());
        };
        let mut numbers = Numbers::new(log);
        let mut pairing = Pairing::new(Limits::default());
        let mut values = Values::default();
        let faults = parallel::run(log, &all, Order::Time, work, |piece: Piece| {
            let ids: Vec<u32> = piece.values.into_iter().map(|name| values.number(name)).collect();
            for step in piece.batch.steps() {
                match step {
                    Step::Jump(jump) => {
                        numbers.gap(jump).iter().for_each(|gap| pairing.gap(gap));
                    }
                    Step::Edge(edge) => pair(&mut pairing, &numbered(edge, &ids), &mut take)?,
                }
            }
            numbers.follow(&piece.batch);
            Ok(())
        })?;
        let mut result = Ok(());
        pairing.finish(|slice| {
            if result.is_ok() && is_chosen(slice.begin) {
                result = take(Told::Slice(slice));
            }
        });
        result?;
        Ok(Found { faults, counts: pairing.counts(), values })
    }
}

fn is_chosen(edge: &Edge) -> bool {
    edge.tag & UNSELECTED == 0
}

/// Returns an edge of a piece whose tag numbers the values of all pieces.
fn numbered(edge: &Edge, ids: &[u32]) -> Edge {
    let local = Values::of_edge(edge) as usize;
    let value = local.checked_sub(1).and_then(|at| ids.get(at)).copied().unwrap_or(0);
    Edge { tag: edge.tag & UNSELECTED | value, ..*edge }
}

#[inline]
fn pair(
    pairing: &mut Pairing,
    edge: &Edge,
    take: &mut impl FnMut(Told<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut result = Ok(());
    let turn = pairing.take(edge, |slice| {
        if is_chosen(slice.begin) && result.is_ok() {
            result = take(Told::Slice(slice));
        }
    });
    if turn == Turn::Alone && is_chosen(edge) {
        result = take(Told::Alone(edge));
    }
    result
}

/// Makes pieces of the events of a partition.
struct Worker<'l> {
    source: Source<'l>,
    chooser: Chooser<'l>,
    marks: &'l Marks,
    by: &'l By,
    batch: Batch,
    /// The values in the batch, and their numbers.
    values: Vec<String>,
    numbers: HashMap<String, u32>,
    text: Vec<u8>,
}

impl Worker<'_> {
    #[inline]
    fn add(&mut self, event: &Event<'_, '_>) {
        self.batch.note(event);
        let edge = self.source.edge(event);
        let is_chosen = self.chooser.has(event, edge.is_some());
        let Some(mut edge) = edge else { return };
        edge.tag = if is_chosen { 0 } else { UNSELECTED };
        if !matches!(self.by, By::Event | By::Thread) {
            edge.tag |= self.value(event);
        }
        self.batch.push(edge);
    }

    fn piece(&mut self) -> Piece {
        self.numbers.clear();
        Piece { batch: self.batch.take(), values: std::mem::take(&mut self.values) }
    }

    /// Returns the number of the value of an event in this piece; 0 if it has none.
    fn value(&mut self, event: &Event<'_, '_>) -> u32 {
        self.text.clear();
        match self.by {
            By::Param(name) => {
                let Some(value) = event.param(name) else { return 0 };
                append(event, value, &mut self.text);
            }
            _ => {
                let Some(side) = self.marks.role(event).part else { return 0 };
                for value in side.params().filter_map(|index| event.param_at(index)) {
                    if !self.text.is_empty() {
                        self.text.push(b' ');
                    }
                    append(event, value, &mut self.text);
                }
            }
        }
        let text = String::from_utf8_lossy(&self.text);
        let text = text.get(..text.floor_char_boundary(VALUE_SIZE_MAX)).unwrap_or_default();
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.values.push(text.to_owned());
        let number = self.values.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// Appends a value; a pointer or address with its label.
fn append(event: &Event<'_, '_>, value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::S(string) => drop(write!(out, "{}", OneLine(string))),
        Value::P(word) | Value::A(word) => {
            out.extend_from_slice(b"0x");
            text::hex(out, word);
            let label = event.labels.label_id_of(value).and_then(|id| event.labels.string(id));
            if let Some(label) = label {
                out.push(b'[');
                text::quoted(out, label);
                out.push(b']');
            }
        }
        value => drop(write!(out, "{value}")),
    }
}
