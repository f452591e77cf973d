//! What the ancestors of a forked process recorded before the forks, in the database of its log.
//!
//! ```text
//!  parent.log ─ up to the fork ─┐
//!  child.log ───────────────────┴─▶ rows that the database lacks, ends of calls that cross a fork
//! ```
//!
//! Design: `.cnv.follow.sql` in `design/eventcnv.md`, `.calls.family` in `design/calls.md`.

use crate::export::sql::{Import, Lenses, Refusal};
use crate::open::input::family::{head, with_ancestors};
use crate::open::select::{BufferCounts, Select};
use crate::open::{Known, Reading};
use crate::tools::follow::database::CACHE_KIB;
use crate::tools::follow::output::Database;
use cli::Stop;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// Adds the events and calls that a process shares with its ancestors, whose logs are in the folder
/// of its log. Returns the number of added events.
pub(super) fn join(
    path: &Path,
    select: &Select,
    known: &Known,
    database: &mut Database<'_>,
) -> Result<u64, Stop> {
    if head(path).is_none_or(|head| head.parent == [0; 16]) {
        return Ok(0);
    }
    let logs: Vec<PathBuf> = with_ancestors(&[path.to_owned()]);
    let reading = Reading::open_paths(&logs, known)?;
    let mut selection = reading.select(select, false)?;
    reading.restrict_to_family(&mut selection);
    database.change(|connection: Connection| -> Result<_, Refusal> {
        let mut import = Import::begin(&connection, &reading.log, &reading.name, CACHE_KIB)?;
        let (counts, _) = import.add(&connection, &selection, false)?;
        import.add_calls(&connection, &selection, &mut Lenses::default())?;
        import.finish(&connection, &BufferCounts::new())?;
        Ok((connection, counts.added))
    })
}
