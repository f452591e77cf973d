//! The way out for everything in memory when a signal ends the program: it waits for no lock.
//!
//! ```text
//!  signal ─▶ the gate closes: other threads write no more ─▶ the interrupted write, again
//!         ─▶ waiting parts ─ registries ─ store ─ rings: copied, checked again, sealed
//!         ─▶ plinth ─▶ the previous handler, or the end
//!  EventFlush, of a debugger ─▶ bring_out ─▶ the same way out ─▶ back: the program goes on
//! ```
//!
//! The handler may have interrupted anything, even the cold path of its own thread. So it relies on
//! no state: it copies each block as a core dump would show it, checks that it is still the same
//! block, and writes the copy at a new place. The reader recognises copies of events that the
//! stream already has by their numbers (`.event.identity`). Design: `.sol.exit`, `.debug.dump` in
//! `design/telemetry.md`; `.read.open`, `.write.begin` in `design/format.md`.

use crate::block::losses::Counts;
use crate::block::memory::{self, Block, PartsMemory};
use crate::block::parts::{self, PartsBlock};
use crate::block::{chain, identity, registry_encoding, root};
use crate::ends::signal;
use crate::os::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::os::signals::{self, Deferred};
use crate::os::sync::Locked;
use crate::os::sys::{self, Errno};
use crate::os::{pages, report, stack, way_out};
use crate::plinth::{Plinth, host, region};
use crate::registry::registration::{self, Registered};
use crate::rings::thread;
use crate::store::intern;
use crate::stream::{self, Standing, pending, volume};
use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
use core::sync::atomic::AtomicIsize;
use eventlog::format::{BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, SEALED};

/// The environment variable that requests output on fatal signals.
const CRASH_VARIABLE: &CStr = c"MPS_TELEMETRY_CRASH";
/// The number of allocations within which the standard library installs its handler at the start of
/// a program.
const LOOK_COUNT: u32 = 16;
/// Smaller contents than a block's size divided by this go out as a part.
const PART_FRACTION: usize = 4;

/// Whether the program records in its allocator.
static ALLOCATES: AtomicBool = AtomicBool::new(false);
/// Allocations until handlers stop waiting for the standard library's own; 0: none wait.
static LOOKS: AtomicU32 = AtomicU32::new(0);
/// The memory of the way out.
static ROOM: Locked<Option<Room>> = Locked::new(None);
/// The outcome: the bytes that the host accepted, or the negative of an error number.
static OUTCOME: AtomicIsize = AtomicIsize::new(0);

struct Room {
    copy: &'static mut [u8],
    parts: PartsBlock,
    /// Of the store: the stream and the volume that its events were output to, and the sum of its
    /// counts then; and the number up to which they were.
    told: ([u8; 8], u64, u64),
    told_end: u64,
}

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

/// Prepares for fatal signals. After the first preparations of the process.
pub(crate) fn arm() {
    if !stack::want() {
        return;
    }
    if !ROOM.lock_waiting().is_some_and(|mut room| make_room(&mut room)) {
        return report::say(format_args!("no memory: a fatal signal will output nothing"));
    }
    stack::make_own();
    if signal::install(ALLOCATES.load(Ordering::Relaxed)) {
        LOOKS.store(LOOK_COUNT, Ordering::Release);
    }
    thread::equip();
}

/// Maps the memory of the way out; returns false if the system has none.
fn make_room(room: &mut Option<Room>) -> bool {
    if room.is_none() {
        let copy = pages::map_bytes(memory::block_size());
        let both = copy.zip(PartsMemory::map());
        *room = both.map(|(copy, parts)| {
            let parts = PartsBlock::idle(parts);
            Room { copy, parts, told: ([0; 8], 0, 0), told_end: 0 }
        });
    }
    room.is_some()
}

/// Installs the handlers that wait for the standard library's own.
pub(crate) fn install_left() {
    if LOOKS.swap(0, Ordering::AcqRel) != 0 {
        signal::install_left(false);
    }
}

