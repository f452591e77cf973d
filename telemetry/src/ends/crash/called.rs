//! The same way out where nobody dies: a debugger calls for it in a process that it has stopped.
//!
//! ```text
//!  EventFlush ─▶ bring_out ─▶ way out, as of a signal that came here ─▶ back: the program goes on
//! ```
//!
//! What is stopped may have any lock, of ours or of the allocator: this takes none. Design:
//! `.debug.dump`, `.sol.exit.signal` in `design/telemetry.md`.

use super::{ROOM, bring_all, leave, make_room};
use crate::block::losses::Counts;
use crate::os::sys::Errno;
use crate::os::way_out;
use crate::plinth::{Plinth, PlinthError, host, region};
use crate::registry::registration;
use crate::stream::{self, Standing, volume};
use core::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

/// What became of it: an error number, or 0.
static OUTCOME: AtomicI32 = AtomicI32::new(0);
/// Bytes that the host took on the way out.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

/// Of the store: events, by number, that were brought out of it; the sum of its counts then; the
/// volume that they went to.
static STORE_END: AtomicU64 = AtomicU64::new(0);
static STORE_COUNTS: AtomicU64 = AtomicU64::new(0);
static STORE_VOLUME: AtomicU64 = AtomicU64::new(0);

/// How far the store was brought out this way: events up to that number are there.
pub(super) fn told_of_store(counts: &Counts) -> u64 {
    let is_so = STORE_COUNTS.load(Ordering::Relaxed) == counts.sum()
        && STORE_VOLUME.load(Ordering::Relaxed) == volume::number();
    if is_so { STORE_END.load(Ordering::Relaxed) } else { 0 }
}

/// It was brought out up to that number.
pub(super) fn tell_store(counts: &Counts, end: u64) {
    STORE_COUNTS.store(counts.sum(), Ordering::Relaxed);
    STORE_VOLUME.store(volume::number(), Ordering::Relaxed);
    STORE_END.store(end, Ordering::Relaxed);
}

/// In a forked child, whose stream has nothing of it.
pub(super) fn forget_store() {
    STORE_END.store(0, Ordering::Relaxed);
}

/// Gives the host some of what goes out.
pub(super) fn write(plinth: &dyn Plinth, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
    plinth.write_block(offset, bytes)?;
    WRITTEN.fetch_add(bytes.len(), Ordering::Relaxed);
    Ok(())
}

/// All went that way.
pub(super) fn end(has_failed: bool) {
    OUTCOME.store(if has_failed { libc::EIO } else { 0 }, Ordering::Relaxed);
}

/// Brings out what is in memory of the kinds that are output, and comes back. Gives how many bytes
/// the host took.
pub(crate) fn bring_out() -> Result<usize, Errno> {
    // What is recorded into a mapped file is there already.
    if !registration::is_something_output() || region::is_there() {
        return Ok(0);
    }
    let can_begin = || stream::plinth().is_some() || host::begins_with_a_file();
    match stream::standing() {
        Standing::Failed | Standing::Left => return Err(libc::ENOTSUP),
        // To find a receiver by its name takes the allocator.
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
    match OUTCOME.load(Ordering::Relaxed) {
        0 => Ok(WRITTEN.load(Ordering::Relaxed)),
        errno => Err(errno),
    }
}

extern "C" fn bring_and_come_back(_: *mut core::ffi::c_void) {
    way_out::set_called(true);
    WRITTEN.store(0, Ordering::Relaxed);
    // Unless it comes to its end.
    OUTCOME.store(libc::EAGAIN, Ordering::Relaxed);
    bring_all(core::ptr::null_mut());
    way_out::set_called(false);
}
