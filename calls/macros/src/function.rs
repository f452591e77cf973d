//! One function: the statements that record its calls.
//!
//! ```text
//!  { body }            ─▶ { let call = call(site); body }
//!  async { body }      ─▶ { let future = pin!(async move { body }); task(site, future).await }
//!  { Box::pin(async move { body }) }   the same in the inner block
//! ```
//!
//! Design: `.calls.traced`, `.calls.task` in `design/calls.md`.

use crate::place::place;
use crate::{bodies, has, statements};
use core::mem::replace;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::token::{Async, Brace, Move};
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Block, Expr, ExprAsync, ExprCall, FnArg, Pat, PatIdent, PatType, ReturnType,
    Signature, Stmt, Type, parse_quote, parse_quote_spanned, parse2,
};

/// Traces a function, unless it cannot be; and its statements, if that is wanted.
pub(crate) fn trace(
    attributes: &mut Vec<Attribute>,
    signature: &mut Signature,
    body: &mut Block,
    with_statements: bool,
) {
    if signature.constness.is_some() || has(attributes, "naked") {
        return;
    }
    let first = signature.to_token_stream().into_iter().next();
    let first = first.map_or_else(Span::call_site, |token| token.span()).unwrap();
    let [line, column, offset, size] = place(first, body.brace_token.span.close().unwrap());
    let file = first.file();
    let mut site = quote!(::calls::__site!(#file [#line, #column, #offset, #size]));
    let is_async = signature.asyncness.is_some();
    let plain = match boxed_future(body) {
        None => bodies::plain(attributes, signature, body),
        // A task is recorded poll by poll, be it made before that is switched on.
        Some(_) => None,
    };
    let statements = if with_statements {
        statements::rewrite(attributes, body, is_async, &site, &first)
    } else {
        None
    };
    let mut is_on = quote!(::calls::__private::is_traced());
    if statements.is_some() {
        site = statements::site();
        is_on = quote!(::calls::__private::is_profiled());
    }
    if let Some(Async { span }) = signature.asyncness {
        let typed = returned(&signature.output);
        let inner = scope(moved(signature).into_iter().chain(typed).collect(), body.clone());
        let inner = ExprAsync {
            attrs: Vec::new(),
            async_token: Async { span },
            capture: Some(Move { span }),
            block: inner,
        };
        *body = as_task(&site, &inner);
    } else if let Some(boxed) = boxed_future(body) {
        boxed.block = as_task(&site, &boxed.clone());
    } else {
        let call = own(quote! { let _call = ::calls::__private::call(#site); });
        insert(&mut body.stmts, call);
    }
    body.stmts.splice(0..0, statements);
    if let Some(plain) = plain {
        bodies::hint(attributes);
        let recorded = replace(body, plain);
        bodies::join(body, &is_on, signature, recorded);
    }
}

/// Inserts the first statements of a block. Items stay before them, where lints want items to be.
pub(crate) fn insert(stmts: &mut Vec<Stmt>, first: impl IntoIterator<Item = Stmt>) {
    let at = stmts.iter().position(|stmt| !matches!(stmt, Stmt::Item(_))).unwrap_or(stmts.len());
    stmts.splice(at..at, first);
}

/// Returns a block that polls a block as a task. It has no text of its own: so coverage counts the
/// end of the user's block once.
fn as_task(site: &TokenStream, future: &ExprAsync) -> Block {
    // Not in `own`: the user's code keeps its places.
    let future_name = Ident::new("_future", Span::mixed_site());
    let stmts = parse_quote! {
        let #future_name = ::core::pin::pin!(#future);
        ::calls::__private::task(#site, #future_name).await
    };
    Block { brace_token: Brace(future.block.brace_token.span.open()), stmts }
}

/// Parses statements whose variables the user's code cannot see.
fn own(statements: TokenStream) -> Vec<Stmt> {
    let spanned = statements.into_iter().map(|mut token| {
        token.set_span(Span::mixed_site());
        token
    });
    Block::parse_within.parse2(spanned.collect()).unwrap_or_default()
}

/// Returns a block of some statements and a body, whose items they do not see. The arm of a match
/// is a scope: the last temporaries of the body are dropped before the variables of the statements.
pub(crate) fn scope(mut stmts: Vec<Stmt>, body: Block) -> Block {
    if stmts.is_empty() {
        return body;
    }
    let brace_token = body.brace_token;
    // The lint would point to the attribute.
    let body = quote_spanned! {Span::mixed_site()=>
        #[allow(clippy::implicit_return)] match () { () => #body }
    };
    stmts.push(Stmt::Expr(Expr::Verbatim(body), None));
    Block { brace_token, stmts }
}

/// Returns statements that move the parameters into a block, as the compiler does in an `async fn`:
/// so they are dropped with the block's variables, the last one first. Patterns move too.
fn moved(signature: &mut Signature) -> Vec<Stmt> {
    let own = Span::mixed_site();
    let mut statements = TokenStream::new();
    for (index, parameter) in signature.inputs.iter_mut().enumerate() {
        let FnArg::Typed(PatType { attrs, pat, .. }) = parameter else { continue };
        let name = match &**pat {
            Pat::Ident(PatIdent { ident, by_ref: None, subpat: None, .. }) => ident.clone(),
            _ => Ident::new(&format!("_parameter{index}"), own),
        };
        // With a part of the macro's, lints take it for the macro's: so the variable, which has its
        // name, shadows none of the user's.
        let pattern = replace(&mut **pat, parse_quote_spanned!(own=> #name @ _));
        if !matches!(&pattern, Pat::Ident(pattern) if pattern.ident == name) {
            statements.extend(quote_spanned!(own=> #(#attrs)* let #name = #name;));
        }
        statements.extend(quote_spanned!(own=> #(#attrs)* let #pattern = #name;));
    }
    Block::parse_within.parse2(statements).unwrap_or_default()
}

/// Returns a statement that tells the compiler the type of a block, as the function's signature
/// does for its body. An error about the type points to the signature.
fn returned(output: &ReturnType) -> Option<Stmt> {
    let mut output = match output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, output) => (**output).clone(),
    };
    let span = Span::mixed_site().located_at(output.span());
    Opaque.visit_type_mut(&mut output);
    if matches!(output, Type::Never(_)) {
        return None;
    }
    let statement = quote_spanned! { span=>
        if let ::core::option::Option::Some(returned) = ::core::option::Option::<#output>::None {
            return returned;
        }
    };
    parse2(statement).ok()
}

/// Replaces `impl Trait`, which a variable cannot have as its type.
struct Opaque;

impl VisitMut for Opaque {
    fn visit_type_mut(&mut self, found: &mut Type) {
        if matches!(found, Type::ImplTrait(_)) {
            *found = parse_quote!(_);
        }
        visit_mut::visit_type_mut(self, found);
    }
}

/// Returns the block of a body that ends with `Box::pin(async move { … })`.
fn boxed_future(body: &mut Block) -> Option<&mut ExprAsync> {
    let Some(Stmt::Expr(Expr::Call(ExprCall { func, args, .. }), None)) = body.stmts.last_mut()
    else {
        return None;
    };
    let Expr::Path(path) = &**func else { return None };
    let mut names = path.path.segments.iter().rev().map(|segment| segment.ident.to_string());
    let is_box_pin = names.next().is_some_and(|name| name == "pin")
        && names.next().is_some_and(|name| name == "Box");
    match args.first_mut() {
        Some(Expr::Async(block)) if is_box_pin => Some(block),
        _ => None,
    }
}
