//! A workload against heaps: each run in a process of its own.
//!
//! ```text
//!  workload ─ check ─▶ image ─┬─▶ null    ─┬─▶ system ─▶ jemalloc ─▶ …   once for each run
//!                             │  process   │  process                    then for latency
//!                             └────────────┴──▶ Measured
//! ```
//!
//! Design: `.rep.process`, `.rep.loop`, `.rep.latency` in `design/replay.md`.

mod check;
mod child;
mod contender;
mod counter;
mod image;
mod in_process;
mod latency;
mod library;
mod pace;
mod parent;
mod progress;
mod room;
mod run;
mod shared;
mod timeline;
mod usage;
mod watch;

pub use check::Misfit;
pub(crate) use child::{Outcome, Session, Task};
pub use contender::{Contender, built_in};
pub use in_process::{Unplayed, in_process};
pub(crate) use library::Library;
pub(crate) use room::available;

use crate::measured::{HeapMeasured, Measured, Run, Sample};
use crate::workload::{LIVE_STEP, Workload};
use cli::{Stop, complain};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use parent::{Course, Ran};
use progress::Progress;
use serde::{Deserialize, Serialize};
use shared::{Shared, Table};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// The command, which nobody gives by hand, of the process that plays.
pub(crate) const PLAYER: &str = "player";

/// The heap that every comparison has, since it says what the loop costs.
pub(crate) const NULL: &str = "null";

/// What part of the live peak must be reached: what is sampled may miss a little.
const REACHED_MIN: f64 = 0.95;
/// How many samples say something about that, and how many steps of each thread.
const SAMPLE_MIN: usize = 10;

/// What is written of the memory that is handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
pub enum Touch {
    /// Nothing: the memory does not become resident
    None,
    /// A byte of each cache line, as far as the program wrote blocks of that size while it was
    /// recorded
    #[default]
    Sampled,
    /// A byte of each page, as if all that was asked for was used
    Pages,
    /// All of it
    All,
}

/// How closely it is looked at what heaps hand out, before they are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Check {
    /// At the first and the last word of each object.
    #[default]
    Quick,
    /// At all bytes, and whether any overlap.
    Full,
}

/// How a workload is played.
#[derive(Clone, Debug)]
pub(crate) struct Mode {
    pub(crate) touch: Touch,
    pub(crate) check: Check,
    /// How much faster than recorded; none: as fast as it goes.
    pub(crate) speed: Option<f64>,
    pub(crate) run_count: usize,
    pub(crate) has_latency: bool,
    /// When to look at memory after all was freed, in ms.
    pub(crate) settle: Vec<u64>,
    pub(crate) interval: Duration,
    pub(crate) timeout: Duration,
}

/// A heap that is played against.
#[derive(Clone, Debug)]
pub(crate) struct Opponent {
    /// What it is called in what is measured.
    pub(crate) name: String,
    /// The contender's name.
    pub(crate) heap: String,
    /// What it is: its version, and how it is configured.
    pub(crate) about: String,
    /// What is preloaded.
    pub(crate) library: Option<Library>,
}

/// Plays a workload against each of them. What is said of the workload is the caller's. It is given
/// up once the image is written, which has the same again.
pub(crate) fn play(
    workload: Workload,
    opponents: &[Opponent],
    mode: &Mode,
) -> Result<Measured, Stop> {
    let failed = |error: io::Error| Stop::Message(format!("cannot play: {error}"));
    let plan = check::check(&workload).map_err(|misfit| Stop::Message(misfit.to_string()))?;
    let (image, size) = image::write(&workload, &plan).map_err(failed)?;
    let (thread_count, operation_count) = (workload.threads.len(), workload.operation_count);
    let live_peak = workload.live_peak;
    let slot_count = workload.slot_count as usize;
    let shared = Shared::map(&image, size, thread_count, false).map_err(failed)?;
    let (interval, timeout) = (mode.interval, mode.timeout);
    let course = Course { image: &image, shared: &shared, done: &plan.done, interval, timeout };
    let task = Task {
        thread_count,
        slot_count,
        size,
        touch: mode.touch,
        touched: workload.touched.rows().collect(),
        speed: mode.speed,
        ..Task::default()
    };
    drop(workload);
    // One more, in which they are checked.
    let rounds = 1 + mode.run_count + usize::from(mode.has_latency);
    let progress = Progress::new(mode.run_count + rounds * opponents.len());
    let mut round = Round { course, task, mode, operation_count, live_peak, progress };
    let mut heaps: Vec<HeapMeasured> = opponents.iter().map(named).collect();
    let (name, heap) = (NULL.to_owned(), NULL.to_owned());
    let null = Opponent { name, heap, about: String::new(), library: None };
    let mut loops = named(&null);
    for (opponent, heap) in opponents.iter().zip(&mut heaps) {
        round.check(opponent, heap).map_err(failed)?;
    }
    for _ in 0..mode.run_count {
        (round.task.speed, round.task.own) = (None, None);
        round.task.own = round.throughput(&null, &mut loops).map_err(failed)?;
        round.task.speed = mode.speed;
        for (opponent, heap) in opponents.iter().zip(&mut heaps) {
            round.throughput(opponent, heap).map_err(failed)?;
        }
    }
    heaps.iter_mut().for_each(|heap| heap.warning = apart(heap, live_peak));
    let mut clock_ns = 0.0;
    for (opponent, heap) in opponents.iter().zip(&mut heaps).filter(|_| mode.has_latency) {
        clock_ns = round.latency(opponent, heap).map_err(failed)?.unwrap_or(clock_ns);
    }
    if let Some(failure) = &loops.failure {
        complain(&format!("replay: {NULL}: {failure}: what the loop takes is not known\n"));
    }
    let loop_ns = least_ns(&loops.runs);
    let is_paced = mode.speed.is_some();
    Ok(Measured { is_paced, loop_ns, clock_ns, heaps, ..Measured::default() })
}

