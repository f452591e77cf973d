//! The command that records a program: `eventcnv record`, and `replay record`.
//!
//! ```text
//!  Args ─ run ─┬ calls: LD_PRELOAD=libinterpose.so ─▶ LOG-PID, of each process ─▶ LOG ┐ one
//!              ├ kernel: record_waits ──────────────▶ LOG, or its name.kernel.log ────┘ clock
//!              └ program: keeps its streams, signals and exit code
//! ```
//!
//! Design: `.rep.record` in `design/replay.md`, `.waits.record` in `design/waits.md`.
//!
//! - **Rust**: 1.91 or later. No unsafe code. On systems other than Linux it is empty.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod args;
mod calls;
mod command;
mod content;
#[cfg_attr(not(feature = "kernel"), path = "unbuilt.rs")]
mod kernel;
mod library;
mod logs;
mod program;
mod roster;
mod target;
mod what;

pub use args::{ABOUT, Args, examples};
pub use calls::MARKS_VARIABLE;
pub use command::run;
