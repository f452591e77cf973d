//! The tool of the event log: the dumper, and the control of running programs.
//!
//! ```text
//!  args.rs ──▶ command/ ──▶ reading.rs ──▶ events (select/) ──▶ view/ for people, export/
//! ```
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
