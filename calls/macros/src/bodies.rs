//! Two bodies of a function: a plain one, and one that is recorded.
//!
//! ```text
//!  { items; s; t } ─▶ { items; if on { return apart(move || { recorded s; t }) } s; t }
//! ```
//!
//! So a function that is not recorded costs a load, a test and a branch. What must exist once, such
//! as a static of the body, is not copied: such a function has the recorded body alone. Design:
//! `.calls.bodies` in `design/calls.md`.

use crate::function::{insert, scope};
use crate::has;
use crate::known::{is_declaring_nothing, is_once};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use std::collections::HashSet;
use syn::parse::Parser;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Block, Expr, FnArg, Item, ItemEnum, ItemStruct, ItemType, Macro, Pat, PatIdent,
    PatRest, PatType, PatWild, ReturnType, Signature, Stmt, Token, Type, TypeImplTrait, TypeNever,
    parse_quote,
};

/// Returns a copy of a body that stays plain, if the function may have two.
pub(crate) fn plain(
    attributes: &[Attribute],
    signature: &Signature,
    body: &Block,
) -> Option<Block> {
    let mut once = Once {
        // Code in a closure does not see the place of the caller. Methods of these names have the
        // attribute from their trait.
        is_found: signature.asyncness.is_some()
            || has(attributes, "track_caller")
            || ["index", "index_mut"].iter().any(|name| signature.ident == name),
    };
    // Coverage of such a function begins with the brace, as that of a closure: it would add both.
    once.is_found |= context(signature.fn_token.span) != context(body.brace_token.span.open());
    once.visit_return_type_mut(&mut signature.output.clone());
    let mut copy = body.clone();
    for stmt in &mut copy.stmts {
        match stmt {
            Stmt::Item(Item::Macro(_) | Item::Verbatim(_)) => once.is_found = true,
            Stmt::Item(item) => once.is_found |= may_shadow(item, &signature.output),
            stmt => once.visit_stmt_mut(stmt),
        }
    }
    let is_possible = !once.is_found
        && signature.variadic.is_none()
        && signature.inputs.iter().all(|parameter| names(parameter).is_some());
    is_possible.then_some(copy)
}

/// Returns what stands for the macro that a token is from, as the compiler prints it.
fn context(span: Span) -> Option<String> {
    Some(format!("{:?}", span.unwrap()).split_once(' ')?.0.to_owned())
}

/// Returns whether an item of the body may have a name that the result's type has: in the body, the
/// type would be another one.
fn may_shadow(item: &Item, output: &ReturnType) -> bool {
    let names = match item {
        Item::Fn(_) | Item::Impl(_) | Item::Const(_) | Item::Static(_) => return false,
        Item::Use(used) => used.tree.to_token_stream(),
        Item::Struct(ItemStruct { ident, .. })
        | Item::Enum(ItemEnum { ident, .. })
        | Item::Type(ItemType { ident, .. }) => ident.to_token_stream(),
        other => other.to_token_stream(),
    };
    let names = words(names);
    let is_shadowed = |word: &String| word != "*" && (names.contains(word) || names.contains("*"));
    words(output.to_token_stream()).iter().any(is_shadowed)
}

/// Returns the words of tokens, and whether a star is among them.
fn words(tokens: TokenStream) -> HashSet<String> {
    let of_token = |token| match token {
        TokenTree::Group(group) => words(group.stream()),
        TokenTree::Ident(word) => HashSet::from([word.to_string()]),
        TokenTree::Punct(punct) if punct.as_char() == '*' => HashSet::from([punct.to_string()]),
        _ => HashSet::new(),
    };
    tokens.into_iter().flat_map(of_token).collect()
}

/// Puts the recorded body into the plain one. `is_on` tells at the beginning of a call which of
/// them runs.
pub(crate) fn join(
    plain: &mut Block,
    is_on: &TokenStream,
    signature: &Signature,
    mut recorded: Block,
) {
    // The plain body has the items, which both see.
    recorded.stmts.retain(|stmt| !matches!(stmt, Stmt::Item(_)));
    let moved = signature.inputs.iter().flat_map(moved).collect();
    let recorded = scope(Block::parse_within.parse2(moved).unwrap_or_default(), recorded);
    let output = &signature.output;
    // The plain body is told of lints; these do not know the type of a closure's result.
    let chosen = quote_spanned! {Span::mixed_site()=>
        if #is_on {
            #[allow(clippy::default_numeric_fallback, clippy::use_self)]
            return ::calls::__private::apart(move || #output #recorded);
        }
    };
    insert(&mut plain.stmts, [Stmt::Expr(Expr::Verbatim(chosen), None)]);
}

