//! Calls that a mapped file needs: read its predecessor, allocate its room.
//!
//! ```text
//!  open_to_read ─ is it a log?        allocate_file ─▶ every mapped page has its room on the host
//! ```
//!
//! Design: `.sol.mapped`, `.req.external` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use super::{Errno, files, retry};
use core::ffi::{CStr, c_int};

/// Opens a file for reading, without waiting for a writer.
pub(crate) fn open_to_read(path: &CStr) -> Result<c_int, Errno> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    let flags = flags | libc::O_NOFOLLOW;
    // SAFETY: `path` ends with a NUL.
    retry(|| unsafe { files::open(path.as_ptr(), flags) } as isize).map(|file| file as c_int)
}

/// Gives a file its size, and allocates all of it on the host, so that every mapped page exists.
pub(crate) fn allocate_file(file: c_int, size: u64) -> Result<(), Errno> {
    let size = files::off_t::try_from(size).map_err(|_| libc::EFBIG)?;
    #[cfg(not(any(target_os = "macos", target_os = "ios")))]
    loop {
        // SAFETY: the call touches no memory. It returns its error and does not set `errno`.
        match unsafe { files::posix_fallocate(file, 0, size) } {
            0 => return Ok(()),
            libc::EINTR => {}
            errno => return Err(errno),
        }
    }
    #[cfg(any(target_os = "macos", target_os = "ios"))]
    {
        // The system has no call for it: this writes every page.
        let zeros = [0; 4096];
        for offset in (0..size as u64).step_by(zeros.len()) {
            super::write_all_at(file, &zeros, offset).map_err(|(_, errno)| errno)?;
        }
        Ok(())
    }
}
