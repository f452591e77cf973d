//! Open files: the number of each, and the file that the number stood for.
//!
//! ```text
//!  open ─▶ File: a high number, device, inode ─▶ Held ─ number, if it is still that file ─▶ a call
//! ```
//!
//! A program may close any file number and open its own file there. So before each write or close,
//! the runtime asks the system which file the number stands for, and leaves another file alone.
//! Design: `.sol.held` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

use super::{Errno, FileIdentity, close, files, identify_file, leave_file};
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// Numbers below half of this count are left to the program, where the limit allows it.
const NUMBER_COUNT: u64 = 1024;
/// The value of [`Held::number`] when no file is held.
const NONE: c_int = -1;

#[derive(Clone, Copy, Debug)]
pub(crate) struct File {
    number: c_int,
    identity: FileIdentity,
}

impl File {
    /// Takes a file that was just opened, and moves it above the numbers that programs choose.
    pub(crate) fn new(number: c_int) -> Result<File, Errno> {
        let number = raise(number);
        match identify_file(number) {
            Ok(identity) => Ok(File { number, identity }),
            Err(errno) => {
                close(number);
                Err(errno)
            }
        }
    }

    /// Returns the file's current facts; EBADF if its number stands for another file, or none.
    pub(crate) fn look(&self) -> Result<FileIdentity, Errno> {
        identify_file(self.number).ok().filter(|now| now.is(&self.identity)).ok_or(libc::EBADF)
    }

    /// Returns whether its number stood for a file.
    pub(crate) fn was(&self, file: &FileIdentity) -> bool {
        self.identity.is(file)
    }

    /// Returns the number unchecked, for a caller that just called [`look`](File::look).
    pub(crate) fn seen(&self) -> c_int {
        self.number
    }

    /// Returns the number; EBADF if it stands for another file, or none.
    pub(crate) fn number(&self) -> Result<c_int, Errno> {
        self.look().map(|_| self.number)
    }

    pub(crate) fn close(self) {
        if self.number().is_ok() {
            close(self.number);
        }
    }

    /// Leaves the file to the process that shares it. Returns what its number now stands for.
    pub(crate) fn leave(self) -> Option<File> {
        let is_left = self.number().is_ok_and(leave_file);
        let identity = identify_file(self.number).ok().filter(|_| is_left)?;
        Some(File { number: self.number, identity })
    }
}

/// Moves a file to a high number; leaves it at its own where no other is available.
fn raise(file: c_int) -> c_int {
    let mut limit = files::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call fills a structure that lives through it; the others touch no memory.
    unsafe {
        files::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        let count = u64::try_from(limit.rlim_cur as i128).unwrap_or(NUMBER_COUNT);
        let least = (count.min(NUMBER_COUNT) / 2) as c_int;
        if file >= least {
            return file;
        }
        let high = libc::fcntl(file, libc::F_DUPFD_CLOEXEC, least);
        if high < 0 {
            return file;
        }
        close(file);
        high
    }
}

/// A place for an open file, or none.
pub(crate) struct Held {
    number: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
}

impl Held {
    pub(crate) const fn none() -> Held {
        let (device, inode) = (AtomicU64::new(0), AtomicU64::new(0));
        Held { number: AtomicI32::new(NONE), device, inode }
    }

    /// Holds another file, or none. Only one thread at a time may call it; readers meanwhile find
    /// no file.
    pub(crate) fn set(&self, file: Option<File>) {
        self.number.store(NONE, Ordering::SeqCst);
        if let Some(file) = file {
            let (device, inode) = file.identity.key();
            self.device.store(device, Ordering::Relaxed);
            self.inode.store(inode, Ordering::Relaxed);
            self.number.store(file.number, Ordering::SeqCst);
        }
    }

    pub(crate) fn get(&self) -> Option<File> {
        let number = self.number.load(Ordering::SeqCst);
        let key = (self.device.load(Ordering::Relaxed), self.inode.load(Ordering::Relaxed));
        (number != NONE).then_some(File { number, identity: FileIdentity::of_key(key) })
    }

    /// Returns whether a file is held, without checking its number.
    pub(crate) fn is_some(&self) -> bool {
        self.number.load(Ordering::SeqCst) != NONE
    }

    /// Returns the number of the file; EBADF if none is held, or the number stands for another
    /// file.
    pub(crate) fn number(&self) -> Result<c_int, Errno> {
        self.get().ok_or(libc::EBADF)?.number()
    }

    pub(crate) fn take(&self) -> Option<File> {
        let file = self.get();
        self.set(None);
        file
    }

    pub(crate) fn close(&self) {
        self.take().into_iter().for_each(File::close);
    }

    /// Leaves the file, if one is held, to the process that shares it.
    pub(crate) fn leave(&self) {
        self.set(self.get().and_then(File::leave));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{AsRawFd, IntoRawFd};

    #[test]
    fn a_file_number_that_the_program_took_is_left_open() {
        let temporary = || tempfile::tempfile().expect("a file");
        let held = Held::none();
        assert_eq!((held.number(), held.is_some()), (Err(libc::EBADF), false));
        held.set(File::new(temporary().into_raw_fd()).ok());
        let number = held.number().expect("it is open");
        assert!(number >= 8, "{number}: not above the numbers that programs choose");
        let own = temporary();
        // SAFETY: the call touches no memory; the number belongs to this test.
        assert_eq!(unsafe { libc::dup2(own.as_raw_fd(), number) }, number);
        assert_eq!((held.number(), held.is_some()), (Err(libc::EBADF), true));
        let identity = || identify_file(number).map(|found| found.key());
        let before = identity();
        held.leave();
        assert!(!held.is_some());
        held.set(File::new(temporary().into_raw_fd()).ok());
        let other = held.take().expect("it is open");
        close(other.number);
        other.close();
        assert_eq!(identity(), before);
        close(number);
    }
}
