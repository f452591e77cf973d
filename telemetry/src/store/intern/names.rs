//! The events of the store: strings, labels, places in the source text, threads, masks.
//!
//! ```text
//!  intern("shop::sell") ─▶ 7        label(site, 7)        source(site, line 12 of "src/shop.rs")
//! ```
//!
//! Design: `.sol.client` in `design/telemetry.md`; `.store` in `design/format.md`.

use super::{locked, record};
use crate::offered::{Source, StringId};
use crate::os::atomic::{AtomicUsize, Ordering};
use crate::os::entry::Entry;
use crate::registry::registration::Registered;
use eventdef::store;

static STRING: AtomicUsize = AtomicUsize::new(1);

/// Keeps a string; returns [`StringId::NONE`] if the store is full.
pub(crate) fn intern(entry: &Entry, string: &[u8]) -> StringId {
    let id = STRING.fetch_add(1, Ordering::Relaxed);
    if record(entry, store::Intern::new(id, string)) { StringId(id) } else { StringId::NONE }
}

/// Does work that names things which several threads may meet at once, with the lock of the store:
/// so one of them names them, and the others see what it has done. The work gets a function that
/// names the thing at an address, with its place in the source text if that has a file. Its result
/// is false if the store is full. Returns `None` if that must wait.
pub(crate) fn naming<T>(
    entry: &Entry,
    work: impl FnOnce(&mut dyn FnMut(usize, &[u8], Source<'_>) -> bool) -> T,
) -> Option<T> {
    locked(entry, |store| {
        work(&mut |address, name, source| {
            let id = STRING.fetch_add(1, Ordering::Relaxed);
            store.record(entry, &store::Intern::new(id, name))
                && store.record(entry, &store::Label::new(address, id))
                && (source.file.is_empty() || store.record(entry, &place(address, source)))
        })
    })
}

pub(crate) fn label(entry: &Entry, address: usize, string: StringId) {
    record(entry, store::Label::new(address, string.0));
}

/// Records where something stands in the program's source text (`.store.source`).
pub(crate) fn source(entry: &Entry, address: usize, source: Source<'_>) {
    record(entry, place(address, source));
}

fn place(address: usize, source: Source<'_>) -> store::Source<'_> {
    let Source { line, column, offset, size, file } = source;
    store::Source::new(address, line, column, offset, size, file)
}

/// Records that a thread began to record (`.store.thread`).
pub(crate) fn record_thread(entry: &Entry, index: u32, number: usize, name: &[u8]) {
    record(entry, store::Thread::new(index, number, name));
}

/// Records the masks of a registry (`.store.control`).
pub(crate) fn record_control(entry: &Entry, registered: &Registered) {
    let [recorded, output] = [registered.control.recorded(), registered.control.output()]
        .map(|mask| mask.load(Ordering::Relaxed));
    let [recorded_low, output_low] = [recorded, output].map(|mask| mask as u32);
    let [recorded_high, output_high] = [recorded, output].map(|mask| (mask >> 32) as u32);
    let index = u32::from(registered.index);
    let event = store::Control::new(index, recorded_low, recorded_high, output_low, output_high);
    record(entry, event);
}
