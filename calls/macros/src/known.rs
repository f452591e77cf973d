//! Macros that are known: those of the standard library, and those that write to a log.
//!
//! ```text
//!  assert!(x), log::info!("{y}") ─▶ known   thread_local!(…), info!(…) ─▶ may declare something
//! ```

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::{Path, parse2};

/// Macros that neither declare something nor contain an `.await`, unless their arguments do.
const STANDARD: &str = "assert assert_eq assert_ne cfg column concat dbg debug_assert \
    debug_assert_eq debug_assert_ne env eprint eprintln file format format_args include_bytes \
    include_str line matches module_path panic print println stringify todo unimplemented \
    unreachable vec write writeln";
/// Those of `log`. Other crates have macros with these names, which do declare something.
const LOG: &str = "debug error info trace warn";

/// Words of items that a program may have once: a type has an identity, a function a symbol.
const ONCE: &str = "enum fn impl macro_rules static struct trait";

/// Returns whether a path is that of such a macro, or has the name of one.
pub(crate) fn is_standard(path: &Path) -> bool {
    is_declaring_nothing(path) || is_of(path, LOG, &["log"])
}

/// Returns whether a path is that of such a macro.
pub(crate) fn is_declaring_nothing(path: &Path) -> bool {
    is_of(path, STANDARD, &["std", "core"]) || path.segments.len() > 1 && is_of(path, LOG, &["log"])
}

fn is_of(path: &Path, names: &str, crates: &[&str]) -> bool {
    let mut segments = path.segments.iter().map(|segment| &segment.ident);
    let Some(last) = segments.next_back() else { return false };
    names.split(' ').any(|name| last == name)
        && segments.all(|segment| crates.iter().any(|name| segment == name))
}

/// Returns whether the tokens of a macro may declare what a program has once: they have an item
/// that is not copied, or a macro that is not known, or has a path.
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
            let is_known =
                !is_punct(at.checked_sub(1), ':') && is_declaring_nothing(&name.clone().into());
            is_called && !is_known || ONCE.split(' ').any(|word| name == word)
        }
        _ => false,
    })
}
