//! Completes names in a shell: those of the log on the command line.
//!
//! ```text
//!  eventcnv --kinds Po⇥ run.log ──▶ words ──▶ Log ──▶ its kinds, or those of the MPS
//! ```
//!
//! Design: `.cnv.complete` in `design/eventcnv.md`.

use crate::open::input;
use crate::open::input::FILENAME_VARIABLE;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use eventlog::reader::{EventType, Increment, Kind, Log, Options, Platform, Registry};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub(super) fn kinds() -> ArgValueCompleter {
    let names = |registry: &Registry| {
        let kind = |kind: &Kind| (kind.name.to_string(), kind.doc.to_string());
        registry.kinds.iter().map(kind).collect()
    };
    ArgValueCompleter::new(move |begin: &OsStr| candidates(begin, &names))
}

pub(super) fn events() -> ArgValueCompleter {
    let names = |registry: &Registry| {
        let row = |row: &EventType| (row.name.to_string(), row.doc.to_string());
        registry.event_types.iter().map(row).collect()
    };
    ArgValueCompleter::new(move |begin: &OsStr| candidates(begin, &names))
}

/// Returns the names with this beginning, in any case.
fn candidates(
    begin: &OsStr,
    names: &dyn Fn(&Registry) -> Vec<(String, String)>,
) -> Vec<CompletionCandidate> {
    let begin = begin.to_string_lossy().to_ascii_lowercase();
    let registries = registries();
    let named = registries.iter().flat_map(names);
    let mut named: Vec<(String, String)> =
        named.filter(|(name, _)| name.to_ascii_lowercase().starts_with(&begin)).collect();
    named.sort();
    named.dedup_by(|a, b| a.0 == b.0);
    let candidate = |(name, doc): (String, String)| {
        CompletionCandidate::new(name).help((!doc.is_empty()).then(|| doc.into()))
    };
    named.into_iter().map(candidate).collect()
}

/// Returns the registries of the first log on the command line, or of the default log; else that of
/// the MPS.
fn registries() -> Vec<Registry> {
    let words = std::env::args_os().skip(1).map(PathBuf::from);
    let named: Vec<PathBuf> = words.filter(|word| is_file(word)).collect();
    let logs = if named.is_empty() {
        input::choose(&[], std::env::var_os(FILENAME_VARIABLE)).unwrap_or_default()
    } else {
        named
    };
    let opened = logs.iter().filter(|log| is_file(log)).find_map(|log| open(log));
    let mps = || vec![Registry::new(&eventdef::mps::REGISTRY, Platform::stream(false, 8))];
    opened.map_or_else(mps, |log| log.registries().to_vec())
}

/// A shell waits, so a pipe or a device is not read.
fn is_file(path: &Path) -> bool {
    cli::log::first_file(path).metadata().is_ok_and(|metadata| metadata.is_file())
}

/// Opens a log and reads as little of it as possible.
fn open(path: &Path) -> Option<Log> {
    let options = Options::default();
    let source = input::open(&[path.to_owned()], &options).source.ok()?;
    Log::with_source_by_increment(source, &options, Increment::Stretch).ok()
}
