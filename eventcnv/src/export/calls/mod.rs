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
pub(crate) mod names;
pub(crate) mod pprof;

use lens::calls::{Calls, Graph};
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
