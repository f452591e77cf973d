//! Losses outside of rings: events that no buffer could count, and events that the host refused and
//! may still accept.
//!
//! ```text
//!  no buffer ─▶ counts of the slot ─▶ store         refused ─▶ count ─▶ in the log
//!  no buffer of its own ─▶ houseless ─ flush ─▶ another buffer of the kind, or counts of the slot
//! ```
//!
//! Design: `.req.loss` in `design/telemetry.md`; `.store.discarded` in `design/format.md`.

use crate::block::losses::{CAUSES, Cause, Counts};
use crate::block::root;
use crate::offered::Losses;
use crate::registry::registration::SLOT_COUNT;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The events of a kind that no ring counts.
struct Unhoused {
    /// Losses that no buffer could count.
    counts: Counts,
    /// Nested events that are not in `counts` yet: their buffer was being made, or their thread
    /// ended. A buffer of the kind counts them. So the log states them with that buffer, even if
    /// the host has no room for the store.
    houseless: AtomicU64,
    /// Whether a buffer of the kind takes these.
    has_house: AtomicBool,
    /// The events that the host refused and may still accept: in waiting parts
    /// (unacknowledged.rs), and in rings.
    refused: AtomicU64,
}

impl Unhoused {
    const fn new() -> Unhoused {
        let (houseless, has_house) = (AtomicU64::new(0), AtomicBool::new(false));
        Unhoused { counts: Counts::new(), houseless, has_house, refused: AtomicU64::new(0) }
    }

    fn take_houseless(&self) -> u64 {
        // A page without stores stays shared with a forked child.
        match self.houseless.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.houseless.swap(0, Ordering::Relaxed),
        }
    }
}

/// By slot, which gives registry and kind.
static SLOTS: [Unhoused; SLOT_COUNT] = [const { Unhoused::new() }; SLOT_COUNT];
/// Whether `counts` has losses that the store has not recorded.
static UNTOLD: AtomicBool = AtomicBool::new(false);

fn of(slot: usize) -> &'static Unhoused {
    &SLOTS[slot % SLOT_COUNT]
}

/// Counts refused events of a slot, which wait.
pub(crate) fn refuse(slot: Option<usize>, count: u64) {
    change_refused(slot, count, |before| before.saturating_add(count));
}

/// Uncounts refused events: they are in the log now, or counted elsewhere.
pub(crate) fn forgive(slot: Option<usize>, count: u64) {
    change_refused(slot, count, |before| before.saturating_sub(count));
}

fn change_refused(slot: Option<usize>, count: u64, change: impl Fn(u64) -> u64) {
    if let Some(slot) = slot.filter(|_| count != 0) {
        let change = |before| Some(change(before));
        let _ = of(slot).refused.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }
}

/// Forgets refused events, in a forked child.
pub(crate) fn forget_refused() {
    for slot in SLOTS.iter().filter(|slot| slot.refused.load(Ordering::Relaxed) != 0) {
        slot.refused.store(0, Ordering::Relaxed);
    }
}

/// Returns the losses of a slot outside of its rings.
pub(crate) fn beside_rings(slot: usize) -> Losses {
    let Unhoused { counts, houseless, refused, .. } = of(slot);
    let mut losses = Losses::of(0, counts);
    let houseless = houseless.load(Ordering::Relaxed);
    losses.requested += houseless;
    losses.nested += houseless;
    losses.io += refused.load(Ordering::Relaxed);
    losses
}

/// Counts events that have no buffer.
pub(crate) fn discard_unhoused(slot: usize, cause: Cause, count: u64) {
    match cause {
        Cause::Nested => _ = of(slot).houseless.fetch_add(count, Ordering::Relaxed),
        _ => of(slot).counts.discard(cause, count),
    }
    root::discard_unhoused(cause, count);
    UNTOLD.store(true, Ordering::Release);
}

/// Marks that a buffer of this slot exists: it [takes](take_nested) nested events from now on.
pub(crate) fn expect_house(slot: usize) {
    of(slot).has_house.store(true, Ordering::Relaxed);
}

/// Returns the nested events of a slot that no other count has, for a buffer to count.
pub(crate) fn take_nested(slot: usize) -> u64 {
    let count = of(slot).take_houseless();
    root::house(Cause::Nested, count);
    count
}

/// Resets all counts, in a forked child.
pub(crate) fn reset() {
    SLOTS.iter().for_each(|slot| {
        slot.counts.reset();
        slot.take_houseless();
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
    for (index, slot) in SLOTS.iter().enumerate() {
        if !slot.has_house.load(Ordering::Relaxed) {
            slot.counts.discard(Cause::Nested, slot.take_houseless());
        }
        for cause in CAUSES {
            let count = slot.counts.discarded(cause);
            if count != 0 && !tell(index, cause, count) {
                UNTOLD.store(true, Ordering::Release);
                return;
            }
        }
    }
}
