//! The check of a function's own events: do they tell its forks?
//!
//! ```text
//!  graph, letters: types of events ─ condition ─▶ a clash: an error at the branch, with what helps
//! ```
//!
//! Design: `.paths.check` in `design/paths.md`.

use super::flow::END;
use super::graph::{FUNCTION, Graph};
use lens_paths::graph::{BlockId, Builder, EdgeKind, Element, ElementId, GraphError, Program};
use lens_paths::{Clash, Profile, Way, clashes};
use std::collections::BTreeMap;
use syn::Error;

/// Returns an error for each fork that the events do not tell.
pub(super) fn check(
    graph: &Graph,
    name: &str,
    is_traced: bool,
) -> Result<Vec<Error>, Box<dyn std::error::Error>> {
    let program = repeated(graph, name)?;
    let mut letters = letters(graph, &program);
    if is_traced {
        let ends = [Element::Enter(FUNCTION), Element::Leave(FUNCTION)];
        letters.extend(ends.iter().filter_map(|own| program.id(*own)).map(|own| (own, own.0)));
    }
    let open = clashes(&program, &[Profile::lettered(letters.clone())])?;
    let mut errors: Vec<Error> = Vec::new();
    let mut told = Vec::new();
    // One error a fork: its further pairs may be told by what helps the first.
    for clash in open.iter().filter(|clash| clash.fork.function == FUNCTION) {
        if !told.contains(&clash.fork) {
            told.push(clash.fork);
            errors.push(complaint(graph, &program, &letters, clash));
        }
    }
    Ok(errors)
}

/// Returns the program that calls the function again and again.
fn repeated(graph: &Graph, name: &str) -> Result<Program, GraphError> {
    let mut builder = Builder::default();
    graph.add(&mut builder, name, END)?;
    let caller = builder.function("", None)?;
    let block = builder.block(caller, None, None)?;
    builder.call(caller, block, FUNCTION)?;
    builder.edge(caller, block, block, EdgeKind::Jump)?;
    builder.returns(caller, block)?;
    // Its number of calls is not asked for.
    builder.main(caller)?;
    builder.build()
}

/// Returns the letters of the events: each type has one.
fn letters(graph: &Graph, program: &Program) -> Vec<(ElementId, u32)> {
    let mut numbers = BTreeMap::new();
    let first = program.element_count() as u32;
    let own = (0..).map(BlockId).zip(&graph.places).filter_map(|(block, place)| {
        let count = numbers.len() as u32;
        let number = *numbers.entry(place.letter.as_ref()?).or_insert(first + count);
        Some((program.id(Element::Block(FUNCTION, block))?, number))
    });
    own.collect()
}

/// Returns the error: both ways, and the event that would help.
fn complaint(
    graph: &Graph,
    program: &Program,
    letters: &[(ElementId, u32)],
    clash: &Clash,
) -> Error {
    let (one, other) = clash.ways;
    let [target, beside] = [one, other].map(|way| target(program, way));
    let says = |block: Option<BlockId>| match block.filter(|block| *block != END) {
        Some(block) => {
            let place = &graph.places[block.0 as usize];
            format!("`{}` in line {}", place.word, place.span.unwrap().line())
        }
        None => "the end of the function".to_owned(),
    };
    let fresh = program.element_count() as u32 + letters.len() as u32;
    let helps = |block: &Option<BlockId>| {
        let block = block.filter(|block| graph.places[block.0 as usize].is_free);
        let Some(id) = block.and_then(|own| program.id(Element::Block(FUNCTION, own))) else {
            return false;
        };
        let more = letters.iter().copied().chain([(id, fresh)]);
        let open = clashes(program, &[Profile::lettered(more)]);
        open.is_ok_and(|open| !open.contains(clash))
    };
    let help = match [target, beside].into_iter().find(helps) {
        Some(block) => format!("an event of a type of its own at {} would help", says(block)),
        None => "an event of a type of its own at each of them would help".to_owned(),
    };
    let message = format!(
        "#[path(check)]: the events of this function do not tell {} from {}; {help}",
        says(target),
        says(beside)
    );
    let at = [target, beside].into_iter().flatten().find(|block| *block != END);
    Error::new(graph.places[at.unwrap_or(END).0 as usize].span, message)
}

/// Returns the block that a way leads to.
fn target(program: &Program, way: Way) -> Option<BlockId> {
    let Way::Edge(edge) = way else { return None };
    let function = program.functions().first()?;
    function.edges().get(edge.0 as usize).map(|edge| edge.to)
}
