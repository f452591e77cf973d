//! A log whose file the program closed, as a daemon does by `closefrom`: it is opened again.
//!
//! ```text
//!  EBADF ─▶ the name: the same file? ─ claim ─ header: this stream? ─▶ the log goes on
//! ```
//!
//! Design: `.sol.held` in `design/telemetry.md`.

use super::FilePlinth;
use crate::os::sys::{self, File};
use crate::plinth::{self, Plinth};
use eventlog::format::STREAM_HEADER_SIZE;

/// How often a thread looks whether another one has opened the file again. In a signal handler the
/// interrupted code may be the other one.
const REOPEN_COUNT_MAX: u32 = 1000;

impl FilePlinth {
    /// Returns the file, and what `look` says of it. A file that the program closed is opened
    /// again, if it still has the name of the log.
    pub(super) fn look<T>(&self, look: impl Fn(File) -> Result<T, i32>) -> Result<(File, T), i32> {
        let look = || {
            let file = self.file.get().ok_or(libc::EBADF)?;
            Ok((file, look(file)?))
        };
        for _ in 0..REOPEN_COUNT_MAX {
            let errno = match look() {
                Ok(found) => return Ok(found),
                Err(errno) => errno,
            };
            if let Some(_reopening) = self.reopening.try_lock() {
                // Another thread may have opened it meanwhile.
                return look().or_else(|_| self.reopen(errno).and_then(|()| look()));
            }
            sys::give_way();
        }
        look()
    }

    fn reopen(&self, errno: i32) -> Result<(), i32> {
        let lost = self.file.get().filter(|_| self.can_rewrite()).ok_or(errno)?;
        let named = self.name.with_path(sys::identify_name).ok_or(libc::EAGAIN)??;
        if !lost.was(&named) {
            return Err(errno);
        }
        let file = self.name.with_path(sys::open_log).ok_or(libc::EAGAIN)??.map_err(|_| errno)?;
        // Another process may have begun a log in it.
        let is_own = |number| {
            let mut bytes = [0; STREAM_HEADER_SIZE];
            let is_read = sys::read_open_file(number, &mut bytes).is_some();
            is_read && plinth::is_own_now(&bytemuck::cast(bytes))
        };
        if !file.number().is_ok_and(|number| sys::claim_file(number) && is_own(number)) {
            file.close();
            return Err(errno);
        }
        self.file.set(Some(file));
        Ok(())
    }
}
