//! The keys of events: an event has the same key each time it is added.
//!
//! ```text
//!  stream, buffer 7 ─▶ 3 (in the table buffers)     its event 41 ─▶ 3 << 40 | 41
//! ```
//!
//! Design: `.cnv.sql.again` in `design/eventcnv.md`.

use crate::export::sql::refusal::Refusal;
use crate::open::select::BufferCounts;
use eventlog::reader::Event;
use roaring::RoaringTreemap;
use rusqlite::{Connection, params};
use std::collections::{BTreeSet, HashMap};

/// Low bits of an event's number in its key. The bits above depend on the buffer and the other bits
/// of the number.
pub(crate) const NUMBER_BITS: u32 = 40;
/// Buffers that fit into the bits above, at most.
pub(crate) const BUFFER_COUNT_MAX: i64 = 1 << (63 - NUMBER_BITS);

/// Log in the database, buffer, and first number: 0, unless the buffer has more events than fit
/// into a key.
pub(crate) type Buffer = (i64, u32, u64);

/// Returns the first number of the part of a buffer that has an event, and the low bits of the
/// event's number.
#[inline]
pub(crate) fn part_of(number: u64) -> (u64, i64) {
    let first = number >> NUMBER_BITS << NUMBER_BITS;
    (first, (number ^ first) as i64)
}

/// The keys of the events of some logs.
pub(crate) struct Keys {
    known: HashMap<Buffer, i64>,
    next: i64,
    /// Buffers that are not in the database yet.
    new: Vec<NewBuffer>,
    last: (Buffer, i64),
}

/// Counts the keys of a set by stream and buffer.
pub(crate) fn counts(
    connection: &Connection,
    logs: &[i64],
    keys: &RoaringTreemap,
) -> Result<BufferCounts, Refusal> {
    let mut counts = BufferCounts::new();
    let mut find = connection.prepare("SELECT id, buffer FROM buffers WHERE log = ?")?;
    for (log, stream) in logs.iter().zip(0..) {
        let mut rows = find.query([log])?;
        while let Some(row) = rows.next()? {
            let begin = (row.get::<_, i64>(0)? as u64) << NUMBER_BITS;
            let below = |key: u64| key.checked_sub(1).map_or(0, |last| keys.rank(last));
            let count = below(begin + (1 << NUMBER_BITS)) - below(begin);
            *counts.entry((stream, row.get(1)?)).or_default() += count;
        }
    }
    Ok(counts)
}

struct NewBuffer {
    buffer: Buffer,
    id: i64,
    registry: u16,
    kind: u8,
    thread: u32,
}

impl Keys {
    /// Loads the buffers of these logs from the database.
    pub(crate) fn load(connection: &Connection, logs: &[i64]) -> Result<Keys, Refusal> {
        let mut known = HashMap::new();
        let mut find = connection.prepare("SELECT id, buffer, first FROM buffers WHERE log = ?")?;
        for &log in &logs.iter().copied().collect::<BTreeSet<i64>>() {
            let mut rows = find.query([log])?;
            while let Some(row) = rows.next()? {
                let first = row.get::<_, i64>(2)? as u64;
                known.insert((log, row.get(1)?, first), row.get(0)?);
            }
        }
        let highest: Option<i64> =
            connection.query_row("SELECT max(id) FROM buffers", [], |row| row.get(0))?;
        let next = highest.map_or(0, |highest| highest + 1);
        Ok(Keys { known, next, new: Vec::new(), last: ((-1, 0, 0), 0) })
    }

    #[inline]
    pub(crate) fn key(&mut self, log: i64, event: &Event<'_, '_>) -> i64 {
        let of = || (event.registry.index, event.kind, event.thread);
        self.key_of(log, event.buffer, event.number, of)
    }

    /// Returns the key of the event with this number in a buffer, whose registry, kind and thread
    /// are `of`.
    #[inline]
    pub(crate) fn key_of(
        &mut self,
        log: i64,
        buffer: u32,
        number: u64,
        of: impl FnOnce() -> (u16, u8, u32),
    ) -> i64 {
        let (first, number) = part_of(number);
        self.id((log, buffer, first), of) << NUMBER_BITS | number
    }

    /// Returns the number of a buffer in the database.
    #[inline]
    pub(crate) fn id(&mut self, buffer: Buffer, of: impl FnOnce() -> (u16, u8, u32)) -> i64 {
        if self.last.0 != buffer {
            self.last = (buffer, self.find(buffer, of()));
        }
        self.last.1
    }

    #[cold]
    fn find(&mut self, buffer: Buffer, (registry, kind, thread): (u16, u8, u32)) -> i64 {
        if let Some(id) = self.known.get(&buffer) {
            return *id;
        }
        let id = self.next;
        self.next += 1;
        self.known.insert(buffer, id);
        self.new.push(NewBuffer { buffer, id, registry, kind, thread });
        id
    }

    /// Writes the new buffers. Refuses more buffers than keys have room for.
    pub(crate) fn finish(&self, connection: &Connection) -> Result<(), Refusal> {
        if self.next > BUFFER_COUNT_MAX {
            return Err(Refusal::full());
        }
        let mut insert = connection.prepare("INSERT INTO buffers VALUES(?, ?, ?, ?, ?, ?, ?)")?;
        for NewBuffer { buffer: (log, buffer, first), id, registry, kind, thread } in &self.new {
            insert.execute(params![id, log, buffer, *first as i64, registry, kind, thread])?;
        }
        Ok(())
    }
}
