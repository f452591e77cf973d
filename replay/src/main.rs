//! The tool: the library's commands, with the built-in heaps.
//!
//! ```text
//!  main ── play::built_in() ──▶ replay::main_with ──▶ exit code
//! ```
//!
//! Design: `.rep.heap` in `design/replay.md`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    replay::main_with(replay::play::built_in())
}
