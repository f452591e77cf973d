//! The log of a command line: its files, its name in messages, the registry of its MPS, its faults.
//!
//! ```text
//!  "-" ──▶ "standard input"     eventdef.h ──▶ Registry     Faults ──▶ "eventcnv: a.log: …"
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`, `.rep.source` in `design/replay.md`.

use crate::said;
use crate::units::counted;
use eventlog::reader::{Directory, Fault, Faults, Registry};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Size of an `eventdef.h` of the MPS in bytes, at most.
pub const HEADER_SIZE_MAX: u64 = 1 << 20;

/// The first file of a log in a directory (`.directory.names`).
const DIRECTORY_FIRST: &str = "00.log";

/// Returns the name of a log in messages.
pub fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { said(path) }
}

/// Returns the files of a log, and those of other logs next to them: of a log that was written to
/// several files in a directory, all that exist; else the path itself.
pub fn files(path: &Path) -> Directory {
    let itself = || Directory { files: vec![path.to_owned()], ..Directory::default() };
    let found = Some(path).filter(|path| path.is_dir()).and_then(|path| Directory::read(path).ok());
    found.filter(|found| !found.files.is_empty()).unwrap_or_else(itself)
}

/// Returns the file that a log begins with: of a log in a directory, the first one.
pub fn first_file(path: &Path) -> PathBuf {
    let first = path.join(DIRECTORY_FIRST);
    match path.is_dir() {
        true if first.is_file() => first,
        true => files(path).files.swap_remove(0),
        false => path.to_owned(),
    }
}

/// Returns the registry in an `eventdef.h` of the MPS.
///
/// # Errors
///
/// The file cannot be read, or declares no registry. The message names the path and the cause.
pub fn mps_registry(path: &Path) -> Result<Registry, String> {
    let name = path.display();
    let mut text = Vec::new();
    let file = File::open(path).map_err(|error| format!("{name}: {error}"))?;
    let read = file.take(HEADER_SIZE_MAX + 1).read_to_end(&mut text);
    read.map_err(|error| format!("{name}: {error}"))?;
    registry_in(&text).map_err(|error| format!("{name}: {error}"))
}

/// Returns the registry that the text of an `eventdef.h` declares. Comments may contain bytes that
/// are not UTF-8.
///
/// # Errors
///
/// The text is too large, or declares no registry.
pub fn registry_in(text: &[u8]) -> Result<Registry, String> {
    if text.len() as u64 > HEADER_SIZE_MAX {
        return Err("is larger than any eventdef.h of the Memory Pool System".to_owned());
    }
    Registry::from_mps_header(&String::from_utf8_lossy(text)).map_err(|error| error.to_string())
}

/// Returns faults of a log as lines for standard error. `starts` has the offset and the name of
/// each file, if the log has several: a line then has the file, and the offset in it.
pub fn faults(tool: &str, name: &str, starts: &[(u64, String)], faults: &Faults) -> String {
    let mut text = String::new();
    for Fault { offset, kind } in faults {
        let at = starts.partition_point(|(start, _)| start <= offset);
        let file = at.checked_sub(1).and_then(|at| starts.get(at));
        let (start, name) = file.map_or((0, name), |(start, name)| (*start, name));
        let fault = Fault { offset: offset - start, kind: kind.clone() };
        let weight = if fault.is_warning() { "warning: " } else { "" };
        text += &format!("{tool}: {name}: {weight}{fault}\n");
    }
    match faults.count() - faults.iter().count() as u64 {
        0 => text,
        untold => text + &format!("{tool}: {name}: and {}\n", counted(untold, "more fault")),
    }
}
