//! The plinth that is a file: what most programs use, and the default.
//!
//! ```text
//!  regular file      pwrite(2), each block at its place: threads share no lock, no position
//!  pipe, device, …   write(2), one block after the other, under a lock
//!  bounded           PATH, and the volumes before it as PATH.1, PATH.2 … (volumes.rs)
//! ```
//!
//! The runtime leaves a log alone that another process writes or another user may write, and a log
//! that this process wrote before an `exec`: the new log gets another name. Design: `.sol.plinth`,
//! `.sol.fork`, `.sol.own`, `.sol.held`, `.sol.volume` in `design/telemetry.md`; `.stream.grow`,
//! `.write.torn` in `design/format.md`.

mod closed;
mod next;

use super::name::{LogName, Said};
use super::seen::Seen;
use super::volumes::{self, Room, Volumes};
use super::{DestinationError, Operation, Plinth, PlinthError, c_path};
use crate::os::sync::Locked;
use crate::os::sys::{self, File, Held, NotOwn};
use crate::os::{forked, report, way_out};
use core::ffi::{CStr, c_int};
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use eventlog::format::STREAM_HEADER_SIZE;
use std::borrow::Cow;
use std::path::Path;

/// The longest time that a signal handler waits for a reader, in ms.
const CRASH_TIME_MAX: i32 = 1000;
/// The greatest number of attempts to open a file that another process keeps renaming.
const OPEN_COUNT_MAX: u32 = 100;

/// A stream in a file of the operating system, or in several of bounded size.
pub struct FilePlinth {
    pub(super) name: LogName,
    volumes: Option<Volumes>,
    file: Held,
    /// The file that has the name while `file`, a new volume, does not have it yet; kept for the
    /// claim.
    before: Held,
    /// The name that `file` has until then ([`Unnamed::hidden`]).
    hidden: AtomicU64,
    /// Whether `file` was the parent's, of this forked child.
    left: AtomicBool,
    /// A file that is being opened, and not claimed yet.
    opening: Held,
    regular: AtomicBool,
    seen: Seen,
    /// Held while another file comes into `file` or `before`: the next volume, or one that the
    /// program closed, and that is opened again.
    changing: Locked<()>,
    /// Held while a block is appended. True: one was torn, and later blocks could not be read.
    torn: Locked<bool>,
    room: Room,
}

impl FilePlinth {
    /// Returns a plinth for the file at `path`; fails if the path contains a NUL byte. The runtime
    /// creates or truncates the file when the stream begins, and claims it until the process ends.
    /// If another process has the file, or this process wrote it before an `exec`, the runtime adds
    /// `-` and the process number to the name; also in a forked child.
    pub fn new(path: impl AsRef<Path>) -> Result<FilePlinth, DestinationError> {
        Ok(FilePlinth::named(c_path(path.as_ref())?.into(), false))
    }

    /// Returns the same for a path in which `%p` stands for the number of the process: a forked
    /// child begins a file with a name of its own.
    pub fn per_process(path: impl AsRef<Path>) -> Result<FilePlinth, DestinationError> {
        Ok(FilePlinth::named(c_path(path.as_ref())?.into(), true))
    }

    /// Returns a plinth for a stream in at most `count` files of at most `size` bytes each: the
    /// newest at `path`, the one before it at `path.1`, and so on. A new file replaces the oldest.
    /// Each can be read alone. Fails if the path contains a NUL byte, or if `count` is not from 2
    /// to 1000. The runtime reports a size of fewer than 8 blocks when the stream begins, and
    /// outputs nothing.
    pub fn bounded(
        path: impl AsRef<Path>,
        size: u64,
        count: u32,
    ) -> Result<Self, DestinationError> {
        let volumes = volumes::bounded(path.as_ref(), size, count)?;
        Ok(FilePlinth::new(path)?.with_volumes(Some(volumes)))
    }

    pub(crate) fn with_volumes(mut self, volumes: Option<Volumes>) -> FilePlinth {
        self.volumes = volumes;
        self
    }

