//! Masks that a debugger changed in memory: the runtime notices, and acts as if the program had
//! changed them.
//!
//! ```text
//!  EventKindControl ─ differs from our last value? ──▶ set, reset, in every registry
//!  output of a registry ─ differs from the noted one? ─▶ set, reset, in that one
//! ```
//!
//! Read on the cold path alone: when a block begins, at a flush, at the end of the program. A
//! debugger may stop the program anywhere and change anything. So its change is the difference of
//! two words: only we change the one, and we change the other by exclusive or. Design:
//! `.control.output` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "a symbol that a debugger finds by its name")]

use crate::os::entry::Entry;
use crate::os::sync::{Guard, Locked};
use crate::os::sys::Errno;
use crate::registry::{defaults, registration};
use crate::stream;
use core::sync::atomic::{AtomicU64, Ordering};

/// The kinds that any registry outputs: bits by the indexes of kinds. The runtime notices a
/// debugger's change when the next block begins, and at every flush.
///
/// N1: one program or shared library has this name once: the linker refuses two versions of this
/// library. Other shared libraries cannot see it (`debug/unit.rs`).
// SAFETY: N1: no other symbol in the same program or library has this name.
#[unsafe(no_mangle)]
pub(crate) static EventKindControl: AtomicU64 = AtomicU64::new(0);

/// The value that we put into `EventKindControl` last.
static PUT: AtomicU64 = AtomicU64::new(0);
/// Held while our value changes.
static TURN: Locked<()> = Locked::new(());

/// Returns the kinds that any registry outputs, by their index.
pub fn output_everywhere() -> u64 {
    registration::all().fold(defaults::OUTPUT.set(), |mask, registered| {
        mask | registered.control.output().load(Ordering::Relaxed)
    })
}

/// Puts the kinds that are output where a debugger sees them. A debugger's own changes stay.
pub(crate) fn put(entry: &Entry) {
    if let Some(turn) = TURN.lock(entry) {
        put_in_turn(turn);
    }
}

fn put_in_turn(_turn: Guard<'_, ()>) {
    let old = PUT.load(Ordering::Relaxed);
    let new = output_everywhere();
    EventKindControl.fetch_xor(old ^ new, Ordering::Relaxed);
    PUT.store(new, Ordering::Relaxed);
}

/// Takes the current masks as the program's own, in a forked child. Without a stream to come it
/// outputs nothing.
pub(crate) fn accept() {
    if !stream::may_begin_again() {
        registration::all().for_each(|each| each.control.output().store(0, Ordering::Relaxed));
    }
    registration::all().for_each(|each| _ = each.note_output());
    if let Some(turn) = TURN.try_lock() {
        put_in_turn(turn);
    }
}

/// Returns whether a debugger changed a mask.
pub(crate) fn is_some() -> bool {
    let is_put = EventKindControl.load(Ordering::Relaxed) == PUT.load(Ordering::Relaxed);
    !is_put || registration::all().any(|each| each.changed_output().0 != 0)
}

/// Returns the bits of `EventKindControl` that a debugger set and reset, and takes them as ours.
pub(super) fn take(entry: &Entry) -> (u64, u64) {
    let Some(_turn) = TURN.lock(entry) else { return (0, 0) };
    let now = EventKindControl.load(Ordering::Relaxed);
    let changed = now ^ PUT.swap(now, Ordering::Relaxed);
    (changed & now, changed & !now)
}

/// Calls `bring_out` with the masks that a debugger wants, in a process that it stopped. Waits for
/// no lock. The rest of the change happens when it is noticed.
pub(crate) fn with_changes(
    bring_out: impl FnOnce() -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    let now = EventKindControl.load(Ordering::Relaxed);
    let changed = now ^ PUT.load(Ordering::Relaxed);
    let masks = || registration::all().skip(1).map(|each| each.control.output());
    masks().for_each(|mask| _ = mask.fetch_or(changed & now, Ordering::Relaxed));
    let result = bring_out();
    masks().for_each(|mask| _ = mask.fetch_and(!(changed & !now), Ordering::Relaxed));
    result
}
