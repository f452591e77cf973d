//! Reads a graph in any of its languages.
//!
//! Design: `.paths.text`, `.paths.mir`, `.paths.dot` in `design/paths.md`.

use super::{GraphError, Program, dot, mir, text};

/// Reads a graph: in the text of this crate, as MIR that `rustc --emit=mir` printed, or in the
/// language of graphviz. The first line, or the first word, tells which.
///
/// # Errors
///
/// Fails as [`text::read`](super::text::read) does.
pub fn read(source: &str) -> Result<Program, GraphError> {
    let first = source.split_whitespace().next().unwrap_or_default();
    if source.starts_with(MIR_MARK) {
        return text::read(&mir::text(source));
    }
    if ["digraph", "strict"].contains(&first) {
        let written = dot::text(source).map_err(|what| GraphError::Line { line: 1, what })?;
        return text::read(&written);
    }
    text::read(source)
}

/// The beginning of the first line that `rustc --emit=mir` prints.
const MIR_MARK: &str = "// WARNING: This output format is intended for human consumers";
