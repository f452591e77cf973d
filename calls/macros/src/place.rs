//! Places in the source text.
//!
//! ```text
//!  spans of the first and the last token ─▶ file, line, column ─ the file's text ─▶ offset, size
//! ```
//!
//! Design: `.store.source` in `design/format.md`.

use proc_macro::Span;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

thread_local! {
    /// The texts of the files that functions stand in: `None` if one cannot be read.
    static TEXTS: RefCell<HashMap<PathBuf, Option<Text>>> = RefCell::default();
}

/// Line, column, offset and size of the text from one token to another.
pub(crate) type Place = [u32; 4];

/// Returns the place of the text from one token to another. Each question about a span costs the
/// compiler a walk through its line.
pub(crate) fn place(first: Span, last: Span) -> Place {
    let (begin, end) = ((first.line(), first.column()), last.end());
    // The tokens of a macro may come from two files: then the size is not known.
    let (offset, size) = match (offset(first, begin), offset(end, (end.line(), end.column()))) {
        (Some(begin), _) if end.file() != first.file() => (begin, 0),
        (Some(begin), Some(end)) => (begin, end.saturating_sub(begin)),
        _ => (0, 0),
    };
    [begin.0, begin.1, offset, size].map(|value| u32::try_from(value).unwrap_or(0))
}

/// Returns the offset in its file, in bytes, of the beginning of a span, whose line and column are
/// known.
fn offset(span: Span, (line, column): (usize, usize)) -> Option<usize> {
    let path = span.local_file()?;
    TEXTS.with_borrow_mut(|texts| {
        let read = || std::fs::read_to_string(&path).ok().as_deref().map(Text::new);
        let text = texts.entry(path.clone()).or_insert_with(read).as_ref()?;
        text.offset(line, column)
    })
}

/// Finds an offset without a walk through the text.
struct Text {
    /// The offset of the beginning of each line.
    lines: Vec<usize>,
    /// The line and the column of each character of several bytes, with the number of such further
    /// bytes in the text so far.
    wide: Vec<((usize, usize), usize)>,
}

impl Text {
    fn new(text: &str) -> Text {
        // The compiler does not count a byte order mark.
        let content = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut offset = text.len() - content.len();
        let (mut lines, mut wide, mut more) = (Vec::new(), Vec::new(), 0);
        for (line, content) in (1..).zip(content.split_inclusive('\n')) {
            lines.push(offset);
            offset += content.len();
            let characters = (1..).zip(content.chars()).filter(|(_, each)| !each.is_ascii());
            wide.extend(characters.map(|(column, character)| {
                more += character.len_utf8() - 1;
                ((line, column), more)
            }));
        }
        Text { lines, wide }
    }

    /// Returns the offset of a line and a column, which count from 1.
    fn offset(&self, line: usize, column: usize) -> Option<usize> {
        let begin = self.lines.get(line.checked_sub(1)?)?;
        let more = |column| {
            let count = self.wide.partition_point(|(place, _)| *place < (line, column));
            count.checked_sub(1).map_or(0, |last| self.wide[last].1)
        };
        Some(begin + column.checked_sub(1)? + more(column) - more(0))
    }
}
