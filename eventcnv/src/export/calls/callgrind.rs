//! Writes the call graph in the format of callgrind.
//!
//! ```text
//!  fl=(1) src/shop.rs
//!  fn=(1) shop::main
//!  10 485              own time at the line of the function
//!  cfi=(1)
//!  cfn=(2) shop::sell
//!  calls=3 20          how often, and the line of the called function
//!  10 393              the time of these calls
//! ```
//!
//! valgrind.org/docs/manual/cl-format.html. Design: `.cnv.export.calls` in `design/eventcnv.md`.

use super::name;
use lens_calls::{CallEdge, Calls, Function, Graph, NONE};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// The file of functions whose place the log does not state.
const NO_FILE: &str = "???";

/// Writes a record for each function that was called or calls.
pub(super) fn write(calls: &Calls, graph: &Graph, out: &mut dyn Write) -> io::Result<()> {
    let mut edges: BTreeMap<Function, Vec<&CallEdge>> = BTreeMap::new();
    for edge in graph.edges().iter().filter(|edge| edge.sum.count > 0) {
        edges.entry(edge.function).or_default();
        edges.entry(edge.caller).or_default().push(edge);
    }
    edges.remove(&NONE);
    let total = edges.keys().fold(0u64, |sum, at| sum.saturating_add(graph.function(*at).own));
    writeln!(out, "# callgrind format\nversion: 1\ncreator: eventcnv\npositions: line")?;
    writeln!(out, "events: ns\nsummary: {total}")?;
    let mut names = Names { calls, files: HashMap::new(), functions: HashMap::new() };
    for (function, called) in edges {
        let (file, own) = (names.file(function), names.function(function));
        let line = names.line(function);
        writeln!(out, "\nfl={file}\nfn={own}\n{line} {}", graph.function(function).own)?;
        for edge in called {
            let (file, callee) = (names.file(edge.function), names.function(edge.function));
            let to = names.line(edge.function);
            writeln!(out, "cfi={file}\ncfn={callee}\ncalls={} {to}", edge.sum.count)?;
            writeln!(out, "{line} {}", edge.sum.total)?;
        }
    }
    writeln!(out, "\ntotals: {total}")
}

/// Names: the first use of a number states its name.
struct Names<'c> {
    calls: &'c Calls,
    files: HashMap<String, usize>,
    functions: HashMap<Function, usize>,
}

impl Names<'_> {
    fn file(&mut self, function: Function) -> String {
        let facts = self.calls.functions().facts(function);
        let file = facts.and_then(|facts| facts.file.as_deref()).unwrap_or(NO_FILE);
        let file = eventlog::format::text::OneLine(file.as_bytes()).to_string();
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
        if let Some(number) = self.functions.get(&function) {
            return format!("({number})");
        }
        let number = self.functions.len() + 1;
        self.functions.insert(function, number);
        format!("({number}) {}", name(self.calls, function))
    }

    fn line(&self, function: Function) -> u32 {
        self.calls.functions().facts(function).map_or(0, |facts| facts.line)
    }
}
