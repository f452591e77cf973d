//! Adds the facts of a log to a database: streams, registries, kinds, threads, losses.
//!
//! ```text
//!  stream ── its UUID, or its beginning ──▶ an existing row of logs, or a new one
//! ```
//!
//! A stream of the MPS has no UUID: its first events identify it.
//! Design: `.cnv.sql.again` in `design/eventcnv.md`.

use crate::export::sql::refusal::Refusal;
use crate::open::input::threads;
use crate::open::select::BufferCounts;
use eventlog::reader::{CAUSES, Faults, Filter, Format, Log, Losses, Order, Registry, Stream};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeSet, HashMap, HashSet};

/// First events that identify a stream without a UUID.
const BEGINNING_SIZE: i64 = 1000;

/// Adds the streams of a log, and their declarations. Returns their numbers in the database, and
/// whether the database may have had one of them before.
pub(crate) fn add(
    connection: &Connection,
    log: &Log,
    file: &str,
) -> Result<(Vec<i64>, bool), Refusal> {
    let known = "SELECT ifnull(max(log), 0) FROM logs";
    let known: i64 = connection.query_row(known, [], |row| row.get(0))?;
    let beginnings = beginnings(connection, log)?;
    let mut numbers = Vec::new();
    for (stream, beginning) in log.streams().iter().zip(&beginnings) {
        let number = match beginning {
            Some(beginning) => find_by_beginning(connection, beginning)?,
            None => find_by_uuid(connection, stream)?,
        };
        describe(connection, number, stream, log.format(), file)?;
        numbers.push(number);
    }
    for (registry, users) in log.registries().iter().zip(users(log, &numbers)) {
        for number in users {
            declare(connection, number, registry)?;
        }
    }
    add_threads(connection, log, &numbers)?;
    // MPS streams with equal beginnings are copies in one file, and keep their numbers.
    let mut seen = HashSet::new();
    let mut is_twice = |(number, beginning): (&i64, &Option<Beginning>)| {
        *number <= known || beginning.is_none() && !seen.insert(*number)
    };
    let is_again = numbers.iter().zip(&beginnings).any(&mut is_twice);
    Ok((numbers, is_again))
}

fn add_threads(connection: &Connection, log: &Log, numbers: &[i64]) -> Result<(), Refusal> {
    let mut insert =
        connection.prepare_cached("INSERT OR REPLACE INTO threads VALUES(?, ?, ?, ?)")?;
    for thread in threads::recorded(log) {
        let number = numbers.get(usize::from(thread.stream));
        let (index, os_thread) = (thread.index as i64, thread.os_thread as i64);
        insert.execute(params![number, index, os_thread, thread.name])?;
    }
    Ok(())
}

/// Adds what a log that has grown states of its streams, which have these numbers.
pub(crate) fn update(connection: &Connection, log: &Log, numbers: &[i64]) -> Result<(), Refusal> {
    for (stream, number) in log.streams().iter().zip(numbers) {
        let sql = "UPDATE logs SET closed = ?2 WHERE log = ?1 AND closed <> ?2";
        connection.prepare_cached(sql)?.execute(params![number, stream.closed])?;
    }
    add_threads(connection, log, numbers)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn find_by_uuid(connection: &Connection, stream: &Stream) -> Result<i64, Refusal> {
    let name = hex(&stream.uuid);
    let found = connection
        .query_row("SELECT log FROM logs WHERE stream = ?", [&name], |row| row.get(0))
        .optional()?;
    match found {
        Some(number) => Ok(number),
        None => {
            connection.execute("INSERT INTO logs(stream) VALUES(?)", [&name])?;
            Ok(connection.last_insert_rowid())
        }
    }
}

/// Returns the beginnings of streams without a UUID, with the logs of the database that have them.
fn beginnings(connection: &Connection, log: &Log) -> Result<Vec<Option<Beginning>>, Refusal> {
    let mut find = connection
        .prepare("SELECT beginning_size, beginning, log FROM logs WHERE stream IS NULL")?;
    let row = |row: &rusqlite::Row<'_>| Ok(((row.get(0)?, row.get(1)?), row.get(2)?));
    let known: HashMap<(i64, i64), i64> = find.query_map([], row)?.collect::<Result<_, _>>()?;
    let new = |stream: &Stream| (stream.uuid == [0; 16]).then(Beginning::default);
    let mut beginnings: Vec<Option<Beginning>> = log.streams().iter().map(new).collect();
    let mut left = beginnings.iter().flatten().count();
    let filter = Filter::new().beginning(BEGINNING_SIZE as u64);
    let mut events = log.events(Order::File, &filter);
    while left > 0
        && let Some(event) = events.next()
    {
        if let Some(Some(beginning)) = beginnings.get_mut(usize::from(event.stream))
            && beginning.size < BEGINNING_SIZE
        {
            beginning.feed(&event.ticks.to_le_bytes());
            beginning.feed(event.bytes);
            beginning.size += 1;
            let so_far = (beginning.size, beginning.hash as i64);
            beginning.known = known.get(&so_far).copied().or(beginning.known);
            left -= usize::from(beginning.size == BEGINNING_SIZE);
        }
    }
    Ok(beginnings)
}

/// Returns the log in the database with this beginning, or a new one.
fn find_by_beginning(connection: &Connection, beginning: &Beginning) -> Result<i64, Refusal> {
    let (size, hash) = (beginning.size, beginning.hash as i64);
    let alike =
        "SELECT log FROM logs WHERE stream IS NULL AND (beginning_size, beginning) = (?, ?)";
    let alike = || connection.query_row(alike, [size, hash], |row| row.get(0)).optional();
    let number = match beginning.known.map_or_else(alike, |number| Ok(Some(number)))? {
        Some(number) => number,
        None => {
            connection.execute("INSERT INTO logs(stream) VALUES(NULL)", [])?;
            connection.last_insert_rowid()
        }
    };
    // A log that has grown gets its longer beginning.
    connection.execute(
        "UPDATE logs SET beginning_size = ?2, beginning = ?3
         WHERE log = ?1 AND ifnull(beginning_size, 0) < ?2",
        params![number, size, hash],
    )?;
    Ok(number)
}

const FNV_OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01B3;

/// The first events of a stream: their number, and a hash of their bytes (FNV-1a).
struct Beginning {
    size: i64,
    hash: u64,
    /// The log in the database with this beginning.
    known: Option<i64>,
}

impl Default for Beginning {
    fn default() -> Beginning {
        Beginning { size: 0, hash: FNV_OFFSET, known: None }
    }
}

impl Beginning {
    fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
        }
    }
}

