//! Weights: how often each element of a program gives an event.
//!
//! ```text
//!  written   the weights of edges in the graph
//!  basic     all edges of a fork equally; a loop runs twice
//!  counted   what an execution did
//! ```
//!
//! Kirchhoff's law holds for what is counted: a block begins as often as it is reached, and as
//! often as it is left. Design: `.paths.weights` in `design/paths.md`.

use crate::graph::{BlockId, EdgeId, Element, ElementId, FunctionId, Program};
use crate::points::Points;

/// The weight of a basic weighting for one call of `main`.
const UNIT: f64 = 1000.0;
/// Rounds in which the weights of loops and calls grow.
const ROUND_COUNT: usize = 24;
/// The greatest weight of a basic weighting.
const BASIC_MAX: f64 = 1e12;

/// The weights of all elements of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    of: Vec<u64>,
}

impl Weights {
    /// Returns the weight of an element.
    pub fn of(&self, element: ElementId) -> u64 {
        self.of.get(element.0 as usize).copied().unwrap_or(0)
    }

    /// Returns the weights that the graph states, if it states that of each edge. A function begins
    /// as often as its first block is left more often than edges reach it.
    pub fn written(program: &Program) -> Option<Weights> {
        let points = Points::new(program);
        let mut of = vec![0; program.element_count()];
        for (id, function) in program.ids().zip(program.functions()) {
            for (at, edge) in (0..).map(EdgeId).zip(function.edges()) {
                *of.get_mut(points.edge(id, at) as usize)? = edge.weight?;
            }
        }
        let sum = |of: &[u64], edges: &mut dyn Iterator<Item = u32>| {
            edges
                .map(|edge| of.get(edge as usize).copied().unwrap_or(0))
                .fold(0, u64::saturating_add)
        };
        for (id, function) in program.ids().zip(program.functions()) {
            let entry = function.entry();
            let leaving =
                &mut function.range(entry).map(|edge| points.edge(id, EdgeId(edge as u32)));
            let arriving = points.arriving_at(points.block(id, entry));
            let mut calls =
                sum(&of, leaving).saturating_sub(sum(&of, &mut arriving.iter().copied()));
            if id == program.main() || function.range(entry).is_empty() {
                calls = calls.max(1);
            }
            for point in [points.enter(id), points.leave(id)] {
                *of.get_mut(point as usize)? = calls;
            }
            for block in (0..).map(BlockId).take(function.blocks().len()) {
                let point = points.block(id, block);
                let arrivals = sum(&of, &mut points.arriving_at(point).iter().copied());
                let begins = if block == entry { calls } else { 0 };
                *of.get_mut(point as usize)? = arrivals.saturating_add(begins);
            }
        }
        Some(Weights { of })
    }

    /// Returns weights without a measurement: a block passes its weight to its ways on in equal
    /// parts, and a call gives its weight to each function that it can call.
    pub fn basic(program: &Program) -> Weights {
        let points = Points::new(program);
        let mut of = vec![0f64; program.element_count()];
        let mut calls = vec![0f64; program.functions().len()];
        let main = program.main().0 as usize;
        for _ in 0..ROUND_COUNT {
            let mut next = vec![0f64; calls.len()];
            next[main] = UNIT;
            for (id, function) in program.ids().zip(program.functions()) {
                let weight = calls.get(id.0 as usize).copied().unwrap_or(0.0).max(1.0);
                flow(&points, id, weight, &mut of);
                for (block, own) in (0..).map(BlockId).zip(function.blocks()) {
                    for callee in own.call.iter().flat_map(|call| &call.targets) {
                        let sum = &mut next[callee.0 as usize];
                        *sum = (*sum + of[points.block(id, block) as usize]).min(BASIC_MAX);
                    }
                }
            }
            calls = next;
        }
        Weights { of: of.into_iter().map(|weight| weight.ceil() as u64).collect() }
    }

    /// Returns weights that a function of each element gives.
    pub fn from_fn(program: &Program, of: impl Fn(ElementId) -> u64) -> Weights {
        let count = program.element_count() as u32;
        Weights { of: (0..count).map(|element| of(ElementId(element))).collect() }
    }

