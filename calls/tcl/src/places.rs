//! The statements of the process: one for each place in a file, or for each text without a place.
//!
//! ```text
//!  file, line, text ─▶ Script of the file ─▶ offset, size ─▶ Statement
//!  procedure, text ───────────────────────────────────────▶ Statement
//! ```
//!
//! All interpreters and threads share them. Design: `.statements.tcl` in `design/statements.md`.

use crate::script::{SIZE_MAX, Script};
use calls::Statement;
use foldhash::HashMap;
use std::fs;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Texts without a place, at most.
const TEXT_COUNT_MAX: usize = 4096;
/// Texts without a place of one procedure that begin with the same word, at most: callbacks get
/// other arguments each time.
const TEXT_COUNT_MAX_OF_WORD: usize = 16;
/// Characters of a text in a label, at most.
const LABEL_SIZE_MAX: usize = 80;
/// Files that are read, at most: one that was changed counts again.
const READ_COUNT_MAX: usize = 4096;

/// The statement of all that are beyond a limit.
const OTHERS: &str = "(others)";

/// What tells whether a file was changed.
type Stamp = Option<(u64, Option<SystemTime>)>;

#[derive(Default)]
struct Places {
    scripts: HashMap<Vec<u8>, (Stamp, Option<Arc<Script>>)>,
    read_count: usize,
    by_place: HashMap<(Vec<u8>, [u32; 4]), Statement>,
    by_text: HashMap<(Vec<u8>, Vec<u8>), Statement>,
    word_counts: HashMap<(Vec<u8>, Vec<u8>), usize>,
    others: Option<Statement>,
}

fn places() -> MutexGuard<'static, Option<Places>> {
    static PLACES: Mutex<Option<Places>> = Mutex::new(None);
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for what is beyond the limits.
pub(crate) fn prepare() {
    let mut places = places();
    let others = &mut places.get_or_insert_default().others;
    *others = others.or_else(|| Statement::new(OTHERS, "", [0; 4]));
}

/// Returns the text of a file. `is_stale`: look whether the file was changed.
pub(crate) fn script(path: &[u8], is_stale: bool) -> Option<Arc<Script>> {
    let mut places = places();
    let Places { scripts, read_count, .. } = places.get_or_insert_default();
    let known = scripts.get(path);
    if let Some((_, script)) = known.filter(|_| !is_stale) {
        return script.clone();
    }
    let name = String::from_utf8_lossy(path);
    let facts = fs::metadata(&*name).ok().filter(|facts| facts.is_file());
    let stamp = facts.map(|facts| (facts.len(), facts.modified().ok()));
    if let Some((before, script)) = known
        && *before == stamp
    {
        return script.clone();
    }
    if *read_count >= READ_COUNT_MAX {
        return None;
    }
    *read_count += 1;
    let script = stamp.and_then(|_| read(&name)).map(|text| Arc::new(Script::new(path, text)));
    scripts.insert(path.to_vec(), (stamp, script.clone()));
    script
}

/// Returns the last part of a path.
pub(crate) fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

fn read(name: &str) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(name).ok()?.take(SIZE_MAX as u64 + 1).read_to_end(&mut text).ok()?;
    (text.len() <= SIZE_MAX).then_some(text)
}

/// Returns the statement at a place: line, column, offset and size. The first function that ran it
/// is its function.
pub(crate) fn at(function: &[u8], file: &[u8], place: [u32; 4]) -> Option<Statement> {
    let mut places = places();
    let places = places.get_or_insert_default();
    let key = (file.to_vec(), place);
    if let Some(statement) = places.by_place.get(&key) {
        return Some(*statement);
    }
    let names = [function, file].map(String::from_utf8_lossy);
    let Some(statement) = Statement::new(&names[0], &names[1], place) else { return places.others };
    places.by_place.insert(key, statement);
    Some(statement)
}

/// Returns the statement for a text without a place.
pub(crate) fn with_text(function: &[u8], text: &[u8]) -> Option<Statement> {
    let mut places = places();
    let places = places.get_or_insert_default();
    let mut key = (function.to_vec(), text.to_vec());
    if let Some(statement) = places.by_text.get(&key) {
        return Some(*statement);
    }
    let word = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let count = places.word_counts.get(&(function.to_vec(), word.to_vec()));
    if *count.unwrap_or(&0) >= TEXT_COUNT_MAX_OF_WORD {
        key.1 = [word, " …".as_bytes()].concat();
        if let Some(statement) = places.by_text.get(&key) {
            return Some(*statement);
        }
    }
    if places.by_text.len() >= TEXT_COUNT_MAX {
        return places.others;
    }
    let label = label(function, &key.1);
    let Some(statement) = Statement::new(&label, "", [0; 4]) else { return places.others };
    *places.word_counts.entry((function.to_vec(), word.to_vec())).or_default() += 1;
    places.by_text.insert(key, statement);
    Some(statement)
}

fn label(function: &[u8], text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().next().unwrap_or_default();
    let end = line.char_indices().nth(LABEL_SIZE_MAX).map_or(line.len(), |(at, _)| at);
    let more = if end < text.len() { "…" } else { "" };
    format!("{} {}{more}", String::from_utf8_lossy(function), &line[..end])
}