/// Asks the compiler to make a function a part of its callers as before. The choice makes the
/// function larger, and with two bodies, each caller has two calls of it. A function that the user
/// told to stay apart, or that other languages call, is as it was.
pub(crate) fn hint(attributes: &mut Vec<Attribute>) {
    let is_told = |name: &&str| has(attributes, name);
    if !["inline", "cold", "no_mangle", "export_name", "link_section"].iter().any(is_told) {
        attributes.push(parse_quote!(#[inline]));
    }
}

/// Returns statements that move a parameter into a closure. So a value is dropped with the
/// closure's variables, the last one first, and lints see a variable that changes, as before.
fn moved(parameter: &FnArg) -> TokenStream {
    let own = Span::mixed_site();
    match parameter {
        // It is captured with all its fields.
        FnArg::Receiver(receiver) if receiver.reference.is_none() => {
            let this = receiver.self_token;
            quote_spanned!(own=> let _ = &#this;)
        }
        FnArg::Receiver(_) => TokenStream::new(),
        FnArg::Typed(PatType { attrs, ty, .. }) => {
            let has_no_drop = has_no_drop(ty);
            let names = names(parameter).unwrap_or_default().into_iter();
            let moved = names.filter(|(mutability, _)| mutability.is_some() || !has_no_drop).map(
                |(mutability, name)| {
                    quote_spanned! {own=>
                        #(#attrs)* #[allow(clippy::shadow_same)] let #mutability #name = #name;
                    }
                },
            );
            moved.collect()
        }
    }
}

/// A name that a pattern binds.
type Name = (Option<Token![mut]>, Ident);

/// Returns the names that a parameter binds; `None`: a part of it that may have a drop stays
/// unnamed, and would be dropped later than before.
fn names(parameter: &FnArg) -> Option<Vec<Name>> {
    let FnArg::Typed(PatType { pat, ty, .. }) = parameter else { return Some(Vec::new()) };
    let mut bound = Bound { names: Vec::new(), is_whole: true };
    bound.visit_pat_mut(&mut pat.clone());
    (bound.is_whole || has_no_drop(ty)).then_some(bound.names)
}

/// Returns whether values of a type surely have no drop.
fn has_no_drop(found: &Type) -> bool {
    const PLAIN: &str = "bool char f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize";
    match found {
        Type::Reference(_) | Type::Ptr(_) | Type::BareFn(_) => true,
        Type::Path(path) => PLAIN.split(' ').any(|name| path.path.is_ident(name)),
        _ => false,
    }
}

/// Collects what a pattern binds.
struct Bound {
    names: Vec<Name>,
    /// All of the value is bound, and moved.
    is_whole: bool,
}

impl VisitMut for Bound {
    fn visit_pat_ident_mut(&mut self, pattern: &mut PatIdent) {
        self.names.push((pattern.mutability, pattern.ident.clone()));
        // What looks like a constant or a unit may be one, which binds nothing.
        let is_variable = !pattern.ident.to_string().starts_with(char::is_uppercase);
        self.is_whole &= pattern.by_ref.is_none() && is_variable;
        visit_mut::visit_pat_ident_mut(self, pattern);
    }

    fn visit_pat_wild_mut(&mut self, _: &mut PatWild) {
        self.is_whole = false;
    }

    fn visit_pat_rest_mut(&mut self, _: &mut PatRest) {
        self.is_whole = false;
    }
}

/// Finds what a program may have once.
struct Once {
    is_found: bool,
}

impl VisitMut for Once {
    /// An item among the statements of an inner block comes twice.
    fn visit_item_mut(&mut self, item: &mut Item) {
        self.is_found |= is_once(&item.to_token_stream());
    }

    fn visit_macro_mut(&mut self, found: &mut Macro) {
        self.is_found |= !is_declaring_nothing(&found.path) || is_once(&found.tokens);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        self.is_found |= matches!(expr, Expr::Verbatim(_));
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_pat_mut(&mut self, pattern: &mut Pat) {
        self.is_found |= matches!(pattern, Pat::Verbatim(_));
        visit_mut::visit_pat_mut(self, pattern);
    }

    /// Each body would have a type of its own.
    fn visit_type_impl_trait_mut(&mut self, _: &mut TypeImplTrait) {
        self.is_found = true;
    }

    /// The type of a closure that never returns is not stable.
    fn visit_type_never_mut(&mut self, _: &mut TypeNever) {
        self.is_found = true;
    }
}
