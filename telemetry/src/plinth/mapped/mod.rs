//! The plinth that is a mapped file: a bounded ring, which a killed process leaves behind whole.
//!
//! ```text
//!  no name ─ claim ─ allocate ─ map ─ header, registries ─▶ PATH       what was PATH ─▶ PATH.1
//! ```
//!
//! The file has a name only once it is a log, and nobody else ever has it open to write. Events do
//! not come by here: threads record them where they lie (`region.rs`). Design: `.sol.mapped`,
//! `.sol.own` in `design/telemetry.md`; `.ring` in `design/format.md`.

mod copies;

pub(crate) use copies::keep;

use super::name::LogName;
use super::{DestinationError, Operation, Plinth, PlinthError, c_path};
use crate::block::memory;
use crate::os::report;
use crate::os::sync::Locked;
use crate::os::sys::{self, Errno, File, Held, NotOwn, Unnamed};
use crate::plinth::region;
use crate::registry::registration;
use copies::{FILE, NAME_SIZE_MAX};
use core::ffi::CStr;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use eventlog::format::{
    BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, BlockType, STREAM_HEADER_SIZE, STREAM_MAGIC,
};
use std::borrow::Cow;
use std::path::Path;

/// Returns why no reader finds the mapped file: its name was removed, or it was truncated.
pub(crate) fn loss() -> Option<PlinthError> {
    let found = FILE.get()?.look().ok()?;
    if found.link_count == 0 {
        return Some(failed(Operation::Write, libc::ENOENT));
    }
    let is_cut = memory::is_cut() || found.size < region::size();
    is_cut.then_some(failed(Operation::Keep, libc::EIO))
}

/// A buffer for a name, since a stack may be small.
static NAME: Locked<[u8; NAME_SIZE_MAX]> = Locked::new([0; NAME_SIZE_MAX]);
/// What follows the name in that of the log before.
const PREVIOUS: &str = ".1";

/// A stream that is a bounded ring in a mapped file.
pub struct MappedPlinth {
    name: LogName,
    size: u64,
    is_kept: bool,
    file: Held,
    is_unnamed: AtomicBool,
    /// Its temporary name ([`Unnamed::hidden`]).
    hidden: AtomicU64,
}

fn failed(operation: Operation, errno: i32) -> PlinthError {
    PlinthError { operation, errno }
}

/// Why a name is not available: another process or another user has the file, it is none, or this
/// process had it before an `exec`, which needs no report.
const IN_USE: PlinthError = taken(libc::EWOULDBLOCK);
const NOT_OWN: PlinthError = taken(libc::EPERM);
const LINK: PlinthError = taken(libc::ELOOP);
const OTHER: PlinthError = taken(libc::ENODEV);
const OWN_BEFORE: PlinthError = taken(libc::EEXIST);

const fn taken(errno: i32) -> PlinthError {
    PlinthError { operation: Operation::Claim, errno }
}

impl MappedPlinth {
    /// Returns a plinth for a ring of at most `size` bytes in the file at `path`. It names the file
    /// as a [`FilePlinth`](super::FilePlinth) does.
    ///
    /// # Errors
    ///
    /// Fails if the path contains a NUL byte.
    pub fn new(path: impl AsRef<Path>, size: u64) -> Result<MappedPlinth, DestinationError> {
        Ok(MappedPlinth::named(c_path(path.as_ref())?.into(), false, size))
    }

    /// Returns the same for a path in which `%p` stands for the number of the process: a forked
    /// child begins a file with a name of its own.
    ///
    /// # Errors
    ///
    /// Fails if the path contains a NUL byte.
    pub fn per_process(
        path: impl AsRef<Path>,
        size: u64,
    ) -> Result<MappedPlinth, DestinationError> {
        Ok(MappedPlinth::named(c_path(path.as_ref())?.into(), true, size))
    }

    /// Returns a plinth for a name that lives for ever, without allocating. In a pattern `%p` is
    /// the process identifier.
    pub(crate) fn named(path: Cow<'static, CStr>, is_pattern: bool, size: u64) -> MappedPlinth {
        MappedPlinth {
            name: LogName::new(path, is_pattern),
            size,
            is_kept: false,
            file: Held::none(),
            is_unnamed: AtomicBool::new(true),
            hidden: AtomicU64::new(0),
        }
    }

