//! One run: starts a process, watches it, and reads its outcome.
//!
//! ```text
//!  Task ─ argument ─┐                   ┌─ every ms: resident memory, progress ─▶ timeline
//!  image ─ stdin ───┴▶ process ─ plays ─┤
//!                                       └─ ends: outcome in the image │ signal │ hung
//! ```
//!
//! Design: `.rep.process` in `design/replay.md`.

use super::child::{NO_THREAD, Outcome, Task};
use super::library::Library;
use super::shared::{PLAYED, PLAYING, Shared};
use super::usage::{self, Statm};
use crate::measured::Sample;
use crate::timeline::Timeline;
use cli::units::number;
use signal_hook::low_level::signal_name;
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// The exit code of a process whose libraries the dynamic linker cannot load.
const NOT_LOADED: i32 = 127;

/// The environment variable that makes the dynamic linker load a library before all others.
const PRELOAD: &str = "LD_PRELOAD";

/// How often the memory of the process is measured.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(1);

/// Samples of a run, as many as a picture needs.
type Samples = Timeline<Sample, 2048>;

/// The workload as a file, and how to watch the process.
pub(crate) struct Launcher<'a> {
    pub(crate) image: &'a File,
    pub(crate) shared: &'a Shared,
    /// For each thread, the number of operations before each LIVE_STEPth op.
    pub(crate) done: &'a [Vec<u64>],
    /// How long the process may do nothing.
    pub(crate) timeout: Duration,
}

#[derive(Debug)]
pub(crate) struct RunResult {
    pub(crate) outcome: Result<Outcome, String>,
    pub(crate) timeline: Vec<Sample>,
}

