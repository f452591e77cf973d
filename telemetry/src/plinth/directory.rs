//! The plinth that is a directory of files, which processors write side by side.
//!
//! ```text
//!  place p ─▶ file (p − 1) mod N, at block 1 + (p − 1) div N      PATH/00.log  PATH/01.log …
//!  place 0 ─▶ each file: the header block, which says which of the files it is
//! ```
//!
//! Each of them is a [`FilePlinth`]. Design: `.sol.directory` in `design/telemetry.md`; section 2.4
//! of `design/format.md`.

use super::file::{Taken, report_other};
use super::name::LogName;
use super::volumes::{self, Room, Volumes};
use super::{DestinationError, FilePlinth, Operation, Plinth, PlinthError, c_path};
use crate::os::link::Link;
use crate::os::sync::Locked;
use crate::os::{
    pages,
    sys::{self, NotOwn},
};
use core::ffi::CStr;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use eventlog::format::{FILE_COUNT_MAX, STREAM_HEADER_SIZE, StreamHeader};
use std::path::Path;

pub(crate) const FILE_COUNT_MIN: u32 = 2;

/// A stream in several files of one directory, so that processors do not wait for one another:
/// `00.log`, `01.log`, and so on. Tools take the path of the directory for that of a log.
///
/// ```
/// use telemetry::{DirectoryPlinth, Kinds};
///
/// # let folder = std::env::temp_dir().join(format!("directory-{}", std::process::id()));
/// # #[cfg(any())]
/// let folder = "run";
/// let plinth = DirectoryPlinth::new(&folder)?.files(4)?;
/// telemetry::setup().plinth(plinth).output(Kinds::Object).start()?;
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DirectoryPlinth {
    /// The name of the directory.
    name: LogName,
    text: &'static CStr,
    is_pattern: bool,
    file_count: u32,
    volumes: Option<Volumes>,
    /// Made when the stream begins.
    files: [Link<FilePlinth>; FILE_COUNT_MAX as usize],
    block_size: AtomicU64,
    /// The size of a volume that a full disk leaves.
    size_max: AtomicU64,
    /// The number of times that a thread made room on a full disk, and held while one does.
    room_count: AtomicU32,
    making: Locked<()>,
    /// Whether another process removed or truncated one of the files.
    is_lost: AtomicBool,
}

impl DirectoryPlinth {
    /// Returns a plinth for the directory at `path`, which the runtime makes when the stream
    /// begins. If another process writes there, the runtime adds `-` and the process number to the
    /// name; also in a forked child. The machine's processors have a file each, up to 64.
    ///
    /// # Errors
    ///
    /// Fails if the path contains a NUL byte, or is empty.
    pub fn new(path: impl AsRef<Path>) -> Result<DirectoryPlinth, DestinationError> {
        DirectoryPlinth::of_path(path.as_ref(), false)
    }

    /// Returns the same for a path in which `%p` stands for the number of the process.
    ///
    /// # Errors
    ///
    /// Fails if the path contains a NUL byte, or is empty.
    pub fn per_process(path: impl AsRef<Path>) -> Result<DirectoryPlinth, DestinationError> {
        DirectoryPlinth::of_path(path.as_ref(), true)
    }

    fn of_path(path: &Path, is_pattern: bool) -> Result<DirectoryPlinth, DestinationError> {
        // Without the slashes at its end: a name is added to it.
        let path = path.components().as_path();
        if path.file_name().is_none() {
            return Err(DestinationError::new(path.as_os_str(), "the directory has no name"));
        }
        let text: &'static CStr = Box::leak(c_path(path)?.into_boxed_c_str());
        Ok(DirectoryPlinth::named(text, is_pattern))
    }

    /// Returns the same with this number of files.
    ///
    /// # Errors
    ///
    /// Fails if `count` is not from 2 to 64.
    pub fn files(self, count: u32) -> Result<DirectoryPlinth, DestinationError> {
        if (FILE_COUNT_MIN..=FILE_COUNT_MAX).contains(&count) {
            return Ok(self.with(Some(count), None));
        }
        let path = self.text.to_string_lossy().into_owned();
        Err(DestinationError::new(path.as_ref(), "the number of files is not from 2 to 64"))
    }

    /// Returns the same for a stream in at most `count` volumes, whose files have at most `size`
    /// bytes together: the newest are `00.log`, `01.log` and so on, those before them `00.log.1`,
    /// `01.log.1`. New files replace the oldest. The runtime reports a size of fewer than 8 blocks
    /// for each file when the stream begins, and outputs nothing.
    ///
    /// # Errors
    ///
    /// Fails if `count` is not from 2 to 1000.
    pub fn bounded(self, size: u64, count: u32) -> Result<DirectoryPlinth, DestinationError> {
        let path = self.text.to_string_lossy().into_owned();
        let volumes = volumes::bounded(path.as_ref(), size, count)?;
        Ok(self.with(None, Some(volumes)))
    }

