//! The logs of a recording: one for each process; one of them is the program's.
//!
//! ```text
//!  LOG-4711  LOG-4711-2 (executed later) ─▶ LOG        LOG-4712, LOG-4713 … its children
//!  LOG-4711.1  LOG-4711.2 … (volumes)    ─▶ LOG.1 …
//! ```
//!
//! Design: `.rep.record.logs` in `design/replay.md`.

use crate::content::{Content, Death};
use crate::roster::Missing;
use crate::what::What;
use cli::output::{self, unwritten};
use cli::{Stop, said};
use eventlog::format::STREAM_MAGIC;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind::AlreadyExists;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

const RING: &str = "ring:";

pub(crate) struct Logs {
    /// The log of the program itself.
    path: PathBuf,
    /// The other parts of the runtime's name for it: `ring:` before, `?size=…` behind.
    words: (OsString, OsString),
}

/// A file of a log; older volumes have the number behind their names.
type File = (Option<u32>, PathBuf);

/// How much was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Recorded {
    /// The program has no events.
    Nothing,
    Part,
    /// All, as far as the logs tell.
    Whole,
}

impl Recorded {
    pub(crate) fn whole(is_whole: bool) -> Recorded {
        if is_whole { Recorded::Whole } else { Recorded::Part }
    }
}

/// A log: its process, and the index of the program that the process executed.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    process: u32,
    index: u32,
    files: Vec<File>,
}

impl Name {
    fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|(_, path)| path.clone()).collect()
    }
}

impl Logs {
    /// Returns the logs of this name, or of the program's name. None of them may exist.
    pub(crate) fn new(name: Option<&Path>, program: &OsStr, force: bool) -> Result<Logs, Stop> {
        let (before, name, after) = split(name, program)?;
        output::check(&name, force)?;
        let path = std::path::absolute(&name).map_err(|error| unwritten(&name, &error))?;
        let logs = Logs { path, words: (before, after) };
        let of_processes = logs.names().into_iter().flat_map(|name| name.files);
        let all: Vec<File> = logs.volumes().into_iter().chain(of_processes).collect();
        for (_, old) in &all {
            let name = from_here(old);
            if !force {
                return Err(unwritten(name, &AlreadyExists.into()));
            }
            // The user named only the first: notes.log-2026 may be anything.
            if *old != logs.path && !is_log(old) {
                let name = said(name);
                let why = format!("{name}: already exists, and is not a log; give another name");
                return Err(Stop::Message(why));
            }
        }
        for (_, old) in &all {
            fs::remove_file(old).map_err(|error| unwritten(from_here(old), &error))?;
        }
        Ok(logs)
    }

    /// Returns the runtime's name pattern: a name for each process.
    pub(crate) fn pattern(&self) -> OsString {
        let mut pattern = self.words.0.clone().into_vec();
        for byte in self.path.as_os_str().as_bytes() {
            match byte {
                b'%' => pattern.extend_from_slice(b"%%"),
                byte => pattern.push(*byte),
            }
        }
        pattern.extend_from_slice(b"-%p");
        pattern.extend_from_slice(self.words.1.as_bytes());
        OsString::from_vec(pattern)
    }

