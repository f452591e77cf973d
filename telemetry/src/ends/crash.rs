//! The way out for what is in memory when the program dies of a signal: without any lock.
//!
//! ```text
//!  signal ─▶ the gate closes: other threads write no more ─▶ what was being written, once more
//!         ─▶ parts that wait ─ registries ─ store ─ rings: copied, looked at again, sealed
//!         ─▶ plinth ─▶ the handler that was there before, or the end
//! ```
//!
//! The handler may have interrupted anything, the cold path of its own thread included. So it never
//! counts on a state: it copies each block as a core dump would show it, sees whether it is still
//! the same block, and writes the copy at a place of its own. Copies of what is in the stream
//! already are told apart by their numbers (`.event.identity`). Design: `.sol.exit` in
//! `design/telemetry.md`; `.read.open`, `.write.begin` in `design/format.md`.

use crate::block::losses::Counts;
use crate::block::memory::{self, Block, PartsMemory};
use crate::block::parts::{self, PartsBlock};
use crate::block::{chain, identity, registry_encoding, root};
use crate::ends::signal;
use crate::os::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::os::signals::{self, Deferred};
use crate::os::sync::{Guard, Locked};
use crate::os::{pages, report, stack, sys, way_out};
use crate::plinth::{Plinth, region};
use crate::registry::registration::{self, Registered};
use crate::rings::thread;
use crate::store::intern;
use crate::stream::{self, pending, volume};
use core::ffi::{CStr, c_void};
use eventlog::format::{BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, SEALED};

mod called;

pub(crate) use called::bring_out;

/// The environment variable that asks for output on fatal signals.
const CRASH_VARIABLE: &CStr = c"MPS_TELEMETRY_CRASH";
/// Allocations in which the standard library has put its own handler, at the start of a program.
const LOOK_COUNT: u32 = 16;
/// What is smaller than this part of a block goes out as a part: one in so many.
const PART_FRACTION: usize = 4;

/// Whether the program records in its allocator.
static ALLOCATES: AtomicBool = AtomicBool::new(false);
/// Allocations until handlers that wait for the standard library's own wait no more; 0: none do.
static LOOKS: AtomicU32 = AtomicU32::new(0);
/// The memory of the way out.
static ROOM: Locked<Option<Room>> = Locked::new(None);

struct Room {
    copy: &'static mut [u8],
    parts: PartsBlock,
}

/// Does what the environment says.
pub(crate) fn apply_environment() {
    sys::with_environment(CRASH_VARIABLE, |value| match value {
        None | Some(b"" | b"0") => {}
        Some(b"1") => arm(),
        Some(value) => {
            let value = report::Text(value);
            report::say(format_args!(
                "MPS_TELEMETRY_CRASH: `{value}` is neither 0 nor 1; fatal signals output nothing"
            ));
        }
    });
}

/// Makes ready for fatal signals. After the first preparations of the process.
pub(crate) fn arm() {
    if !stack::want() {
        return;
    }
    if !ROOM.lock_waiting().is_some_and(|mut room| make_room(&mut room)) {
        return report::say(format_args!("no memory for output on fatal signals: there is none"));
    }
    stack::make_own();
    if signal::install(ALLOCATES.load(Ordering::Relaxed)) {
        LOOKS.store(LOOK_COUNT, Ordering::Release);
    }
    thread::equip();
}

/// False: there is no memory for it.
fn make_room(room: &mut Option<Room>) -> bool {
    if room.is_none() {
        let copy = pages::map_bytes(memory::block_size());
        let both = copy.zip(PartsMemory::map());
        *room = both.map(|(copy, parts)| Room { copy, parts: PartsBlock::idle(parts) });
    }
    room.is_some()
}

/// Handlers wait for the standard library's own no more.
pub(crate) fn install_left() {
    if LOOKS.swap(0, Ordering::AcqRel) != 0 {
        signal::install_left(false);
    }
}

