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

use crate::losses::{self, Losses};
use crate::sync::Entry;
use crate::thread::{self, SLOT_COUNT};
use crate::{intern, registration, stream};
use core::sync::atomic::{AtomicBool, Ordering};
use eventdef::Control;

/// Whether the program is exiting: a line is drawn under the stream.
static EXITING: AtomicBool = AtomicBool::new(false);

/// Brings out what was recorded so far, by all threads, of kinds that are output. From any thread,
/// at any time; from a signal handler as far as what it interrupted allows.
pub fn flush() {
    let entry = Entry::new();
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

/// Writes the parts that were put together.
pub(crate) fn write_parts(entry: &Entry) {
    if let Some(mut parts) = stream::parts(entry) {
        parts.write();
    }
}

/// The normal exit of the program: everything goes out, and the stream ends (`.part.end`).
pub(crate) extern "C" fn at_exit() {
    EXITING.store(true, Ordering::Relaxed);
    let entry = Entry::new();
    flush_rings(&entry);
    if let Some(mut parts) = stream::parts(&entry) {
        parts.finish();
    }
}

/// What was requested, recorded and lost so far, in all registries of the program.
pub fn losses() -> Losses {
    let entry = Entry::new();
    let mut sum = Losses::default();
    for slot in registration::slots() {
        sum += losses_of_slot(&entry, slot);
    }
    sum
}

/// The same of the kinds of one registry.
pub fn losses_of(control: &'static Control, kinds: impl Into<u64>) -> Losses {
    let kinds = kinds.into();
    let entry = Entry::new();
    let mut sum = Losses::default();
    let registered = registration::all().find(|found| core::ptr::eq(found.control, control));
    if let Some(registered) = registered {
        for slot in registered.slots_of(kinds) {
            sum += losses_of_slot(&entry, slot);
        }
    }
    sum
}

/// The same of interned strings, labels and the rest of the store.
pub fn store_losses() -> Losses {
    intern::losses(&Entry::new())
}

fn losses_of_slot(entry: &Entry, slot: usize) -> Losses {
    let mut sum = Losses::of(0, losses::unhoused(slot));
    thread::each_ring(slot, |ring| {
        sum += ring.losses(entry);
        false
    });
    sum
}
