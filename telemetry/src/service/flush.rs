//! Flushes: from any thread, and when the program exits.
//!
//! ```text
//!  flush ─▶ each ring that is output: its waiting blocks, then what is new
//! ```
//!
//! A flush copies what other threads have published, without disturbing them. Design: `.sol.flush`,
//! `.sol.exit` in `design/telemetry.md`; `.stream.grow`, `.part.end` in `design/format.md`.

use crate::offered::{Losses, Moment};
use crate::os::entry::Entry;
use crate::os::{observers, ordinary};
use crate::plinth::region;
use crate::registry::registration::{self, SLOT_COUNT};
use crate::registry::unhoused;
use crate::rings::ring::Ring;
use crate::rings::thread;
use crate::service::control;
use crate::store::intern;
use crate::stream;
use eventdef::{KindSet, TypedControl};
use eventlog::format::BlockHeader;

/// Writes the recorded events of all threads, of the kinds that are output. Any thread may call it,
/// at any time. In a signal handler that interrupted the runtime, except while it recorded into a
/// block, it does nothing.
pub fn flush() {
    observers::tell(Moment::Flush);
    let entry = Entry::new();
    if entry.is_nested() {
        return;
    }
    control::follow_masks(&entry);
    ordinary::catch_up(&entry);
    flush_rings(&entry);
    put_sync(&entry);
    stream::write_out(&entry);
}

/// Puts a clock sync into a mapped file, whose blocks have none before they are full.
fn put_sync(entry: &Entry) {
    if region::is_open()
        && let Some(header) = thread::rings().find_map(|ring| ring.account_in_file(entry))
        && let Some(mut parts) = stream::parts(entry)
    {
        parts.put_sync(header);
    }
}

fn flush_rings(entry: &Entry) {
    thread::flush_slots(entry, 0..SLOT_COUNT);
    intern::flush(entry);
}

/// Outputs the events that this process recorded so far of these kinds, if they are output. The
/// observers are not told.
pub fn flush_some<K: KindSet>(control: &'static TypedControl<K>, kinds: K) {
    let entry = Entry::new();
    if let Some(registered) = registration::find(control).filter(|_| !entry.is_nested()) {
        thread::flush_kinds(&entry, registered, kinds.bits());
    }
}

/// Outputs everything, and ends the stream (`.part.end`).
pub(crate) fn end_stream() {
    let entry = Entry::promised();
    control::follow_masks(&entry);
    thread::leave(&entry);
    flush_rings(&entry);
    // A kind may have been output until just now: wait for its writers.
    thread::rings().for_each(|ring| ring.wait(&entry));
    if let Some(mut parts) = stream::parts(&entry) {
        let was_refused = parts.was_refused();
        if was_refused && parts.deliver() {
            put_accounts(&mut parts, Ring::last_account);
        } else if parts.may_be_lost() {
            // In blocks of their own: a slow receiver gets them in place of others.
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

/// Puts the counts of each buffer, for a receiver or a disk that may lack its events.
fn put_accounts(
    parts: &mut stream::Parts<'_>,
    account: impl Fn(&'static Ring) -> Option<BlockHeader>,
) {
    let mut is_refused = |ring| account(ring).is_some_and(|header| !parts.put_account(header));
    for slot in 0..SLOT_COUNT {
        thread::house_nested(slot);
        let _ = thread::rings_of(slot).any(&mut is_refused);
    }
}

/// Counts the events of all registries that were requested, recorded and lost so far.
#[must_use]
pub fn losses() -> Losses {
    losses_of_slots(0..SLOT_COUNT)
}

/// Counts the events of these kinds of one registry.
#[must_use]
pub fn losses_of<K: KindSet>(control: &'static TypedControl<K>, kinds: K) -> Losses {
    let registered = registration::find(control);
    let kinds = kinds.bits();
    losses_of_slots(registered.into_iter().flat_map(|registered| registered.slots_of(kinds)))
}

/// Counts the strings, labels and other events of the store.
#[must_use]
pub fn store_losses() -> Losses {
    intern::losses(&Entry::new())
}

/// Returns the losses of these slots, in their rings and outside.
pub(crate) fn losses_of_slots(slots: impl Iterator<Item = usize>) -> Losses {
    let mut sum = Losses::default();
    for slot in slots {
        sum += unhoused::beside_rings(slot);
        thread::rings_of(slot).for_each(|ring| sum += ring.losses());
    }
    sum
}
