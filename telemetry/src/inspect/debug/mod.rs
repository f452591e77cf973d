//! The functions and data of a debugger, by the names of the MPS, in a process that it stopped.
//!
//! ```text
//!  (gdb) print EventKindControl |= 2               the kinds that are output ─▶ control.rs
//!  (gdb) call EventDump(1)                         all events in memory, oldest first
//!  (gdb) call EventDescribe(EventLast[3], 1)       the newest of kind 3
//!  (gdb) call EventFlush()                         the host gets what is output
//! ```
//!
//! The process may be stopped anywhere, with other threads, and they or the caller may hold any
//! lock. So none of these functions waits for a lock without a limit, calls the allocator, or uses
//! thread-local storage that is not yet initialised. (They restore the error number.) They map
//! memory, and unmap it. Design: `.debug.dump`, `.debug.describe`, `.control.output` in
//! `design/telemetry.md`.
#![expect(unsafe_code, reason = "symbols that a debugger finds by their names")]

mod describe;
mod dump;
mod unit;

use crate::ends::crash;
use crate::inspect::text::LINE_SIZE_MAX;
use crate::os::pages::Temporary;
use crate::os::report::Line;
use crate::os::sys::{self, Errno};
use crate::service::mask_changes::{self, EventKindControl};
use core::ffi::{c_int, c_long, c_void};
use core::fmt;
use eventdef::KIND_COUNT_MAX;

/// Stands for the newest event of a kind: only its address matters.
///
/// N1: one program or shared library has the name of each symbol here once: the linker refuses two
/// versions of this library. Functions of another shared library may replace these, and do the same
/// there; data are hidden from it.
#[derive(Clone, Copy)]
pub(crate) struct Handle(#[expect(dead_code, reason = "only its address is used")] u64);

static HANDLES: [Handle; KIND_COUNT_MAX] = [Handle(0); KIND_COUNT_MAX];

/// For each kind, by its index: the address by which [`EventDescribe`] describes its newest event,
/// of any thread and registry.
// SAFETY: N1: no other symbol in the same program or library has this name.
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

/// Writes all events in memory to a file, one per line, oldest first: of all kinds and threads,
/// output or not. Events of the store appear where other events use them. Returns the number of
/// events, or a negative error number.
// SAFETY: N1: no other symbol in the same program or library has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn EventDump(file: c_int) -> c_long {
    dump(file)
}

extern "C" fn dump(file: c_int) -> c_long {
    guarded(|| dump::events(file))
}

/// Describes the newest event of a kind, by the kind's address in [`EventLast`], to a file. Returns
/// 1, or 0 with a message if it finds no event, or a negative error number.
// SAFETY: N1: no other symbol in the same program or library has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn EventDescribe(address: *const c_void, file: c_int) -> c_long {
    describe(address, file)
}

extern "C" fn describe(address: *const c_void, file: c_int) -> c_long {
    guarded(|| describe::describe(address.addr(), file))
}

/// Outputs everything in memory of the kinds that are output, as on a fatal signal: it waits for no
/// lock. Returns the number of bytes, or a negative error number: EAGAIN if a stopped thread is
/// using the stream, ENOTSUP if its plinth cannot be called now.
// SAFETY: N1: no other symbol in the same program or library has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn EventFlush() -> c_long {
    flush()
}

extern "C" fn flush() -> c_long {
    guarded(|| mask_changes::with_changes(crash::bring_out))
}

/// The commands for gdb, which gdb runs by itself, if it is allowed to (`.debug.commands`): 4 marks
/// text in Python, whose first line is its name.
const TEXT: &str = concat!(
    "\x04telemetry\n",
    include_str!("../../../gdb/memory.py"),
    include_str!("../../../gdb/root.py"),
    include_str!("../../../gdb/core.py"),
    include_str!("../../../gdb/stream.py"),
    include_str!("../../../gdb/report.py"),
    include_str!("../../../gdb/switches.py"),
    include_str!("../../../gdb/commands.py"),
    "\0"
);

// SAFETY: the section consists of such entries, one after the other.
#[cfg_attr(target_os = "linux", unsafe(link_section = ".debug_gdb_scripts"))]
#[used]
static SCRIPT: [u8; TEXT.len()] = match TEXT.as_bytes().first_chunk() {
    Some(bytes) => *bytes,
    None => unreachable!(),
};

/// Returns the addresses that the root has: dump, describe, flush, last, control (section 9 of
/// `design/format.md`). They are not the addresses of the symbols, which may belong to another
/// library with the runtime.
pub(crate) fn entry_points() -> [u64; 5] {
    unit::keep();
    core::hint::black_box(SCRIPT.as_ptr());
    // Makes the linker keep functions that are called only by name.
    core::hint::black_box((
        EventDump as *const (),
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

fn kind_of(address: usize) -> Option<u8> {
    let kind = EventLast.iter().position(|handle| core::ptr::from_ref(*handle).addr() == address);
    kind.map(|kind| kind as u8)
}

/// Restores the error number, and turns a result into one of C.
fn guarded(call: impl FnOnce() -> Result<usize, Errno>) -> c_long {
    let _uncancelled = sys::Uncancelled::begin();
    let errno = sys::errno();
    let result = call();
    sys::set_errno(errno);
    match result {
        Ok(count) => c_long::try_from(count).unwrap_or(c_long::MAX),
        Err(errno) => -c_long::from(errno),
    }
}

/// The bytes that are collected before they are written.
const TEXT_SIZE: usize = 4 * LINE_SIZE_MAX;
/// The longest time that a file may accept nothing, in ms.
const TIME_MAX: c_int = 5000;

/// A file that perhaps nothing reads, and the text collected for it.
struct Out {
    file: c_int,
    text: Temporary<u8>,
    size: usize,
}

impl Out {
    fn new(file: c_int) -> Result<Out, Errno> {
        Ok(Out { file, text: Temporary::map(TEXT_SIZE).ok_or(libc::ENOMEM)?, size: 0 })
    }

    /// Adds a line; a line that is too long is cut.
    fn line(&mut self, write: impl FnOnce(&mut Line<'_>) -> fmt::Result) -> Result<(), Errno> {
        if self.text.len() - self.size <= LINE_SIZE_MAX {
            self.flush()?;
        }
        let mut line = Line::new(&mut self.text[self.size..self.size + LINE_SIZE_MAX]);
        let _ = write(&mut line);
        line.end();
        self.size += line.bytes().len();
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Errno> {
        let result = sys::write_all_in_time(self.file, &self.text[..self.size], TIME_MAX);
        self.size = 0;
        result.map_err(|(_, errno)| errno)
    }
}