/// Runs before each event of the allocator: the first one may come while the standard library
/// installs its handlers.
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

/// Outputs everything in memory, in a signal handler.
pub(crate) fn bring_out_in_signal() {
    leave(bring_all);
}

/// Calls `bring` as the one thread on the way out. Returns false if this thread already is,
/// or if another one is and does not finish.
fn leave(bring: extern "C" fn(*mut c_void)) -> bool {
    // No handler of the program interrupts this, and no request cancels the thread.
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
    // Events recorded into a mapped file are in place already.
    if region::is_there() {
        return;
    }
    if !plinth.is_signal_safe() {
        way_out::tell_once(
            b"telemetry: a fatal signal: this log cannot be written in a signal handler\n",
        );
        return;
    }
    let Some(mut room) = ROOM.try_lock() else { return };
    let Some(Room { copy, parts, told, told_end }) = &mut *room else { return };
    let mut way = WayOut { plinth, copy, parts, written: Ok(0) };
    way.write_again();
    way.bring_pending();
    let registries = pending::registries().0..;
    registries.map_while(registration::get).for_each(|registered| way.bring_registry(registered));
    intern::tell_inherited_in_signal();
    let (blocks, counts) = intern::held();
    let now = (identity::id(), volume::number(), counts.sum());
    let (told_before, mut end) = (if *told == now { *told_end } else { 0 }, 0);
    for (sequence, block) in blocks {
        let block_end = block.event_end();
        if block_end <= told_before || way.bring(block, sequence, 0, counts) {
            end = end.max(block_end);
        }
    }
    if way.written.is_ok() {
        (*told, *told_end) = (now, end);
    }
    thread::rings().for_each(|ring| way.bring_ring(ring));
    way.end_parts();
    let outcome = way.written.map_or_else(|errno| -(errno as isize), usize::cast_signed);
    OUTCOME.store(outcome, Ordering::Relaxed);
    plinth.flush();
}

struct WayOut<'a> {
    plinth: &'static dyn Plinth,
    copy: &'a mut [u8],
    parts: &'a mut PartsBlock,
    /// The bytes that the host accepted, or why it refused some.
    written: Result<usize, Errno>,
}

