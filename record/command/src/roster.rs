//! The processes of a recording, by their own notes: what should have been recorded.
//!
//! ```text
//!  roster file ─▶ Loaded, Recorded, Ended … of each process ─┐
//!  existing logs ────────────────────────────────────────────┴─▶ missing parts, and causes
//! ```
//!
//! Design: `.rep.record.roster` in `design/replay.md`.

use crate::what::What;
use cli::Stop;
use cli::units::number;
use eventlog::format::text::OneLine;
use eventlog::format::{Presence, ROSTER_SIZE, ROSTER_SIZE_MIN, Unloadable, roster};
use rustix::process::{Resource, getrlimit};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// The environment variable with the path of the roster.
pub(crate) const VARIABLE: &str = "TELEMETRY_ROSTER";
const NAMED_COUNT_MAX: usize = 4;

/// The file, which is removed with this value.
pub(crate) struct Roster(NamedTempFile);

/// A program that a process executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Life {
    name: String,
    is_loaded: bool,
    is_hidden: bool,
    has_recorded: bool,
    /// The number of events that it lost, if it noted its end.
    ended: Option<u64>,
    /// The number of calls without a stack, for want of memory.
    stackless: u64,
    /// The program that it was about to execute, or was started with, and why that loads no
    /// library.
    next: Option<(String, Option<Unloadable>)>,
    /// Libraries whose calls are not recorded, and whether each has a namespace of its own.
    unreached: Vec<(String, bool)>,
}

/// The missing parts, by cause, with the processes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Whose calls are recorded.
    pub(crate) what: What,
    hidden: Vec<String>,
    /// Libraries that were loaded with RTLD_DEEPBIND, or into a namespace of their own.
    unreached: [Vec<String>; 2],
    unrecorded: BTreeMap<Option<Unloadable>, Vec<String>>,
    without_log: Vec<String>,
    running: Vec<String>,
    /// The number of events that processes noted as lost.
    pub(crate) lost: u64,
    /// The number of calls without a stack, for want of memory.
    stackless: u64,
    beyond: u64,
    /// Processes that noted their end, or executed another program.
    ended: BTreeSet<u32>,
    /// Processes with calls that did not reach the recording library.
    partial: BTreeSet<u32>,
}

impl Roster {
    pub(crate) fn new() -> Result<Roster, Stop> {
        let failed = |error: std::io::Error| {
            let folder = std::env::temp_dir();
            let folder = folder.display();
            Stop::Message(format!(
                "{folder}: cannot make a file for the list of processes: {error}"
            ))
        };
        let file = tempfile::Builder::new().prefix(".record-roster-").tempfile().map_err(failed)?;
        // A larger file would end this process by a signal.
        let limit = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        let size = limit.min(ROSTER_SIZE as u64) / ROSTER_SIZE_MIN as u64 * ROSTER_SIZE_MIN as u64;
        if size == 0 {
            return Err(Stop::Message(format!(
                "no file may have more than {limit} bytes, so that no log can be written; raise \
                 the limit (ulimit -f)"
            )));
        }
        file.as_file().set_len(size).map_err(failed)?;
        Ok(Roster(file))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the missing parts; `logged` are the processes with logs.
    pub(crate) fn missing(&self, logged: &BTreeSet<u32>, what: What) -> Missing {
        // A process that was forked just now maps the file before it notes itself.
        let mapping = mapping(self.path());
        let missing = match fs::read(self.path()) {
            Ok(bytes) => Missing::of(&bytes, logged, &mapping, is_running),
            Err(_) => Missing::default(),
        };
        Missing { what, ..missing }
    }
}

/// Returns the processes that map a file, with their names.
fn mapping(path: &Path) -> BTreeMap<u32, String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let path = path.as_os_str().as_bytes();
    let maps = |process: &u32| {
        let maps = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
        maps.split(|byte| *byte == b'\n').any(|line| line.ends_with(path))
    };
    let named = |process| {
        let name = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
        (process, OneLine(name.trim_ascii_end()).to_string())
    };
    processes.filter(maps).map(named).collect()
}

