//! Files that belong to this process's user alone, in directories where other users may create
//! files.
//!
//! ```text
//!  open_log(PATH) ── regular: this user's, not a link ─▶ may be written
//!  Unnamed::create ─▶ no name (O_TMPFILE), or an unguessable one ── link, replace ─▶ PATH
//! ```
//!
//! New files have mode 0600, and no other process can have them open. Design: `.sol.own` in
//! `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use super::{Errno, File, files, identify_file, identify_name, link_file, rename_file, retry};
use super::{random, suffixed, unlink_file};
use crate::os::sync::Locked;
use core::ffi::{CStr, c_int};
use core::fmt::{self, Display};

/// The mode of a new file: only its owner may use it.
const MODE: libc::c_uint = 0o600;
/// The longest path that is built here, with a NUL, in bytes.
const NAME_SIZE_MAX: usize = 4096 + 64;
/// Attempts to find an unused name.
const HIDDEN_COUNT_MAX: usize = 8;

/// A buffer for building paths, since a stack may be small.
static NAME: Locked<[u8; NAME_SIZE_MAX]> = Locked::new([0; NAME_SIZE_MAX]);

/// Why the file of a name may not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotOwn {
    /// A symbolic link, perhaps to a file that the user did not mean.
    Link,
    /// A file of another user, who could read and change it.
    Owner,
    /// Something else than a file: a directory, a socket.
    Other,
    /// A file with a second name, under which another program may need it.
    Linked,
    /// A file that just replaced the one found.
    Exchanged,
}

impl fmt::Display for NotOwn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotOwn::Link => "is a symbolic link, which is not followed",
            NotOwn::Owner => "belongs to another user",
            NotOwn::Other => "is not a regular file",
            NotOwn::Linked => "has another name, too",
            NotOwn::Exchanged => "is in use by another process",
        })
    }
}

/// Returns the user whose rights this process has.
pub(crate) fn own_user() -> libc::uid_t {
    // SAFETY: the call cannot fail and touches no memory.
    unsafe { libc::geteuid() }
}

fn open(path: &CStr, flags: c_int) -> Result<c_int, Errno> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NOCTTY;
    // SAFETY: `path` ends with a NUL.
    retry(|| unsafe { files::open(path.as_ptr(), flags, MODE) } as isize).map(|file| file as c_int)
}

/// Opens a file for writing, and for reading too where the process may read (`.sol.sandbox`).
fn open_to_write(path: &CStr, flags: c_int) -> Result<c_int, Errno> {
    match open(path, libc::O_RDWR | flags) {
        Err(libc::EACCES) => open(path, libc::O_WRONLY | flags),
        opened => opened,
    }
}

/// Opens the file of a log, and creates it if it does not exist. Its contents stay. A regular file
/// is opened for reading too, if this process may read it.
pub(crate) fn open_log(path: &CStr) -> Result<Result<File, NotOwn>, Errno> {
    let found = match identify_name(path) {
        Ok(found) if found.sort == libc::S_IFLNK => return open_linked(path, found.owner),
        Ok(found) => found,
        Err(libc::ENOENT) => {
            return match open_to_write(path, libc::O_CREAT | libc::O_EXCL) {
                Err(libc::EEXIST) => Ok(Err(NotOwn::Exchanged)),
                file => file.and_then(File::new).map(Ok),
            };
        }
        Err(errno) => return Err(errno),
    };
    if matches!(found.sort, libc::S_IFDIR | libc::S_IFSOCK) {
        return Ok(Err(NotOwn::Other));
    }
    let is_own = found.owner == own_user();
    // Opening a pipe waits for a reader. Root's pipes are in directories where other users create
    // nothing.
    if found.sort == libc::S_IFIFO && !is_own && found.owner != 0 {
        return Ok(Err(NotOwn::Owner));
    }
    if found.is_regular() && !is_own {
        return Ok(Err(NotOwn::Owner));
    }
    let file = match found.is_regular() {
        true => open_to_write(path, libc::O_NOFOLLOW)?,
        false => open(path, libc::O_WRONLY | libc::O_NOFOLLOW)?,
    };
    let file = File::new(file)?;
    if file.look()?.is(&found) {
        return Ok(Ok(file));
    }
    file.close();
    Ok(Err(NotOwn::Exchanged))
}

