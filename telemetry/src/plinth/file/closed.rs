//! A log whose file the program closed, as a daemon does by `closefrom`: it is opened again.
//!
//! ```text
//!  EBADF ─▶ the name: the same file? ─ claim ─ header: this stream? ─▶ the log goes on
//!                │ none                           └ none: truncated ─┐
//!                └──────── removed ──────────────────────────────────┴▶ a new volume (`Seen`)
//! ```
//!
//! Design: `.sol.held` in `design/telemetry.md`.

use super::{FilePlinth, OPEN_COUNT_MAX};
use crate::os::sys::{self, Errno, File, NotOwn};
use crate::plinth::{self, Plinth};
use core::ffi::c_int;
use eventlog::format::{STREAM_HEADER_SIZE, STREAM_MAGIC, StreamHeader};

impl FilePlinth {
    /// Returns the file, after a look at it. A file that the program closed is opened again, if it
    /// still has the name of the log.
    pub(super) fn look(&self) -> Result<File, Errno> {
        self.look_once().or_else(|errno| self.look_again(errno))
    }

    fn look_once(&self) -> Result<File, Errno> {
        let file = self.file.get().ok_or(libc::EBADF)?;
        match self.can_rewrite() {
            // One that begins has no name yet.
            true => self.seen.look(file, !self.before.is_some(), &self.name)?,
            false => drop(file.look()?),
        }
        Ok(file)
    }

    #[cold]
    #[inline(never)]
    fn look_again(&self, errno: Errno) -> Result<File, Errno> {
        let _changing = self.changing.lock_waiting().ok_or(errno)?;
        for _ in 0..OPEN_COUNT_MAX {
            // Another thread may have opened it meanwhile.
            if let Ok(file) = self.look_once() {
                return Ok(file);
            }
            self.reopen(errno)?;
        }
        Err(errno)
    }

    /// Opens the file of the name. One that the program closes at once counts as exchanged.
    pub(super) fn open_file(&self) -> Result<Result<File, NotOwn>, Errno> {
        match self.name.with_path(sys::open_log).ok_or(libc::EAGAIN)? {
            Err(libc::EBADF) => Ok(Err(NotOwn::Exchanged)),
            opened => opened,
        }
    }

    /// Opens the file again, unless it must be tried once more: the closing that was noticed still
    /// goes on, and closed this one too, or the system has not given up the claim of the closed one
    /// yet.
    fn reopen(&self, errno: Errno) -> Result<(), Errno> {
        let lost = self.file.get().filter(|_| self.can_rewrite()).ok_or(errno)?;
        let named = self.name.with_path(sys::identify_name).ok_or(libc::EAGAIN)?;
        // A new volume that has no name yet is lost with its file.
        if self.before.is_some() || named.as_ref().err() == Some(&libc::ENOENT) {
            self.seen.lose();
            return Err(errno);
        }
        if !lost.was(&named?) {
            return Err(errno);
        }
        let file = match self.open_file()? {
            Ok(file) => file,
            Err(NotOwn::Exchanged) => return Ok(()),
            Err(_) => return Err(errno),
        };
        let is_this = file.look().is_ok_and(|found| lost.was(&found));
        let is_claimed = is_this && sys::claim_file(file.seen());
        if is_claimed && !is_others(file.seen()) {
            self.file.set(Some(file));
            return Ok(());
        }
        file.close();
        if is_claimed {
            return Err(errno);
        }
        sys::give_way();
        Ok(())
    }
}

/// Returns whether another process has begun a log in a file. Without a header it was truncated.
fn is_others(file: c_int) -> bool {
    let mut bytes = [0; STREAM_HEADER_SIZE];
    let is_read = sys::read_open_file(file, &mut bytes).is_some();
    let header: StreamHeader = bytemuck::cast(bytes);
    is_read && header.magic == STREAM_MAGIC && !plinth::is_own_now(&header)
}
