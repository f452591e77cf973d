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

use crate::block::losses::{Cause, Counts};
use crate::block::memory::{self, Block, OwnBlock};
use crate::block::{chain, identity, root};
use crate::os::sync::Entry;
use crate::plinth::region;
use crate::stream::volume::{Outgoing, Written};
use crate::stream::{self, Standing};
use core::cell::Cell;
use eventlog::format::{BlockHeader, SEALED, U32le};

/// A block of which no more than this part is not in the stream yet goes out as a part: one in so
/// many.
const PART_FRACTION: usize = 4;
/// How often a block is tried in volumes that change meanwhile.
const VOLUME_ATTEMPTS: u32 = 3;
/// The same where other threads change them each time before this one's block comes after the
/// store.
const STORE_ATTEMPTS: u32 = 100;

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
    /// The place of the block, where the host did not take it; 0: none. And the volume it is in.
    place: u64,
    volume: u64,
    /// Events that it refused, of those that the stream does not have: counted as such
    /// (`unhoused::refuse`).
    refused: u32,
}

impl Progress {
    /// Of no block. All zeros.
    pub(crate) const NONE: Progress =
        Progress { sequence: 0, last: 0, count: 0, base: 0, place: 0, volume: 0, refused: 0 };

    /// Events of a block that the stream does not have.
    pub(crate) fn missing_of(&self, block: Block) -> u32 {
        block.state().1 - self.of(&block.header()).count
    }

    /// The host refused what the stream does not have of a block: so many events more than before.
    pub(crate) fn refuse(&mut self, block: Block) -> u32 {
        let missing = self.missing_of(block);
        let before = self.of(&block.header());
        *self = Progress { refused: missing, ..before };
        missing - before.refused.min(missing)
    }

    /// Events that it refused, and that are held.
    pub(crate) fn refused(&self) -> u32 {
        self.refused
    }

    /// What was refused is in the stream now, or counted otherwise: so many events.
    pub(crate) fn forgive(&mut self) -> u32 {
        core::mem::take(&mut self.refused)
    }

    /// Of the block with this header: what was noted, or nothing.
    fn of(&self, header: &BlockHeader) -> Progress {
        let sequence = header.sequence.get();
        if self.sequence == sequence && self.last != 0 {
            return *self;
        }
        let (last, base) = (header.top.get(), header.base.get());
        Progress { sequence, last, count: 0, base, place: 0, volume: 0, refused: 0 }
    }
}

/// What became of a part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It is in the stream, or waits in its parts block.
    Yes,
    /// It must wait, or there is no stream.
    Later,
    /// The host does not take it, or what must come before.
    Refused,
}

/// A block goes out, whole or in part. Shared by rings and the store.
pub(crate) struct Outlet<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) counts: &'a Counts,
    /// Brings what is new in the store, which comes before events. `None`: these are the blocks of
    /// the store itself, of which one that the host does not take is kept, to be written again.
    pub(crate) bring_news: Option<fn(&Entry) -> bool>,
}

