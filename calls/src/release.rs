//! `+TURTLES … -TURTLES`: the options of a program that start and end the recording of its calls.
//!
//! ```text
//!  a +TURTLES -enabled -dbPath t -TURTLES b ─ release ─▶ a b, and a guard
//!                       direct: ring:t/turtles-PID.log      staged: file:t/turtles-PID.log
//!  drop: what was recorded goes out, and nothing more is recorded
//! ```
//!
//! Design: `.calls.release` in `design/calls.md`.

use crate::events::{CONTROL, Kinds};
use crate::options::{Commit, Options, Schedule, take_groups, tell_failure};
use crate::site;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use telemetry::__private::{say, without_signals};
use telemetry::control::RegistryControl;
use telemetry::{FilePlinth, MappedPlinth, SetupError};

/// The size of the ring of the direct mode, in bytes, if its option does not state another.
const RING_SIZE: u64 = 64 << 20;

/// Removes each group `+TURTLES … -TURTLES` from the arguments of a program, and starts the
/// recording of calls if a group has `-enabled`. The drop of the result ends it, and writes what is
/// left, finished calls or not. Call it at the start of `main`.
///
/// | option | default | meaning |
/// |---|---|---|
/// | `-enabled` | off | records |
/// | `-commitMode direct` | `staged` | `direct`: at once, in a mapped file; `staged`: see below |
/// | `-intervalMillis N` | 30000 | the interval of the staged mode |
/// | `-scheduleMode ev` | `mt` | flushes by a thread; `ev`: by [`tick`](Released::tick) |
/// | `-dbPath DIRECTORY` | `.` | the directory of the log |
/// | `-dbPrefix NAME` | `turtles` | the log is `DIRECTORY/NAME-PID.log` |
/// | `-debug` | off | prints each call on standard error, at its beginning and its end |
/// | `-ringSize SIZE` | – | of the direct mode: keeps the newest calls alone, in 1M to 1G; ours |
///
/// In the direct mode the log loses nothing if the program is killed. It has all calls, in 64 MiB
/// that are mapped and what follows them; with `-ringSize` it has the newest, and its readers tell
/// how many are missing. If the disk gets full, the log goes on as with `-ringSize 64M`. In the
/// staged mode it lacks at most the calls since the last interval.
///
/// A process has one log. After the end of a recording, `release` with the same path and mode goes
/// on in its log. A log that has begun elsewhere stays where it is: this is reported in one line,
/// and the calls go to that log.
///
/// A wrong option is reported in one line, and nothing is recorded. A group without its end stays
/// where it is.
///
/// ```
/// let arguments = ["shop", "+TURTLES", "-dbPrefix", "shop", "-TURTLES", "b"];
/// let mut arguments = arguments.map(Into::into).to_vec();
/// let turtles = calls::release(&mut arguments);
/// assert_eq!(arguments, ["shop", "b"]);
/// assert_eq!(turtles.path(), None, "not enabled");
/// ```
pub fn release(arguments: &mut Vec<OsString>) -> Released {
    Options::new(&take_groups(arguments)).release()
}

impl Options {
    /// Starts the recording of calls if `-enabled` is given, as [`release`] does.
    pub fn release(self) -> Released {
        let released = if self.enabled { start(self) } else { Ok(Released::default()) };
        released.unwrap_or_else(|reason| {
            tell_failure(&reason);
            Released::default()
        })
    }
}

/// Returns the switches of calls, for a program that records them without an option of its user.
/// `telemetry::control::of` gives the same switches, but the first call undoes what they switched
/// on in memory alone.
///
/// ```
/// use calls::events::Kinds;
///
/// // In memory alone: for a traceback, a debugger or a core.
/// calls::control().set_recorded(Kinds::Call);
/// // Also to the log.
/// # telemetry::setup().plinth(telemetry::MemoryPlinth::new()).start().unwrap();
/// calls::control().set_output(Kinds::Call);
/// ```
pub fn control() -> RegistryControl<Kinds> {
    site::register();
    telemetry::control::of(&CONTROL)
}

/// Returns the path of the log of a process: `DIRECTORY/PREFIX-PID.log`.
pub(crate) fn path_of(stem: impl Into<OsString>, process: impl fmt::Display) -> PathBuf {
    let mut path = stem.into();
    path.push(format!("-{process}.log"));
    path.into()
}

/// Returns the beginning of a pattern, which stands for this path.
fn literal(path: &Path) -> Result<OsString, String> {
    if !path.as_os_str().as_encoded_bytes().contains(&b'%') {
        return Ok(path.into());
    }
    let text = path.to_str().map(|text| text.replace('%', "%%").into());
    text.ok_or_else(|| format!("{}: a path with `%` must be UTF-8", path.display()))
}

/// The log that an earlier [`release`] has begun: its path without the process, and its mode.
static BEGUN: OnceLock<(PathBuf, Commit)> = OnceLock::new();