fn is_running(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    state.is_some_and(|state| !["Z", "X"].contains(&state))
}

/// Returns the programs of each process, and the number of lost notes.
fn lives(bytes: &[u8]) -> (BTreeMap<u32, Vec<Life>>, u64) {
    let (entries, beyond) = roster(bytes);
    let mut all: BTreeMap<u32, Vec<Life>> = BTreeMap::new();
    for entry in entries {
        let of_process = all.entry(entry.process).or_default();
        let is_new = match entry.what {
            Presence::Loaded => of_process.last().is_none_or(|life| life.is_loaded),
            Presence::Forked => true,
            _ => of_process.is_empty(),
        };
        // The program that was about to begin has begun.
        if entry.what == Presence::Loaded
            && let Some(before) = of_process.last_mut()
        {
            before.next = None;
        }
        if is_new || entry.what == Presence::Loaded {
            of_process.push(Life::default());
        }
        let Some(life) = of_process.last_mut() else { continue };
        let name = OneLine(entry.name).to_string();
        match entry.what {
            Presence::Loaded => {
                life.is_loaded = true;
                life.is_hidden = entry.number != 0;
            }
            Presence::Forked => {}
            Presence::Recorded => life.has_recorded = true,
            Presence::Stackless => life.stackless = life.stackless.saturating_add(entry.number),
            Presence::Ended => {
                life.ended = Some(entry.number);
                // The program could not be executed.
                life.next = None;
            }
            // The started process has noted itself, or will.
            Presence::Spawned if life.is_loaded => continue,
            Presence::Executes | Presence::Spawned => {
                // A program that is an open file has no name.
                let name = if name.is_empty() { life.name.clone() } else { name };
                life.next = Some((name, Unloadable::of(entry.number)));
                continue;
            }
            Presence::Unreached => {
                life.unreached.push((name, entry.number > 1));
                continue;
            }
        }
        if !name.is_empty() {
            life.name = name;
        }
    }
    (all, beyond)
}

impl Missing {
    fn of(
        bytes: &[u8],
        logged: &BTreeSet<u32>,
        mapping: &BTreeMap<u32, String>,
        is_running: impl Fn(u32) -> bool,
    ) -> Missing {
        let (all, beyond) = lives(bytes);
        let mut missing = Missing { beyond, ..Missing::default() };
        let unnoted = mapping.iter().filter(|(process, _)| !all.contains_key(process));
        missing.running.extend(unnoted.map(|(process, name)| format!("{name} ({process})")));
        for (process, lives) in all {
            let named = |name: &str| format!("{name} ({process})");
            for life in &lives {
                missing.lost = missing.lost.saturating_add(life.ended.unwrap_or(0));
                missing.stackless = missing.stackless.saturating_add(life.stackless);
                if life.is_hidden {
                    missing.hidden.push(named(&life.name));
                }
                for (library, has_namespace) in &life.unreached {
                    let text = format!("{library} in {}", named(&life.name));
                    missing.unreached[usize::from(*has_namespace)].push(text);
                }
                if life.is_hidden || !life.unreached.is_empty() {
                    missing.partial.insert(process);
                }
            }
            let Some(last) = lives.last() else { continue };
            if last.ended.is_some() || last.next.is_some() {
                missing.ended.insert(process);
            }
            let is_running = last.ended.is_none() && is_running(process);
            if let Some((next, cause)) = last.next.as_ref()
                && !(is_running && cause.is_none())
            {
                missing.unrecorded.entry(*cause).or_default().push(named(next));
            } else if is_running {
                missing.running.push(named(&last.name));
            }
            if !is_running
                && !logged.contains(&process)
                && let Some(life) = lives.iter().find(|life| life.has_recorded)
            {
                missing.without_log.push(named(&life.name));
            }
        }
        missing
    }

