//! Why a command stops, and the lines on standard error.
//!
//! ```text
//!  Stop::Closed ──▶ exit 0, no word          Stop::Message ──▶ "eventcnv: …", exit 2
//!  Stop::Lost ──▶ exit 3, all was reported
//! ```
//!
//! Exit codes: `.dumper` in `design/telemetry.md`, `.rep.exit` in `design/replay.md`.

use eventlog::format::text::OneLine;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Why a command stops.
#[derive(Debug)]
pub enum Stop {
    /// The reader of the output closed it.
    Closed,
    /// The log is undamaged, and states that events were lost.
    Lost,
    /// An error message.
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

/// Returns how an answer was printed whose verdict is known: a reader that closes its end changes
/// no verdict.
///
/// # Errors
///
/// Fails if printing failed for another reason.
pub fn unless_closed(printed: io::Result<()>) -> Result<(), Stop> {
    match printed.map_err(Stop::from) {
        Err(Stop::Closed) => Ok(()),
        printed => printed,
    }
}

/// Returns those of these signals that this process does not ignore: `nohup` ignores SIGHUP.
pub fn heeded(signals: &[i32]) -> impl Iterator<Item = i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    signals.iter().copied().filter(move |signal| ignored & 1 << (signal - 1) == 0)
}

/// Writes lines to standard error. Characters that steer a terminal are replaced. A failure to
/// write is ignored.
pub fn complain(text: &str) {
    let clean = |line: &str| OneLine(line.as_bytes()).to_string();
    let lines = text.split('\n').map(clean).collect::<Vec<String>>().join("\n");
    let _ = io::stderr().write_all(lines.as_bytes());
}

/// Returns a path for a message: on one line, without characters that steer a terminal.
pub fn said(path: &Path) -> String {
    OneLine(path.as_os_str().as_encoded_bytes()).to_string()
}
