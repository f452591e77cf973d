//! The process that plays: it gets everything ready, plays, and measures.
//!
//! ```text
//!  all are ready ─ memory, faults ─▶ play ─▶ all have played ─ peak, faults ─▶ free the rest
//!                                                    memory 0, 1, 5 s later ◀─ all have freed ┘
//! ```
//!
//! Thread 0 is the first thread of the process. A workload of one thread starts no other: a C
//! library may be faster with one thread.
//!
//! Design: `.rep.process` in `design/replay.md`.
#![expect(unsafe_code, reason = "the loop trusts the workload")]

use super::Touch;
use super::bare::{Job, Threads};
use super::image;
use super::latency::{self, Histograms, Rate, Timer};
use super::pace::Pacer;
use super::run::{Counts, Player, TOUCH_ALL, TOUCH_NONE, TOUCH_SAMPLED};
use super::shared::{PLAYED, Shared, Table};
use super::usage::{self, Statm};
use crate::facts::{Parts, Touched};
use crate::heap::{Checked, Heap};
use crate::mark;
use crate::measured::{Latency, Run};
use cli::complain;
use memmap2::MmapOptions;
use serde::{Deserialize, Serialize};
use std::sync::Barrier;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// The task of the process: its argument, as JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) heap: String,
    /// The inode of the library that should be preloaded.
    pub(crate) library: Option<u64>,
    pub(crate) thread_count: usize,
    pub(crate) slot_count: usize,
    /// The size of the workload on standard input, in bytes; the outcome follows it.
    pub(crate) size: u64,
    pub(crate) touch: Touch,
    /// The rows of `Touched`: how much of each class of sizes was written.
    pub(crate) touched: Vec<(bool, u8, u64, u64)>,
    /// The multiple of the recorded speed; none: as fast as possible.
    pub(crate) speed: Option<f64>,
    /// Whether the run only checks the heap, and whether it checks all bytes.
    pub(crate) check: Option<bool>,
    /// Resident memory of the replayer itself: of a process that plays against the null heap,
    /// before the first operation.
    pub(crate) own: Option<u64>,
    pub(crate) is_timed: bool,
    /// When to measure memory after all is freed, in ms.
    pub(crate) settle: Vec<u64>,
}

/// The outcome of a task: after the workload, as JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) run: Run,
    /// Resident memory before the first operation, in bytes.
    pub(crate) baseline: u64,
    pub(crate) skipped: u64,
    pub(crate) latency: Option<Latency>,
    pub(crate) clock_ns: f64,
    /// The reason why the result does not count.
    pub(crate) refusal: Option<String>,
}

/// A task, and its workload.
///
/// 16. The parent checked and wrote the workload (14); the table has all its slots.
pub(crate) struct Session<'a> {
    pub(crate) task: &'a Task,
    pub(crate) shared: &'a Shared,
    pub(crate) table: &'a Table,
}

struct Stage<'a, H> {
    heap: &'a H,
    session: &'a Session<'a>,
    barrier: Barrier,
    /// The thread that starts and the first one meet here.
    started: Barrier,
    parts: Parts,
    /// Whether `replay record` records this process, and wants marks.
    is_marked: bool,
}

struct ThreadResult<W> {
    timer: W,
    counts: Counts,
    /// The time when the thread had played.
    end: u64,
}

