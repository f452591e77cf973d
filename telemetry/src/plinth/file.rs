//! The plinth that is a file: what most programs use, and the default.
//!
//! ```text
//!  regular file      pwrite(2), each block at its place: threads share no lock, no position
//!  pipe, device, …   write(2), one block after the other, under a lock
//! ```
//!
//! Design: `.sol.plinth` in `design/telemetry.md`; `.stream.grow`, `.write.torn` in
//! `design/format.md`.

use super::{Operation, Plinth, PlinthError};
use crate::sync::Locked;
use crate::{report::Text, sys};
use core::ffi::CStr;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::borrow::Cow;
use std::ffi::CString;

/// The longest name of a file that is looked at, in bytes. Systems take no longer ones.
pub(crate) const PATH_SIZE_MAX: usize = 4096;
/// How much of its name is said where something failed, in bytes.
const PATH_SAID_MAX: usize = 256;
/// What [`FilePlinth::file`] is before there is a file.
const NO_FILE: i32 = -1;

/// A stream in a file of the operating system.
pub struct FilePlinth {
    path: Cow<'static, CStr>,
    file: AtomicI32,
    regular: AtomicBool,
    /// The size that the process may give it: a write beyond would end the program by a signal.
    size_max: AtomicU64,
    /// Held while a block is appended. True: one was torn, and what would follow could not be read.
    torn: Locked<bool>,
}

impl FilePlinth {
    /// A plinth for the file of this name, which is created or emptied when the stream begins, and
    /// which no other process can make its log until this one ends; `None` if the name holds a NUL.
    pub fn new(path: impl AsRef<[u8]>) -> Option<FilePlinth> {
        Some(FilePlinth::named(CString::new(path.as_ref()).ok()?))
    }

    /// The same for a name that may be somewhere for ever: without allocating.
    pub(crate) fn named(path: impl Into<Cow<'static, CStr>>) -> FilePlinth {
        FilePlinth {
            path: path.into(),
            file: AtomicI32::new(NO_FILE),
            regular: AtomicBool::new(false),
            size_max: AtomicU64::new(u64::MAX),
            torn: Locked::new(false),
        }
    }

    fn write_at(&self, file: i32, bytes: &[u8], offset: u64) -> Result<(), i32> {
        let end = offset.saturating_add(bytes.len() as u64);
        if end > self.size_max.load(Ordering::Relaxed) {
            return Err(libc::EFBIG);
        }
        sys::write_all_at(file, bytes, offset).map_err(|(_, errno)| errno)
    }

    /// Writes at the end. What is torn there cannot be repaired: nothing more is written then.
    fn append(&self, file: i32, bytes: &[u8]) -> Result<(), i32> {
        let mut torn = self.torn.lock_waiting().ok_or(libc::EAGAIN)?;
        if *torn {
            return Err(libc::EIO);
        }
        sys::write_all_in_peace(file, bytes).map_err(|(done, errno)| {
            *torn = done != 0;
            errno
        })
    }
}

impl Plinth for FilePlinth {
    /// Empties the file only once it is this process's own: another's log is not touched.
    fn create(&self, _: usize) -> Result<(), PlinthError> {
        let failed = |operation, errno| PlinthError { operation, errno };
        let file = sys::open_file(&self.path).map_err(|errno| failed(Operation::Create, errno))?;
        let regular = sys::is_regular(file);
        if regular {
            let claimed = if sys::claim_file(file) {
                sys::empty_file(file).map_err(|errno| failed(Operation::Create, errno))
            } else {
                Err(failed(Operation::Claim, libc::EWOULDBLOCK))
            };
            claimed.inspect_err(|_| sys::close(file))?;
        }
        self.regular.store(regular, Ordering::Relaxed);
        self.size_max.store(sys::file_size_max(), Ordering::Relaxed);
        let old = self.file.swap(file, Ordering::Release);
        if old != NO_FILE {
            sys::close(old);
        }
        Ok(())
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        let file = self.file.load(Ordering::Acquire);
        let result = if self.can_rewrite() {
            self.write_at(file, bytes, offset)
        } else {
            self.append(file, bytes)
        };
        result.map_err(|errno| PlinthError { operation: Operation::Write, errno })
    }

    fn can_rewrite(&self) -> bool {
        self.regular.load(Ordering::Relaxed)
    }

    fn leave(&self) {
        let file = self.file.load(Ordering::Acquire);
        if file != NO_FILE {
            sys::leave_file(file);
        }
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.path.to_bytes();
        match name.get(..PATH_SAID_MAX) {
            Some(beginning) if name.len() > PATH_SAID_MAX => write!(f, "{}…", Text(beginning)),
            _ => write!(f, "{}", Text(name)),
        }
    }
}

impl Drop for FilePlinth {
    fn drop(&mut self) {
        let file = *self.file.get_mut();
        if file != NO_FILE {
            sys::close(file);
        }
    }
}
