//! Finds the logs of the processes that forked a process.
//!
//! ```text
//!  child.log ── parent: UUID ──▶ a log on the command line, else in the folder ── its parent ──▶ …
//! ```
//!
//! Design: `.calls.family` in `design/calls.md`.

use eventlog::format::{STREAM_HEADER_SIZE, StreamHeader};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Returns the header of a log.
pub(crate) fn head(path: &Path) -> Option<StreamHeader> {
    fs::metadata(path).ok().filter(|metadata| metadata.is_file())?;
    let mut head = [0; STREAM_HEADER_SIZE];
    File::open(path).ok()?.read_exact(&mut head).ok()?;
    StreamHeader::read(&head).filter(StreamHeader::is_sound)
}

/// Returns these logs, and those of the ancestors of the first one that are in its folder.
pub(crate) fn with_ancestors(logs: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = logs.to_vec();
    let Some(first) = logs.first() else { return all };
    let folder = first.parent().filter(|folder| !folder.as_os_str().is_empty());
    let files = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
    paths.sort();
    let heads = |paths: &[PathBuf]| -> Vec<(StreamHeader, PathBuf)> {
        paths.iter().filter_map(|path| Some((head(path)?, path.clone()))).collect()
    };
    let (given, mut others) = (heads(logs), heads(&paths));
    let mut parent = head(first).map_or([0; 16], |head| head.parent);
    // Each turn goes on with a log that no turn had before.
    let mut left = given;
    while parent != [0; 16] {
        if let Some(at) = left.iter().position(|(head, _)| head.uuid == parent) {
            parent = left.swap_remove(at).0.parent;
        } else if let Some(at) = others.iter().position(|(head, _)| head.uuid == parent) {
            let (head, path) = others.swap_remove(at);
            parent = head.parent;
            if !all.contains(&path) {
                all.push(path);
            }
        } else {
            break;
        }
    }
    all
}
