//! What is in the logs of a recording, in words: for the line on standard error.
//!
//! ```text
//!  files of a log ── accounts ──▶ Content ──▶ "7,012 events, nothing lost"
//!                     Death ──────────┘        "7,012 events; the program died of SIGKILL: …"
//! ```
//!
//! Design: `.rep.record.logs` in `design/replay.md`.

use cli::units::number;
use eventlog::reader::{FileSource, Joined, Log, Losses, Options, Registry};
use nix::sys::signal::Signal;
use std::fs::File;
use std::ops::AddAssign;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

/// What the registry is called.
const REGISTRY: &str = "malloc";
/// What asks the runtime for handlers of deadly signals.
const CRASH: &str = "MPS_TELEMETRY_CRASH";

/// The signal that a program died of.
#[derive(Clone, Debug)]
pub(super) struct Death {
    pub(super) name: String,
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

/// What is in a log, or in several.
#[derive(Clone, Copy, Default)]
pub(super) struct Content {
    pub(super) events: u64,
    /// Whether it is of this recording, and not what the program itself records.
    pub(super) is_ours: bool,
    /// Requested, and not there: for whatever reason, but that the log is bounded.
    pub(super) lost: u64,
    /// Gave way to newer ones in a log of a bounded size.
    given_up: u64,
    /// Whether older ones than these volumes have gave way, which nobody counted.
    has_lost_volumes: bool,
    /// Whether it was ended in good order.
    pub(super) is_closed: bool,
}

impl AddAssign for Content {
    fn add_assign(&mut self, other: Content) {
        self.events += other.events;
        self.is_ours |= other.is_ours;
        self.lost += other.lost;
        self.given_up += other.given_up;
        self.has_lost_volumes |= other.has_lost_volumes;
        self.is_closed &= other.is_closed;
    }
}

impl Content {
    /// Of nothing.
    pub(super) const NONE: Content = Content {
        events: 0,
        is_ours: false,
        lost: 0,
        given_up: 0,
        has_lost_volumes: false,
        is_closed: true,
    };

    /// What is in a log, whose files these are.
    pub(super) fn of(files: &[PathBuf]) -> Result<Content, String> {
        let mut joined = Joined::default();
        for path in files {
            let file = File::open(path).and_then(FileSource::new);
            joined.push(Box::new(file.map_err(|error| error.to_string())?));
        }
        let log = Log::with_source(Box::new(joined), &Options::default());
        let log = log.map_err(|error| error.to_string())?;
        let mut content = Content { is_closed: log.is_closed(), ..Content::NONE };
        content.has_lost_volumes = log.streams().iter().any(|stream| stream.volumes.0 > 0);
        content.is_ours = log.registries().iter().any(|registry| &*registry.name == REGISTRY);
        for account in log.accounts() {
            let registry = log.registries().get(account.registry as usize);
            if registry.is_none_or(|registry| &*registry.name != REGISTRY) {
                continue;
            }
            let Losses { lost, overwritten, .. } = Losses::of(account);
            content.events += account.found;
            content.lost += Losses::of(account).total() - lost;
            let is_ring =
                log.streams().get(usize::from(account.stream)).is_some_and(|of| of.is_ring);
            *if is_ring { &mut content.given_up } else { &mut content.lost } += overwritten + lost;
        }
        for unhoused in log.unhoused() {
            let is_of = |registry: &&Registry| {
                (registry.stream, registry.index) == (unhoused.stream, unhoused.registry)
            };
            let registry = log.registries().iter().find(is_of);
            if registry.is_some_and(|registry| &*registry.name == REGISTRY) {
                content.lost += unhoused.losses.total();
            }
        }
        Ok(content)
    }

    /// How many events there are, and what is known to be missing.
    pub(super) fn said(&self) -> String {
        let mut text = format!("{} events", number(self.events));
        let old = match (self.given_up, self.has_lost_volumes) {
            (0, false) => String::new(),
            (0, true) => ", older ones have given way".to_owned(),
            (count, _) => format!(", {} older ones have given way", number(count)),
        };
        text += &old;
        match self.lost {
            0 if old.is_empty() => text + ", nothing lost",
            0 => text,
            lost => text + &format!(", {} lost (eventcnv --stats says why)", number(lost)),
        }
    }