    /// Does not allocate. In a pattern `%p` is the process identifier.
    pub(crate) fn named(path: Cow<'static, CStr>, is_pattern: bool) -> FilePlinth {
        FilePlinth {
            name: LogName::new(path, is_pattern),
            volumes: None,
            file: Held::none(),
            before: Held::none(),
            hidden: AtomicU64::new(0),
            left: AtomicBool::new(false),
            opening: Held::none(),
            regular: AtomicBool::new(false),
            seen: Seen::new(),
            changing: Locked::new(()),
            torn: Locked::new(false),
            room: Room::new(),
        }
    }

    /// Returns the same for a file of the directory with this name.
    pub(super) fn of_directory(mut self, number: u8) -> FilePlinth {
        self.name.set_file(number);
        self
    }

    /// Begins the stream in the file of a directory: a regular file.
    pub(super) fn open_in(&self, directory: &LogName) -> Result<Result<(), Taken>, i32> {
        self.name.take_of(directory);
        let found = self.name.with_path(sys::identify_name).ok_or(libc::EAGAIN)?;
        // Opening a pipe would wait for a reader.
        match found.ok().filter(|found| !found.is_regular()) {
            Some(found) if found.sort == libc::S_IFLNK => Ok(Err(Taken::NotOwn(NotOwn::Link))),
            Some(_) => Ok(Err(Taken::NotOwn(NotOwn::Other))),
            None => self.open(),
        }
    }

    /// Returns whether the stream has begun in it, and was not left to a parent process.
    pub(super) fn is_open(&self) -> bool {
        self.file.is_some() && !self.left.load(Ordering::Relaxed)
    }

    /// Closes the file: the stream begins elsewhere.
    pub(super) fn give_up(&self) {
        self.file.close();
        self.before.close();
        self.hidden.store(0, Ordering::Relaxed);
        self.left.store(false, Ordering::Relaxed);
    }

    /// Returns the end of what was written to it.
    pub(super) fn size(&self) -> u64 {
        self.seen.size()
    }

    /// Deletes the file that is `number` volumes old; returns whether it existed.
    pub(super) fn remove(&self, number: u32) -> bool {
        let remove = |path: &CStr| self.volumes.is_some_and(|all| all.remove(path, number));
        self.name.with_path(remove) == Some(true)
    }

    /// Gives the room of the volume before to this one, which begins; returns whether it had any.
    pub(super) fn give_up_before(&self) -> bool {
        self.name.with_path(|path| volumes::give_up(path, &self.before)) == Some(true)
    }

    fn write_at(&self, file: i32, bytes: &[u8], offset: u64) -> Result<(), i32> {
        let end = offset.saturating_add(bytes.len() as u64);
        // A write beyond would end the program by a signal.
        if end > sys::file_size_max() {
            return Err(libc::EFBIG);
        }
        sys::write_all_at(file, bytes, offset).map_err(|(_, errno)| errno)
    }

    /// Calls a write that needs room on the disk; older volumes are deleted for it. (The files of a
    /// directory make room together.)
    fn with_room<T>(&self, offset: u64, write: impl FnMut() -> Result<T, i32>) -> Result<T, i32> {
        let volumes = self.volumes.filter(|_| !self.name.is_of_directory());
        self.room.with(volumes, &self.name, &self.before, offset, write)
    }

    /// Writes bytes of the stream; a new volume gets no name by it.
    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        let failed = |errno| PlinthError { operation: Operation::Write, errno };
        for _ in 0..OPEN_COUNT_MAX {
            let found = self.look();
            if self.can_rewrite() && self.seen.is_lost() && !way_out::is_here() {
                return Err(PlinthError { operation: Operation::Renew, errno: libc::ESTALE });
            }
            let file = found.map_err(failed)?.seen();
            if !self.can_rewrite() {
                return self.append(file, bytes).map_err(failed);
            }
            let place = self.seen.place(offset);
            match self.with_room(place, || self.write_at(file, bytes, place)) {
                // The program closed it after the look.
                Err(libc::EBADF) => {}
                written => {
                    written.map_err(failed)?;
                    self.seen.note(place.saturating_add(bytes.len() as u64));
                    return Ok(());
                }
            }
        }
        Err(failed(libc::EBADF))
    }

    /// Writes at the end. A torn block there cannot be repaired: afterwards nothing more is
    /// written.
    fn append(&self, file: i32, bytes: &[u8]) -> Result<(), i32> {
        let mut torn = self.torn.lock_waiting().ok_or(libc::EAGAIN)?;
        if *torn {
            return Err(libc::EIO);
        }
        let result = match way_out::is_here() {
            true => sys::write_all_in_time(file, bytes, CRASH_TIME_MAX),
            false => sys::write_all_in_peace(file, bytes),
        };
        result.map_err(|(done, errno)| {
            *torn = done != 0;
            errno
        })
    }
}