/// Opens the target of a symbolic link that is not another user's: a device, a pipe, or the file
/// that already is the program's standard output or error, as by the names under `/dev`.
fn open_linked(path: &CStr, owner: libc::uid_t) -> Result<Result<File, NotOwn>, Errno> {
    if owner != 0 && owner != own_user() {
        return Ok(Err(NotOwn::Link));
    }
    let file = match open(path, libc::O_WRONLY) {
        Err(libc::ENOENT | libc::EISDIR) => return Ok(Err(NotOwn::Link)),
        file => File::new(file?)?,
    };
    let found = file.look()?;
    if !found.is_regular() {
        return Ok(Ok(file));
    }
    file.close();
    let standard = [libc::STDOUT_FILENO, libc::STDERR_FILENO];
    let is_standard = |number| identify_file(number).is_ok_and(|standard| standard.is(&found));
    if !standard.into_iter().any(is_standard) {
        return Ok(Err(NotOwn::Link));
    }
    // Opens it again, for reading too.
    let file = File::new(open(path, libc::O_RDWR)?)?;
    if file.look()?.is(&found) { Ok(Ok(file)) } else { Ok(Err(NotOwn::Exchanged)) }
}

/// Opens a directory, in which a file will be removed later.
pub(crate) fn open_directory(path: &CStr) -> Result<File, Errno> {
    File::new(open(path, libc::O_RDONLY | libc::O_DIRECTORY)?)
}

/// Opens a file for reading, without waiting for a writer; does not follow a symbolic link.
pub(crate) fn open_to_read(path: &CStr) -> Result<c_int, Errno> {
    open(path, libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOFOLLOW)
}

/// A new file that gets its name later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unnamed {
    pub(crate) file: File,
    /// The digits of its temporary name; 0: it has none.
    pub(crate) hidden: u64,
}

impl Unnamed {
    /// Creates a file in the directory of `path`. If the process dies the file vanishes, except
    /// where the host has no nameless files. EBADF: the program closed it at once.
    pub(crate) fn create(path: &CStr) -> Result<Unnamed, Errno> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        match Unnamed::create_without_name(path) {
            Err(errno) if errno != libc::EBADF => {}
            unnamed => return unnamed,
        }
        Unnamed::create_hidden(path)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn create_without_name(path: &CStr) -> Result<Unnamed, Errno> {
        // Without `/proc` it could get no name later.
        identify_name(c"/proc/self/fd")?;
        let open = |folder: &CStr| open(folder, libc::O_TMPFILE | libc::O_RDWR);
        let file = File::new(with_beside(path, &"", open)??)?;
        // If the program closed it at once, its number may stand for another file.
        if file.look()?.link_count != 0 {
            file.close();
            return Err(libc::EBADF);
        }
        Ok(Unnamed { file, hidden: 0 })
    }

    fn create_hidden(path: &CStr) -> Result<Unnamed, Errno> {
        for _ in 0..HIDDEN_COUNT_MAX {
            let hidden = guess()?;
            let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
            match with_hidden(path, hidden, |name| open(name, flags))? {
                Err(libc::EEXIST) => {}
                file => return Ok(Unnamed { file: File::new(file?)?, hidden }),
            }
        }
        Err(libc::EEXIST)
    }

    /// Gives the file a name; EEXIST if the name already exists.
    pub(crate) fn link(self, path: &CStr) -> Result<(), Errno> {
        if self.hidden == 0 {
            return self.link_open_file(path);
        }
        with_hidden(path, self.hidden, |name| match link_file(name, path) {
            Ok(()) => unlink_file(name),
            Err(libc::EEXIST) => Err(libc::EEXIST),
            // The host has no second names for files.
            Err(_) if identify_name(path).is_ok() => Err(libc::EEXIST),
            Err(_) => rename_file(name, path),
        })?
    }

