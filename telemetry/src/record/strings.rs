//! Strings and labels, as a program gives them.
//!
//! ```text
//!  intern("word counter") ─▶ 7        label(pool, 7)
//! ```
//!
//! Design: `.req.intern`, `.sol.client` in `design/telemetry.md`.

use crate::offered::StringId;
use crate::os::sync::Entry;
use crate::record::setup;
use crate::store::intern;

/// Gives a string a number, by which [`label`] and event types with a string number refer to it.
/// Each call gives a new number. [`StringId::NONE`] where it could not be kept: it is longer than
/// an event may be, or the store is full.
pub fn intern(string: impl AsRef<[u8]>) -> StringId {
    let entry = Entry::new();
    if !setup::prepare_only(&entry) {
        intern::discard_nested();
        return StringId::NONE;
    }
    intern::intern(&entry, string.as_ref())
}

/// Calls something by a string from now on: a pointer, an address, or any word.
pub fn label<T: ?Sized>(what: *const T, string: StringId) {
    label_address(what.cast::<()>().addr(), string);
}

/// The same for an address that is no pointer.
pub fn label_address(address: usize, string: StringId) {
    let entry = Entry::new();
    if setup::prepare_only(&entry) {
        intern::label(&entry, address, string);
    } else {
        intern::discard_nested();
    }
}