    /// Returns how often each element occurs in an execution.
    pub fn counted(program: &Program, elements: impl IntoIterator<Item = ElementId>) -> Weights {
        let mut of = vec![0u64; program.element_count()];
        for element in elements {
            if let Some(count) = of.get_mut(element.0 as usize) {
                *count += 1;
            }
        }
        Weights { of }
    }

    /// Returns the weights of some elements; all others are 0.
    pub(crate) fn of_blocks(
        program: &Program,
        own: impl IntoIterator<Item = (ElementId, u64)>,
    ) -> Weights {
        let mut of = vec![0; program.element_count()];
        for (element, weight) in own {
            if let Some(place) = of.get_mut(element.0 as usize) {
                *place = weight;
            }
        }
        Weights { of }
    }

    /// Returns the places where Kirchhoff's law does not hold: blocks that begin more or less often
    /// than they are reached, or than they are left.
    pub fn leaks(&self, program: &Program) -> Vec<(FunctionId, BlockId)> {
        let points = Points::new(program);
        let mut leaks = Vec::new();
        for (id, function) in program.ids().zip(program.functions()) {
            for (block, own) in (0..).map(BlockId).zip(function.blocks()) {
                let point = points.block(id, block);
                let weight = |point: u32| self.of(ElementId(point));
                let begins = if block == function.entry() { weight(points.enter(id)) } else { 0 };
                let reached =
                    points.arriving_at(point).iter().map(|edge| weight(*edge)).sum::<u64>();
                let edges = function.range(block).map(|edge| points.edge(id, EdgeId(edge as u32)));
                let left = edges.map(weight).sum::<u64>();
                // A program may end in a call, and leave the block open.
                let ends = own.returns || own.stops || own.call.is_some();
                if weight(point) != begins + reached
                    || left > weight(point)
                    || (left < weight(point) && !ends)
                {
                    leaks.push((id, block));
                }
            }
        }
        leaks
    }

    /// Returns the cost of some elements: the sum of their weights.
    pub fn cost(&self, elements: impl IntoIterator<Item = ElementId>) -> u64 {
        elements.into_iter().map(|element| self.of(element)).fold(0, u64::saturating_add)
    }
}

/// Lets a weight flow from the entry of a function.
fn flow(points: &Points<'_>, id: FunctionId, weight: f64, of: &mut [f64]) {
    let Some(function) = points.program.function(id) else { return };
    let order = order(points, id);
    for point in [points.enter(id), points.leave(id)] {
        of[point as usize] = weight;
    }
    // One round for what lies before, one for each turn of a loop.
    for _ in 0..2 {
        for block in &order {
            let point = points.block(id, *block);
            let begins = if *block == function.entry() { weight } else { 0.0 };
            let arrivals = points.arriving_at(point).iter().map(|edge| of[*edge as usize]);
            let sum = (begins + arrivals.sum::<f64>()).min(BASIC_MAX);
            of[point as usize] = sum;
            let ways = function.way_count(*block).max(1) as f64;
            for edge in function.range(*block) {
                of[points.edge(id, EdgeId(edge as u32)) as usize] = sum / ways;
            }
        }
    }
}

/// Returns the blocks of a function, each after those before it, apart from loops.
fn order(points: &Points<'_>, id: FunctionId) -> Vec<BlockId> {
    let Some(function) = points.program.function(id) else { return Vec::new() };
    let mut is_seen = vec![false; function.blocks().len()];
    let (mut done, mut work) =
        (Vec::new(), vec![(function.entry(), function.range(function.entry()))]);
    is_seen[function.entry().0 as usize] = true;
    while let Some((block, edges)) = work.last_mut() {
        match edges.next().and_then(|edge| function.edges().get(edge)).map(|edge| edge.to) {
            Some(next) if !is_seen[next.0 as usize] => {
                is_seen[next.0 as usize] = true;
                work.push((next, function.range(next)));
            }
            Some(_) => {}
            None => {
                done.push(*block);
                work.pop();
            }
        }
    }
    done.reverse();
    done
}

/// Returns the element of a way, if an event can stand for it.
pub(crate) fn element_of(function: FunctionId, way: crate::Way) -> Option<Element> {
    match way {
        crate::Way::Edge(edge) => Some(Element::Edge(function, edge)),
        crate::Way::Return => Some(Element::Leave(function)),
        crate::Way::Into(callee) => Some(Element::Enter(callee)),
        crate::Way::Stop | crate::Way::Outside => None,
    }
}
