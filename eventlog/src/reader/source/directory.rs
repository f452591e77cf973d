//! The files of a log in a directory, which processors wrote side by side.
//!
//! ```text
//!  run/ ─▶ 00.log.1  01.log.1 … 00.log  01.log …      of the stream of 00.log; older volumes first
//! ```
//!
//! Rules: section 2.4 of `design/format.md`.

use super::bytes::{FileSource, Joined};
use crate::format::{FILE_COUNT_MAX, STREAM_HEADER_SIZE, StreamHeader};
use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The files of a log in a directory (`.directory.names`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// Those of the log, the oldest volume first.
    pub files: Vec<PathBuf>,
    /// Those of other logs.
    pub left_out: Vec<PathBuf>,
}

impl Directory {
    /// Looks for the files of a log in a directory. Without any, it is not that of a log.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read.
    pub fn read(path: &Path) -> io::Result<Directory> {
        let mut found = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name();
            let place = name.to_str().and_then(place);
            if let Some((number, age)) = place.filter(|_| is_file(&entry.path())) {
                found.push(((Reverse(age), number), header(&entry.path()), entry.path()));
            }
        }
        found.sort_by_key(|(place, ..)| *place);
        let heads = || found.iter().filter_map(|(place, head, _)| Some((*place, head.as_ref()?)));
        let first = heads().find(|(place, _)| *place == (Reverse(0), 0));
        let newest = || heads().max_by_key(|(_, head)| (head.start.get(), head.volume.get()));
        let uuid = first.or_else(newest).map(|(_, head)| head.uuid);
        let is_of = |head: &Option<StreamHeader>| {
            head.as_ref().zip(uuid).is_none_or(|(head, uuid)| head.uuid == uuid)
        };
        let (own, others): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(_, head, _)| is_of(head));
        let paths =
            |files: Vec<(_, _, PathBuf)>| files.into_iter().map(|(.., path)| path).collect();
        Ok(Directory { files: paths(own), left_out: paths(others) })
    }

    /// Opens all files as one source: while a program writes them, as of one instant
    /// (`.directory.instant`).
    ///
    /// # Errors
    ///
    /// Fails if one of them cannot be opened.
    pub fn open(&self) -> io::Result<Joined> {
        let sizes: Vec<u64> = self.files.iter().map(|path| size(path)).collect();
        let mut joined = Joined::default();
        for (path, size) in self.files.iter().zip(sizes) {
            joined.push_file(Box::new(FileSource::new(File::open(path)?)?), size);
        }
        Ok(joined)
    }
}

/// A device or pipe of such a name is not read. A name in a directory that may not be searched
/// counts: opening it tells why it fails.
fn is_file(path: &Path) -> bool {
    let may_not = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    fs::metadata(path).map_or_else(may_not, |metadata| metadata.is_file())
}

/// Returns the size of a file; 0 of one that is gone.
fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Returns the number of a file, and how many volumes it is old.
fn place(name: &str) -> Option<(u32, u32)> {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (number, rest) = name.split_at_checked(2)?;
    let age = rest.strip_prefix(".log")?;
    let age = match age.strip_prefix('.') {
        Some(age) if is_digits(age) && !age.starts_with('0') => age.parse().ok()?,
        None if age.is_empty() => 0,
        _ => return None,
    };
    let number = Some(number).filter(|number| is_digits(number))?.parse().ok()?;
    (number < FILE_COUNT_MAX).then_some((number, age))
}

/// Returns the header of a file, if it has a sound one.
fn header(path: &Path) -> Option<StreamHeader> {
    let mut bytes = [0; STREAM_HEADER_SIZE];
    File::open(path).and_then(|mut file| file.read_exact(&mut bytes)).ok()?;
    StreamHeader::read(&bytes).filter(StreamHeader::is_sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_digits_and_an_age_name_a_file_of_a_log() {
        assert_eq!(place("00.log"), Some((0, 0)));
        assert_eq!(place("63.log.12"), Some((63, 12)));
        for name in ["64.log", "1.log", "001.log", "00.log.", "00.log.01", "00.log.x", "é.log", "0"]
        {
            assert_eq!(place(name), None, "{name}");
        }
    }
}