/// Before an event of the allocator: the first one may come while the standard library, at the
/// start of the program, puts its handlers in place.
#[inline]
pub(crate) fn note_allocator() {
    if !ALLOCATES.load(Ordering::Relaxed) {
        ALLOCATES.store(true, Ordering::Relaxed);
    }
    if LOOKS.load(Ordering::Relaxed) != 0 {
        look_again();
    }
}

#[cold]
fn look_again() {
    // One thread at a time.
    let count = LOOKS.swap(0, Ordering::AcqRel);
    if count != 0 && signal::install_left(count > 1) {
        LOOKS.store(count - 1, Ordering::Release);
    }
}

/// In a forked child, whose stream has nothing of the store.
pub(crate) fn forget_parent() {
    called::forget_store();
}

/// Brings out what is in memory, in a signal handler.
pub(crate) fn bring_out_in_signal() {
    leave(bring_all);
}

/// Does something as the one thread that is on the way out. False: this thread is already, or
/// another one is and does not come to an end.
fn leave(bring: extern "C" fn(*mut c_void)) -> bool {
    // No handler of the program comes in between, and no wish to end the thread.
    let _uncancelled = sys::Uncancelled::begin();
    let _deferred = Deferred::begin();
    let begun = way_out::begin();
    if begun {
        stack::on_own(bring);
    }
    begun
}

extern "C" fn bring_all(_: *mut c_void) {
    let Some(plinth) = stream::plinth_in_signal() else { return };
    // What was recorded into a mapped file is where it is to be.
    if region::is_there() {
        return;
    }
    if !plinth.is_signal_safe() {
        way_out::tell_once(
            b"telemetry: a fatal signal: this log takes nothing in a signal handler\n",
        );
        return;
    }
    let Some(room) = ROOM.try_lock() else { return };
    let mut way = WayOut { plinth, room, failed: false };
    way.write_again();
    way.bring_pending();
    let registries = pending::registries().0..;
    registries.map_while(registration::get).for_each(|registered| way.bring_registry(registered));
    intern::tell_inherited_in_signal();
    let (blocks, counts) = intern::held();
    let told = called::told_of_store(counts);
    let mut end = 0;
    for (sequence, block) in blocks {
        let (header, (_, count)) = (block.header(), block.state());
        let block_end = header.first.get() + u64::from(count);
        if block_end <= told || way.bring(block, sequence, 0, counts) {
            end = end.max(block_end);
        }
    }
    if !way.failed {
        called::tell_store(counts, end);
    }
    thread::rings().for_each(|ring| way.bring_ring(ring));
    way.end_parts();
    called::end(way.failed);
    plinth.flush();
}

/// What is on the way out.
struct WayOut {
    plinth: &'static dyn Plinth,
    room: Guard<'static, Option<Room>>,
    failed: bool,
}

