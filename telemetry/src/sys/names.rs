//! Names of files: what a stream in several files asks of the operating system.
//!
//! ```text
//!  PATH ── link ──▶ PATH.1      PATH.new ── rename ──▶ PATH: at no instant is there no PATH
//! ```
//!
//! Design: `.sol.volume` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use super::{Errno, files, retry};
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

/// Which file it is on its host, its size in bytes, and whether it has a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileIdentity {
    device: libc::dev_t,
    inode: u64,
    pub(crate) size: u64,
    pub(crate) has_name: bool,
}

impl FileIdentity {
    /// Whether it is the same file.
    pub(crate) fn is(&self, other: &FileIdentity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// The file that has a name.
pub(crate) fn identify_name(path: &CStr) -> Result<FileIdentity, Errno> {
    // SAFETY: `path` ends with a NUL; the call fills the structure.
    identify(|stat| unsafe { files::stat_of(path.as_ptr(), stat) })
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
    let inode = stat.st_ino as u64;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let has_name = stat.st_nlink > 0;
    Ok(FileIdentity { device: stat.st_dev, inode, size, has_name })
}
