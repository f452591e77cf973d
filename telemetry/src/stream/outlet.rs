//! The output of a block: whole, or as a part with what the stream lacks of it.
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
use crate::block::{chain, checksum, identity, root};
use crate::os::entry::Entry;
use crate::plinth::region;
use crate::stream::volume::{Outgoing, Written};
use crate::stream::{self, Standing};
use core::cell::Cell;
use eventlog::format::{BlockHeader, SEALED, U32le};

/// A block goes out as a part if the stream lacks no more than its size divided by this.
const PART_FRACTION: usize = 4;
/// The number of attempts to write a block while volumes change.
const VOLUME_ATTEMPTS: u32 = 3;
/// The number of attempts while other threads change volumes before this block follows the store.
const STORE_ATTEMPTS: u32 = 100;

/// The parts of a block that the stream has already.
#[derive(Clone, Copy, Debug, bytemuck::Zeroable)]
pub(crate) struct Progress {
    sequence: u64,
    /// [last, top) is in the stream; 0: nothing is known about the block yet.
    last: u32,
    count: u32,
    /// The base in force at `last`.
    base: u64,
    /// The place and the volume for which the host refused the block; place 0: none.
    place: u64,
    volume: u64,
    /// The refused events among those that the stream lacks, counted as refused
    /// (`unhoused::refuse`).
    refused: u32,
}

impl Progress {
    /// The progress of no block. All zeros.
    pub(crate) const NONE: Progress =
        Progress { sequence: 0, last: 0, count: 0, base: 0, place: 0, volume: 0, refused: 0 };

    /// Returns the number of events of a block that the stream lacks.
    pub(crate) fn missing_of(&self, block: Block) -> u32 {
        block.state().1 - self.of(&block.header()).count
    }

    /// Notes that the host refused what the stream lacks of a block; returns the number of newly
    /// refused events.
    pub(crate) fn refuse(&mut self, block: Block) -> u32 {
        let missing = self.missing_of(block);
        let before = self.of(&block.header());
        *self = Progress { refused: missing, ..before };
        missing - before.refused.min(missing)
    }

    /// Returns the number of refused events that are held.
    pub(crate) fn refused(&self) -> u32 {
        self.refused
    }

    /// Notes that refused events are in the stream now, or counted elsewhere; returns their number.
    pub(crate) fn forgive(&mut self) -> u32 {
        core::mem::take(&mut self.refused)
    }

    /// Returns the progress of the block with this header, or none.
    fn of(&self, header: &BlockHeader) -> Progress {
        let sequence = header.sequence.get();
        if self.sequence == sequence && self.last != 0 {
            return *self;
        }
        let (last, base) = (header.top.get(), header.base.get());
        Progress { sequence, last, count: 0, base, place: 0, volume: 0, refused: 0 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// In the stream, or waiting in its parts block.
    Yes,
    /// It must wait, or no stream exists.
    Later,
    /// The host refuses it, or what must precede it.
    Refused,
}

/// How what is new in the store goes out: it precedes events.
#[derive(Clone, Copy)]
pub(crate) struct News {
    /// Puts it among the waiting parts.
    pub(crate) put: fn(&Entry),
    /// Sends it to the host; returns false if the host does not accept it now.
    pub(crate) bring: fn(&Entry) -> bool,
}

/// The output of blocks, whole or in part, for rings and the store.
pub(crate) struct Outlet<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) counts: &'a Counts,
    /// `None`: the blocks are the store's own. A store block that the host refuses is kept, and
    /// written again.
    pub(crate) news: Option<News>,
}

impl Outlet<'_> {
    /// Returns whether a refused block is kept.
    fn keeps(&self) -> bool {
        self.news.is_none()
    }

    /// Sends what the stream lacks of a block that gets no more events. Returns false if that must
    /// wait.
    pub(crate) fn send(&self, mut block: OwnBlock, progress: &mut Progress) -> bool {
        let mut header = block.header();
        let before = progress.of(&header);
        let count = header.count.get() - before.count;
        if count == 0 {
            return true;
        }
        match stream::ensure(self.entry) {
            None => return false,
            // A mapped ring gets only blocks that were on their way when it began.
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
        // Refused bytes stay as they were sealed.
        if is_new {
            seal(&mut block, &mut header, self.counts);
        }
        match self.write(&block, header.registry.get(), &before) {
            // Registries and the like are not events: nothing of them waits.
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

    /// Writes a sealed block, after what is new in the store. If the volume changes meanwhile, the
    /// store is sent again, and then a block of a ring. At the third time a volume hardly has room
    /// for more than that, and the block goes anywhere. But it never precedes the store, unless the
    /// host refuses the store: any output may be the last one.
    fn write(&self, block: &OwnBlock, registry: u16, before: &Progress) -> Written {
        let mut attempt = 1;
        loop {
            let has_store = self.news.is_none_or(|news| (news.bring)(self.entry));
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

    /// Sends the events published since the last time as a part, or a copy of the block if the part
    /// would be too large. If that fails, the events are still in the block.
    pub(crate) fn send_part(&self, block: Block, progress: &mut Progress) -> Sent {
        let (last, count) = block.state();
        let mut header = block.header();
        let before = progress.of(&header);
        // After the state: no event goes out before what it refers to. A live reader may see the
        // events earlier than what follows them.
        self.news.inspect(|news| (news.put)(self.entry));
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
        // The base at *last* is known after the events are copied.
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

/// Seals a block in place (`.write.seal`): the sealed flag, in the word with the magic, last.
pub(crate) fn seal(block: &mut OwnBlock, header: &mut BlockHeader, counts: &Counts) {
    header.stream = identity::id();
    header.flags |= SEALED;
    header.crc = U32le::new(0);
    // A block for the writer thread has none yet (`.block.sync`).
    if header.sync_ticks.get() == 0 {
        header.set_sync(root::sync());
    }
    counts.put(header);
    let range = header.last.get() as usize..header.top.get() as usize;
    let of_header = header.checksum(&[]);
    let payload = |bytes: &[u8]| checksum::append(of_header, bytes.get(range).unwrap_or_default());
    header.crc = block.with_bytes(payload).into();
    block.put_header(header);
}

/// Copies what the file lacks of a block, which may still be filled, to `to`, a block of a mapped
/// file. `to` becomes a block of its own, sealed.
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
