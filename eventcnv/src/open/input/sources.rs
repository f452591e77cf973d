//! The source files of the statements in a log: found in a folder, and compared with the log.
//!
//! ```text
//!  name in the log ── the folder, with ever fewer leading folders ──▶ file ──▶ text of a statement
//!                         └ gone │ newer than the log │ does not fit: a note
//! ```
//!
//! A log never makes the tool read a file outside of the folder. Design: `.cnv.lines.source` in
//! `design/eventcnv.md`.

use eventlog::format::text::OneLine;
use eventlog::reader::Log;
use lens::statements::Facts;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Bytes of a source file, at most.
const SIZE_MAX: u64 = 16 << 20;
/// Bytes of all source files, at most.
const MEMORY_MAX: u64 = 256 << 20;
/// Characters of a statement's text, at most.
const TEXT_SIZE_MAX: usize = 60;
/// Files that are named in a note, at most.
const NAMED_COUNT_MAX: usize = 3;

/// A source file.
#[derive(Debug)]
pub(crate) struct Source {
    bytes: Vec<u8>,
    /// Where each line begins.
    lines: Vec<usize>,
    /// Whether it was changed after the log began.
    pub(crate) is_newer: bool,
    /// Statements that are not where the log says.
    misfit_count: usize,
}

/// The source files of a log.
#[derive(Debug)]
pub(crate) struct Sources {
    folder: PathBuf,
    /// When the log begins, if it tells.
    since: Option<SystemTime>,
    files: BTreeMap<Box<str>, Option<Source>>,
    room: u64,
}

impl Source {
    fn read(path: &Path, since: Option<SystemTime>, room: u64) -> Option<Source> {
        // A FIFO would wait, and a device has no end.
        let facts = fs::metadata(path).ok().filter(|facts| facts.is_file())?;
        let mut bytes = Vec::new();
        let limit = SIZE_MAX.min(room);
        fs::File::open(path).ok()?.take(limit + 1).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 > limit {
            return None;
        }
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let lines = [0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect();
        let is_newer = facts.modified().ok().zip(since).is_some_and(|(own, since)| own > since);
        Some(Source { bytes, lines, is_newer, misfit_count: 0 })
    }

    /// Returns its lines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let bytes = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        bytes.split(|byte| *byte == b'\n')
    }

    /// Returns the bytes from a statement on, if it is where the log says: its offset is in its
    /// line, at its column. A statement without a size has no offset either.
    fn from<'s>(&'s self, facts: &Facts) -> Option<&'s [u8]> {
        let at = (facts.line as usize).checked_sub(1)?;
        let begin = *self.lines.get(at)?;
        let line = self.bytes.get(begin..)?.split(|byte| *byte == b'\n').next()?;
        let line = str::from_utf8(line).ok()?;
        let column = (facts.column as usize).checked_sub(1)?;
        let before: usize = line.chars().take(column).map(char::len_utf8).sum();
        let (from, size) = (begin + before, facts.size as usize);
        let is_right = size == 0 || from == facts.offset as usize;
        let text = self.bytes.get(from..from.checked_add(size)?)?;
        let is_in_line = line.chars().nth(column).is_some();
        (is_right && is_in_line && str::from_utf8(text).is_ok())
            .then(|| self.bytes.get(from..))
            .flatten()
    }

    /// Returns the first line of a statement that is where the log says.
    fn text(&self, facts: &Facts) -> Option<String> {
        let from = self.from(facts)?;
        let size = if facts.size == 0 { from.len() } else { facts.size as usize };
        let text = from.get(..size).unwrap_or(from);
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let first = OneLine(first).to_string();
        let first = first.trim();
        let is_more = facts.size > 0 && text.trim_ascii().contains(&b'\n');
        Some(match first.char_indices().nth(TEXT_SIZE_MAX) {
            Some((end, _)) => format!("{}…", first.get(..end).unwrap_or(first)),
            None if is_more => format!("{first} …"),
            None => first.to_owned(),
        })
    }
}