/// Why a file is not this process's log.
#[derive(Clone, Copy)]
pub(super) enum Taken {
    /// Another process writes it.
    InUse,
    /// This process wrote it, before it executed this program.
    OwnBefore,
    /// Another process has just given the name to another file.
    Renamed,
    /// This process may not empty it.
    Full,
    /// Its directory is something else.
    NotDirectory,
    /// It belongs to another user.
    NotOwn(NotOwn),
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Taken::InUse | Taken::Renamed => {
                "is in use by another process, or by a library of this one"
            }
            Taken::OwnBefore => "was written by this process, before it executed this program",
            Taken::Full => "cannot be emptied (permission denied)",
            Taken::NotDirectory => "is not a directory",
            Taken::NotOwn(why) => return why.fmt(f),
        })
    }
}

impl FilePlinth {
    /// Opens the current file of the name, and begins the stream in it once this process has
    /// claimed it: another process's log is not touched.
    pub(super) fn open(&self) -> Result<Result<(), Taken>, i32> {
        let mut taken = Taken::Renamed;
        for _ in 0..OPEN_COUNT_MAX {
            let fork_count = forked::count();
            let file = match self.open_file()? {
                Ok(file) => file,
                Err(NotOwn::Exchanged) => continue,
                Err(why) => return Ok(Err(Taken::NotOwn(why))),
            };
            // If a signal handler forks after this, the child leaves the file, and its number then
            // stands for `/dev/null`.
            self.opening.set(Some(file));
            let result = match fork_count == forked::count() {
                true => self.claim(file),
                false => Err(libc::ECHILD),
            };
            self.opening.set(None);
            if !matches!(result, Ok(Ok(()))) {
                file.close();
            }
            match result {
                // The program may close it before it is claimed (closed.rs).
                Ok(Err(Taken::Renamed)) | Err(libc::EBADF) => taken = Taken::Renamed,
                result => return result,
            }
        }
        Ok(Err(taken))
    }

    fn claim(&self, file: File) -> Result<Result<(), Taken>, i32> {
        let found = file.look()?;
        if !found.is_regular() {
            return self.begin(file).map(Ok);
        }
        if !sys::claim_file(file.number()?) {
            return Ok(Err(Taken::InUse));
        }
        let name = self.name.with_path(sys::identify_name);
        let is_link = |name: &sys::FileIdentity| name.sort == libc::S_IFLNK;
        if let Some(Ok(name)) = name
            && !found.is(&name)
            && !is_link(&name)
        {
            return Ok(Err(Taken::Renamed));
        }
        if found.link_count > 1 && self.volumes.is_none() {
            return Ok(Err(Taken::NotOwn(NotOwn::Linked)));
        }
        if found.size != 0 && is_own_before(file.number()?) {
            return Ok(Err(Taken::OwnBefore));
        }
        match self.begin(file) {
            Err(libc::EACCES | libc::EPERM) if found.size != 0 && self.volumes.is_none() => {
                Ok(Err(Taken::Full))
            }
            begun => begun.map(Ok),
        }
    }

    /// Begins the stream in an opened file: empties it, or, with volumes, leaves it and begins
    /// another one.
    fn begin(&self, file: File) -> Result<(), i32> {
        let found = file.look()?;
        self.regular.store(found.is_regular(), Ordering::Relaxed);
        let is_new = found.size == 0 && found.link_count == 1;
        match self.volumes {
            Some(next) if found.is_regular() && !is_new => {
                let _changing = self.changing.lock_waiting().ok_or(libc::EAGAIN)?;
                return self.create_next(next, file);
            }
            // `.sol.sandbox`
            _ if found.is_regular() && found.size != 0 => sys::empty_file(file.number()?)?,
            _ => {}
        }
        self.seen.begin(0);
        self.file.set(Some(file));
        Ok(())
    }

