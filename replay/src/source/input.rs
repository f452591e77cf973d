//! What a command reads: logs, or saved operations.
//!
//! ```text
//!  LOG… │ FILE.ops │ - ── first bytes ──▶ Source │ Saved ── operations ──▶ Given
//!                                                    at the end: what was skipped, what is wrong
//! ```
//!
//! Design: `.rep.source`, `.rep.file`, `.rep.skipped` in `design/replay.md`.

use super::{Kind, Operations, Source};
use crate::facts::Facts;
use crate::mark::Mark;
use crate::operation::{Action, Operation};
use crate::script::{Modification, Modified, Saved, is_saved, modify};
use cli::{Stop, complain, log};
use eventlog::reader::{FileSource, Joined, Log, Options};
use stacks::Stack;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

/// Bytes by which saved operations are known.
const HEAD_SIZE: u64 = 8;

/// What is read.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Input {
    /// The log, or operations that `replay compile` saved; "-" is standard input. Several logs
    /// are read as one: those of a program and its children, or the volumes of a stream
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) how: How,
}

/// How it is read.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct How {
    /// Of a log that has several, the registry to read: mps, alloc, malloc [default: the first of
    /// these that it has]
    #[arg(long, value_name = "NAME", value_parser = kind)]
    pub(crate) registry: Option<Kind>,

    /// The eventdef.h of the MPS that wrote the log, if it is not of telemetry version 2.0.0
    #[arg(long, value_name = "FILE")]
    pub(crate) eventdef: Option<PathBuf>,
}

fn kind(text: &str) -> Result<Kind, String> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(text));
    kind.ok_or_else(|| "is not mps, alloc or malloc".to_owned())
}

/// What was opened.
pub(crate) struct Opened {
    /// What it is called in messages: the path.
    name: String,
    /// What it is called in what is told of it: the file's name.
    pub(crate) title: String,
    what: What,
}

enum What {
    Log(Box<Source>),
    Saved(File),
}

impl Opened {
    /// Opens what is named, and says what there is to know of it before.
    pub(crate) fn open(input: &Input) -> Result<Opened, Stop> {
        Opened::of(&input.logs, &input.how)
    }

    /// Opens these, as one.
    pub(crate) fn of(paths: &[PathBuf], how: &How) -> Result<Opened, Stop> {
        let mut files = Vec::new();
        let names: Vec<String> = paths.iter().map(|path| log::name(path)).collect();
        let titles: Vec<String> = names.iter().map(|name| title(name)).collect();
        let title = titles.join(" + ");
        for (path, name) in paths.iter().zip(&names) {
            let file = file(path).map_err(|error| Stop::Message(format!("{name}: {error}")))?;
            if is_saved_file(&file) {
                if paths.len() == 1 {
                    return Ok(Opened { name: name.clone(), title, what: What::Saved(file) });
                }
                return Err(Stop::Message(format!(
                    "{name}: has saved operations, which are read by themselves, not with others"
                )));
            }
            files.push(file);
        }
        let name = names.join(" + ");
        let opened = source(files, how, &name);
        let source = opened.map_err(|what| Stop::Message(format!("{name}: {what}")))?;
        for note in source.notes() {
            complain(&format!("replay: {name}: note: {note}\n"));
        }
        Ok(Opened { name, title, what: What::Log(Box::new(source)) })
    }

    /// Its operations, modified.
    pub(crate) fn operations<'a>(&'a self, list: &[Modification]) -> Result<Given<'a>, Stop> {
        let read = match &self.what {
            What::Log(source) => Reading::Log(Box::new(source.operations())),
            What::Saved(file) => {
                let again = || {
                    let mut file = file.try_clone()?;
                    file.rewind()?;
                    Ok(BufReader::with_capacity(1 << 18, file))
                };
                let unread = |what: String| Stop::Message(format!("{}: {what}", self.name));
                let file = again().map_err(|error: io::Error| unread(error.to_string()))?;
                let saved = Saved::new(file).map_err(|error| unread(error.to_string()))?;
                Reading::Saved(Box::new(saved))
            }
        };
        let modified = list.iter().map(Modification::to_string).collect::<Vec<_>>().join("; ");
        Ok(Given { opened: self, operations: modify(read, list), modified, has_any: false })
    }

    /// The log, if it is one.
    pub(crate) fn log(&self) -> Option<&Log> {
        match &self.what {
            What::Log(source) => Some(source.log()),
            What::Saved(_) => None,
        }
    }
}

/// What operations come from.
enum Reading<'a> {
    Log(Box<Operations<'a>>),
    Saved(Box<Saved<BufReader<File>>>),
}

impl Iterator for Reading<'_> {
    type Item = Operation;

    #[inline]
    fn next(&mut self) -> Option<Operation> {
        match self {
            Reading::Log(operations) => operations.next(),
            Reading::Saved(saved) => saved.next(),
        }
    }
}

