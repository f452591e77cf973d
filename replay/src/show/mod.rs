//! Counts of a workload, for `show` and for reports.
//!
//! ```text
//!  operations ─ gather.rs ─▶ Shown ── text.rs │ JSON
//!  Frame, Mapping, DWARF, symbols ─ stacks.rs ─┘
//! ```
//!
//! Design: `.rep.show` in `design/replay.md`.

mod gather;
pub(crate) mod stacks;
pub(crate) mod text;

pub(crate) use gather::Gather;
pub use gather::subject;
