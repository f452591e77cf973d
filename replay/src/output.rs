//! Files that are written: each has its name once it is whole.
//!
//! ```text
//!  Pending: a file without a name, beside it ── finish ──▶ FILE     an error, a signal ──▶ nothing
//! ```
//!
//! A file without a name goes with the process, however that ends. Where the file system has no
//! such files it is called `.replay-…` meanwhile. Design: `.rep.output` in `design/replay.md`.

use crate::stop::Stop;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
use rustix::io::Errno;
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// What the name of what is not whole yet begins with.
const PREFIX: &str = ".replay-";
/// Who may read and write it, of those whom the user's mask lets.
const MODE: u32 = 0o666;

/// A file that is being written.
pub(crate) struct Pending {
    file: Place,
    path: PathBuf,
    force: bool,
}

enum Place {
    Nameless(File),
    Named(NamedTempFile),
}

impl Pending {
    /// Begins a file; one that is there already is replaced only with `force`.
    pub(crate) fn new(path: &Path, force: bool) -> Result<Pending, Stop> {
        if !force && path.symlink_metadata().is_ok() {
            return Err(unwritten(path, &ErrorKind::AlreadyExists.into()));
        }
        // What is there is replaced by a file, which must not become of a device.
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            let name = path.display();
            return Err(Stop::Message(format!(
                "{name}: is there, and is no file: it is left alone"
            )));
        }
        let directory = directory(path);
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = match openat(CWD, directory, flags, Mode::from_raw_mode(MODE)) {
            Ok(file) => Place::Nameless(File::from(file)),
            // So it is said by file systems and systems that have none.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                let named = builder().tempfile_in(directory);
                Place::Named(named.map_err(|error| unwritten(path, &error))?)
            }
            Err(error) => return Err(unwritten(path, &error.into())),
        };
        Ok(Pending { file, path: path.to_owned(), force })
    }

    /// What is written to.
    pub(crate) fn as_file(&self) -> &File {
        match &self.file {
            Place::Nameless(file) => file,
            Place::Named(file) => file.as_file(),
        }
    }

    /// Gives it its name.
    pub(crate) fn finish(self) -> Result<(), Stop> {
        let Pending { file, path, force } = self;
        let named = match (file, force) {
            (Place::Nameless(file), false) => link(&file, &path),
            // A name that is taken can only be given to what has one.
            (Place::Nameless(file), true) => builder()
                .make_in(directory(&path), |temporary| link(&file, temporary))
                .and_then(|named| named.persist(&path).map(drop).map_err(io::Error::from)),
            (Place::Named(file), false) => {
                file.persist_noclobber(&path).map(drop).map_err(io::Error::from)
            }
            (Place::Named(file), true) => file.persist(&path).map(drop).map_err(io::Error::from),
        };
        named.map_err(|error| unwritten(&path, &error))
    }
}

/// What is told if a file could not be written.
pub(crate) fn unwritten(path: &Path, error: &io::Error) -> Stop {
    let name = path.display();
    Stop::Message(match error.kind() {
        ErrorKind::AlreadyExists => format!(
            "{name}: is there already, and is not overwritten: give another name, or --force"
        ),
        _ => format!("{name}: {error}"),
    })
}

fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).permissions(Permissions::from_mode(MODE));
    builder
}

/// The directory in which a file is.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Gives a file without a name one that nothing has.
fn link(file: &File, path: &Path) -> io::Result<()> {
    let here = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, here, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// `.rep.output`
    #[test]
    fn a_file_has_its_name_once_it_is_whole_and_before_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let (path, folder) = (folder.path().join("out"), folder.path());
        for (text, force) in [("first", false), ("second", true)] {
            let before = names(folder);
            let pending = Pending::new(&path, force).unwrap();
            pending.as_file().write_all(text.as_bytes()).unwrap();
            assert_eq!(names(folder), before, "nothing that a signal would leave");
            pending.finish().unwrap();
            assert_eq!(names(folder), ["out"]);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        let Err(Stop::Message(why)) = Pending::new(&path, false) else { panic!("let through") };
        assert!(why.contains("--force"), "{why}");
    }

    #[test]
    fn what_cannot_be_written_is_found_before_anything_is() {
        let folder = tempfile::tempdir().unwrap();
        for (path, reason) in
            [("none/out", "No such file"), (".", "is no file"), ("/dev/null", "no file")]
        {
            // A path from the root stays what it is.
            let pending = Pending::new(&folder.path().join(path), true);
            let Err(Stop::Message(why)) = pending else { panic!("{path} was let through") };
            assert!(why.contains(reason), "{why}");
        }
        let path = folder.path().join("out");
        let pending = Pending::new(&path, false).unwrap();
        fs::write(&path, "of another").unwrap();
        let Err(Stop::Message(why)) = pending.finish() else { panic!("overwritten") };
        assert!(why.contains("is there already"), "{why}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "of another");
    }

    #[test]
    fn where_no_file_is_without_a_name_it_has_another_one_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for (text, force) in [("first", false), ("second", true)] {
            let file = Place::Named(builder().tempfile_in(folder.path()).unwrap());
            let pending = Pending { file, path: path.clone(), force };
            pending.as_file().write_all(text.as_bytes()).unwrap();
            assert!(names(folder.path()).iter().any(|name| name.starts_with(PREFIX)));
            pending.finish().unwrap();
            assert_eq!(names(folder.path()), ["out"]);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
