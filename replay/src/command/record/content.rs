//! Describes the logs of a recording, for the line on standard error.
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

/// The name of the registry.
const REGISTRY: &str = "malloc";
/// The environment variable that asks the runtime for handlers of fatal signals.
const CRASH: &str = "MPS_TELEMETRY_CRASH";

/// The signal that ended a program.
#[derive(Clone, Debug)]
pub(super) struct Death {
    pub(super) name: String,
    /// Whether the runtime had a handler, which wrote out all that was recorded.
    is_caught: bool,
}

impl Death {
    /// Returns the signal that ended a program, if one did.
    pub(super) fn of(status: ExitStatus) -> Option<Death> {
        let number = status.signal()?;
        let signal = Signal::try_from(number);
        let name = signal.map_or(format!("signal {number}"), |signal| signal.to_string());
        let has_handlers = std::env::var_os(CRASH).is_some_and(|value| value == "1");
        Some(Death { name, is_caught: has_handlers && signal.is_ok_and(is_handled) })
    }
}

/// Returns whether the runtime handles a signal, if it has handlers.
fn is_handled(signal: Signal) -> bool {
    use Signal::{SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGQUIT, SIGSEGV};
    use Signal::{SIGSYS, SIGTERM, SIGTRAP};
    let of_crashes =
        matches!(signal, SIGABRT | SIGBUS | SIGFPE | SIGILL | SIGSEGV | SIGSYS | SIGTRAP);
    of_crashes || matches!(signal, SIGHUP | SIGINT | SIGQUIT | SIGTERM)
}

/// The content of a log, or of several.
#[derive(Clone, Copy, Default)]
pub(super) struct Content {
    pub(super) events: u64,
    /// Whether the log is of this recording, and not one that the program itself writes.
    pub(super) is_ours: bool,
    /// Events that were requested and are missing, except those of a bounded log.
    pub(super) lost: u64,
    /// Events that gave way to newer ones in a bounded log.
    given_up: u64,
    /// Whether events of older volumes gave way, which are not counted.
    has_lost_volumes: bool,
    /// Whether the log has an end.
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
    /// The content of no log.
    pub(super) const NONE: Content = Content {
        events: 0,
        is_ours: false,
        lost: 0,
        given_up: 0,
        has_lost_volumes: false,
        is_closed: true,
    };

    /// Reads the content of a log with these files.
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

    /// Describes the number of events, and known losses.
    pub(super) fn described(&self) -> String {
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
            lost => text + &format!(", {} lost (eventcnv stats has the causes)", number(lost)),
        }
    }

    /// Returns the content of a process that noted its end: one that ends by `_exit` has a log
    /// without an end.
    pub(super) fn of_ended(self, has_ended: bool) -> Content {
        Content { is_closed: self.is_closed || has_ended, ..self }
    }

    /// Returns whether all events are in the log, as far as the log tells.
    pub(super) fn is_whole(&self, is_ring: bool) -> bool {
        self.lost == 0 && (self.is_closed || is_ring)
    }

    /// Describes the log of a program with a known end. `lost`: events that processes noted as
    /// lost.
    pub(super) fn describe(&self, death: Option<&Death>, is_ring: bool, lost: u64) -> String {
        let Some(Death { name, is_caught }) = death else {
            return match self.is_closed || is_ring {
                true if lost == 0 => self.described(),
                true => self.describe_events(),
                false => {
                    let described = self.describe_events();
                    format!(
                        "{described}; the log has no end: a write failed (disk full?), or the \
                         program still runs"
                    )
                }
            };
        };
        let died = format!("; the program died of {name}");
        if self.is_closed || *is_caught {
            return self.described() + &died;
        }
        if is_ring {
            return self.described() + &died + ": what the ring kept goes up to then";
        }
        let described = self.describe_events();
        format!(
            "{described}{died}: the newest events of each thread, up to a block (64 KiB), may be \
             missing (-o ring:FILE?size=1G keeps them)"
        )
    }

    /// Describes several logs; `count` of them have no end, and their processes did not execute
    /// another program.
    pub(super) fn describe_without_end(&self, count: usize, lost: u64) -> String {
        let logs = match count {
            0 if lost == 0 => return self.described(),
            0 => return self.describe_events(),
            1 => "1 has no end: its process".to_owned(),
            count => format!("{count} have no end: each of their processes"),
        };
        format!(
            "{}; {logs} called _exit, or was killed, and then the newest events of each thread, up \
             to a block (64 KiB), may be missing",
            self.describe_events()
        )
    }

    /// Describes the events without a claim about losses.
    fn describe_events(&self) -> String {
        let described = self.described();
        described.strip_suffix(", nothing lost").map_or(described.clone(), str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.rep.record.logs`
    #[test]
    fn no_loss_is_claimed_only_if_it_is_known() {
        let death = |is_caught| Death { name: "SIGKILL".to_owned(), is_caught };
        let content = |lost, given_up, is_closed| Content {
            events: 7000,
            is_ours: true,
            lost,
            given_up,
            is_closed,
            ..Content::NONE
        };
        assert_eq!(content(0, 0, true).described(), "7,000 events, nothing lost");
        assert_eq!(
            content(0, 9000, true).described(),
            "7,000 events, 9,000 older ones have given way"
        );
        assert!(content(3, 0, true).described().starts_with("7,000 events, 3 lost ("));
        let of = |content: Content, caught, ring| content.describe(Some(&death(caught)), ring, 0);
        let killed = of(content(0, 0, false), false, false);
        assert!(killed.starts_with("7,000 events; the program died of SIGKILL: "), "{killed}");
        assert!(killed.contains("may be missing"), "{killed}");
        let ended = "7,000 events, nothing lost; the program died of SIGKILL";
        assert_eq!(of(content(0, 0, true), false, false), ended);
        assert_eq!(of(content(0, 0, false), true, false), ended);
        let ring = of(content(0, 0, false), false, true);
        assert_eq!(ring, format!("{ended}: what the ring kept goes up to then"));
        assert_eq!(content(0, 0, true).describe_without_end(0, 0), "7,000 events, nothing lost");
        let full = content(0, 0, false).describe(None, false, 9);
        assert!(full.starts_with("7,000 events; the log has no end: "), "{full}");
        assert_eq!(content(0, 0, true).describe(None, false, 9), "7,000 events");
        let two = content(0, 0, false).describe_without_end(2, 0);
        assert!(two.starts_with("7,000 events; 2 have no end: "), "{two}");
    }
}
