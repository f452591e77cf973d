//! What a mapped file takes: to open, to look at, to allocate, to name.
//!
//! ```text
//!  open_to_map ─ is_named ─ allocate_file ─ rename        open_to_read ─ first_bytes, file_size
//! ```
//!
//! Design: `.sol.mapped`, `.req.external` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use super::{Errno, files, retry};
use core::ffi::{CStr, c_int};

/// Opens a file to map it, created if there is none. What it holds stays.
pub(crate) fn open_to_map(path: &CStr) -> Result<c_int, Errno> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let mode: libc::c_uint = 0o666;
    // SAFETY: `path` ends with a NUL.
    retry(|| unsafe { files::open(path.as_ptr(), flags, mode) } as isize).map(|file| file as c_int)
}

/// Opens a file to look at it, without waiting for whoever writes it.
pub(crate) fn open_to_read(path: &CStr) -> Result<c_int, Errno> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    // SAFETY: `path` ends with a NUL.
    retry(|| unsafe { files::open(path.as_ptr(), flags) } as isize).map(|file| file as c_int)
}

/// The first eight bytes of a file; `None` if it has fewer.
pub(crate) fn first_bytes(file: c_int) -> Option<[u8; 8]> {
    let mut bytes = [0; 8];
    // SAFETY: at most so many bytes are written.
    let size = unsafe { files::pread(file, bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    (size == bytes.len() as isize).then_some(bytes)
}

/// The size of a file.
pub(crate) fn file_size(file: c_int) -> Option<u64> {
    // SAFETY: a stat is plain integers; the call fills one that lives through it.
    unsafe {
        let mut stat: files::stat = core::mem::zeroed();
        (files::fstat(file, &mut stat) == 0).then_some(stat.st_size as u64)
    }
}

/// Whether the file of this name is the one that is open.
pub(crate) fn is_named(file: c_int, path: &CStr) -> bool {
    // SAFETY: a stat is plain integers; the calls fill those that live through them; `path` ends
    // with a NUL.
    unsafe {
        let mut ours: files::stat = core::mem::zeroed();
        let mut named: files::stat = core::mem::zeroed();
        files::fstat(file, &mut ours) == 0
            && files::lstat(path.as_ptr(), &mut named) == 0
            && (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)
    }
}

/// Gives a file its size, and the room on the host for all of it: so that memory mapped from it is
/// there.
pub(crate) fn allocate_file(file: c_int, size: u64) -> Result<(), Errno> {
    let size = files::off_t::try_from(size).map_err(|_| libc::EFBIG)?;
    #[cfg(not(any(target_os = "macos", target_os = "ios")))]
    loop {
        // SAFETY: the call touches no memory. It gives its error, and sets none.
        match unsafe { files::posix_fallocate(file, 0, size) } {
            0 => return Ok(()),
            libc::EINTR => {}
            errno => return Err(errno),
        }
    }
    #[cfg(any(target_os = "macos", target_os = "ios"))]
    {
        // There is no call for it here: every page is written.
        let zeros = [0; 4096];
        for offset in (0..size as u64).step_by(zeros.len()) {
            super::write_all_at(file, &zeros, offset).map_err(|(_, errno)| errno)?;
        }
        Ok(())
    }
}

/// Gives a file another name, in place of what has that one.
pub(crate) fn rename(from: &CStr, to: &CStr) -> Result<(), Errno> {
    // SAFETY: both end with a NUL.
    retry(|| unsafe { libc::rename(from.as_ptr(), to.as_ptr()) } as isize).map(drop)
}

/// Takes a name away.
pub(crate) fn remove(path: &CStr) {
    // SAFETY: `path` ends with a NUL.
    unsafe { libc::unlink(path.as_ptr()) };
}
