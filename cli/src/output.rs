//! Files that are written: each has its name once it is whole.
//!
//! ```text
//!  Pending: .eventcnv-Ab12Cd beside it ── finish ──▶ FILE        an error, Ctrl-C ──▶ nothing
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

pub(crate) mod log;

use crate::stop::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, pipe};
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use tempfile::{Builder, NamedTempFile, TempDir};

/// What the name of what is not whole yet begins with.
const PREFIX: &str = ".eventcnv-";
/// How often a directory is removed into which files are still being put.
const REMOVAL_COUNT_MAX: usize = 100;

/// What is not whole yet, to be taken away should the program be interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static WATCH: Once = Once::new();

/// A file that is being written.
pub(crate) struct Pending {
    file: NamedTempFile,
    path: PathBuf,
    force: bool,
}

impl Pending {
    /// Begins a file; one that is there already is replaced only with `force`.
    pub(crate) fn file(path: &Path, force: bool) -> Result<Pending, Stop> {
        refuse(path, force)?;
        // What is there is replaced by a file, which must not become of a device.
        if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            let name = path.display();
            return Err(Stop::Message(format!(
                "{name}: is there, and is no file: it is left alone"
            )));
        }
        let failed = |error| unwritten(path, error);
        watch().map_err(failed)?;
        let mut builder = Builder::new();
        builder.prefix(PREFIX).permissions(Permissions::from_mode(0o666));
        let mut unfinished = unfinished();
        let file = builder.tempfile_in(directory(path)).map_err(failed)?;
        unfinished.push(file.path().to_owned());
        Ok(Pending { file, path: path.to_owned(), force })
    }

    /// What is written to.
    pub(crate) fn as_file_mut(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Where it is until it is whole, for a library that opens files itself.
    pub(crate) fn temporary_path(&self) -> &Path {
        self.file.path()
    }

    /// Puts it on the disk and gives it its name.
    pub(crate) fn finish(self) -> Result<(), Stop> {
        let failed = |error| unwritten(&self.path, error);
        self.file.as_file().sync_all().map_err(failed)?;
        let temporary = self.file.path().to_owned();
        let named = if self.force {
            self.file.persist(&self.path)
        } else {
            self.file.persist_noclobber(&self.path)
        };
        forget(&temporary);
        named.map_err(|error| unwritten(&self.path, error.error))?;
        sync(directory(&self.path)).map_err(failed)
    }
}

/// A directory that is being filled.
pub(crate) struct PendingDirectory {
    directory: TempDir,
    path: PathBuf,
    force: bool,
}

impl PendingDirectory {
    /// Begins a directory; one that is there already, unless it is empty, is replaced only with
    /// `force`.
    pub(crate) fn new(path: &Path, force: bool) -> Result<PendingDirectory, Stop> {
        if !is_empty_directory(path) {
            refuse(path, force)?;
        }
        let failed = |error| unwritten(path, error);
        watch().map_err(failed)?;
        let mut builder = Builder::new();
        builder.prefix(PREFIX).permissions(Permissions::from_mode(0o777));
        let mut unfinished = unfinished();
        let directory = builder.tempdir_in(directory(path)).map_err(failed)?;
        unfinished.push(directory.path().to_owned());
        Ok(PendingDirectory { directory, path: path.to_owned(), force })
    }

    /// Where it is until it is whole.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Puts it on the disk and gives it its name.
    pub(crate) fn finish(self) -> Result<(), Stop> {
        let failed = |error| unwritten(&self.path, error);
        let temporary = self.directory.path().to_owned();
        let old = self.path.symlink_metadata().is_ok();
        let aside = temporary.with_extension("old");
        sync_all(&temporary).map_err(failed)?;
        // Not to be interrupted while neither has the name.
        let mut unfinished = unfinished();
        if old && (self.force || is_empty_directory(&self.path)) {
            fs::rename(&self.path, &aside).map_err(failed)?;
        }
        if let Err(error) = fs::rename(&temporary, &self.path) {
            if old {
                // What was there before stays.
                let _ = fs::rename(&aside, &self.path);
            }
            return Err(failed(error));
        }
        unfinished.retain(|noted| *noted != temporary);
        drop(unfinished);
        let _ = self.directory.keep();
        sync(directory(&self.path)).map_err(failed)?;
        if old {
            remove(&aside);
        }
        Ok(())
    }
}

/// Puts all of a directory on the disk: what is in it before its own entries.
fn sync_all(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { sync_all(&entry.path())? } else { sync(&entry.path())? }
    }
    sync(path)
}

