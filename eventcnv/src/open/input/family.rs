//! Finds the logs of the processes that forked a process.
//!
//! ```text
//!  child.log ── parent: UUID ──▶ a log on the command line, else in the folder ── its parent ──▶ …
//! ```
//!
//! Design: `.calls.family` in `design/calls.md`.

use crate::open::input::{FILENAME_VARIABLE, choose};
use eventlog::format::{STREAM_HEADER_SIZE, StreamHeader};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Returns the header of a log.
pub(crate) fn head(path: &Path) -> Option<StreamHeader> {
    let path = cli::log::first_file(path);
    fs::metadata(&path).ok().filter(|metadata| metadata.is_file())?;
    let mut head = [0; STREAM_HEADER_SIZE];
    File::open(path).ok()?.read_exact(&mut head).ok()?;
    StreamHeader::read(&head).filter(StreamHeader::is_sound)
}

/// Returns these logs, else the log of the environment, and all volumes of the ancestors of the
/// first one that are in its folder.
pub(crate) fn with_ancestors(named: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = choose(named, std::env::var_os(FILENAME_VARIABLE)).unwrap_or_default();
    let Some(first) = all.first().and_then(|first| head(first).zip(Some(first))) else {
        return named.to_vec();
    };
    // `.` is in another folder.
    let place = fs::canonicalize(first.1).unwrap_or_else(|_| first.1.clone());
    let place = if place.is_dir() { &place } else { first.1 };
    let (mut parent, folder) = (first.0.parent, place.parent());
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
    paths.sort();
    let heads: Vec<(StreamHeader, PathBuf)> =
        all.iter().chain(&paths).filter_map(|path| Some((head(path)?, path.clone()))).collect();
    let mut seen = BTreeSet::new();
    while parent != [0; 16] && seen.insert(parent) {
        let (mut next, real) = ([0; 16], |path: &Path| fs::canonicalize(path).ok());
        for (head, path) in heads.iter().filter(|(head, _)| head.uuid == parent) {
            next = head.parent;
            if !all.iter().any(|known| real(known) == real(path)) {
                all.push(path.clone());
            }
        }
        parent = next;
    }
    all
}