    /// Returns the files whose names begin like the log's, each with the rest of its name.
    fn files(&self) -> Vec<(Vec<u8>, PathBuf)> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let file = self.path.file_name().unwrap_or_default().as_bytes();
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let rest = |name: OsString| Some(name.as_bytes().strip_prefix(file)?.to_vec());
        entries.filter_map(|entry| Some((rest(entry.file_name())?, entry.path()))).collect()
    }

    /// Returns the program's own log and its volumes, if they exist.
    fn volumes(&self) -> Vec<File> {
        let of = |(rest, path): (Vec<u8>, PathBuf)| match &rest[..] {
            [] => Some((None, path)),
            // A log without bounds has no volumes: such a file is something else.
            rest if !self.words.0.is_empty() => Some((Some(volume(rest)?), path)),
            _ => None,
        };
        self.files().into_iter().filter_map(of).collect()
    }

    /// Returns whether older events of a log may give way to newer ones.
    fn is_bounded(&self) -> bool {
        !self.words.1.is_empty()
    }

    fn names(&self) -> Vec<Name> {
        let mut names: BTreeMap<(u32, u32), Vec<File>> = BTreeMap::new();
        for (rest, path) in self.files() {
            if let Some((process, index, volume)) = numbers(&rest) {
                names.entry((process, index)).or_default().push((volume, path));
            }
        }
        let mut list = Vec::with_capacity(names.len());
        for ((process, index), mut files) in names {
            files.sort();
            list.push(Name { process, index, files });
        }
        list
    }

    pub(crate) fn processes(&self) -> BTreeSet<u32> {
        self.names().into_iter().map(|name| name.process).collect()
    }

    /// Renames the program's log. Returns how much was recorded, in words, too. `death`: the signal
    /// that ended the program.
    pub(crate) fn finish(
        &self,
        process: u32,
        program: &str,
        death: Option<Death>,
        missing: &Missing,
    ) -> (Recorded, Vec<String>) {
        let (mut names, mut lines) = (self.names(), Vec::new());
        let own = names.iter().rposition(|name| name.process == process);
        // A shell has no instrumented functions; its children may have some.
        let is_starter = missing.what == What::Functions && own.is_none() && !names.is_empty();
        let nothing = if is_starter { Recorded::Whole } else { Recorded::Nothing };
        let mut recorded = own.map_or(nothing, |own| {
            let (recorded, line) = self.tell(names.remove(own), program, death.as_ref(), missing);
            lines.push(line);
            recorded
        });
        if own.is_none() && !is_starter {
            let died =
                death.map_or(String::new(), |death| format!("it died of {}, and ", death.name));
            let never = missing.what.never();
            let why = match (missing.lost, names.is_empty()) {
                (0, true) => format!(
                    ": {never}, or the recording library was not loaded (is it of another C \
                     library?)"
                ),
                // If any log exists, the library was loaded.
                (0, false) => format!(": {never}"),
                // Another line reports the loss.
                _ => String::new(),
            };
            lines.push(format!("{program}: {died}nothing was recorded{why}"));
        }
        if !names.is_empty() {
            let path = from_here(&self.path).display();
            let (description, is_whole) = of_others(&names, process, self.is_bounded(), missing);
            lines.push(format!("{path}-*: {description}"));
            recorded = recorded.min(Recorded::whole(is_whole));
        }
        (recorded, lines)
    }

    fn tell(
        &self,
        own: Name,
        program: &str,
        death: Option<&Death>,
        missing: &Missing,
    ) -> (Recorded, String) {
        let mut files = Vec::new();
        // The program may have made a file of this name.
        let is_taken = !self.volumes().is_empty();
        for (volume, path) in own.files {
            let mut to = self.path.clone().into_os_string();
            to.push(volume.map_or(String::new(), |volume| format!(".{volume}")));
            let is_renamed = !is_taken && fs::rename(&path, &to).is_ok();
            files.push(if is_renamed { PathBuf::from(to) } else { path });
        }
        let is_ring = self.words.0 == RING;
        let is_seen = missing.lost == 0 && missing.is_reached(own.process);
        let content = Content::of(&files, self.is_bounded())
            .map(|content| content.of_ended(missing.has_ended(own.process)));
        let recorded = match &content {
            Ok(content) if content.events > 0 => {
                Recorded::whole(content.is_whole(is_ring) && is_seen)
            }
            _ => Recorded::Nothing,
        };
        let description = content.map_or_else(
            |why| match death {
                Some(death) => format!("{why}; the program died of {}", death.name),
                None => why,
            },
            |content| content.describe(death, is_ring, is_seen),
        );
        let path = from_here(files.first().unwrap_or(&self.path)).display();
        let taken = match is_taken {
            true => format!("; {} was made meanwhile, and stays", from_here(&self.path).display()),
            false => String::new(),
        };
        (recorded, format!("{path}: {program}: {description}{taken}"))
    }
}

/// Describes the logs of other processes, and of earlier programs of this one. Returns whether they
/// are complete.
fn of_others(names: &[Name], process: u32, is_bounded: bool, missing: &Missing) -> (String, bool) {
    let (mut sum, mut unread, mut endless) = (Content::default(), 0, 0);
    for (index, name) in names.iter().enumerate() {
        // A process writes out all events before it executes another program.
        let next = names.get(index + 1).map(|next| next.process);
        let is_last = name.process != process && next != Some(name.process);
        let has_ended = missing.has_ended(name.process);
        let content = Content::of(&name.paths(), is_bounded);
        match content.map(|content| content.of_ended(has_ended)) {
            Ok(content) => {
                sum += content;
                endless += usize::from(is_last && content.is_open);
            }
            Err(_) => unread += 1,
        }
    }
    let is_seen = missing.lost == 0 && names.iter().all(|name| missing.is_reached(name.process));
    let description = sum.describe_several(endless, is_seen);
    let logs = if names.len() == 1 { "log" } else { "logs" };
    let mut text =
        format!("{} {logs} of its children and earlier programs: {description}", names.len());
    if unread > 0 {
        text.push_str(&format!("; {unread} cannot be read"));
    }
    (text, unread == 0 && endless == 0 && sum.lost == 0 && !sum.is_cut)
}

/// Returns whether a file is a log, or the beginning of one: nothing, or zeros.
fn is_log(path: &Path) -> bool {
    let mut head = [0; STREAM_MAGIC.len()];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut head));
    read.is_ok_and(|size| size == 0 || head == STREAM_MAGIC || head == [0; STREAM_MAGIC.len()])
}

/// Returns a path relative to the current folder, as a user would type it.
fn from_here(path: &Path) -> &Path {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path)
}

