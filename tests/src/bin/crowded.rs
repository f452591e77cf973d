//! A program with more registries than a stream has room for, for the tests to run.
//!
//! ```text
//!  crowded     an event of each of eight registries of 64 kinds; the last ones are only counted
//! ```
//!
//! Prints the number of events that had no room. Design: `.store.discarded` in `design/format.md`.

#[path = "../../../telemetry/tests/common/registries.rs"]
mod registries;

fn main() {
    registries::wide::record_all();
    println!("{}", telemetry::losses().full);
}
