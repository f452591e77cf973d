//! The allocation replayer: what would this program cost under another allocator?
//!
//! ```text
//!  log -> script (dense objects, one operation list a thread) -> heap -> report
//! ```
//!
//! It will take the allocation events of a log, from this project's runtime or from the Memory Pool
//! System, compile them into a workload without addresses or contents, and play it against other
//! allocators, several times faster than the program that was recorded. This release holds the
//! place of the crate in the workspace and no code. See `.replayer` in `design/telemetry.md`.
#![forbid(unsafe_code)]
