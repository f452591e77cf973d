//! Names of files, for a stream in several files.
//!
//! ```text
//!  PATH ── link ──▶ PATH.1      next ── rename ──▶ PATH: PATH exists at every instant
//! ```
//!
//! Design: `.sol.volume` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use super::{Errno, NotOwn, files, retry};
use crate::os::sync::Locked;
use core::ffi::{CStr, c_int};
use core::fmt::Display;
use std::io::Write;

/// Writes a path, and what follows it, as a string of C.
pub(crate) fn suffixed<'a>(
    path: &[u8],
    after: &dyn Display,
    out: &'a mut [u8],
) -> Result<&'a CStr, Errno> {
    let (to, mut rest) = out.split_at_mut_checked(path.len()).ok_or(libc::ENAMETOOLONG)?;
    to.copy_from_slice(path);
    write!(rest, "{after}\0").map_err(|_| libc::ENAMETOOLONG)?;
    CStr::from_bytes_until_nul(out).map_err(|_| libc::EINVAL)
}

/// Renames a file; replaces any file that has the new name.
pub(crate) fn rename_file(from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both end with a NUL.
    retry(|| unsafe { libc::rename(from.as_ptr(), to.as_ptr()) } as isize).map(drop)
}

/// Gives a file a second name; fails if the name already exists.
pub(crate) fn link_file(from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both end with a NUL.
    retry(|| unsafe { libc::link(from.as_ptr(), to.as_ptr()) } as isize).map(drop)
}

pub(crate) fn unlink_file(path: &CStr) -> Result<(), Errno> {
    // SAFETY: it ends with a NUL.
    retry(|| unsafe { libc::unlink(path.as_ptr()) } as isize).map(drop)
}

/// Makes a directory for this user alone, or finds one that is this user's.
pub(crate) fn make_directory(path: &CStr) -> Result<Result<(), NotOwn>, Errno> {
    // SAFETY: `path` ends with a NUL.
    match retry(|| unsafe { libc::mkdir(path.as_ptr(), 0o700) } as isize) {
        Err(libc::EEXIST) => {}
        made => return made.map(|_| Ok(())),
    }
    let found = identify_name(path)?;
    Ok(match found.sort {
        libc::S_IFDIR if found.owner == super::own_user() => Ok(()),
        libc::S_IFDIR => Err(NotOwn::Owner),
        _ => Err(NotOwn::Other),
    })
}

/// Writes the path of the working directory; returns its size. `None` if the path is too long, or
/// the directory was removed.
pub(crate) fn working_directory(out: &mut [u8]) -> Option<usize> {
    let (start, size) = (out.as_mut_ptr(), out.len());
    // SAFETY: writes at most `size` bytes of a slice. Some C libraries allocate if the call fails.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let is_there = unsafe { libc::syscall(libc::SYS_getcwd, start, size) } > 0;
    // SAFETY: writes at most `size` bytes of a slice.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let is_there = unsafe { !libc::getcwd(start.cast(), size).is_null() };
    // Linux gives a path without a root for a directory that no path leads to.
    let is_there = is_there && out.starts_with(b"/");
    if is_there { out.iter().position(|byte| *byte == 0) } else { None }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
    pub(crate) size: u64,
    /// The pieces of 512 bytes that it takes on the host.
    pub(crate) piece_count: u64,
    pub(crate) link_count: u64,
    pub(crate) owner: libc::uid_t,
    /// The file type, by `S_IFMT`.
    pub(crate) sort: libc::mode_t,
}

impl FileIdentity {
    pub(crate) fn is(&self, other: &FileIdentity) -> bool {
        self.key() == other.key()
    }

    /// Returns the device and inode, which no other file of the host shares.
    pub(crate) fn key(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Returns the identity of the file with this key, without its facts.
    pub(crate) fn of_key((device, inode): (u64, u64)) -> FileIdentity {
        FileIdentity { device, inode, size: 0, piece_count: 0, link_count: 0, owner: 0, sort: 0 }
    }

    pub(crate) fn is_regular(&self) -> bool {
        self.sort == libc::S_IFREG
    }
}

/// Identifies the file of this name; does not follow a symbolic link.
pub(crate) fn identify_name(path: &CStr) -> Result<FileIdentity, Errno> {
    // SAFETY: `path` ends with a NUL; the call fills the structure.
    identify(|stat| unsafe { files::lstat(path.as_ptr(), stat) })
}

/// Returns whether a name leads to something that takes bytes, other than a regular file; follows
/// symbolic links.
pub(crate) fn is_other_than_file(path: &CStr) -> bool {
    // SAFETY: `path` ends with a NUL; the call fills the structure.
    identify(|stat| unsafe { files::stat(path.as_ptr(), stat) })
        .is_ok_and(|found| !matches!(found.sort, libc::S_IFREG | libc::S_IFDIR | libc::S_IFSOCK))
}

pub(crate) fn identify_file(file: c_int) -> Result<FileIdentity, Errno> {
    // SAFETY: the call fills the structure.
    identify(|stat| unsafe { files::fstat(file, stat) })
}

fn identify(call: impl Fn(*mut files::stat) -> c_int) -> Result<FileIdentity, Errno> {
    // SAFETY: a stat consists of plain integers.
    let mut stat: files::stat = unsafe { core::mem::zeroed() };
    let pointer = &raw mut stat;
    retry(|| call(pointer) as isize)?;
    #[allow(clippy::unnecessary_cast, reason = "not everywhere of 64 bits")]
    let identity = FileIdentity {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        piece_count: stat.st_blocks as u64,
        link_count: stat.st_nlink as u64,
        owner: stat.st_uid,
        sort: stat.st_mode & libc::S_IFMT,
    };
    Ok(identity)
}

/// The longest program path that is read, in bytes.
const PROGRAM_PATH_SIZE_MAX: usize = 4096;
/// A buffer for the path of the program, since a stack may be small.
static PROGRAM_PATH: Locked<[u8; PROGRAM_PATH_SIZE_MAX]> = Locked::new([0; PROGRAM_PATH_SIZE_MAX]);

/// Writes the file name of the program into `name`, as much as fits.
pub(crate) fn program_name(name: &mut [u8; 128]) {
    let Some(mut path) = PROGRAM_PATH.lock_waiting() else { return };
    // SAFETY: the call's `path` ends with a NUL; the call writes at most `len` bytes.
    let size = unsafe {
        let link = c"/proc/self/exe".as_ptr();
        libc::readlink(link, path.as_mut_ptr().cast(), path.len())
    };
    let path = usize::try_from(size).ok().and_then(|size| path.get(..size)).unwrap_or_default();
    let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let size = file.len().min(name.len() - 1);
    name[..size].copy_from_slice(&file[..size]);
}