impl WayOut {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        if called::write(self.plinth, offset, bytes).is_err() {
            self.failed = true;
            way_out::tell_failure();
        }
    }

    /// What this thread was writing when the signal came: the same bytes at the same place, so that
    /// there is no hole.
    fn write_again(&mut self) {
        if self.plinth.can_rewrite() {
            signals::with_carried(|offset, bytes| self.write(offset, bytes));
        }
    }

    /// The parts that were put together and not written.
    fn bring_pending(&mut self) {
        let Some(room) = &mut *self.room else { return };
        let can_rewrite = self.plinth.can_rewrite();
        let Some((place, size)) = pending::copy(room.copy) else { return };
        let offset = place * memory::block_size() as u64;
        if !can_rewrite {
            room.copy[size..].fill(0);
        }
        let bytes = if can_rewrite { &room.copy[..size] } else { &*room.copy };
        if called::write(self.plinth, offset, bytes).is_err() {
            self.failed = true;
            way_out::tell_failure();
        }
    }

    /// A registry that the stream may lack, from where it was stopped (`.part.registry`).
    fn bring_registry(&mut self, registered: &Registered) {
        let (first, put) = pending::registries();
        let mut offset = if usize::from(registered.index) == first { put } else { 0 };
        let room = PartsBlock::payload_size_max(memory::block_size());
        while let Some(piece) = registry_encoding::next(registered.control, offset, room) {
            let header = parts::piece_header(registered.index, offset, &piece);
            let Some(room) = &mut *self.room else { return };
            piece.encode(registered.control, offset, &mut room.copy[..piece.size]);
            self.put_part(header, 0);
            offset += piece.size;
        }
    }

    fn bring_ring(&mut self, ring: &crate::rings::ring::Ring) {
        if !ring.is_output() || ring.is_mapped() {
            return;
        }
        let saved = ring.saved.load(Ordering::Relaxed);
        let mut newest = saved;
        for (sequence, block) in ring.held() {
            let (header, (_, count)) = (block.header(), block.state());
            let end = header.first.get() + u64::from(count);
            let is_known = end <= saved || ring.is_sent(sequence);
            if !is_known && self.bring(block, sequence, ring.buffer(), &ring.counts) {
                newest = newest.max(end);
            }
        }
        if !self.failed {
            ring.saved.store(newest, Ordering::Relaxed);
        }
    }

    /// Copies a block, and writes the copy if that is still the block which it was. False: it is
    /// not, or there is nothing in it.
    fn bring(&mut self, block: Block, sequence: u64, buffer: u32, counts: &Counts) -> bool {
        let Some(room) = &mut *self.room else { return false };
        let mut header = block.header();
        let (last, top) = (header.last.get() as usize, header.top.get() as usize);
        let is_whole = BLOCK_HEADER_SIZE <= last && last <= top && top <= memory::block_size();
        let is_it = header.sequence.get() == sequence && header.buffer.get() == buffer;
        let is_empty = header.count.get() == 0 && counts.sum() == 0;
        if header.magic != BLOCK_MAGIC || !is_it || !is_whole || is_empty {
            return false;
        }
        let events = &mut room.copy[last..top];
        block.peek(last, top, events);
        if !block.is_still(&header) {
            return false;
        }
        header.stream = identity::id();
        header.flags &= !SEALED;
        header.base_last = chain::base_at_last(events, header.base.get()).into();
        header.set_sync(root::sync());
        counts.put(&mut header);
        if top - last <= memory::block_size() / PART_FRACTION {
            self.put_part(header, last);
        } else {
            self.write_copy(header, last, top);
        }
        true
    }

    fn write_copy(&mut self, mut header: BlockHeader, last: usize, top: usize) {
        let Some(room) = &mut *self.room else { return };
        room.copy[..last].fill(0);
        header.seal(&room.copy[last..top]);
        room.copy[..BLOCK_HEADER_SIZE].copy_from_slice(bytemuck::bytes_of(&header));
        let offset = volume::take_place_by_force(self.plinth) * memory::block_size() as u64;
        if called::write(self.plinth, offset, room.copy).is_err() {
            self.failed = true;
            way_out::tell_failure();
        }
    }

    /// Puts a part into a parts block of its own, which goes out when it is full. The payload is at
    /// `from` in the copy.
    fn put_part(&mut self, header: BlockHeader, from: usize) {
        let size = header.payload_size();
        let has_room = |room: &Room| room.parts.room().is_some_and(|room| room >= size);
        if !self.room.as_ref().is_some_and(has_room) {
            self.end_parts();
            let Some(room) = &mut *self.room else { return };
            room.parts.begin(
                volume::take_place_by_force(self.plinth),
                pending::take_number(),
                identity::id(),
            );
        }
        let Some(room) = &mut *self.room else { return };
        room.parts.push(header, &room.copy[from..from + size]);
    }

    /// Writes that parts block, and takes no more into it.
    fn end_parts(&mut self) {
        let Some(room) = &mut *self.room else { return };
        let (offset, bytes) = room.parts.unwritten_padded();
        if !bytes.is_empty() && called::write(self.plinth, offset, bytes).is_err() {
            self.failed = true;
            way_out::tell_failure();
        }
        room.parts.close();
    }
}
