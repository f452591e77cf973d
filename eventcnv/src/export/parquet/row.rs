//! Rows in memory: an event, a slice or a change of a counter in each.
//!
//! ```text
//!  Rows     time wall thread·buffer number count·stream  16 …  │ time wall …    a row at a time
//! ```
//!
//! Reading threads write each event to one place; columns.rs reads the rows. Design: `.cnv.parquet`
//! in `design/eventcnv.md`.

use crate::text::names::PARAM_COUNT_MAX;
use eventlog::reader::marks::Unit;
use eventlog::reader::{Event, Value};
use lens::counters::{Counter, Number, Step};
use lens::slices::{Edge, Slice};

/// The type of a column in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Unsigned, of 64 bits.
    Long,
    /// µs since 1970 UTC.
    Timestamp,
    /// ns since 1970 UTC: Spark refuses a timestamp in ns.
    Signed,
    /// Unsigned, of 32 bits.
    Int,
    Double,
    Bool,
    Text,
    Thread,
    Bytes,
}

/// The first columns of every data set, and whether they may be NULL if the log does not state
/// them.
pub(crate) const FIRST: [(&str, Form, bool); 8] = [
    ("time", Form::Long, false),
    ("timestamp", Form::Timestamp, true),
    ("wall", Form::Signed, true),
    ("stream", Form::Int, false),
    ("thread", Form::Int, false),
    ("thread_name", Form::Thread, true),
    ("buffer", Form::Int, false),
    ("number", Form::Long, false),
];
/// The further columns of slices. Those without a value come last.
pub(crate) const SLICE: [(&str, Form, bool); 8] = [
    ("name", Form::Text, false),
    ("key", Form::Text, true),
    ("verdict", Form::Text, false),
    ("begin", Form::Long, false),
    ("end", Form::Long, true),
    ("end_buffer", Form::Int, true),
    ("end_number", Form::Long, true),
    ("duration", Form::Long, true),
];
/// The further columns of changes of counters. Those without a value come last.
pub(crate) const COUNTER: [(&str, Form, bool); 11] = [
    ("name", Form::Text, false),
    ("registry", Form::Text, false),
    ("key", Form::Text, true),
    ("label", Form::Text, true),
    ("unit", Form::Text, true),
    ("value", Form::Double, false),
    ("change", Form::Double, false),
    ("relative", Form::Bool, false),
    ("least", Form::Double, false),
    ("exact_value", Form::Signed, true),
    ("exact_change", Form::Signed, true),
];
/// The word and the first bit of the first columns in a row.
pub(super) const FIRST_PLACES: [(usize, u32); FIRST.len()] =
    [(0, 0), (1, 0), (1, 0), (HEAD, 32), (2, 0), (2, 0), (2, 32), (3, 0)];
/// The word with [`HAS_WALL`], the number of further columns with values, and the stream.
pub(super) const HEAD: usize = 4;
pub(super) const HAS_WALL: u64 = 1;
pub(super) const COUNT_SHIFT: u32 = 1;
pub(super) const COUNT_MASK: u64 = (1 << 31) - 1;
/// Words of a row before its parameters.
pub(super) const FIRST_SIZE: usize = 5;
/// A NULL string: no other string is so long.
pub(super) const NO_TEXT: u64 = u64::MAX;

/// Rows of one data set.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// All rows have the same number of words. A string is its offset in `bytes` and its size.
    words: Vec<u64>,
    bytes: Vec<u8>,
    pub(crate) count: usize,
}

impl Rows {
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the allocated memory.
    pub(crate) fn size(&self) -> usize {
        self.words.capacity() * size_of::<u64>() + self.bytes.capacity()
    }

    #[inline]
    pub(crate) fn used_size(&self) -> usize {
        self.words.len() * size_of::<u64>() + self.bytes.len()
    }

    /// Takes the rows, and allocates room for as many.
    pub(crate) fn take(&mut self) -> Rows {
        let (words, bytes) = (self.words.len(), self.bytes.len());
        let (words, bytes) = (Vec::with_capacity(words), Vec::with_capacity(bytes));
        std::mem::replace(self, Rows { words, bytes, count: 0 })
    }

    /// Adds an event of a data set with `column_count` columns.
    #[inline]
    pub(crate) fn push(
        &mut self,
        event: &Event<'_, '_>,
        wall: Option<u64>,
        column_count: usize,
        with_labels: bool,
    ) {
        let begin = self.begin(event.ticks, wall, event.thread, event.buffer, event.number);
        if event.event_type.is_some() {
            self.push_params(event, with_labels);
        } else {
            self.words.extend([u64::from(event.registry.index), u64::from(event.code())]);
            self.push_bytes(event.bytes);
        }
        self.end(begin, event.stream, wall, column_count);
    }

