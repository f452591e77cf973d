//! The records of all parts of a recording, in order of time.
//!
//! ```text
//!  data ────┐  the part whose records are the oldest is read on, up to the end of a round
//!  data.0 ──┼──▶ rounds ── records up to the earliest limit of all parts ──▶ rows
//!  data.1 ──┘
//! ```
//!
//! A file has one part. `perf record --threads` makes a folder: the file `data`, and the records of
//! each of its threads. Design: `.waits.perf` in `design/waits.md`.

use super::records::{self, HEADER_SIZE, Header, Records};
use super::rounds::Rounds;
use super::rows::Rows;
use super::zstd;
use crate::waits::source::cursor::Cursor;
use crate::waits::source::import::{ImportError, Imported, Input, Place};
use eventlog::reader::Source;
use eventlog::writer::MakeError;

/// Records that are read of a part without rounds before the other parts have their turn.
const STEP_COUNT: usize = 1 << 10;

/// A part that is being read.
struct Part<'s> {
    records: Records<'s>,
    stream: zstd::Stream,
    plain: Vec<u8>,
    /// The decoder holds records back: rounds do not bound their times.
    is_late: bool,
    /// The latest time up to now, and up to the round before: no further record is earlier.
    latest: u64,
    before: u64,
    limit: u64,
    is_done: bool,
    end: u64,
}

/// Reads the records, and passes those of the kernel by time.
pub(super) fn read(
    places: &[(&dyn Source, u64, u64)],
    rows: &mut Rows<'_, '_>,
    done: &mut Imported,
) -> Result<(), ImportError> {
    let machine = rows.attrs.machine;
    let part = |&(source, from, to): &_| Part {
        records: Records::new(machine, Input::new(source, from, to)),
        stream: zstd::Stream::default(),
        plain: Vec::new(),
        is_late: false,
        latest: 0,
        before: 0,
        limit: 0,
        is_done: false,
        end: to,
    };
    let mut parts: Vec<Part<'_>> = places.iter().map(part).collect();
    let (mut rounds, mut passed) = (Rounds::default(), 0);
    while let Some(part) = parts.iter_mut().filter(|part| !part.is_done).min_by_key(|p| p.latest) {
        part.step(&mut rounds, rows, done)?;
        let limits = parts.iter().filter(|part| !part.is_done).map(|part| part.limit);
        if let Some(limit) = limits.min().filter(|limit| *limit > passed) {
            passed = limit;
            rounds.up_to(limit, |entry, body| rows.put(entry, body, done))?;
        }
    }
    rounds.end(|entry, body| rows.put(entry, body, done))?;
    if done.damaged_count > 0 {
        let what = format!("{} records are too short, and left out", done.damaged_count);
        let from = places.first().map_or(0, |place| place.1);
        done.fault(Place::Offset(from), what);
    }
    Ok(())
}

impl Part<'_> {
    /// Reads records up to the end of a round, or a number of them.
    fn step(
        &mut self,
        rounds: &mut Rounds,
        rows: &mut Rows<'_, '_>,
        done: &mut Imported,
    ) -> Result<(), ImportError> {
        for _ in 0..STEP_COUNT {
            let Some(header) = self.records.next(done)? else {
                return self.finish(rounds, rows, done);
            };
            let body = self.records.body(&header);
            let compressed = match header.kind {
                records::COMPRESSED => Some(body),
                records::COMPRESSED2 => {
                    let mut cursor = Cursor::new(rows.attrs.machine, body);
                    cursor.u64().map(|size| cursor.take_u64(size).unwrap_or(cursor.rest))
                }
                records::FINISHED_ROUND if self.is_late => continue,
                records::FINISHED_ROUND => {
                    self.limit = std::mem::replace(&mut self.before, self.latest);
                    return Ok(());
                }
                _ => None,
            };
            let Some(compressed) = compressed else {
                let time = take(rounds, rows, &header, body, done)?;
                self.latest = self.latest.max(time);
                continue;
            };
            if self.stream.add(compressed, &mut self.plain).is_none() {
                done.fault(Place::Offset(header.offset), "compressed records are damaged");
                return self.finish(rounds, rows, done);
            }
            self.is_late = true;
            self.unpacked(header.offset, rounds, rows, done)?;
        }
        Ok(())
    }

    fn finish(
        &mut self,
        rounds: &mut Rounds,
        rows: &mut Rows<'_, '_>,
        done: &mut Imported,
    ) -> Result<(), ImportError> {
        self.is_done = true;
        if self.stream.end(&mut self.plain).is_none() {
            done.fault(Place::Offset(self.end), "compressed records are damaged");
        }
        Ok(self.unpacked(self.end, rounds, rows, done)?)
    }

    /// Takes decompressed records.
    fn unpacked(
        &mut self,
        offset: u64,
        rounds: &mut Rounds,
        rows: &mut Rows<'_, '_>,
        done: &mut Imported,
    ) -> Result<(), MakeError> {
        let mut used = 0;
        while let Some(rest) = self.plain.get(used..)
            && let Some(header) = Header::parse(rows.attrs.machine, rest, offset)
        {
            if header.size < HEADER_SIZE {
                done.fault(Place::Offset(offset), "a compressed record has no size");
                used = self.plain.len();
                break;
            }
            let Some(body) = rest.get(HEADER_SIZE..header.size) else { break };
            let time = take(rounds, rows, &header, body, done)?;
            self.latest = self.latest.max(time);
            used += header.size;
        }
        self.plain.drain(..used);
        Ok(())
    }
}

/// Takes a record, and passes older ones if too many wait. Returns its time.
#[inline]
fn take(
    rounds: &mut Rounds,
    rows: &mut Rows<'_, '_>,
    header: &Header,
    body: &[u8],
    done: &mut Imported,
) -> Result<u64, MakeError> {
    if header.kind >= records::TOOL {
        return Ok(0);
    }
    let time = rows.attrs.time(header.kind, body);
    rounds.push(time, header.kind, header.misc, body);
    if rounds.is_full() {
        rounds.half(|entry, body| rows.put(entry, body, done))?;
    }
    Ok(time)
}
