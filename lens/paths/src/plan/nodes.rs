//! Chooses blocks as witnesses, function by function.
//!
//! ```text
//!  a small function ─┬ the paper's: a forest, direct edges of diamonds first ────────┐ repaired by
//!                    └ none ─────────────────────────────────────────────────────────┤ gain per
//!  a large function ── the blocks after its forks                the cheaper ◀───────┘ weight
//! ```
//!
//! Design: `.paths.nodes` in `design/paths.md`.

use super::Kind;
use super::links::Joined;
use super::prune::prune;
use super::repair::{clash_count, of_ways};
use crate::first::TooLarge;
use crate::graph::{BlockId, Builder, Element, ElementId, Function, FunctionId, Program};
use crate::points::{Fork, Points};
use crate::weights::Weights;
use std::collections::BTreeSet;

/// Blocks of a function whose witnesses are chosen by gain, at most.
const SMALL: usize = 40;

/// Returns witnesses for all forks. They tell the forks of each function as far as its own blocks
/// do; calls may need more.
pub(crate) fn choose(
    points: &Points<'_>,
    weights: &Weights,
    forks: &[Fork],
    budget: &mut usize,
) -> Result<BTreeSet<ElementId>, TooLarge> {
    let mut chosen = BTreeSet::new();
    for (id, function) in points.program.ids().zip(points.program.functions()) {
        let from = forks.partition_point(|fork| fork.function < id);
        let to = forks.partition_point(|fork| fork.function <= id);
        let own = forks.get(from..to).unwrap_or_default();
        if own.is_empty() {
            continue;
        }
        let work = function.blocks().len().pow(2) * 20;
        let is_small = function.blocks().len() <= SMALL && *budget > work;
        let is_repeated = id != points.program.main() || !points.callers(id).is_empty();
        let alone = is_small.then(|| alone(function, is_repeated)).flatten();
        match alone {
            Some(program) => {
                let weights = Local { weights, points, id };
                let blocks = cheapest(&program, &weights, budget)?;
                let own = blocks.into_iter().map(|block| ElementId(points.block(id, block)));
                chosen.extend(own);
            }
            None => {
                let ways = |fork: &Fork| {
                    let mut ways = Vec::new();
                    points.ways(*fork, |way| ways.push(way));
                    of_ways(points, Kind::Blocks, *fork, &ways)
                };
                chosen.extend(own.iter().flat_map(ways));
            }
        }
    }
    Ok(chosen)
}

/// The weights of the blocks of a function.
struct Local<'l> {
    weights: &'l Weights,
    points: &'l Points<'l>,
    id: FunctionId,
}

impl Local<'_> {
    fn block(&self, block: BlockId) -> u64 {
        self.weights.of(ElementId(self.points.block(self.id, block)))
    }

    fn edge(&self, edge: usize) -> u64 {
        let edge = crate::graph::EdgeId(edge as u32);
        self.weights.of(ElementId(self.points.edge(self.id, edge)))
    }
}

/// Returns the program of a function alone, its calls left out: called again and again, if it is
/// repeated.
fn alone(function: &Function, is_repeated: bool) -> Option<Program> {
    let mut builder = Builder::default();
    let own = builder.function(function.name(), None).ok()?;
    for block in function.blocks() {
        let id = builder.block(own, None, None).ok()?;
        if block.returns {
            builder.returns(own, id).ok()?;
        }
        if block.stops {
            builder.stops(own, id).ok()?;
        }
    }
    builder.entry(own, function.entry()).ok()?;
    function.edges().iter().try_for_each(|edge| builder.weighted_edge(own, edge.clone())).ok()?;
    builder.main(own).ok()?;
    if is_repeated {
        let caller = builder.function("", None).ok()?;
        let block = builder.block(caller, None, None).ok()?;
        builder.call(caller, block, own).ok()?;
        builder.edge(caller, block, block, crate::graph::EdgeKind::Jump).ok()?;
        builder.returns(caller, block).ok()?;
        builder.main(caller).ok()?;
    }
    builder.build().ok()
}

