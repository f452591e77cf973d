//! The pages of all processors, moved to a file as the kernel fills them.
//!
//! ```text
//!  per_cpu/cpu0…3/trace_pipe_raw ── splice ──▶ pipe ── splice ─┐     no copy, no decoding
//!  per_cpu/cpu4…7/trace_pipe_raw ── another thread ────────────┴─▶ spill, each step in its place
//!                                                                  chunks: processor, place, size
//!  at the end, the pages that are not full: read
//! ```
//!
//! A thread waits for a few processors: the kernel wakes it when a buffer is a quarter full.
//!
//! Design: `.waits.record` in `design/waits.md`.

use crate::error::{CollectError, SPILL_SIZE_MAX};
use crate::tracefs::Instance;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use rustix::process::setpriority_process;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes that move in one step.
const STEP: usize = 1 << 20;
/// Before the first clock sync after the begin. Each further pause is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// Between two clock syncs, at most.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Between two looks at the files of the program, at least.
const LOOK_MIN: Duration = Duration::from_millis(10);
/// A look takes one part of the time in this number, at most.
const LOOK_SHARE: u32 = 100;
/// The highest priority that a thread has which is not of real time.
const PRIORITY: i32 = -20;
/// `O_NONBLOCK`.
const NONBLOCK: i32 = 0o4000;

/// The file that has the pages of all processors.
#[derive(Debug)]
pub(super) struct Spill {
    pub(super) file: File,
    size: AtomicU64,
}

impl Spill {
    pub(super) fn new(file: File) -> Arc<Spill> {
        Arc::new(Spill { file, size: AtomicU64::new(0) })
    }

    /// Returns the place of the next bytes, which belongs to the caller.
    fn place(&self, size: usize) -> io::Result<u64> {
        let place = self.size.fetch_add(size as u64, Ordering::Relaxed);
        match place.saturating_add(size as u64) > SPILL_SIZE_MAX {
            true => Err(io::ErrorKind::FileTooLarge.into()),
            false => Ok(place),
        }
    }
}

/// Pages of one processor, one after the other in the spill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) cpu: u32,
    /// Where they begin in the spill.
    pub(super) place: u64,
    /// Bytes, a multiple of the size of a page.
    pub(super) size: u64,
}

/// When the thread that looks at /proc has work to do.
#[derive(Debug)]
pub(super) struct Pace {
    last: Instant,
    pause: Duration,
}

impl Pace {
    pub(super) fn begin() -> Pace {
        Pace { last: Instant::now(), pause: PAUSE_MIN }
    }

    /// Returns whether a clock sync and a whole look are due.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.last.elapsed() >= self.pause;
        if is_due {
            (self.last, self.pause) = (Instant::now(), (self.pause * 2).min(PAUSE_MAX));
        }
        is_due
    }

    /// Returns the time to the next look, which costs as much as this one.
    pub(super) fn pause(&self, cost: Duration) -> Duration {
        let left = self.pause.saturating_sub(self.last.elapsed());
        left.min(LOOK_MIN.max(cost * LOOK_SHARE))
    }
}

/// The ring buffers of some processors, and the file to which their pages move.
#[derive(Debug)]
pub(super) struct Drain {
    /// By processor.
    pipes: Vec<(u32, File)>,
    spill: Arc<Spill>,
    into: OwnedFd,
    from: OwnedFd,
    page_size: usize,
    pub(super) chunks: Vec<Chunk>,
    /// Whether splice works for these files.
    can_splice: bool,
    /// Why pages were left in the kernel.
    pub(super) failed: Option<io::Error>,
}

impl Drain {
    pub(super) fn new(
        instance: &Instance,
        cpus: &[u32],
        page_size: usize,
        spill: Arc<Spill>,
    ) -> Result<Drain, CollectError> {
        let mut pipes = Vec::new();
        for cpu in cpus {
            let path = instance.path(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
            match OpenOptions::new().read(true).custom_flags(NONBLOCK).open(&path) {
                Ok(file) => pipes.push((*cpu, file)),
                Err(error) => {
                    return Err(CollectError::File { path, what: "cannot be opened", error });
                }
            }
        }
        let made = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK);
        let (from, into) = made.map_err(|error| CollectError::Spill(error.into()))?;
        // A smaller pipe moves less in one step.
        let _ = fcntl_setpipe_size(&into, STEP);
        let (chunks, can_splice, failed) = (Vec::new(), true, None);
        Ok(Drain { pipes, spill, into, from, page_size, chunks, can_splice, failed })
    }

