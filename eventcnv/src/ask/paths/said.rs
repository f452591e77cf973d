//! What the commands of paths say, and how they recognise a log.
//!
//! Design: `.paths.walk` in `design/paths.md`.

use crate::ask::paths::inputs::stop;
use cli::Stop;
use eventlog::reader::Log;
use eventlog::writer::MakeError;
use lens_paths::walk::Walked;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Returns whether a file is a log.
pub(super) fn is_log(path: &Path) -> Result<bool, Stop> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(|error| stop(path, &error))?;
    file.take(4096).read_to_end(&mut head).map_err(|error| stop(path, &error))?;
    Ok(Log::format_of(&head, &Default::default()).is_some())
}

/// Returns the error of the output.
pub(super) fn failed(error: MakeError) -> io::Error {
    match error {
        MakeError::Io(error) => error,
        error => io::Error::other(error.to_string()),
    }
}

/// Returns the size of a path in words.
pub(super) fn told(walked: &Walked) -> String {
    let blocks = cli::units::counted_in_groups(walked.blocks, "block");
    format!("{blocks}, {}", cli::units::counted_in_groups(walked.letters, "event"))
}

/// Says how much of a path is unknown.
pub(super) fn say_unknown(walked: &Walked) {
    let Walked { unknown, passed_over, .. } = walked;
    if *unknown > 0 {
        let stretches = cli::units::counted(*unknown, "stretch");
        let stretches = stretches.replace("stretchs", "stretches");
        let events = cli::units::counted(*passed_over, "event");
        cli::complain(&format!(
            "eventcnv: {stretches} of the path unknown, {events} passed over\n"
        ));
    }
}
