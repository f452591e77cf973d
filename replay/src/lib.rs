//! The allocation replayer: what would this program cost under another allocator?
//!
//! ```text
//!  log ─ source ─▶ operations ─ modify ─▶ operations ─ compile ─▶ workload ─ play ─▶ measured ─▶ report
//! ```
//!
//! Design: `design/replay.md`.
pub mod heap;
pub mod measured;
pub mod operation;
pub mod script;
pub mod source;
pub mod workload;
