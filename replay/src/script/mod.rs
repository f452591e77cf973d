//! Turns operations into other operations, and into workloads.
//!
//! ```text
//!  operations ─ modify ─▶ operations ─ compile ─▶ Workload
//! ```
//!
//! Design: `.rep.workload`, `.rep.modify` in `design/replay.md`.

mod compile;
mod live;
mod modify;
mod order;
mod renumber;
mod slots;
#[cfg(test)]
pub(crate) mod twin;

pub use compile::{Mode, compile};
pub(crate) use modify::{Modified, Modify, modify};
