//! The statements of a log and the text around them, as the tab *Source* of the page has them.
//!
//! ```text
//!  statements, hot first ── by function ──▶ rows ─┐
//!  source files ── lines of these functions ──────┼── until the room is used ──▶ JSON
//!             └─── the rest of the files ─────────┘
//! ```
//!
//! Design: `.cnv.report.source` in `design/eventcnv.md`.

use crate::ask::calls::summary::demangled;
use crate::ask::lines::reading::all_notes;
use crate::ask::lines::summary::{Line, Which, lines, method_name};
use crate::ask::lines::view::by_statement;
use crate::open::input::sources::Sources;
use crate::page::view::calls::text;
use cli::table::Cell;
use eventlog::format::text::is_steering;
use eventlog::reader::ClockBase;
use lens::calls::Function;
use lens::statements::{Facts, Statements};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Bytes of the tab, at most; and its statements.
const SIZE_MAX: usize = 4_000_000;
const STATEMENT_COUNT_MAX: usize = 20_000;
/// Bytes of a file without statements and text, about.
const FILE_SIZE: usize = 100;
/// Letters of a line of text, at most.
const LINE_LENGTH_MAX: usize = 400;
/// Lines above a function's first statement that its definition may take.
const HEAD_COUNT_MAX: u32 = 50;
/// The columns of a row of numbers, in the table of statements.
const NUMBERS: std::ops::Range<usize> = 2..18;

/// The statements of a log, and their texts.
pub(crate) struct Lines<'l> {
    pub(crate) found: &'l Statements,
    pub(crate) sources: &'l RefCell<Sources>,
    pub(crate) base: ClockBase,
    /// Whether a selection leaves sums out.
    pub(crate) is_part: bool,
}

/// The statements of a function in a file.
struct Unit<'s> {
    file: Option<&'s str>,
    function: Function,
    name: &'s str,
    /// Places in the list of all, the hottest first.
    members: Vec<usize>,
}

/// A source file on the page.
struct File<'s> {
    name: &'s str,
    /// Its lines, each with its size in the page; none if there is no such file.
    lines: Option<Vec<(String, usize)>>,
    is_newer: bool,
    /// The lines that the page has.
    shown: Vec<bool>,
    /// Statements that are not at their places in it, and those that are not on the page.
    misfits: usize,
    left: usize,
}

impl<'s> File<'s> {
    fn new(name: &'s str, sources: &mut Sources) -> File<'s> {
        let source = sources.file(name);
        let is_newer = source.is_some_and(|source| source.is_newer);
        let lines: Option<Vec<_>> = source.map(|source| source.lines().map(line).collect());
        let shown = vec![false; lines.as_ref().map_or(0, Vec::len)];
        File { name, lines, is_newer, shown, misfits: 0, left: 0 }
    }

    /// Shows lines as far as there is room, and returns their size.
    fn show(&mut self, wanted: RangeInclusive<u32>, room: usize) -> usize {
        let mut size = 0;
        let end = self.shown.len().min(*wanted.end() as usize);
        let wanted = (*wanted.start() as usize).saturating_sub(1).min(end)..end;
        let lines = self.lines.as_deref().and_then(|lines| lines.get(wanted.clone()));
        let shown = self.shown.get_mut(wanted).into_iter().flatten();
        for ((_, own), is_shown) in lines.into_iter().flatten().zip(shown) {
            if !*is_shown && size + own <= room {
                *is_shown = true;
                size += own;
            }
        }
        size
    }

    /// Shows the rest of the file if there is room for it all, and returns its size. Without some
    /// of its statements, its text would look as if nothing there could run.
    fn show_all(&mut self, room: usize) -> usize {
        if self.left > 0 {
            return 0;
        }
        let hidden = self.lines.iter().flatten().zip(&self.shown).filter(|(_, shown)| !**shown);
        let size: usize = hidden.map(|((_, size), _)| size).sum();
        if size > room { 0 } else { self.show(1..=u32::MAX, room) }
    }

    fn data(&self) -> Value {
        let mut parts: Vec<(usize, Vec<&str>)> = Vec::new();
        let lines = self.lines.iter().flatten();
        for (at, ((text, _), is_shown)) in (1..).zip(lines.zip(&self.shown)) {
            match parts.last_mut() {
                _ if !is_shown => {}
                Some((from, part)) if *from + part.len() == at => part.push(text),
                _ => parts.push((at, vec![text])),
            }
        }
        json!({
            "name": text(self.name),
            "lineCount": self.lines.as_ref().map(Vec::len),
            "isNewer": self.is_newer,
            "misfits": self.misfits,
            "left": self.left,
            "parts": parts.iter().map(|(from, part)| json!([from, part.join("\n")]))
                .collect::<Value>(),
        })
    }
}

/// What the page has so far.
struct Chosen<'l, 's> {
    found: &'s Statements,
    sources: &'l mut Sources,
    files: Vec<File<'s>>,
    file_places: HashMap<&'s str, usize>,
    names: Vec<String>,
    name_places: HashMap<Function, usize>,
    /// The places of functions: file, name, first and last line, and the line of the definition.
    units: Vec<Value>,
    /// Rows with their places in the list of all.
    rows: Vec<(usize, Value)>,
    /// Bytes that are left.
    room: usize,
}

impl<'l, 's> Chosen<'l, 's> {
    fn new(found: &'s Statements, sources: &'l mut Sources) -> Chosen<'l, 's> {
        Chosen {
            found,
            sources,
            files: Vec::new(),
            file_places: HashMap::new(),
            names: Vec::new(),
            name_places: HashMap::new(),
            units: Vec::new(),
            rows: Vec::new(),
            room: SIZE_MAX,
        }
    }

