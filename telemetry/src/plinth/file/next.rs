//! How a stream goes on in its next volume, or in a file that another process truncated.
//!
//! ```text
//!  create_next: a file without a name ── header ──▶ publish: PATH; the one before: PATH.1
//! ```
//!
//! Design: `.sol.volume`, `.sol.held` in `design/telemetry.md`.

use super::{FilePlinth, OPEN_COUNT_MAX, Volumes};
use crate::os::sys::{self, Errno, File, Unnamed};
use core::sync::atomic::Ordering;

impl FilePlinth {
    /// Goes on in a new file. This one keeps its name, and the claim, until the new one has its
    /// header. The caller holds `changing`.
    pub(super) fn create_next(&self, volumes: Volumes, before: File) -> Result<(), i32> {
        let has_name = !self.before.is_some();
        if !has_name {
            // First: the new file may get the number and the inode of one that was closed.
            let before = Unnamed { file: before, hidden: self.hidden.load(Ordering::Relaxed) };
            self.name.with_path(|path| before.discard(path));
        }
        let open = || self.name.with_path(|path| volumes.open_next(path)).ok_or(libc::EAGAIN)?;
        let next = self.with_room(u64::MAX, open)?;
        if has_name {
            self.before.set(Some(before));
        }
        self.hidden.store(next.hidden, Ordering::Relaxed);
        self.seen.begin(0);
        self.file.set(Some(next.file));
        Ok(())
    }

    /// Goes on in a new file, also if the program closes some of them before they are claimed.
    pub(in crate::plinth) fn create_next_again(&self, volumes: Volumes) -> Result<(), Errno> {
        let _changing = self.changing.lock_waiting().ok_or(libc::EAGAIN)?;
        let before = self.file.get().ok_or(libc::EBADF)?;
        let mut next = (0..OPEN_COUNT_MAX).map(|_| self.create_next(volumes, before));
        next.find(|next| *next != Err(libc::EBADF)).unwrap_or(Err(libc::EBADF))
    }

    /// Gives up the new file: the one before goes on.
    pub(in crate::plinth) fn take_back(&self) {
        let Some(before) = self.before.take() else { return };
        if let Some(file) = self.file.get() {
            let next = Unnamed { file, hidden: self.hidden.load(Ordering::Relaxed) };
            self.name.with_path(|path| next.discard(path));
        }
        self.file.set(Some(before));
    }

    /// Begins the next volume behind the last one in the same file, which has its name; or, if
    /// another process took that away, in a file of the name.
    pub(in crate::plinth) fn go_on(&self) -> Result<bool, Errno> {
        let Some(file) = self.file.get() else { return Ok(false) };
        if !self.seen.is_lost() {
            self.seen.begin_behind(file.look()?.size);
            return Ok(true);
        }
        if self.begin_again(file) {
            return Ok(true);
        }
        let is_open = self.open()?.is_ok();
        if is_open {
            file.close();
        }
        Ok(is_open)
    }

    /// Goes on in the same file, which another process truncated. Returns false if it has another
    /// name, or none.
    pub(super) fn begin_again(&self, file: File) -> bool {
        let named = self.name.with_path(sys::identify_name);
        let (Some(Ok(named)), Ok(found)) = (named, file.look()) else { return false };
        if named.is(&found) {
            self.seen.begin(found.size);
        }
        named.is(&found)
    }

    /// Gives the new volume the name of the stream.
    pub(in crate::plinth) fn publish(&self) -> Result<(), i32> {
        let Some(volumes) = self.volumes.filter(|_| self.before.is_some()) else { return Ok(()) };
        let _changing = self.changing.lock_waiting().ok_or(libc::EAGAIN)?;
        let file = self.file.get().ok_or(libc::EBADF)?;
        let next = Unnamed { file, hidden: self.hidden.load(Ordering::Relaxed) };
        self.name.with_path(|path| volumes.publish(path, next)).ok_or(libc::EAGAIN)??;
        self.before.close();
        Ok(())
    }
}
