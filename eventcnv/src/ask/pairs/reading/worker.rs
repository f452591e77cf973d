//! Events of a partition to pieces: edges, with their values.
//!
//! ```text
//!  event ──▶ edge │ bits of its value ── known? ──▶ number in the piece ── new ──▶ text
//! ```
//!
//! Design: `.cnv.pairs` in `design/eventcnv.md`.

use crate::ask::pairs::reading::{
    NAME_SIZE_MAX, Piece, UNSELECTED, VALUE_COUNT_MAX, VALUE_SIZE_MAX,
};
use crate::open::select::Chooser;
use crate::text;
use eventlog::format::text::OneLine;
use eventlog::reader::{Event, Log, Value};
use foldhash::fast::RandomState;
use lens::slices::{Batch, Source};
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

/// A value that a worker has met.
struct Known {
    text: Arc<str>,
    /// The last piece that has it, and its number there.
    piece: u32,
    number: u32,
}

/// Makes pieces of the events of a partition.
pub(super) struct Worker<'l> {
    source: Source<'l>,
    chooser: Chooser<'l>,
    /// As `Marked::params` in `reading/mod.rs` returns them.
    params: &'l [Vec<[Vec<usize>; 2]>],
    batch: Batch,
    /// The values in the batch.
    values: Vec<Arc<str>>,
    /// Pieces so far.
    piece: u32,
    /// Values by their bits: to write them as text costs more than all other steps.
    known: HashMap<Box<[u8]>, Known, RandomState>,
    raw: Vec<u8>,
    /// Whether a label stands for a value, as for a name.
    is_value_named: bool,
}

impl<'l> Worker<'l> {
    pub(super) fn new(
        log: &Log,
        source: Source<'l>,
        chooser: Chooser<'l>,
        params: &'l [Vec<[Vec<usize>; 2]>],
    ) -> Worker<'l> {
        Worker {
            source,
            chooser,
            params,
            batch: Batch::new(log),
            values: Vec::new(),
            piece: 0,
            known: HashMap::default(),
            raw: Vec::new(),
            is_value_named: false,
        }
    }

    /// Lets labels stand for values, if `is_so`.
    pub(super) fn with_named_values(self, is_so: bool) -> Worker<'l> {
        Worker { is_value_named: is_so, ..self }
    }

    /// Adds an event. Returns whether the selection has it; the answer matters only for an event
    /// with an edge, or if the caller `asks`.
    #[inline]
    pub(super) fn add(&mut self, event: &Event<'_, '_>, asks: bool) -> bool {
        self.batch.note(event);
        let edge = self.source.edge(event);
        let is_chosen = self.chooser.has(event, asks || edge.is_some());
        if let Some(mut edge) = edge {
            edge.tag = self.value(event) | if is_chosen { 0 } else { UNSELECTED };
            self.batch.push(edge);
        }
        is_chosen
    }

    /// Returns the number of entries.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.batch.len()
    }

    pub(super) fn piece(&mut self) -> Piece {
        self.piece += 1;
        if self.known.len() > VALUE_COUNT_MAX {
            self.known.clear();
        }
        Piece { batch: self.batch.take(), values: std::mem::take(&mut self.values) }
    }

    /// Returns the number of the value of an event in this piece; 0 if it has none.
    #[inline]
    fn value(&mut self, event: &Event<'_, '_>) -> u32 {
        let rows = self.params.get(event.registry_index as usize);
        match rows.and_then(|rows| rows.get(usize::from(event.event_type_index))) {
            Some(params) if params.iter().any(|of| !of.is_empty()) => self.number(event, params),
            _ => 0,
        }
    }

    fn number(&mut self, event: &Event<'_, '_>, params: &[Vec<usize>; 2]) -> u32 {
        self.raw.clear();
        let [name, value] = params;
        for (params, is_name) in [(name, true), (value, false)] {
            let values = params.iter().filter_map(|index| event.param_at(*index));
            values.for_each(|value| append_raw(event, value, &mut self.raw));
            if is_name && !self.raw.is_empty() {
                self.raw.push(u8::MAX);
            }
        }
        if self.raw.is_empty() {
            return 0;
        }
        let next = self.values.len() as u32 + 1;
        if let Some(known) = self.known.get_mut(&*self.raw) {
            if known.piece != self.piece {
                self.values.push(known.text.clone());
                (known.piece, known.number) = (self.piece, next);
            }
            return known.number;
        }
        let text = name_text(event, name) + "\0" + &text_of(event, value, self.is_value_named);
        let known = Known { text: text.into(), piece: self.piece, number: next };
        self.values.push(known.text.clone());
        self.known.insert(self.raw.as_slice().into(), known);
        next
    }
}

/// Returns the name that parameters give: a label stands for its value.
pub(crate) fn name_text(event: &Event<'_, '_>, params: &[usize]) -> String {
    text_of(event, params, true)
}

/// Returns the text of parameters: a name, in which a label stands for its value, or a value.
fn text_of(event: &Event<'_, '_>, params: &[usize], is_name: bool) -> String {
    let mut text = Vec::new();
    for value in params.iter().filter_map(|index| event.param_at(*index)) {
        if !text.is_empty() {
            text.push(b' ');
        }
        append(event, value, is_name, &mut text);
    }
    let mut text = String::from_utf8_lossy(&text).replace('\0', "\u{FFFD}");
    let size_max = if is_name { NAME_SIZE_MAX } else { VALUE_SIZE_MAX };
    text.truncate(text.floor_char_boundary(size_max));
    text
}

/// Appends the bits of a value, and stream and number of its label. Equal bits have equal texts.
fn append_raw(event: &Event<'_, '_>, value: Value<'_>, out: &mut Vec<u8>) {
    let (sort, bits) = match value {
        Value::S(string) => {
            out.push(0);
            out.extend_from_slice(&string.len().to_ne_bytes());
            return out.extend_from_slice(string);
        }
        Value::D(value) => (1, value.to_bits()),
        Value::P(word) | Value::A(word) => (2, word),
        Value::W(word) => (3, word),
        Value::U(word) => (4, word.into()),
        Value::B(is_so) => (5, is_so.into()),
    };
    out.push(sort);
    out.extend_from_slice(&bits.to_ne_bytes());
    if sort == 2 || sort == 3 {
        // Strings have their numbers by stream.
        let label = event.labels.label_id_of(value).map_or((0, 0), |id| (id, event.stream));
        out.extend_from_slice(&label.0.to_ne_bytes());
        out.extend_from_slice(&label.1.to_ne_bytes());
    }
}

/// Appends a value; a pointer or address with its label. If `is_named`, a label stands for it.
fn append(event: &Event<'_, '_>, value: Value<'_>, is_named: bool, out: &mut Vec<u8>) {
    let label = || event.labels.label_id_of(value).and_then(|id| event.labels.string(id));
    if is_named && let Some(label) = label() {
        return drop(write!(out, "{}", OneLine(label)));
    }
    match value {
        Value::S(string) => drop(write!(out, "{}", OneLine(string))),
        Value::P(word) | Value::A(word) => {
            out.extend_from_slice(b"0x");
            text::hex(out, word);
            if let Some(label) = label() {
                out.push(b'[');
                text::quoted(out, label);
                out.push(b']');
            }
        }
        value => drop(write!(out, "{value}")),
    }
}
