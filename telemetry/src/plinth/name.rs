//! What a log is called: as the program or the environment says, or, where that name belongs to
//! another process, with something added.
//!
//! ```text
//!  mpsio.log     mpsio.log      mpsio.log-4711     mpsio.log-4711-2  …
//!  log-%p.io     log-4711.io    log-4711.io-2      log-4711.io-3     …
//!                try 0          1                  2
//!  a directory    run/03.log     run-4711/03.log   …
//! ```
//!
//! A forked child whose log has no `%p` in its name begins with try 1. Design: `.sol.fork`,
//! `.sol.plinth` in `design/telemetry.md`.

use crate::os::folder::Folder;
use crate::os::report::{Line, Text};
use crate::os::sync::Locked;
use crate::os::{forked, sys};
use crate::registry::names;
use core::ffi::CStr;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::borrow::Cow;

/// The longest name of a file that is read, in bytes. Systems accept no longer ones.
pub(crate) const PATH_SIZE_MAX: usize = 4096;
/// The longest part of its name in a message, in bytes.
const PATH_SAID_MAX: usize = 256;
/// The greatest suffix of a name, in bytes, with its NUL.
const ADDED_SIZE_MAX: usize = 48;
const TRY_COUNT_MAX: u32 = 100;

/// A buffer for a name, since a stack may be small.
static PATH: Locked<[u8; PATH_SIZE_MAX + ADDED_SIZE_MAX]> =
    Locked::new([0; PATH_SIZE_MAX + ADDED_SIZE_MAX]);

pub(crate) struct LogName {
    text: Cow<'static, CStr>,
    /// Whether `%p` and `%%` in the text have a special meaning.
    is_pattern: bool,
    /// Which file it is of the directory with the name (`.directory.names`).
    file: Option<u8>,
    /// The directory of a relative name.
    folder: Folder,
    /// Which of the names it is.
    at: AtomicU32,
    /// The process that chose the name; 0: none did so far.
    process: AtomicU64,
}

impl LogName {
    /// A name that is meant as it is; or in which `%p` is the process, and `%%` a percent sign.
    pub(crate) fn new(text: Cow<'static, CStr>, is_pattern: bool) -> LogName {
        let (at, process) = (AtomicU32::new(0), AtomicU64::new(0));
        LogName { text, is_pattern, file: None, folder: Folder::none(), at, process }
    }

    /// Makes it the name of a file in the directory with this name (`.directory.names`).
    pub(crate) fn set_file(&mut self, number: u8) {
        self.file = Some(number);
    }

    pub(crate) fn text(&self) -> &[u8] {
        self.text.to_bytes()
    }

    /// The names to try for the log of this process, in order; each is the name until the next is.
    /// Before all of them, of a forked child, comes the name that its parent may have had.
    pub(crate) fn tries(&self) -> impl Iterator<Item = u32> {
        self.process.store(sys::process_ids().0, Ordering::Relaxed);
        self.folder.note(self.text());
        let first = u32::from(self.is_parents());
        let tries = first..first + TRY_COUNT_MAX;
        tries.inspect(|at| self.take(*at))
    }

    pub(crate) fn is_of_directory(&self) -> bool {
        self.file.is_some()
    }

    /// Takes the name of a log whose directory this file is in.
    pub(crate) fn take_of(&self, first: &LogName) {
        self.process.store(first.process.load(Ordering::Relaxed), Ordering::Relaxed);
        self.folder.note(self.text());
        self.take(first.at.load(Ordering::Relaxed));
    }

    fn take(&self, at: u32) {
        self.at.store(at, Ordering::Relaxed);
    }

    /// Whether the name without anything added is that of a parent process: this is a forked child,
    /// even of a process that had recorded nothing.
    pub(crate) fn is_parents(&self) -> bool {
        !self.has_pid() && forked::count() != 0
    }

    /// Whether the name without anything added is the process's own.
    pub(crate) fn has_pid(&self) -> bool {
        self.is_pattern && names::has_pid(self.text.to_bytes())
    }

    /// Passes on the name as a path, with its suffix or without; `None` if it cannot be built now.
    pub(crate) fn with_path<T>(&self, give: impl FnOnce(&CStr) -> T) -> Option<T> {
        self.with_path_of(self.at.load(Ordering::Relaxed), give)
    }

    /// Passes on another one of the names.
    pub(crate) fn with_path_of<T>(&self, at: u32, give: impl FnOnce(&CStr) -> T) -> Option<T> {
        self.with(&self.folder, at, give)
    }

