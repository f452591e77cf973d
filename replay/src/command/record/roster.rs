//! Which processes there were, by what each said of itself: what should have been recorded.
//!
//! ```text
//!  roster file ─▶ Loaded, Recorded, Ended … of each process ─┐
//!  logs that there are ──────────────────────────────────────┴─▶ what is missing, and why
//! ```
//!
//! Design: `.rep.record.roster` in `design/replay.md`.

use cli::Stop;
use cli::units::number;
use eventlog::format::text::OneLine;
use eventlog::format::{Presence, ROSTER_SIZE, roster};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use tempfile::NamedTempFile;

/// The variable that says where the roster is.
pub(super) const VARIABLE: &str = "TELEMETRY_ROSTER";
/// Processes that are named in a line.
const NAMED_COUNT_MAX: usize = 4;

/// The file; it goes with this.
pub(super) struct Roster(NamedTempFile);

/// A program that a process was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Life {
    name: String,
    is_loaded: bool,
    is_hidden: bool,
    has_recorded: bool,
    /// Events that it lost, if it said so at its end.
    ended: Option<u64>,
    /// The program that it was about to become, or was started with.
    next: Option<String>,
}

/// What is missing, one of each for each process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Missing {
    hidden: Vec<String>,
    unrecorded: Vec<String>,
    without_log: Vec<String>,
    running: Vec<String>,
    /// Events that processes said to have lost.
    pub(super) lost: u64,
    beyond: u64,
    /// Processes that said that they ended, or became another program.
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

    /// What is missing, where these processes have logs.
    pub(super) fn missing(&self, logged: &BTreeSet<u32>) -> Missing {
        match fs::read(self.0.path()) {
            Ok(bytes) => Missing::of(&bytes, logged, is_running),
            Err(_) => Missing::default(),
        }
    }
}

/// Whether a process is there, and has not ended.
fn is_running(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    state.is_some_and(|state| !["Z", "X"].contains(&state))
}

/// Each process with the programs that it was.
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
        // A program that was about to begin has begun.
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
            Presence::Ended => {
                life.ended = Some(entry.number);
                // It could not be executed.
                life.next = None;
            }
            // What was started said so itself, or will.
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

    /// Whether all was recorded, as far as processes say.
    pub(super) fn is_none(&self) -> bool {
        self.words().is_empty()
    }

    /// Whether a process ended in good order, so that its log is whole, though it may have no end.
    pub(super) fn has_ended(&self, process: u32) -> bool {
        self.ended.contains(&process)
    }

    /// In words, a line each.
    pub(super) fn words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = |what: &[String], one: &str, many: &str| {
            let named = what.iter().take(NAMED_COUNT_MAX).cloned().collect::<Vec<_>>().join(", ");
            match what.len() {
                0 => {}
                1 => lines.push(format!("{named} {one}")),
                count => lines.push(match count > NAMED_COUNT_MAX {
                    true => format!("{} processes ({named}, …) {many}", number(count as u64)),
                    false => format!("{named} {many}"),
                }),
            }
        };
        line(
            &self.hidden,
            "defines malloc itself, which hides the library that records: its calls, or most of \
             them, are not in the log",
            "define malloc themselves, which hides the library that records: their calls, or most \
             of them, are not in the logs",
        );
        line(
            &self.unrecorded,
            "was executed without the library that records: it is not in the logs (its environment \
             has no LD_PRELOAD, it is statically linked, or it has more rights than its user)",
            "were executed without the library that records: they are not in the logs (their \
             environment has no LD_PRELOAD, they are statically linked, or they have more rights \
             than their user)",
        );
        line(
            &self.without_log,
            "asked for memory and has no log: it was killed early, or may not write beside the \
             other logs (choose a folder for -o that it may write to)",
            "asked for memory and have no logs: they were killed early, or may not write beside \
             the other logs (choose a folder for -o that they may write to)",
        );
        line(
            &self.running,
            "still runs: its log is not whole before it ends",
            "still run: their logs are not whole before they end",
        );
        if self.lost > 0 {
            let lost = number(self.lost);
            lines.push(format!("{lost} events were lost, as the processes say that lost them"));
        }
        if self.beyond > 0 {
            let beyond = number(self.beyond);
            lines.push(format!(
                "{beyond} beginnings and ends of processes more than there is room for were not \
                 looked at"
            ));
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
    fn what_a_process_said_and_no_log_shows_is_missing() {
        use Presence::{Ended, Executes, Forked, Loaded, Recorded, Spawned};
        let entries = [
            (10, Loaded, 0, "sh"),
            (10, Recorded, 0, "sh"),
            (11, Forked, 0, "sh"), // It becomes ls, which says that it is there.
            (11, Executes, 0, "ls"),
            (11, Loaded, 0, "ls"),
            (11, Recorded, 0, "ls"),
            (11, Ended, 3, "ls"),
            (12, Forked, 0, "sh"), // It asks for memory, and has no log.
            (12, Recorded, 0, "sh"),
            (13, Forked, 0, "sh"), // It asks for none.
            (13, Ended, 0, "sh"),
            (14, Executes, 0, "busy"), // Made by vfork.
            (15, Spawned, 0, "static"),
            (16, Loaded, 0, "cat"),
            (16, Spawned, 0, "cat"), // Its parent says so late.
            (16, Ended, 0, "cat"),
            (17, Forked, 0, "sh"),
            (17, Executes, 0, "none"), // There is no such program.
            (17, Ended, 0, "sh"),
            (18, Loaded, 1, "rustc"),
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
        assert_eq!((missing.lost, missing.beyond), (3, 0));
        assert_eq!(missing.words().len(), 5);
        let whole = [(10, Loaded, 0, "ls"), (10, Recorded, 0, "ls"), (10, Ended, 0, "ls")];
        assert!(Missing::of(&bytes(&whole), &BTreeSet::from([10]), |_| true).is_none());
    }
}
