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
use crate::block::memory::{self, Block};
use crate::block::parts::{self, PartsBlock};
use crate::block::{chain, clock, identity, registry_encoding};
use crate::ends::signal::{self, Deferred};
use crate::os::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use crate::os::stack::{self, SpareStack};
use crate::os::sync::{Entry, Guard, Locked};
use crate::os::{report, sys};
use crate::plinth::{Plinth, region};
use crate::registry::registration::{self, Registered};
use crate::rings::thread::{self, SLOT_COUNT};
use crate::store::intern;
use crate::stream::{self, pending, volume};
use core::ffi::{CStr, c_void};
use eventlog::format::{BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, SEALED};

mod called;
mod crossing;

pub(crate) use called::bring_out;
pub(crate) use crossing::Crossing;

/// The environment variable that asks for output on fatal signals.
const CRASH_VARIABLE: &CStr = c"MPS_TELEMETRY_CRASH";
/// How long a handler waits for blocks that other threads are writing, in ns.
const DRAIN_TIME_MAX: u64 = 1_000_000_000;
/// How long a thread waits for another one that is on the way out, in ns.
const GATE_TIME_MAX: u64 = 5_000_000_000;
/// Allocations in which the standard library has put its own handler, at the start of a program.
const LOOK_COUNT: u32 = 16;
/// How long it sleeps between two looks.
const NAP: u64 = 100_000;
/// What is smaller than this part of a block goes out as a part: one in so many.
const PART_FRACTION: usize = 4;

static ARMED: AtomicBool = AtomicBool::new(false);
/// Whether the program records in its allocator.
static ALLOCATES: AtomicBool = AtomicBool::new(false);
/// Allocations until handlers that wait for the standard library's own wait no more; 0: none do.
static LOOKS: AtomicU32 = AtomicU32::new(0);
/// The operating system's number of the thread that is on the way out; 0: none is.
static LEAVING: AtomicUsize = AtomicUsize::new(0);
/// Threads that are giving something to the plinth.
static CROSSING: AtomicU32 = AtomicU32::new(0);
static FAILURE_TOLD: AtomicBool = AtomicBool::new(false);
/// The memory of the way out.
static ROOM: Locked<Option<Room>> = Locked::new(None);

struct Room {
    copy: &'static mut [u8],
    parts: PartsBlock,
}

