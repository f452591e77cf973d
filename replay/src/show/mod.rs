//! Counts of a workload, for `show` and for reports.
//!
//! ```text
//!  operations ─ gather.rs ─▶ Shown ── answer.rs ─▶ text, CSV, JSON
//!  Frame, Mapping, DWARF, symbols ─ stacks.rs ─┘
//! ```
//!
//! Design: `.rep.show` in `design/replay.md`.

pub(crate) mod answer;
mod gather;
pub(crate) mod stacks;

pub(crate) use gather::Gather;
pub use gather::subject;
