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

pub(crate) use crate::export::parquet::rows::{Piece, RowBuffer};
pub(crate) use crate::export::parquet::sets::Sets;

use crate::export::parquet::columns::Group;
use crate::export::parquet::files::Files;
use crate::export::parquet::rows::Groups;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc;

/// Rows of a row group, at most: the usual size for readers.
const GROUP_ROW_COUNT: usize = 1 << 17;
/// Bytes of rows that a worker passes on at once, about.
const PIECE_SIZE: usize = 1 << 20;
/// Bytes of rows that are not written yet, at most; then the largest group is written.
const GROUPS_SIZE_MAX: usize = 96 << 20;
/// Row groups in the queue of the writer thread.
const GROUP_COUNT: usize = 1;

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

/// The result of writing.
pub(crate) struct Written<T> {
    pub(crate) row_count: u64,
    pub(crate) file_count: u64,
    pub(crate) result: T,
}

/// Writes events to files that `create` makes, by their relative paths. `read` passes rows to a
/// function, which returns false if it wants no more.
pub(crate) fn write<T>(
    sets: &Sets,
    create: impl FnMut(&Path) -> io::Result<File> + Send,
    read: impl FnOnce(&mut dyn FnMut(Piece) -> bool) -> T,
) -> Result<Written<T>, Failure> {
    let (to_write, groups) = mpsc::sync_channel::<Group>(GROUP_COUNT);
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || -> Result<u64, Failure> {
            let mut files = Files::new(sets, create);
            for group in groups {
                files.write(group)?;
            }
            files.finish()
        });
        let mut groups = Groups::default();
        let mut send = |group| to_write.send(group).is_ok();
        let result = read(&mut |piece| groups.add(piece, &mut send));
        let row_count = groups.row_count;
        let _ = groups.finish().all(send);
        drop(to_write);
        match writer.join() {
            Ok(file_count) => Ok(Written { row_count, file_count: file_count?, result }),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
