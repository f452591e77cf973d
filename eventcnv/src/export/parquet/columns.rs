//! Rows in memory, and their conversion to columns of a row group.
//!
//! ```text
//!  Rows     time wall thread·buffer number count·stream  16 …  │ time wall …    a row at a time
//!  columns  time time …   wall wall …                 16 - …   levels: 1 value, 0 NULL
//! ```
//!
//! Reading threads write each event to one place. The encoding thread converts rows to columns, a
//! few rows at a time, so that they stay in its cache. Design: `.cnv.parquet` in
//! `design/eventcnv.md`.

use super::Failure;
use crate::export::names::PARAM_COUNT_MAX;
use eventlog::reader::{Event, Value};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::writer::SerializedRowGroupWriter;
use slices::{Edge, Slice};
use std::collections::HashMap;
use std::fs::File;

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
/// The word and the first bit of these columns in a row.
const FIRST_PLACES: [(usize, u32); FIRST.len()] =
    [(0, 0), (1, 0), (1, 0), (HEAD, 32), (2, 0), (2, 0), (2, 32), (3, 0)];
/// The word with [`HAS_WALL`], the number of further columns with values, and the stream.
const HEAD: usize = 4;
const HAS_WALL: u64 = 1;
const COUNT_SHIFT: u32 = 1;
const COUNT_MASK: u64 = (1 << 31) - 1;
/// Words of a row before its parameters.
const FIRST_SIZE: usize = 5;
/// A NULL string: no other string is so long.
const NO_TEXT: u64 = u64::MAX;
/// Rows that are converted at a time.
const TILE_ROW_COUNT: usize = 512;

/// Rows of one data set.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// All rows have the same number of words. A string is its offset in `bytes` and its size.
    words: Vec<u64>,
    bytes: Vec<u8>,
    pub(crate) count: usize,
}

impl Rows {
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

/// Rows of a data set that become a row group, in the order of reading.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) set: usize,
    pub(crate) process: usize,
    parts: Vec<Rows>,
    pub(crate) row_count: usize,
    /// Allocated memory.
    pub(crate) size: usize,
}

impl Group {
    pub(crate) fn new(set: usize, process: usize) -> Group {
        Group { set, process, parts: Vec::new(), row_count: 0, size: 0 }
    }

    pub(crate) fn push(&mut self, rows: Rows) {
        self.row_count += rows.count;
        self.size += rows.size();
        self.parts.push(rows);
    }

    /// Writes a row group of these columns, with the names of threads.
    pub(crate) fn write(
        self,
        forms: &[(Form, bool)],
        threads: &HashMap<(u32, u32), String>,
        mut to: SerializedRowGroupWriter<'_, File>,
    ) -> Result<(), Failure> {
        let make = |(index, &(form, is_optional))| Column::new(index, form, is_optional);
        let mut columns: Vec<Column> = forms.iter().enumerate().map(make).collect();
        columns.iter_mut().for_each(|column| column.reserve(self.row_count));
        let size = row_size(forms.len());
        let mut bytes = Vec::with_capacity(self.parts.iter().map(|part| part.bytes.len()).sum());
        let names = self.names(size, threads, &mut bytes);
        for part in self.parts {
            for tile in part.words.chunks(size * TILE_ROW_COUNT) {
                columns
                    .iter_mut()
                    .for_each(|column| column.push_rows(tile, size, bytes.len(), &names));
            }
            bytes.extend_from_slice(&part.bytes);
        }
        let bytes = ByteArray::from(bytes);
        columns.into_iter().try_for_each(|column| column.write(&bytes, &mut to))?;
        to.close()?;
        Ok(())
    }

    /// Appends the names of the threads to `bytes`. Returns their places.
    fn names(
        &self,
        size: usize,
        threads: &HashMap<(u32, u32), String>,
        bytes: &mut Vec<u8>,
    ) -> HashMap<(u32, u32), u64> {
        let mut names = HashMap::new();
        if threads.is_empty() {
            return names;
        }
        let mut last = None;
        for thread in self.parts.iter().flat_map(|part| part.words.chunks_exact(size)).map(thread) {
            if last.replace(thread) != Some(thread)
                && let Some(name) = threads.get(&thread)
            {
                names.entry(thread).or_insert_with(|| {
                    bytes.extend_from_slice(name.as_bytes());
                    ((bytes.len() - name.len()) as u64) << 32 | name.len() as u64
                });
            }
        }
        names
    }
}

/// Returns the stream and index of the thread of a row.
fn thread(row: &[u64]) -> (u32, u32) {
    let word = |at: usize| row.get(at).copied().unwrap_or(0);
    ((word(HEAD) >> 32) as u32, word(2) as u32)
}

/// Returns the words of a row with `column_count` columns.
fn row_size(column_count: usize) -> usize {
    FIRST_SIZE + column_count.saturating_sub(FIRST.len())
}

