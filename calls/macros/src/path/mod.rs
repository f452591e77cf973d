//! The attribute `#[path]`: the graph of a function from its source, and its witnesses.
//!
//! ```text
//!  body ─ flow ─▶ graph ─ lens_paths ─▶ the cheapest witnesses ─ flow ─▶ body with witnesses
//!                  └ path(check) ─▶ an error at each fork that the own events do not tell
//! ```
//!
//! Design: `.paths.marked`, `.paths.check` in `design/paths.md`.

mod check;
mod conditions;
mod flow;
mod graph;
mod macros;
mod values;

use crate::function::insert;
use crate::has;
use flow::{END, Flow, verbatim};
use graph::{FUNCTION, Graph};
use lens_paths::graph::{BlockId, Element, ElementId, Program, text};
use lens_paths::plan::{Kind, Options, Plan, Run, Strategy, plan, text as plan_text};
use lens_paths::{Profile, clashes};
use proc_macro2::Span;
use quote::quote_spanned;
use std::collections::BTreeSet;
use syn::{Attribute, Block, Error, Signature};

/// Bytes of a graph and its plan, at most.
const TEXT_SIZE_MAX: usize = 1 << 20;

/// Adds the witnesses of a function, or checks its own events.
pub(crate) fn apply(
    attributes: &[Attribute],
    signature: &Signature,
    body: &mut Block,
    is_check: bool,
) -> Result<(), Error> {
    if let Some(token) = &signature.asyncness {
        let what = "#[path]: the path of an `async fn` has pauses, in which other code runs; put \
                    the attribute on the functions that it calls";
        return Err(Error::new_spanned(token, what));
    }
    if let Some(token) = &signature.constness {
        let what = "#[path]: the compiler may run a `const fn`, and records nothing then";
        return Err(Error::new_spanned(token, what));
    }
    if has(attributes, "naked") {
        let what = "#[path]: the body of a naked function is assembly alone";
        return Err(Error::new_spanned(signature, what));
    }
    let none = BTreeSet::new();
    let mut flow = Flow::new(&mut body.clone(), &none, is_check);
    if let Some(error) = flow.errors.drain(..).reduce(both) {
        return Err(error);
    }
    let name = signature.ident.to_string();
    let failed = |what: &dyn std::fmt::Display| {
        Error::new_spanned(&signature.ident, format!("#[path]: {what}"))
    };
    if is_check {
        let is_traced = has(attributes, "traced") || has(attributes, "profiled");
        let found = check::check(&flow.graph, &name, is_traced).map_err(|error| failed(&error))?;
        return found.into_iter().reduce(both).map_or(Ok(()), Err);
    }
    let program = flow.graph.program(&name, END).map_err(|error| failed(&error))?;
    let chosen = planned(&program, &flow.graph).map_err(|error| failed(&error))?;
    let text = written(&program, &chosen);
    if text.len() > TEXT_SIZE_MAX {
        return Err(failed(&"the graph has more than 1 MiB"));
    }
    let count = program.element_count() as u32;
    Flow::new(body, &chosen, false);
    insert(
        &mut body.stmts,
        [
            verbatim(quote_spanned! {Span::mixed_site()=>
                static __PATH: ::calls::__private::Marked = ::calls::__marked!(#count, #text);
            }),
            verbatim(quote_spanned! {Span::mixed_site()=>
                let __frame = ::calls::__private::Frame::enter(&__PATH);
            }),
        ],
    );
    Ok(())
}

fn both(mut one: Error, other: Error) -> Error {
    one.combine(other);
    one
}

/// Returns the blocks of the cheapest witnesses.
fn planned(program: &Program, graph: &Graph) -> Result<BTreeSet<BlockId>, String> {
    let all = || graph.blocks(|place| place.is_free).collect();
    let options = Options { kind: Kind::Blocks, ..Options::default() };
    let plans = plan(program, &graph.weights(program), &options);
    let best = plans.ok().and_then(|plans| plans.best().cloned());
    let elements = best.iter().flat_map(|plan| &plan.runs).flat_map(|run| run.profile.letters());
    let blocks: Option<BTreeSet<BlockId>> =
        elements.map(|(element, _)| graph.free(program, *element)).collect();
    // The witnesses of all ways tell all forks.
    let mut blocks = blocks.filter(|_| best.is_some()).unwrap_or_else(all);
    blocks.extend(graph.blocks(|place| place.is_needed));
    match clashes(program, &[profile(program, &blocks)]) {
        Ok(open) if open.is_empty() => Ok(blocks),
        Ok(_) => Err("no witnesses tell the path of this function; please report it".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the profile of a call: its begin, its end, and the witnesses.
fn profile(program: &Program, blocks: &BTreeSet<BlockId>) -> Profile {
    let blocks = blocks.iter().map(|block| Element::Block(FUNCTION, *block));
    let all = [Element::Enter(FUNCTION), Element::Leave(FUNCTION)].into_iter().chain(blocks);
    let elements: Vec<ElementId> = all.filter_map(|element| program.id(element)).collect();
    Profile::of(elements)
}

/// Returns the text of the graph and of its plan.
fn written(program: &Program, blocks: &BTreeSet<BlockId>) -> String {
    let run = Run { profile: profile(program, blocks), machine: 0, cost: 0 };
    let plan = Plan { strategy: Strategy::Single, runs: vec![run] };
    text::write(program) + &plan_text::write(program, &plan)
}
