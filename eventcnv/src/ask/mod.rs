//! The questions that a log answers: a folder each.
//!
//! ```text
//!  mod.rs      arguments, help, the work
//!  reading.rs  events of all processors, to what the question asks ─┐
//!  summary.rs  that, added up ──────────────────────────────────────┴─▶ view.rs ──▶ Table
//! ```
//!
//! The page and the exports use the same readings and sums. Design: `design/output.md`.

pub(crate) mod calls;
pub(crate) mod diff;
pub(crate) mod lines;
pub(crate) mod pairs;
#[cfg(feature = "paths")]
pub(crate) mod paths;
pub(crate) mod stats;
#[cfg(feature = "waits")]
pub(crate) mod waits;