/// Updates the row of a stream. Facts that this log does not state stay as they are.
fn describe(
    connection: &Connection,
    number: i64,
    stream: &Stream,
    format: Format,
    file: &str,
) -> Result<(), Refusal> {
    let known = |bytes: &[u8; 16]| (*bytes != [0; 16]).then(|| hex(bytes));
    let some = |number: u64| (number != 0).then_some(number as i64);
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let format = match format {
        Format::Stream => "eventlog",
        Format::Mps => "mps",
    };
    let version = stream.version;
    connection.execute(
        "UPDATE logs SET file = ?2, format = ?3, version = ?4, host = ifnull(?5, host),
           program = ifnull(?6, program), pid = ifnull(?7, pid),
           parent_pid = ifnull(?8, parent_pid), start = ifnull(?9, start),
           parent = ifnull(?10, parent), boot = ifnull(?11, boot),
           producer = ifnull(?12, producer), word_size = ?13, big_endian = ?14,
           clock_rate = ifnull(?15, clock_rate), closed = max(ifnull(closed, 0), ?16)
         WHERE log = ?1",
        params![
            number,
            file,
            format,
            format!("{}.{}.{}", version.major, version.median, version.minor),
            text(&stream.host),
            text(&stream.program),
            some(stream.pid),
            some(stream.parent_pid),
            some(stream.start),
            known(&stream.parent),
            known(&stream.boot_id),
            text(&stream.producer),
            stream.platform.word_size,
            stream.platform.big_endian,
            some(stream.clock_rate),
            stream.closed
        ],
    )?;
    Ok(())
}

/// Replaces the losses of a log, whose streams have these numbers. Overwritten events are none if
/// the database has them: it has as many events of each buffer as `taken` states. Returns the sum.
pub(crate) fn add_losses(
    connection: &Connection,
    log: &Log,
    numbers: &[i64],
    faults: &Faults,
    taken: &BufferCounts,
) -> Result<Losses, Refusal> {
    for number in numbers {
        connection.execute("DELETE FROM losses WHERE log = ?", [number])?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO losses VALUES(?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET count = count + excluded.count",
    )?;
    let mut sum = Losses::default();
    let mut by_kind = log.losses_by_kind(faults);
    for account in log.accounts() {
        let taken = taken.get(&(account.stream, account.buffer)).copied().unwrap_or(0);
        let registry = log.registries().get(account.registry as usize);
        let registry = registry.map_or(u16::MAX, |registry| registry.index);
        if let Some(losses) = by_kind.get_mut(&(account.stream, registry, account.kind)) {
            let kept = taken.saturating_sub(account.found).min(account.overwritten);
            losses.overwritten = losses.overwritten.saturating_sub(kept);
        }
    }
    for ((stream, registry, kind), losses) in by_kind {
        sum.add(&losses);
        let number = numbers.get(usize::from(stream));
        for (cause, count) in CAUSES.into_iter().zip(losses.causes()) {
            if count > 0 {
                insert.execute(params![number, registry, kind, cause, count as i64])?;
            }
        }
    }
    Ok(sum)
}

/// Returns the logs of each registry: one, except that MPS streams in one file share a registry.
pub(crate) fn users(log: &Log, numbers: &[i64]) -> Vec<BTreeSet<i64>> {
    let number = |stream: u16| numbers.get(usize::from(stream)).copied();
    let streams = log.streams_of_registries().into_iter();
    streams.map(|streams| streams.into_iter().filter_map(number).collect()).collect()
}

/// Adds a registry and its kinds.
fn declare(connection: &Connection, log: i64, registry: &Registry) -> Result<(), Refusal> {
    let version = registry.version;
    connection
        .prepare_cached("INSERT OR REPLACE INTO registries VALUES(?, ?, ?, ?, ?, ?, ?)")?
        .execute(params![
            log,
            registry.index,
            registry.name,
            version.major,
            version.median,
            version.minor,
            registry.doc
        ])?;
    let mut insert =
        connection.prepare_cached("INSERT OR REPLACE INTO kinds VALUES(?, ?, ?, ?, ?)")?;
    for kind in &registry.kinds {
        insert.execute(params![log, registry.index, kind.index, kind.name, kind.doc])?;
    }
    Ok(())
}
