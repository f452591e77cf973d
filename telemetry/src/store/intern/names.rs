//! The events of the store that give names: strings, labels, places in the source text, threads.
//!
//! ```text
//!  intern("shop::sell") ─▶ 7        label(site, 7)        source(site, line 12 of "src/shop.rs")
//! ```
//!
//! Design: `.sol.client` in `design/telemetry.md`; `.store` in `design/format.md`.

use super::record;
use crate::offered::{Source, StringId};
use crate::os::atomic::{AtomicUsize, Ordering};
use crate::os::sync::Entry;
use eventdef::store;

static STRING: AtomicUsize = AtomicUsize::new(1);

/// Keeps a string; returns [`StringId::NONE`] if the store is full.
pub(crate) fn intern(entry: &Entry, string: &[u8]) -> StringId {
    let id = STRING.fetch_add(1, Ordering::Relaxed);
    if record(entry, store::Intern::new(id, string)) { StringId(id) } else { StringId::NONE }
}

pub(crate) fn label(entry: &Entry, address: usize, string: StringId) {
    record(entry, store::Label::new(address, string.0));
}

/// Records where something stands in the program's source text (`.store.source`).
pub(crate) fn source(entry: &Entry, address: usize, source: Source<'_>) {
    let Source { line, column, offset, size, file } = source;
    record(entry, store::Source::new(address, line, column, offset, size, file));
}

/// Records that a thread began to record (`.store.thread`).
pub(crate) fn record_thread(entry: &Entry, index: u32, number: usize, name: &[u8]) {
    record(entry, store::Thread::new(index, number, name));
}