impl WayOut<'_> {
    /// Writes the bytes again that this thread was writing when the signal came, at the same
    /// offset, so that no hole remains.
    fn write_again(&mut self) {
        if self.plinth.can_rewrite() {
            let WayOut { plinth, written, .. } = self;
            signals::with_carried(|offset, bytes| write(*plinth, written, offset, bytes));
        }
    }

    fn bring_pending(&mut self) {
        let can_rewrite = self.plinth.can_rewrite();
        let Some((place, size)) = pending::copy(self.copy) else { return };
        let offset = place * memory::block_size() as u64;
        if !can_rewrite {
            self.copy[size..].fill(0);
        }
        let bytes = if can_rewrite { &self.copy[..size] } else { &*self.copy };
        write(self.plinth, &mut self.written, offset, bytes);
    }

    /// Writes a registry that the stream may lack, from where its output stopped
    /// (`.part.registry`).
    fn bring_registry(&mut self, registered: &Registered) {
        let (first, put) = pending::registries();
        let mut offset = if usize::from(registered.index) == first { put } else { 0 };
        let room = PartsBlock::payload_size_max(memory::block_size());
        while let Some(piece) = registry_encoding::next(registered.control, offset, room) {
            let header = parts::piece_header(registered.index, offset, &piece);
            piece.encode(registered.control, offset, &mut self.copy[..piece.size]);
            self.put_part(header, 0);
            offset += piece.size;
        }
    }

    fn bring_ring(&mut self, ring: &crate::rings::ring::Ring) {
        if !ring.is_output() || ring.is_in_file() {
            return;
        }
        let saved = ring.saved.load(Ordering::Relaxed);
        let mut newest = saved;
        for (sequence, block) in ring.held() {
            let end = block.event_end();
            let is_known = end <= saved || ring.is_sent(sequence);
            if !is_known && self.bring(block, sequence, ring.buffer(), &ring.counts) {
                newest = newest.max(end);
            }
        }
        if self.written.is_ok() {
            ring.saved.store(newest, Ordering::Relaxed);
        }
    }

    /// Copies a block, and writes the copy if the block did not change meanwhile. Returns false if
    /// it changed, or is empty.
    fn bring(&mut self, block: Block, sequence: u64, buffer: u32, counts: &Counts) -> bool {
        let mut header = block.header();
        let (last, top) = (header.last.get() as usize, header.top.get() as usize);
        let is_it = header.sequence.get() == sequence && header.buffer.get() == buffer;
        let is_empty = header.count.get() == 0 && counts.sum() == 0;
        if header.magic != BLOCK_MAGIC || !is_it || is_empty {
            return false;
        }
        let events = &mut self.copy[last..top];
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
        self.copy[..last].fill(0);
        header.seal(&self.copy[last..top]);
        self.copy[..BLOCK_HEADER_SIZE].copy_from_slice(bytemuck::bytes_of(&header));
        let offset = volume::take_place_by_force(self.plinth) * memory::block_size() as u64;
        write(self.plinth, &mut self.written, offset, self.copy);
    }

    /// Puts a part into the parts block of the way out, which is written when full. The payload is
    /// at `from` in the copy.
    fn put_part(&mut self, header: BlockHeader, from: usize) {
        let size = header.payload_size();
        if self.parts.room().is_none_or(|room| room < size) {
            self.end_parts();
            let place = volume::take_place_by_force(self.plinth);
            self.parts.begin(place, pending::take_number(), identity::id());
        }
        self.parts.push(header, &self.copy[from..from + size]);
    }

    /// Writes that parts block, and closes it.
    fn end_parts(&mut self) {
        let (offset, bytes) = self.parts.unwritten_padded();
        if !bytes.is_empty() {
            write(self.plinth, &mut self.written, offset, bytes);
        }
        self.parts.close();
    }
}

/// Writes bytes to the host, and counts them, or notes a failure.
fn write(plinth: &dyn Plinth, written: &mut Result<usize, Errno>, offset: u64, bytes: &[u8]) {
    if plinth.write_block(offset, bytes).is_ok() {
        *written = written.map(|size| size + bytes.len());
    } else {
        *written = Err(libc::EIO);
        way_out::tell_failure();
    }
}

/// Outputs everything in memory of the kinds that are output, and returns the number of bytes that
/// the host accepted.
pub(crate) fn bring_out() -> Result<usize, Errno> {
    // A mapped file has its events already.
    if !registration::is_something_output() || region::is_there() {
        return Ok(0);
    }
    let can_begin = || stream::plinth().is_some() || host::begins_with_a_file();
    match stream::standing() {
        Standing::Failed | Standing::Left => return Err(libc::ENOTSUP),
        // Resolving a receiver's name needs the allocator.
        Standing::None if !can_begin() => return Err(libc::EAGAIN),
        _ => {}
    }
    if stream::plinth().is_some_and(|plinth| !plinth.is_signal_safe()) {
        return Err(libc::ENOTSUP);
    }
    let mut room = ROOM.try_lock().ok_or(libc::EAGAIN)?;
    if !make_room(&mut room) {
        return Err(libc::ENOMEM);
    }
    drop(room);
    if !leave(bring_and_come_back) {
        return Err(libc::EAGAIN);
    }
    way_out::come_back();
    let outcome = OUTCOME.load(Ordering::Relaxed);
    usize::try_from(outcome).map_err(|_| -outcome as Errno)
}

extern "C" fn bring_and_come_back(_: *mut c_void) {
    way_out::set_called(true);
    // Stays unless the way out finishes.
    OUTCOME.store(-(libc::EAGAIN as isize), Ordering::Relaxed);
    bring_all(null_mut());
    way_out::set_called(false);
}
