//! The statements of a function: boundaries between them, and their places.
//!
//! ```text
//!  { s; t }       ─▶ { let mut block = block(STATEMENTS, 0); s; Block::at(&mut block, 1); t }
//!  A => s,  |x| s ─▶ A => __block!(STATEMENTS, 2, s),  |x| __block!(STATEMENTS, 3, s)
//!  #[cfg(c)] s;   ─▶ #[cfg(c)] Block::at(&mut block, 4); #[cfg(c)] s;
//! ```
//!
//! A block that is done becomes tokens, so that each token is written once, however deep it is.
//! Design: `.statements.rewrite` in `design/statements.md`.

use crate::known::is_standard;
use crate::place::{Place, place};
use core::mem::{replace, take};
use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{
    AngleBracketedGenericArguments, Arm, Attribute, Block, Expr, ExprAsync, ExprAwait, ExprBlock,
    ExprCall, ExprClosure, ExprConst, ExprRepeat, FieldValue, Item, Local, Macro, Meta, Pat, Path,
    Stmt, Token, Type, parse_quote,
};

/// The bit of a place's size: the times of the statement contain waiting.
const WAITS: u32 = 1 << 31;

/// Inserts the boundaries of a function's statements. Returns the static item that has their
/// places, unless the function has no statement. `function` is its first token.
pub(crate) fn rewrite(
    attributes: &mut Vec<Attribute>,
    body: &mut Block,
    is_async: bool,
    site: &TokenStream,
    function: &proc_macro::Span,
) -> Option<Stmt> {
    let mut rewriter = Rewriter { is_async, waits: false, has_drop: false, statements: Vec::new() };
    rewriter.insert_boundaries(&mut body.stmts);
    if rewriter.has_drop {
        attributes.push(parse_quote!(#[allow(dropping_copy_types, dropping_references)]));
    }
    if rewriter.statements.is_empty() {
        return None;
    }
    let file = function.file();
    let places = rewriter.statements.iter().map(|statement| {
        let [line, column, offset, size] = statement.place(function, &file);
        let size = size & !WAITS | if statement.waits { WAITS } else { 0 };
        let place = quote!([#line, #column, #offset, #size]);
        match &statement.conditions[..] {
            [] => place,
            conditions => quote_spanned! {Span::mixed_site()=>
                { if ::core::cfg!(all(#(#conditions),*)) { #place } else { [0; 4] } }
            },
        }
    });
    Some(verbatim(quote_spanned! {Span::mixed_site()=>
        static __STATEMENTS: &::calls::__private::Statements =
            ::calls::__statements!(#site, [#(#places),*]);
    }))
}

/// Returns an expression: the site of the function in which the static item stands.
pub(crate) fn site() -> TokenStream {
    quote_spanned!(Span::mixed_site()=> ::calls::__private::Statements::site(__STATEMENTS))
}

fn verbatim(tokens: TokenStream) -> Stmt {
    Stmt::Expr(Expr::Verbatim(tokens), None)
}

/// Inserts boundaries, and collects statements.
struct Rewriter {
    /// The code is that of an async function, block or closure.
    is_async: bool,
    /// What was visited may contain an `.await` of its own.
    waits: bool,
    /// A match arm drops the result of a call. There the compiler allows a reference, or what is
    /// copied; in a block it would warn.
    has_drop: bool,
    statements: Vec<Statement>,
}

/// A statement: one in a block, or the expression of a match arm or of a closure.
struct Statement {
    /// Its first token and its last one.
    span: Option<[Span; 2]>,
    waits: bool,
    /// The arguments of `cfg` of it, and of all around it.
    conditions: Vec<TokenStream>,
}

impl Statement {
    /// Returns its place in the file of the function. If it is in another one, its place is that of
    /// the function, and its size is not known.
    fn place(&self, function: &proc_macro::Span, file: &str) -> Place {
        match self.span.map(|span| span.map(Span::unwrap)) {
            Some([first, last]) if first.file() == file => place(first, last),
            _ => {
                let [line, column, offset, _] = place(*function, *function);
                [line, column, offset, 0]
            }
        }
    }
}

impl Rewriter {
    /// Inserts boundaries before the statements of a block.
    fn insert_boundaries(&mut self, stmts: &mut Vec<Stmt>) {
        // The conditions of the statements so far; `None`: one had no condition.
        let mut before = Some(Vec::new());
        for mut stmt in take(stmts) {
            if !is_executed(&stmt) {
                stmts.push(stmt);
                continue;
            }
            let (number, tokens) = self.statement(|rewriter| {
                rewriter.visit_stmt_mut(&mut stmt);
                stmt.to_token_stream()
            });
            let condition = self.describe(number, tokens);
            stmts.push(verbatim(boundary(number, condition.as_ref(), before.as_deref())));
            stmts.push(stmt);
            match (condition, &mut before) {
                (Some(condition), Some(before)) => before.push(condition),
                (None, before) => *before = None,
                _ => {}
            }
        }
    }

    /// Inserts a boundary before an expression that has a scope of its own.
    fn insert_boundary(&mut self, expr: &mut Expr) {
        if let Some(block) = plain_block(expr) {
            self.visit_block_mut(block);
        } else {
            self.wrap(expr);
        }
    }

    /// Makes a block, in which a statement is an expression, or the only one of a block.
    fn wrap(&mut self, expr: &mut Expr) {
        let (number, tokens) = self.statement(|rewriter| {
            if let Some(stmt) = only_statement(expr) {
                rewriter.visit_stmt_mut(stmt);
                stmt.to_token_stream()
            } else {
                rewriter.visit_expr_mut(expr);
                expr.to_token_stream()
            }
        });
        self.describe(number, tokens);
        let [first, last] = self.statements[number].span.unwrap_or([Span::call_site(); 2]);
        let statements = quote_spanned!(Span::mixed_site()=> __STATEMENTS);
        // Coverage ignores code that is not in the text of the closure's body. So the call of the
        // macro has the places of the first and of the last token.
        let mut arguments = Group::new(Delimiter::Parenthesis, quote!(#statements, #number, #expr));
        arguments.set_span(last);
        *expr = Expr::Verbatim(quote_spanned!(first=> ::calls::__block! #arguments));
    }

    /// Visits a statement. Returns its number, and its tokens.
    fn statement(&mut self, visit: impl FnOnce(&mut Self) -> TokenStream) -> (usize, TokenStream) {
        let number = self.statements.len();
        self.statements.push(Statement { span: None, waits: false, conditions: Vec::new() });
        let waits_before = replace(&mut self.waits, false);
        let tokens = visit(self);
        self.statements[number].waits = self.waits;
        self.waits |= waits_before;
        (number, tokens)
    }

    /// Adds to a statement what its tokens tell: its place, and its condition, which it returns.
    /// The statement is the last one that was visited, with those in it.
    fn describe(&mut self, number: usize, tokens: TokenStream) -> Option<TokenStream> {
        let (attributes, tokens) = attributes_of(tokens);
        let mut tokens = tokens.into_iter().peekable();
        let first = tokens.peek().map(TokenTree::span);
        let last = tokens.last().map(|token| token.span());
        self.statements[number].span = first.zip(last).map(|(first, last)| [first, last]);
        self.restrict(number, &attributes)
    }

    /// Adds a condition to the statements from a number on. Returns it.
    fn restrict(&mut self, number: usize, attributes: &[Attribute]) -> Option<TokenStream> {
        let condition = condition(attributes)?;
        for statement in &mut self.statements[number..] {
            statement.conditions.push(condition.clone());
        }
        Some(condition)
    }

    /// Visits code that runs at another time.
    fn later(&mut self, is_async: bool, visit: impl FnOnce(&mut Self)) {
        let before = (replace(&mut self.is_async, is_async), self.waits);
        visit(self);
        (self.is_async, self.waits) = before;
    }
}

/// Returns whether the code of a macro may contain an `.await`.
fn may_wait(found: &Macro) -> bool {
    let is_ready = is_standard(&found.path) || found.path.is_ident("thread_local");
    !is_ready || found.tokens.to_string().contains("await")
}

/// Returns whether a statement is one that the program executes.
fn is_executed(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Item(_) | Stmt::Local(Local { init: None, .. }) => false,
        Stmt::Expr(Expr::Verbatim(tokens), _) => !tokens.is_empty(),
        _ => true,
    }
}

/// Returns the block that an expression is, without a label and attributes.
fn plain_block(expr: &mut Expr) -> Option<&mut Block> {
    match expr {
        Expr::Block(ExprBlock { attrs, label: None, block }) if attrs.is_empty() => Some(block),
        _ => None,
    }
}

/// Returns whether an expression is a call of `drop` with the result of a call.
fn is_drop(expr: &Expr) -> bool {
    let Expr::Call(ExprCall { func, args, .. }) = expr else { return false };
    let Some(Expr::Call(_) | Expr::MethodCall(_)) = args.first() else { return false };
    let Expr::Path(path) = &**func else { return false };
    path.path.segments.last().is_some_and(|name| name.ident == "drop")
}

/// Returns the only statement of the block that an expression is, if it has no attributes.
fn only_statement(expr: &mut Expr) -> Option<&mut Stmt> {
    let [stmt] = &mut plain_block(expr)?.stmts[..] else { return None };
    let first = stmt.to_token_stream().into_iter().next()?;
    let is_attribute = matches!(first, TokenTree::Punct(first) if first.as_char() == '#');
    (is_executed(stmt) && !is_attribute).then_some(stmt)
}

/// Returns the statement that begins a statement, if that has a condition under the same one. The
/// first one of a block makes the guard: it is the one that is preceded by none, or by statements
/// with conditions that do not hold.
fn boundary(
    number: usize,
    condition: Option<&TokenStream>,
    before: Option<&[TokenStream]>,
) -> TokenStream {
    let own = Span::mixed_site();
    let block = quote_spanned! {own=>
        #[allow(unused_mut)]
        let mut block = ::calls::__private::block(__STATEMENTS, #number);
    };
    let at = quote_spanned!(own=> ::calls::__private::Block::at(&mut block, #number););
    let own_condition = condition.map(|condition| quote_spanned!(own=> #[cfg(#condition)]));
    match before {
        None => quote!(#own_condition #at),
        Some([]) => quote!(#own_condition #block),
        Some(before) => quote_spanned! {own=>
            #own_condition #[cfg(any(#(#before),*))] #at
            #own_condition #[cfg(not(any(#(#before),*)))] #block
        },
    }
}

/// Returns the outer attributes of a statement, and its other tokens.
pub(crate) fn attributes_of(tokens: TokenStream) -> (Vec<Attribute>, TokenStream) {
    let mut tokens = tokens.into_iter().peekable();
    let mut attributes = TokenStream::new();
    while let Some(TokenTree::Punct(punct)) = tokens.peek()
        && punct.as_char() == '#'
    {
        attributes.extend(tokens.by_ref().take(2));
    }
    (Attribute::parse_outer.parse2(attributes).unwrap_or_default(), tokens.collect())
}

/// Returns the argument of one `cfg` that holds if all attributes let the code stay.
pub(crate) fn condition(attributes: &[Attribute]) -> Option<TokenStream> {
    let conditions: Vec<_> =
        attributes.iter().filter_map(|each| condition_of(&each.meta)).collect();
    match &conditions[..] {
        [] => None,
        conditions => Some(quote!(all(#(#conditions),*))),
    }
}

fn condition_of(attribute: &Meta) -> Option<TokenStream> {
    let Meta::List(list) = attribute else { return None };
    if list.path.is_ident("cfg") {
        return Some(list.tokens.clone());
    }
    if !list.path.is_ident("cfg_attr") {
        return None;
    }
    let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
    let mut inner = inner.iter();
    let held = inner.next()?;
    let conditions: Vec<_> = inner.filter_map(condition_of).collect();
    (!conditions.is_empty()).then(|| quote!(any(not(#held), all(#(#conditions),*))))
}

impl VisitMut for Rewriter {
    fn visit_block_mut(&mut self, block: &mut Block) {
        self.insert_boundaries(&mut block.stmts);
        let stmts = &block.stmts;
        block.stmts = vec![verbatim(quote!(#(#stmts)*))];
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        let number = self.statements.len();
        if let Some((_, guard)) = &mut arm.guard {
            self.visit_expr_mut(guard);
        }
        self.has_drop |= is_drop(&arm.body);
        // Lints tell a block of one statement, which stays so.
        match only_statement(&mut arm.body) {
            Some(_) => self.wrap(&mut arm.body),
            None => self.insert_boundary(&mut arm.body),
        }
        arm.comma.get_or_insert_default();
        self.restrict(number, &arm.attrs);
    }

    fn visit_field_value_mut(&mut self, field: &mut FieldValue) {
        let number = self.statements.len();
        self.visit_expr_mut(&mut field.expr);
        self.restrict(number, &field.attrs);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        let is_async = closure.asyncness.is_some();
        self.later(is_async, |rewriter| rewriter.insert_boundary(&mut closure.body));
    }

    fn visit_expr_async_mut(&mut self, future: &mut ExprAsync) {
        self.later(true, |rewriter| rewriter.visit_block_mut(&mut future.block));
    }

    fn visit_expr_await_mut(&mut self, awaited: &mut ExprAwait) {
        self.waits = true;
        visit_mut::visit_expr_await_mut(self, awaited);
    }

    fn visit_macro_mut(&mut self, found: &mut Macro) {
        self.waits |= self.is_async && may_wait(found);
    }

    // The compiler runs them, or they are not of this function.
    fn visit_expr_const_mut(&mut self, _: &mut ExprConst) {}
    fn visit_expr_repeat_mut(&mut self, array: &mut ExprRepeat) {
        self.visit_expr_mut(&mut array.expr);
    }
    fn visit_angle_bracketed_generic_arguments_mut(
        &mut self,
        _: &mut AngleBracketedGenericArguments,
    ) {
    }
    fn visit_item_mut(&mut self, _: &mut Item) {}
    fn visit_pat_mut(&mut self, _: &mut Pat) {}
    fn visit_path_mut(&mut self, _: &mut Path) {}
    fn visit_type_mut(&mut self, _: &mut Type) {}
}
