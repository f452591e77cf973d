//! Plays a workload against heaps, each run in its own process.
//!
//! ```text
//!  workload ─ check ─▶ image ─┬─▶ null    ─┬─▶ system ─▶ jemalloc ─▶ …   once for each round
//!                             │  process   │  process                    then for latency
//!                             └────────────┴──▶ Measured
//! ```
//!
//! Design: `.rep.process`, `.rep.loop`, `.rep.latency` in `design/replay.md`.

mod bare;
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
mod run;
mod shared;
mod usage;
mod values;

pub use check::InvalidWorkload;
pub(crate) use child::{Outcome, Session, Task};
pub use contender::{Contender, built_in};
pub use in_process::{PlayError, in_process};
pub(crate) use library::Library;
pub(crate) use usage::available;
pub(crate) use values::Threads;

use crate::measured::{HeapMeasured, Measured, Run, Sample};
use crate::workload::{LIVE_STEP, Workload};
use cli::{Stop, complain};
use eventlog::format::text::OneLine;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use parent::{Launcher, RunResult};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use shared::{Shared, Table};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::time::Duration;
use values::{Pace, Skew};

/// The hidden command of the process that plays.
pub(crate) const PLAYER: &str = "player";

/// The null heap: every comparison has it, to measure the loop.
pub(crate) const NULL: &str = "null";

/// The part of the live peak that must be reached: samples may miss a little.
const REACHED_MIN: f64 = 0.95;
/// The minimum number of samples, and of steps of each thread, that can show this.
const SAMPLE_MIN: usize = 10;

/// What to write to the memory that heaps hand out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
pub enum Touch {
    /// Nothing: the memory does not become resident
    None,
    /// A byte of each cache line, as far as the program wrote blocks of that size while it was
    /// recorded
    #[default]
    Sampled,
    /// All of it
    All,
}

/// The options of a replay.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Mode {
    /// Number of runs against each heap
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) runs: u16,

    /// The threads that play
    #[arg(long, value_enum, default_value_t = Threads::Recorded)]
    pub(crate) threads: Threads,

    /// How many operations threads may be apart, about, in the recorded order: a number, or free
    #[arg(long, value_name = "COUNT", default_value = "1024", value_parser = values::skew)]
    pub(crate) skew: Skew,

    /// How fast: max, recorded, or a multiple of the recorded speed, as x2.5
    #[arg(long, value_name = "PACE", default_value = "max", value_parser = values::speed)]
    pub(crate) pace: Pace,

    /// What to write to the memory that heaps hand out
    #[arg(long, value_enum, default_value_t = Touch::Sampled)]
    pub(crate) touch: Touch,

    /// Check all bytes that heaps hand out, before they are measured: overlap, alignment, zeros,
    /// and contents after reallocation. Without this, check the first and last word of each object
    #[arg(long)]
    pub(crate) check: bool,

    /// Skip the run for latency
    #[arg(long)]
    pub(crate) no_latency: bool,

    /// When to measure memory after all is freed, in seconds; except for 0, only after first runs
    #[arg(long, value_name = "S,…", value_delimiter = ',')]
    #[arg(default_value = "0,1,5", value_parser = values::seconds)]
    pub(crate) settle: Vec<Duration>,

    /// How long a heap may do nothing until it is ended, in seconds
    #[arg(long, value_name = "S", default_value = "60", value_parser = values::seconds_above_0)]
    pub(crate) timeout: Duration,
}

#[derive(Clone, Debug)]
pub(crate) struct SelectedHeap {
    /// The name in reports.
    pub(crate) name: String,
    /// The name of the contender.
    pub(crate) heap: String,
    /// Its version, and its options.
    pub(crate) about: String,
    pub(crate) library: Option<Library>,
}

