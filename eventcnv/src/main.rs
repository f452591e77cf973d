//! The tool of the event log: prints, exports, compares and verifies logs, and controls running
//! programs.
//!
//! ```sh
//! eventcnv -v mpsio.log
//! ```
//!
//! ```text
//!  args.rs ──▶ command/ ──▶ reading.rs ──▶ events (select/) ──▶ view/ for people, export/
//! ```
//!
//! - **Platforms**: Unix; tests run on Linux. It reads logs of each platform.
//! - **Rust**: 1.91 or later. No unsafe code. No features.
//!
//! Design: `.dumper`, `.control.tool` in `design/telemetry.md`.
#![forbid(unsafe_code)]
mod args;
mod command;
mod export;
mod input;
mod reading;
mod select;
mod summary;
mod text;
mod view;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::exit("eventcnv", args::parse(std::env::args_os()).run())
}