    /// Does not allocate. In a pattern `%p` is the process identifier.
    pub(crate) fn named(text: &'static CStr, is_pattern: bool) -> DirectoryPlinth {
        DirectoryPlinth {
            name: LogName::new(text.into(), is_pattern),
            text,
            is_pattern,
            file_count: sys::processor_count().clamp(FILE_COUNT_MIN, FILE_COUNT_MAX),
            volumes: None,
            files: [const { Link::none() }; FILE_COUNT_MAX as usize],
            block_size: AtomicU64::new(1),
            size_max: AtomicU64::new(u64::MAX),
            room_count: AtomicU32::new(0),
            making: Locked::new(()),
            is_lost: AtomicBool::new(false),
        }
    }

    /// Returns the same with another number of files, and in volumes, if any are named.
    pub(crate) fn with(mut self, file_count: Option<u32>, volumes: Option<Volumes>) -> Self {
        self.file_count = file_count.unwrap_or(self.file_count);
        self.volumes = volumes.or(self.volumes);
        self
    }

    fn files_made(&self) -> impl Iterator<Item = &'static FilePlinth> {
        self.files.iter().map_while(Link::get)
    }

    /// Makes the plinths of the files; returns false if the system has no memory.
    fn make_files(&self) -> bool {
        let links = self.files.iter().zip(0..).take(self.file_count as usize);
        links.filter(|(link, _)| link.get().is_none()).all(|(link, number)| {
            let file = FilePlinth::named(self.text.into(), self.is_pattern);
            let file = file.with_volumes(self.volumes.map(Volumes::of_each)).of_directory(number);
            let file = pages::place(file);
            link.set(file);
            file.is_some()
        })
    }

    /// Goes on in another volume: in new files, or behind what the files have. Returns false if
    /// another process has one of the names, or took the directory away, which now exists again.
    fn go_on(&self) -> Result<bool, i32> {
        for (at, file) in self.files_made().enumerate() {
            let next = match self.volumes {
                Some(volumes) => file.create_next_again(volumes.of_each()).map(|()| true),
                None => file.go_on(),
            };
            if next != Ok(true) {
                self.files_made().take(at).for_each(FilePlinth::take_back);
            }
            match next {
                Ok(true) => {}
                // Another process took the directory away.
                Err(libc::ENOENT) => return self.make().map(|_| false),
                next => return next,
            }
        }
        Ok(true)
    }

    /// Makes the directory of the current name, or finds it.
    fn make(&self) -> Result<Result<(), Taken>, i32> {
        let made = self.name.with_path(sys::make_directory).ok_or(libc::EAGAIN)??;
        Ok(made.map_err(|why| match why {
            NotOwn::Other => Taken::NotDirectory,
            why => Taken::NotOwn(why),
        }))
    }

    /// Begins the stream under the current name, unless one of the files is not available.
    fn open(&self) -> Result<Result<(), (&LogName, Taken)>, i32> {
        if let Err(why) = self.make()? {
            return Ok(Err((&self.name, why)));
        }
        for file in self.files_made() {
            let opened = file.open_in(&self.name);
            if !matches!(opened, Ok(Ok(()))) {
                self.files_made().for_each(FilePlinth::give_up);
                return opened.map(|opened| opened.map_err(|why| (&file.name, why)));
            }
        }
        Ok(Ok(()))
    }

    /// Returns the file of an offset in the stream, and the offset in that file.
    fn place(&self, offset: u64) -> (usize, u64) {
        let size = self.block_size.load(Ordering::Relaxed);
        let count = u64::from(self.file_count);
        match (offset / size).checked_sub(1) {
            None => (0, offset),
            Some(place) => ((place % count) as usize, (1 + place / count) * size + offset % size),
        }
    }

    /// Writes to a file. While the disk is full, the oldest volume is deleted, in all files; for
    /// the beginning of a volume finally the one before it.
    fn write(&self, file: &FilePlinth, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        loop {
            let seen = self.room_count.load(Ordering::Acquire);
            let result = file.write(offset, bytes);
            let is_full =
                result.is_err_and(|error| matches!(error.errno, libc::ENOSPC | libc::EDQUOT));
            if !is_full || !self.make_room(seen) {
                return result.inspect_err(|error| self.note(error, is_full));
            }
        }
    }

    /// Deletes the files of the oldest volume, unless another thread has made room since the count
    /// was `seen`. Returns false if only the newest is left.
    fn make_room(&self, seen: u32) -> bool {
        let Some(volumes) = self.volumes else { return false };
        let Some(_making) = self.making.lock_waiting() else { return false };
        if self.room_count.load(Ordering::Relaxed) != seen {
            return true;
        }
        let any = |remove: &dyn Fn(&FilePlinth) -> bool| {
            self.files_made().fold(false, |is_gone, file| remove(file) | is_gone)
        };
        let mut older = (1..volumes.count).rev();
        let is_gone = older.any(|number| any(&|file| file.remove(number)))
            || any(&FilePlinth::give_up_before);
        self.room_count.fetch_add(u32::from(is_gone), Ordering::Release);
        is_gone
    }

    /// Writes to the header block of each file (`.directory.files`). The header comes first, so
    /// that a file without the rest is a log, too. When all have both, the files get their names.
    fn write_header(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        let header = StreamHeader::read(bytes).filter(|_| offset == 0);
        for (file, number) in self.files_made().zip(0..) {
            let Some(mut header) = header else {
                self.write(file, offset, bytes)?;
                continue;
            };
            (header.file, header.file_count) = (u32::into(number), self.file_count.into());
            header.seal();
            self.write(file, 0, bytemuck::bytes_of(&header))?;
            if let rest @ [_, ..] = &bytes[STREAM_HEADER_SIZE..] {
                self.write(file, STREAM_HEADER_SIZE as u64, rest)?;
            }
        }
        let failed = |errno| PlinthError { operation: Operation::Write, errno };
        let mut begun = self.files_made().filter(|_| header.is_some());
        begun.try_for_each(|file| self.publish(file).map_err(failed))
    }

    fn publish(&self, file: &FilePlinth) -> Result<(), i32> {
        match file.publish() {
            Err(libc::ENOENT) if matches!(self.make(), Ok(Ok(()))) => file.publish(),
            published => published,
        }
    }

    /// Notes what a failure says of all files.
    fn note(&self, error: &PlinthError, is_full: bool) {
        if error.operation == Operation::Renew {
            self.is_lost.store(true, Ordering::Relaxed);
        }
        if is_full {
            let size = self.files_made().map(FilePlinth::size).fold(0, u64::saturating_add);
            self.size_max.fetch_min(Room::size_of(size, self.file_count), Ordering::Relaxed);
        }
    }
}

