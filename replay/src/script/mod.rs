//! Turns operations into other operations, into files, and into workloads.
//!
//! ```text
//!  operations ─ modify ─▶ operations ─ compile ─▶ Workload
//!                            │  ▲
//!                            ▼  │ saved: FILE.ops
//! ```
//!
//! Design: `.rep.workload`, `.rep.modify`, `.rep.file` in `design/replay.md`.

mod compile;
mod file;
mod live;
mod modify;
mod order;
mod renumber;
mod saved;
#[cfg(test)]
mod saved_tests;
mod slots;
#[cfg(test)]
pub(crate) mod twin;

pub use compile::{Mode, compile};
pub(crate) use file::write_with;
pub use file::{Counts, write};
pub(crate) use modify::Modify;
pub use modify::{Modification, Modified, modify};
pub use saved::{Saved, SavedError, is_saved};
