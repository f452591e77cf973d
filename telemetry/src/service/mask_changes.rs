//! Masks that a debugger changed, in memory alone: noticed, and then as if the program had changed
//! them.
//!
//! ```text
//!  EventKindControl ─ differs from what we put there? ─▶ set, reset, in every registry
//!  output of a registry ─ differs from what is known? ─▶ set, reset, in that one
//! ```
//!
//! Looked at on the cold path alone: when a block begins, at a flush, at the end of the program.
//! A debugger may stop us anywhere and change what it likes: so what it changed is the difference
//! of two words, of which we alone change the one, and the other by exclusive or. Design:
//! `.control.output` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "a symbol that a debugger finds by its name")]

use crate::os::ordinary;
use crate::os::sync::{Entry, Guard, Locked};
use crate::os::sys::Errno;
use crate::registry::registration::{self, Registered};
use crate::service::control;
use crate::stream;
use core::sync::atomic::{AtomicU64, Ordering};

/// The kinds that are output, of all registries: bits by the indexes of kinds. What a debugger
/// changes here is noticed when the next block begins, and at every flush.
///
/// N1: what is linked into one program or shared library has this name once: two versions of this
///     library the linker refuses. It is hidden from other shared libraries (`debug/unit.rs`).
// SAFETY: N1: no other symbol that is linked into the same program or library has this name.
#[unsafe(no_mangle)]
pub(crate) static EventKindControl: AtomicU64 = AtomicU64::new(0);

/// What we put into `EventKindControl` last.
static PUT: AtomicU64 = AtomicU64::new(0);
/// Held while what we put there, or know to be there, changes.
static TURN: Locked<()> = Locked::new(());

/// Puts the kinds that are output, of any registry, where a debugger sees them. What it changed
/// there meanwhile stays changed.
pub(crate) fn put(entry: &Entry) {
    if let Some(turn) = TURN.lock(entry) {
        put_in_turn(turn);
    }
}

fn put_in_turn(_turn: Guard<'_, ()>) {
    let old = PUT.load(Ordering::Relaxed);
    let new = control::output_everywhere();
    EventKindControl.fetch_xor(old ^ new, Ordering::Relaxed);
    PUT.store(new, Ordering::Relaxed);
}

/// What the masks are now was not changed by a debugger: in a forked child.
pub(crate) fn accept() {
    registration::all().for_each(|each| _ = each.note_output());
    if let Some(turn) = TURN.try_lock() {
        put_in_turn(turn);
    }
}

/// Does what a debugger's changes of masks ask for, if there are any. On the cold path, with no
/// lock held.
pub(crate) fn notice(entry: &Entry) {
    let is_put = EventKindControl.load(Ordering::Relaxed) == PUT.load(Ordering::Relaxed);
    if is_put && registration::all().all(Registered::is_output_noted) || entry.is_nested() {
        return;
    }
    follow(entry);
}

#[cold]
fn follow(entry: &Entry) {
    let (set, reset) = take_changes(entry);
    if set != 0 {
        control::set_output_in(entry, set);
    }
    if reset != 0 {
        control::reset_output_in(entry, reset);
    }
    control::follow_masks(entry);
    // A stream that a debugger began has no writer yet.
    if stream::standing() == stream::Standing::Open {
        ordinary::expect();
    }
}

/// The bits of `EventKindControl` that a debugger set and reset, which count as put from now on.
fn take_changes(entry: &Entry) -> (u64, u64) {
    let Some(_turn) = TURN.lock(entry) else { return (0, 0) };
    let now = EventKindControl.load(Ordering::Relaxed);
    let changed = now ^ PUT.swap(now, Ordering::Relaxed);
    (changed & now, changed & !now)
}

/// Does something with the masks as a debugger wants them, in a process that it has stopped, where
/// no lock is waited for. What they ask for beyond that is done when they are noticed.
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