/// Plays a workload against each heap; the caller adds the facts of the workload. The workload is
/// dropped once it is written to the image.
pub(crate) fn play(
    workload: Workload,
    selection: &[SelectedHeap],
    mode: &Mode,
) -> Result<Measured, Stop> {
    let failed = |error: io::Error| Stop::Message(format!("cannot play: {error}"));
    let plan = check::check(&workload).map_err(|error| Stop::Message(error.to_string()))?;
    let (image, size) = image::write(&workload, &plan).map_err(failed)?;
    let (thread_count, operation_count) = (workload.threads.len(), workload.operation_count);
    let live_peak = workload.live_peak;
    let slot_count = workload.slot_count as usize;
    let shared = Shared::map(&image, size, thread_count, false).map_err(failed)?;
    let launcher =
        Launcher { image: &image, shared: &shared, done: &plan.done, timeout: mode.timeout };
    let task = Task {
        thread_count,
        slot_count,
        size,
        touch: mode.touch,
        touched: workload.touched.rows().collect(),
        speed: mode.pace.0,
        ..Task::default()
    };
    drop(workload);
    // One more round checks the heaps.
    let run_count = usize::from(mode.runs);
    let rounds = 1 + run_count + usize::from(!mode.no_latency);
    let progress = ProgressBar::new((run_count + rounds * selection.len()) as u64);
    let style = ProgressStyle::with_template("run {pos} of {len}: {msg}");
    let progress = progress
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        .with_finish(ProgressFinish::AndClear);
    let mut round = Measurement { launcher, task, mode, operation_count, live_peak, progress };
    let mut heaps: Vec<HeapMeasured> = selection.iter().map(named).collect();
    let (name, heap) = (NULL.to_owned(), NULL.to_owned());
    let null = SelectedHeap { name, heap, about: String::new(), library: None };
    let mut loops = named(&null);
    for (selected, heap) in selection.iter().zip(&mut heaps) {
        round.check(selected, heap).map_err(failed)?;
    }
    for _ in 0..run_count {
        (round.task.speed, round.task.own) = (None, None);
        round.task.own = round.throughput(&null, &mut loops).map_err(failed)?;
        round.task.speed = mode.pace.0;
        for (selected, heap) in selection.iter().zip(&mut heaps) {
            round.throughput(selected, heap).map_err(failed)?;
        }
    }
    heaps.iter_mut().for_each(|heap| heap.warning = apart(heap, live_peak));
    let mut clock_ns = 0.0;
    for (selected, heap) in selection.iter().zip(&mut heaps).filter(|_| !mode.no_latency) {
        clock_ns = round.latency(selected, heap).map_err(failed)?.unwrap_or(clock_ns);
    }
    if let Some(failure) = &loops.failure {
        complain(&format!("replay: {NULL}: {failure}; the cost of the loop is unknown\n"));
    }
    let loop_ns = least_ns(&loops.runs);
    let is_paced = mode.pace.0.is_some();
    Ok(Measured { is_paced, loop_ns, clock_ns, heaps, ..Measured::default() })
}

fn named(selected: &SelectedHeap) -> HeapMeasured {
    let (name, about) = (selected.name.clone(), selected.about.clone());
    HeapMeasured { name, about, ..HeapMeasured::default() }
}

/// Returns a warning if threads ran apart, so that less was live at a time than in the program.
fn apart(heap: &HeapMeasured, live_peak: u64) -> Option<String> {
    let reached = heap.runs.iter().filter_map(|run| run.live_reached).min()?;
    let part = reached as f64 / live_peak.max(1) as f64;
    let is_whole = heap.runs.iter().all(|run| run.failure_count == 0);
    (is_whole && live_peak > 0 && part < REACHED_MIN).then(|| {
        format!(
            "threads ran apart: the replay reached {:.0} % of the program's live peak, so its \
             memory says little (--skew bounds how far threads run apart)",
            part * 100.0
        )
    })
}

fn least_ns(runs: &[Run]) -> f64 {
    let of = |run: &Run| run.duration_ns as f64 / run.operation_count.max(1) as f64;
    runs.iter().map(of).min_by(f64::total_cmp).unwrap_or_default()
}

struct Measurement<'a> {
    launcher: Launcher<'a>,
    task: Task,
    mode: &'a Mode,
    operation_count: u64,
    live_peak: u64,
    /// Shows the current run, if standard error is a terminal.
    progress: ProgressBar,
}