fn start(options: Options) -> Result<Released, String> {
    let shown = options.directory.display();
    let directory = std::fs::create_dir_all(&options.directory)
        .and_then(|()| options.directory.canonicalize())
        .map_err(|error| format!("{shown}: cannot create the directory ({error})"))?;
    let stem = directory.join(&options.prefix);
    // A forked child begins a log of its own.
    let pattern = path_of(literal(&stem)?, "%p");
    let setup = match options.commit {
        Commit::Direct => {
            let size = options.ring_size.unwrap_or(RING_SIZE);
            let keep = |ring: MappedPlinth| match options.ring_size {
                Some(_) => ring,
                None => ring.keeping(),
            };
            MappedPlinth::per_process(&pattern, size)
                .map(|ring| telemetry::setup().plinth(keep(ring)))
        }
        Commit::Staged => {
            FilePlinth::per_process(&pattern).map(|plinth| telemetry::setup().plinth(plinth))
        }
    };
    let stem = match setup.map_err(|error| error.to_string())?.start() {
        Ok(()) => {
            let _ = BEGUN.set((stem.clone(), options.commit));
            Some(stem)
        }
        Err(SetupError::PlinthTooLate)
            if BEGUN.get().is_some_and(|begun| *begun == (stem.clone(), options.commit)) =>
        {
            Some(stem)
        }
        Err(SetupError::PlinthTooLate) => {
            say(format_args!("+TURTLES: the log has already begun; calls go there"));
            None
        }
        Err(error) => return Err(error.to_string()),
    };
    if !site::register() {
        return Err("this platform does not record".to_owned());
    }
    let interval = Some(options.interval).filter(|_| options.commit == Commit::Staged);
    // From here on its drop ends the recording.
    let due = Mutex::new(Instant::now());
    let mut released = Released { is_enabled: true, stem, interval, flusher: None, due };
    site::print(options.debug);
    control().set_output(Kinds::Call);
    site::tell_all();
    telemetry::flush();
    if let Some(interval) = interval.filter(|_| options.schedule == Schedule::Thread) {
        let flusher = Flusher::start(interval);
        released.flusher =
            Some(flusher.map_err(|error| format!("cannot start a thread ({error})"))?);
    }
    Ok(released)
}

/// The recording of calls that [`release`] started. Its drop ends it.
#[must_use = "its drop ends the recording of calls"]
pub struct Released {
    /// Whether its drop ends something.
    is_enabled: bool,
    /// The path of the log, without the process. There if the log is that of the options.
    stem: Option<PathBuf>,
    /// Of the staged mode.
    interval: Option<Duration>,
    flusher: Option<Flusher>,
    /// The beginning of this interval.
    due: Mutex<Instant>,
}

impl Default for Released {
    fn default() -> Released {
        let due = Mutex::new(Instant::now());
        Released { is_enabled: false, stem: None, interval: None, flusher: None, due }
    }
}

impl fmt::Debug for Released {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Released").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl Released {
    /// Returns the absolute path of the log of this process, also in a forked child; `None` if
    /// calls are not recorded, or go to a log that had begun before.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        Some(path_of(self.stem.as_ref()?, std::process::id()))
    }

    /// Goes on in a forked child: starts the flushing thread again, and writes the log of the
    /// child, so that it exists. The child's calls are recorded without it, too.
    pub fn resume(&mut self) {
        let lacks_thread = self.flusher.as_ref().is_some_and(|flusher| !flusher.is_here());
        if let Some(interval) = self.interval.filter(|_| lacks_thread) {
            match Flusher::start(interval) {
                Ok(flusher) => self.flusher = Some(flusher),
                Err(error) => say(format_args!("+TURTLES: cannot start a thread ({error})")),
            }
        }
        self.flush();
    }

    /// Writes what was recorded so far, if calls are recorded.
    pub fn flush(&self) {
        if self.is_enabled {
            telemetry::flush();
        }
    }

    /// Writes what was recorded, if the interval is over. A program calls it from its event loop in
    /// the mode `-scheduleMode ev`, and in a forked child, which has no flushing thread.
    pub fn tick(&self) {
        let Some(interval) = self.interval else { return };
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        if due.elapsed() >= interval {
            *due = Instant::now();
            drop(due);
            telemetry::flush();
        }
    }
}

impl Drop for Released {
    fn drop(&mut self) {
        if self.is_enabled {
            drop(self.flusher.take());
            control().reset_output(Kinds::Call);
            site::print(false);
            telemetry::flush();
        }
    }
}

/// The thread that flushes after each interval. Its drop ends it.
struct Flusher {
    /// Its drop wakes the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The process that has the thread.
    process: u32,
}

impl Flusher {
    fn start(interval: Duration) -> std::io::Result<Flusher> {
        let (end, ended) = channel::<()>();
        let run = move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                telemetry::flush();
            }
        };
        // A program may block signals later, to wait for them in a thread of its choice.
        let thread = std::thread::Builder::new().name("turtles".into());
        let thread = without_signals(|| thread.spawn(run))?;
        Ok(Flusher { end: Some(end), thread: Some(thread), process: std::process::id() })
    }

    /// Returns whether this process has the thread.
    fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        let (end, thread) = (self.end.take(), self.thread.take());
        if !self.is_here() {
            // A forked child lacks the thread: its handle may stand for another one, and a lock of
            // the channel may be held for ever.
            core::mem::forget((end, thread));
            return;
        }
        drop(end);
        let _ = thread.map(JoinHandle::join);
    }
}
