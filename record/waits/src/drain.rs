//! The pages of all processors, moved to a file as the kernel fills them.
//!
//! ```text
//!  per_cpu/cpuN/trace_pipe_raw ── splice ──▶ pipe ── splice ──▶ spill     no copy, no decoding
//!                                                               chunks: processor, size
//!  at the end, the page that is not full: read
//! ```
//!
//! One thread waits for all processors: the kernel wakes it when a buffer is a quarter full.
//!
//! Design: `.waits.record` in `design/waits.md`.

use crate::error::{CollectError, SPILL_SIZE_MAX};
use crate::tracefs::Instance;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
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
/// `O_NONBLOCK`.
const NONBLOCK: i32 = 0o4000;

/// Pages of one processor, one after the other in the spill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) cpu: u32,
    /// Bytes, a multiple of the size of a page.
    pub(super) size: u64,
}

/// When the thread that drains has other work to do.
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

/// The ring buffers of all processors, and the file to which their pages move.
#[derive(Debug)]
pub(super) struct Drain {
    /// By processor.
    pipes: Vec<(u32, File)>,
    spill: File,
    into: OwnedFd,
    from: OwnedFd,
    page_size: usize,
    pub(super) chunks: Vec<Chunk>,
    size: u64,
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
        spill: File,
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
        let (chunks, size) = (Vec::new(), 0);
        let (can_splice, failed) = (true, None);
        Ok(Drain { pipes, spill, into, from, page_size, chunks, size, can_splice, failed })
    }

    /// Moves pages until the other end of `end` is closed. `tick` runs at the begin, and then after
    /// each pause that it returns.
    pub(super) fn run(&mut self, end: &PipeReader, tick: &mut dyn FnMut() -> Duration) {
        let (mut last, mut pause) = (Instant::now(), tick());
        loop {
            let mut waited = vec![PollFd::new(end, PollFlags::IN)];
            if self.failed.is_none() {
                let pipes = self.pipes.iter();
                waited.extend(pipes.map(|(_, file)| PollFd::new(file, PollFlags::IN)));
            }
            let left = pause.saturating_sub(last.elapsed()).as_millis() as i64 + 1;
            let left = Timespec { tv_sec: left / 1000, tv_nsec: left % 1000 * 1_000_000 };
            // An interrupted wait is as good as one that ended.
            let is_ready = poll(&mut waited, Some(&left)).is_ok_and(|count| count > 0);
            if waited.first().is_none_or(|end| !end.revents().is_empty()) {
                return;
            }
            if is_ready && self.failed.is_none() {
                self.all(false);
            }
            if last.elapsed() >= pause {
                pause = tick();
                last = Instant::now();
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
        let mut left = moved;
        while left > 0 {
            match splice(&self.from, None, &self.spill, None, left, SpliceFlags::MOVE) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(size) => left = left.saturating_sub(size),
                Err(Errno::INTR) => {}
                Err(Errno::INVAL) => {
                    // This file system does not splice: take the pages out of the pipe.
                    self.can_splice = false;
                    let mut bytes = vec![0; left];
                    let mut from = File::from(self.from.try_clone()?);
                    from.read_exact(&mut bytes)?;
                    self.spill.write_all(&bytes)?;
                    left = 0;
                }
                Err(error) => return Err(error.into()),
            }
        }
        let cpu = *cpu;
        self.note(cpu, moved as u64)
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
        self.spill.write_all(&page)?;
        let cpu = *cpu;
        self.note(cpu, page.len() as u64)
    }

    fn note(&mut self, cpu: u32, size: u64) -> io::Result<u64> {
        match self.chunks.last_mut() {
            Some(last) if last.cpu == cpu => last.size += size,
            _ if size > 0 => self.chunks.push(Chunk { cpu, size }),
            _ => {}
        }
        self.size += size;
        match self.size > SPILL_SIZE_MAX {
            true => Err(io::ErrorKind::FileTooLarge.into()),
            false => Ok(size),
        }
    }

    /// Closes the kernel's files. Returns the spill.
    pub(super) fn close(self) -> (File, Vec<Chunk>) {
        (self.spill, self.chunks)
    }
}
