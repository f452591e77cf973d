//! The same way out in a living process: a debugger that stopped it calls for output.
//!
//! ```text
//!  EventFlush ─▶ bring_out ─▶ way out, as in a signal handler ─▶ back: the program goes on
//! ```
//!
//! The stopped program may hold any lock, ours or the allocator's: this takes none. Design:
//! `.debug.dump`, `.sol.exit.signal` in `design/telemetry.md`.

use super::{ROOM, bring_all, leave, make_room};
use crate::block::losses::Counts;
use crate::os::sys::Errno;
use crate::os::way_out;
use crate::plinth::{Plinth, PlinthError, host, region};
use crate::registry::registration;
use crate::stream::{self, Standing, volume};
use core::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

/// The outcome: an error number, or 0.
static OUTCOME: AtomicI32 = AtomicI32::new(0);
/// The bytes that the host accepted on the way out.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

/// Of the store: the number up to which its events were output, the sum of its counts then, and the
/// volume that they went to.
static STORE_END: AtomicU64 = AtomicU64::new(0);
static STORE_COUNTS: AtomicU64 = AtomicU64::new(0);
static STORE_VOLUME: AtomicU64 = AtomicU64::new(0);

/// Returns the number up to which the store's events were output this way.
pub(super) fn told_of_store(counts: &Counts) -> u64 {
    let is_so = STORE_COUNTS.load(Ordering::Relaxed) == counts.sum()
        && STORE_VOLUME.load(Ordering::Relaxed) == volume::number();
    if is_so { STORE_END.load(Ordering::Relaxed) } else { 0 }
}

/// Notes that the store's events were output up to that number.
pub(super) fn tell_store(counts: &Counts, end: u64) {
    STORE_COUNTS.store(counts.sum(), Ordering::Relaxed);
    STORE_VOLUME.store(volume::number(), Ordering::Relaxed);
    STORE_END.store(end, Ordering::Relaxed);
}

/// Forgets this in a forked child, whose stream has none of it.
pub(crate) fn forget_store() {
    STORE_END.store(0, Ordering::Relaxed);
}

/// Writes bytes to the host, and counts them.
pub(super) fn write(plinth: &dyn Plinth, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
    plinth.write_block(offset, bytes)?;
    WRITTEN.fetch_add(bytes.len(), Ordering::Relaxed);
    Ok(())
}

/// Notes the outcome of the way out.
pub(super) fn end(has_failed: bool) {
    OUTCOME.store(if has_failed { libc::EIO } else { 0 }, Ordering::Relaxed);
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
    match OUTCOME.load(Ordering::Relaxed) {
        0 => Ok(WRITTEN.load(Ordering::Relaxed)),
        errno => Err(errno),
    }
}

extern "C" fn bring_and_come_back(_: *mut core::ffi::c_void) {
    way_out::set_called(true);
    WRITTEN.store(0, Ordering::Relaxed);
    // Stays unless the way out finishes.
    OUTCOME.store(libc::EAGAIN, Ordering::Relaxed);
    bring_all(core::ptr::null_mut());
    way_out::set_called(false);
}