/// Puts a file, or the names in a directory, on the disk.
fn sync(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    tests::SYNCED.with_borrow_mut(|synced| synced.push(path.to_owned()));
    match File::open(path)?.sync_all() {
        // There are file systems whose directories cannot be synced, and that do not need it.
        Err(error) if error.kind() == ErrorKind::InvalidInput && path.is_dir() => Ok(()),
        result => result,
    }
}

fn is_empty_directory(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn refuse(path: &Path, force: bool) -> Result<(), Stop> {
    match path.symlink_metadata() {
        Ok(_) if !force => Err(unwritten(path, ErrorKind::AlreadyExists.into())),
        _ => Ok(()),
    }
}

fn unwritten(path: &Path, error: io::Error) -> Stop {
    let name = path.display();
    Stop::Message(match error.kind() {
        ErrorKind::AlreadyExists => format!(
            "{name}: is there already, and is not overwritten: give another name, or --force"
        ),
        _ => format!("{name}: {error}"),
    })
}

/// The directory in which a file is.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Whoever holds this is not interrupted: it is held while a file is made and noted.
fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does not come back if the program is being interrupted: that what it writes to is taken away is
/// then no failure to tell of.
pub(crate) fn yield_to_interruption() {
    drop(unfinished());
}

fn forget(path: &Path) {
    unfinished().retain(|noted| noted != path);
}

fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// Removes what other threads may still be putting files into.
fn remove_while_written(path: &Path) {
    for _ in 0..REMOVAL_COUNT_MAX {
        remove(path);
        if path.symlink_metadata().is_err() {
            break;
        }
    }
}

/// Has what is not whole taken away when the program is interrupted.
fn watch() -> io::Result<()> {
    let mut result = Ok(());
    WATCH.call_once(|| result = begin_to_watch());
    result
}

fn begin_to_watch() -> io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let (mut signals, end) = UnixStream::pair()?;
        pipe::register(signal, end)?;
        std::thread::spawn(move || {
            while signals.read(&mut [0]).is_err_and(|e| e.kind() == ErrorKind::Interrupted) {}
            // Held to the end: nothing new is begun any more.
            let unfinished = unfinished();
            unfinished.iter().for_each(|path| remove_while_written(path));
            let _ = emulate_default_handler(signal);
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    std::thread_local! {
        /// What was put on the disk, in this order.
        pub(super) static SYNCED: std::cell::RefCell<Vec<PathBuf>> = Default::default();
    }

    /// Else a power cut leaves names of files that are not there.
    #[test]
    fn what_gets_its_name_is_on_the_disk_before_and_the_name_after() {
        let parent = TempDir::new().unwrap();
        let path = parent.path().join("out");
        let pending = PendingDirectory::new(&path, false).unwrap();
        let temporary = pending.path().to_owned();
        fs::create_dir_all(temporary.join("a/b")).unwrap();
        fs::write(temporary.join("a/b/file"), "text").unwrap();
        pending.finish().unwrap();
        let within = |name: &str| temporary.join(name);
        let expected = [within("a/b/file"), within("a/b"), within("a"), temporary.clone()];
        let expected = [&expected[..], &[parent.path().to_owned()]].concat();
        assert_eq!(SYNCED.take(), expected);
        Pending::file(&parent.path().join("file"), false).unwrap().finish().unwrap();
        assert_eq!(SYNCED.take(), [parent.path()]);
    }

    fn message(stop: Result<Pending, Stop>) -> String {
        match stop {
            Err(Stop::Message(message)) => message,
            _ => panic!("it was let through"),
        }
    }

    #[test]
    fn a_file_has_its_name_once_it_is_whole() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("out.txt");
        let mut pending = Pending::file(&path, false).unwrap();
        pending.as_file_mut().write_all(b"whole").unwrap();
        assert!(!path.exists());
        pending.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(message(Pending::file(&path, false)).contains("--force"));
        let mut pending = Pending::file(&path, true).unwrap();
        pending.as_file_mut().write_all(b"new").unwrap();
        drop(Pending::file(&path, true).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"whole", "what was given up leaves it");
        pending.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_file_is_not_replaced_by_one() {
        let said = message(Pending::file(Path::new("/dev/null"), true));
        assert!(said.contains("is no file"), "{said}");
    }

    #[test]
    fn a_directory_has_its_name_once_it_is_whole() {
        let parent = TempDir::new().unwrap();
        let path = parent.path().join("out");
        fs::create_dir(&path).unwrap();
        for (text, force) in [("first", false), ("second", true)] {
            let pending = PendingDirectory::new(&path, force).unwrap();
            fs::write(pending.path().join("file"), text).unwrap();
            pending.finish().unwrap();
            assert_eq!(fs::read_to_string(path.join("file")).unwrap(), text);
            assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
        }
        assert!(PendingDirectory::new(&path, false).is_err());
    }
}