    /// Keeps all events: a block that the ring needs again goes behind the ring first, where it
    /// stays. So the file grows, as far as the disk has room. Beyond that, or where the process may
    /// not write such a file, the ring overwrites its oldest events.
    #[must_use]
    pub fn keeping(mut self) -> MappedPlinth {
        self.is_kept = true;
        self
    }

    fn with_name<T>(&self, with: impl FnOnce(&CStr) -> T) -> Result<T, PlinthError> {
        self.name.with_path(with).ok_or(failed(Operation::Create, libc::EAGAIN))
    }

    /// Passes on the name of the file, and that of the log before it.
    fn with_names<T>(
        &self,
        with: impl FnOnce(&CStr, &CStr) -> Result<T, Errno>,
    ) -> Result<Result<T, Errno>, PlinthError> {
        self.with_name(|path| {
            let mut name = NAME.lock_waiting().ok_or(libc::EAGAIN)?;
            with(path, sys::suffixed(path.to_bytes(), &PREVIOUS, &mut *name)?)
        })
    }

    /// Returns the number of blocks of the file, and of parts blocks that registries may need;
    /// reports a size that is too small.
    fn counts(&self, block_size: usize) -> Result<(usize, usize), PlinthError> {
        let block_size = block_size as u64;
        let parts_count = region::parts_block_count();
        let kind_count = registration::output_kind_count();
        let least = region::block_count_min(parts_count, kind_count) as u64;
        let count = self.size / block_size;
        if count < least {
            let (path, size) = (&self.name, self.size);
            report::say(format_args!(
                "cannot create {path}: a ring of {size} bytes is too small; {kind_count} kinds in \
                 blocks of {block_size} bytes take at least {}; nothing is output, the program \
                 goes on",
                least * block_size
            ));
            return Err(failed(Operation::Refuse, libc::EINVAL));
        }
        let count = usize::try_from(count).ok().filter(|count| *count < u32::MAX as usize);
        if self.size > sys::file_size_max() {
            return Err(failed(Operation::Create, libc::EFBIG));
        }
        Ok((count.ok_or(failed(Operation::Create, libc::EFBIG))?, parts_count))
    }

    /// Examines the file of the name, or of the log before it, which another file will replace: a
    /// log without a writer may move to another name, as may an empty file. Returns the file,
    /// claimed; `None` if the name is free.
    fn claim_old(&self, after: &str) -> Result<Option<File>, PlinthError> {
        let create = |errno| failed(Operation::Create, errno);
        let is_current = after.is_empty();
        let found =
            self.with_names(|path, old| sys::identify_name(if is_current { path } else { old }))?;
        let found = match found {
            Ok(found) if found.is_regular() && found.owner != sys::own_user() => {
                return Err(NOT_OWN);
            }
            Ok(found) if !found.is_regular() && !is_current => return Err(self.refuse(after)),
            Ok(found) if found.sort == libc::S_IFLNK => return Err(LINK),
            Ok(found) if !found.is_regular() => return Err(OTHER),
            Ok(found) => found,
            Err(libc::ENOENT) => return Ok(None),
            Err(errno) => return Err(create(errno)),
        };
        let open = |path: &CStr, old: &CStr| {
            sys::open_to_read(if is_current { path } else { old }).and_then(File::new)
        };
        let file = match self.with_names(open)? {
            Err(libc::ENOENT) => return Ok(None),
            opened => opened.map_err(create)?,
        };
        let judged = match file.look() {
            Ok(now) if now.is(&found) => self.judge_old(after, file, found.size),
            _ => Err(IN_USE),
        };
        if judged.is_err() {
            file.close();
        }
        judged.map(|()| Some(file))
    }

