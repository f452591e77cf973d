//! Data sets of Parquet: one for each event type, in a directory for each host, process and kind.
//!
//! ```text
//!  event ── sets.rs: which data set ──▶ columns.rs: 131072 rows, row by row
//!                   another thread: column by column ◀──┘ └─▶ files.rs ──▶ a row group
//!  PoolInit/host=alpha/process=heap-4711/kind=Pool/part-0.parquet
//! ```
//!
//! Design: `.cnv.parquet` in `design/eventcnv.md`; the format: parquet.apache.org.

mod columns;
mod files;
mod sets;

use crate::select::Selected;
use columns::{Group, Rows};
use eventlog::reader::Log;
use files::Files;
use sets::{Sets, Writing};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc;

/// Rows of a row group, at most: as many as readers like to take at once.
const GROUP_ROW_COUNT: usize = 1 << 17;
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

/// Writes events, into files that `create` makes: their paths are relative. Gives how many events
/// and how many files there were.
pub(crate) fn write(
    log: &Log,
    events: &mut Selected<'_>,
    with_labels: bool,
    create: impl FnMut(&Path) -> io::Result<File> + Send,
) -> Result<(u64, u64), Failure> {
    let sets = Sets::of(log, with_labels)?;
    let mut writing = Writing::new(log, &sets);
    let (to_write, groups) = mpsc::sync_channel::<Group>(GROUP_COUNT);
    let (written, to_fill) = mpsc::channel::<Rows>();
    std::thread::scope(|scope| {
        let sets = &sets;
        let writer = scope.spawn(move || -> Result<u64, Failure> {
            let mut files = Files::new(sets, create);
            for mut group in groups {
                files.write(&mut group)?;
                group.rows.clear();
                let _ = written.send(group.rows);
            }
            files.finish()
        });
        let mut count = 0;
        while let Some(event) = events.next() {
            count += 1;
            if let Some(place) = writing.push(&event)
                && let Some(group) = writing.take(place, || to_fill.try_recv().ok())
                && to_write.send(group).is_err()
            {
                break;
            }
        }
        for group in writing.finish() {
            if to_write.send(group).is_err() {
                break;
            }
        }
        drop(to_write);
        match writer.join() {
            Ok(file_count) => Ok((count, file_count?)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
