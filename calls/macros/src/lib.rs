//! The attributes `#[traced]`, `#[profiled]` and `#[path]` of the crate `calls`, which documents
//! them.
//!
//! ```text
//!  fn f(…) { body }        ─▶ fn f(…) { let call = call(site); body }
//!  async fn f(…) { body }  ─▶ async fn f(…) { task(site, async move { body }).await }
//!  #[profiled]: { s; t }   ─▶ { let mut block = block(statements, 0); s; block.at(1); t }
//!  #[path]: { if a { s } } ─▶ { let frame = enter(graph); if a { frame.at(5); s } }
//!  impl, trait, mod        ─▶ the same for each function in it
//! ```
//!
//! Statements are inserted and never moved, so the user's code keeps its places: errors and
//! coverage show the same lines. Design: `.calls.traced` in `design/calls.md`,
//! `.statements.rewrite` in `design/statements.md`, `.paths.marked` in `design/paths.md`.
#![forbid(unsafe_code)]

mod bodies;
mod function;
mod known;
mod path;
mod place;
mod statements;

use proc_macro::TokenStream;
use proc_macro2::Span;
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Block, Error, Ident, ImplItem, Item, Meta, MetaList, Signature, Token, TraitItem,
    parse_quote,
};

/// Records the calls of a function, or of all functions in an `impl`, a `trait` or an inline
/// module, at any depth.
///
/// ```ignore
/// #[traced]
/// fn sell(count: u32) -> u32 {
///     count * 3
/// }
///
/// #[traced]
/// impl Cart {
///     fn add(&mut self) {}
/// }
/// ```
///
/// - A call ends by a return, by `?`, or by a panic, which the log shows.
/// - An `async fn` is recorded poll by poll, and its future as a task. So is a function whose last
///   expression is `Box::pin(async move { … })`.
/// - A generic function is one function in the log.
/// - `#[traced(skip)]` excludes a function, an `impl` or a module within. A `const fn` is passed
///   over there; the attribute on a `const fn` itself is an error.
/// - An item with the attribute of its own decides for itself: `#[cfg_attr(test, traced)]` excludes
///   it unless the condition holds, and `#[cfg_attr(test, traced(skip))]` always.
/// - A function that C code leaves by `longjmp`, or that calls such a function, needs
///   `#[traced(skip)]`: nothing ends its call.
/// - `mod x;` is refused, since its functions are in another file. A command that puts the
///   attribute on all items of a file, but on no `const fn`, and keeps the lines:
///   ```sh
///   sed -Ei 's/^(pub(\(.*\))? )?((async|unsafe|extern( ".*")?) )*((fn|impl|trait)\b'\
///   '|mod [^;]*\{)/#[::calls::traced] &/' FILE
///   ```
/// - `#[traced(skip)]` suits a function of a few instructions that is called often: the attribute
///   makes it many times as long, and the compiler may no longer inline it.
/// - Functions inside of functions, closures, and functions that a macro makes are not at recorded.
#[proc_macro_attribute]
pub fn traced(arguments: TokenStream, item: TokenStream) -> TokenStream {
    attribute(TRACED, arguments, item)
}

/// Counts and times the statements of a function, or of all functions in an `impl`, a `trait` or an
/// inline module, at any depth. It records calls too, as `#[traced]` does.
///
/// ```ignore
/// #[profiled]
/// fn total(prices: &[u32]) -> u32 {
///     let mut sum = 0;
///     for price in prices {
///         sum += price;
///     }
///     sum
/// }
/// ```
///
/// - The expression of a match arm or of a closure is a statement. So is a macro call: what is in
///   it is not told apart.
/// - Values, types, borrows, the order of drops, and the lines in errors, panics and coverage stay
///   as they are. A future stays `Send`, and becomes larger.
/// - The drops of a block's variables count as a part of the block's last statement.
/// - `#[profiled(skip)]` excludes a function, an `impl` or a module within. An item with an
///   attribute of its own, `#[profiled]` or `#[traced]`, decides for itself.
/// - Code that the compiler runs is passed over: a `const fn` in an item, constants, statics, array
///   lengths, `const { … }`. So are functions in functions, and functions that a macro makes.
/// - The rest is as with `#[traced]`: where the attribute stands, what it refuses, and generic,
///   async and skipped functions.
#[proc_macro_attribute]
pub fn profiled(arguments: TokenStream, item: TokenStream) -> TokenStream {
    attribute(PROFILED, arguments, item)
}

