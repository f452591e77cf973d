//! The kernel's own events, recorded: a private instance of tracefs.
//!
//! ```text
//!  Recording::begin ─ tracefs: an instance, its clock, its events
//!      │                 per_cpu/cpuN/trace_pipe_raw ── drain: splice ──▶ spill, a file
//!      │                 trace_marker ── clock: syncs        /proc ── threads: ThreadExists, names
//!  Recording::finish ─ the spill ── decode ──▶ rows ──▶ log; the instance is gone
//!  without rights, and samples: rings ─ perf_event_open ──▶ spill ── perf ──▶ rows ──▶ log
//! ```
//!
//! While it records, pages go unread from the kernel to the spill: rows are made at the end.
//!
//! Design: `.waits.record` in `design/waits.md`.
//!
//! - **Rust**: 1.91 or later. No unsafe code. On systems other than Linux it is empty.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod clock;
mod decode;
mod drain;
mod error;
mod own;
mod perf;
mod recording;
mod rings;
mod sockets;
mod stolen;
mod threads;
mod tracefs;

pub use decode::Recorded;
pub use error::{CollectError, SPILL_SIZE_MAX};
pub use own::OwnRecording;
pub use recording::{Options, Recording};