    /// Gives the file a name, and replaces any file that has it.
    pub(crate) fn replace(self, path: &CStr) -> Result<(), Errno> {
        if self.hidden != 0 {
            return with_hidden(path, self.hidden, |name| rename_file(name, path))?;
        }
        // No call gives an existing name to a nameless file: a temporary name comes in between.
        let rename = |name: &CStr| {
            self.link_open_file(name)?;
            let renamed = rename_file(name, path);
            renamed.or_else(|errno| unlink_file(name).and(Err(errno)))
        };
        with_hidden(path, guess()?, rename)?
    }

    fn link_open_file(self, path: &CStr) -> Result<(), Errno> {
        let mut bytes = [0; 32];
        let from = suffixed(b"/proc/self/fd/", &self.file.number()?, &mut bytes)?;
        let here = libc::AT_FDCWD;
        let link = || {
            // SAFETY: both names end with a NUL.
            unsafe {
                libc::linkat(here, from.as_ptr(), here, path.as_ptr(), libc::AT_SYMLINK_FOLLOW)
            }
        };
        retry(|| link() as isize).map(drop)
    }

    /// Closes the file, and removes its temporary name.
    pub(crate) fn discard(self, path: &CStr) {
        if self.hidden != 0 {
            let _ = with_hidden(path, self.hidden, unlink_file);
        }
        self.file.close();
    }
}

/// Returns an unguessable number that is not 0.
fn guess() -> Result<u64, Errno> {
    let mut bytes = [0; 16];
    let half = |bytes: &[u8; 16]| bytes.iter().fold(0, |all, byte| all << 4 ^ u64::from(*byte));
    if random(&mut bytes) { Ok(half(&bytes) | 1) } else { Err(libc::EAGAIN) }
}

fn with_hidden<T>(path: &CStr, hidden: u64, give: impl FnOnce(&CStr) -> T) -> Result<T, Errno> {
    with_beside(path, &format_args!(".telemetry-{hidden:016x}"), give)
}

/// Passes on the path of a file of this name in the directory of `path`.
fn with_beside<T>(
    path: &CStr,
    name: &dyn Display,
    give: impl FnOnce(&CStr) -> T,
) -> Result<T, Errno> {
    let path = path.to_bytes();
    let size = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let folder = if size == 0 { b"./" } else { &path[..size] };
    let mut out = NAME.lock_waiting().ok_or(libc::EAGAIN)?;
    suffixed(folder, name, &mut *out).map(give)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::fs;

    /// Tests hosts with and without nameless files.
    #[test]
    fn a_new_file_has_no_name_until_it_gets_one() {
        for create in [Unnamed::create, Unnamed::create_hidden] {
            let folder = tempfile::tempdir().unwrap();
            let of = |name: &str| CString::new(folder.path().join(name).to_str().unwrap()).unwrap();
            let names = || {
                let names = fs::read_dir(folder.path()).unwrap();
                let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
                let mut names: Vec<_> = names.collect();
                names.sort();
                names
            };
            let (path, other) = (of("log"), of("other"));
            let first = create(&path).unwrap();
            assert!(names().iter().all(|name| name.starts_with(".telemetry-")), "{:?}", names());
            first.link(&path).unwrap();
            assert_eq!(names(), ["log"]);
            assert_eq!(identify_name(&path).unwrap().key(), first.file.look().unwrap().key());
            let second = create(&path).unwrap();
            assert_eq!(second.link(&path), Err(libc::EEXIST));
            second.link(&other).unwrap();
            let third = create(&path).unwrap();
            third.replace(&path).unwrap();
            assert_eq!(names(), ["log", "other"]);
            assert_eq!(identify_name(&path).unwrap().key(), third.file.look().unwrap().key());
            create(&path).unwrap().discard(&path);
            assert_eq!(names(), ["log", "other"]);
            [first, second, third].into_iter().for_each(|each| each.file.close());
        }
        assert_eq!(Unnamed::create(c"no/such/folder").err(), Some(libc::ENOENT));
    }
}
