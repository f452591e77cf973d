//! The program of the README, word for word: one event.
//!
//! ```text
//!  README.md, first screen ── tests/readme.rs ──▶ the same text, and the dump that it shows
//! ```
#![forbid(unsafe_code)]

telemetry::events! {
    /// What happens in a shop.
    registry "shop" version(1, 0, 0);
    kinds standard;

    /// Something was sold.
    Sold(0x0001, always, Object) {
        /// how many
        count: W,
        /// what
        what: S,
    }
}

fn main() {
    telemetry::event!(Sold, 3usize, "apples");
}