impl Outlet<'_> {
    /// Whether a block that the host does not take is kept.
    fn keeps(&self) -> bool {
        self.bring_news.is_none()
    }

    /// Sends what is not in the stream yet of a block that nothing more is recorded into. False: it
    /// must wait.
    pub(crate) fn send(&self, mut block: OwnBlock, progress: &mut Progress) -> bool {
        let mut header = block.header();
        let before = progress.of(&header);
        let count = header.count.get() - before.count;
        if count == 0 {
            return true;
        }
        match stream::ensure(self.entry) {
            None => return false,
            // To a mapped ring nothing goes by here, but what was on its way as it was begun.
            Some(Standing::Open) if !region::is_there() => {}
            Some(_) => {
                self.counts.discard(Cause::Io, u64::from(count));
                return true;
            }
        }
        let size = (before.last - header.last.get()) as usize;
        let is_new = before.place == 0;
        let is_part = is_new && size <= memory::block_size() / PART_FRACTION;
        if is_part && self.send_part(*block, progress) == Sent::Yes {
            return true;
        }
        // The bytes that the host did not take stay as they were sealed.
        if is_new {
            seal(&mut block, &mut header, self.counts);
        }
        match self.write(&block, header.registry.get(), &before) {
            // Of what is no event of the program's nothing is noted to wait.
            Written::Yes if before.count != 0 && !self.keeps() => {
                stream::note_whole(self.entry, &header);
            }
            Written::Yes => {}
            Written::No { place, volume } if self.keeps() => {
                *progress = Progress { place, volume, ..before };
                return false;
            }
            Written::No { .. } => self.counts.discard(Cause::Io, u64::from(count)),
            Written::Elsewhere => return false,
        }
        *progress = Progress { last: header.last.get(), count: header.count.get(), ..before };
        true
    }

    /// Writes a block that is sealed, after what is new in the store. If the volume changes
    /// meanwhile a block of a ring follows, after the store, which begins again; the third time
    /// there is hardly room in a volume for more than that, and the block goes where it can: not
    /// before the store, which the host may be given at any moment for the last time, unless that
    /// does not take it.
    fn write(&self, block: &OwnBlock, registry: u16, before: &Progress) -> Written {
        let mut attempt = 1;
        loop {
            let has_store = self.bring_news.is_none_or(|bring| bring(self.entry));
            let is_last = if has_store { STORE_ATTEMPTS } else { VOLUME_ATTEMPTS } <= attempt;
            let outgoing = Outgoing {
                registry,
                place: before.place,
                volume: before.volume,
                is_first: self.keeps() || is_last,
                is_forced: !self.keeps() && attempt >= VOLUME_ATTEMPTS,
            };
            if !stream::has_registry(self.entry, registry) {
                return Written::No { place: before.place, volume: before.volume };
            }
            let written =
                block.with_bytes(|bytes| stream::write_block(self.entry, &outgoing, bytes));
            if self.keeps() || is_last || !matches!(written, Written::Elsewhere) {
                return written;
            }
            attempt += 1;
        }
    }

    /// Sends what was published into a block since the last time, as a part; or where that would be
    /// too large, a copy of the block. If not, the events are still in the block.
    pub(crate) fn send_part(&self, block: Block, progress: &mut Progress) -> Sent {
        let (last, count) = block.state();
        let mut header = block.header();
        let before = progress.of(&header);
        let parts = stream::parts(self.entry).filter(|_| !region::is_there());
        let Some(mut parts) = parts else { return Sent::Later };
        header.stream = identity::id();
        header.last = last.into();
        header.count = count.into();
        header.set_sync(root::sync());
        self.counts.put(&mut header);
        let base = Cell::new(before.base);
        let copy = |from: u32, top: u32, out: &mut [u8]| {
            block.copy(from as usize, top as usize, out);
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
            return Sent::Refused;
        }
        *progress = Progress { last, count, base: base.get(), ..before };
        Sent::Yes
    }
}

/// Seals a block where it lies (`.write.seal`): the sealed flag, in the word with the magic, last.
pub(crate) fn seal(block: &mut OwnBlock, header: &mut BlockHeader, counts: &Counts) {
    header.stream = identity::id();
    header.flags |= SEALED;
    header.crc = U32le::new(0);
    // What was left to the writer thread has none yet (`.block.sync`).
    if header.sync_ticks.get() == 0 {
        header.set_sync(root::sync());
    }
    counts.put(header);
    let range = header.last.get() as usize..header.top.get() as usize;
    header.crc =
        block.with_bytes(|bytes| header.checksum(bytes.get(range).unwrap_or_default())).into();
    block.put_header(header);
}

/// Makes `to`, a block of a mapped file, one with what is not in the file yet of another block,
/// which may still be filled: a block of its own, sealed.
pub(crate) fn copy_new(block: Block, to: &mut OwnBlock, counts: &Counts, progress: &mut Progress) {
    let (last, count) = block.state();
    let mut header = block.header();
    let before = progress.of(&header);
    let new_last = to.take_over(block, last, before.last);
    let base = to.with_bytes(|bytes| {
        chain::base_at_last(bytes.get(new_last as usize..).unwrap_or_default(), before.base)
    });
    header.last = new_last.into();
    header.count = (count - before.count).into();
    header.first = (header.first.get() + u64::from(before.count)).into();
    header.base = before.base.into();
    header.base_last = base.into();
    header.set_sync(root::sync());
    seal(to, &mut header, counts);
    *progress = Progress { last, count, base, ..before };
}