    /// Returns whether all was recorded, as far as the notes tell.
    pub(crate) fn is_none(&self) -> bool {
        self.words().is_empty()
    }

    /// Returns whether a process ended in good order, so that its log is complete even without an
    /// end.
    pub(crate) fn has_ended(&self, process: u32) -> bool {
        self.ended.contains(&process)
    }

    /// Returns whether all calls of a process reached the recording library.
    pub(crate) fn is_reached(&self, process: u32) -> bool {
        !self.partial.contains(&process)
    }

    /// Returns the missing parts in words, a line each.
    pub(crate) fn words(&self) -> Vec<String> {
        let hidden = format!(
            "{} of its own hides the recording library; most calls are missing from the log",
            self.what.symbol()
        );
        let without_log = format!(
            "{}, and no log exists (killed early, or without permission to write next to the other \
             logs); choose a writable folder for -o",
            match self.what {
                What::Malloc => "allocated memory",
                What::Functions => "called functions",
            }
        );
        let unreached = |way: &str| {
            format!(
                "{way}, so that its {} are not recorded",
                match self.what {
                    What::Malloc => "calls of malloc",
                    What::Functions => "functions",
                }
            )
        };
        let [deep, apart] = ["loaded with RTLD_DEEPBIND", "loaded by dlmopen"].map(unreached);
        let unrecorded = self.unrecorded.iter().map(|(cause, all)| (all, without(*cause)));
        let mut causes =
            vec![(&self.hidden, hidden), (&self.unreached[0], deep), (&self.unreached[1], apart)];
        causes.extend(unrecorded);
        causes.push((&self.without_log, without_log));
        causes.push((&self.running, "still runs, so that the log is incomplete".to_owned()));
        let mut lines = Vec::new();
        for (processes, cause) in causes.into_iter().filter(|cause| !cause.0.is_empty()) {
            let named = processes.iter().take(NAMED_COUNT_MAX).cloned().collect::<Vec<_>>();
            let named = named.join(", ");
            lines.push(match processes.len() > NAMED_COUNT_MAX {
                true => format!("{} processes ({named}, …): {cause}", processes.len()),
                false => format!("{named}: {cause}"),
            });
        }
        if self.lost > 0 {
            lines.push(format!("{} events were lost, by the processes' notes", number(self.lost)));
        }
        if self.stackless > 0 {
            lines.push(format!(
                "{} calls have no stack: a process had no memory for the tables and the stack of \
                 its own by which it finds them (is the limit of addresses, ulimit -v, too small?)",
                number(self.stackless)
            ));
        }
        if self.beyond > 0 {
            let beyond = number(self.beyond);
            lines.push(format!("{beyond} notes of processes were lost (the list was full)"));
        }
        lines
    }
}