    /// The same, if the process said that it ended: what ends by `_exit` has a log without an end.
    pub(super) fn of_ended(self, has_ended: bool) -> Content {
        Content { is_closed: self.is_closed || has_ended, ..self }
    }

    /// Whether all that the program asked for is there, as far as the log says.
    pub(super) fn is_whole(&self, is_ring: bool) -> bool {
        self.lost == 0 && (self.is_closed || is_ring)
    }

    /// The same of a program of which it is known how it ended. `lost`: events that it said, or
    /// another process, to have lost.
    pub(super) fn said_of(&self, death: Option<&Death>, is_ring: bool, lost: u64) -> String {
        let Some(Death { name, is_caught }) = death else {
            return match self.is_closed || is_ring {
                true if lost == 0 => self.said(),
                true => self.said_of_what_is_there(),
                false => {
                    let said = self.said_of_what_is_there();
                    format!(
                        "{said}; the log has no end: it could not be written to the end (is the \
                         disk full?), or the program still runs"
                    )
                }
            };
        };
        let died = format!("; the program died of {name}");
        if self.is_closed || *is_caught {
            return self.said() + &died;
        }
        if is_ring {
            return self.said() + &died + ": what the ring kept goes up to then";
        }
        let said = self.said_of_what_is_there();
        format!(
            "{said}{died}: the newest events of each thread, up to a block (64 KiB), may be \
             missing (-o ring:FILE?size=1G keeps them)"
        )
    }

    /// The same of several, of which so many have no end, and were not those of a process that
    /// became another program.
    pub(super) fn said_without_end(&self, count: usize, lost: u64) -> String {
        let logs = match count {
            0 if lost == 0 => return self.said(),
            0 => return self.said_of_what_is_there(),
            1 => "1 has no end: its process".to_owned(),
            count => format!("{count} have no end: each of their processes"),
        };
        format!(
            "{}; {logs} called _exit, or was killed, and then the newest events of each thread, up \
             to a block (64 KiB), may be missing",
            self.said_of_what_is_there()
        )
    }

    /// That nothing was lost is not known.
    fn said_of_what_is_there(&self) -> String {
        let said = self.said();
        said.strip_suffix(", nothing lost").map_or(said.clone(), str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.rep.record.logs`
    #[test]
    fn what_is_not_known_is_not_said() {
        let death = |is_caught| Death { name: "SIGKILL".to_owned(), is_caught };
        let content = |lost, given_up, is_closed| Content {
            events: 7000,
            is_ours: true,
            lost,
            given_up,
            is_closed,
            ..Content::NONE
        };
        assert_eq!(content(0, 0, true).said(), "7,000 events, nothing lost");
        assert_eq!(content(0, 9000, true).said(), "7,000 events, 9,000 older ones have given way");
        assert!(content(3, 0, true).said().starts_with("7,000 events, 3 lost ("));
        let of = |content: Content, caught, ring| content.said_of(Some(&death(caught)), ring, 0);
        let killed = of(content(0, 0, false), false, false);
        assert!(killed.starts_with("7,000 events; the program died of SIGKILL: "), "{killed}");
        assert!(killed.contains("may be missing"), "{killed}");
        let ended = "7,000 events, nothing lost; the program died of SIGKILL";
        assert_eq!(of(content(0, 0, true), false, false), ended);
        assert_eq!(of(content(0, 0, false), true, false), ended);
        let ring = of(content(0, 0, false), false, true);
        assert_eq!(ring, format!("{ended}: what the ring kept goes up to then"));
        assert_eq!(content(0, 0, true).said_without_end(0, 0), "7,000 events, nothing lost");
        let full = content(0, 0, false).said_of(None, false, 9);
        assert!(full.starts_with("7,000 events; the log has no end: "), "{full}");
        assert_eq!(content(0, 0, true).said_of(None, false, 9), "7,000 events");
        let two = content(0, 0, false).said_without_end(2, 0);
        assert!(two.starts_with("7,000 events; 2 have no end: "), "{two}");
    }
}
