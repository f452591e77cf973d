//! What was lost of a kind beside its rings: events that no buffer could count, and events that the
//! host refused and may still take.
//!
//! ```text
//!  no buffer ─▶ counts of the slot ─▶ store         refused ─▶ count ─▶ in the log
//!  no buffer of its own ─▶ HOUSELESS ─ flush ─▶ another buffer of the kind, or counts of the slot
//! ```
//!
//! Design: `.req.loss` in `design/telemetry.md`; `.store.discarded` in `design/format.md`.

use crate::block::losses::{CAUSES, Cause, Counts};
use crate::block::root;
use crate::offered::Losses;
use crate::registry::registration::{self, SLOT_COUNT};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What no buffer could count: by slot, which says registry and kind.
static UNHOUSED: [Counts; SLOT_COUNT] = [const { Counts::new() }; SLOT_COUNT];
/// Nested events, by slot, that are not in `UNHOUSED` yet. They came while their buffer was made,
/// or while their thread ended: a buffer of the kind counts them. So a log has this number where it
/// has that buffer's, also where the host has no room for the store.
static HOUSELESS: [AtomicU64; SLOT_COUNT] = [const { AtomicU64::new(0) }; SLOT_COUNT];
/// Whether a buffer of the slot takes these.
static HAS_HOUSE: [AtomicBool; SLOT_COUNT] = [const { AtomicBool::new(false) }; SLOT_COUNT];
/// Whether there is something in `UNHOUSED` that the store was not told.
static UNTOLD: AtomicBool = AtomicBool::new(false);

/// Events that the host refused and may still take, by slot: in parts that wait
/// (unacknowledged.rs), and in rings.
static REFUSED: [AtomicU64; SLOT_COUNT] = [const { AtomicU64::new(0) }; SLOT_COUNT];

/// The host refused so many events of a slot, which wait.
pub(crate) fn refuse(slot: Option<usize>, count: u64) {
    change_refused(slot, count, |before| before.saturating_add(count));
}

/// So many of these are in the log now, or counted otherwise.
pub(crate) fn forgive(slot: Option<usize>, count: u64) {
    change_refused(slot, count, |before| before.saturating_sub(count));
}

fn change_refused(slot: Option<usize>, count: u64, change: impl Fn(u64) -> u64) {
    let refused = slot.and_then(|slot| REFUSED.get(slot)).filter(|_| count != 0);
    if let Some(refused) = refused {
        let change = |before| Some(change(before));
        let _ = refused.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }
}

/// None waits that was refused. For a forked child.
pub(crate) fn forget_refused() {
    for count in REFUSED.iter().filter(|count| count.load(Ordering::Relaxed) != 0) {
        count.store(0, Ordering::Relaxed);
    }
}

/// What is counted of a slot beside its rings.
pub(crate) fn beside_rings(slot: usize) -> Losses {
    let mut losses = Losses::of(0, unhoused(slot));
    losses.nested += HOUSELESS.get(slot).map_or(0, |count| count.load(Ordering::Relaxed));
    losses.io += REFUSED.get(slot).map_or(0, |count| count.load(Ordering::Relaxed));
    losses
}

/// Counts an event that has no buffer.
pub(crate) fn discard_unhoused(slot: usize, cause: Cause, count: u64) {
    match HOUSELESS.get(slot).filter(|_| cause == Cause::Nested) {
        Some(houseless) => _ = houseless.fetch_add(count, Ordering::Relaxed),
        None => unhoused(slot).discard(cause, count),
    }
    root::discard_unhoused(cause, count);
    UNTOLD.store(true, Ordering::Release);
}

/// There is a buffer of this slot: it [takes](take_nested) nested events from now on.
pub(crate) fn expect_house(slot: usize) {
    if let Some(has_house) = HAS_HOUSE.get(slot) {
        has_house.store(true, Ordering::Relaxed);
    }
}

/// Gives the nested events of a slot that are in no other count: a buffer counts them from now on.
pub(crate) fn take_nested(slot: usize) -> u64 {
    let count = take_houseless(slot);
    root::house(Cause::Nested, count);
    count
}

fn take_houseless(slot: usize) -> u64 {
    // What is zero stays on a page that a forked child shares with its parent.
    let houseless = HOUSELESS.get(slot).filter(|count| count.load(Ordering::Relaxed) != 0);
    houseless.map_or(0, |count| count.swap(0, Ordering::Relaxed))
}

/// The counts of a slot's events that had no buffer.
fn unhoused(slot: usize) -> &'static Counts {
    registration::refused_counts(slot).unwrap_or(&UNHOUSED[slot % SLOT_COUNT])
}

/// Nothing was lost so far. For a forked child.
pub(crate) fn reset() {
    registration::slots().for_each(|slot| {
        unhoused(slot).reset();
        take_houseless(slot);
    });
    root::reset_unhoused();
    UNTOLD.store(false, Ordering::Release);
    forget_refused();
}

/// Gives the counts of all slots that had losses, if some were added since the last time; and once
/// more the next time, where `tell` says false.
pub(crate) fn tell(tell: &mut dyn FnMut(usize, Cause, u64) -> bool) {
    if !UNTOLD.swap(false, Ordering::Acquire) {
        return;
    }
    for slot in registration::slots() {
        if !HAS_HOUSE.get(slot).is_some_and(|has_house| has_house.load(Ordering::Relaxed)) {
            unhoused(slot).discard(Cause::Nested, take_houseless(slot));
        }
        for cause in CAUSES {
            let count = unhoused(slot).discarded(cause);
            if count != 0 && !tell(slot, cause, count) {
                UNTOLD.store(true, Ordering::Release);
                return;
            }
        }
    }
}
