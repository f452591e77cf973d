//! The memory that the playing and the watching process share: a mapped file.
//!
//! ```text
//!  child: stores phase, start, progress ─▶ control, lines ─▶ parent: loads, samples
//! ```
//!
//! Design: `.rep.process` in `design/replay.md`.
#![expect(unsafe_code, reason = "two processes map a file")]

use memmap2::{MmapOptions, MmapRaw};
use rustix::thread::{Timespec, futex};
use std::fs::File;
use std::hint;
use std::io;
use std::slice;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::thread;

/// A phase of the child: it gets ready.
pub(crate) const LOADING: u32 = 0;
/// A phase of the child: it plays.
pub(crate) const PLAYING: u32 = 1;
/// A phase of the child: it has played, and measures.
pub(crate) const PLAYED: u32 = 2;

/// The state of the run as a whole.
#[derive(Debug, Default)]
#[repr(C, align(4096))]
pub(crate) struct Control {
    pub(crate) phase: AtomicU32,
    /// 1 once all threads have met at the peak of live bytes.
    pub(crate) met: AtomicU32,
    /// The number of threads that sleep until the run begins.
    pub(crate) sleeping: AtomicU32,
    /// The beginning of the run, in ns of CLOCK_MONOTONIC.
    pub(crate) start: AtomicU64,
    /// Resident memory of the replayer itself, in bytes: the rest is the heap's.
    pub(crate) baseline: AtomicU64,
}

/// The state of a thread, on its own cache line (and the one that the processor fetches with it).
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(crate) struct Line {
    /// The number of finished ops.
    pub(crate) at: AtomicU64,
    /// The bytes that it has allocated less those that it has freed.
    pub(crate) live: AtomicI64,
    pub(crate) posted: AtomicU32,
    /// The number of threads that sleep until it posts.
    pub(crate) sleeping: AtomicU32,
}

/// How often a waiting thread polls at once, and then with a yield between, before it sleeps.
const SPIN_MAX: u32 = 100;
const YIELD_MAX: u32 = 100;
/// How long it sleeps at first and at most until it polls again, in ns.
const SLEEP: i64 = 10_000_000;
const SLEEP_MAX: i64 = 1_000_000_000;

