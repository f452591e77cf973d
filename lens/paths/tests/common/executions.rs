//! All executions of a program up to a length, by definition: the twin of the crate's own rooms.

use lens_paths::Profile;
use lens_paths::graph::{BlockId, EdgeId, Element, ElementId, FunctionId, Program};

/// Depth of calls, at most.
const DEPTH_MAX: usize = 6;
/// Steps of all executions, at most.
const STEP_COUNT_MAX: usize = 6000;

#[derive(Clone)]
struct State {
    elements: Vec<ElementId>,
    stack: Vec<(FunctionId, BlockId)>,
    at: At,
}

#[derive(Clone, Copy)]
enum At {
    Block(FunctionId, BlockId),
    After(FunctionId, BlockId),
}

/// Returns executions of at most `length` elements, each as its elements; at most `count`.
pub(crate) fn executions(program: &Program, length: usize, count: usize) -> Vec<Vec<ElementId>> {
    let mut found = Vec::new();
    let mut open = Vec::new();
    let begin =
        State { elements: vec![], stack: vec![], at: At::Block(program.main(), BlockId(0)) };
    enter(program, &begin, program.main(), &mut open);
    for _ in 0..STEP_COUNT_MAX {
        let Some(state) = open.pop().filter(|_| found.len() < count) else { break };
        if state.elements.len() > length || state.stack.len() > DEPTH_MAX {
            continue;
        }
        step(program, &state, &mut open, &mut found);
    }
    found
}

fn pushed(program: &Program, state: &State, element: Element) -> State {
    let mut next = state.clone();
    next.elements.push(program.id(element).unwrap());
    next
}

fn enter(program: &Program, state: &State, function: FunctionId, open: &mut Vec<State>) {
    let mut next = pushed(program, state, Element::Enter(function));
    next.at = At::Block(function, program.function(function).unwrap().entry());
    open.push(next);
}

fn step(program: &Program, state: &State, open: &mut Vec<State>, found: &mut Vec<Vec<ElementId>>) {
    match state.at {
        At::Block(function, block) => {
            let mut arrived = pushed(program, state, Element::Block(function, block));
            arrived.at = At::After(function, block);
            let own = program.function(function).unwrap().block(block).unwrap();
            match &own.call {
                None => open.push(arrived),
                Some(call) => {
                    if call.outside {
                        open.push(arrived.clone());
                    }
                    arrived.stack.push((function, block));
                    call.targets.iter().for_each(|callee| enter(program, &arrived, *callee, open));
                }
            }
        }
        At::After(function, block) => {
            let own = program.function(function).unwrap();
            for edge in own.range(block) {
                let mut next = pushed(program, state, Element::Edge(function, EdgeId(edge as u32)));
                next.at = At::Block(function, own.edges()[edge].to);
                open.push(next);
            }
            if own.block(block).unwrap().stops {
                found.push(state.elements.clone());
            }
            if own.block(block).unwrap().returns {
                let mut left = pushed(program, state, Element::Leave(function));
                match left.stack.pop() {
                    None => found.push(left.elements),
                    Some((caller, block)) => {
                        left.at = At::After(caller, block);
                        open.push(left);
                    }
                }
            }
        }
    }
}

/// Returns the letters that a profile collects of an execution.
pub(crate) fn collected(profile: &Profile, elements: &[ElementId]) -> Vec<u32> {
    elements.iter().filter_map(|element| profile.letter(*element)).collect()
}

/// Returns the blocks of an execution, with their functions.
pub(crate) fn blocks(program: &Program, elements: &[ElementId]) -> Vec<(FunctionId, BlockId)> {
    let blocks = elements.iter().filter_map(|element| match program.element(*element) {
        Some(Element::Block(function, block)) => Some((function, block)),
        _ => None,
    });
    blocks.collect()
}

/// Returns two executions with different elements and equal collections.
pub(crate) fn twins<'e>(
    executions: &'e [Vec<ElementId>],
    profiles: &[Profile],
) -> Option<(&'e [ElementId], &'e [ElementId])> {
    let mut known = std::collections::HashMap::new();
    for own in executions {
        let key: Vec<Vec<u32>> = profiles.iter().map(|profile| collected(profile, own)).collect();
        if let Some(other) = known.insert(key, own)
            && other != own
        {
            return Some((own, other));
        }
    }
    None
}