    /// Returns the numbers of a file and of a function on the page, if there is room for them.
    fn place(&mut self, unit: &Unit<'s>) -> Option<(usize, usize)> {
        let file_name = unit.file.unwrap_or("");
        let known = self.file_places.get(file_name).copied();
        if known.is_none() {
            self.room = self.room.checked_sub(FILE_SIZE + size_of(&text(file_name)))?;
        }
        let of = known.unwrap_or(self.files.len());
        if known.is_none() {
            self.files.push(File::new(file_name, self.sources));
            self.file_places.insert(file_name, of);
        }
        if let Some(name) = self.name_places.get(&unit.function) {
            return Some((of, *name));
        }
        let name = text(&demangled(unit.name));
        let room = self.room.checked_sub(size_of(&name));
        let is_full = room.is_none() || self.rows.len() >= STATEMENT_COUNT_MAX;
        if is_full && let Some(file) = self.files.get_mut(of) {
            file.left += unit.members.len();
            return None;
        }
        self.room = room?;
        self.names.push(name);
        self.name_places.insert(unit.function, self.names.len() - 1);
        Some((of, self.names.len() - 1))
    }

    /// Takes the statements of a function, and its lines.
    fn take(&mut self, unit: &Unit<'s>, all: &[Line<'s>], numbers: &[Vec<Cell>]) {
        let Some((of, name)) = self.place(unit) else { return };
        let mut lines: Option<RangeInclusive<u32>> = None;
        for at in &unit.members {
            let (Some(line), Some(cells)) = (all.get(*at), numbers.get(*at)) else { continue };
            let facts = line.facts;
            // The files count those that do not fit.
            let extent = self.sources.text(facts).and_then(|_| self.sources.extent(facts));
            let row = self.row([of, name], line, cells, extent);
            let size = row.to_string().len() + 1;
            let Some(file) = self.files.get_mut(of) else { continue };
            file.misfits += usize::from(extent.is_none() && file.lines.is_some());
            if self.rows.len() >= STATEMENT_COUNT_MAX || size > self.room {
                file.left += 1;
                continue;
            }
            self.room -= size;
            self.rows.push((*at, row));
            if let Some((_, line_ends)) = extent {
                let end = facts.line.saturating_add(line_ends);
                let (from, to) = lines.map_or((facts.line, end), |lines| {
                    (facts.line.min(*lines.start()), end.max(*lines.end()))
                });
                lines = Some(from..=to);
            }
        }
        let (Some(lines), Some(file)) = (lines, self.files.get_mut(of)) else { return };
        let head = head(self.found, unit, *lines.start());
        let first = head.unwrap_or(lines.start().saturating_sub(1));
        let lines = first..=lines.end().saturating_add(1);
        self.room -= file.show(lines.clone(), self.room / 4);
        self.units.push(json!([of, name, lines.start(), lines.end(), head]));
    }

    /// Returns the row of a statement: its file and name, its place, its extent in letters and ends
    /// of lines, what is odd about it, and its numbers.
    fn row(
        &self,
        [of, name]: [usize; 2],
        line: &Line<'_>,
        cells: &[Cell],
        extent: Option<(usize, u32)>,
    ) -> Value {
        let facts = line.facts;
        let is_wrong = self.found.contradiction(line.statement).is_some();
        let flags = [extent.is_some(), line.waits, facts.is_ambiguous, is_wrong];
        let flags = flags.iter().zip(0..).map(|(is, at)| u32::from(*is) << at).sum::<u32>();
        let (letters, line_ends) = extent.unwrap_or_default();
        let place = [json!(of), json!(name), json!(facts.line), json!(facts.column)];
        let what = [json!(letters), json!(line_ends), json!(flags), json!(facts.places)];
        let numbers = cells.get(NUMBERS).unwrap_or_default().iter().map(number);
        let mut row: Vec<Value> = place.into_iter().chain(what).chain(numbers).collect();
        row.truncate(row.iter().rposition(|value| !value.is_null()).map_or(0, |at| at + 1));
        Value::from(row)
    }
}