/// Records the path of a function, or of all functions in an `impl`, a `trait` or an inline module:
/// each branch that it takes, by the cheapest events that tell it.
///
/// ```ignore
/// #[calls::path]
/// fn words(text: &[u8]) -> u32 {
///     let (mut count, mut is_inside) = (0, false);
///     for byte in text {
///         if byte.is_ascii_whitespace() {
///             is_inside = false;
///         } else if !is_inside {
///             is_inside = true;
///             count += 1;
///         }
///     }
///     count
/// }
/// ```
///
/// The log has the graph of the function, and `eventcnv paths walk LOG -o path.log` finds the path.
/// The compiler has an attribute called `path`, so the name of the crate comes first.
///
/// - Each call has an event at its beginning and one at its end, next to the witnesses.
/// - `?`, `&&`, `||`, guards, `let … else`, labels and statements under `#[cfg]` are branches.
/// - Closures, `async` and `const` blocks, items in the function, and what macros expand to are not
///   part of the path. If a macro hides a jump, the walk tells where the path is not known.
/// - An `async fn` and a `const fn` are refused; a `const fn` in an item is passed over.
/// - `#[calls::path(skip)]` excludes a function or an item within.
/// - `#[calls::path(check)]` adds no event. It is an error at each branch that the function's own
///   [`event!`](https://docs.rs/mps-telemetry) calls do not tell. The function may be called again
///   and again, and its event types occur in no other function of the thread.
#[proc_macro_attribute]
pub fn path(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let is_check = match arguments.to_string().as_str() {
        "" => false,
        "check" => true,
        "skip" => return item,
        _ => {
            let arguments = proc_macro2::TokenStream::from(arguments);
            let message = "#[path] has no argument except `check` and `skip`";
            return complain(&Error::new_spanned(arguments, message), item);
        }
    };
    let mut parsed = match parsed(PATH, &item) {
        Ok(parsed) => parsed,
        Err(error) => return complain(&error, item),
    };
    let mut errors = Vec::new();
    let is_alone = matches!(parsed, Item::Fn(_));
    each_function(&mut parsed, &[PATH], &mut |attributes, signature, body| {
        if is_alone || signature.constness.is_none() {
            errors.extend(path::apply(attributes, signature, body, is_check).err());
        }
    });
    let all = errors.into_iter().reduce(|mut one, other| {
        one.combine(other);
        one
    });
    all.map_or_else(|| parsed.into_token_stream().into(), |error| complain(&error, item))
}

const PATH: &str = "path";
const TRACED: &str = "traced";
const PROFILED: &str = "profiled";

/// Applies the attribute with this name.
fn attribute(name: &str, arguments: TokenStream, item: TokenStream) -> TokenStream {
    match arguments.to_string().as_str() {
        "" => {}
        "skip" => return item,
        _ => {
            let arguments = proc_macro2::TokenStream::from(arguments);
            let message = format!("#[{name}] has no argument except `skip`");
            return complain(&Error::new_spanned(arguments, message), item);
        }
    }
    let mut parsed = match parsed(name, &item) {
        Ok(parsed) => parsed,
        Err(error) => return complain(&error, item),
    };
    // On one item, `#[profiled]` does the work of `#[traced]` too.
    if let Some(others) = attributes(&mut parsed) {
        if name == TRACED && has(others, PROFILED) {
            return item;
        }
        others.retain(|other| !is(&other.meta, TRACED));
        if has(others, PATH) {
            others.push(later(name));
            return parsed.into_token_stream().into();
        }
    }
    trace(name, &mut parsed);
    parsed.into_token_stream().into()
}

