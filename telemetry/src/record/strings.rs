//! Strings and labels that a program adds to its log.
//!
//! ```text
//!  add_string("word counter") ─▶ 7        label(pool, 7)
//! ```
//!
//! Design: `.req.intern`, `.sol.client` in `design/telemetry.md`.

use crate::offered::{Source, StringId};
use crate::os::entry::Entry;
use crate::record::setup;
use crate::store::intern;

/// Adds a string to the log, and returns its number. [`label`] and event types with a string number
/// refer to the string by it. Each call adds the string again, under a new number: a program that
/// uses a string often keeps its number. Returns [`StringId::NONE`] if the string is longer than an
/// event may be, or the store of strings is full.
///
/// ```
/// let pool = Box::new(0);
/// telemetry::label(&raw const *pool, telemetry::add_string("pool of nodes"));
/// ```
#[must_use]
pub fn add_string(string: impl AsRef<[u8]>) -> StringId {
    let entry = Entry::new();
    if !setup::prepare_only(&entry) {
        intern::discard_nested();
        return StringId::NONE;
    }
    intern::intern(&entry, string.as_ref())
}

/// Labels a pointer with a string from now on. [`StringId::NONE`] takes the label away.
pub fn label<T: ?Sized>(pointer: *const T, string: StringId) {
    label_address(pointer.cast::<()>().addr(), string);
}

/// Labels an address, or any other word, with a string from now on.
pub fn label_address(address: usize, string: StringId) {
    let entry = Entry::new();
    if setup::prepare_only(&entry) {
        intern::label(&entry, address, string);
    } else {
        intern::discard_nested();
    }
}

/// Tells where in the program's source text the thing at a pointer stands, a function or a
/// statement. Like a label, the place is never overwritten, and goes into each file of the log.
///
/// ```
/// static SITE: u8 = 0;
/// let source = telemetry::Source { line: line!(), file: file!(), ..Default::default() };
/// telemetry::source(&raw const SITE, source);
/// ```
pub fn source<T: ?Sized>(pointer: *const T, source: Source<'_>) {
    let entry = Entry::new();
    if setup::prepare_only(&entry) {
        intern::source(&entry, pointer.cast::<()>().addr(), source);
    } else {
        intern::discard_nested();
    }
}

/// Does work that names things which several threads may meet at once: one thread at a time does
/// it. The work gets a function that names the thing at an address, with its place in the source
/// text if that has a file, and returns false if the store is full. The work calls no other part of
/// the runtime. Returns `None`, without the work, if this code interrupts the runtime.
pub fn naming<T>(
    work: impl FnOnce(&mut dyn FnMut(usize, &[u8], Source<'_>) -> bool) -> T,
) -> Option<T> {
    let entry = Entry::new();
    if !setup::prepare_only(&entry) {
        intern::discard_nested();
        return None;
    }
    intern::naming(&entry, work)
}