impl Session<'_> {
    /// Plays the workload against a heap.
    pub(crate) fn play<H: Heap>(&self, heap: &H) -> Outcome {
        if let Some(is_full) = self.task.check.filter(|_| H::HAS_MEMORY) {
            let checked = Checked::new(heap, is_full);
            let outcome = self.all(&checked, || ()).0;
            let refusal = checked.error().map(|error| format!("not a correct heap: {error}"));
            return Outcome { refusal, ..outcome };
        }
        if !self.task.is_timed {
            return self.all(heap, || ()).0;
        }
        let rate = Rate::start();
        let histograms = Histograms::new(self.task.thread_count);
        let mut outcome = self.all(heap, || histograms.stopwatch()).0;
        let (latency, clock_ns) = latency::latency(histograms, rate.ns_per_tick());
        (outcome.latency, outcome.clock_ns) = (Some(latency), clock_ns);
        outcome
    }

    fn all<H: Heap, W: Timer + Send>(&self, heap: &H, timer: impl Fn() -> W) -> (Outcome, Vec<W>) {
        let count = self.task.thread_count.max(1);
        let parts = Parts::new(&Touched::of_rows(self.task.touched.iter().copied()));
        let is_marked = H::HAS_MEMORY && mark::is_wanted();
        let (barrier, started) = (Barrier::new(count), Barrier::new(2));
        let stage = Stage { heap, session: self, barrier, started, parts, is_marked };
        let job = |thread: usize| {
            let (stage, timer) = (&stage, timer());
            Job::new(move || stage.other(thread, timer))
        };
        let mut jobs: Vec<_> = (1..count).map(job).collect();
        let mut threads = Threads::with_capacity(count);
        for (thread, job) in (1..).zip(&mut jobs) {
            let started = has_room_for_thread().and_then(|()| {
                // SAFETY: 17: the list stays until `threads` is dropped.
                unsafe { threads.start(job, STACK_SIZE) }
            });
            if let Err(error) = started {
                give_up(thread, count, &error);
            }
            // The memory that it starts with is not taken by the next one.
            stage.started.wait();
        }
        let (mut outcome, result) = stage.first(timer());
        drop(threads);
        let others = jobs.into_iter().filter_map(|job| job.result);
        let results: Vec<_> = [result].into_iter().chain(others).collect();
        let start = self.shared.control().start.load(Ordering::Relaxed);
        let end = results.iter().map(|result| result.end).max().unwrap_or(start);
        outcome.run.duration_ns = end.saturating_sub(start);
        let waited = results.iter().map(|result| result.counts.waited_ns).sum();
        outcome.run.processor_ns = outcome.run.processor_ns.saturating_sub(waited);
        outcome.run.failure_count = results.iter().map(|result| result.counts.failures).sum();
        outcome.skipped = results.iter().map(|result| result.counts.skipped).sum();
        (outcome, results.into_iter().map(|result| result.timer).collect())
    }
}

/// The exit code of a process that cannot start its threads.
pub(crate) const NO_THREAD: i32 = 125;
/// The size of a thread's stack: thousands of threads may exist.
const STACK_SIZE: usize = 512 << 10;

/// The memory that a thread needs to start, besides its stack: a stack for signals, its lists.
const START_SIZE: usize = 1 << 20;
/// The size of a guard between stacks, or more.
const GUARD_SIZE: usize = 64 << 10;

/// Checks that the system has memory for another thread. A thread that is started without it aborts
/// the process.
fn has_room_for_thread() -> std::io::Result<()> {
    let map = |size| MmapOptions::new().len(size).map_anon();
    let _stack = (map(STACK_SIZE)?, map(GUARD_SIZE)?.make_read_only()?);
    let _rest = (map(START_SIZE)?, map(GUARD_SIZE)?.make_read_only()?);
    Ok(())
}

/// Ends the process: its threads wait for the one that could not start.
fn give_up(thread: usize, count: usize, error: &std::io::Error) -> ! {
    complain(&format!("replay: cannot start thread {} of {count}: {error}\n", thread + 1));
    std::process::exit(NO_THREAD)
}