impl Sources {
    /// Returns the sources of a log, in a folder.
    pub(crate) fn new(log: &Log, folder: &Path) -> Sources {
        let syncs = log.streams().iter().filter_map(|stream| stream.syncs.first());
        let since = syncs.map(|sync| sync.realtime).filter(|realtime| *realtime > 0).min();
        let since =
            since.and_then(|ns| SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(ns)));
        Sources { folder: folder.to_owned(), since, files: BTreeMap::new(), room: MEMORY_MAX }
    }

    /// Returns the file with a name of the log.
    fn find(&mut self, name: &str) -> &mut Option<Source> {
        if !self.files.contains_key(name) {
            let found =
                self.candidates(name).find_map(|path| Source::read(&path, self.since, self.room));
            self.room -= found.as_ref().map_or(0, |found| found.bytes.len() as u64).min(self.room);
            self.files.insert(name.into(), found);
        }
        self.files.entry(name.into()).or_default()
    }

    /// Returns where a file may be: at its name in the folder, then with ever fewer of the leading
    /// folders of the name. A name with `..` counts from what follows.
    fn candidates(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        let inside = Path::new(name);
        let inside = inside.strip_prefix(&self.folder).unwrap_or(inside);
        let mut parts: Vec<_> = Vec::new();
        for part in inside.components() {
            match part {
                Component::Normal(part) => parts.push(part.to_owned()),
                Component::CurDir => {}
                _ => parts.clear(),
            }
        }
        let folder = self.folder.clone();
        (0..parts.len()).map(move |from| {
            let rest = parts.get(from..).unwrap_or_default();
            folder.join(rest.iter().collect::<PathBuf>())
        })
    }

    /// Returns the file with a name of the log, if it exists.
    pub(crate) fn file(&mut self, name: &str) -> Option<&Source> {
        self.find(name).as_ref()
    }

    /// Returns how many letters of its first line a statement takes, and how many lines follow, if
    /// its file fits the log there.
    pub(crate) fn extent(&mut self, facts: &Facts) -> Option<(usize, u32)> {
        let from = self.file(facts.file.as_deref()?)?.from(facts)?;
        let text = str::from_utf8(from.get(..facts.size as usize)?).ok()?;
        let first = text.lines().next().unwrap_or_default();
        Some((first.chars().count(), text.matches('\n').count() as u32))
    }

    /// Returns the text of a statement, on one line, if its file fits the log there.
    pub(crate) fn text(&mut self, facts: &Facts) -> Option<String> {
        let source = self.find(facts.file.as_deref()?).as_mut()?;
        let text = source.text(facts);
        source.misfit_count += usize::from(text.is_none());
        text
    }

    /// Returns notes about the files that were asked for.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let note = |what: &str, is_so: &dyn Fn(&Option<Source>) -> bool| {
            let names = self.files.iter().filter(|(_, source)| is_so(source));
            let names: Vec<String> =
                names.map(|(name, _)| OneLine(name.as_bytes()).to_string()).collect();
            let rest = names.len().saturating_sub(NAMED_COUNT_MAX);
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            let first = names.get(..names.len() - rest).unwrap_or_default().join(", ");
            (!names.is_empty()).then(|| format!("{first}{more}: {what}"))
        };
        let folder = self.folder.display().to_string();
        let folder = if folder.is_empty() { "this folder".to_owned() } else { folder };
        let gone =
            format!("no such source file in {folder}; name the program's folder by --source DIR");
        let has = |source: &Option<Source>, is_so: fn(&Source) -> bool| {
            source.as_ref().is_some_and(is_so)
        };
        // The tool reads no other folder by itself: the log names it.
        let gone_folder =
            self.files.iter().filter(|(_, source)| source.is_none()).find_map(|(name, _)| {
                Path::new(&**name).parent().filter(|folder| folder.is_absolute())
            });
        let gone = match gone_folder {
            Some(folder) => {
                let folder = folder.display().to_string();
                format!("{gone}, such as --source {}", OneLine(folder.as_bytes()))
            }
            None => gone,
        };
        [
            note(&gone, &|source| source.is_none()),
            note(
                "the source file does not fit the log: statements are not at their places in it; \
                 their text is left out",
                &|source| has(source, |source| source.misfit_count > 0),
            ),
            note("the source file is newer than the log", &|source| {
                has(source, |source| source.is_newer && source.misfit_count == 0)
            }),
        ]
        .into_iter()
        .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts([line, column, offset, size]: [u32; 4]) -> Facts {
        Facts { file: Some("src/a.rs".into()), line, column, offset, size, ..Facts::default() }
    }

    fn sources(folder: &Path) -> Sources {
        let (files, room) = (BTreeMap::new(), MEMORY_MAX);
        Sources { folder: folder.to_owned(), since: None, files, room }
    }

    /// Tabs, ends of lines of Windows, long lines, letters of several bytes, no end of a line.
    #[test]
    fn a_text_is_the_first_line_of_its_statement() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        let long = "x".repeat(100);
        let text =
            format!("fn f() {{\r\n\tlet é = 1; g(\u{202e}é,\t2);\r\n\twhile a {{\r\n}}\r\n{long}");
        fs::write(folder.path().join("src/a.rs"), &text).unwrap();
        let mut sources = sources(folder.path());
        let at = |what: &str| text.find(what).unwrap() as u32;
        for (place, expected) in [
            ([2, 2, at("let"), 11], Some("let é = 1;")),
            ([2, 13, at("g("), 13], Some("g(\u{fffd}é, 2);")),
            ([2, 13, 0, 0], Some("g(\u{fffd}é, 2);")),
            ([3, 2, at("while"), 12], Some("while a { …")),
            ([5, 1, at("xxx"), 100], Some(&*format!("{}…", "x".repeat(60)))),
            ([2, 12, at("g("), 13], None),
            ([3, 2, at("let"), 11], None),
            ([9, 2, at("let"), 11], None),
            ([0, 0, 0, 0], None),
            ([2, 2, at("let"), 5], None),
            ([5, 1, at("xxx"), 101], None),
            ([5, 1, u32::MAX, u32::MAX], None),
        ] {
            assert_eq!(sources.text(&facts(place)).as_deref(), expected, "{place:?}");
        }
        let notes: Vec<String> = sources.notes().collect();
        assert!(notes.len() == 1 && notes[0].starts_with("src/a.rs: the source file does not fit"));
    }

    /// A log names no file outside of the folder, no folder, and nothing that never ends.
    #[test]
    fn a_log_reads_no_file_outside_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir_all(inside.join("src")).unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        fs::write(inside.join("src/a.rs"), "a();").unwrap();
        let mut sources = sources(&inside);
        let absolute = inside.join("src/a.rs").display().to_string();
        for name in ["src/a.rs", "./src/a.rs", "/build/src/a.rs", "a/../../x/src/a.rs", &absolute] {
            assert!(sources.find(name).is_some(), "{name}");
        }
        let secret = folder.path().join("secret").display().to_string();
        for name in
            ["../secret", "src/../../secret", &secret, "src", "", "/", "..", "/dev/zero", "\0"]
        {
            assert!(sources.find(name).is_none(), "{name}");
        }
    }
}