/// Operations that are being read.
pub(crate) struct Given<'a> {
    opened: &'a Opened,
    operations: Modified<Reading<'a>>,
    /// How they are modified, in words.
    modified: String,
    has_any: bool,
}

impl Iterator for Given<'_> {
    type Item = Operation;

    #[inline]
    fn next(&mut self) -> Option<Operation> {
        let next = self.operations.next();
        self.has_any |= next.is_some();
        next
    }
}

impl<'a> Given<'a> {
    /// The operations of a log itself.
    fn of_log(&self) -> Option<&Operations<'a>> {
        match self.operations.inner() {
            Reading::Log(operations) => Some(operations),
            Reading::Saved(_) => None,
        }
    }

    /// The stack that asked for the memory that an operation is about; number 0: none, or they are
    /// not kept.
    pub(crate) fn stack_of(&self, operation: &Operation) -> Stack {
        match operation.action {
            Action::Allocate { object, .. } | Action::Reallocate { object, .. } => {
                self.of_log().map_or_else(Stack::default, |it| it.stack_of(object))
            }
            _ => Stack::default(),
        }
    }

    /// From now on keeps of each object the stack that allocated it.
    pub(crate) fn keep_stacks(&mut self) {
        if let Reading::Log(operations) = self.operations.inner_mut() {
            operations.keep_stacks();
        }
    }

    /// Takes the marks that came before the operation that was given last, or after all.
    pub(crate) fn take_marks(&mut self) -> Vec<Mark> {
        match self.operations.inner_mut() {
            Reading::Log(operations) => operations.take_marks(),
            Reading::Saved(_) => Vec::new(),
        }
    }

    /// What was skipped or made up, so far.
    pub(crate) fn skipped(&self) -> Vec<(String, u64)> {
        self.of_log().map_or(Vec::new(), |operations| operations.skipped().texts())
    }

    /// What else was said: to be asked for when all was read.
    pub(crate) fn facts(&self) -> &Facts {
        match self.operations.inner() {
            Reading::Log(operations) => operations.facts(),
            Reading::Saved(saved) => saved.facts(),
        }
    }

    /// All was read: tells of what was skipped, unless the output has it, and what was found wrong.
    /// Whether the log was read whole.
    pub(crate) fn end(&self, is_skipped_told: bool) -> bool {
        let name = &self.opened.name;
        let mut text = String::new();
        for (what, count) in self.skipped().iter().filter(|_| !is_skipped_told) {
            text += &format!("replay: {name}: note: {count} {what}\n");
        }
        let mut is_whole = self.has_any || self.modified.is_empty();
        if !is_whole {
            text += &format!("replay: {name}: nothing is left of it: {}\n", self.modified);
        }
        match (&self.opened.what, self.operations.inner()) {
            (What::Log(source), Reading::Log(operations)) => {
                for faults in [source.log().faults(), operations.faults()] {
                    text += &log::faults("replay", name, faults);
                    is_whole &= faults.loss_count() == 0;
                }
            }
            (_, Reading::Saved(saved)) => {
                if let Some(fault) = saved.fault() {
                    text += &format!("replay: {name}: {fault}\n");
                    is_whole = false;
                }
            }
            _ => {}
        }
        complain(&text);
        is_whole
    }
}

/// Of a path, the name of the file.
fn title(name: &str) -> String {
    let file = Path::new(name).file_name();
    file.map_or(name.to_owned(), |file| file.to_string_lossy().into_owned())
}

/// Opens a file; of what cannot be sought a copy.
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

fn is_saved_file(file: &File) -> bool {
    let mut head = Vec::new();
    let read = file.try_clone().and_then(|file| file.take(HEAD_SIZE).read_to_end(&mut head));
    let again = file.try_clone().and_then(|mut file| file.rewind());
    read.is_ok() && again.is_ok() && is_saved(&head)
}

/// Opens logs as one.
fn source(files: Vec<File>, how: &How, name: &str) -> Result<Source, String> {
    let eventdef = how.eventdef.as_deref().map(log::mps_registry).transpose()?;
    let options = Options { mps_registry: eventdef, ..Options::default() };
    let mut joined = Joined::default();
    let is_one = files.len() == 1;
    let mut one = None;
    for file in files {
        let file = FileSource::new(file).map_err(|error| error.to_string())?;
        match is_one {
            true => one = Some(file),
            false => joined.push(Box::new(file)),
        }
    }
    let log = match one {
        Some(file) => Log::with_source(Box::new(file), &options),
        None => Log::with_source(Box::new(joined), &options),
    };
    let log = log.map_err(|error| error.to_string())?;
    // Why there is nothing may be among them.
    let faults = log::faults("replay", name, log.faults());
    let source = Source::new(log, how.registry);
    source.inspect_err(|_| complain(&faults)).map_err(|what| what.to_string())
}