impl<H: Heap> Stage<'_, H> {
    /// Plays the first thread, which also measures the process.
    fn first<W: Timer>(&self, timer: W) -> (Outcome, ThreadResult<W>) {
        let mut outcome = Outcome::default();
        let (statm, control) = (Statm::open(None), self.session.shared.control());
        let mut player = self.player(0, timer);
        self.barrier.wait();
        usage::reset_peak();
        outcome.baseline = statm.resident().unwrap_or_default();
        let own = self.session.task.own.unwrap_or(outcome.baseline);
        outcome.run.start_up = outcome.baseline.saturating_sub(own);
        control.baseline.store(own, Ordering::Relaxed);
        let (faults, processor) = (usage::faults(), usage::processor());
        control.start.store(usage::now(), Ordering::Relaxed);
        control.begin();
        let end = self.perform(&mut player);
        self.barrier.wait();
        outcome.run.processor_ns = usage::processor().saturating_sub(processor);
        let lines = self.session.shared.lines().iter();
        let live: i64 = lines.map(|line| line.live.load(Ordering::Relaxed)).sum();
        outcome.run.live_reached = u64::try_from(live).ok();
        let (minor, major) = usage::faults();
        control.phase.store(PLAYED, Ordering::Release);
        outcome.run.faults_minor = minor.saturating_sub(faults.0);
        outcome.run.faults_major = major.saturating_sub(faults.1);
        outcome.run.resident_peak = usage::peak().unwrap_or_default().saturating_sub(own);
        self.barrier.wait();
        self.free_left(&mut player);
        self.barrier.wait();
        let freed = Instant::now();
        for &after in &self.session.task.settle {
            thread::sleep(Duration::from_millis(after).saturating_sub(freed.elapsed()));
            let resident = statm.resident().unwrap_or_default().saturating_sub(own);
            outcome.run.after.push((after, resident));
        }
        self.barrier.wait();
        let (timer, counts) = (player.timer, player.counts);
        (outcome, ThreadResult { timer, counts, end })
    }

    /// Plays another thread. It stays until the first thread has measured: the end of a thread
    /// would change the memory.
    fn other<W: Timer>(&self, thread: usize, timer: W) -> ThreadResult<W> {
        let control = self.session.shared.control();
        let mut player = self.player(thread, timer);
        self.started.wait();
        self.barrier.wait();
        control.wait_for_begin();
        let end = self.perform(&mut player);
        self.barrier.wait();
        self.barrier.wait();
        self.free_left(&mut player);
        self.barrier.wait();
        self.barrier.wait();
        let (timer, counts) = (player.timer, player.counts);
        ThreadResult { timer, counts, end }
    }

    fn player<W: Timer>(&self, thread: usize, timer: W) -> Player<'_, H, W> {
        let Session { task, shared, table } = self.session;
        let lists = image::lists(shared, thread).unwrap_or_default();
        let pacer = Pacer::new(Instant::now(), task.speed.unwrap_or(1.0));
        let (heap, slots, lines) = (self.heap, table.slots(), shared.lines());
        let met = &shared.control().met;
        let (parts, counts) = (&self.parts, Counts::default());
        Player { heap, lists, slots, lines, met, parts, thread, pacer, timer, counts }
    }

    /// Plays the ops of a thread. Returns the time of the end.
    fn perform<W: Timer>(&self, player: &mut Player<'_, H, W>) -> u64 {
        let Task { touch, speed, .. } = self.session.task;
        player.pacer = Pacer::new(Instant::now(), speed.unwrap_or(1.0));
        if self.is_marked {
            mark::make(mark::BEGIN);
        }
        // SAFETY: 16: the workload is what the parent checked and wrote, and the table has all its
        // slots.
        unsafe {
            match (touch, speed.is_some()) {
                (Touch::None, false) => player.play::<TOUCH_NONE, false>(),
                (Touch::None, true) => player.play::<TOUCH_NONE, true>(),
                (Touch::Sampled, false) => player.play::<TOUCH_SAMPLED, false>(),
                (Touch::Sampled, true) => player.play::<TOUCH_SAMPLED, true>(),
                (Touch::All, false) => player.play::<TOUCH_ALL, false>(),
                (Touch::All, true) => player.play::<TOUCH_ALL, true>(),
            }
        }
        let end = usage::now();
        if self.is_marked {
            mark::make(mark::END);
        }
        end
    }

    fn free_left<W: Timer>(&self, player: &mut Player<'_, H, W>) {
        // SAFETY: 16, and all threads have met since they played.
        unsafe { player.free_left() };
    }
}
