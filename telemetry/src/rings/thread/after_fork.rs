//! The rings of all threads in a forked child: its one thread keeps its own, and the others are
//! free.
//!
//! ```text
//!  now:     counts of the parent forgotten ─ events recorded unnoticed counted ─ file left
//!  restart: own rings begin again ─ others free ─ slots of missing threads empty
//! ```
//!
//! Design: `.sol.fork` in `design/telemetry.md`.

use super::{RINGS, THREADS, current, index, rings, rings_of, threads};
use crate::block::clock;
use crate::block::losses::Cause;
use crate::block::walk::Walk;
use crate::os::atomic::Ordering;
use crate::os::sys;
use crate::plinth::region;
use crate::registry::registration::{SLOT_COUNT, SLOT_FIRST};
use crate::rings::ring::{Ring, Slot};

/// A forked child is left to itself, in the middle of something: what is counted and recorded from
/// here on is the child's, but does not go out yet. `noticed_late`: events from these ticks may be
/// of the child.
pub(crate) fn leave_parent(noticed_late: Option<u64>) {
    leave_counts(noticed_late);
    // What threads record into a mapped file goes into private memory, before that leaves the file.
    rings().for_each(Ring::leave_file_at_fork);
    rings().for_each(Ring::leave_parent);
}

/// Forgets the parent in all counts. Events of the child are in a block of the parent, so they
/// count as nested.
fn leave_counts(noticed_late: Option<u64>) {
    let own = current();
    // A thread that the child began has no rings yet, and may be the first to notice.
    let any = own.is_none() && sys::thread_number() as u64 != sys::process_ids().0;
    for slot in SLOT_FIRST..SLOT_COUNT {
        let mine = own.and_then(|thread| thread.tables.rings[slot].get());
        for ring in rings_of(slot) {
            ring.counts.reset();
            let may_have = any || mine.is_some_and(|mine| core::ptr::eq(mine, ring));
            if let Some(ticks) = noticed_late.filter(|_| may_have) {
                ring.counts.discard(Cause::Nested, newest_since(ring, ticks));
            }
        }
    }
}

/// Returns the number of events from these ticks on in the block that a ring fills.
fn newest_since(ring: &Ring, ticks: u64) -> u64 {
    let newest = ring.held().next();
    let walk = newest.and_then(|(head, block)| Walk::begin(block, head, ring.buffer()));
    walk.map_or(0, |walk| walk.filter(|spot| spot.ticks >= ticks).count() as u64)
}

/// Restarts all rings, for a forked child, where this thread is the only one: it keeps its own, and
/// the others are free.
pub(crate) fn restart() {
    let own = current();
    let (ticks, index) = (clock::ticks(), index());
    THREADS.process.store(sys::process_ids().0, Ordering::Relaxed);
    if let Some(own) = own {
        own.user.store(sys::thread_number(), Ordering::Relaxed);
    }
    for (slot, all) in RINGS.iter().enumerate().skip(SLOT_FIRST) {
        let mine = own.and_then(|thread| thread.tables.rings[slot].get());
        let mut free_count = 0;
        for ring in rings_of(slot) {
            let is_mine = mine.is_some_and(|mine| core::ptr::eq(mine, ring));
            if !(is_mine && restart_own(slot, ring, ticks, index)) {
                ring.restart(ticks, 0, false);
                free_count += 1;
                if let Some(own) = own.filter(|_| is_mine) {
                    own.tables.rings[slot].set(None);
                }
            }
        }
        if all.free_count.load(Ordering::Relaxed) != free_count {
            all.free_count.store(free_count, Ordering::Relaxed);
        }
    }
    for other in threads().filter(|other| !own.is_some_and(|own| core::ptr::eq(own, *other))) {
        other.tables.slots.iter().for_each(Slot::clear);
        let rings = other.tables.rings.iter().filter(|ring| ring.get().is_some());
        rings.for_each(|ring| ring.set(None));
        other.user.store(0, Ordering::Release);
    }
}

/// Restarts a ring of this thread, out of its slot, so that no signal handler records into it
/// meanwhile. If it was out already, the fork came during the recording of an event. Returns false
/// if the ring is given up: the next event then finds none, and begins the mapped file.
fn restart_own(slot: usize, ring: &'static Ring, ticks: u64, index: u32) -> bool {
    let slot = super::slot(slot);
    let taken = slot.take();
    if taken.is_some() && region::is_expected() {
        return false;
    }
    ring.restart(ticks, index, taken.is_none());
    if let Some(own) = taken {
        slot.put(own);
    }
    true
}
