//! Writes the call graph, and the statements, in the format of callgrind.
//!
//! ```text
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
//! valgrind.org/docs/manual/cl-format.html. Design: `.cnv.export.calls` in `design/eventcnv.md`.

use super::named;
use eventlog::format::text::OneLine;
use lens_calls::statements::Statements;
use lens_calls::{CallEdge, Calls, Function, Graph, NONE};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// The file of functions whose place the log does not state.
const NO_FILE: &str = "???";

/// The own times and the executions of statements, by file and line.
type Lines = BTreeMap<(String, u32), (u64, u64)>;

/// Writes a record for each function that was called, calls, or has statements that ran.
pub(super) fn write(
    calls: &Calls,
    graph: &Graph,
    statements: Option<&Statements>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut edges: BTreeMap<Function, Vec<&CallEdge>> = BTreeMap::new();
    for edge in graph.edges().iter().filter(|edge| edge.sum.count > 0) {
        edges.entry(edge.function).or_default();
        edges.entry(edge.caller).or_default().push(edge);
    }
    edges.remove(&NONE);
    let mut lines = statements.map_or_else(BTreeMap::new, lines);
    let has_lines = !lines.is_empty();
    // Own times of statements stand for that of their function.
    let own = |function: Function, lines: &BTreeMap<String, Lines>| {
        let is_own = !lines.contains_key(calls.functions().name(function));
        is_own.then(|| graph.function(function).own)
    };
    let total = edges.keys().filter_map(|at| own(*at, &lines)).fold(0u64, u64::saturating_add);
    let all = lines.values().flat_map(BTreeMap::values);
    let (total, count) = all.fold((total, 0u64), |(total, sum), (ns, count)| {
        (total.saturating_add(*ns), sum.saturating_add(*count))
    });
    let total = if has_lines { format!("{total} {count}") } else { total.to_string() };
    let events = if has_lines { "ns executions" } else { "ns" };
    writeln!(out, "# callgrind format\nversion: 1\ncreator: eventcnv\npositions: line")?;
    writeln!(out, "events: {events}\nsummary: {total}")?;
    let mut names = Names { calls, files: HashMap::new(), functions: HashMap::new() };
    for (function, called) in edges {
        let (file, own_name) = (names.file(function), names.function(function));
        let line = names.line(function);
        writeln!(out, "\nfl={file}\nfn={own_name}")?;
        if let Some(own) = own(function, &lines) {
            writeln!(out, "{line} {own}")?;
        }
        for edge in called {
            let (file, callee) = (names.file(edge.function), names.function(edge.function));
            let to = names.line(edge.function);
            writeln!(out, "cfi={file}\ncfn={callee}\ncalls={} {to}", edge.sum.count)?;
            writeln!(out, "{line} {}", edge.sum.total)?;
        }
        let own = lines.remove(calls.functions().name(function)).unwrap_or_default();
        names.write_lines(&own, names.file_of(function), out)?;
    }
    for (function, own) in lines {
        let first = own.first_key_value().map_or(NO_FILE, |((file, _), _)| file);
        let file = names.numbered_file(first);
        let function = names.numbered(&function);
        writeln!(out, "\nfl={file}\nfn={function}")?;
        names.write_lines(&own, first, out)?;
    }
    writeln!(out, "\ntotals: {total}")
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

/// Names: the first use of a number states its name.
struct Names<'c> {
    calls: &'c Calls,
    files: HashMap<String, usize>,
    functions: HashMap<String, usize>,
}

impl<'c> Names<'c> {
    fn file_of(&self, function: Function) -> &'c str {
        let facts = self.calls.functions().facts(function);
        facts.and_then(|facts| facts.file.as_deref()).unwrap_or(NO_FILE)
    }

    fn file(&mut self, function: Function) -> String {
        self.numbered_file(self.file_of(function))
    }

    fn numbered_file(&mut self, file: &str) -> String {
        let file = OneLine(file.as_bytes()).to_string();
        match self.files.get(&file) {
            Some(number) => format!("({number})"),
            None => {
                let number = self.files.len() + 1;
                self.files.insert(file.clone(), number);
                format!("({number}) {file}")
            }
        }
    }

    fn function(&mut self, function: Function) -> String {
        self.numbered(self.calls.functions().name(function))
    }

    fn numbered(&mut self, function: &str) -> String {
        if let Some(number) = self.functions.get(function) {
            return format!("({number})");
        }
        let number = self.functions.len() + 1;
        self.functions.insert(function.to_owned(), number);
        format!("({number}) {}", named(function))
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
