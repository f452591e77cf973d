//! A shared library that carries the runtime, for programs that load several.
//!
//! ```text
//!  program ─ dlopen ─▶ left.so: runtime, root, stream     plugin_record(1, 100)
//!          └ dlopen ─▶ right.so: the same, another one    plugin_record(2, 200)
//! ```
//!
//! Design: `.sol.root` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "a symbol that a program finds by its name")]

use calls::traced;
use telemetry::event;

telemetry::events! {
    /// What a library does for a program.
    registry "plugin" version(1, 0, 0);
    kinds standard;

    /// It did something.
    Done(0x0001, always, Object) {
        /// which library
        who: W,
        /// how often before
        index: W,
    }
}

#[traced]
fn record(who: usize, count: usize) {
    (0..count).for_each(|index| event!(Done, who, index));
}

#[traced]
#[expect(dead_code, reason = "a function that is never called")]
fn rest() {}

/// Records events.
// SAFETY: no other symbol of the library has this name.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_record(who: usize, count: usize) {
    record(who, count);
}