fn named(opponent: &Opponent) -> HeapMeasured {
    let (name, about) = (opponent.name.clone(), opponent.about.clone());
    HeapMeasured { name, about, ..HeapMeasured::default() }
}

/// Whether threads ran apart, so that less was live at a time than in the program.
fn apart(heap: &HeapMeasured, live_peak: u64) -> Option<String> {
    let reached = heap.runs.iter().filter_map(|run| run.live_reached).min()?;
    let part = reached as f64 / live_peak.max(1) as f64;
    let is_whole = heap.runs.iter().all(|run| run.failure_count == 0);
    (is_whole && live_peak > 0 && part < REACHED_MIN).then(|| {
        format!(
            "threads ran apart: it came to {:.0} % of the live peak of the program, so its memory \
             says little (--skew bounds how far apart they are)",
            part * 100.0
        )
    })
}

/// The least of what an operation took, in ns.
fn least_ns(runs: &[Run]) -> f64 {
    let of = |run: &Run| run.duration_ns as f64 / run.operation_count.max(1) as f64;
    runs.iter().map(of).min_by(f64::total_cmp).unwrap_or_default()
}

/// What all runs have in common.
struct Round<'a> {
    course: Course<'a>,
    task: Task,
    mode: &'a Mode,
    operation_count: u64,
    live_peak: u64,
    progress: Progress,
}

impl Round<'_> {
    fn run(&mut self, opponent: &Opponent, is_timed: bool, settle: Vec<u64>) -> io::Result<Ran> {
        self.progress.next(&opponent.name);
        self.task.heap.clone_from(&opponent.heap);
        self.task.library = opponent.library.as_ref().map(|library| library.inode);
        self.task.is_timed = is_timed;
        self.task.settle = settle;
        self.course.run(&self.task, opponent.library.as_ref())
    }

    /// When memory is looked at after a run: at once after each, later only after the first, for
    /// nobody wants to wait so long for each run of each heap; the null heap has none.
    fn settle(&self, opponent: &Opponent, is_first: bool) -> Vec<u64> {
        let all = self.mode.settle.iter().copied();
        all.filter(|after| opponent.heap != NULL && (is_first || *after == 0)).collect()
    }

    /// One run in which nothing is measured, and it is looked at what the heap hands out: a wrong
    /// heap may be fast.
    fn check(&mut self, opponent: &Opponent, heap: &mut HeapMeasured) -> io::Result<()> {
        let task = self.task.clone();
        self.task = Task { check: Some(self.mode.check), speed: None, touch: Touch::None, ..task };
        let ran = self.run(opponent, false, Vec::new());
        (self.task.check, self.task.speed, self.task.touch) = (None, task.speed, task.touch);
        heap.failure = ran?.outcome.err();
        Ok(())
    }

    /// One run for throughput and memory, unless an earlier one failed. What was resident before
    /// its first operation.
    fn throughput(
        &mut self,
        opponent: &Opponent,
        heap: &mut HeapMeasured,
    ) -> io::Result<Option<u64>> {
        if heap.failure.is_some() {
            return Ok(None);
        }
        let is_first = heap.runs.is_empty();
        let Ran { outcome, timeline } =
            self.run(opponent, false, self.settle(opponent, is_first))?;
        let mut before = None;
        match outcome {
            Ok(Outcome { run, skipped, baseline, .. }) => {
                before = Some(baseline);
                let highest = highest(&timeline);
                let operation_count = self.operation_count.saturating_sub(skipped);
                let (live_at_peak, sampled) =
                    highest.map_or((0, 0), |highest| (highest.live, highest.resident));
                // Freeing may take some, too.
                let freed = run.after.iter().map(|after| after.1).max().unwrap_or(0);
                let resident_peak = run.resident_peak.max(sampled).max(freed);
                let is_met = self.course.has_met() || self.task.thread_count < 2;
                let most = timeline.iter().map(|sample| sample.live).max().unwrap_or(0);
                let steps =
                    self.operation_count / (LIVE_STEP * self.task.thread_count.max(1)) as u64;
                let is_short = steps < SAMPLE_MIN as u64;
                let live_reached = match is_met {
                    true => Some(self.live_peak),
                    false if is_short || timeline.len() < SAMPLE_MIN => None,
                    false => run.live_reached.max(Some(most)),
                };
                heap.runs.push(Run {
                    operation_count,
                    live_at_peak,
                    live_reached,
                    resident_peak,
                    ..run
                });
            }
            Err(failure) => heap.failure = Some(failure),
        }
        if is_first {
            heap.timeline = with_end(timeline, heap.runs.first());
        }
        Ok(before)
    }

    /// One run for latency, unless an earlier one failed. What reading the counter costs.
    fn latency(&mut self, opponent: &Opponent, heap: &mut HeapMeasured) -> io::Result<Option<f64>> {
        if heap.failure.is_some() {
            return Ok(None);
        }
        match self.run(opponent, true, Vec::new())?.outcome {
            Ok(outcome) => {
                heap.latency = outcome.latency.unwrap_or_default();
                Ok(Some(outcome.clock_ns))
            }
            Err(failure) => {
                heap.failure = Some(format!("{failure} (in the run for latency)"));
                Ok(None)
            }
        }
    }
}