impl Plinth for DirectoryPlinth {
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        let failed = |operation, errno| PlinthError { operation, errno };
        if self.volumes.is_some_and(|all| all.is_short(block_size, self.file_count.into())) {
            return Err(failed(Operation::Bound, libc::EINVAL));
        }
        self.block_size.store(block_size as u64, Ordering::Relaxed);
        let is_open = self.files_made().next().is_some_and(FilePlinth::is_open);
        if !self.make_files() {
            return Err(failed(Operation::Create, libc::ENOMEM));
        }
        let create = |errno| failed(Operation::Create, errno);
        if is_open && self.go_on().map_err(create)? {
            self.is_lost.store(false, Ordering::Relaxed);
            return Ok(());
        }
        self.files_made().for_each(FilePlinth::give_up);
        let mut first = None;
        for at in self.name.tries() {
            match self.open().map_err(create)? {
                Err((name, why)) => first = first.or(Some((name.said(at), why))),
                Ok(()) => {
                    self.is_lost.store(false, Ordering::Relaxed);
                    report_other(&self.name, first);
                    return Ok(());
                }
            }
        }
        Err(failed(Operation::Claim, libc::EWOULDBLOCK))
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        if offset < self.block_size.load(Ordering::Relaxed) {
            return self.write_header(offset, bytes);
        }
        let (number, offset) = self.place(offset);
        let none = PlinthError { operation: Operation::Write, errno: libc::EBADF };
        let file = self.files.get(number).and_then(Link::get).ok_or(none)?;
        self.write(file, offset, bytes)
    }

    fn can_rewrite(&self) -> bool {
        true
    }

    fn wants_volume(&self, size: u64) -> bool {
        let headers = u64::from(self.file_count) * self.block_size.load(Ordering::Relaxed);
        let is_more = |volumes: Volumes| {
            let size_max = self.size_max.load(Ordering::Relaxed).min(sys::file_size_max());
            size.saturating_add(headers) > volumes.size.min(size_max)
        };
        self.is_lost.load(Ordering::Relaxed) || self.volumes.is_some_and(is_more)
    }

    fn file_count(&self) -> u64 {
        self.file_count.into()
    }

    fn is_signal_safe(&self) -> bool {
        true
    }

    fn leave(&self) -> bool {
        self.is_lost.store(false, Ordering::Relaxed);
        for file in self.files_made() {
            file.leave();
        }
        true
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}