    /// Moves pages until the other end of `end` is closed. The thread that does so comes before all
    /// others, if it has the right to: the threads that make the pages have all processors.
    pub(super) fn run(&mut self, end: &PipeReader) {
        // 0, and so none, is this thread alone.
        let _ = setpriority_process(None, PRIORITY);
        loop {
            let mut waited = vec![PollFd::new(end, PollFlags::IN)];
            if self.failed.is_none() {
                let pipes = self.pipes.iter();
                waited.extend(pipes.map(|(_, file)| PollFd::new(file, PollFlags::IN)));
            }
            // An interrupted wait is as good as one that ended.
            let is_ready = poll(&mut waited, None).is_ok_and(|count| count > 0);
            if waited.first().is_none_or(|end| !end.revents().is_empty()) {
                return;
            }
            if is_ready && self.failed.is_none() {
                self.all(false);
            }
        }
    }

    /// Moves all full pages of all processors; at the end, the others too.
    pub(super) fn all(&mut self, is_end: bool) {
        for at in 0..self.pipes.len() {
            while self.failed.is_none() {
                match self.step(at) {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) => self.failed = Some(error),
                }
            }
            while is_end && self.failed.is_none() {
                match self.copy(at) {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) => self.failed = Some(error),
                }
            }
        }
    }

    /// Moves some full pages of a processor. Returns their bytes.
    fn step(&mut self, at: usize) -> io::Result<u64> {
        if !self.can_splice {
            return self.copy(at);
        }
        let Some((cpu, pipe)) = self.pipes.get(at) else { return Ok(0) };
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let moved = match splice(pipe, None, &self.into, None, STEP, flags) {
            Ok(moved) => moved,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(Errno::INVAL | Errno::NOSYS) => {
                self.can_splice = false;
                return self.copy(at);
            }
            Err(error) => return Err(error.into()),
        };
        let place = self.spill.place(moved)?;
        let (mut left, mut at) = (moved, place);
        while left > 0 {
            let spill = &self.spill.file;
            match splice(&self.from, None, spill, Some(&mut at), left, SpliceFlags::MOVE) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(size) => left = left.saturating_sub(size),
                Err(Errno::INTR) => {}
                Err(Errno::INVAL) => {
                    // This file system does not splice: take the pages out of the pipe.
                    self.can_splice = false;
                    let mut bytes = vec![0; left];
                    let mut from = File::from(self.from.try_clone()?);
                    from.read_exact(&mut bytes)?;
                    spill.write_all_at(&bytes, at)?;
                    left = 0;
                }
                Err(error) => return Err(error.into()),
            }
        }
        let cpu = *cpu;
        self.note(Chunk { cpu, place, size: moved as u64 });
        Ok(moved as u64)
    }

    /// Copies a page of a processor, even one that is not full. Returns its bytes.
    fn copy(&mut self, at: usize) -> io::Result<u64> {
        let Some((cpu, pipe)) = self.pipes.get(at) else { return Ok(0) };
        let mut page = vec![0; self.page_size];
        let size = match (&*pipe).read(&mut page) {
            Ok(size) => size,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        if size == 0 {
            return Ok(0);
        }
        let place = self.spill.place(page.len())?;
        self.spill.file.write_all_at(&page, place)?;
        let (cpu, size) = (*cpu, page.len() as u64);
        self.note(Chunk { cpu, place, size });
        Ok(size)
    }

    fn note(&mut self, chunk: Chunk) {
        match self.chunks.last_mut() {
            Some(last) if last.cpu == chunk.cpu && last.place + last.size == chunk.place => {
                last.size += chunk.size;
            }
            _ if chunk.size > 0 => self.chunks.push(chunk),
            _ => {}
        }
    }
}

/// Works until the other end of `end` is closed: at the begin, and then after each pause that
/// `work` returns.
pub(super) fn look(end: &PipeReader, mut work: impl FnMut() -> Duration) {
    let (mut last, mut pause) = (Instant::now(), work());
    loop {
        let left = pause.saturating_sub(last.elapsed()).as_millis() as i64 + 1;
        let left = Timespec { tv_sec: left / 1000, tv_nsec: left % 1000 * 1_000_000 };
        let mut waited = [PollFd::new(end, PollFlags::IN)];
        let _ = poll(&mut waited, Some(&left));
        if waited.iter().any(|end| !end.revents().is_empty()) {
            return;
        }
        if last.elapsed() >= pause {
            pause = work();
            last = Instant::now();
        }
    }
}
