//! The labels of addresses, with the times of their beginning and end.
//!
//! ```text
//!  Label 7000 → "symbols" at 12, Label 7000 → "" at 40 ──▶ 7000, since 12, until 40, "symbols"
//! ```
//!
//! All labels are added for any selection, as earlier events label the selected ones.
//! Design: `.cnv.sql.labels` in `design/eventcnv.md`.

use crate::export::sql::keys::{Keys, NUMBER_BITS};
use crate::export::sql::refusal::Refusal;
use crate::open::select::BufferCounts;
use eventdef::Sort;
use eventlog::reader::{Event, Filter, Log, Order, StringEnd};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

const LABEL: &str = "Label";
/// An MPS log labels pointers apart from addresses.
const LABEL_POINTER: &str = "LabelPointer";
/// The columns of the table that are written first; `until` follows.
pub(crate) const COLUMNS: [&str; 7] =
    ["event", "log", "sort", "address", "since", "string_id", "string"];

pub(crate) fn is_label(event_type: &str) -> bool {
    [LABEL, LABEL_POINTER].iter().any(|name| event_type.eq_ignore_ascii_case(name))
}

pub(crate) fn add(connection: &Connection, log: &Log, streams: &[i64]) -> Result<(), Refusal> {
    let filter = Filter::new().events([LABEL, LABEL_POINTER]).labels(true);
    let mut keys = Keys::load(connection, streams)?;
    let mut insert =
        connection.prepare("INSERT OR IGNORE INTO labels VALUES(?, ?, ?, ?, ?, NULL, ?, ?)")?;
    let mut events = log.events(Order::Time, &filter);
    while let Some(event) = events.next() {
        let Some((address, id)) = label(&event) else { continue };
        let number = streams.get(usize::from(event.stream)).copied().unwrap_or(-1);
        let string = event.labels.string(id).filter(|_| id != 0);
        let is_text = |bytes: &&[u8]| std::str::from_utf8(bytes).is_ok();
        let string = string.map(|bytes| match Some(bytes).filter(is_text) {
            Some(text) => ToSqlOutput::Borrowed(ValueRef::Text(text)),
            None => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        });
        insert.execute(params![
            keys.key(number, &event),
            number,
            sort(&event),
            address as i64,
            event.ticks as i64,
            id as i64,
            string
        ])?;
    }
    keys.finish(connection)
}

/// Returns the address that an event labels, and the number of the string.
pub(crate) fn label(event: &Event<'_, '_>) -> Option<(u64, u64)> {
    // In our streams only the store labels (`.store`).
    if event.registry.index != 0 && event.registry.platform.string_end == StringEnd::Padding {
        return None;
    }
    let params = &event.event_type?.params;
    let labelled = params.first()?.sort;
    let is_label =
        matches!(labelled, Sort::P | Sort::A | Sort::W) && params.get(1)?.sort == Sort::W;
    Some((event.param_at(0)?.as_u64()?, event.param_at(1)?.as_u64()?)).filter(|_| is_label)
}

pub(crate) fn sort(event: &Event<'_, '_>) -> &'static str {
    match event.name() {
        LABEL_POINTER => "P",
        _ if event.registry.event_type_named(LABEL_POINTER).is_some() => "A",
        _ => "PA",
    }
}

/// Sets the ends of the labels of a log's streams: of all, or of the addresses that events after
/// the `known` ones label.
pub(crate) fn end_each(
    connection: &Connection,
    streams: &[i64],
    known: &BufferCounts,
) -> Result<(), Refusal> {
    let end = |addresses: &str| {
        connection.prepare(&format!(
            "UPDATE labels SET until = later.since FROM (
               SELECT event, lead(since) OVER (
                 PARTITION BY sort, address ORDER BY since, event) AS since
               FROM labels WHERE log = ?1 {addresses}) AS later
             WHERE labels.event = later.event AND labels.until IS NOT later.since"
        ))
    };
    let logs: BTreeSet<&i64> = streams.iter().collect();
    if known.is_empty() {
        let mut end = end("")?;
        logs.into_iter().try_for_each(|log| end.execute([log]).map(drop))?;
        return Ok(());
    }
    let mut end = end("AND address IN (SELECT address FROM labels WHERE event BETWEEN ?2 AND ?3)")?;
    let mut find = connection.prepare("SELECT id, buffer, first FROM buffers WHERE log = ?")?;
    for (log, stream) in streams.iter().zip(0..) {
        let mut buffers = find.query([log])?;
        while let Some(row) = buffers.next()? {
            let (id, buffer, first): (i64, u32, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let count = known.get(&(stream, buffer)).copied().unwrap_or(0);
            let from = count.saturating_sub(first as u64).min(1 << NUMBER_BITS);
            let begin = id << NUMBER_BITS;
            end.execute(params![log, begin + from as i64, begin + (1 << NUMBER_BITS) - 1])?;
        }
    }
    Ok(())
}
