//! What a mapped file takes: to look at the one before, to allocate room.
//!
//! ```text
//!  open_to_read ─ is it a log?        allocate_file ─▶ memory that is mapped from it is there
//! ```
//!
//! Design: `.sol.mapped`, `.req.external` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use super::{Errno, files, retry};
use core::ffi::{CStr, c_int};

/// Opens a file to look at it, without waiting for whoever writes it.
pub(crate) fn open_to_read(path: &CStr) -> Result<c_int, Errno> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    let flags = flags | libc::O_NOFOLLOW;
    // SAFETY: `path` ends with a NUL.
    retry(|| unsafe { files::open(path.as_ptr(), flags) } as isize).map(|file| file as c_int)
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