/// The sample with most that is live, of those in which nearly the most was resident: a heap that
/// gives nothing back has that to the end, when little is live.
fn highest(timeline: &[Sample]) -> Option<&Sample> {
    let most = timeline.iter().map(|sample| sample.resident).max()?;
    let is_high = |sample: &&Sample| sample.resident >= most - most / 100;
    timeline.iter().filter(is_high).max_by_key(|sample| sample.live)
}

/// A timeline, with what there was when all had been freed.
fn with_end(mut timeline: Vec<Sample>, run: Option<&Run>) -> Vec<Sample> {
    let Some(run) = run else { return timeline };
    timeline.extend(run.after.iter().map(|(after, resident)| Sample {
        time_ns: run.duration_ns + after * 1_000_000,
        operation_count: run.operation_count,
        live: 0,
        resident: *resident,
    }));
    timeline.sort_by_key(|sample| sample.time_ns);
    timeline
}

/// What the process does that plays: the task is its argument, the image its standard input.
pub(crate) fn player(task: &str, contenders: &[Contender]) -> Result<bool, Stop> {
    let by_hand =
        |what: &str| Stop::Message(format!("{PLAYER} is what replay starts itself: {what}"));
    let task: Task = serde_json::from_str(task).map_err(|error| by_hand(&error.to_string()))?;
    let failed = |error: io::Error| by_hand(&error.to_string());
    // It plays for its parent: a heap that hangs would hang for ever.
    set_pdeathsig(Signal::SIGKILL).map_err(|error| failed(error.into()))?;
    // Where memory runs out, it is this process that goes.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let file = std::fs::File::from(io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
    let shared = Shared::map(&file, task.size, task.thread_count, true).map_err(failed)?;
    let table = Table::new(task.slot_count).map_err(failed)?;
    let contender = contenders.iter().find(|contender| contender.name() == task.heap);
    let contender = contender.ok_or_else(|| by_hand("there is no such heap"))?;
    let is_loaded = task.library.is_none_or(|inode| usage::is_mapped(inode) != Some(false));
    let outcome = match is_loaded {
        true => contender.play(&Session { task: &task, shared: &shared, table: &table }),
        false => Outcome {
            refusal: Some("the dynamic linker did not load it".to_owned()),
            ..Outcome::default()
        },
    };
    let text = serde_json::to_vec(&outcome).map_err(|error| by_hand(&error.to_string()))?;
    file.write_all_at(&text, task.size).map_err(failed)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.rep.report`
    #[test]
    fn what_was_live_at_the_peak_is_of_the_peak_and_not_of_the_end() {
        let sample = |resident, live| Sample { resident, live, ..Sample::default() };
        let timeline = [sample(10, 9), sample(1000, 800), sample(1004, 20), sample(1004, 0)];
        assert_eq!(highest(&timeline).map(|sample| sample.live), Some(800));
        assert_eq!(highest(&[]), None);
    }
}
