//! Describes the logs of a recording, for the line on standard error.
//!
//! ```text
//!  files of a log ── accounts ──▶ Content ──▶ "7,012 events, nothing lost"
//!                     Death ──────────┘        "7,012 events; the program died of SIGKILL: …"
//! ```
//!
//! Design: `.rep.record.logs` in `design/replay.md`.

use cli::units::number;
use eventlog::reader::{Faults, FileSource, Joined, Log, Options, Registry};
use signal_hook::consts::{
    SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGQUIT, SIGSEGV, SIGSYS, SIGTERM, SIGTRAP,
};
use signal_hook::low_level::signal_name;
use std::fs::File;
use std::ops::AddAssign;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

/// The registries of recorded calls.
const REGISTRIES: [&str; 2] = ["malloc", "calls"];
/// The environment variable that asks the runtime for handlers of fatal signals.
const CRASH: &str = "MPS_TELEMETRY_CRASH";

#[derive(Clone, Debug)]
pub(crate) struct Death {
    pub(crate) name: String,
    /// Whether the runtime had a handler, which wrote out all that was recorded.
    is_caught: bool,
}

impl Death {
    /// Returns the signal that ended a program, if one did.
    pub(crate) fn of(status: ExitStatus) -> Option<Death> {
        let number = status.signal()?;
        let name = signal_name(number).map_or(format!("signal {number}"), str::to_owned);
        let has_handlers = std::env::var_os(CRASH).is_some_and(|value| value == "1");
        Some(Death { name, is_caught: has_handlers && is_handled(number) })
    }
}

/// Returns whether the runtime handles a signal, if it has handlers.
fn is_handled(signal: i32) -> bool {
    let of_crashes = [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP];
    of_crashes.contains(&signal) || [SIGHUP, SIGINT, SIGQUIT, SIGTERM].contains(&signal)
}

/// The content of a log, or of several.
#[derive(Clone, Copy, Default)]
pub(crate) struct Content {
    pub(crate) events: u64,
    /// Events that were requested and are missing, except those of a bounded log.
    pub(crate) lost: u64,
    /// Events that gave way to newer ones in a bounded log.
    given_up: u64,
    /// Whether events of older volumes gave way, which are not counted.
    has_lost_volumes: bool,
    /// Whether the same is true of a log without bounds, which another process removed or
    /// truncated.
    pub(crate) is_cut: bool,
    /// Whether the log has no end.
    pub(crate) is_open: bool,
}

impl AddAssign for Content {
    fn add_assign(&mut self, other: Content) {
        self.events += other.events;
        self.lost += other.lost;
        self.given_up += other.given_up;
        self.has_lost_volumes |= other.has_lost_volumes;
        self.is_cut |= other.is_cut;
        self.is_open |= other.is_open;
    }
}

impl Content {
    /// Reads the content of a log with these files. `is_bounded`: older events may give way.
    pub(crate) fn of(files: &[PathBuf], is_bounded: bool) -> Result<Content, String> {
        let mut joined = Joined::default();
        for path in files {
            let file = File::open(path).and_then(FileSource::new);
            joined.push(Box::new(file.map_err(|error| error.to_string())?));
        }
        let log = Log::with_source(Box::new(joined), &Options::default());
        let log = log.map_err(|error| error.to_string())?;
        let mut content = Content { is_open: !log.is_closed(), ..Content::default() };
        content.has_lost_volumes = log.streams().iter().any(|stream| stream.volumes.0 > 0);
        content.is_cut = content.has_lost_volumes && !is_bounded;
        let is_ours = |registry: &&Registry| REGISTRIES.contains(&&*registry.name);
        let registries = log.registries();
        for account in log.accounts() {
            let registry = registries.get(account.registry as usize).filter(is_ours);
            content.events += registry.map_or(0, |_| account.found);
        }
        for ((stream, registry, _), losses) in log.losses_by_kind(&Faults::default()) {
            let is_it = |of: &Registry| is_ours(&of) && (of.stream, of.index) == (stream, registry);
            if registries.iter().any(is_it) {
                let is_ring = log.streams().get(usize::from(stream)).is_some_and(|of| of.is_ring);
                let old = if is_ring { &mut content.given_up } else { &mut content.lost };
                *old += losses.overwritten + losses.lost;
                content.lost += losses.total() - losses.lost;
            }
        }
        Ok(content)
    }

    /// Returns the content of a process that noted its end: one that ends by `_exit` has a log
    /// without an end.
    pub(crate) fn of_ended(self, has_ended: bool) -> Content {
        Content { is_open: self.is_open && !has_ended, ..self }
    }

    /// Returns whether all events are in the log, as far as the log tells.
    pub(crate) fn is_whole(&self, is_ring: bool) -> bool {
        self.lost == 0 && !self.is_cut && (!self.is_open || is_ring)
    }

    /// Describes the log of a program. `is_seen`: no process noted that events are missing.
    pub(crate) fn describe(&self, death: Option<&Death>, is_ring: bool, is_seen: bool) -> String {
        let is_ended = !self.is_open || is_ring;
        let Some(Death { name, is_caught }) = death else {
            return self.with_end(is_ended && is_seen, match is_ended {
                true => "",
                false => {
                    "; the log has no end: a write failed (disk full?), or the program still runs"
                }
            });
        };
        let missing = match (!self.is_open || *is_caught, is_ring) {
            (true, _) => "",
            (false, true) => ": what the ring kept goes up to then",
            (false, false) => {
                ": the newest events of each thread, up to a block (64 KiB), may be missing \
                 (-o ring:FILE?size=1G keeps them)"
            }
        };
        let is_known = is_seen && (is_ended || *is_caught);
        self.with_end(is_known, &format!("; the program died of {name}{missing}"))
    }

    /// Describes several logs; `count` of them have no end, and their processes did not execute
    /// another program.
    pub(crate) fn describe_several(&self, count: usize, is_seen: bool) -> String {
        let logs = match count {
            0 => return self.with_end(is_seen, ""),
            1 => "1 has no end: its process".to_owned(),
            count => format!("{count} have no end: each of their processes"),
        };
        let end = format!(
            "; {logs} called _exit, or was killed, and then the newest events of each thread, up \
             to a block (64 KiB), may be missing"
        );
        self.with_end(false, &end)
    }

    /// Describes the number of events, what is missing, and the end. `is_known`: no other events
    /// are missing.
    fn with_end(&self, is_known: bool, end: &str) -> String {
        let old = match (self.given_up, self.has_lost_volumes) {
            (0, false) => String::new(),
            (0, true) if self.is_cut => {
                ", older ones are missing (another process removed or truncated the log)".to_owned()
            }
            (0, true) => ", older ones have given way".to_owned(),
            (count, _) => format!(", {} older ones have given way", number(count)),
        };
        let lost = match self.lost {
            0 if is_known && old.is_empty() => ", nothing lost".to_owned(),
            0 => String::new(),
            lost => format!(", {} lost (eventcnv stats has the causes)", number(lost)),
        };
        format!("{} events{old}{lost}{end}", number(self.events))
    }
}
