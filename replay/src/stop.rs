//! Why a command stops, and what is said on standard error.
//!
//! ```text
//!  Stop::Closed ──▶ exit 0, no word          Stop::Message ──▶ "replay: …", exit 2
//! ```
//!
//! Exit codes: `.rep.exit` in `design/replay.md`.

use eventlog::format::text::OneLine;
use std::io::{self, Write};
use std::path::Path;

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

/// Writes lines to standard error, if anybody listens: nothing in them steers the terminal.
pub(crate) fn complain(text: &str) {
    let clean = |line: &str| OneLine(line.as_bytes()).to_string();
    let lines = text.split('\n').map(clean).collect::<Vec<String>>().join("\n");
    let _ = io::stderr().write_all(lines.as_bytes());
}

/// A path as it is said: on one line, and without what would steer a terminal.
pub(crate) fn said(path: &Path) -> String {
    OneLine(path.as_os_str().as_encoded_bytes()).to_string()
}