impl Launcher<'_> {
    /// Runs a task in a process of its own.
    pub(crate) fn run(&self, task: &Task, library: Option<&Library>) -> io::Result<RunResult> {
        self.reset()?;
        let mut child = self.start(task, library)?;
        let mut samples = Timeline::default();
        let ended = self.watch(&mut child, &mut samples);
        if ended.is_err() {
            // The process may have ended meanwhile.
            let _ = child.kill();
            let _ = child.wait();
        }
        let outcome = match ended? {
            Some(status) => self.outcome(task, status),
            None => {
                let seconds = self.timeout.as_secs_f64();
                Err(format!("hung: did nothing for {seconds} s, after {}", self.progress()))
            }
        };
        let timeline = samples.points().filter_map(|(_, sample)| sample).collect();
        Ok(RunResult { outcome, timeline })
    }

    /// Returns whether all threads of the last run met at the peak of live bytes.
    pub(crate) fn has_met(&self) -> bool {
        self.shared.control().met.load(Ordering::Relaxed) != 0
    }

    fn reset(&self) -> io::Result<()> {
        let control = self.shared.control();
        control.phase.store(super::shared::LOADING, Ordering::Relaxed);
        control.sleeping.store(0, Ordering::Relaxed);
        control.met.store(0, Ordering::Relaxed);
        for line in self.shared.lines() {
            line.publish(0, 0);
            line.posted.store(0, Ordering::Relaxed);
            line.sleeping.store(0, Ordering::Relaxed);
        }
        self.image.set_len(self.shared.size())
    }

    fn start(&self, task: &Task, library: Option<&Library>) -> io::Result<Child> {
        let argument = serde_json::to_string(task)?;
        let mut command = Command::new(env::current_exe()?);
        command.arg(super::PLAYER).arg(argument);
        let mut image = self.image.try_clone()?;
        image.seek(SeekFrom::Start(0))?;
        // Output of an allocator goes to standard error, away from the results.
        let out = io::stderr().as_fd().try_clone_to_owned()?;
        command.stdin(image).stdout(Stdio::from(out));
        if let Some(library) = library {
            let mut value = OsString::from(&library.path);
            if let Some(others) = env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
                value.push(":");
                value.push(others);
            }
            command.env(PRELOAD, value);
        }
        command.spawn()
    }

    /// Samples the process until it ends; `None`: it hung, and was killed.
    fn watch(&self, child: &mut Child, samples: &mut Samples) -> io::Result<Option<ExitStatus>> {
        let statm = Statm::open(Some(child.id()));
        let (mut last, mut since) = (0, Instant::now());
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            let control = self.shared.control();
            let phase = control.phase.load(Ordering::Acquire);
            if phase == PLAYING
                && let Some(resident) = statm.resident()
            {
                let baseline = control.baseline.load(Ordering::Relaxed);
                let sample = self.sample(resident.saturating_sub(baseline));
                samples.add(sample.time_ns, sample, None, |sample| sample.resident);
            }
            let position = self.position() + u64::from(phase);
            if position != last || phase == PLAYED {
                (last, since) = (position, Instant::now());
            }
            if since.elapsed() > self.timeout {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            thread::sleep(SAMPLE_INTERVAL);
        }
    }

    fn position(&self) -> u64 {
        self.shared.lines().iter().map(|line| line.at.load(Ordering::Relaxed)).sum()
    }

    fn sample(&self, resident: u64) -> Sample {
        let start = self.shared.control().start.load(Ordering::Relaxed);
        let lines = self.shared.lines().iter();
        let live: i64 = lines.map(|line| line.live.load(Ordering::Relaxed)).sum();
        Sample {
            time_ns: usage::now().saturating_sub(start),
            operation_count: self.done(),
            live: u64::try_from(live).unwrap_or(0),
            resident,
        }
    }

    /// Returns the number of finished operations, to the last LIVE_STEP of each thread.
    fn done(&self) -> u64 {
        let lines = self.shared.lines().iter().zip(self.done);
        lines
            .map(|(line, done)| {
                let at = line.at.load(Ordering::Relaxed) as usize;
                let step = at.div_ceil(crate::workload::LIVE_STEP);
                done.get(step).or(done.last()).copied().unwrap_or(0)
            })
            .sum()
    }

    fn progress(&self) -> String {
        match self.shared.control().phase.load(Ordering::Acquire) {
            PLAYING => format!("{} operations", number(self.done())),
            PLAYED => {
                let done = number(self.done());
                format!("all {done} operations, while it freed the remaining objects")
            }
            _ => "0 operations, before it began".to_owned(),
        }
    }

    fn is_before_play(&self) -> bool {
        !matches!(self.shared.control().phase.load(Ordering::Acquire), PLAYING | PLAYED)
    }

    fn outcome(&self, task: &Task, status: ExitStatus) -> Result<Outcome, String> {
        if let Some(signal) = status.signal() {
            let name = signal_name(signal).unwrap_or("a signal");
            return Err(format!("died of {name} after {}", self.progress()));
        }
        let size = self.image.metadata().map_or(0, |data| data.len()).saturating_sub(task.size);
        let mut text = vec![0; usize::try_from(size).unwrap_or(0)];
        let outcome = self
            .image
            .read_exact_at(&mut text, task.size)
            .ok()
            .and_then(|()| serde_json::from_slice::<Outcome>(&text).ok());
        match (outcome, status.code()) {
            (Some(Outcome { refusal: Some(why), .. }), _) => Err(why),
            (Some(outcome), Some(0)) => Ok(outcome),
            (_, Some(NOT_LOADED)) if task.library.is_some() && self.is_before_play() => {
                Err("the dynamic linker did not load it (its message is above)".to_owned())
            }
            (_, Some(NO_THREAD)) if self.is_before_play() => Err(format!(
                "the system refuses {} threads (ulimit -u -v, vm.max_map_count); --threads one \
                 plays all on one thread",
                number(task.thread_count as u64)
            )),
            (_, code) => {
                let code = code.unwrap_or(-1);
                Err(format!("ended with status {code} after {}", self.progress()))
            }
        }
    }
}
