//! The logs of a recording: one for each process, and one of them is the program's.
//!
//! ```text
//!  LOG-4711  LOG-4711-2 (what it became) ─▶ LOG        LOG-4712, LOG-4713 … its children
//! ```
//!
//! Design: `.rep.record.logs` in `design/replay.md`.

use crate::stop::{Stop, complain};
use eventlog::reader::Log;
use nix::sys::signal::Signal;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// What the registry is called.
const REGISTRY: &str = "malloc";
/// What asks the runtime for handlers of deadly signals.
const CRASH: &str = "MPS_TELEMETRY_CRASH";
/// What is before the name of a ring.
const RING: &str = "ring:";

/// The logs of a recording.
pub(super) struct Logs {
    /// The program's own.
    path: PathBuf,
    /// What else the runtime is to be told of it: `ring:` before, `?size=…` behind.
    words: (OsString, OsString),
}

/// One log: of which process, and how many programs that was before.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    process: u32,
    index: u32,
    path: PathBuf,
}

/// The signal that a program died of.
#[derive(Clone, Debug)]
pub(super) struct Death {
    name: String,
    /// Whether the runtime had a handler, which brought out all that was recorded.
    is_caught: bool,
}

impl Death {
    /// How a program ended, if it was so.
    pub(super) fn of(status: ExitStatus) -> Option<Death> {
        let number = status.signal()?;
        let signal = Signal::try_from(number);
        let name = signal.map_or(format!("signal {number}"), |signal| signal.to_string());
        let has_handlers = std::env::var_os(CRASH).is_some_and(|value| value == "1");
        Some(Death { name, is_caught: has_handlers && signal.is_ok_and(is_handled) })
    }
}

/// Whether the runtime has a handler for a signal, if that is asked for.
fn is_handled(signal: Signal) -> bool {
    use Signal::{SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGQUIT, SIGSEGV};
    use Signal::{SIGSYS, SIGTERM, SIGTRAP};
    let of_crashes =
        matches!(signal, SIGABRT | SIGBUS | SIGFPE | SIGILL | SIGSEGV | SIGSYS | SIGTRAP);
    of_crashes || matches!(signal, SIGHUP | SIGINT | SIGQUIT | SIGTERM)
}

/// What is in a log.
#[derive(Default)]
struct Content {
    events: u64,
    lost: u64,
    /// Whether it was ended in good order.
    is_closed: bool,
}

impl Logs {
    /// The logs of this name, or of the program's. None of them is there yet.
    pub(super) fn new(name: Option<&Path>, program: &OsStr, force: bool) -> Result<Logs, Stop> {
        let (before, name, after) = match name {
            Some(name) => split(name.as_os_str()),
            None => {
                let mut file = Path::new(program).file_name().unwrap_or(program).to_owned();
                file.push(".log");
                (OsString::new(), file, OsString::new())
            }
        };
        let path = std::path::absolute(&name)
            .map_err(|error| Stop::Message(format!("{}: {error}", name.display())))?;
        let logs = Logs { path, words: (before, after) };
        let folder = logs.path.parent().unwrap_or(Path::new("/"));
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(Stop::Message(format!("{folder}: there is no such directory")));
        }
        let there = logs.path.exists().then(|| logs.path.clone());
        let there = there.into_iter().chain(logs.names().into_iter().map(|name| name.path));
        for old in there {
            let failed = |error| Stop::Message(format!("{}: {error}", old.display()));
            match force {
                true => fs::remove_file(&old).map_err(failed)?,
                false => {
                    return Err(Stop::Message(format!(
                        "{}: is there already, and is not overwritten: give another name, or \
                         --force",
                        old.display()
                    )));
                }
            }
        }
        Ok(logs)
    }

    /// What the runtime is told: a name for each process.
    pub(super) fn pattern(&self) -> OsString {
        let mut pattern = self.words.0.clone().into_vec();
        for byte in self.path.as_os_str().as_bytes() {
            match byte {
                b'%' => pattern.extend_from_slice(b"%%"),
                byte => pattern.push(*byte),
            }
        }
        pattern.extend_from_slice(b"-%p");
        pattern.extend_from_slice(self.words.1.as_bytes());
        OsString::from_vec(pattern)
    }

    /// The logs of processes that there are.
    fn names(&self) -> Vec<Name> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let file = self.path.file_name().unwrap_or_default().as_bytes();
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let of_ours = entries.filter_map(|entry| {
            let (process, index) = numbers(entry.file_name().as_bytes().strip_prefix(file)?)?;
            Some(Name { process, index, path: entry.path() })
        });
        let mut names: Vec<Name> = of_ours.collect();
        names.sort();
        names
    }

    /// Gives the program's log its name, and says what was recorded; false: nothing of the program.
    /// `death`: of which signal it died.
    pub(super) fn finish(&self, process: u32, program: &str, death: Option<Death>) -> bool {
        let mut names = self.names();
        let own = names.iter().rposition(|name| name.process == process);
        let is_recorded =
            own.is_some_and(|own| self.tell(names.remove(own), program, death.as_ref()));
        if own.is_none() {
            let died =
                death.map_or(String::new(), |death| format!("it died of {}, and ", death.name));
            complain(&format!(
                "replay: {program}: {died}nothing was recorded: it never called malloc, or the \
                 library that records was not loaded (is it of another C library?)\n"
            ));
        }
        if !names.is_empty() {
            let contents = names.iter().map(|name| read(&name.path).unwrap_or_default());
            let sum = contents.fold(Content::default(), |sum, one| Content {
                events: sum.events + one.events,
                lost: sum.lost + one.lost,
                ..sum
            });
            let count = names.len();
            let logs = if count == 1 { "log" } else { "logs" };
            complain(&format!(
                "replay: {}-*: {count} {logs} of its children and of what it was before: {}\n",
                from_here(&self.path).display(),
                sum.said()
            ));
        }
        is_recorded
    }

    fn tell(&self, own: Name, program: &str, death: Option<&Death>) -> bool {
        let path = match fs::rename(&own.path, &self.path) {
            Ok(()) => self.path.as_path(),
            Err(_) => &own.path,
        };
        let (said, is_recorded) = match read(path) {
            Ok(content) => {
                let is_ring = self.words.0 == RING;
                (content.said() + &content.died(death, is_ring), content.events != 0)
            }
            Err(why) => (why, false),
        };
        let path = from_here(path).display();
        complain(&format!("replay: {path}: {program}: {said}\n"));
        is_recorded
    }
}

