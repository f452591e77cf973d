//! The program that a command line names.
//!
//! ```text
//!  "sort" ── a folder of PATH ──▶ /usr/bin/sort        "./sort" ──▶ ./sort
//! ```
//!
//! Design: `.rep.record` in `design/replay.md`, `.collect.jobs` in `design/collect.md`.

use crate::Stop;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the path of a program: as given, or in a folder of PATH.
///
/// # Errors
///
/// The file does not exist, or no folder has it.
pub fn find(program: &OsStr) -> Result<PathBuf, Stop> {
    let found = if program.as_encoded_bytes().contains(&b'/') {
        Some(PathBuf::from(program)).filter(|path| path.is_file())
    } else {
        let folders = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&folders).map(|folder| folder.join(program)).find(|at| is_executable(at))
    };
    found.ok_or_else(|| Stop::Message(format!("{}: program not found", program.display())))
}

fn is_executable(path: &Path) -> bool {
    let data = fs::metadata(path);
    data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
