//! Flushing: from any thread, and when the program exits.
//!
//! ```text
//!  flush ─▶ each ring that is output: blocks that wait, then what is new
//!        ─▶ store ─▶ parts block ─▶ plinth
//! ```
//!
//! The threads that record are not disturbed: what they have published is copied. Design:
//! `.sol.flush`, `.sol.exit` in `design/telemetry.md`; `.stream.grow`, `.part.end` in
//! `design/format.md`.

use crate::block::losses;
use crate::inspect::debug;
use crate::offered::Losses;
use crate::os::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::os::sync::{Entry, without_unwinding};
use crate::os::{ordinary, sys};
use crate::registry::registration::{self, Registered};
use crate::rings::ring::Ring;
use crate::rings::thread::{self, SLOT_COUNT};
use crate::service::listener;
use crate::store::intern;
use crate::stream;
use eventdef::Control;
use eventlog::format::BlockHeader;

/// The [`thread::place`] of the thread that exits the program; 0: none does so far. From then on it
/// alone puts something into the stream.
static EXITING: AtomicUsize = AtomicUsize::new(0);
/// Whether `at_exit` will be called, or called once more.
static EXPECTED: AtomicBool = AtomicBool::new(false);

/// Brings out what was recorded so far, by all threads, of kinds that are output. From any thread,
/// at any time; in a signal handler that interrupted the runtime at other work than recording into
/// a block, it does nothing.
pub fn flush() {
    let entry = Entry::new();
    if entry.is_nested() {
        return;
    }
    debug::notice(&entry);
    ordinary::catch_up(&entry);
    flush_rings(&entry);
    write_parts(&entry);
}

fn flush_rings(entry: &Entry) {
    for slot in 0..SLOT_COUNT {
        thread::each_ring(slot, |ring| {
            ring.flush(entry);
            false
        });
    }
    intern::flush(entry);
}

/// Brings out what was recorded so far of these kinds of a registry, if they are output.
pub(crate) fn flush_kinds(entry: &Entry, registered: &Registered, kinds: u64) {
    if registered.control.output().load(Ordering::Relaxed) & kinds == 0 {
        return;
    }
    for slot in registered.slots_of(kinds) {
        thread::each_ring(slot, |ring| {
            ring.flush(entry);
            false
        });
    }
    intern::flush(entry);
    write_parts(entry);
}

/// Waits for whoever is writing blocks of these kinds of a registry.
pub(crate) fn wait_for_kinds(entry: &Entry, registered: &Registered, kinds: u64) {
    for slot in registered.slots_of(kinds) {
        thread::each_ring(slot, |ring| {
            ring.wait(entry);
            false
        });
    }
}

/// Writes the parts that were put together.
pub(crate) fn write_parts(entry: &Entry) {
    if let Some(mut parts) = stream::parts(entry) {
        parts.write();
    }
}

/// Whether some kind of some registry is output.
pub(crate) fn is_something_output() -> bool {
    registration::all().any(|each| each.control.output().load(Ordering::Relaxed) != 0)
}

/// Asks for the normal exit of the program. Where this may be no ordinary code the linker has asked
/// for it: that call comes last of all.
pub(crate) fn expect_exit(entry: &Entry) {
    if !EXPECTED.swap(true, Ordering::Relaxed)
        && (!sys::IS_EXIT_LINKED || ordinary::is_ordinary(entry))
    {
        sys::at_exit(at_exit);
    }
}

/// The same where the program is not exiting, for a stream that begins.
pub(crate) fn expect_exit_of_stream(entry: &Entry) {
    if !is_exiting() {
        expect_exit(entry);
    }
}

/// Whether the program exits.
pub(crate) fn is_exiting() -> bool {
    EXITING.load(Ordering::Relaxed) != 0
}

/// The same once the program is exiting, for what a function of the program's own records that is
/// called at exit after ours. For the slow path, where such an event comes, as `at_exit` has left
/// the thread without rings.
pub(crate) fn expect_exit_again(entry: &Entry) {
    if is_exiting() && !is_exit_elsewhere() {
        expect_exit(entry);
    }
}

/// In a forked child no other thread exits the program; the call for its exit may have been used up
/// by one, or have been about to be arranged.
pub(crate) fn forget_exit() {
    if is_exit_elsewhere() {
        EXITING.store(0, Ordering::Relaxed);
        EXPECTED.store(false, Ordering::Relaxed);
    }
}

/// Whether another thread exits the program: what this one records waits for it, and stays in
/// memory when the process is gone. To be asked under the lock of what is to go out: whoever passed
/// before the exit began, and still writes, holds that lock, for which `at_exit` waits.
pub(crate) fn is_exit_elsewhere() -> bool {
    match EXITING.load(Ordering::Relaxed) {
        0 => false,
        thread => thread != thread::place(),
    }
}

/// Whether this thread exits the program: it alone may wait for a slow host, for a while.
pub(crate) fn is_exit_here() -> bool {
    match EXITING.load(Ordering::Relaxed) {
        0 => false,
        thread => thread == thread::place(),
    }
}

/// The normal exit of the program: everything goes out, and the stream ends (`.part.end`).
pub(crate) extern "C" fn at_exit() {
    // Arranged twice, by a thread that a fork left half-way: once is enough.
    if EXPECTED.swap(false, Ordering::Relaxed) {
        EXITING.store(thread::place(), Ordering::Relaxed);
        without_unwinding(end_stream);
    }
}

fn end_stream() {
    listener::end();
    let entry = Entry::promised();
    debug::notice(&entry);
    thread::leave(&entry);
    flush_rings(&entry);
    // A kind that was output until just now may still have its writers.
    for slot in 0..SLOT_COUNT {
        thread::each_ring(slot, |ring| {
            ring.wait(&entry);
            false
        });
    }
    if let Some(mut parts) = stream::parts(&entry) {
        let was_refused = parts.was_refused();
        if was_refused && parts.deliver() {
            put_accounts(&mut parts, Ring::last_account);
        } else if parts.may_be_lost() {
            put_accounts(&mut parts, Ring::account);
        }
        if !parts.end() && was_refused {
            parts.begin_last();
            put_accounts(&mut parts, Ring::last_account);
            parts.end();
        }
        parts.finish();
    }
}

/// Puts what each buffer counted, for a receiver or a disk that may not have its events.
fn put_accounts(
    parts: &mut stream::Parts<'_>,
    account: impl Fn(&'static Ring) -> Option<BlockHeader>,
) {
    for slot in 0..SLOT_COUNT {
        thread::each_ring(slot, |ring| {
            account(ring).is_some_and(|header| !parts.put_account(header))
        });
    }
}

/// What was requested, recorded and lost so far, in all registries of the program.
pub fn losses() -> Losses {
    let mut sum = Losses::default();
    for slot in registration::slots() {
        sum += losses_of_slot(slot);
    }
    sum
}

/// The same of the kinds of one registry.
pub fn losses_of(control: &'static Control, kinds: impl Into<u64>) -> Losses {
    let kinds = kinds.into();
    let mut sum = Losses::default();
    let registered = registration::all().find(|found| core::ptr::eq(found.control, control));
    if let Some(registered) = registered {
        for slot in registered.slots_of(kinds) {
            sum += losses_of_slot(slot);
        }
    }
    sum
}

/// The same of interned strings, labels and the rest of the store.
pub fn store_losses() -> Losses {
    intern::losses(&Entry::new())
}

fn losses_of_slot(slot: usize) -> Losses {
    let mut sum = losses::beside_rings(slot);
    thread::each_ring(slot, |ring| {
        sum += ring.losses();
        false
    });
    sum
}
