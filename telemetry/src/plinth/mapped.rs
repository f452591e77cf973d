//! The plinth that is a mapped file: a bounded ring, which a killed process leaves behind whole.
//!
//! ```text
//!  PATH.new ─ claim ─ allocate ─ map ─ header, registries ─▶ PATH       what was PATH ─▶ PATH.1
//! ```
//!
//! The file has its name only once it is a log. Events do not come by here: threads record them
//! where they lie (`region.rs`). Design: `.sol.mapped` in `design/telemetry.md`; `.ring` in
//! `design/format.md`.

use super::name::LogName;
use super::{Operation, PATH_SIZE_MAX, Plinth, PlinthError};
use crate::sync::Locked;
use crate::{memory, region, registration, report, sys};
use core::ffi::CStr;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use eventlog::format::{
    BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, BlockType, STREAM_HEADER_SIZE, STREAM_MAGIC,
};
use std::borrow::Cow;
use std::ffi::CString;

/// Tries at a file that others claim, give up and claim again.
const CLAIM_COUNT_MAX: usize = 8;
/// The longest name of a file, with what is put behind it and a NUL, in bytes.
const NAME_SIZE_MAX: usize = PATH_SIZE_MAX + 64;
/// What [`MappedPlinth::file`] is before there is a file.
const NO_FILE: i32 = -1;

/// The file that is mapped.
static FILE: AtomicI32 = AtomicI32::new(NO_FILE);

/// Why what is in the mapped file is found by nobody: it has no name any more, or was truncated.
pub(crate) fn loss() -> Option<PlinthError> {
    let file = FILE.load(Ordering::Relaxed);
    let found = sys::identify_file(file).ok().filter(|_| file != NO_FILE)?;
    if !found.has_name {
        return Some(failed(Operation::Write, libc::ENOENT));
    }
    let is_cut = memory::is_cut() || found.size < region::size();
    is_cut.then_some(failed(Operation::Keep, libc::EIO))
}

/// Where two names are put together, since a stack may be small.
static NAMES: Locked<[[u8; NAME_SIZE_MAX]; 2]> = Locked::new([[0; NAME_SIZE_MAX]; 2]);

/// A stream that is a bounded ring in a mapped file.
pub struct MappedPlinth {
    name: LogName,
    size: u64,
    file: AtomicI32,
    /// Whether the file still has the name that it has before it is a log.
    is_unnamed: AtomicBool,
}

fn failed(operation: Operation, errno: i32) -> PlinthError {
    PlinthError { operation, errno }
}

impl MappedPlinth {
    /// A ring of at most so many bytes in the file of this name; `None` if that holds a NUL.
    pub fn new(path: impl AsRef<[u8]>, size: u64) -> Option<MappedPlinth> {
        Some(MappedPlinth::named(CString::new(path.as_ref()).ok()?.into(), false, size))
    }

    /// The same for a name that may be somewhere for ever: without allocating.
    /// In a pattern `%p` is the process identifier.
    pub(crate) fn named(path: Cow<'static, CStr>, is_pattern: bool, size: u64) -> MappedPlinth {
        MappedPlinth {
            name: LogName::new(path, is_pattern),
            size,
            file: AtomicI32::new(NO_FILE),
            is_unnamed: AtomicBool::new(true),
        }
    }

    /// Does something with the name of the file and this after it.
    fn with_name<T>(&self, after: &str, with: impl FnOnce(&CStr) -> T) -> Result<T, PlinthError> {
        self.with_names([after, after], |path, _| with(path))
    }

    /// The same with two names.
    fn with_names<T>(
        &self,
        after: [&str; 2],
        with: impl FnOnce(&CStr, &CStr) -> T,
    ) -> Result<T, PlinthError> {
        let busy = failed(Operation::Create, libc::EAGAIN);
        let mut names = NAMES.lock_waiting().ok_or(busy)?;
        let [first, second] = &mut *names;
        let (first, second) = (self.name_with(after[0], first)?, self.name_with(after[1], second)?);
        Ok(with(first, second))
    }

