//! The processes of a recording, by their own notes: what should have been recorded.
//!
//! ```text
//!  roster file ─▶ Loaded, Recorded, Ended … of each process ─┐
//!  existing logs ────────────────────────────────────────────┴─▶ missing parts, and causes
//! ```
//!
//! Design: `.rep.record.roster` in `design/replay.md`.

use super::What;
use cli::Stop;
use cli::units::number;
use eventlog::format::text::OneLine;
use eventlog::format::{Presence, ROSTER_SIZE, roster};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use tempfile::NamedTempFile;

/// The environment variable with the path of the roster.
pub(super) const VARIABLE: &str = "TELEMETRY_ROSTER";
const NAMED_COUNT_MAX: usize = 4;

/// The file, which is removed with this value.
pub(super) struct Roster(NamedTempFile);

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
    /// The program that it was about to execute, or was started with.
    next: Option<String>,
}

/// The missing parts, by cause, with the processes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Missing {
    /// Whose calls are recorded.
    pub(super) what: What,
    hidden: Vec<String>,
    unrecorded: Vec<String>,
    without_log: Vec<String>,
    running: Vec<String>,
    /// The number of events that processes noted as lost.
    pub(super) lost: u64,
    /// The number of calls without a stack, for want of memory.
    stackless: u64,
    beyond: u64,
    /// Processes that noted their end, or executed another program.
    ended: BTreeSet<u32>,
}

impl Roster {
    pub(super) fn new() -> Result<Roster, Stop> {
        let failed = |error: std::io::Error| {
            let folder = std::env::temp_dir();
            let folder = folder.display();
            Stop::Message(format!(
                "{folder}: cannot make a file for the list of processes: {error}"
            ))
        };
        let file = tempfile::Builder::new().prefix(".replay-roster-").tempfile().map_err(failed)?;
        file.as_file().set_len(ROSTER_SIZE as u64).map_err(failed)?;
        Ok(Roster(file))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the missing parts; `logged` are the processes with logs.
    pub(super) fn missing(&self, logged: &BTreeSet<u32>, what: What) -> Missing {
        let missing = match fs::read(self.0.path()) {
            Ok(bytes) => Missing::of(&bytes, logged, is_running),
            Err(_) => Missing::default(),
        };
        Missing { what, ..missing }
    }
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
                life.next = Some(name);
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
    fn of(bytes: &[u8], logged: &BTreeSet<u32>, is_running: impl Fn(u32) -> bool) -> Missing {
        let (all, beyond) = lives(bytes);
        let mut missing = Missing { beyond, ..Missing::default() };
        for (process, lives) in all {
            let named = |name: &str| format!("{name} ({process})");
            for life in &lives {
                missing.lost = missing.lost.saturating_add(life.ended.unwrap_or(0));
                missing.stackless = missing.stackless.saturating_add(life.stackless);
                if life.is_hidden {
                    missing.hidden.push(named(&life.name));
                }
            }
            let Some(last) = lives.last() else { continue };
            if last.ended.is_some() || last.next.is_some() {
                missing.ended.insert(process);
            }
            let is_running = last.ended.is_none() && is_running(process);
            if let Some(next) = &last.next {
                missing.unrecorded.push(named(next));
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
    pub(super) fn is_none(&self) -> bool {
        self.words().is_empty()
    }

    /// Returns whether a process ended in good order, so that its log is complete even without an
    /// end.
    pub(super) fn has_ended(&self, process: u32) -> bool {
        self.ended.contains(&process)
    }

    /// Returns the missing parts in words, a line each.
    pub(super) fn words(&self) -> Vec<String> {
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
        let causes = [
            (&self.hidden, &*hidden),
            (
                &self.unrecorded,
                "executed without the recording library, so that no log exists (the environment \
                 has no LD_PRELOAD, or the program is statically linked or has more rights than \
                 its user)",
            ),
            (&self.without_log, &*without_log),
            (&self.running, "still runs, so that the log is incomplete"),
        ];
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
        use Presence::{Ended, Executes, Forked, Loaded, Recorded, Spawned, Stackless};
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
            (15, Spawned, 0, "static"),
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
        ];
        let missing = Missing::of(&bytes(&entries), &BTreeSet::from([10, 11]), |one| one == 19);
        let of = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(missing.unrecorded, of(&["busy (14)", "static (15)"]));
        assert_eq!(missing.without_log, of(&["sh (12)"]));
        assert_eq!(missing.hidden, of(&["rustc (18)"]));
        assert_eq!(missing.running, of(&["daemon (19)"]));
        assert_eq!((missing.lost, missing.stackless, missing.beyond), (3, 2, 0));
        assert_eq!(missing.words().len(), 6);
        let whole = [(10, Loaded, 0, "ls"), (10, Recorded, 0, "ls"), (10, Ended, 0, "ls")];
        assert!(Missing::of(&bytes(&whole), &BTreeSet::from([10]), |_| true).is_none());
    }
}
