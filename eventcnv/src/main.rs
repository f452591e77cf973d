//! The tool of the event log: the dumper, and the control of running programs.
//!
//! ```text
//!  arguments (args.rs) ──▶ log (input.rs) ──▶ events (select.rs) ──▶ view/ ──▶ standard output
//!            └──▶ a running program (control.rs) · programs that send logs (listen.rs, receive.rs)
//! ```
//!
//! Design: `.dumper`, `.control.tool` in `design/telemetry.md`.
#![forbid(unsafe_code)]
mod args;
mod control;
mod core;
mod dump;
mod input;
mod listen;
mod progress;
mod receive;
mod select;
mod text;
mod view;

use clap::Parser;
use dump::Stop;
use std::process::ExitCode;

// Exit codes: the log was read whole; faults were found and reported; it could not be read.
const WHOLE: u8 = 0;
const FAULTS: u8 = 1;
const UNREAD: u8 = 2;

fn main() -> ExitCode {
    ExitCode::from(match args::Args::parse_from(args::words(std::env::args_os())).run() {
        Ok(true) | Err(Stop::Closed) => WHOLE,
        Ok(false) => FAULTS,
        Err(Stop::Message(message)) => {
            dump::complain(&format!("eventcnv: {message}\n"));
            UNREAD
        }
    })
}
