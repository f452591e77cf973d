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
use crate::site;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use telemetry::__private::{say, without_signals};
use telemetry::control::RegistryControl;
use telemetry::{FilePlinth, MappedPlinth, SetupError};

const BEGIN: &str = "+TURTLES";
const END: &str = "-TURTLES";
/// The time from one flush to the next, unless `-intervalMillis` tells another.
const INTERVAL_DEFAULT: Duration = Duration::from_millis(30_000);
/// The size of the ring of the direct mode, in bytes.
const RING_SIZE: u64 = 64 << 20;

/// When records go out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Commit {
    /// At once: they are recorded in a mapped file.
    Direct,
    /// When a block is full, and after each interval.
    Staged,
}

impl Commit {
    fn name(self) -> &'static str {
        match self {
            Commit::Direct => "direct",
            Commit::Staged => "staged",
        }
    }
}

/// Which code flushes after each interval.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Schedule {
    /// The program, which calls [`Released::tick`].
    EventLoop,
    /// A thread.
    Thread,
}

impl Schedule {
    fn name(self) -> &'static str {
        match self {
            Schedule::EventLoop => "ev",
            Schedule::Thread => "mt",
        }
    }
}

/// The options of a program's user, which [`release`] takes out of the arguments. For a program
/// that has them from elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    enabled: bool,
    commit: Commit,
    interval: Duration,
    schedule: Schedule,
    directory: PathBuf,
    prefix: OsString,
    debug: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            enabled: false,
            commit: Commit::Staged,
            interval: INTERVAL_DEFAULT,
            schedule: Schedule::Thread,
            directory: PathBuf::from("."),
            prefix: OsString::from("turtles"),
            debug: false,
        }
    }
}

/// Removes each group `+TURTLES … -TURTLES` from the arguments of a program, and starts the
/// recording of calls if a group has `-enabled`. The drop of the result ends it, and writes what is
/// left, finished calls or not. Call it at the start of `main`.
///
/// | option | default | meaning |
/// |---|---|---|
/// | `-enabled` | off | records |
/// | `-commitMode direct` | `staged` | `direct`: at once in a ring of 64 MiB; `staged`: see below |
/// | `-intervalMillis N` | 30000 | the interval of the staged mode |
/// | `-scheduleMode ev` | `mt` | flushes by a thread; `ev`: by [`tick`](Released::tick) |
/// | `-dbPath DIRECTORY` | `.` | the directory of the log |
/// | `-dbPrefix NAME` | `turtles` | the log is `DIRECTORY/NAME-PID.log` |
/// | `-debug` | off | prints each call on standard error, at its beginning and its end |
///
/// In the direct mode the log loses nothing if the program is killed, and keeps the newest 64 MiB.
/// In the staged mode it lacks at most the calls since the last interval.
///
/// A process has one log. After the end of a recording, `release` with the same path and mode goes
/// on in its log. A log that has begun elsewhere stays where it is: this is reported in one line, and
/// the calls go to that log.
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
    /// Reads the words between `+TURTLES` and `-TURTLES`. A wrong one is reported in one line, and
    /// nothing will be recorded.
    ///
    /// ```
    /// let words = ["-enabled", "-commitMode", "direct"].map(Into::into);
    /// let options = calls::Options::new(&words);
    /// assert_eq!(options.pairs()[..2], [("enabled", "1".into()), ("commitMode", "direct".into())]);
    /// ```
    #[must_use]
    pub fn new(words: &[OsString]) -> Options {
        parse(words).unwrap_or_else(|reason| {
            tell_failure(&reason);
            Options::default()
        })
    }

    /// Returns the names and values of all options, without the dash. A value of an option that is
    /// given or not is 1 or 0.
    #[must_use]
    pub fn pairs(&self) -> [(&'static str, OsString); 7] {
        let flag = |is_given: bool| OsString::from(if is_given { "1" } else { "0" });
        [
            ("enabled", flag(self.enabled)),
            ("commitMode", self.commit.name().into()),
            ("intervalMillis", self.interval.as_millis().to_string().into()),
            ("dbPath", self.directory.clone().into()),
            ("dbPrefix", self.prefix.clone()),
            ("scheduleMode", self.schedule.name().into()),
            ("debug", flag(self.debug)),
        ]
    }

    /// Starts the recording of calls if `-enabled` is given, as [`release`] does.
    pub fn release(self) -> Released {
        let released = if self.enabled { start(self) } else { Ok(Released::default()) };
        released.unwrap_or_else(|reason| {
            tell_failure(&reason);
            Released::default()
        })
    }
}