    /// Returns whether the name is that of a forked child's parent, and not a regular file: two
    /// processes cannot share such a log.
    fn is_shared(&self) -> bool {
        let is_other = |path: &CStr| sys::is_other_than_file(path);
        self.name.is_parents() && self.name.with_path_of(0, is_other).unwrap_or(true)
    }
}

impl Plinth for FilePlinth {
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        let failed = |operation, errno| PlinthError { operation, errno };
        if self.volumes.is_some_and(|volumes| volumes.is_short(block_size, 1)) {
            return Err(failed(Operation::Bound, libc::EINVAL));
        }
        let (old, is_left) = (self.file.get(), self.left.load(Ordering::Relaxed));
        if !is_left && self.seen.is_lost() && old.is_some_and(|old| self.begin_again(old)) {
            return Ok(());
        }
        if let (Some(volumes), true, false) = (self.volumes, old.is_some(), is_left) {
            let next = self.create_next_again(volumes);
            return next.map_err(|errno| failed(Operation::Create, errno));
        }
        if self.is_shared() {
            return Err(failed(Operation::Claim, libc::EWOULDBLOCK));
        }
        let mut first = None;
        for at in self.name.tries() {
            match self.open().map_err(|errno| failed(Operation::Create, errno))? {
                Err(taken) => first = first.or(Some((at, taken))),
                Ok(()) => {
                    old.into_iter().for_each(File::close);
                    self.left.store(false, Ordering::Relaxed);
                    report_other(&self.name, first.map(|(at, why)| (self.name.said(at), why)));
                    return Ok(());
                }
            }
        }
        Err(failed(Operation::Claim, libc::EWOULDBLOCK))
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        self.write(offset, bytes)?;
        let failed = |errno| PlinthError { operation: Operation::Write, errno };
        if offset == 0 { self.publish().map_err(failed) } else { Ok(()) }
    }

    /// Also if the file was removed or truncated, with or without bounds: a reader could never find
    /// further bytes.
    fn wants_volume(&self, size: u64) -> bool {
        let is_more = |volumes: Volumes| {
            let size_max = sys::file_size_max().min(self.room.size_max());
            self.seen.place(size) > volumes.size.min(size_max)
        };
        let is_full = || self.volumes.is_some_and(is_more);
        self.can_rewrite() && (is_full() || self.seen.is_lost())
    }

    fn can_rewrite(&self) -> bool {
        self.regular.load(Ordering::Relaxed)
    }

    fn is_signal_safe(&self) -> bool {
        true
    }

    fn leave(&self) -> bool {
        self.opening.leave();
        // The child's own has no volume before it.
        self.before.close();
        self.hidden.store(0, Ordering::Relaxed);
        if !self.file.is_some() {
            return true;
        }
        self.left.store(true, Ordering::Relaxed);
        self.file.leave();
        // Two processes cannot share a pipe.
        self.can_rewrite() || self.name.has_pid()
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

/// Reports that the first name was taken, and which one the log has: unless the user expects that.
/// No user looks for a name with `%p`, and this process had the same number before an `exec`.
pub(super) fn report_other(name: &LogName, first: Option<(Said<'_>, Taken)>) {
    let is_expected = |why| name.has_pid() && matches!(why, Taken::OwnBefore);
    if let Some((said, why)) = first.filter(|(_, why)| !is_expected(*why)) {
        report::say(format_args!("{said} {why}; the log of this one is {name}"));
    }
}

/// Returns whether a file is a log that this process wrote before an `exec`. A file that cannot be
/// read counts as one.
fn is_own_before(file: c_int) -> bool {
    let mut bytes = [0; STREAM_HEADER_SIZE];
    let is_read = sys::read_open_file(file, &mut bytes).is_some();
    !is_read || super::is_own_before(&bytemuck::cast(bytes))
}

impl Drop for FilePlinth {
    fn drop(&mut self) {
        self.file.close();
        self.before.close();
    }
}
