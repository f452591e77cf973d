//! The conversion of rows in memory to columns of a row group.
//!
//! ```text
//!  Rows     time wall thread·buffer number count·stream  16 …  │ time wall …    a row at a time
//!  columns  time time …   wall wall …                 16 - …   levels: 1 value, 0 NULL
//! ```
//!
//! An encoder converts rows to columns, a few rows at a time, so that they stay in its cache.
//! Design: `.cnv.parquet` in `design/eventcnv.md`.

use crate::export::parquet::Failure;
use crate::export::parquet::row::{
    COUNT_MASK, COUNT_SHIFT, FIRST, FIRST_PLACES, FIRST_SIZE, Form, HAS_WALL, HEAD, NO_TEXT, Rows,
    row_size, thread,
};
use crate::export::parquet::sets::{Set, Sets};
use bytes::Bytes;
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use std::collections::HashMap;
use std::fs::File;

/// Rows that are converted at a time.
const TILE_ROW_COUNT: usize = 512;

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

    /// Encodes the columns of a row group.
    pub(crate) fn encode(self, sets: &Sets) -> Encoded {
        let (set, process) = (self.set, self.process);
        let columns = match sets.all.get(set) {
            Some(of) => self.encode_columns(of, &sets.threads),
            None => Ok(Vec::new()),
        };
        Encoded { set, process, columns }
    }

    fn encode_columns(
        self,
        of: &Set,
        threads: &HashMap<(u32, u32), String>,
    ) -> Result<Vec<Chunk>, Failure> {
        let make = |(index, &(form, is_optional))| Column::new(index, form, is_optional);
        let mut columns: Vec<Column> = of.columns.iter().enumerate().map(make).collect();
        columns.iter_mut().for_each(|column| column.reserve(self.row_count));
        let size = row_size(of.columns.len());
        let mut bytes = Vec::with_capacity(self.parts.iter().map(|part| part.bytes().len()).sum());
        let names = self.names(size, threads, &mut bytes);
        for part in self.parts {
            for tile in part.words().chunks(size * TILE_ROW_COUNT) {
                columns
                    .iter_mut()
                    .for_each(|column| column.push_rows(tile, size, bytes.len(), &names));
            }
            bytes.extend_from_slice(part.bytes());
        }
        let bytes = ByteArray::from(bytes);
        columns.into_iter().map(|column| column.encode(&bytes, of)).collect()
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
        for thread in self.parts.iter().flat_map(|part| part.words().chunks_exact(size)).map(thread)
        {
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
                values => words.for_each(|word| values.push(word.wrapping_add(begin))),
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

    /// Encodes the column, whose strings are in `bytes`.
    fn encode(self, bytes: &ByteArray, of: &Set) -> Result<Chunk, Failure> {
        let mut encoded = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut encoded));
        let column = of.schema.column(self.index);
        let mut to = get_column_writer(column, of.properties.clone(), pages);
        let levels = self.levels.as_deref();
        match (self.values, &mut to) {
            (Values::Long(values), ColumnWriter::Int64ColumnWriter(to)) => {
                to.write_batch(&values, levels, None)?;
            }
            (Values::Int(values), ColumnWriter::Int32ColumnWriter(to)) => {
                to.write_batch(&values, levels, None)?;
            }
            (Values::Double(values), ColumnWriter::DoubleColumnWriter(to)) => {
                to.write_batch(&values, levels, None)?;
            }
            (Values::Bool(values), ColumnWriter::BoolColumnWriter(to)) => {
                to.write_batch(&values, levels, None)?;
            }
            (Values::Bytes(words), ColumnWriter::ByteArrayColumnWriter(to)) => {
                let slice = |word: &u64| bytes.slice((word >> 32) as usize, *word as u32 as usize);
                let values: Vec<ByteArray> = words.iter().map(slice).collect();
                to.write_batch(&values, levels, None)?;
            }
            // A column has the type of its form.
            _ => {}
        }
        let close = to.close()?;
        Ok(Chunk { bytes: encoded.into_inner()?.into(), close })
    }
}

/// A row group that is encoded, or why it is not.
pub(crate) struct Encoded {
    pub(crate) set: usize,
    pub(crate) process: usize,
    columns: Result<Vec<Chunk>, Failure>,
}

/// An encoded column of a row group, and what the file states about it.
struct Chunk {
    bytes: Bytes,
    close: ColumnCloseResult,
}

impl Encoded {
    /// Writes the row group.
    pub(crate) fn write(self, mut to: SerializedRowGroupWriter<'_, File>) -> Result<(), Failure> {
        for Chunk { bytes, close } in self.columns? {
            to.append_column(&bytes, close)?;
        }
        to.close()?;
        Ok(())
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
