//! The common parts of the event log's command-line tools: outputs, exit codes, tables, units.
//!
//! ```
//! use cli::units::bytes;
//!
//! assert_eq!(bytes(1_048_576.0), "1.00 MiB");
//! ```
//!
//! ```text
//!  a command ─┬─ output.rs   files that get their names once they are whole
//!             ├─ stop.rs     why it stops: exit codes, standard error
//!             ├─ log.rs      the log that a command line names, and the faults in it
//!             ├─ man.rs      the manual page of a tool
//!             ├─ program.rs  the program that a command line names
//!             ├─ table     rows in columns, as text, CSV, JSON, and in a page
//!             ├─ units.rs, fields.rs    numbers in words for people; values for programs
//!             └─ page      one web page without network: frame, style, charts, sorting
//! ```
//!
//! - **Platforms**: Unix; tests run on Linux.
//! - **Rust**: 1.91 or later. No unsafe code. No features.
//!
//! Design: `.dumper` in `design/telemetry.md`, `.rep.exit` in
//! `design/replay.md`.
#![forbid(unsafe_code)]

pub mod fields;
pub mod log;
pub mod man;
pub mod output;
pub mod page;
pub mod program;
pub mod stop;
pub mod table;
pub mod units;

pub use stop::{Stop, complain, heeded, said, unless_closed};

use std::process::ExitCode;

/// The command succeeded.
const WHOLE: u8 = 0;
/// Faults were found.
const FAULTS: u8 = 1;
/// The command failed.
const UNREAD: u8 = 2;
/// The log is undamaged, and states losses.
const LOSSES: u8 = 3;

/// Returns the exit code of a command: `Ok(true)` means without a fault. This reports an error
/// message on standard error.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     cli::exit("eventcnv", Err(cli::Stop::Message("a.log: permission denied".to_owned())))
/// }
/// ```
pub fn exit(tool: &str, result: Result<bool, Stop>) -> ExitCode {
    ExitCode::from(match result {
        Ok(true) | Err(Stop::Closed) => WHOLE,
        Ok(false) => FAULTS,
        Err(Stop::Lost) => LOSSES,
        Err(Stop::Message(message)) => {
            output::yield_to_interruption();
            complain(&format!("{tool}: {message}\n"));
            UNREAD
        }
    })
}