fn tell_failure(reason: &str) {
    say(format_args!("+TURTLES: {reason}; calls are not recorded"));
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

/// Takes the words between `+TURTLES` and `-TURTLES` out of the arguments, and these words.
fn take_groups(arguments: &mut Vec<OsString>) -> Vec<OsString> {
    let mut taken = Vec::new();
    let position = |arguments: &[OsString], word| arguments.iter().position(|each| each == word);
    let mut from = 0;
    while let Some(begin) = position(&arguments[from..], BEGIN).map(|at| from + at)
        && let Some(end) = position(&arguments[begin..], END).map(|at| begin + at)
    {
        taken.extend(arguments.drain(begin..=end).filter(|word| word != BEGIN && word != END));
        from = begin;
    }
    taken
}

fn parse(words: &[OsString]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.to_string_lossy();
        let mut value = || words.next().ok_or(format!("`{name}` needs a value"));
        let wrong = |value: &OsStr, valid: &str| {
            let value = value.to_string_lossy();
            format!("`{name} {value}` is invalid (valid: {valid})")
        };
        match &*name {
            "-enabled" => options.enabled = true,
            "-debug" => options.debug = true,
            "-commitMode" => {
                options.commit = match value()? {
                    word if word == "direct" => Commit::Direct,
                    word if word == "staged" => Commit::Staged,
                    other => return Err(wrong(other, "direct, staged")),
                };
            }
            "-scheduleMode" => {
                options.schedule = match value()? {
                    word if word == "ev" => Schedule::EventLoop,
                    word if word == "mt" => Schedule::Thread,
                    other => return Err(wrong(other, "ev, mt")),
                };
            }
            "-intervalMillis" => {
                let value = value()?;
                let count = value.to_str().and_then(|text| text.parse().ok());
                let count = count.filter(|count| *count != 0);
                let count = count.ok_or_else(|| wrong(value, "1 or more"))?;
                options.interval = Duration::from_millis(count);
            }
            "-dbPath" => options.directory = value()?.into(),
            "-dbPrefix" => {
                let prefix = value()?;
                if prefix.as_encoded_bytes().contains(&b'/') {
                    return Err(wrong(prefix, "a name without `/`"));
                }
                options.prefix = prefix.clone();
            }
            _ => {
                let valid = "-enabled -commitMode -intervalMillis -scheduleMode -dbPath -dbPrefix \
                             -debug";
                return Err(format!("`{name}` is not an option (options: {valid})"));
            }
        }
    }
    Ok(options)
}

/// Returns the path of the log of a process: `DIRECTORY/PREFIX-PID.log`.
fn path_of(stem: impl Into<OsString>, process: impl fmt::Display) -> PathBuf {
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
        Commit::Direct => MappedPlinth::per_process(&pattern, RING_SIZE)
            .map(|plinth| telemetry::setup().plinth(plinth)),
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

    /// Goes on in a forked child: starts the flushing thread again, and writes the log of the child,
    /// so that it exists. The child's calls are recorded without it, too.
    pub fn resume(&mut self) {
        let lacks_thread = self.flusher.as_ref().is_some_and(|flusher| !flusher.is_here());
        if let Some(interval) = self.interval.filter(|_| lacks_thread) {
            match Flusher::start(interval) {
                Ok(flusher) => self.flusher = Some(flusher),
                Err(error) => say(format_args!("+TURTLES: cannot start a thread ({error})")),
            }
        }
        if self.is_enabled {
            write_out();
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
            write_out();
        }
    }
}

impl Drop for Released {
    fn drop(&mut self) {
        if self.is_enabled {
            drop(self.flusher.take());
            site::tell_all_muted();
            control().reset_output(Kinds::Call);
            site::print(false);
            telemetry::flush();
        }
    }
}

fn write_out() {
    site::tell_all_muted();
    telemetry::flush();
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
                write_out();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(Into::into).collect()
    }

    /// T7: several groups, anywhere; a group without its end stays.
    #[test]
    fn each_group_is_taken_out_of_the_arguments() {
        for (arguments, left, taken) in [
            ("a b", "a b", ""),
            ("a +TURTLES -enabled -TURTLES b", "a b", "-enabled"),
            ("+TURTLES x -TURTLES a +TURTLES y z -TURTLES", "a", "x y z"),
            ("+TURTLES -TURTLES", "", ""),
            ("a +TURTLES -enabled", "a +TURTLES -enabled", ""),
            ("-TURTLES a +TURTLES x -TURTLES", "-TURTLES a", "x"),
            ("+TURTLES x -TURTLES -TURTLES +TURTLES y", "-TURTLES +TURTLES y", "x"),
            ("+TURTLES +TURTLES x -TURTLES b", "b", "x"),
        ] {
            let mut rest = words(arguments);
            assert_eq!(take_groups(&mut rest), words(taken), "{arguments}");
            assert_eq!(rest, words(left), "{arguments}");
        }
    }

    /// T8, T9, T10, T11: the options and their defaults.
    #[test]
    fn options_have_the_defaults_of_the_original() {
        let options = parse(&words("")).unwrap();
        assert_eq!(options, Options::default());
        assert_eq!(options.interval.as_millis(), 30000);
        assert_eq!((options.commit, options.schedule), (Commit::Staged, Schedule::Thread));
        assert_eq!(path_of(options.prefix, 7), Path::new("turtles-7.log"));
        let text = "-commitMode direct -scheduleMode ev -intervalMillis 5 -dbPath d -dbPrefix p \
                    -debug -enabled";
        let options = parse(&words(text)).unwrap();
        let expected = Options {
            enabled: true,
            commit: Commit::Direct,
            interval: Duration::from_millis(5),
            schedule: Schedule::EventLoop,
            directory: "d".into(),
            prefix: "p".into(),
            debug: true,
        };
        assert_eq!(options, expected);
    }

    #[test]
    fn a_wrong_option_is_an_error_that_names_it() {
        for wrong in [
            "-enable",
            "-commitMode",
            "-commitMode now",
            "-scheduleMode x",
            "-intervalMillis 0",
            "-intervalMillis soon",
            "-dbPrefix a/b",
            "-dbPath",
        ] {
            let reason = parse(&words(wrong)).unwrap_err();
            assert!(reason.contains(wrong.split(' ').next().unwrap()), "{wrong}: {reason}");
        }
    }
}