    fn judge_old(&self, after: &str, file: File, size: u64) -> Result<(), PlinthError> {
        let number = file.number().map_err(|errno| failed(Operation::Create, errno))?;
        let mut bytes = [0; STREAM_HEADER_SIZE];
        let read_size = sys::read_open_file(number, &mut bytes).map(<[u8]>::len);
        if size != 0 && !bytes.starts_with(&STREAM_MAGIC) {
            return Err(self.refuse(after));
        }
        let is_own = self.name.has_pid() && after.is_empty();
        if !sys::claim_file(number) {
            return Err(IN_USE);
        }
        // The log of what the process was before an `exec` is left alone.
        match is_own && read_size == Some(bytes.len()) {
            true if super::is_own_before(&bytemuck::cast(bytes)) => Err(OWN_BEFORE),
            _ => Ok(()),
        }
    }

    fn refuse(&self, after: &str) -> PlinthError {
        let path = &self.name;
        report::say(format_args!(
            "cannot create {path}: {path}{after} exists and is not a log; it is left alone, \
             nothing is output, the program goes on"
        ));
        failed(Operation::Refuse, libc::EEXIST)
    }

    /// Tries each name once until one is available; returns the names that failed, and why.
    fn try_names(
        &self,
        mut attempt: impl FnMut() -> Result<(), PlinthError>,
    ) -> Result<Option<(u32, PlinthError)>, PlinthError> {
        let mut first = None;
        for at in self.name.tries() {
            match attempt() {
                Ok(()) => return Ok(first),
                Err(OWN_BEFORE) => {}
                Err(why @ (IN_USE | NOT_OWN | LINK | OTHER)) => first = first.or(Some((at, why))),
                Err(error) => return Err(error),
            }
        }
        Err(IN_USE)
    }

    fn make(&self, block_size: usize) -> Result<Unnamed, PlinthError> {
        let (count, parts_count) = self.counts(block_size)?;
        // Checked before room is allocated, which may not be needed.
        self.try_names(|| {
            self.claim_old("")?.into_iter().for_each(File::close);
            self.claim_old(PREVIOUS)?.into_iter().for_each(File::close);
            Ok(())
        })?;
        let create = |errno| failed(Operation::Create, errno);
        let new = self.with_name(Unnamed::create)?.map_err(create)?;
        let made = new.file.number().map_err(create).and_then(|number| {
            sys::claim_file(number);
            sys::allocate_file(number, (count * block_size) as u64).map_err(create)?;
            region::map(number, count, parts_count, self.is_kept).ok_or(create(libc::ENOMEM))
        });
        if let Err(error) = made {
            self.with_name(|path| new.discard(path))?;
            return Err(error);
        }
        Ok(new)
    }

    /// Gives the file its name, and moves the previous log to another.
    fn take_name(&self, new: Unnamed) -> Result<(), PlinthError> {
        let create = |errno| failed(Operation::Create, errno);
        if let Some(old) = self.claim_old("")? {
            let is_empty = old.look().is_ok_and(|found| found.size == 0);
            let moved = match is_empty {
                true => self.with_name(sys::unlink_file)?,
                false => self.with_names(sys::rename_file)?,
            };
            old.close();
            moved.map_err(create)?;
        }
        match self.with_name(|path| new.link(path))? {
            // Another process was quicker.
            Err(libc::EEXIST) => Err(IN_USE),
            linked => linked.map_err(create),
        }
    }

    /// Maps the file again, by its name, so that a core of this process has the name.
    fn map_by_name(&self) {
        let Ok(Ok(Ok(named))) = self.with_name(sys::open_log) else { return };
        let same = self.file.get().and_then(|file| file.look().ok());
        if let (Some(same), Ok(number)) = (same, named.number())
            && named.look().is_ok_and(|found| found.is(&same))
        {
            region::map_again(number);
        }
        named.close();
    }

    /// Gives the file its name, now that it is a log; reports a name other than the first.
    fn give_name(&self) -> Result<(), PlinthError> {
        let file = self.file.get().ok_or(failed(Operation::Create, libc::EBADF))?;
        let new = Unnamed { file, hidden: self.hidden.load(Ordering::Relaxed) };
        let named = self.try_names(|| self.take_name(new));
        if named.is_err() {
            self.file.set(None);
            self.with_name(|path| new.discard(path))?;
        }
        if let Some((at, why)) = named? {
            let (said, name) = (self.name.said(at), &self.name);
            let why = match why {
                NOT_OWN => NotOwn::Owner,
                LINK => NotOwn::Link,
                OTHER => NotOwn::Other,
                _ => NotOwn::Exchanged,
            };
            report::say(format_args!("{said} {why}; the log of this one is {name}"));
        }
        Ok(())
    }
}

