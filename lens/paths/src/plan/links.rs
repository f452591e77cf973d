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

    /// Returns the choices of witnesses for some of the forks, without the vertices that all of
    /// them join.
    pub(crate) fn choices(&self, forest: &[bool]) -> [Choices; 2] {
        let lacking = |at: usize| forest.get(at) == Some(&true);
        let all = || self.links.iter().enumerate();
        let (kept, lacks): (Vec<_>, Vec<_>) = all().partition(|(at, _)| !lacking(*at));
        let link = |(_, link): &(usize, &Link)| **link;
        let of_fork = |(_, link): &&(usize, &Link)| link.fork.is_some();
        let joins = kept.iter().filter(of_fork).map(link).collect();
        let plain = kept.iter().filter(|own| !of_fork(own)).map(link);
        let needed = self.contracted(plain, joins, lacks.iter().map(link).collect(), false);
        let own: Vec<Link> = all().filter(|own| of_fork(&own)).map(|own| *own.1).collect();
        let plain = all().filter(|own| !of_fork(&own)).map(|own| *own.1);
        [needed, self.contracted(plain, own.clone(), own, true)]
    }

    /// Makes a choice whose vertices are joined by plain links.
    fn contracted(
        &self,
        plain: impl Iterator<Item = Link>,
        mut joins: Vec<Link>,
        mut candidates: Vec<Link>,
        is_forest: bool,
    ) -> Choices {
        let mut joined = Joined::new(self.vertex_count);
        plain.for_each(|link| {
            joined.join(link.ends.0, link.ends.1);
        });
        let (mut numbers, mut count) = (vec![u32::MAX; self.vertex_count], 0);
        for end in joins
            .iter_mut()
            .chain(&mut candidates)
            .flat_map(|own| [&mut own.ends.0, &mut own.ends.1])
        {
            let number = &mut numbers[joined.find(*end) as usize];
            if *number == u32::MAX {
                (*number, count) = (count, count + 1);
            }
            *end = *number;
        }
        Choices { vertex_count: count as usize, joins, candidates, is_forest }
    }
}

/// One way to choose the witnesses of some forks. The vertices that all links without a fork join
/// are one.
#[derive(Debug)]
pub(crate) struct Choices {
    vertex_count: usize,
    /// The links without a witness, if no fork of these has them.
    joins: Vec<Link>,
    /// The links that can have a witness, by falling weight.
    candidates: Vec<Link>,
    /// Whether a candidate joins its ends, if it has no witness.
    is_forest: bool,
}

impl Choices {
    /// Calls `each` with the witnesses of some forks. If candidates join: those that a maximum
    /// spanning forest of the ways of these forks lacks, all that no such fork has stays without.
    /// Else: the candidates on circles through their ways.
    pub(crate) fn witnesses(&self, is_own: &[bool], mut each: impl FnMut(ElementId)) {
        let mut joined = Joined::new(self.vertex_count);
        for link in self.joins.iter().filter(|link| !has(is_own, link)) {
            joined.join(link.ends.0, link.ends.1);
        }
        for link in &self.candidates {
            let (one, other) = link.ends;
            let is_witness = match (self.is_forest, has(is_own, link)) {
                (true, is_own) => is_own && !joined.join(one, other),
                (false, true) => true,
                (false, false) => joined.find(one) != joined.find(other),
            };
            if let (true, Some(element)) = (is_witness, link.element) {
                each(element);
            }
        }
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
