//! Data sets of Parquet: one for each event type, in a directory for each host, process and kind.
//!
//! ```text
//!  event ── sets.rs: which data set ──▶ rows.rs: row by row, by all processors
//!  rows of a set, 131072 ──▶ columns.rs: column by column ──▶ files.rs ──▶ a row group
//!  PoolInit/host=alpha/process=heap-4711/kind=Pool/part-0.parquet
//! ```
//!
//! Design: `.cnv.parquet` in `design/eventcnv.md`; the format: parquet.apache.org.

mod columns;
mod files;
mod rows;
mod sets;

pub(crate) use rows::{Piece, Sheet};
pub(crate) use sets::Sets;

use columns::Group;
use files::Files;
use rows::Groups;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc;

/// Rows of a row group, at most: as many as readers like to take at once.
const GROUP_ROW_COUNT: usize = 1 << 17;
/// Memory of the rows that are handed on at once, about.
const PIECE_SIZE: usize = 1 << 20;
/// Memory for rows that are not written yet, in bytes; the largest group goes when it is used up.
const GROUPS_SIZE_MAX: usize = 96 << 20;
/// Row groups under way to the thread that writes them.
const GROUP_COUNT: usize = 1;

/// Why nothing more was written.
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

/// What was written.
pub(crate) struct Written<T> {
    pub(crate) event_count: u64,
    pub(crate) file_count: u64,
    /// What reading came to.
    pub(crate) result: T,
}

/// Writes events, into files that `create` makes: their paths are relative. `read` gives the rows
/// to a function, which says whether it wants more.
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
        let event_count = groups.row_count;
        let _ = groups.finish().all(send);
        drop(to_write);
        match writer.join() {
            Ok(file_count) => Ok(Written { event_count, file_count: file_count?, result }),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
