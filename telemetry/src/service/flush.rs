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

use crate::offered::Losses;
use crate::os::atomic::Ordering;
use crate::os::ordinary;
use crate::os::sync::Entry;
use crate::registry::registration::{self, Registered, SLOT_COUNT};
use crate::registry::unhoused;
use crate::rings::ring::Ring;
use crate::rings::thread;
use crate::service::mask_changes;
use crate::store::intern;
use crate::stream;
use eventdef::{KindSet, TypedControl};
use eventlog::format::BlockHeader;

/// Writes the recorded events of all threads, of the kinds that are output. Any thread may call it,
/// at any time. In a signal handler that interrupted the runtime, except while it recorded into a
/// block, it does nothing.
pub fn flush() {
    let entry = Entry::new();
    if entry.is_nested() {
        return;
    }
    mask_changes::notice(&entry);
    ordinary::catch_up(&entry);
    flush_rings(&entry);
    stream::write_out(&entry);
}

fn flush_rings(entry: &Entry) {
    for slot in 0..SLOT_COUNT {
        thread::house_nested(slot);
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
        thread::house_nested(slot);
        thread::each_ring(slot, |ring| {
            ring.flush(entry);
            false
        });
    }
    intern::flush(entry);
    stream::write_out(entry);
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

/// Brings everything out, and ends the stream (`.part.end`).
pub(crate) fn end_stream() {
    let entry = Entry::promised();
    mask_changes::notice(&entry);
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
            // In blocks of their own, which a slow receiver gets in the place of others.
            parts.deliver();
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
        thread::house_nested(slot);
        thread::each_ring(slot, |ring| {
            account(ring).is_some_and(|header| !parts.put_account(header))
        });
    }
}

/// Counts the events of all registries that were requested, recorded and lost so far.
#[must_use]
pub fn losses() -> Losses {
    let mut sum = Losses::default();
    for slot in registration::slots() {
        sum += losses_of_slot(slot);
    }
    sum
}

/// Counts the events of these kinds of one registry.
#[must_use]
pub fn losses_of<K: KindSet>(control: &'static TypedControl<K>, kinds: K) -> Losses {
    let mut sum = Losses::default();
    let registered = registration::all().find(|found| core::ptr::eq(found.control, &**control));
    if let Some(registered) = registered {
        for slot in registered.slots_of(kinds.bits()) {
            sum += losses_of_slot(slot);
        }
    }
    sum
}

/// Counts the strings, labels and other events of the store.
#[must_use]
pub fn store_losses() -> Losses {
    intern::losses(&Entry::new())
}

fn losses_of_slot(slot: usize) -> Losses {
    let mut sum = unhoused::beside_rings(slot);
    thread::each_ring(slot, |ring| {
        sum += ring.losses();
        false
    });
    sum
}
