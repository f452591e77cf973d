//! Writes the call graph, and the statements, in the format of callgrind.
//!
//! ```text
//!  ob=(1) target/shop  of a function without a line: the program or the library that it is in
//!  fl=(1) src/shop.rs
//!  fn=(1) shop::main
//!  10 485              own time at the line of the function
//!  11 80 3             of a log with statements: own time and executions of those in a line
//!  cfi=(1)
//!  cfn=(2) shop::sell
//!  calls=3 20          how often, and the line of the called function
//!  10 393              the time of these calls
//! ```
//!
//! A reader adds up the times of the calls of a function, so each time is in one of them alone:
//! `levels` has recursion as callgrind has it.
//!
//! valgrind.org/docs/manual/cl-format.html. Design: `.cnv.export.calls` in `design/eventcnv.md`.

use crate::export::calls::levels::{Level, Levels, OUTSIDE, Record};
use crate::export::calls::names::named;
use eventlog::format::text::OneLine;
use lens::calls::{Calls, Facts, Function, NONE};
use lens::statements::Statements;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::iter;

/// The file of functions whose place the log does not state.
const NO_FILE: &str = "???";
/// The name of the caller of functions that no function calls.
const NO_CALLER: &str = "(no caller)";

/// The own times and the executions of statements, by file and line.
type Lines = BTreeMap<(String, u32), (u64, u64)>;

/// Writes a record for each function that was called, calls, or has statements that ran.
pub(super) fn write(
    calls: &Calls,
    statements: Option<&Statements>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut lines = statements.map_or_else(BTreeMap::new, lines);
    let has_lines = !lines.is_empty();
    let levels = Levels::of(calls.tree(), &same(calls));
    // Own times of statements stand for that of their function.
    let own = |level: &Level, record: &Record, lines: &BTreeMap<String, Lines>| {
        let is_own = !lines.contains_key(calls.functions().name(level.function));
        is_own.then_some(record.own).filter(|_| *level != OUTSIDE)
    };
    let all = levels.records.iter().filter_map(|(level, record)| own(level, record, &lines));
    let total = all.fold(0u64, u64::saturating_add);
    let all = lines.values().flat_map(BTreeMap::values);
    let (total, count) = all.fold((total, 0u64), |(total, sum), (ns, count)| {
        (total.saturating_add(*ns), sum.saturating_add(*count))
    });
    // Own times lack that of calls that are not selected, and what a correction takes out.
    let total = total.max(levels.time);
    let total = if has_lines { format!("{total} {count}") } else { total.to_string() };
    let events = if has_lines { "ns executions" } else { "ns" };
    writeln!(out, "# callgrind format\nversion: 1\ncreator: eventcnv\npositions: line")?;
    writeln!(out, "events: {events}\nsummary: {total}")?;
    let [files, functions, objects] = Default::default();
    let mut names = Names { calls, files, functions, objects };
    // That of the functions that follow, until another one is written.
    let (mut object, mut last) = ("", NONE);
    for (level, record) in &levels.records {
        let function = level.function;
        let (file, own_name) = (names.file(function), names.level(*level));
        let line = names.line(function);
        writeln!(out)?;
        names.change_object("ob", &mut object, names.object_of(function), out)?;
        writeln!(out, "fl={file}\nfn={own_name}")?;
        if let Some(own) = own(level, record, &lines) {
            writeln!(out, "{line} {own}")?;
        }
        for (to, (count, time)) in &record.called {
            let (file, callee) = (names.file(to.function), names.level(*to));
            names.change_object("cob", &mut { object }, names.object_of(to.function), out)?;
            writeln!(out, "cfi={file}\ncfn={callee}")?;
            writeln!(out, "calls={count} {}\n{line} {time}", names.line(to.function))?;
        }
        if function != last {
            let own = lines.get(calls.functions().name(function));
            names.write_lines(own.unwrap_or(&Lines::new()), names.file_of(function), out)?;
        }
        last = function;
    }
    for level in levels.records.keys().filter(|level| **level != OUTSIDE) {
        lines.remove(calls.functions().name(level.function));
    }
    for (function, own) in lines {
        let first = own.first_key_value().map_or(NO_FILE, |((file, _), _)| file);
        let file = names.numbered_file(first);
        let function = names.numbered(&named(&function));
        writeln!(out, "\nfl={file}\nfn={function}")?;
        names.write_lines(&own, first, out)?;
    }
    writeln!(out, "\ntotals: {total}")
}