impl Lines<'_> {
    pub(super) fn data(&self) -> Value {
        let found = self.found;
        let all = lines(found, Which::All);
        let numbers = by_statement(found, Which::All, |_| None).rows;
        let mut sources = self.sources.borrow_mut();
        let mut chosen = Chosen::new(found, &mut sources);
        units_of(&all).iter().for_each(|unit| chosen.take(unit, &all, &numbers));
        let Chosen { mut files, names, units, mut rows, mut room, .. } = chosen;
        files.iter_mut().for_each(|file| room -= file.show_all(room));
        rows.sort_unstable_by_key(|(at, _)| *at);
        let count = |is: fn(&Line<'_>) -> bool| all.iter().filter(|line| is(line)).count();
        let own = all.iter().filter_map(Line::busy).map(|times| times.own.bound()).sum::<f64>();
        let notes = all_notes(found).into_iter().chain(sources.notes());
        json!({
            "isNs": self.base != ClockBase::Ticks,
            "method": method_name(found.method()),
            "hasTimes": found.has_times(),
            "hasTrace": found.has_trace(),
            "isPart": self.is_part,
            "count": all.len(),
            "ran": count(|line| line.count > 0),
            "never": count(|line| line.count == 0 && line.facts.places > 0),
            "own": own.round(),
            "notes": notes.map(|note| text(&note)).collect::<Value>(),
            "functions": names,
            "units": units,
            "files": files.iter().map(File::data).collect::<Value>(),
            "rows": rows.into_iter().map(|(_, row)| row).collect::<Value>(),
        })
    }
}

/// Returns the line in which a function begins, if it is a little above its first statement.
fn head(found: &Statements, unit: &Unit<'_>, first: u32) -> Option<u32> {
    let facts = found.functions().facts(unit.function)?;
    let is_near = facts.line <= first && first - facts.line <= HEAD_COUNT_MAX;
    (facts.line > 0 && is_near && facts.file.as_deref() == unit.file).then_some(facts.line)
}

/// Returns the functions of statements, that with the hottest statement first.
fn units_of<'s>(all: &[Line<'s>]) -> Vec<Unit<'s>> {
    let mut places: HashMap<(Option<&str>, Function), usize> = HashMap::new();
    let mut units: Vec<Unit<'s>> = Vec::new();
    for (at, line) in all.iter().enumerate() {
        let Facts { file, function, .. } = line.facts;
        let file = file.as_deref();
        let place = *places.entry((file, *function)).or_insert_with(|| {
            units.push(Unit { file, function: *function, name: line.function, members: vec![] });
            units.len() - 1
        });
        if let Some(unit) = units.get_mut(place) {
            unit.members.push(at);
        }
    }
    units
}

/// Returns a line of a file as the page shows it, and its size in the page.
fn line(bytes: &[u8]) -> (String, usize) {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    // A letter takes 4 bytes at most.
    let few = bytes.get(..4 * LINE_LENGTH_MAX + 4).unwrap_or(bytes);
    let text = String::from_utf8_lossy(few);
    let seen = |c: char| if c != '\t' && is_steering(c) { '\u{FFFD}' } else { c };
    let mut line: String = text.chars().take(LINE_LENGTH_MAX).map(seen).collect();
    if text.chars().nth(LINE_LENGTH_MAX).is_some() {
        line.push('…');
    }
    let size = size_of(&line);
    (line, size)
}

/// Returns a number: `[n, 0]` is at most n, `[n, 1]` is about n.
fn number(cell: &Cell) -> Value {
    match cell {
        Cell::None | Cell::Change(_) | Cell::Truth(_) => Value::Null,
        Cell::Text(text) => json!(text),
        Cell::Words(_, value) => value.clone(),
        Cell::Number(number) => json!(number),
        Cell::About(number) => json!([self::number(number), 1]),
        Cell::Real(value) | Cell::Scaled(value, _) => json!((value * 10.0).round() / 10.0),
        Cell::Bound(number) => json!([number, 0]),
    }
}

/// Returns how many bytes a text takes in the page.
fn size_of(text: &str) -> usize {
    json!(text).to_string().len() + 5 * text.matches('<').count()
}
