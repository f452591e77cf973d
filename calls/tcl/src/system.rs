//! What the library asks of the system: forks, other processes, its own place.
#![expect(unsafe_code, reason = "functions of the C library")]

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};
use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

static IS_FORKED: AtomicBool = AtomicBool::new(false);

pub(crate) extern "C" fn on_fork() {
    IS_FORKED.store(true, Ordering::Relaxed);
}

/// Returns whether this process was forked since the last question.
#[inline]
pub(crate) fn is_forked() -> bool {
    IS_FORKED.load(Ordering::Relaxed) && IS_FORKED.swap(false, Ordering::Relaxed)
}

/// Returns whether, within a time, nothing more can come from a pipe that has been read so far.
pub(crate) fn is_at_end_in(pipe: &impl AsRawFd, time: Duration) -> bool {
    let mut poll = libc::pollfd { fd: pipe.as_raw_fd(), events: 0, revents: 0 };
    let time = time.as_millis().try_into().unwrap_or(libc::c_int::MAX);
    // SAFETY: one structure, which is writable.
    unsafe { libc::poll(&mut poll, 1, time) > 0 }
}

/// Asks another process to end.
pub(crate) fn terminate(process: u32) {
    if let Ok(process) = libc::pid_t::try_from(process) {
        // SAFETY: it takes numbers.
        unsafe { libc::kill(process, libc::SIGTERM) };
    }
}

/// Returns the folder of this library.
pub(crate) fn folder() -> Option<PathBuf> {
    // SAFETY: the structure is zeros or pointers to strings of the loader, which stay.
    unsafe {
        let mut facts: libc::Dl_info = core::mem::zeroed();
        let here = (&raw const IS_FORKED).cast();
        if libc::dladdr(here, &mut facts) == 0 || facts.dli_fname.is_null() {
            return None;
        }
        let path = Path::new(OsStr::from_bytes(CStr::from_ptr(facts.dli_fname).to_bytes()));
        path.canonicalize().ok()?.parent().map(Path::to_owned)
    }
}
