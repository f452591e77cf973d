//! One run: a process is started, watched, and what came of it is read.
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
use super::timeline::Timeline;
use super::usage::{self, Statm};
use crate::measured::Sample;
use cli::units::number;
use nix::sys::signal::Signal;
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

/// What the dynamic linker ends a process with that it cannot start.
const NOT_LOADED: i32 = 127;

/// The variable that has the dynamic linker load a library before all others.
const PRELOAD: &str = "LD_PRELOAD";

/// What is played, as a file, and how often it is looked at.
pub(crate) struct Course<'a> {
    pub(crate) image: &'a File,
    pub(crate) shared: &'a Shared,
    /// For each thread, the operations before each LIVE_STEPth op.
    pub(crate) done: &'a [Vec<u64>],
    pub(crate) interval: Duration,
    /// How long nothing may happen.
    pub(crate) timeout: Duration,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) outcome: Result<Outcome, String>,
    pub(crate) timeline: Vec<Sample>,
}

impl Course<'_> {
    /// Runs a task in a process of its own.
    pub(crate) fn run(&self, task: &Task, library: Option<&Library>) -> io::Result<Ran> {
        self.reset()?;
        let mut child = self.start(task, library)?;
        let mut timeline = Timeline::default();
        let ended = self.watch(&mut child, &mut timeline);
        if ended.is_err() {
            // It may have ended meanwhile.
            let _ = child.kill();
            let _ = child.wait();
        }
        let outcome = match ended? {
            Some(status) => self.outcome(task, status),
            None => {
                let seconds = self.timeout.as_secs_f64();
                Err(format!("hung: did nothing for {seconds} s, after {}", self.so_far()))
            }
        };
        Ok(Ran { outcome, timeline: timeline.finish() })
    }

    /// Whether all threads of the last run met where the most bytes are live.
    pub(crate) fn has_met(&self) -> bool {
        self.shared.control().met.load(Ordering::Relaxed) != 0
    }

    /// Nothing has happened yet.
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
        // An allocator may print what it likes, but not among the results.
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

    /// Samples until it ends; `None`: it had to be ended.
    fn watch(&self, child: &mut Child, timeline: &mut Timeline) -> io::Result<Option<ExitStatus>> {
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
                timeline.add(self.sample(resident.saturating_sub(baseline)));
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
            thread::sleep(self.interval);
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

    /// Operations that are done, to the last LIVE_STEP of each thread.
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

    fn so_far(&self) -> String {
        match self.shared.control().phase.load(Ordering::Acquire) {
            PLAYING => format!("{} operations", number(self.done())),
            PLAYED => {
                let done = number(self.done());
                format!("all {done} operations, while it freed what was left")
            }
            _ => "no operation, while it got ready".to_owned(),
        }
    }

    fn is_getting_ready(&self) -> bool {
        !matches!(self.shared.control().phase.load(Ordering::Acquire), PLAYING | PLAYED)
    }

    fn outcome(&self, task: &Task, status: ExitStatus) -> Result<Outcome, String> {
        if let Some(signal) = status.signal() {
            let name = Signal::try_from(signal).map_or("a signal", Signal::as_str);
            return Err(format!("died of {name} after {}", self.so_far()));
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
            (_, Some(NOT_LOADED)) if task.library.is_some() && self.is_getting_ready() => {
                Err("the dynamic linker did not load it: it said why, above".to_owned())
            }
            (_, Some(NO_THREAD)) if self.is_getting_ready() => Err(format!(
                "the system does not let it have {} threads (ulimit -u -v, vm.max_map_count): \
                 --threads one plays all on one",
                number(task.thread_count as u64)
            )),
            (_, code) => {
                let code = code.unwrap_or(-1);
                Err(format!("ended with status {code} after {}", self.so_far()))
            }
        }
    }
}