/// Returns why no log of a process exists, in words.
fn without(cause: Option<Unloadable>) -> String {
    let cause = match cause {
        None => {
            "the environment has no LD_PRELOAD, or the program is statically linked or has more \
             rights than its user"
        }
        Some(Unloadable::Linker) => "the program is linked with another C library",
        Some(Unloadable::Machine) => "the program is not a 64-bit program of this machine",
        Some(Unloadable::Sanitizer) => {
            "a compiler built the program with a sanitizer, which has a malloc of its own"
        }
        Some(Unloadable::Static) => "the program is statically linked",
    };
    format!("executed without the recording library, so that no log exists ({cause})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use eventlog::format::{ROSTER_ENTRY_SIZE, ROSTER_NAME, ROSTER_NUMBER, ROSTER_WHAT};

    fn bytes(entries: &[(u32, Presence, u64, &str)]) -> Vec<u8> {
        let mut bytes = vec![0; ROSTER_SIZE];
        bytes[..8].copy_from_slice(&(entries.len() as u64).to_le_bytes());
        for (place, (process, what, number, name)) in
            bytes.chunks_exact_mut(ROSTER_ENTRY_SIZE).skip(1).zip(entries)
        {
            place[..ROSTER_WHAT].copy_from_slice(&process.to_le_bytes());
            place[ROSTER_WHAT..ROSTER_NUMBER].copy_from_slice(&(*what as u32).to_le_bytes());
            place[ROSTER_NUMBER..ROSTER_NAME].copy_from_slice(&number.to_le_bytes());
            place[ROSTER_NAME..][..name.len()].copy_from_slice(name.as_bytes());
        }
        bytes
    }

    /// `.rep.record.roster`
    #[test]
    fn a_process_with_a_note_and_without_a_log_is_missing() {
        use Presence::{Ended, Executes, Forked, Loaded, Recorded, Spawned, Stackless, Unreached};
        use Unloadable::Static;
        let entries = [
            (10, Loaded, 0, "sh"),
            (10, Recorded, 0, "sh"),
            (11, Forked, 0, "sh"), // It executes ls, which notes itself.
            (11, Executes, 0, "ls"),
            (11, Loaded, 0, "ls"),
            (11, Recorded, 0, "ls"),
            (11, Ended, 3, "ls"),
            (12, Forked, 0, "sh"), // It allocates, and has no log.
            (12, Recorded, 0, "sh"),
            (13, Forked, 0, "sh"), // It allocates nothing.
            (13, Ended, 0, "sh"),
            (14, Executes, 0, "busy"), // Made by vfork.
            (15, Spawned, Static as u64, "static"),
            (16, Loaded, 0, "cat"),
            (16, Spawned, 0, "cat"), // Its parent notes it late.
            (16, Ended, 0, "cat"),
            (17, Forked, 0, "sh"),
            (17, Executes, 0, "none"), // The program does not exist.
            (17, Ended, 0, "sh"),
            (18, Loaded, 1, "rustc"),
            (18, Stackless, 2, "rustc"),
            (18, Ended, 0, "rustc"),
            (10, Ended, 0, "sh"),
            (19, Forked, 0, "daemon"),
            (21, Loaded, 0, "php"),
            (21, Unreached, 1, "plug.so"),
            (21, Unreached, 2, "apart.so"),
            (21, Ended, 0, "php"),
            (22, Forked, 0, "sh"),
            (22, Executes, 0, "slow"), // It is not loaded yet.
        ];
        let logged = BTreeSet::from([10, 11]);
        let mapping = BTreeMap::from([(10, "sh".to_owned()), (20, "unnoted".to_owned())]);
        let is_running = |process| [19, 22].contains(&process);
        let missing = Missing::of(&bytes(&entries), &logged, &mapping, is_running);
        let of = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let unrecorded = [(None, of(&["busy (14)"])), (Some(Static), of(&["static (15)"]))];
        assert_eq!(missing.unrecorded, BTreeMap::from(unrecorded));
        assert_eq!(
            missing.unreached,
            [of(&["plug.so in php (21)"]), of(&["apart.so in php (21)"])]
        );
        assert_eq!([18, 19, 21].map(|process| missing.is_reached(process)), [false, true, false]);
        assert_eq!(missing.without_log, of(&["sh (12)"]));
        assert_eq!(missing.hidden, of(&["rustc (18)"]));
        assert_eq!(missing.running, of(&["unnoted (20)", "daemon (19)", "sh (22)"]));
        assert_eq!((missing.lost, missing.stackless, missing.beyond), (3, 2, 0));
        assert_eq!(missing.words().len(), 9);
        let whole = [(10, Loaded, 0, "ls"), (10, Recorded, 0, "ls"), (10, Ended, 0, "ls")];
        let none = BTreeMap::new();
        assert!(Missing::of(&bytes(&whole), &BTreeSet::from([10]), &none, |_| true).is_none());
    }
}
