//! The input of a command: logs.
//!
//! ```text
//!  LOG… │ - ──▶ Source ── operations ─ modify ──▶ InputOperations
//!                                                   at the end: what was skipped, and faults
//! ```
//!
//! Design: `.rep.source`, `.rep.skipped` in `design/replay.md`.

use super::{Kind, Operations, Source};
use crate::facts::Facts;
use crate::operation::{Action, Operation};
use crate::script::{Modified, Modify, modify};
use cli::{Stop, complain, log};
use eventlog::reader::{FileSource, Joined, Log, Options};
use stacks::Stack;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

/// The files that a command reads.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Input {
    /// The log, or operations that `replay compile` saved; "-" is standard input. Several logs are
    /// read as one: those of a program and its children, or the volumes of a stream
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) options: ReadOptions,
}

/// Options for reading logs.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ReadOptions {
    /// The registry to read, if a log has several: mps, alloc, malloc, operations [default: the
    /// first of these that it has]
    #[arg(long, value_name = "NAME", value_parser = kind)]
    pub(crate) registry: Option<Kind>,

    /// The eventdef.h of the MPS that wrote the log, unless that has telemetry version 2.0.0
    #[arg(long, value_name = "FILE")]
    pub(crate) eventdef: Option<PathBuf>,
}

fn kind(text: &str) -> Result<Kind, String> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(text));
    kind.ok_or_else(|| "unknown registry: use mps, alloc, malloc or operations".to_owned())
}

pub(crate) struct Opened {
    /// The name in messages: the path.
    name: String,
    /// The name in reports: the file's name.
    pub(crate) title: String,
    /// The offset of each file in the log, and its name.
    starts: Vec<(u64, String)>,
    source: Source,
}

impl Opened {
    /// Opens the logs of a command line as one, and prints notes about them.
    pub(crate) fn open(input: &Input) -> Result<Opened, Stop> {
        let names: Vec<String> = input.logs.iter().map(|path| log::name(path)).collect();
        let titles: Vec<String> = names.iter().map(|name| title(name)).collect();
        let (name, title) = (names.join(" + "), titles.join(" + "));
        let (mut files, mut starts, mut size) = (Vec::new(), Vec::new(), 0);
        let logs = input.logs.iter().flat_map(|path| log::files(path).files);
        let logs: Vec<PathBuf> = logs.collect();
        for path in &logs {
            let name = log::name(path);
            let opened = file(path).and_then(|file| Ok((file.metadata()?.len(), file)));
            let (own, file) = opened.map_err(|error| Stop::Message(format!("{name}: {error}")))?;
            starts.push((size, name));
            size += own;
            files.push(file);
        }
        let opened = source(files, &input.options, (&name, &starts));
        let source = opened.map_err(|why| Stop::Message(format!("{name}: {why}")))?;
        for note in source.notes() {
            complain(&format!("replay: {name}: note: {note}\n"));
        }
        Ok(Opened { name, title, starts, source })
    }

    /// Returns the operations of the input, modified.
    pub(crate) fn operations<'a>(&'a self, how: &'a Modify) -> InputOperations<'a> {
        let operations = modify(self.source.operations(), how);
        InputOperations { opened: self, operations, modify: how, has_any: false }
    }

    pub(crate) fn log(&self) -> &Log {
        self.source.log()
    }
}

/// The operations of an input, as they are read.
pub(crate) struct InputOperations<'a> {
    opened: &'a Opened,
    operations: Modified<Operations<'a>>,
    modify: &'a Modify,
    has_any: bool,
}

impl Iterator for InputOperations<'_> {
    type Item = Operation;

    #[inline]
    fn next(&mut self) -> Option<Operation> {
        let next = self.operations.next();
        self.has_any |= next.is_some();
        next
    }
}

impl InputOperations<'_> {
    /// Returns the stack that asked for the memory of an operation; number 0: none, or stacks are
    /// not kept.
    pub(crate) fn stack_of(&self, operation: &Operation) -> Stack {
        match operation.action {
            Action::Allocate { object, .. } | Action::Reallocate { object, .. } => {
                self.operations.origin.stack_of(object)
            }
            _ => Stack::default(),
        }
    }

    /// Keeps the stack that allocated each object.
    pub(crate) fn keep_stacks(&mut self) {
        self.operations.origin.keep_stacks();
    }

    /// Lets threads that begin after others have ended share their numbers.
    pub(crate) fn share_threads(&mut self) {
        self.operations.origin.share_threads();
    }

    /// Returns the texts of skipped events and added operations so far.
    pub(crate) fn skipped(&self) -> Vec<(String, u64)> {
        self.operations.origin.skipped().texts()
    }

    /// Returns the other facts: complete when all operations were read.
    pub(crate) fn facts(&self) -> &Facts {
        self.operations.origin.facts()
    }

    /// Ends the input: prints what was skipped, unless the output has it, and all faults. Returns
    /// whether the log was read completely.
    pub(crate) fn end(&self, is_skipped_printed: bool) -> bool {
        let name = &self.opened.name;
        let mut text = String::new();
        for (what, count) in self.skipped().iter().filter(|_| !is_skipped_printed) {
            text += &format!("replay: {name}: note: {count} {what}\n");
        }
        let mut is_whole = self.has_any || self.modify.list.is_empty();
        if !is_whole {
            text += &format!(
                "replay: {name}: nothing is left after the modifications: {}\n",
                self.modify
            );
        }
        for faults in [self.opened.log().faults(), self.operations.origin.faults()] {
            text += &log::faults("replay", name, &self.opened.starts, faults);
            is_whole &= faults.loss_count() == 0;
        }
        complain(&text);
        is_whole
    }
}

/// Returns the file name of a path.
fn title(name: &str) -> String {
    let file = Path::new(name).file_name();
    file.map_or(name.to_owned(), |file| file.to_string_lossy().into_owned())
}

/// Opens a file; copies it if it is not seekable.
fn file(path: &Path) -> io::Result<File> {
    let mut from: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::other("is a directory, not a log"));
        }
        if metadata.is_file() && metadata.len() > 0 {
            return Ok(file);
        }
        Box::new(file)
    };
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut from, &mut copy)?;
    copy.rewind()?;
    Ok(copy)
}

/// Opens logs as one source.
fn source(
    files: Vec<File>,
    options: &ReadOptions,
    (name, starts): (&str, &[(u64, String)]),
) -> Result<Source, String> {
    let eventdef = options.eventdef.as_deref().map(log::mps_registry).transpose()?;
    let log_options = Options { mps_registry: eventdef, ..Options::default() };
    let opened = files.into_iter().map(FileSource::new).collect::<Result<Vec<_>, _>>();
    let mut opened = opened.map_err(|error| error.to_string())?;
    let log = if opened.len() == 1 {
        Log::with_source(Box::new(opened.remove(0)), &log_options)
    } else {
        let mut joined = Joined::default();
        opened.into_iter().for_each(|file| joined.push(Box::new(file)));
        Log::with_source(Box::new(joined), &log_options)
    };
    let log = log.map_err(|error| error.to_string())?;
    // A fault may be the reason why the log has no source.
    let faults = log::faults("replay", name, starts, log.faults());
    let source = Source::new(log, options.registry);
    source.inspect_err(|_| complain(&faults)).map_err(|why| why.to_string())
}
