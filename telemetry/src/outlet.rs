//! How a block goes out: whole, or as a part with what the stream does not have of it yet.
//!
//! ```text
//!  block   │ header │ gap │ new │ in the stream already │        Progress: how far
//!  part            header │ new │                                 few bytes, or not full yet
//!  whole   │ header │ gap │ new │ and old               │        the rest; sealed where it lies
//! ```
//!
//! Design: `.sol.flush` in `design/telemetry.md`; `.write.seal`, `.part.events` in
//! `design/format.md`.

use crate::chain;
use crate::losses::{Cause, Counts};
use crate::memory::{Block, Custody};
use crate::stream::{self, Standing};
use crate::sync::Entry;
use crate::{clock, identity, memory};
use core::cell::Cell;
use eventlog::format::{BlockHeader, SEALED, U32le};

/// A block of which no more than this part is not in the stream yet goes out as a part: one in so
/// many.
const PART_FRACTION: usize = 4;

/// What of a block is in the stream already, as parts.
#[derive(Clone, Copy, Debug, bytemuck::Zeroable)]
pub(crate) struct Progress {
    /// The block that this is about.
    sequence: u64,
    /// [last, top) is in the stream; 0: nothing yet is known of the block.
    last: u32,
    /// Events in there.
    count: u32,
    /// The base in force at `last`.
    base: u64,
    /// The place of the block, where the host did not take it; 0: none.
    place: u64,
}

impl Progress {
    /// Of no block. All zeros.
    pub(crate) const NONE: Progress =
        Progress { sequence: 0, last: 0, count: 0, base: 0, place: 0 };

    /// Events of a block that the stream does not have.
    pub(crate) fn missing_of(&self, block: Block) -> u32 {
        block.state().1 - self.of(&block.header()).count
    }

    /// Of the block with this header: what was noted, or nothing.
    fn of(&self, header: &BlockHeader) -> Progress {
        let sequence = header.sequence.get();
        if self.sequence == sequence && self.last != 0 {
            return *self;
        }
        let (last, base) = (header.top.get(), header.base.get());
        Progress { sequence, last, count: 0, base, place: 0 }
    }
}

/// A block goes out, whole or in part. Shared by rings and the store.
pub(crate) struct Outlet<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) custody: &'a Custody,
    pub(crate) counts: &'a Counts,
    /// Whether a block that the host does not take is kept, to be written again.
    pub(crate) keeps: bool,
}

impl Outlet<'_> {
    /// Sends what is not in the stream yet of a block that nothing more is recorded into. False: it
    /// must wait.
    pub(crate) fn send(&self, block: Block, progress: &mut Progress) -> bool {
        let mut header = block.header();
        let before = progress.of(&header);
        let count = header.count.get() - before.count;
        if count == 0 {
            return true;
        }
        match stream::ensure(self.entry) {
            None => return false,
            Some(Standing::Open) => {}
            Some(_) => {
                self.counts.discard(Cause::Io, u64::from(count));
                return true;
            }
        }
        let size = (before.last - header.last.get()) as usize;
        let is_new = before.place == 0;
        let is_part = is_new && size <= memory::block_size() / PART_FRACTION;
        if is_part && self.send_part(block, progress) {
            return true;
        }
        // The bytes that the host did not take stay as they were sealed.
        if is_new {
            self.seal(block, &mut header);
        }
        let place = if is_new { stream::take_place() } else { before.place };
        let written = stream::has_registry(self.entry, header.registry.get())
            && block.with_bytes(self.custody, |bytes| stream::write_block(place, bytes));
        if !written && self.keeps {
            *progress = Progress { place, ..before };
            return false;
        }
        if !written {
            self.counts.discard(Cause::Io, u64::from(count));
        }
        *progress = Progress { last: header.last.get(), count: header.count.get(), ..before };
        true
    }

    /// Seals a block where it lies (`.write.seal`).
    fn seal(&self, block: Block, header: &mut BlockHeader) {
        header.stream = identity::id();
        header.flags |= SEALED;
        header.crc = U32le::new(0);
        self.counts.put(header);
        let range = header.last.get() as usize..header.top.get() as usize;
        header.crc = block
            .with_bytes(self.custody, |bytes| header.checksum(bytes.get(range).unwrap_or_default()))
            .into();
        block.put_header(header);
    }

    /// Sends what was published into a block since the last time, as a part; or where that would be
    /// too large, a copy of the block. False: that must wait, or there is no stream, or the host
    /// did not take it: the events are still in the block, and are counted when that is given up.
    pub(crate) fn send_part(&self, block: Block, progress: &mut Progress) -> bool {
        let (last, count) = block.state();
        let mut header = block.header();
        let before = progress.of(&header);
        let Some(mut parts) = stream::parts(self.entry) else { return false };
        header.stream = identity::id();
        header.last = last.into();
        header.count = count.into();
        header.set_sync(clock::sync());
        self.counts.put(&mut header);
        let base = Cell::new(before.base);
        let copy = |from: u32, top: u32, out: &mut [u8]| {
            block.copy(self.custody, from as usize, top as usize, out);
        };
        let mut part = header;
        part.top = before.last.into();
        part.count = (count - before.count).into();
        part.first = (header.first.get() + u64::from(before.count)).into();
        part.base = before.base.into();
        // The base at *last* is known once the events were copied.
        let size = part.payload_size();
        let sent = if parts.has_room_for_part(size) {
            parts.push_events(part, |header, out| {
                copy(last, before.last, out);
                base.set(chain::base_at_last(out, before.base));
                header.base_last = base.get().into();
            })
        } else {
            parts.write_copy(header, |header, out| {
                copy(last, header.top.get(), out);
                base.set(chain::base_at_last(out, header.base.get()));
                header.base_last = base.get().into();
            })
        };
        if !sent {
            return false;
        }
        *progress = Progress { last, count, base: base.get(), ..before };
        true
    }
}
