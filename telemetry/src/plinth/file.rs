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

/// The longest name of a file, in bytes, its NUL included.
pub(crate) const PATH_SIZE_MAX: usize = 4096;
/// What [`FilePlinth::file`] is before there is a file.
const NO_FILE: i32 = -1;

/// A stream in a file of the operating system.
pub struct FilePlinth {
    path: [u8; PATH_SIZE_MAX],
    file: AtomicI32,
    regular: AtomicBool,
    /// The size that the process may give it: a write beyond would end the program by a signal.
    size_max: AtomicU64,
    /// Held while a block is appended. True: one was torn, and what would follow could not be read.
    torn: Locked<bool>,
}

impl FilePlinth {
    /// A plinth for the file of this name, which is created or emptied when the stream begins, and
    /// which no other process can make its log until this one ends; `None` if the name is longer than the operating system allows, or holds a NUL.
    pub fn new(path: impl AsRef<[u8]>) -> Option<FilePlinth> {
        let path = path.as_ref();
        if path.len() >= PATH_SIZE_MAX || path.contains(&0) {
            return None;
        }
        let mut plinth = FilePlinth {
            path: [0; PATH_SIZE_MAX],
            file: AtomicI32::new(NO_FILE),
            regular: AtomicBool::new(false),
            size_max: AtomicU64::new(u64::MAX),
            torn: Locked::new(false),
        };
        plinth.path[..path.len()].copy_from_slice(path);
        Some(plinth)
    }

    fn name(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.path).unwrap_or_default()
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
        sys::write_all(file, bytes).map_err(|(done, errno)| {
            *torn = done != 0;
            errno
        })
    }
}

impl Plinth for FilePlinth {
    /// Empties the file only once it is this process's own: another's log is not touched.
    fn create(&self, _: usize) -> Result<(), PlinthError> {
        let failed = |operation, errno| PlinthError { operation, errno };
        let file = sys::open_file(self.name()).map_err(|errno| failed(Operation::Create, errno))?;
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
        write!(f, "{}", Text(self.name().to_bytes()))
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