/// The values of a column without NULLs.
#[derive(Debug)]
enum Values {
    Long(Vec<i64>),
    Int(Vec<i32>),
    Double(Vec<f64>),
    Bool(Vec<bool>),
    /// Offset and size.
    Bytes(Vec<u64>),
}

/// A column of a row group.
#[derive(Debug)]
struct Column {
    index: usize,
    form: Form,
    values: Values,
    /// 1 for each row with a value, else 0; `None` if all rows have one.
    levels: Option<Vec<i16>>,
}

impl Column {
    fn new(index: usize, form: Form, is_optional: bool) -> Column {
        let values = match form {
            Form::Long | Form::Timestamp | Form::Signed => Values::Long(Vec::new()),
            Form::Int => Values::Int(Vec::new()),
            Form::Double => Values::Double(Vec::new()),
            Form::Bool => Values::Bool(Vec::new()),
            Form::Text | Form::Thread | Form::Bytes => Values::Bytes(Vec::new()),
        };
        Column { index, form, values, levels: is_optional.then(Vec::new) }
    }

    fn reserve(&mut self, row_count: usize) {
        self.levels.iter_mut().for_each(|levels| levels.reserve(row_count));
        match &mut self.values {
            Values::Long(values) => values.reserve(row_count),
            Values::Int(values) => values.reserve(row_count),
            // Few row groups have such values.
            Values::Double(_) | Values::Bool(_) | Values::Bytes(_) => {}
        }
    }

    /// Adds the values of rows of `size` words. Their strings begin at `byte_count`; `names` has
    /// the places of the names of threads.
    fn push_rows(
        &mut self,
        rows: &[u64],
        size: usize,
        byte_count: usize,
        names: &HashMap<(u32, u32), u64>,
    ) {
        let after = self.index.checked_sub(FIRST.len());
        let (at, shift) = match after {
            Some(after) => (FIRST_SIZE + after, 0),
            None => FIRST_PLACES.get(self.index).copied().unwrap_or_default(),
        };
        let is_text = matches!(self.values, Values::Bytes(_));
        let is_thread = self.form == Form::Thread;
        let begin = if is_text && !is_thread { (byte_count as u64) << 32 } else { 0 };
        let has_value = |row: &[u64]| {
            let head = row.get(HEAD).copied().unwrap_or(0);
            match after {
                Some(after) => head >> COUNT_SHIFT & COUNT_MASK > after as u64,
                None => is_thread || head & HAS_WALL != 0,
            }
        };
        let form = self.form;
        let word = |row: &[u64]| {
            let word = row.get(at).map_or(0, |word| word >> shift);
            match form {
                Form::Timestamp => word / 1000,
                Form::Thread => names.get(&thread(row)).copied().unwrap_or(NO_TEXT),
                _ => word,
            }
        };
        let rows = rows.chunks_exact(size);
        let Some(levels) = &mut self.levels else {
            let words = rows.map(word);
            match &mut self.values {
                Values::Long(values) => values.extend(words.map(|word| word as i64)),
                Values::Int(values) => values.extend(words.map(|word| word as i32)),
                values => words.for_each(|word| values.push(word)),
            }
            return;
        };
        for row in rows {
            let word = word(row);
            let has_value = has_value(row) && !(is_text && word == NO_TEXT);
            levels.push(has_value.into());
            if has_value {
                self.values.push(word.wrapping_add(begin));
            }
        }
    }

    /// Writes the next column of a row group, whose strings are in `bytes`.
    fn write(
        self,
        bytes: &ByteArray,
        to: &mut SerializedRowGroupWriter<'_, File>,
    ) -> Result<(), Failure> {
        let Some(mut column) = to.next_column()? else { return Ok(()) };
        let levels = self.levels.as_deref();
        match self.values {
            Values::Long(values) => {
                column.typed::<Int64Type>().write_batch(&values, levels, None)?;
            }
            Values::Int(values) => {
                column.typed::<Int32Type>().write_batch(&values, levels, None)?;
            }
            Values::Double(values) => {
                column.typed::<DoubleType>().write_batch(&values, levels, None)?;
            }
            Values::Bool(values) => {
                column.typed::<BoolType>().write_batch(&values, levels, None)?;
            }
            Values::Bytes(words) => {
                let slice = |word: &u64| bytes.slice((word >> 32) as usize, *word as u32 as usize);
                let values: Vec<ByteArray> = words.iter().map(slice).collect();
                column.typed::<ByteArrayType>().write_batch(&values, levels, None)?;
            }
        }
        Ok(column.close()?)
    }
}

impl Values {
    #[inline]
    fn push(&mut self, word: u64) {
        match self {
            Values::Long(values) => values.push(word as i64),
            Values::Int(values) => values.push(word as i32),
            Values::Double(values) => values.push(f64::from_bits(word)),
            Values::Bool(values) => values.push(word != 0),
            Values::Bytes(values) => values.push(word),
        }
    }
}
