//! The wall times of events, once more: a log that grew has clock syncs after events that the
//! database already has.
//!
//! ```text
//!  sync ── event ── (commit) ── sync      before: beyond the syncs; now: between two
//! ```
//!
//! Design: `.cnv.follow.sql` in `design/eventcnv.md`.

use crate::export::sql::refusal::Refusal;
use crate::export::sql::tables::{LABELS, Tables};
use crate::text::names::quoted;
use eventlog::reader::{Log, Stream};
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use std::collections::HashMap;

/// The function of SQL: log, ticks, wall time before.
const FUNCTION: &str = "wall_of";

pub(super) fn set(
    connection: &Connection,
    log: &Log,
    streams: &[i64],
    tables: &Tables,
) -> Result<(), Refusal> {
    let streams: HashMap<i64, Stream> =
        streams.iter().copied().zip(log.streams().iter().cloned()).collect();
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function(FUNCTION, 3, flags, move |context| {
        let (log, ticks): (i64, i64) = (context.get(0)?, context.get(1)?);
        let before: Option<i64> = context.get(2)?;
        let ticks = ticks as u64;
        let Some(stream) = streams.get(&log) else { return Ok(before) };
        // Syncs that a ring has overwritten were better than the line across their gap.
        let first = stream.syncs.get(usize::from(stream.is_ring));
        let is_later = first.is_some_and(|first| first.ticks <= ticks);
        let wall = if is_later || before.is_none() { stream.wall_time(ticks) } else { None };
        Ok(wall.map(|wall| wall.realtime as i64).or(before))
    })?;
    for (index, table) in tables.all.iter().enumerate() {
        if index != LABELS && connection.table_exists(None, table.name.as_str())? {
            let name = quoted(&table.name);
            let wall = format!("{FUNCTION}(log, time, wall)");
            connection.execute_batch(&format!(
                "UPDATE {name} SET wall = {wall} WHERE wall IS NOT {wall}"
            ))?;
        }
    }
    connection.remove_function(FUNCTION, 3)?;
    Ok(())
}
