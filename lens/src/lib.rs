//! What an event log means: a lens reads events, and answers with slices, trees, tables or logs.
//!
//! ```text
//!  events ─┬─ slices ─────▶ what begins and ends: pairs, durations, percentiles
//!          ├─ counters ───▶ values over time
//!          ├─ calls ──────▶ callers, counts, times, calling contexts
//!          ├─ statements ─▶ counts and times of lines, and those that never ran
//!          └─ waits ──────▶ why threads did not run (feature `waits`)
//! ```
//!
//! No lens opens a file or prints. Rooms, the highest first; an import runs to a lower room:
//! `waits`, `statements`, `calls`, `counters`, `slices`. `waits` and `counters` use `slices` alone.
//!
//! - **Rust**: 1.91 or later. No unsafe code.
#![forbid(unsafe_code)]

pub mod calls;
pub mod counters;
pub mod slices;
pub mod statements;
#[cfg(feature = "waits")]
pub mod waits;