/// A path as one would type it: what the program is told is absolute, for it may go elsewhere.
fn from_here(path: &Path) -> &Path {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path)
}

impl Content {
    fn said(&self) -> String {
        let lost = match self.lost {
            0 => "nothing lost".to_owned(),
            lost => format!("{lost} lost (eventcnv --stats says why)"),
        };
        format!("{} events, {lost}", self.events)
    }

    /// What the program died of, and what that means for the log.
    fn died(&self, death: Option<&Death>, is_ring: bool) -> String {
        let Some(Death { name, is_caught }) = death else { return String::new() };
        let died = format!("; the program died of {name}");
        match (self.is_closed || *is_caught, is_ring) {
            (true, _) => died,
            (_, true) => {
                format!("{died}: what the ring kept goes up to then")
            }
            _ => format!(
                "{died}: the newest events of each thread, up to a block \
                 (64 KiB), may be missing (-o ring:FILE?size=1G keeps them)"
            ),
        }
    }
}

/// What is before a path, the path, and what is behind it, as the runtime takes them.
fn split(name: &OsStr) -> (OsString, OsString, OsString) {
    let bytes = name.as_bytes();
    let Some(word) = [RING.as_bytes(), b"file:"].into_iter().find(|word| bytes.starts_with(word))
    else {
        return (OsString::new(), name.to_owned(), OsString::new());
    };
    let rest = bytes.get(word.len()..).unwrap_or_default();
    let end = rest.iter().position(|byte| *byte == b'?').unwrap_or(rest.len());
    let (path, options) = rest.split_at(end);
    let [word, path, options] =
        [word, path, options].map(|part| OsStr::from_bytes(part).to_owned());
    (word, path, options)
}

/// The numbers in `-4711` and `-4711-2`: the process, and how many programs it had been, and this.
fn numbers(rest: &[u8]) -> Option<(u32, u32)> {
    let rest = std::str::from_utf8(rest.strip_prefix(b"-")?).ok()?;
    match rest.split_once('-') {
        Some((process, index)) => Some((process.parse().ok()?, index.parse().ok()?)),
        None => Some((rest.parse().ok()?, 1)),
    }
}

fn read(path: &Path) -> Result<Content, String> {
    let log = Log::open(path).map_err(|error| error.to_string())?;
    let mut content = Content { is_closed: log.is_closed(), ..Content::default() };
    for account in log.accounts() {
        let registry = log.registries().get(account.registry as usize);
        if registry.is_some_and(|registry| &*registry.name == REGISTRY) {
            let discarded = [
                account.discarded_full,
                account.discarded_nested,
                account.discarded_large,
                account.discarded_io,
            ];
            content.events += account.found;
            content.lost += account.overwritten + account.lost;
            content.lost += discarded.into_iter().map(u64::from).sum::<u64>();
        }
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str, folder: &Path) -> Result<Logs, Stop> {
        Logs::new(Some(&folder.join(name)), OsStr::new("program"), false)
    }

    /// `.rep.record.logs`
    #[test]
    fn the_log_of_a_program_is_that_of_what_it_became_last() {
        let folder = tempfile::tempdir().unwrap();
        let logs = name("a%.log", folder.path()).unwrap();
        let pattern = logs.pattern().into_string().unwrap();
        assert!(pattern.ends_with("/a%%.log-%p"), "{pattern}");
        for added in ["-10", "-9-2", "-9", "-9-10", "-9x", "", "-"] {
            fs::write(folder.path().join(format!("a%.log{added}")), "").unwrap();
        }
        let found: Vec<_> = logs.names().iter().map(|name| (name.process, name.index)).collect();
        assert_eq!(found, [(9, 1), (9, 2), (9, 10), (10, 1)]);
        let Err(Stop::Message(why)) = name("a%.log", folder.path()) else { panic!("let through") };
        assert!(why.contains("--force"), "{why}");
        logs.finish(9, "program", None);
        let found: Vec<_> = logs.names().iter().map(|name| (name.process, name.index)).collect();
        assert_eq!(found, [(9, 1), (9, 2), (10, 1)]);
    }

    #[test]
    fn a_ring_is_named_as_the_runtime_has_it() {
        let parts = split(OsStr::new("ring:/tmp/a?size=1G"));
        assert_eq!(parts, ("ring:".into(), "/tmp/a".into(), "?size=1G".into()));
        let parts = split(OsStr::new("/tmp/a?size=1G"));
        assert_eq!(parts, ("".into(), "/tmp/a?size=1G".into(), "".into()));
    }
}
