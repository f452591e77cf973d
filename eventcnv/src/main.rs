//! The dumper of the event log.
//!
//! ```text
//!  arguments (args.rs) ──▶ log (input.rs) ──▶ events (select.rs) ──▶ view/ ──▶ standard output
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.
#![forbid(unsafe_code)]

mod args;
mod dump;
mod input;
mod progress;
mod select;
mod text;
mod view;

use clap::Parser;
use dump::Stop;
use std::process::ExitCode;

/// The log was read whole.
const WHOLE: u8 = 0;
/// Faults were found and reported.
const FAULTS: u8 = 1;
/// The log could not be read.
const UNREAD: u8 = 2;

fn main() -> ExitCode {
    ExitCode::from(match dump::run(&args::Args::parse()) {
        Ok(true) | Err(Stop::Closed) => WHOLE,
        Ok(false) => FAULTS,
        Err(Stop::Message(message)) => {
            dump::complain(&format!("eventcnv: {message}\n"));
            UNREAD
        }
    })
}