impl Measurement<'_> {
    fn run(
        &mut self,
        selected: &SelectedHeap,
        is_timed: bool,
        settle: Vec<u64>,
    ) -> io::Result<RunResult> {
        self.progress.inc(1);
        self.progress.set_message(OneLine(selected.name.as_bytes()).to_string());
        self.task.heap.clone_from(&selected.heap);
        self.task.library = selected.library.as_ref().map(|library| library.inode);
        self.task.is_timed = is_timed;
        self.task.settle = settle;
        self.launcher.run(&self.task, selected.library.as_ref())
    }

    /// Returns when memory is measured after a run, in ms: at once after each run, later only after
    /// the first, because waiting takes time; never for the null heap.
    fn settle(&self, selected: &SelectedHeap, is_first: bool) -> Vec<u64> {
        let all = self.mode.settle.iter().map(|after| after.as_millis() as u64);
        all.filter(|after| selected.heap != NULL && (is_first || *after == 0)).collect()
    }

    /// Plays one run that checks the memory that the heap hands out: a wrong heap may be fast.
    fn check(&mut self, selected: &SelectedHeap, heap: &mut HeapMeasured) -> io::Result<()> {
        let task = self.task.clone();
        self.task = Task { check: Some(self.mode.check), speed: None, touch: Touch::None, ..task };
        let ran = self.run(selected, false, Vec::new());
        (self.task.check, self.task.speed, self.task.touch) = (None, task.speed, task.touch);
        heap.failure = ran?.outcome.err();
        Ok(())
    }

    /// Plays one run for throughput and memory, unless an earlier one failed. Returns the resident
    /// memory before the first operation.
    fn throughput(
        &mut self,
        selected: &SelectedHeap,
        heap: &mut HeapMeasured,
    ) -> io::Result<Option<u64>> {
        if heap.failure.is_some() {
            return Ok(None);
        }
        let is_first = heap.runs.is_empty();
        let RunResult { outcome, timeline } =
            self.run(selected, false, self.settle(selected, is_first))?;
        let mut before = None;
        match outcome {
            Ok(Outcome { run, skipped, baseline, .. }) => {
                before = Some(baseline);
                let sampled = timeline.iter().map(|sample| sample.resident).max().unwrap_or(0);
                let operation_count = self.operation_count.saturating_sub(skipped);
                // Freeing may take memory, too.
                let freed = run.after.iter().map(|after| after.1).max().unwrap_or(0);
                let resident_peak = run.resident_peak.max(sampled).max(freed);
                let is_met = self.launcher.has_met() || self.task.thread_count < 2;
                let most = timeline.iter().map(|sample| sample.live).max().unwrap_or(0);
                let steps =
                    self.operation_count / (LIVE_STEP * self.task.thread_count.max(1)) as u64;
                let is_short = steps < SAMPLE_MIN as u64;
                // Where the threads met, as many bytes were live as in the program: the operations
                // say how many. Samples come too late for a number.
                let live_at_peak = match is_met {
                    true => self.live_peak,
                    false => run.live_reached.unwrap_or(0).max(most),
                };
                let is_known = is_met || !(is_short || timeline.len() < SAMPLE_MIN);
                let live_reached = is_known.then_some(live_at_peak);
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

    /// Plays one run for latency, unless an earlier one failed. Returns the cost of reading the
    /// counter.
    fn latency(
        &mut self,
        selected: &SelectedHeap,
        heap: &mut HeapMeasured,
    ) -> io::Result<Option<f64>> {
        if heap.failure.is_some() {
            return Ok(None);
        }
        match self.run(selected, true, Vec::new())?.outcome {
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

/// Adds the memory after all was freed to a timeline.
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

/// Runs the process that plays: the task is its argument, the image its standard input.
pub(crate) fn player(task: &str, contenders: &[Contender]) -> Result<bool, Stop> {
    let by_hand =
        |error: &str| Stop::Message(format!("{PLAYER}: {error}; only replay itself starts this"));
    let task: Task = serde_json::from_str(task).map_err(|error| by_hand(&error.to_string()))?;
    let failed = |error: io::Error| by_hand(&error.to_string());
    // The kernel kills this process when its parent ends: a heap may hang for ever.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| failed(error.into()))?;
    // If memory runs out, the kernel kills this process first.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let file = std::fs::File::from(io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
    let shared = Shared::map(&file, task.size, task.thread_count, true).map_err(failed)?;
    let table = Table::new(task.slot_count).map_err(failed)?;
    let contender = contenders.iter().find(|contender| contender.name() == task.heap);
    let contender = contender.ok_or_else(|| by_hand("unknown heap"))?;
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