    /// Passes on one of the names, in a folder.
    fn with<T>(&self, folder: &Folder, at: u32, give: impl FnOnce(&CStr) -> T) -> Option<T> {
        let mut path = PATH.lock_waiting()?;
        // The system is asked only where it matters.
        let process = if self.is_pattern || at != 0 { self.process() } else { 0 };
        let (name, rest) = path.split_at_mut(PATH_SIZE_MAX);
        let folder_size = folder.put_before(self.text().len() + ADDED_SIZE_MAX, name);
        let name = &mut name[folder_size..];
        let text = self.text.to_bytes();
        // A name that is too long for the operating system is cut there; the system then reports
        // it.
        let size = if self.is_pattern {
            let room = name.len();
            names::file_name(text, process, name).map_or(room, <[u8]>::len)
        } else {
            let size = text.len().min(name.len());
            name[..size].copy_from_slice(&text[..size]);
            size
        };
        let mut bytes = [0; ADDED_SIZE_MAX];
        let mut added = Line::new(&mut bytes);
        // It fits.
        let _ = match (self.has_pid(), at) {
            (_, 0) => Ok(()),
            (true, at) => write!(added, "-{}", at + 1),
            (false, 1) => write!(added, "-{process}"),
            (false, at) => write!(added, "-{process}-{at}"),
        };
        let _ = self.file.map_or(Ok(()), |number| write!(added, "/{number:02}.log"));
        rest.fill(0);
        let size = folder_size + size;
        path[size..size + ADDED_SIZE_MAX].copy_from_slice(&bytes);
        CStr::from_bytes_until_nul(&path[..]).ok().map(give)
    }

    fn process(&self) -> u64 {
        match self.process.load(Ordering::Relaxed) {
            0 => sys::process_ids().0,
            process => process,
        }
    }

    /// Returns one of the names, for a message.
    pub(crate) fn said(&self, at: u32) -> Said<'_> {
        Said { name: self, at }
    }
}

impl fmt::Display for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.said(self.at.load(Ordering::Relaxed)).fmt(f)
    }
}

/// One of the names of a log, for a message.
pub(crate) struct Said<'a> {
    name: &'a LogName,
    at: u32,
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As it was chosen.
        let said = self.name.with(&Folder::none(), self.at, |path| {
            let path = path.to_bytes();
            match path.get(..PATH_SAID_MAX) {
                Some(beginning) if path.len() > PATH_SAID_MAX => write!(f, "{}…", Text(beginning)),
                _ => write!(f, "{}", Text(path)),
            }
        });
        said.unwrap_or_else(|| f.write_str("the log"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &'static CStr, is_pattern: bool) -> Vec<String> {
        let name = LogName::new(text.into(), is_pattern);
        name.tries().take(3).map(|at| name.said(at).to_string()).collect()
    }

    #[test]
    fn each_try_gives_another_name() {
        let pid = std::process::id();
        let added = ["".to_owned(), format!("-{pid}"), format!("-{pid}-2")];
        assert_eq!(names(c"a.log", true), added.each_ref().map(|added| format!("a.log{added}")));
        assert_eq!(names(c"%p.log", false), added.map(|added| format!("%p.log{added}")));
        let with_pid = ["", "-2", "-3"].map(|added| format!("{pid}%.log{added}"));
        assert_eq!(names(c"%p%%.log", true), with_pid);
    }

    /// `.directory.names`
    #[test]
    fn a_file_of_a_directory_follows_the_name_of_its_log() {
        let pid = std::process::id();
        let log = LogName::new(c"run".into(), true);
        let mut file = LogName::new(c"run".into(), true);
        file.set_file(3);
        let names = log.tries().take(2).map(|_| {
            file.take_of(&log);
            file.to_string()
        });
        assert_eq!(names.collect::<Vec<_>>(), ["run/03.log".into(), format!("run-{pid}/03.log")]);
    }

    #[test]
    fn a_name_that_is_too_long_is_cut_beyond_the_systems_limit() {
        let text = std::ffi::CString::new(vec![b'x'; 2 * PATH_SIZE_MAX]).expect("no NUL");
        for is_pattern in [true, false] {
            let name = LogName::new(text.clone().into(), is_pattern);
            for at in [0, 1, 99] {
                let size = name.with_path_of(at, |path| path.count_bytes()).expect("free");
                assert!(size >= PATH_SIZE_MAX, "{size}");
            }
            assert!(name.to_string().ends_with("x…"));
        }
    }
}
