//! What a debugger calls and changes: by the names of the MPS, in a process that it has stopped.
//!
//! ```text
//!  (gdb) print EventKindControl |= 2               the kinds that are output ─▶ control.rs
//!  (gdb) call EventDump(1)                         all events in memory, oldest first
//!  (gdb) call EventDumpLast(1, 20)                 the newest of them
//!  (gdb) call EventDescribe(EventLast[3], 1)       the newest of kind 3; or the one at an address
//!  (gdb) call EventFlush()                         what is output goes to the host now
//! ```
//!
//! The process may have been stopped anywhere, other threads with it, and whatever lock they or the
//! caller have stays taken. So none of these waits for a lock without a limit, calls the allocator,
//! or uses thread-local storage that is not there yet (but for the error number, which they leave
//! as it was); memory is mapped, and given back. Design: `.debug.dump`, `.debug.describe`,
//! `.control.output` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "symbols that a debugger finds by their names")]

mod describe;
mod dump;
mod index;
mod out;
mod unit;

use crate::ends::crash;
use crate::os::sys;
use crate::service::mask_changes::{self, EventKindControl};
use core::ffi::{c_int, c_long, c_void};
use eventdef::KIND_COUNT_MAX;

/// What stands for the newest event of a kind: its address alone is of use.
///
/// N1: what is linked into one program or shared library has the name of each symbol here once: two
///     versions of this library the linker refuses. Functions of another shared library may take
///     the place of these, which do the same there; data are hidden from it.
#[derive(Clone, Copy)]
pub(crate) struct Handle(#[expect(dead_code, reason = "it has an address")] u64);

static HANDLES: [Handle; KIND_COUNT_MAX] = [Handle(0); KIND_COUNT_MAX];

/// For each kind, by its index, the address by which [`EventDescribe`] describes its newest event,
/// of whatever thread and registry.
// SAFETY: N1: no other symbol that is linked into the same program or library has this name.
#[unsafe(no_mangle)]
pub(crate) static EventLast: [&Handle; KIND_COUNT_MAX] = {
    let mut all = [&HANDLES[0]; KIND_COUNT_MAX];
    let mut kind = 0;
    while kind < all.len() {
        all[kind] = &HANDLES[kind];
        kind += 1;
    }
    all
};

/// Writes all events that are in memory to a file, a line each, oldest first: of all kinds and
/// threads, output or not, but those of the store, which are shown where they are used. Gives how
/// many; or an error number, negative.
// SAFETY: N1: no other symbol that is linked into the same program or library has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn EventDump(file: c_int) -> c_long {
    dump(file)
}

extern "C" fn dump(file: c_int) -> c_long {
    guarded(|| dump::events(file, None))
}

/// The same of the newest events alone, so many at most.
// SAFETY: N1: no other symbol that is linked into the same program or library has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn EventDumpLast(file: c_int, count: c_int) -> c_long {
    guarded(|| {
        let count = usize::try_from(count).map_err(|_| libc::EINVAL)?;
        dump::events(file, Some(count))
    })
}

/// Describes the event at this address to a file: an address within it, or one of [`EventLast`].
/// Gives 1, or 0 where there is none, which it says; or an error number, negative.
// SAFETY: N1: no other symbol that is linked into the same program or library has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn EventDescribe(address: *const c_void, file: c_int) -> c_long {
    describe(address, file)
}

extern "C" fn describe(address: *const c_void, file: c_int) -> c_long {
    guarded(|| describe::describe(address.addr(), file))
}

/// Brings out what is in memory of the kinds that are output, as on a fatal signal: without any
/// lock. Gives how many bytes; or an error number, negative: EAGAIN if the stream is in use by what
/// is stopped, ENOTSUP if its plinth cannot be called now.
// SAFETY: N1: no other symbol that is linked into the same program or library has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn EventFlush() -> c_long {
    flush()
}

extern "C" fn flush() -> c_long {
    guarded(|| mask_changes::with_changes(crash::bring_out))
}

/// The addresses of these, as the root has them: dump, describe, flush, last, control
/// (section 9 of `design/format.md`). The functions are not those by name, which may be those of
/// another library that carries the runtime.
pub(crate) fn entry_points() -> [u64; 5] {
    unit::keep();
    // The linker keeps what is called by its name alone.
    core::hint::black_box((
        EventDump as *const (),
        EventDumpLast as *const (),
        EventDescribe as *const (),
        EventFlush as *const (),
    ));
    let dump = dump as extern "C" fn(c_int) -> c_long as *const ();
    let describe = describe as extern "C" fn(*const c_void, c_int) -> c_long as *const ();
    let flush = flush as extern "C" fn() -> c_long as *const ();
    let last = (&raw const EventLast).cast::<()>();
    let control = (&raw const EventKindControl).cast::<()>();
    [dump, describe, flush, last, control].map(|address| address.addr() as u64)
}

/// The kind whose handle is at this address.
fn kind_of(address: usize) -> Option<u8> {
    let kind = EventLast.iter().position(|handle| core::ptr::from_ref(*handle).addr() == address);
    kind.map(|kind| kind as u8)
}

/// Leaves the error number as it was, and makes a result one of C.
fn guarded(call: impl FnOnce() -> Result<usize, sys::Errno>) -> c_long {
    let _uncancelled = sys::Uncancelled::begin();
    let errno = sys::errno();
    let result = call();
    sys::set_errno(errno);
    match result {
        Ok(count) => c_long::try_from(count).unwrap_or(c_long::MAX),
        Err(errno) => -c_long::from(errno),
    }
}
