//! Names of files: what a stream in several files asks of the operating system.
//!
//! ```text
//!  PATH ── link ──▶ PATH.1      next ── rename ──▶ PATH: at no instant is there no PATH
//! ```
//!
//! Design: `.sol.volume` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use super::{Errno, files, retry};
use crate::os::sync::Locked;
use core::ffi::{CStr, c_int};

/// Gives a file another name, which is taken from whatever has it.
pub(crate) fn rename_file(from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both end with a NUL.
    retry(|| unsafe { libc::rename(from.as_ptr(), to.as_ptr()) } as isize).map(drop)
}

/// Gives a file one name more, which nothing may have.
pub(crate) fn link_file(from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both end with a NUL.
    retry(|| unsafe { libc::link(from.as_ptr(), to.as_ptr()) } as isize).map(drop)
}

/// Takes a name away.
pub(crate) fn unlink_file(path: &CStr) -> Result<(), Errno> {
    // SAFETY: it ends with a NUL.
    retry(|| unsafe { libc::unlink(path.as_ptr()) } as isize).map(drop)
}

/// Which file it is on its host, and what it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
    /// In bytes.
    pub(crate) size: u64,
    /// How many names it has.
    pub(crate) link_count: u64,
    pub(crate) owner: libc::uid_t,
    /// Of which sort, as `S_IFMT` says.
    pub(crate) sort: libc::mode_t,
}

impl FileIdentity {
    /// Whether it is the same file.
    pub(crate) fn is(&self, other: &FileIdentity) -> bool {
        self.key() == other.key()
    }

    /// What tells it from all other files that there are.
    pub(crate) fn key(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// The file with this key, of which nothing else is known.
    pub(crate) fn of_key((device, inode): (u64, u64)) -> FileIdentity {
        FileIdentity { device, inode, size: 0, link_count: 0, owner: 0, sort: 0 }
    }

    /// Whether it is a regular file.
    pub(crate) fn is_regular(&self) -> bool {
        self.sort == libc::S_IFREG
    }
}

/// The file that has a name; a symbolic link is one by itself.
pub(crate) fn identify_name(path: &CStr) -> Result<FileIdentity, Errno> {
    // SAFETY: `path` ends with a NUL; the call fills the structure.
    identify(|stat| unsafe { files::lstat(path.as_ptr(), stat) })
}

/// Whether a name, be it a symbolic link, leads to something other than a regular file.
pub(crate) fn is_other_than_file(path: &CStr) -> bool {
    // SAFETY: `path` ends with a NUL; the call fills the structure.
    identify(|stat| unsafe { files::stat(path.as_ptr(), stat) })
        .is_ok_and(|found| !found.is_regular())
}

/// A file that is open.
pub(crate) fn identify_file(file: c_int) -> Result<FileIdentity, Errno> {
    // SAFETY: the call fills the structure.
    identify(|stat| unsafe { files::fstat(file, stat) })
}

fn identify(call: impl Fn(*mut files::stat) -> c_int) -> Result<FileIdentity, Errno> {
    // SAFETY: a stat is plain integers.
    let mut stat: files::stat = unsafe { core::mem::zeroed() };
    let pointer = &raw mut stat;
    retry(|| call(pointer) as isize)?;
    #[allow(clippy::unnecessary_cast, reason = "not everywhere of 64 bits")]
    let identity = FileIdentity {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        link_count: stat.st_nlink as u64,
        owner: stat.st_uid,
        sort: stat.st_mode & libc::S_IFMT,
    };
    Ok(identity)
}

/// The longest path of a program that is looked at, in bytes.
const PROGRAM_PATH_SIZE_MAX: usize = 4096;
/// Where the path of the program is put, since a stack may be small.
static PROGRAM_PATH: Locked<[u8; PROGRAM_PATH_SIZE_MAX]> = Locked::new([0; PROGRAM_PATH_SIZE_MAX]);

/// The file name of the program, as much as fits.
pub(crate) fn program_name(name: &mut [u8; 128]) {
    let Some(mut path) = PROGRAM_PATH.lock_waiting() else { return };
    // SAFETY: `path` of the call ends with a NUL; at most `len` bytes are written.
    let size = unsafe {
        let link = c"/proc/self/exe".as_ptr();
        libc::readlink(link, path.as_mut_ptr().cast(), path.len())
    };
    let path = usize::try_from(size).ok().and_then(|size| path.get(..size)).unwrap_or_default();
    let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let size = file.len().min(name.len() - 1);
    name[..size].copy_from_slice(&file[..size]);
}