/// Returns the cheapest blocks that were found for a function alone.
fn cheapest(
    program: &Program,
    weights: &Local<'_>,
    budget: &mut usize,
) -> Result<Vec<BlockId>, TooLarge> {
    let points = Points::new(program);
    let own: Vec<Fork> =
        points.forks().into_iter().filter(|fork| fork.function == FunctionId(0)).collect();
    let Some(function) = program.functions().first() else { return Ok(Vec::new()) };
    let mut best: Option<(u64, BTreeSet<ElementId>)> = None;
    for first in [seeds_choice(function, weights), BTreeSet::new()] {
        let element = |block: BlockId| ElementId(points.block(FunctionId(0), block));
        let mut chosen: BTreeSet<ElementId> = first.into_iter().map(element).collect();
        add_by_gain(&points, weights, &own, &mut chosen, budget)?;
        let local = local_weights(program, weights, &points);
        prune(&points, &local, &mut chosen, &own, budget)?;
        let cost = local.cost(chosen.iter().copied());
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, chosen));
        }
    }
    let blocks = best.into_iter().flat_map(|(_, chosen)| chosen);
    Ok(blocks
        .filter_map(|element| match program.element(element) {
            Some(Element::Block(_, block)) => Some(block),
            _ => None,
        })
        .collect())
}

/// Returns the weights of a function alone, as those of its program.
fn local_weights(program: &Program, weights: &Local<'_>, points: &Points<'_>) -> Weights {
    let count = program.functions().first().map_or(0, |own| own.blocks().len() as u32);
    let own = (0..count).map(BlockId);
    Weights::of_blocks(
        program,
        own.map(|block| (ElementId(points.block(FunctionId(0), block)), weights.block(block))),
    )
}

/// Adds blocks until no pair clashes: the one of the greatest gain per weight first.
fn add_by_gain(
    points: &Points<'_>,
    weights: &Local<'_>,
    forks: &[Fork],
    chosen: &mut BTreeSet<ElementId>,
    budget: &mut usize,
) -> Result<(), TooLarge> {
    let count = points.program.functions().first().map_or(0, |own| own.blocks().len() as u32);
    let mut clashes = clash_count(points, chosen, forks)?;
    while clashes > 0 && *budget > points.count() * count as usize {
        let mut best: Option<(f64, u64, ElementId, usize)> = None;
        for block in (0..count).map(BlockId) {
            let element = ElementId(points.block(FunctionId(0), block));
            if !chosen.insert(element) {
                continue;
            }
            *budget = budget.saturating_sub(points.count());
            let left = clash_count(points, chosen, forks)?;
            chosen.remove(&element);
            let weight = weights.block(block);
            let gain = clashes.saturating_sub(left) as f64 / (weight as f64 + 1.0);
            let is_better = |(most, least, ..): &(f64, u64, ElementId, usize)| {
                gain > *most || (gain == *most && weight < *least)
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some((gain, weight, element, left));
            }
        }
        let Some((gain, _, element, left)) = best else { break };
        if gain <= 0.0 {
            break;
        }
        chosen.insert(element);
        clashes = left;
    }
    Ok(())
}

/// Returns the blocks that the paper's algorithm chooses.
fn seeds_choice(function: &Function, weights: &Local<'_>) -> BTreeSet<BlockId> {
    let mut order: Vec<usize> = (0..function.edges().len()).collect();
    let mut arriving = vec![0u32; function.blocks().len()];
    function.edges().iter().for_each(|edge| arriving[edge.to.0 as usize] += 1);
    order.sort_by_key(|at| (!is_direct(function, *at), core::cmp::Reverse(weights.edge(*at))));
    let mut joined = Joined::new(function.blocks().len());
    let mut chosen = BTreeSet::new();
    for edge in order.into_iter().filter_map(|at| function.edges().get(at)) {
        if joined.join(edge.from.0, edge.to.0) {
            continue;
        }
        let is_fork = function.range(edge.from).len() > 1;
        let is_join = arriving[edge.to.0 as usize] > 1;
        let lighter =
            if weights.block(edge.from) <= weights.block(edge.to) { edge.from } else { edge.to };
        chosen.insert(match (is_fork, is_join) {
            (true, _) => edge.to,
            (false, true) => edge.from,
            (false, false) => lighter,
        });
    }
    chosen
}

/// Returns whether an edge leads from the fork of a diamond straight to its join.
fn is_direct(function: &Function, at: usize) -> bool {
    let Some(edge) = function.edges().get(at) else { return false };
    let mut is_seen = vec![false; function.blocks().len()];
    let others = function.leaving(edge.from).iter().filter(|other| other.to != edge.to);
    let mut open: Vec<BlockId> = others.map(|other| other.to).collect();
    while let Some(block) = open.pop() {
        if core::mem::replace(&mut is_seen[block.0 as usize], true) {
            continue;
        }
        if block == edge.to {
            return true;
        }
        open.extend(
            function.leaving(block).iter().map(|next| next.to).filter(|to| *to != edge.from),
        );
    }
    false
}