/// Returns for each function the first one with its name and its file: a reader tells no others
/// apart.
fn same(calls: &Calls) -> Vec<Function> {
    let mut first: HashMap<(&str, String), Function> = HashMap::new();
    let all = calls.functions().iter();
    let same = all
        .map(|(at, facts)| *first.entry((file_of(Some(facts)), named(&facts.name))).or_insert(at));
    iter::once(NONE).chain(same).collect()
}

fn file_of(facts: Option<&Facts>) -> &str {
    let facts = facts.filter(|facts| facts.line > 0);
    facts.and_then(|facts| facts.file.as_deref()).unwrap_or(NO_FILE)
}

/// Returns the lines with statements that ran, by the name of their function.
fn lines(statements: &Statements) -> BTreeMap<String, Lines> {
    let mut all: BTreeMap<String, Lines> = BTreeMap::new();
    for (at, facts) in statements.iter() {
        let count = statements.count(at);
        if count == 0 {
            continue;
        }
        let file = facts.file.as_deref().unwrap_or(NO_FILE).to_owned();
        let own = statements.times(at).filter(|_| !statements.waits(at));
        let own = own.map_or(0.0, |times| if times.own.is_below() { 0.0 } else { times.own.ns });
        let function = statements.function_name(at).to_owned();
        let line = all.entry(function).or_default().entry((file, facts.line)).or_default();
        *line = (line.0.saturating_add(own.round() as u64), line.1.saturating_add(count));
    }
    all
}

/// The numbers of names.
type Numbers = HashMap<String, usize>;

/// Names: the first use of a number states its name.
struct Names<'c> {
    calls: &'c Calls,
    files: Numbers,
    functions: Numbers,
    objects: Numbers,
}

impl<'c> Names<'c> {
    fn file_of(&self, function: Function) -> &'c str {
        file_of(self.calls.functions().facts(function))
    }

    /// Returns the program or the library of a function without a line.
    fn object_of(&self, function: Function) -> &'c str {
        let facts = self.calls.functions().facts(function).filter(|facts| facts.line == 0);
        facts.and_then(|facts| facts.file.as_deref()).unwrap_or_default()
    }

    /// Writes the object of what follows, if it is another one.
    fn change_object(
        &mut self,
        key: &str,
        current: &mut &'c str,
        object: &'c str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if *current == object {
            return Ok(());
        }
        *current = object;
        let object = if object.is_empty() { NO_FILE } else { object };
        writeln!(out, "{key}={}", numbered(&mut self.objects, &one_line(object)))
    }

    fn file(&mut self, function: Function) -> String {
        self.numbered_file(self.file_of(function))
    }

    fn numbered_file(&mut self, file: &str) -> String {
        numbered(&mut self.files, &one_line(file))
    }

    /// Returns a function as callgrind names it at a level.
    fn level(&mut self, level: Level) -> String {
        let name = match level {
            OUTSIDE => NO_CALLER.to_owned(),
            Level { function, .. } => named(self.calls.functions().name(function)),
        };
        self.numbered(&if level.is_inner { name + "'2" } else { name })
    }

    fn numbered(&mut self, function: &str) -> String {
        numbered(&mut self.functions, function)
    }

    fn line(&self, function: Function) -> u32 {
        self.calls.functions().facts(function).map_or(0, |facts| facts.line)
    }

    /// Writes lines; the first ones may be in the file that is the current one.
    fn write_lines<'l>(
        &mut self,
        lines: &'l Lines,
        mut current: &'l str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for ((file, line), (ns, count)) in lines {
            if current != file {
                writeln!(out, "fi={}", self.numbered_file(file))?;
                current = file;
            }
            writeln!(out, "{line} {ns} {count}")?;
        }
        Ok(())
    }
}

fn one_line(text: &str) -> String {
    OneLine(text.as_bytes()).to_string()
}

/// Returns the number of a name, with the name if this is its first use.
fn numbered(numbers: &mut Numbers, name: &str) -> String {
    if let Some(number) = numbers.get(name) {
        return format!("({number})");
    }
    let number = numbers.len() + 1;
    numbers.insert(name.to_owned(), number);
    format!("({number}) {name}")
}
