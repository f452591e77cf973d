//! A recording of the calls of a program, by the preloaded library.
//!
//! ```text
//!  begin: may it be preloaded? ─▶ environment ─▶ the program runs ─▶ finish: notes, logs ─▶ words
//! ```
//!
//! Design: `.rep.record`, `.rep.record.logs` in `design/replay.md`.

use crate::args::Args;
use crate::content::Death;
use crate::library;
use crate::logs::{Logs, Recorded};
use crate::roster::{self, Roster};
use crate::target::{self, Refusal};
use crate::what::What;
use cli::Stop;
use std::ffi::OsStr;
use std::process::{Command, ExitStatus};

/// The environment variable that asks a player of `replay` for marks, by which the operations that
/// it played are found in its log.
pub const MARKS_VARIABLE: &str = "REPLAY_MARKS";

/// The environment variable that has the library record functions, and not malloc.
const VARIABLE: &str = "TELEMETRY_CALLS";

/// A recording that is under way.
pub(crate) struct Calls {
    what: What,
    logs: Logs,
    roster: Roster,
    /// Whether some calls of the program do not reach the library, without `--anyway`.
    is_partial: bool,
}

impl Calls {
    /// Begins to record a program, which `command` will run. Returns a warning, too, if the program
    /// is recorded in part or not at all.
    pub(crate) fn begin(
        args: &Args,
        what: What,
        program: &OsStr,
        command: &mut Command,
    ) -> Result<(Calls, Option<String>), Stop> {
        let path = cli::program::find(program)?;
        let (why, is_hidden, is_loadable) = match target::check(&path, what) {
            Ok(hidden) => (hidden.clone(), hidden.is_some(), true),
            Err(refusal) if args.anyway => (Some(refusal.why), false, refusal.is_loadable),
            Err(Refusal { why, .. }) => {
                let message = format!("{}: {why}; --anyway runs it", path.display());
                return Err(Stop::Message(message));
            }
        };
        if is_loadable {
            command.env("LD_PRELOAD", library::preload(args.library.as_deref())?);
        }
        let roster = Roster::new()?;
        let logs = Logs::new(args.output.as_deref(), program, args.force)?;
        command.env("TELEMETRY_CONTROL", what.kind()).env("TELEMETRY_FILENAME", logs.pattern());
        command.env(VARIABLE, if what == What::Functions { "1" } else { "0" });
        command.env(MARKS_VARIABLE, "1").env(roster::VARIABLE, roster.path());
        if args.stacks {
            command.env("TELEMETRY_STACKS", args.depth.to_string());
        }
        let warning = why.map(|why| format!("{}: {why}", path.display()));
        let is_partial = is_hidden && !args.anyway;
        Ok((Calls { what, logs, roster, is_partial }, warning))
    }

    /// Ends the recording of a program that has ended. Returns how much was recorded, in words,
    /// too.
    pub(crate) fn finish(
        self,
        process: u32,
        program: &OsStr,
        status: ExitStatus,
    ) -> (Recorded, Vec<String>) {
        let Calls { what, logs, roster, is_partial } = self;
        let missing = roster.missing(&logs.processes(), what);
        // A program that still runs keeps its mapping of the file, and needs no name of it.
        drop(roster);
        let name = program.to_string_lossy();
        let (recorded, mut lines) = logs.finish(process, &name, Death::of(status), &missing);
        lines.extend(missing.words().into_iter().map(|line| format!("{name}: {line}")));
        let is_whole = missing.is_none() && !is_partial;
        (recorded.min(Recorded::whole(is_whole)), lines)
    }
}
