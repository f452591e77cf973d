//! Losses outside of rings: events that no buffer could count, and events that the host refused and
//! may still accept.
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
use crate::registry::registration::SLOT_COUNT;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Losses that no buffer could count, by slot, which gives registry and kind.
static UNHOUSED: [Counts; SLOT_COUNT] = [const { Counts::new() }; SLOT_COUNT];
/// Nested events, by slot, that are not in `UNHOUSED` yet: their buffer was being made, or their
/// thread ended. A buffer of the kind counts them. So the log states them with that buffer, even if
/// the host has no room for the store.
static HOUSELESS: [AtomicU64; SLOT_COUNT] = [const { AtomicU64::new(0) }; SLOT_COUNT];
/// Whether a buffer of the slot takes these.
static HAS_HOUSE: [AtomicBool; SLOT_COUNT] = [const { AtomicBool::new(false) }; SLOT_COUNT];
/// Whether `UNHOUSED` has losses that the store has not recorded.
static UNTOLD: AtomicBool = AtomicBool::new(false);

/// The events that the host refused and may still accept, by slot: in waiting parts
/// (unacknowledged.rs), and in rings.
static REFUSED: [AtomicU64; SLOT_COUNT] = [const { AtomicU64::new(0) }; SLOT_COUNT];

/// Counts refused events of a slot, which wait.
pub(crate) fn refuse(slot: Option<usize>, count: u64) {
    change_refused(slot, count, |before| before.saturating_add(count));
}

/// Uncounts refused events: they are in the log now, or counted elsewhere.
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

/// Forgets refused events, in a forked child.
pub(crate) fn forget_refused() {
    for count in REFUSED.iter().filter(|count| count.load(Ordering::Relaxed) != 0) {
        count.store(0, Ordering::Relaxed);
    }
}

/// Returns the losses of a slot outside of its rings.
pub(crate) fn beside_rings(slot: usize) -> Losses {
    let mut losses = Losses::of(0, unhoused(slot));
    let houseless = HOUSELESS.get(slot).map_or(0, |count| count.load(Ordering::Relaxed));
    losses.requested += houseless;
    losses.nested += houseless;
    losses.io += REFUSED.get(slot).map_or(0, |count| count.load(Ordering::Relaxed));
    losses
}

/// Counts events that have no buffer.
pub(crate) fn discard_unhoused(slot: usize, cause: Cause, count: u64) {
    match HOUSELESS.get(slot).filter(|_| cause == Cause::Nested) {
        Some(houseless) => _ = houseless.fetch_add(count, Ordering::Relaxed),
        None => unhoused(slot).discard(cause, count),
    }
    root::discard_unhoused(cause, count);
    UNTOLD.store(true, Ordering::Release);
}

/// Marks that a buffer of this slot exists: it [takes](take_nested) nested events from now on.
pub(crate) fn expect_house(slot: usize) {
    if let Some(has_house) = HAS_HOUSE.get(slot) {
        has_house.store(true, Ordering::Relaxed);
    }
}

/// Returns the nested events of a slot that no other count has, for a buffer to count.
pub(crate) fn take_nested(slot: usize) -> u64 {
    let count = take_houseless(slot);
    root::house(Cause::Nested, count);
    count
}

fn take_houseless(slot: usize) -> u64 {
    // A page without stores stays shared with a forked child.
    let houseless = HOUSELESS.get(slot).filter(|count| count.load(Ordering::Relaxed) != 0);
    houseless.map_or(0, |count| count.swap(0, Ordering::Relaxed))
}

/// Returns the counts of a slot's events that had no buffer.
fn unhoused(slot: usize) -> &'static Counts {
    &UNHOUSED[slot % SLOT_COUNT]
}

/// Resets all counts, in a forked child.
pub(crate) fn reset() {
    (0..SLOT_COUNT).for_each(|slot| {
        unhoused(slot).reset();
        take_houseless(slot);
    });
    root::reset_unhoused();
    UNTOLD.store(false, Ordering::Release);
    forget_refused();
}

/// Passes the counts of all slots with losses to `tell`, if losses were added since the last call.
/// If `tell` returns false, the next call repeats them.
pub(crate) fn tell(tell: &mut dyn FnMut(usize, Cause, u64) -> bool) {
    if !UNTOLD.swap(false, Ordering::Acquire) {
        return;
    }
    for slot in 0..SLOT_COUNT {
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
