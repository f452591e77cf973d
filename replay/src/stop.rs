//! Why a command stops, and what is said on standard error.
//!
//! ```text
//!  Stop::Closed ──▶ exit 0, no word          Stop::Message ──▶ "replay: …", exit 2
//! ```
//!
//! Exit codes: `.rep.exit` in `design/replay.md`.

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

/// Writes to standard error, if anybody listens.
pub(crate) fn complain(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
