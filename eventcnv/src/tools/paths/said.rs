//! What the commands of paths say, and how they recognise a log.
//!
//! Design: `.paths.walk` in `design/paths.md`.

use crate::ask::calls::summary::demangled;
use crate::tools::paths::inputs::stop;
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

/// Returns a text with its mangled names of functions as their sources have them.
pub(super) fn demangled_in(text: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || "_.$".contains(c);
    let words = text.split_inclusive(|c| !is_part(c));
    let words = words.map(|word| {
        let name = word.trim_end_matches(|c| !is_part(c));
        demangled(name) + word.get(name.len()..).unwrap_or_default()
    });
    words.collect()
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
