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
mod core;
mod export;
mod input;
mod output;
mod page;
mod parallel;
mod reading;
mod select;
mod stop;
mod summary;
mod text;
mod view;

use std::process::ExitCode;
use stop::Stop;
const WHOLE: u8 = 0;
const FAULTS: u8 = 1;
const UNREAD: u8 = 2;
fn main() -> ExitCode {
    ExitCode::from(match args::parse(std::env::args_os()).run() {
        Ok(true) | Err(Stop::Closed) => WHOLE,
        Ok(false) => FAULTS,
        Err(Stop::Lost) => stop::LOSSES,
        Err(Stop::Message(message)) => {
            stop::explain(&message);
            UNREAD
        }
    })
}
