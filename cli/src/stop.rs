//! Why a command stops, and what is said on standard error.
//!
//! ```text
//!  Stop::Closed ──▶ exit 0, no word          Stop::Message ──▶ "eventcnv: …", exit 2
//!  Stop::Lost ──▶ exit 3, all was said
//! ```
//!
//! Exit codes: `.dumper` in `design/telemetry.md`.

use crate::output;
use eventlog::format::text::OneLine;
use std::io::{self, Write};

/// The exit code where a log is undamaged, and states losses.
pub(crate) const LOSSES: u8 = 3;

/// Why nothing more can be done.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Whoever read the output has had enough.
    Closed,
    /// The log is undamaged, and states that events were lost.
    Lost,
    /// What to say about it.
    Message(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Stop::Closed,
            _ => Stop::Message(format!("cannot write the output: {error}")),
        }
    }
}

/// Says why nothing more can be done.
pub(crate) fn explain(message: &str) {
    output::yield_to_interruption();
    complain(&format!("eventcnv: {message}\n"));
}

/// Writes lines to standard error, if anybody listens. What they repeat, of a path or a log, steers
/// no terminal.
pub(crate) fn complain(text: &str) {
    let lines = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => format!("{}\n", OneLine(line.as_bytes())),
        None => OneLine(line.as_bytes()).to_string(),
    });
    let _ = io::stderr().write_all(lines.collect::<String>().as_bytes());
}
