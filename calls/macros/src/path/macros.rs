//! Macros in a function: what they may hide.
//!
//! ```text
//!  known, no jump in its arguments ─▶ plain      panic!(…) ─▶ the end      event!(…) ─▶ a letter
//!  else ─▶ before │ m!(…) │ after, or the end of the function
//! ```
//!
//! Design: `.paths.marked` in `design/paths.md`.

use super::flow::{END, Flow};
use crate::known::is_declaring_nothing;
use lens_paths::graph::BlockId;
use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::{Expr, Macro};

/// Macros that end the program, or unwind.
const ENDING: [&str; 4] = ["panic", "todo", "unimplemented", "unreachable"];
/// Macros that neither declare something nor jump, next to those of the standard library.
const PLAIN: [&str; 2] = ["event", "thread_local"];

/// The blocks around a macro that may hide a jump.
struct Around {
    /// Its beginning, in a loop or a labelled block alone.
    before: Option<BlockId>,
    after: BlockId,
}

impl Flow<'_> {
    /// Visits a macro whose value is used: `expr` is it.
    pub(super) fn found(&mut self, mac: &Macro, expr: &mut Expr) {
        if let Some(around) = self.around(mac) {
            self.pass(around.before, around.after, expr, mac.span());
        }
    }

    /// Visits a macro that is a statement. Returns the witnesses before it and after it.
    pub(super) fn statement_of(&mut self, mac: &Macro) -> [Option<TokenStream>; 2] {
        match self.around(mac) {
            Some(Around { before, after }) => {
                [before.and_then(|own| self.witness(own)), self.witness(after)]
            }
            None => [None, None],
        }
    }

    /// Goes through a macro. Returns the blocks around it, if it may hide a jump.
    fn around(&mut self, mac: &Macro) -> Option<Around> {
        if self.is_check && is_named(mac, &["event"]) {
            self.letter(mac);
            return None;
        }
        if self.is_plain(mac) {
            if is_named(mac, &ENDING) {
                self.stop();
            }
            return None;
        }
        // A hidden `break` or `continue` must be seen.
        let before = (!self.jumps.is_empty() && !self.is_check).then(|| {
            let before = self.way("before the macro", mac.span());
            self.graph.need(before);
            self.to(before);
            self.current = self.current.map(|_| before);
            before
        });
        let after = self.way("after the macro", mac.span());
        if before.is_some() {
            self.graph.need(after);
        }
        self.to(after);
        self.to(END);
        self.current = self.current.map(|_| after);
        Some(Around { before, after })
    }

    /// Begins a block with the letter of an event.
    fn letter(&mut self, mac: &Macro) {
        let block = self.graph.block("event", mac.span(), false);
        let name = mac.tokens.clone().into_iter();
        let name: TokenStream = name
            .take_while(|token| !matches!(token, TokenTree::Group(_)) && !is(token, ','))
            .collect();
        let name = name.to_string().replace(' ', "");
        let name = name.rsplit("::").next().unwrap_or_default().to_owned();
        self.graph.places[block.0 as usize].letter = Some(name);
        self.to(block);
        self.current = self.current.map(|_| block);
    }

    /// Returns whether a macro hides no jump.
    pub(super) fn is_plain(&self, mac: &Macro) -> bool {
        let is_known = is_declaring_nothing(&mac.path) || is_named(mac, &PLAIN);
        // What the words of a check show is all that it tells.
        (is_known || self.is_check) && !may_jump(&mac.tokens)
    }
}

fn is_named(mac: &Macro, names: &[&str]) -> bool {
    mac.path.segments.last().is_some_and(|last| names.iter().any(|name| last.ident == name))
}

/// Returns whether tokens have a word that jumps.
fn may_jump(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|token| match &token {
        TokenTree::Group(group) => may_jump(&group.stream()),
        TokenTree::Ident(word) => {
            ["return", "break", "continue", "yield"].iter().any(|jump| word == jump)
        }
        token => is(token, '?'),
    })
}

fn is(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}
