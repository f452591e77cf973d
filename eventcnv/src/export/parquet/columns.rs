//! The columns of a row group, as they are filled.
//!
//! ```text
//!  time 1200 1300 │ thread 3 3 │ … │ size 16 - │ string "a" "b"    levels: 1 there, 0 NULL
//! ```
//!
//! Design: `.cnv.parquet` in `design/eventcnv.md`.

use super::Failure;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::writer::SerializedRowGroupWriter;
use std::fs::File;

/// What a column has, by the type that it has in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Unsigned, of 64 bits.
    Long,
    /// ns since 1970 UTC.
    Timestamp,
    /// Unsigned, of 32 bits.
    Int,
    Double,
    Bool,
    Text,
    Bytes,
}

/// Values of a column, those that are NULL left out.
#[derive(Debug)]
pub(crate) enum Values {
    Long(Vec<i64>),
    Int(Vec<i32>),
    Double(Vec<f64>),
    Bool(Vec<bool>),
    /// One after the other; where each ends.
    Bytes(Vec<u8>, Vec<usize>),
}

/// A column of a row group.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) values: Values,
    /// Of each row whether it has a value; none, where all must.
    pub(crate) levels: Option<Vec<i16>>,
}

impl Column {
    pub(crate) fn new(form: Form, is_optional: bool) -> Column {
        let values = match form {
            Form::Long | Form::Timestamp => Values::Long(Vec::new()),
            Form::Int => Values::Int(Vec::new()),
            Form::Double => Values::Double(Vec::new()),
            Form::Bool => Values::Bool(Vec::new()),
            Form::Text | Form::Bytes => Values::Bytes(Vec::new(), Vec::new()),
        };
        Column { values, levels: is_optional.then(Vec::new) }
    }

    #[inline]
    fn level(&mut self, level: i16) {
        if let Some(levels) = &mut self.levels {
            levels.push(level);
        }
    }

    #[inline]
    pub(crate) fn long(&mut self, value: u64) {
        self.level(1);
        if let Values::Long(values) = &mut self.values {
            values.push(value as i64);
        }
    }

    #[inline]
    pub(crate) fn int(&mut self, value: u32) {
        self.level(1);
        if let Values::Int(values) = &mut self.values {
            values.push(value as i32);
        }
    }

    pub(crate) fn double(&mut self, value: f64) {
        self.level(1);
        if let Values::Double(values) = &mut self.values {
            values.push(value);
        }
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.level(1);
        if let Values::Bool(values) = &mut self.values {
            values.push(value);
        }
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.level(1);
        if let Values::Bytes(bytes, ends) = &mut self.values {
            bytes.extend_from_slice(value);
            ends.push(bytes.len());
        }
    }

    #[inline]
    pub(crate) fn null(&mut self) {
        self.level(0);
    }

    /// Writes it as the next column of a row group.
    fn write(self, to: &mut SerializedRowGroupWriter<'_, File>) -> Result<(), Failure> {
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
            Values::Bytes(bytes, ends) => {
                let bytes = ByteArray::from(bytes);
                let begins = std::iter::once(0).chain(ends.iter().copied());
                let slice = |(begin, end): (usize, &usize)| bytes.slice(begin, end - begin);
                let values: Vec<ByteArray> = begins.zip(&ends).map(slice).collect();
                column.typed::<ByteArrayType>().write_batch(&values, levels, None)?;
            }
        }
        Ok(column.close()?)
    }
}

/// Rows of a data set that become a row group.
#[derive(Debug)]
pub(crate) struct Group {
    /// Which data set, of which process.
    pub(crate) set: usize,
    pub(crate) process: usize,
    pub(crate) row_count: usize,
    pub(crate) columns: Vec<Column>,
    /// Memory that the rows take, about.
    pub(crate) size: usize,
}

impl Group {
    /// Writes all columns.
    pub(crate) fn write(self, mut to: SerializedRowGroupWriter<'_, File>) -> Result<(), Failure> {
        self.columns.into_iter().try_for_each(|column| column.write(&mut to))?;
        to.close()?;
        Ok(())
    }
}