/// Splits a name of the runtime, or that after the program: prefix, path, options. Refuses a name
/// that is not that of a file.
pub(crate) fn split(
    name: Option<&Path>,
    program: &OsStr,
) -> Result<(OsString, PathBuf, OsString), Stop> {
    let Some(name) = name else {
        let mut file = Path::new(program).file_name().unwrap_or(program).to_owned();
        file.push(".log");
        return Ok((OsString::new(), file.into(), OsString::new()));
    };
    let bytes = name.as_os_str().as_bytes();
    let starts = |word: &&[u8]| bytes.starts_with(word);
    let word = [RING.as_bytes(), b"file:"].into_iter().find(starts).unwrap_or_default();
    let rest = bytes.get(word.len()..).unwrap_or_default();
    let is_option = |byte: &u8| *byte == b'?' && !word.is_empty();
    let (path, options) = rest.split_at(rest.iter().position(is_option).unwrap_or(rest.len()));
    let is_file = Path::new(OsStr::from_bytes(path)).file_name().is_some();
    if !is_file
        || path.ends_with(b"/")
        || rest == b"-"
        || [&b"tcp:"[..], b"unix:", b"tee:"].iter().any(starts)
    {
        return Err(Stop::Message(format!(
            "{}: a recording goes to files, one for each process; give the name of a file",
            said(name)
        )));
    }
    let [word, path, options] =
        [word, path, options].map(|part| OsStr::from_bytes(part).to_owned());
    Ok((word, path.into(), options))
}

/// Returns the numbers in `-4711`, `-4711-2` and `-4711-2.1`: the process, the index of its
/// program, the volume.
fn numbers(rest: &[u8]) -> Option<(u32, u32, Option<u32>)> {
    let rest = std::str::from_utf8(rest.strip_prefix(b"-")?).ok()?;
    let (rest, volume) = match rest.split_once('.') {
        Some((rest, volume)) => (rest, Some(volume.parse().ok()?)),
        None => (rest, None),
    };
    match rest.split_once('-') {
        Some((process, index)) => Some((process.parse().ok()?, index.parse().ok()?, volume)),
        None => Some((rest.parse().ok()?, 1, volume)),
    }
}

/// Returns the number in `.1`.
fn volume(rest: &[u8]) -> Option<u32> {
    std::str::from_utf8(rest.strip_prefix(b".")?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str, folder: &Path) -> Result<Logs, Stop> {
        Logs::new(Some(&folder.join(name)), OsStr::new("program"), false)
    }

    /// `.rep.record.logs`
    #[test]
    fn the_log_of_a_program_is_its_last_one() {
        let folder = tempfile::tempdir().unwrap();
        let logs = name("a%.log", folder.path()).unwrap();
        let pattern = logs.pattern().into_string().unwrap();
        assert!(pattern.ends_with("/a%%.log-%p"), "{pattern}");
        for added in ["-10", "-9-2", "-9", "-9-10", "-9x", "", "-"] {
            fs::write(folder.path().join(format!("a%.log{added}")), "").unwrap();
        }
        let found = |logs: &Logs| -> Vec<(u32, u32)> {
            logs.names().iter().map(|name| (name.process, name.index)).collect()
        };
        assert_eq!(found(&logs), [(9, 1), (9, 2), (9, 10), (10, 1)]);
        let Err(Stop::Message(why)) = name("a%.log", folder.path()) else { panic!("let through") };
        assert!(why.contains("--force"), "{why}");
        logs.finish(9, "program", None, &Missing::default());
        assert_eq!(found(&logs).len(), 4, "another file has the name");
        fs::remove_file(folder.path().join("a%.log")).unwrap();
        logs.finish(9, "program", None, &Missing::default());
        assert_eq!(found(&logs), [(9, 1), (9, 2), (10, 1)]);
    }

    /// `.rep.record.logs`
    #[test]
    fn the_volumes_of_a_log_are_renamed_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let name = |force| {
            let mut name = OsString::from("file:");
            name.push(folder.path().join("a.log?size=1M&count=3"));
            Logs::new(Some(Path::new(&name)), OsStr::new("program"), force)
        };
        let logs = name(false).unwrap_or_else(|_| panic!("refused"));
        for added in ["-9", "-9.1", "-9.10", "-9-2", "-9-2.1", "-9-2.2", "-9.x"] {
            fs::write(folder.path().join(format!("a.log{added}")), "").unwrap();
        }
        let names = logs.names();
        assert_eq!(names.len(), 2);
        let volumes = |at: usize| names[at].files.iter().map(|(volume, _)| *volume);
        assert_eq!(volumes(0).collect::<Vec<_>>(), [None, Some(1), Some(10)]);
        logs.finish(9, "program", None, &Missing::default());
        for added in ["", ".1", ".2", "-9.10"] {
            assert!(folder.path().join(format!("a.log{added}")).exists(), "{added}");
        }
        // Each of them stops another recording.
        let left = |folder: &Path| fs::read_dir(folder).unwrap().count();
        for file in ["a.log", "a.log-9", "a.log-9.1", "a.log-9.10"] {
            fs::remove_file(folder.path().join(file)).unwrap();
        }
        assert!(name(false).is_err() && left(folder.path()) == 3);
        assert!(name(true).is_ok() && left(folder.path()) == 1, "other files stay");
    }
}
