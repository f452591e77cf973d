//! Writes Parquet data sets: one for each event type, in a directory for each host, process and
//! kind.
//!
//! ```text
//!  event ── sets.rs: its data set ──▶ rows.rs: row by row, on all processors
//!  rows of a set, 131072 ──▶ columns.rs: column by column ──▶ files.rs ──▶ a row group
//!  PoolInit/host=alpha/process=heap-4711/kind=Pool/part-0.parquet
//! ```
//!
//! Design: `.cnv.parquet` in `design/eventcnv.md`; the format: parquet.apache.org.

pub(crate) mod columns;
pub(crate) mod files;
pub(crate) mod row;
pub(crate) mod rows;
pub(crate) mod sets;

pub(crate) use crate::export::parquet::files::write;
pub(crate) use crate::export::parquet::rows::{Piece, RowBuffer};
pub(crate) use crate::export::parquet::sets::Sets;

use std::io;

/// Why writing stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    Io(io::Error),
    Parquet(parquet::errors::ParquetError),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}

impl From<parquet::errors::ParquetError> for Failure {
    fn from(error: parquet::errors::ParquetError) -> Failure {
        Failure::Parquet(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Io(error) => write!(f, "{error}"),
            Failure::Parquet(error) => write!(f, "{error}"),
        }
    }
}