impl Line {
    #[inline(always)]
    pub(crate) fn publish(&self, at: usize, live: i64) {
        self.at.store(at as u64, Ordering::Relaxed);
        self.live.store(live, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn post(&self, count: u32) {
        self.posted.store(count, Ordering::Release);
        // A thread that is just going to sleep may be missed: it polls again by itself.
        if self.sleeping.load(Ordering::Relaxed) != 0 {
            wake(&self.posted);
        }
    }

    pub(crate) fn has_posted(&self, count: u32) -> bool {
        self.posted.load(Ordering::Acquire) >= count
    }

    #[cold]
    pub(crate) fn wait(&self, count: u32) {
        wait_until(&self.posted, &self.sleeping, |posted| posted >= count);
    }
}

impl Control {
    pub(crate) fn begin(&self) {
        self.phase.store(PLAYING, Ordering::Release);
        wake(&self.phase);
    }

    pub(crate) fn wait_for_begin(&self) {
        wait_until(&self.phase, &self.sleeping, |phase| phase == PLAYING);
    }
}

#[cold]
#[inline(never)]
fn wake(word: &AtomicU32) {
    // An error means that no thread was woken, which does no harm.
    let _ = futex::wake(word, futex::Flags::PRIVATE, i32::MAX as u32);
}

/// Waits for a word of this process. Where thousands of threads wait for each other in turn,
/// threads that only yield would leave no time to the one whose turn it is.
fn wait_until(word: &AtomicU32, sleeping: &AtomicU32, is_reached: impl Fn(u32) -> bool) {
    for round in 0..SPIN_MAX + YIELD_MAX {
        if is_reached(word.load(Ordering::Acquire)) {
            return;
        }
        match round < SPIN_MAX {
            true => hint::spin_loop(),
            false => thread::yield_now(),
        }
    }
    sleeping.fetch_add(1, Ordering::SeqCst);
    let mut sleep = SLEEP;
    loop {
        let now = word.load(Ordering::Acquire);
        if is_reached(now) {
            break;
        }
        let (tv_sec, tv_nsec) = (sleep / 1_000_000_000, sleep % 1_000_000_000);
        // The word may have changed meanwhile, or a signal may have come: the loop checks it again.
        let _ = futex::wait(word, futex::Flags::PRIVATE, now, Some(&Timespec { tv_sec, tv_nsec }));
        sleep = (sleep * 2).min(SLEEP_MAX);
    }
    sleeping.fetch_sub(1, Ordering::SeqCst);
}

const CONTROL_SIZE: usize = size_of::<Control>();
const _: () = assert!(CONTROL_SIZE == 4096 && size_of::<Line>() == 128);

/// Returns the offset of the words, after control and lines.
pub(crate) fn words_offset(thread_count: usize) -> usize {
    (CONTROL_SIZE + thread_count * size_of::<Line>()).next_multiple_of(4096)
}

#[derive(Debug)]
pub(crate) struct Shared {
    /// 12. The map begins with a Control and `thread_count` Lines. Words follow, which are written
    ///     before the file is mapped, and never afterwards.
    map: MmapRaw,
    thread_count: usize,
}

impl Shared {
    /// Maps the first `size` bytes of a file of `image::write`; `populate` brings all its pages
    /// into memory now.
    pub(crate) fn map(
        file: &File,
        size: u64,
        thread_count: usize,
        populate: bool,
    ) -> io::Result<Shared> {
        let too_small = || io::Error::other("it has no workload");
        let offset = thread_count
            .checked_mul(size_of::<Line>())
            .and_then(|lines| lines.checked_add(2 * CONTROL_SIZE))
            .ok_or_else(too_small)?;
        if file.metadata()?.len() < size || size < (offset - CONTROL_SIZE) as u64 {
            return Err(too_small());
        }
        let mut options = MmapOptions::new();
        options.len(usize::try_from(size).map_err(|_| too_small())?);
        if populate {
            options.populate();
        }
        let map = options.map_raw(file)?;
        match map.len() >= words_offset(thread_count) {
            true => Ok(Shared { map, thread_count }),
            false => Err(too_small()),
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.map.len() as u64
    }

    pub(crate) fn control(&self) -> &Control {
        // SAFETY: 12: the map has it, all bits are a Control, and both processes use only atomics.
        unsafe { &*self.map.as_ptr().cast() }
    }

    pub(crate) fn lines(&self) -> &[Line] {
        // SAFETY: 12: the map has them, all bits are a Line, and both processes use only atomics.
        unsafe {
            let first = self.map.as_ptr().add(CONTROL_SIZE).cast();
            slice::from_raw_parts(first, self.thread_count)
        }
    }

    pub(crate) fn words(&self) -> &[u64] {
        let offset = words_offset(self.thread_count);
        // SAFETY: 12: from there to the end of the map, no process writes any more. The offset is a
        // multiple of 4096.
        unsafe {
            let first = self.map.as_ptr().add(offset).cast();
            slice::from_raw_parts(first, (self.map.len() - offset) / size_of::<u64>())
        }
    }
}

/// The table of objects: empty slots, whose pages are in memory.
#[derive(Debug)]
pub(crate) struct Table {
    /// 13. Pages of this process alone, at first zero, used only by atomics.
    map: MmapRaw,
    count: usize,
}

impl Table {
    pub(crate) fn new(count: usize) -> io::Result<Table> {
        let size = count.max(1).checked_mul(size_of::<AtomicPtr<u8>>());
        let size = size.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let map = MmapOptions::new().len(size).populate().map_anon()?;
        Ok(Table { map: map.into(), count })
    }

    pub(crate) fn slots(&self) -> &[AtomicPtr<u8>] {
        // SAFETY: 13: the map has `count` of them; zeros are null.
        unsafe { slice::from_raw_parts(self.map.as_ptr().cast(), self.count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::usage;
    use std::time::Duration;

    /// `.rep.pace`
    #[test]
    fn a_thread_that_waits_long_sleeps_until_woken() {
        let line = Line::default();
        let used = || usage::processor_of_thread() / 1_000_000;
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let before = used();
                line.wait(2);
                used() - before
            });
            while line.sleeping.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            // Too small a count does not end the wait.
            line.post(1);
            thread::sleep(Duration::from_millis(400));
            assert!(!waiter.is_finished());
            line.post(2);
            let used = waiter.join().expect("the waiting thread ends");
            assert!(used < 200, "{used} ms of processor time to wait 400 ms");
        });
        assert_eq!(line.sleeping.load(Ordering::Relaxed), 0);
        line.wait(2);
    }
}
