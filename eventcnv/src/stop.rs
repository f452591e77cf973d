//! Why a command stops, and what is said on standard error.
//!
//! ```text
//!  Stop::Closed ──▶ exit 0, no word          Stop::Message ──▶ "eventcnv: …", exit 2
//! ```
//!
//! Exit codes: `.dumper` in `design/telemetry.md`.

use eventlog::format::text::OneLine;
use std::io::{self, Write};

/// Why nothing more can be done.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Whoever read the output has had enough.
    Closed,
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

/// Writes lines to standard error, if anybody listens. What they repeat, of a path or a log, steers
/// no terminal.
pub(crate) fn complain(text: &str) {
    let lines = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => format!("{}\n", OneLine(line.as_bytes())),
        None => OneLine(line.as_bytes()).to_string(),
    });
    let _ = io::stderr().write_all(lines.collect::<String>().as_bytes());
}