impl Plinth for MappedPlinth {
    /// Makes the file, which has its name from the first write on.
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        let new = self.make(block_size)?;
        self.is_unnamed.store(true, Ordering::Relaxed);
        self.hidden.store(new.hidden, Ordering::Relaxed);
        // What a child had of its parent's.
        self.file.close();
        self.file.set(Some(new.file));
        Ok(())
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        if !put_parts(offset, bytes) {
            return Err(failed(Operation::Write, libc::ENOSPC));
        }
        if offset == 0 && self.is_unnamed.load(Ordering::Relaxed) {
            self.give_name().inspect_err(|_| region::forget())?;
            self.is_unnamed.store(false, Ordering::Relaxed);
            FILE.set(self.file.get());
            self.with_name(copies::note_path)?;
            self.map_by_name();
            region::open();
        }
        Ok(())
    }

    fn can_rewrite(&self) -> bool {
        true
    }

    fn leave(&self) -> bool {
        // It may have been opened again (copies.rs).
        if let Some(file) = FILE.take() {
            self.file.set(Some(file));
        }
        region::leave();
        self.file.leave();
        true
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

/// Puts a block of parts, or a piece of one, into the file: one part after the other, each whole or
/// absent at every instant (`.ring.parts`). Returns false if the file has no room for it.
fn put_parts(offset: u64, bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut at = offset;
    while !rest.is_empty() {
        let size = piece_size(rest).min(rest.len());
        let (piece, after) = rest.split_at(size);
        if piece.iter().any(|byte| *byte != 0) && !region::put_bytes(at, piece) {
            return false;
        }
        at += size as u64;
        rest = after;
    }
    true
}

/// Returns the size of the first piece of these bytes: a stream header, the header of a parts
/// block, a part, or zeros to the end.
fn piece_size(bytes: &[u8]) -> usize {
    if bytes.starts_with(&STREAM_MAGIC) {
        return STREAM_HEADER_SIZE;
    }
    let Some(header) = bytes.get(..BLOCK_HEADER_SIZE) else { return bytes.len() };
    let header: BlockHeader = bytemuck::pod_read_unaligned(header);
    match BlockType::from_byte(header.block_type) {
        _ if header.magic != BLOCK_MAGIC => bytes.len(),
        Some(BlockType::Parts) => BLOCK_HEADER_SIZE,
        _ => BLOCK_HEADER_SIZE + header.payload_size().next_multiple_of(8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.ring.parts`: each put writes a header or a part.
    #[test]
    fn parts_are_put_one_by_one() {
        let part = |size: u32| {
            let mut header = BlockHeader::native(BlockType::Events, 12);
            header.top = size.into();
            let mut bytes = bytemuck::bytes_of(&header).to_vec();
            bytes.resize(BLOCK_HEADER_SIZE + (size as usize).next_multiple_of(8), 1);
            bytes
        };
        let mut parts_header = BlockHeader::native(BlockType::Parts, 12);
        parts_header.last = 4096.into();
        parts_header.top = 4096.into();
        let pieces = [
            bytemuck::bytes_of(&parts_header).to_vec(),
            part(0),
            part(20),
            part(304),
            vec![0; 1000],
        ];
        let bytes = pieces.concat();
        let mut rest = &bytes[..];
        for piece in &pieces {
            assert_eq!(piece_size(rest), piece.len());
            rest = &rest[piece.len()..];
        }
        let mut header = vec![0; STREAM_HEADER_SIZE + 8];
        header[..8].copy_from_slice(&STREAM_MAGIC);
        assert_eq!((piece_size(&header), piece_size(&bytes[..8])), (STREAM_HEADER_SIZE, 8));
    }
}