    fn name_with<'a>(&self, after: &str, out: &'a mut [u8]) -> Result<&'a CStr, PlinthError> {
        let too_long = failed(Operation::Create, libc::ENAMETOOLONG);
        let put = self.name.with_path(|path| {
            let (path, after) = (path.to_bytes(), after.as_bytes());
            let size = path.len() + after.len();
            let all = out.get_mut(..=size)?;
            all[..path.len()].copy_from_slice(path);
            all[path.len()..size].copy_from_slice(after);
            all[size] = 0;
            Some(size)
        });
        let size = put.flatten().ok_or(too_long)?;
        out.get(..=size).and_then(|all| CStr::from_bytes_until_nul(all).ok()).ok_or(too_long)
    }

    /// How many blocks the file is to have, and how many parts blocks registries may need; says so
    /// where it is too small.
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

    /// Opens and claims the file that is to become the log. It is this process's own until it has
    /// its name, and whoever else is to make one of that name waits for nobody: he is refused.
    fn open_new(&self) -> Result<i32, PlinthError> {
        for _ in 0..CLAIM_COUNT_MAX {
            let file = self
                .with_name(".new", sys::open_to_map)?
                .map_err(|errno| failed(Operation::Create, errno))?;
            if !sys::is_regular(file) {
                sys::close(file);
                return Err(failed(Operation::Create, libc::EEXIST));
            }
            if !sys::claim_file(file) {
                sys::close(file);
                return Err(failed(Operation::Claim, libc::EWOULDBLOCK));
            }
            // Whoever had it may have given it its name since it was opened, and died.
            if self.with_name(".new", |path| sys::is_named(file, path))? {
                return Ok(file);
            }
            sys::close(file);
        }
        Err(failed(Operation::Claim, libc::EWOULDBLOCK))
    }

    /// Judges what is there under a name that is to be given to another file: a log that nobody
    /// writes may go (to another name), as may an empty file. The file, claimed; `None` if there is
    /// none.
    fn claim_old(&self, after: &str) -> Result<Option<i32>, PlinthError> {
        let file = match self.with_name(after, sys::open_to_read)? {
            Ok(file) => file,
            Err(libc::ENOENT) => return Ok(None),
            Err(errno) => return Err(failed(Operation::Create, errno)),
        };
        let is_log = || sys::first_bytes(file) == Some(STREAM_MAGIC);
        let refused = if !sys::is_regular(file) || sys::file_size(file) != Some(0) && !is_log() {
            let path = &self.name;
            report::say(format_args!(
                "cannot create {path}: {path}{after} is there, and is no log; it is left alone, \
                 nothing is output, the program goes on"
            ));
            Some(Operation::Refuse)
        } else if !sys::claim_file(file) || after.is_empty() && self.is_own_before() {
            Some(Operation::Claim)
        } else {
            None
        };
        match refused {
            None => Ok(Some(file)),
            Some(operation) => {
                sys::close(file);
                Err(failed(operation, libc::EEXIST))
            }
        }
    }

    /// Whether what has the name, which is the process's own, is the log of what it was before an
    /// `exec`: that is left alone.
    fn is_own_before(&self) -> bool {
        let mut bytes = [0; STREAM_HEADER_SIZE];
        let mut read = |path: &CStr| sys::read_file(path, &mut bytes).map(<[u8]>::len);
        let size = self.with_name("", &mut read).ok().flatten();
        let is_read = self.name.has_pid() && size == Some(STREAM_HEADER_SIZE);
        is_read && super::is_own_before(&bytemuck::cast(bytes))
    }

    fn try_create(&self, block_size: usize) -> Result<(), PlinthError> {
        let (count, parts_count) = self.counts(block_size)?;
        let file = self.open_new()?;
        let created = self.claim_old("").and_then(|old| {
            old.inspect(|file| sys::close(*file));
            self.claim_old(".1")?.inspect(|file| sys::close(*file));
            let create = |errno| failed(Operation::Create, errno);
            sys::empty_file(file).map_err(create)?;
            sys::allocate_file(file, (count * block_size) as u64).map_err(create)?;
            region::map(file, count, parts_count).ok_or(create(libc::ENOMEM))
        });
        if let Err(error) = created {
            self.with_name(".new", sys::remove)?;
            sys::close(file);
            return Err(error);
        }
        self.is_unnamed.store(true, Ordering::Relaxed);
        // What a child had of its parent's.
        let before = self.file.swap(file, Ordering::Relaxed);
        if before != NO_FILE {
            sys::close(before);
        }
        Ok(())
    }

    /// Gives the file its name, now that it is a log, and the log before it another.
    fn give_name(&self) -> Result<(), PlinthError> {
        let rename = |from: &str, to: &str| {
            let renamed = self.with_names([from, to], sys::rename)?;
            renamed.map_err(|errno| failed(Operation::Create, errno))
        };
        if let Some(old) = self.claim_old("")? {
            let is_empty = sys::file_size(old) == Some(0);
            let moved = if is_empty { Ok(()) } else { rename("", ".1") };
            sys::close(old);
            moved?;
        }
        rename(".new", "")
    }
}

impl Plinth for MappedPlinth {
    /// Makes the file, which has its name from the first write on.
    fn create(&self, block_size: usize) -> Result<(), PlinthError> {
        let mut first = None;
        for at in self.name.tries() {
            match self.try_create(block_size) {
                // What the process was before an `exec` had the same number: nobody need be told.
                Err(PlinthError { operation: Operation::Claim, .. }) if self.is_own_before() => {}
                Err(PlinthError { operation: Operation::Claim, .. }) => first = first.or(Some(at)),
                Err(error) => return Err(error),
                Ok(()) => {
                    if let Some(at) = first {
                        let (said, name) = (self.name.said(at), &self.name);
                        report::say(format_args!(
                            "{said} is in use by another process; the log of this one is {name}"
                        ));
                    }
                    return Ok(());
                }
            }
        }
        Err(failed(Operation::Claim, libc::EWOULDBLOCK))
    }

    fn write_block(&self, offset: u64, bytes: &[u8]) -> Result<(), PlinthError> {
        if !put_parts(offset, bytes) {
            return Err(failed(Operation::Write, libc::ENOSPC));
        }
        if offset == 0 && self.is_unnamed.load(Ordering::Relaxed) {
            if let Err(error) = self.give_name() {
                region::forget();
                let _ = self.with_name(".new", sys::remove);
                return Err(error);
            }
            self.is_unnamed.store(false, Ordering::Relaxed);
            FILE.store(self.file.load(Ordering::Relaxed), Ordering::Relaxed);
            region::open();
        }
        Ok(())
    }

    fn can_rewrite(&self) -> bool {
        true
    }

    fn leave(&self) -> bool {
        FILE.store(NO_FILE, Ordering::Relaxed);
        region::leave();
        let file = self.file.load(Ordering::Relaxed);
        if file != NO_FILE {
            sys::leave_file(file);
        }
        true
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}

/// Puts a block of parts, or a piece of one, into the file: one part after the other, each there as
/// a whole or not at all (`.ring.parts`). False: there is no room for it.
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

/// The size of what begins these bytes: a stream header, the header of a parts block, a part; or
/// zeros, to the end.
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

    /// `.ring.parts`: what is put at one go is a header or a part.
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
