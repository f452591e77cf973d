//! The place of a function in the source text, and the expression that makes its site.
//!
//! ```text
//!  spans of the first and the last token ─▶ file, line, column ─ the file's text ─▶ offset, size
//! ```
//!
//! Design: `.store.source` in `design/format.md`.

use proc_macro::Span;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use syn::{Block, Signature};

thread_local! {
    /// The texts of the files that functions stand in: `None` if one cannot be read.
    static TEXTS: RefCell<HashMap<PathBuf, Option<String>>> = RefCell::default();
}

/// Returns an expression: the site of a function.
pub(crate) fn site(signature: &Signature, body: &Block) -> TokenStream {
    let first = signature.to_token_stream().into_iter().next();
    let begin = first.map_or_else(Span::call_site, |token| token.span().unwrap());
    let end = body.brace_token.span.close().unwrap().end();
    let file = begin.file();
    let [line, column] = [begin.line(), begin.column()].map(number);
    // The tokens of a macro may come from two files: then the size is not known.
    let (offset, size) = match (offset(begin), offset(end)) {
        (Some(begin), _) if end.file() != file => (number(begin), 0),
        (Some(begin), Some(end)) => (number(begin), number(end.saturating_sub(begin))),
        _ => (0, 0),
    };
    quote!(::calls::__site!(#file [#line, #column, #offset, #size]))
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// Returns the offset in its file, in bytes, of the beginning of a span.
fn offset(span: Span) -> Option<usize> {
    let path = span.local_file()?;
    TEXTS.with_borrow_mut(|texts| {
        let read = || std::fs::read_to_string(&path).ok();
        let text = texts.entry(path.clone()).or_insert_with(read).as_deref()?;
        let line_begin: usize =
            text.split_inclusive('\n').take(span.line().checked_sub(1)?).map(str::len).sum();
        let line = text.get(line_begin..)?;
        let before = line.chars().take(span.column().checked_sub(1)?);
        Some(line_begin + before.map(char::len_utf8).sum::<usize>())
    })
}
