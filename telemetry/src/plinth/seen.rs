//! What a log on a disk was seen to have, and whether another process has taken it away since.
//!
//! ```text
//!  before each write: size, room on the disk ── less than before ─▶ header gone? ─▶ lost
//!                     number of names ───────── none ────────────────────────────▶ lost
//! ```
//!
//! A file that was emptied while a write was on its way is as long as before, and has a hole at its
//! beginning: it takes less room. Design: `.sol.volume` in `design/telemetry.md`.

use super::name::LogName;
use crate::block::memory;
use crate::os::sys::{self, Errno, File, FileIdentity};
use crate::os::{report, way_out};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use eventlog::format::STREAM_MAGIC;

pub(super) struct Seen {
    /// The place in the file of the volume's first block.
    start: AtomicU64,
    /// The bytes between that block and the second one of this volume: blocks of the volume
    /// before, which were on their way when another process truncated the file.
    base: AtomicU64,
    /// The end of the bytes that were written.
    size: AtomicU64,
    /// The room that it took, in pieces of 512 bytes.
    piece_count: AtomicU64,
    /// Whether a reader finds nothing that is written from now on.
    is_lost: AtomicBool,
    /// Whether a truncation was reported.
    is_told: AtomicBool,
}

impl Seen {
    pub(super) const fn new() -> Seen {
        Seen {
            start: AtomicU64::new(0),
            base: AtomicU64::new(0),
            size: AtomicU64::new(0),
            piece_count: AtomicU64::new(0),
            is_lost: AtomicBool::new(false),
            is_told: AtomicBool::new(false),
        }
    }

    /// Forgets what was seen: a volume begins in a file, which keeps what it has after the place of
    /// the first block.
    pub(super) fn begin(&self, size: u64) {
        let block_size = memory::block_size() as u64;
        self.forget(0, size.next_multiple_of(block_size).saturating_sub(block_size));
    }

    /// Forgets what was seen: a volume begins behind another one in its file (`.stream.again`).
    pub(super) fn begin_behind(&self, size: u64) {
        self.forget(size.next_multiple_of(memory::block_size() as u64), 0);
    }

    fn forget(&self, start: u64, base: u64) {
        self.start.store(start, Ordering::Relaxed);
        self.base.store(base, Ordering::Relaxed);
        self.size.store(0, Ordering::Relaxed);
        self.piece_count.store(0, Ordering::Relaxed);
        self.is_lost.store(false, Ordering::Relaxed);
    }

    /// Returns the place in the file of an offset in the volume.
    pub(super) fn place(&self, offset: u64) -> u64 {
        let is_first = offset < memory::block_size() as u64;
        let base = if is_first { 0 } else { self.base.load(Ordering::Relaxed) };
        self.start.load(Ordering::Relaxed).saturating_add(base).saturating_add(offset)
    }

    /// Notes the end of bytes that were written.
    pub(super) fn note(&self, end: u64) {
        self.size.fetch_max(end, Ordering::Release);
    }

    pub(super) fn size(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Notes that the file, which the program closed, was removed.
    pub(super) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// Looks at the file, and notes whether it is lost. `has_name`: it has a name, if
    /// nobody removed it.
    pub(super) fn look(&self, file: File, has_name: bool, name: &LogName) -> Result<(), Errno> {
        // Before the question: the file had as much then.
        let size = self.size.load(Ordering::Acquire);
        let piece_count = self.piece_count.load(Ordering::Acquire);
        let found = file.look()?;
        let is_shorter = found.size < size;
        // A host that compresses files, or writes them late, may give room back.
        let is_cut = is_shorter || found.piece_count < piece_count;
        let is_lost = is_cut && !has_header(file, &found);
        let is_removed = has_name && found.link_count == 0;
        // Before all else: a thread that looks now must not find the file as it was noted.
        self.is_lost.fetch_or(is_lost || is_removed, Ordering::Release);
        if is_shorter {
            self.size.store(found.size, Ordering::Release);
        }
        match is_cut {
            true => self.piece_count.store(found.piece_count, Ordering::Release),
            // Another thread may have seen more, and a truncation may lie between.
            false => drop(self.piece_count.fetch_max(found.piece_count, Ordering::Release)),
        }
        if (is_shorter || is_lost) && !way_out::is_here() && !self.is_told() {
            report::say(format_args!(
                "{name}: another process has truncated it; the log goes on there, without what \
                 was cut off"
            ));
        }
        Ok(())
    }

    fn is_told(&self) -> bool {
        self.is_told.swap(true, Ordering::Relaxed)
    }
}

/// Returns whether a file has its first block: header and registries.
fn has_header(file: File, found: &FileIdentity) -> bool {
    let mut bytes = [0; STREAM_MAGIC.len()];
    found.size >= memory::block_size() as u64
        && sys::read_open_file(file.seen(), &mut bytes).is_some_and(|read| *read == STREAM_MAGIC)
}
