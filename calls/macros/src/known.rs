//! Macros that are known: those of the standard library, and those that write to a log.
//!
//! ```text
//!  assert!(x), info!("{y}") ─▶ known        thread_local!(…), shop!(…) ─▶ may be anything
//! ```

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::{Path, parse2};

/// Macros that neither declare something nor contain an `.await`, unless their arguments do.
const STANDARD: &str = "assert assert_eq assert_ne cfg column concat dbg debug debug_assert \
    debug_assert_eq debug_assert_ne env eprint eprintln error file format format_args \
    include_bytes include_str info line matches module_path panic print println stringify todo \
    trace unimplemented unreachable vec warn write writeln";

/// Returns whether a path is that of such a macro.
pub(crate) fn is_standard(path: &Path) -> bool {
    let mut segments = path.segments.iter().map(|segment| &segment.ident);
    let Some(last) = segments.next_back() else { return false };
    let is_known = STANDARD.split(' ').any(|name| last == name);
    is_known && segments.all(|crate_name| ["std", "core", "log"].iter().any(|n| crate_name == n))
}

/// Returns whether the tokens of a macro may declare what a program has once: they have a static,
/// an `impl`, or a macro that is not known.
pub(crate) fn is_once(tokens: &TokenStream) -> bool {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is_punct = |at: Option<usize>, character| match at.and_then(|at| tokens.get(at)) {
        Some(TokenTree::Punct(punct)) => punct.as_char() == character,
        _ => false,
    };
    tokens.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Group(group) => is_once(&group.stream()),
        TokenTree::Ident(_) if is_punct(at.checked_sub(1), '\'') => false,
        TokenTree::Ident(name) => {
            let is_called = is_punct(Some(at + 1), '!')
                && matches!(tokens.get(at + 2), Some(TokenTree::Group(_)))
                && parse2::<Ident>(token.clone().into()).is_ok();
            is_called && !is_standard(&name.clone().into())
                || ["static", "impl", "macro_rules"].iter().any(|word| name == word)
        }
        _ => false,
    })
}