/// From now on, a signal that ends the program first brings out what was recorded of the kinds that
/// are output: SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT (so also `abort` and
/// panics that abort), and SIGTERM, SIGINT, SIGQUIT and SIGHUP, but for those that the program
/// ignores. Handlers that there are now are called afterwards; without one the program ends as it
/// would have. `MPS_TELEMETRY_CRASH=1` does the same at the first event.
///
/// A stack overflow is one of these. Threads of Rust, and all threads from their first event on,
/// have a stack for it.
pub fn on_fatal_signals() {
    let entry = Entry::new();
    if registration::prepare_only(&entry) {
        arm();
        if LOOKS.swap(0, Ordering::AcqRel) != 0 {
            signal::install_left(false);
        }
    }
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

fn arm() {
    if ARMED.swap(true, Ordering::AcqRel) {
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
        let size = memory::block_size();
        let bytes = memory::map_bytes(size).zip(memory::map_bytes(size));
        *room = bytes.map(|(copy, parts)| Room { copy, parts: PartsBlock::idle(parts) });
    }
    room.is_some()
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

/// Sees to it that the handlers of this thread have a stack, if there are handlers.
pub(crate) fn equip(stack: &SpareStack) {
    if ARMED.load(Ordering::Acquire) {
        stack.give();
    }
}

/// Whether this thread is on the way out.
pub(crate) fn is_here() -> bool {
    match LEAVING.load(Ordering::SeqCst) {
        0 => false,
        thread => thread == sys::thread_number(),
    }
}

/// In a forked child, where other threads do not exist.
pub(crate) fn forget_others() {
    LEAVING.store(0, Ordering::SeqCst);
    called::forget_store();
    CROSSING.store(u32::from(signal::is_crossing()), Ordering::SeqCst);
}

/// Brings out what is in memory, in a signal handler. False: this thread is on the way out already,
/// or another one is and does not come to an end.
pub(crate) fn way_out() -> bool {
    leave(bring_all)
}

/// Does something as the one thread that is on the way out.
fn leave(bring: extern "C" fn(*mut c_void)) -> bool {
    // No handler of the program comes in between, and no wish to end the thread.
    let _uncancelled = sys::Uncancelled::begin();
    let _deferred = Deferred::begin();
    let me = sys::thread_number();
    let mut waited = 0;
    while let Err(other) = LEAVING.compare_exchange(0, me, Ordering::SeqCst, Ordering::SeqCst) {
        if other == me || waited >= GATE_TIME_MAX {
            return false;
        }
        sys::nap(NAP);
        waited += NAP;
    }
    let mine = u32::from(signal::is_crossing());
    let mut waited = 0;
    while CROSSING.load(Ordering::SeqCst) > mine && waited < DRAIN_TIME_MAX {
        sys::nap(NAP);
        waited += NAP;
    }
    stack::on_own(bring);
    true
}

/// Lets other threads go on: the program does.
pub(crate) fn come_back() {
    let me = sys::thread_number();
    let _ = LEAVING.compare_exchange(me, 0, Ordering::SeqCst, Ordering::SeqCst);
}

/// Says once that the host did not take it.
pub(crate) fn tell_failure() {
    if !called::is_here() && !FAILURE_TOLD.swap(true, Ordering::Relaxed) {
        sys::write_error(
            b"telemetry: a fatal signal: the log does not take all that is in memory\n",
        );
    }
}

extern "C" fn bring_all(_: *mut c_void) {
    let Some(plinth) = stream::plinth_in_signal() else { return };
    // What was recorded into a mapped file is where it is to be.
    if region::is_there() {
        return;
    }
    if !plinth.is_signal_safe() {
        if !FAILURE_TOLD.swap(true, Ordering::Relaxed) {
            sys::write_error(
                b"telemetry: a fatal signal: this log takes nothing in a signal handler\n",
            );
        }
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
    for slot in 0..SLOT_COUNT {
        thread::each_ring(slot, |ring| {
            way.bring_ring(ring);
            false
        });
    }
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
            tell_failure();
        }
    }

    /// What this thread was writing when the signal came: the same bytes at the same place, so that
    /// there is no hole.
    fn write_again(&mut self) {
        if self.plinth.can_rewrite() {
            signal::with_carried(|offset, bytes| self.write(offset, bytes));
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
            tell_failure();
        }
    }

    /// A registry that the stream may lack, from where it was stopped (`.part.registry`).
    fn bring_registry(&mut self, registered: &Registered) {
        let (first, put) = pending::registries();
        let mut offset = if usize::from(registered.index) == first { put } else { 0 };
        let room = PartsBlock::payload_size_max(memory::block_size());
        while let Some(piece) = registry_encoding::next(registered.control, offset, room) {
            let header = parts::piece_header(registered.index, offset, &piece);
            self.put_part(header, &|_, out| piece.encode(registered.control, offset, out));
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
        header.set_sync(clock::sync());
        counts.put(&mut header);
        if top - last <= memory::block_size() / PART_FRACTION {
            self.put_part(header, &|copy, out| out.copy_from_slice(&copy[last..top]));
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
            tell_failure();
        }
    }

    /// Puts a part into a parts block of its own, which goes out when it is full.
    fn put_part(&mut self, header: BlockHeader, fill: &dyn Fn(&[u8], &mut [u8])) {
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
        let copy = &*room.copy;
        room.parts.push(header, |_, out| fill(copy, out));
    }

    /// Writes that parts block, and takes no more into it.
    fn end_parts(&mut self) {
        let Some(room) = &mut *self.room else { return };
        let (offset, bytes) = room.parts.unwritten_padded();
        if !bytes.is_empty() && called::write(self.plinth, offset, bytes).is_err() {
            self.failed = true;
            tell_failure();
        }
        room.parts.close();
    }
}
