//! The names and symbols of functions in call graphs.
//!
//! Design: `.cnv.export.calls` in `design/eventcnv.md`.

use crate::ask::calls::summary::demangled;
use eventlog::format::text::OneLine;
use lens::calls::{Calls, Function};

/// The name of a function whose name is empty: no format takes that.
const NO_NAME: &str = "(no name)";

/// Returns the name of a function, on one line.
pub(super) fn name(calls: &Calls, function: Function) -> String {
    named(calls.functions().name(function))
}

/// Returns the symbol of a function whose name is not its symbol, on one line.
pub(super) fn symbol(calls: &Calls, function: Function) -> Option<String> {
    let symbol = calls.functions().name(function);
    (demangled(symbol) != symbol).then(|| OneLine(symbol.as_bytes()).to_string())
}

/// Returns a name as the source has it, on one line.
pub(crate) fn named(name: &str) -> String {
    let name = demangled(name);
    let name = if name.trim().is_empty() { NO_NAME } else { &name };
    OneLine(name.as_bytes()).to_string()
}
