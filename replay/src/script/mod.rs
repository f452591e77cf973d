//! Operations as scripts: compiled to a workload.
//!
//! ```text
//!  operations ─ compile ─▶ Workload
//! ```
//!
//! Design: `.rep.workload` in `design/replay.md`.

mod compile;
mod order;
mod slots;
#[cfg(test)]
mod twin;

pub use compile::{Mode, compile};
