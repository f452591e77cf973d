//! The links of a program without directions, and its forests.
//!
//! ```text
//!  Enter f ─ first block ─ … ─ After ─┬─ edge ─ block …       a link with an element can be
//!  Block ─ call ─ Enter g, After      └─ Leave f ─ Enter f    witnessed; each circle of links
//!                                        the next call        needs a witness
//! ```
//!
//! A call of a function with forks gives a letter: so it links its block to the function, and
//! nothing to the blocks after it. A return links to the next call of the function. If no circle of
//! links without a witness has a way of a fork, the ways of the fork have different first letters.
//! Design: `.paths.forest` in `design/paths.md`.

use crate::graph::{BlockId, EdgeId, ElementId};
use crate::points::{Fork, Points};
use crate::weights::Weights;
use std::collections::HashMap;

/// Sets of vertices that are joined.
pub(crate) struct Joined(Vec<u32>);

impl Joined {
    pub(crate) fn new(count: usize) -> Joined {
        Joined((0..count as u32).collect())
    }

    pub(crate) fn find(&mut self, vertex: u32) -> u32 {
        let mut at = vertex as usize;
        while self.0[at] as usize != at {
            self.0[at] = self.0[self.0[at] as usize];
            at = self.0[at] as usize;
        }
        at as u32
    }

    /// Joins two sets. Returns whether they were two.
    pub(crate) fn join(&mut self, one: u32, other: u32) -> bool {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one as usize] = other;
        one != other
    }
}

/// A link between two points.
#[derive(Clone, Copy, Debug)]
struct Link {
    ends: (u32, u32),
    /// Its witness, if it can have one.
    element: Option<ElementId>,
    /// The fork that it leaves, by its index.
    fork: Option<u32>,
}

/// The links of a program: those without an element first, then by falling weight.
#[derive(Debug)]
pub(crate) struct Links {
    links: Vec<Link>,
    vertex_count: usize,
}

impl Links {
    pub(crate) fn new(points: &Points<'_>, weights: &Weights, forks: &[Fork]) -> Links {
        let known: HashMap<Fork, u32> = forks.iter().copied().zip(0..).collect();
        let plain = plain_functions(points, forks);
        let end = points.count() as u32;
        let mut links = Vec::new();
        let mut add = |one, other, element: Option<u32>, fork: Option<&u32>| {
            let (element, fork) = (element.map(ElementId), fork.copied());
            links.push(Link { ends: (one, other), element, fork });
        };
        for (id, function) in points.program.ids().zip(points.program.functions()) {
            let (enter, leave) = (points.enter(id), points.leave(id));
            let is_plain = plain[id.0 as usize];
            let witness = |element: u32| (!is_plain).then_some(element);
            add(enter, points.block(id, function.entry()), witness(enter), None);
            if id == points.program.main() || points.callers(id).is_empty() {
                add(leave, end, None, None);
            }
            if !points.callers(id).is_empty() {
                add(leave, enter, witness(leave), None);
            }
            for (block, own) in (0..).map(BlockId).zip(function.blocks()) {
                let fork = |is_call| known.get(&Fork { function: id, block, is_call });
                let (begin, after) = (points.block(id, block), points.after(id, block));
                let call = own.call.as_ref();
                let mut passes = call.is_none_or(|call| call.outside);
                for callee in call.into_iter().flat_map(|call| &call.targets) {
                    match plain.get(callee.0 as usize) {
                        Some(true) => passes = true,
                        _ => add(begin, points.enter(*callee), None, fork(true)),
                    }
                }
                if passes {
                    add(begin, after, None, fork(true));
                }
                for at in function.range(block) {
                    let edge = points.edge(id, EdgeId(at as u32));
                    let to = function.edges().get(at).map_or(block, |edge| edge.to);
                    add(after, points.block(id, to), witness(edge), fork(false));
                }
                if own.returns {
                    add(after, leave, None, fork(false));
                }
                if own.stops {
                    add(after, end, None, fork(false));
                }
            }
        }
        links.sort_by_key(|link| match link.element {
            None => (0, 0),
            Some(element) => (1, u64::MAX - weights.of(element)),
        });
        Links { links, vertex_count: points.count() + 1 }
    }

    /// Returns which links a maximum spanning forest lacks.
    pub(crate) fn forest(&self) -> Vec<bool> {
        let mut joined = Joined::new(self.vertex_count);
        let lacks = |link: &Link| !joined.join(link.ends.0, link.ends.1) && link.element.is_some();
        self.links.iter().map(lacks).collect()
    }

    /// Returns the witnesses among some links.
    pub(crate) fn elements(&self, witnessed: &[bool]) -> Vec<ElementId> {
        let own = self.links.iter().zip(witnessed).filter(|(_, is)| **is);
        own.filter_map(|(link, _)| link.element).collect()
    }

    /// Returns the witnesses of a forest that some forks need: those on circles through their ways.
    pub(crate) fn needed(&self, forest: &[bool], is_own: &[bool]) -> Vec<ElementId> {
        let mut joined = Joined::new(self.vertex_count);
        for (link, _) in self.links.iter().zip(forest).filter(|(_, lacks)| !**lacks) {
            if !has(is_own, link) {
                joined.join(link.ends.0, link.ends.1);
            }
        }
        let mut needed = Vec::new();
        for (link, _) in self.links.iter().zip(forest).filter(|(_, lacks)| **lacks) {
            if has(is_own, link) || joined.find(link.ends.0) != joined.find(link.ends.1) {
                needed.extend(link.element);
            }
        }
        needed
    }

    /// Returns the witnesses of some forks, if all that no such fork has stays without a witness:
    /// the ways of these forks that a maximum spanning forest of the rest lacks.
    pub(crate) fn fresh(&self, is_own: &[bool]) -> Vec<ElementId> {
        let mut joined = Joined::new(self.vertex_count);
        for link in self.links.iter().filter(|link| !has(is_own, link)) {
            joined.join(link.ends.0, link.ends.1);
        }
        let mut needed = Vec::new();
        for link in self.links.iter().filter(|link| has(is_own, link)) {
            if !joined.join(link.ends.0, link.ends.1) {
                needed.extend(link.element);
            }
        }
        needed
    }

    /// Returns the cost of the witnesses of each fork.
    pub(crate) fn fork_costs(&self, weights: &Weights, forest: &[bool], count: usize) -> Vec<u64> {
        let mut costs = vec![0u64; count];
        for (link, _) in self.links.iter().zip(forest).filter(|(_, lacks)| **lacks) {
            let fork = link.fork.and_then(|fork| costs.get_mut(fork as usize));
            if let (Some(cost), Some(element)) = (fork, link.element) {
                *cost = cost.saturating_add(weights.of(element));
            }
        }
        costs
    }

    /// Returns the number of links.
    pub(crate) fn size(&self) -> usize {
        self.links.len()
    }
}

fn has(is_own: &[bool], link: &Link) -> bool {
    link.fork.is_some_and(|fork| is_own.get(fork as usize).copied().unwrap_or(false))
}

/// Returns which functions need no letter: they have no fork, and call only such functions.
fn plain_functions(points: &Points<'_>, forks: &[Fork]) -> Vec<bool> {
    let mut plain = vec![true; points.program.functions().len()];
    let mut open: Vec<_> = forks.iter().map(|fork| fork.function).collect();
    // A circle of calls without a fork never returns.
    while let Some(function) = open.pop() {
        if core::mem::replace(&mut plain[function.0 as usize], false) {
            open.extend(points.callers(function).iter().map(|(_, caller)| *caller));
        }
    }
    plain
}
