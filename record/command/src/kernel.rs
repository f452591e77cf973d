//! A recording of the kernel's events, of the whole system or of the program alone.
//!
//! ```text
//!  begin ─▶ tracefs, a private instance, or rings ─▶ spill ─▶ finish: LOG, in words
//! ```
//!
//! Design: `.waits.record`, `.waits.degrees` in `design/waits.md`.

use crate::args::Args;
use crate::logs;
use cli::units::{bytes, number};
use cli::{Stop, output, said};
use eventlog::writer::MakeError;
use record_waits::{CollectError, Options, OwnRecording, Recording};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A recording that is under way.
pub(crate) struct Kernel {
    log: PathBuf,
    is_forced: bool,
    begun: Begun,
}

enum Begun {
    /// Of the whole system.
    System(Box<Recording>),
    /// Of the program alone, for users without rights.
    Own(Box<OwnRecording>),
}

/// Returns the path of the log, which can be written.
pub(crate) fn log(args: &Args) -> Result<PathBuf, Stop> {
    let log = match (args.what(), &args.output, args.command.first()) {
        (Some(_), name, Some(program)) => {
            let mut log = logs::split(name.as_deref(), program)?.1;
            let is_log = log.extension().is_some_and(|extension| extension == "log");
            log.as_mut_os_string().push(if is_log { "" } else { ".log" });
            log.with_extension("kernel.log")
        }
        (_, Some(log), _) if log.as_os_str() == "-" => return Ok(log.clone()),
        (_, name, _) => match logs::split(name.as_deref(), OsStr::new("kernel"))? {
            (word, log, _) if word.is_empty() => log,
            (_, log, _) => {
                return Err(Stop::Message(format!(
                    "{}: the kernel's log is a plain file; give its name alone",
                    said(&log)
                )));
            }
        },
    };
    output::check(&log, args.force)?;
    Ok(log)
}

impl Kernel {
    /// Begins a recording: of the system, else of the program. Fails with the reasons of both.
    pub(crate) fn begin(args: &Args, log: PathBuf) -> Result<Kernel, String> {
        let begun = Begun::new(args, &log)?;
        Ok(Kernel { log, is_forced: args.force, begun })
    }

    /// Looks at the files of the program, which runs now.
    pub(crate) fn watch(&mut self, process: u32) {
        match &mut self.begun {
            Begun::System(recording) => recording.watch(process),
            Begun::Own(recording) => recording.watch(process),
        }
    }

    /// Ends the recording, and writes the log. Returns how much was recorded, in words.
    pub(crate) fn finish(self) -> Result<Vec<String>, Stop> {
        let recorded = output::write(&self.log, self.is_forced, |out| {
            let recorded = match self.begun {
                Begun::System(recording) => recording.finish(out),
                Begun::Own(recording) => recording.finish(out),
            };
            recorded.map_err(|error| match error {
                CollectError::Make(MakeError::Io(error)) => error,
                error => io::Error::other(error),
            })
        })?;
        let name = said(&self.log);
        let mut lines = vec![format!(
            "{name}: {} events{}, {}",
            number(recorded.event_count),
            recorded.duration.map_or(String::new(), |ns| format!(" in {:.3} s", ns as f64 / 1e9)),
            bytes(recorded.size as f64),
        )];
        if recorded.counts.gaps > 0 {
            lines.push(format!(
                "{name}: the kernel lost {} events in {} gaps, which the log states; --buffer \
                 makes its buffers larger",
                number(recorded.lost_count),
                number(recorded.counts.gaps),
            ));
        }
        lines.extend(recorded.notes.iter().map(|note| format!("{name}: note: {note}")));
        Ok(lines)
    }
}

impl Begun {
    fn new(args: &Args, log: &Path) -> Result<Begun, String> {
        let mut options = Options::default();
        options.has_stacks = args.stacks;
        options.buffer_size = usize::from(args.buffer) << 20;
        let text = |error: CollectError| error.to_string();
        let spill = || spill(log).map_err(|error| text(CollectError::Spill(error)));
        let rate = args.samples.unwrap_or(0);
        let refused = match Recording::begin(&options, spill()?) {
            Ok(mut recording) => {
                if rate > 0 {
                    recording.sample(rate, spill()?).map_err(text)?;
                }
                return Ok(Begun::System(Box::new(recording)));
            }
            Err(error @ (CollectError::Rights { .. } | CollectError::Absent)) => error,
            Err(error) => return Err(text(error)),
        };
        if args.command.is_empty() {
            return Err(text(refused));
        }
        // The kernel may still tell of own threads.
        match OwnRecording::begin(rate, spill()?) {
            Ok(recording) => Ok(Begun::Own(Box::new(recording))),
            Err(error) => Err(format!("{refused}; and {error}")),
        }
    }
}

/// Returns a file without a name, on the disk of the log.
fn spill(log: &Path) -> io::Result<File> {
    match log.parent() {
        _ if log.as_os_str() == "-" => tempfile::tempfile(),
        Some(folder) if !folder.as_os_str().is_empty() => tempfile::tempfile_in(folder),
        _ => tempfile::tempfile_in("."),
    }
}