    /// Adds a slice, with its name and its key.
    pub(crate) fn push_slice(
        &mut self,
        slice: &Slice<'_>,
        wall: Option<u64>,
        name: &str,
        key: Option<&str>,
    ) {
        let Edge { ticks, thread, id, .. } = *slice.begin;
        let begin = self.begin(ticks, wall, thread, id.buffer, id.number);
        self.push_bytes(name.as_bytes());
        match key {
            Some(key) => self.push_bytes(key.as_bytes()),
            None => self.words.push(NO_TEXT),
        }
        self.push_bytes(slice.verdict.name().as_bytes());
        self.words.push(ticks);
        if let Some(Edge { ticks, id, .. }) = slice.end {
            self.words.extend([*ticks, id.buffer.into(), id.number]);
            self.words.extend(slice.duration());
        }
        self.end(begin, id.stream, wall, FIRST.len() + SLICE.len());
    }

    /// Adds a change of a counter, which has the value after it; `names` are its name and that of
    /// its registry.
    pub(crate) fn push_change(
        &mut self,
        (counter, least): (&Counter, Option<Number>),
        step: &Step,
        wall: Option<u64>,
        names: [&str; 2],
        key: Option<&str>,
    ) {
        let begin = self.begin(step.ticks, wall, step.thread, step.id.buffer, step.id.number);
        names.iter().for_each(|name| self.push_bytes(name.as_bytes()));
        for text in [key, counter.label.as_deref(), counter.unit.map(Unit::name)] {
            match text {
                Some(text) => self.push_bytes(text.as_bytes()),
                None => self.words.push(NO_TEXT),
            }
        }
        let (value, change) = (counter.value, counter.value.less(counter.before));
        let double = |number: Number| number.as_f64().to_bits();
        self.words.extend([double(value), double(change), u64::from(least.is_some())]);
        self.words.push(least.map_or(0, double));
        if let (Some(value), Some(change)) = (value.as_i64(), change.as_i64()) {
            self.words.extend([value as u64, change as u64]);
        }
        self.end(begin, step.id.stream, wall, FIRST.len() + COUNTER.len());
    }

    /// Begins a row. Returns its place.
    #[inline]
    fn begin(
        &mut self,
        ticks: u64,
        wall: Option<u64>,
        thread: u32,
        buffer: u32,
        number: u64,
    ) -> usize {
        let begin = self.words.len();
        let place = u64::from(thread) | u64::from(buffer) << 32;
        self.words.extend([ticks, wall.unwrap_or(0), place, number, 0]);
        begin
    }

    /// Ends a row of a data set with `column_count` columns.
    #[inline]
    fn end(&mut self, begin: usize, stream: u16, wall: Option<u64>, column_count: usize) {
        let count = (self.words.len() - begin - FIRST_SIZE) as u64;
        self.words.resize(begin + row_size(column_count), 0);
        if let Some(head) = self.words.get_mut(begin + HEAD) {
            let has_wall = if wall.is_some() { HAS_WALL } else { 0 };
            *head = has_wall | count << COUNT_SHIFT | u64::from(stream) << 32;
        }
        self.count += 1;
    }

    #[inline]
    fn push_params(&mut self, event: &Event<'_, '_>, with_labels: bool) {
        for (_, value) in event.params().take(PARAM_COUNT_MAX) {
            match value {
                Value::P(word) | Value::A(word) => {
                    self.words.push(word);
                    if with_labels {
                        self.push_label(event, value);
                    }
                }
                Value::W(word) => self.words.push(word),
                Value::U(number) => self.words.push(number.into()),
                Value::D(number) => self.words.push(number.to_bits()),
                Value::B(is_true) => self.words.push(is_true.into()),
                Value::S(bytes) if std::str::from_utf8(bytes).is_ok() => {
                    self.push_bytes(bytes);
                    self.words.push(NO_TEXT);
                }
                Value::S(bytes) => {
                    self.words.push(NO_TEXT);
                    self.push_bytes(bytes);
                }
            }
        }
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        self.words.push((self.bytes.len() as u64) << 32 | bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds the label of a pointer or address. Replaces bytes that are not UTF-8.
    fn push_label(&mut self, event: &Event<'_, '_>, value: Value<'_>) {
        let id = event.labels.label_id_of(value);
        match id.and_then(|id| event.labels.string(id)) {
            Some(string) => self.push_bytes(String::from_utf8_lossy(string).as_bytes()),
            None => self.words.push(NO_TEXT),
        }
    }
}

/// Returns the stream and index of the thread of a row.
pub(super) fn thread(row: &[u64]) -> (u32, u32) {
    let word = |at: usize| row.get(at).copied().unwrap_or(0);
    ((word(HEAD) >> 32) as u32, word(2) as u32)
}

/// Returns the words of a row with `column_count` columns.
pub(super) fn row_size(column_count: usize) -> usize {
    FIRST_SIZE + column_count.saturating_sub(FIRST.len())
}