/// Returns the attribute of this name, for the end of a list: `#[path]` comes first, so that it
/// sees the user's code.
fn later(name: &str) -> Attribute {
    let name = Ident::new(name, Span::call_site());
    parse_quote!(#[::calls::#name])
}

/// Parses the item that an attribute stands before.
fn parsed(name: &str, item: &TokenStream) -> Result<Item, Error> {
    // The compiler has read the item before: its syntax is older or newer than that of `syn`.
    let parsed = syn::parse::<Item>(item.clone()).map_err(|error| {
        let message = format!(
            "#[{name}]: this syntax is unknown to it ({error}); put the attribute on other \
             `fn`, `impl` and `mod` items alone"
        );
        Error::new(error.span(), message)
    })?;
    refusal(name, &parsed).map_or(Ok(parsed), Err)
}

/// Returns an error and the item as it is, so that the compiler complains about nothing else.
fn complain(error: &Error, item: TokenStream) -> TokenStream {
    // In edition 2015 the user's paths do not begin with crates.
    let place = Span::mixed_site().located_at(error.span());
    let mut tokens = TokenStream::from(Error::new(place, error).into_compile_error());
    tokens.extend(item);
    tokens
}

/// Returns why an item cannot have the attribute.
fn refusal(name: &str, item: &Item) -> Option<Error> {
    match item {
        Item::Fn(function) if has(&function.attrs, "naked") => {
            let message = format!(
                "#[{name}]: a naked function cannot be recorded, since its body is assembly \
                 alone; remove the attribute"
            );
            Some(Error::new_spanned(&function.sig, message))
        }
        Item::Fn(function) => {
            let constness = function.sig.constness.as_ref()?;
            let message = format!(
                "#[{name}]: a `const fn` cannot be recorded, since the compiler may run it; \
                 remove the attribute, or `const`"
            );
            Some(Error::new_spanned(constness, message))
        }
        Item::Impl(_) | Item::Trait(_) => None,
        Item::Mod(module) if module.content.is_some() => None,
        Item::Mod(module) => {
            let message = format!(
                "#[{name}]: the functions of a module in another file are out of reach; put the \
                 attribute on the `fn`, `impl`, `trait` and `mod` items there"
            );
            Some(Error::new_spanned(module.mod_token, message))
        }
        other => {
            let message = format!("#[{name}] stands before an `fn`, `impl`, `trait` or `mod`");
            Some(Error::new_spanned(other, message))
        }
    }
}

/// Traces all functions of an item, for the attribute with this name.
fn trace(name: &str, item: &mut Item) {
    each_function(item, &[TRACED, PROFILED], &mut |attributes, signature, body| {
        if has(attributes, PATH) {
            attributes.push(later(name));
        } else {
            function::trace(attributes, signature, body, name == PROFILED);
        }
    });
}

/// What is done to a function: to its attributes, its signature, its body.
type Work<'w> = &'w mut dyn FnMut(&mut Vec<Attribute>, &mut Signature, &mut Block);

/// Does work on a function, or on each function in an item. A part of an item with one of the
/// attributes decides for itself.
fn each_function(item: &mut Item, names: &[&str], work: Work<'_>) {
    let decides = |attributes: &[Attribute]| names.iter().any(|name| has(attributes, name));
    match item {
        Item::Fn(function) => work(&mut function.attrs, &mut function.sig, &mut function.block),
        Item::Impl(implementation) => {
            for item in &mut implementation.items {
                if let ImplItem::Fn(method) = item
                    && !decides(&method.attrs)
                {
                    work(&mut method.attrs, &mut method.sig, &mut method.block);
                }
            }
        }
        Item::Trait(declaration) => {
            for item in &mut declaration.items {
                if let TraitItem::Fn(method) = item
                    && !decides(&method.attrs)
                    && let Some(body) = &mut method.default
                {
                    work(&mut method.attrs, &mut method.sig, body);
                }
            }
        }
        Item::Mod(module) => {
            for item in module.content.iter_mut().flat_map(|(_, items)| items) {
                if !attributes(item).is_some_and(|attributes| decides(attributes)) {
                    each_function(item, names, work);
                }
            }
        }
        _ => {}
    }
}

/// Returns the attributes of an item that may have functions.
fn attributes(item: &mut Item) -> Option<&mut Vec<Attribute>> {
    match item {
        Item::Fn(item) => Some(&mut item.attrs),
        Item::Impl(item) => Some(&mut item.attrs),
        Item::Trait(item) => Some(&mut item.attrs),
        Item::Mod(item) => Some(&mut item.attrs),
        _ => None,
    }
}

/// Returns whether an item has an attribute with this name, be it under a condition.
fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| is(&attribute.meta, name))
}

fn is(attribute: &Meta, name: &str) -> bool {
    // The condition of `cfg_attr` comes first.
    let within = |list: &MetaList, first| {
        let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
        inner.is_ok_and(|inner| inner.iter().skip(first).any(|inner| is(inner, name)))
    };
    match attribute {
        Meta::List(list) if list.path.is_ident("unsafe") => within(list, 0),
        Meta::List(list) if list.path.is_ident("cfg_attr") => within(list, 1),
        _ => attribute.path().segments.last().is_some_and(|last| last.ident == name),
    }
}
