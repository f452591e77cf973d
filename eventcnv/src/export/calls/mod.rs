//! Call graphs for other tools.
//!
//! ```text
//!  calls of a log ──▶ tree, graph ──┬─ dot.rs        graphviz: functions in their clusters
//!                                   ├─ callgrind.rs  callgrind_annotate, KCachegrind; with lines
//!                                   │    levels.rs   recursion
//!                                   └─ pprof.rs      pprof, speedscope: a sample for each path
//! ```
//!
//! Design: `.cnv.export.calls` in `design/eventcnv.md`.

pub(crate) mod callgrind;
pub(crate) mod dot;
pub(crate) mod levels;
pub(crate) mod pprof;

use crate::ask::calls::summary::demangled;
use eventlog::format::text::OneLine;
use lens::calls::{Calls, Function, Graph};
use lens::statements::Statements;
use std::io::{self, Write};

/// A format of call graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Dot,
    Callgrind,
    Pprof,
}

/// Writes the calls of a log, and its statements in a form that has lines. Returns notes for the
/// user.
pub(crate) fn write(
    form: Form,
    calls: &Calls,
    statements: Option<&Statements>,
    out: &mut dyn Write,
) -> io::Result<Vec<String>> {
    match form {
        Form::Dot => dot::write(calls, &Graph::of(calls.tree()), out)?,
        Form::Callgrind => callgrind::write(calls, statements, out)?,
        Form::Pprof => return pprof::write(calls, out),
    }
    Ok(Vec::new())
}

/// The name of a function whose name is empty: no format takes that.
const NO_NAME: &str = "(no name)";

/// Returns the name of a function, on one line.
fn name(calls: &Calls, function: Function) -> String {
    named(calls.functions().name(function))
}

/// Returns the symbol of a function whose name is not its symbol, on one line.
fn symbol(calls: &Calls, function: Function) -> Option<String> {
    let symbol = calls.functions().name(function);
    (demangled(symbol) != symbol).then(|| OneLine(symbol.as_bytes()).to_string())
}

/// Returns a name as the source has it, on one line.
pub(super) fn named(name: &str) -> String {
    let name = demangled(name);
    let name = if name.trim().is_empty() { NO_NAME } else { &name };
    OneLine(name.as_bytes()).to_string()
}
