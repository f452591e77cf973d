//! The points of a program, and the ways from each to the next: the graph with its calls opened.
//!
//! ```text
//!  Enter f ─▶ Block ─┬─ no call ──────────────────────▶ After ─┬▶ Edge ─▶ Block …
//!                    └─ call g: Enter g …, then Leave g ─▶ ┘   ├▶ Leave f ─▶ Follow f: the Afters
//!                                                              └▶ the end       of all calls of f
//! ```
//!
//! The numbers of elements are those of their points. Design: `.paths.condition` in
//! `design/paths.md`.

use crate::graph::{Block, BlockId, EdgeId, Element, ElementId, Function, FunctionId, Program};

/// A place where a program can be, or what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// A function begins.
    Enter(FunctionId),
    /// A function returns.
    Leave(FunctionId),
    /// A block begins.
    Block(FunctionId, BlockId),
    /// An edge is taken.
    Edge(FunctionId, EdgeId),
    /// A block ends; its call, if any, has returned.
    After(FunctionId, BlockId),
    /// The points after a function has returned, in any of its callers.
    Follow(FunctionId),
}

/// A way on from a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// Along an edge.
    Edge(EdgeId),
    /// The function returns.
    Return,
    /// The program ends.
    Stop,
    /// Into a function that is called.
    Into(FunctionId),
    /// Into code without a graph, and back.
    Outside,
}

/// A place with several ways on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fork {
    /// Its function.
    pub function: FunctionId,
    /// Its block.
    pub block: BlockId,
    /// Whether its ways are those of the call of the block.
    pub is_call: bool,
}

/// The points of a program.
#[derive(Debug)]
pub(crate) struct Points<'p> {
    pub(crate) program: &'p Program,
    points: Vec<Point>,
    /// The number of the first [`Point::After`] of each function.
    afters: Vec<u32>,
    /// The number of the first [`Point::Follow`].
    follows: u32,
    /// The calls of each function: the numbers of their [`Point::After`], with their functions.
    callers: Vec<Vec<(u32, FunctionId)>>,
    /// The edges that arrive at each block, by its number.
    arriving: Vec<Vec<u32>>,
    /// Where the program can end.
    ends: Vec<bool>,
    /// The points after each point, and those that must be silent up to the return of their
    /// function before.
    after: Lists,
    /// The same backwards, within functions: from a point, and from one that must be silent.
    before: Lists,
}

/// No point.
pub(crate) const NONE: u32 = u32::MAX;

/// Lists of pairs, one behind the other.
#[derive(Debug)]
struct Lists {
    starts: Vec<u32>,
    pairs: Vec<(u32, u32)>,
}

impl Lists {
    /// Makes a list for each of the numbers below `count`, from numbers with their pairs.
    fn new(count: usize, all: &[(u32, u32, u32)]) -> Lists {
        let mut starts = vec![0u32; count + 1];
        all.iter().for_each(|own| starts[own.0 as usize + 1] += 1);
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let (mut ends, mut pairs) = (starts.clone(), vec![(NONE, NONE); all.len()]);
        for (list, one, other) in all {
            let end = &mut ends[*list as usize];
            pairs[*end as usize] = (*one, *other);
            *end += 1;
        }
        Lists { starts, pairs }
    }

    fn of(&self, list: u32) -> &[(u32, u32)] {
        let at = |list: usize| self.starts.get(list).map_or(0, |start| *start as usize);
        self.pairs.get(at(list as usize)..at(list as usize + 1)).unwrap_or_default()
    }
}

impl<'p> Points<'p> {
    pub(crate) fn new(program: &'p Program) -> Points<'p> {
        let count = program.element_count() as u32;
        let elements = (0..count).filter_map(|id| program.element(ElementId(id)));
        let mut points: Vec<Point> = elements
            .map(|element| match element {
                Element::Enter(function) => Point::Enter(function),
                Element::Leave(function) => Point::Leave(function),
                Element::Block(function, block) => Point::Block(function, block),
                Element::Edge(function, edge) => Point::Edge(function, edge),
            })
            .collect();
        let mut afters = Vec::new();
        let mut callers = vec![Vec::new(); program.functions().len()];
        for (id, function) in program.ids().zip(program.functions()) {
            let first = points.len() as u32;
            afters.push(first);
            for (at, block) in (0..).zip(function.blocks()) {
                points.push(Point::After(id, BlockId(at)));
                for callee in block.call.iter().flat_map(|call| &call.targets) {
                    if let Some(own) = callers.get_mut(callee.0 as usize) {
                        own.push((first + at, id));
                    }
                }
            }
        }
        let follows = points.len() as u32;
        points.extend(program.ids().map(Point::Follow));
        let (after, before) = (Lists::new(0, &[]), Lists::new(0, &[]));
        let (arriving, ends) = (Vec::new(), Vec::new());
        let mut all =
            Points { program, points, afters, follows, callers, arriving, ends, after, before };
        all.arriving = all.arriving();
        all.ends = (0..all.points.len() as u32).map(|point| all.ends_at(point)).collect();
        (all.after, all.before) = all.lists();
        all
    }

    /// Returns the points after each point, and before it.
    fn lists(&self) -> (Lists, Lists) {
        let (mut after, mut before) = (Vec::new(), Vec::new());
        let mut add = |from: u32, to: u32, gate: u32| {
            after.push((from, to, gate));
            before.push((to, from, gate));
            if gate != NONE {
                before.push((gate, from, to));
            }
        };
        let mut into: Vec<(u32, u32, u32)> = Vec::new();
        for index in 0..self.points.len() as u32 {
            let Some(point) = self.point(index) else { continue };
            match point {
                Point::Enter(function) => {
                    let entry = self.program.function(function).map(Function::entry);
                    entry.into_iter().for_each(|own| add(index, self.block(function, own), NONE));
                }
                Point::Leave(_) => {}
                Point::Edge(function, EdgeId(edge)) => {
                    let own = self.program.function(function);
                    let edge = own.and_then(|own| own.edges().get(edge as usize));
                    edge.into_iter().for_each(|own| add(index, self.block(function, own.to), NONE));
                }
                Point::Block(function, block) => {
                    let call = self.own(function, block).and_then(|own| own.1.call.as_ref());
                    let next = self.after(function, block);
                    for enter in call.iter().flat_map(|call| &call.targets) {
                        let enter = self.enter(*enter);
                        into.push((index, enter, NONE));
                        add(index, next, enter);
                    }
                    if call.is_none_or(|call| call.outside) {
                        add(index, next, NONE);
                    }
                }
                Point::After(function, block) => {
                    let fork = Fork { function, block, is_call: false };
                    self.ways(fork, |way| match way {
                        Way::Edge(edge) => add(index, self.edge(function, edge), NONE),
                        Way::Return => add(index, self.leave(function), NONE),
                        Way::Stop | Way::Into(_) | Way::Outside => {}
                    });
                }
                Point::Follow(function) => {
                    for (after, caller) in self.callers(function) {
                        into.push((index, *after, NONE));
                        into.push((index, self.follow(*caller), *after));
                    }
                }
            }
        }
        after.extend(into);
        (Lists::new(self.points.len(), &after), Lists::new(self.points.len(), &before))
    }

    fn ends_at(&self, point: u32) -> bool {
        match self.point(point) {
            Some(Point::After(function, block)) => {
                self.own(function, block).is_some_and(|(_, own)| own.stops)
            }
            Some(Point::Follow(function)) => {
                function == self.program.main() || self.callers(function).is_empty()
            }
            _ => false,
        }
    }

    /// Returns whether the program can end at a point, without a letter.
    pub(crate) fn is_end(&self, point: u32) -> bool {
        self.ends.get(point as usize) == Some(&true)
    }

    /// Returns the points after a point, each with a point that must be silent up to the return of
    /// its function for this, or [`NONE`].
    pub(crate) fn next(&self, point: u32) -> &[(u32, u32)] {
        self.after.of(point)
    }

    /// Returns the points of a function that are before a point, each with another one that must
    /// be silent up to the return of its function for this, or [`NONE`].
    pub(crate) fn before(&self, point: u32) -> &[(u32, u32)] {
        self.before.of(point)
    }

    /// Returns the number of points.
    pub(crate) fn count(&self) -> usize {
        self.points.len()
    }

    pub(crate) fn point(&self, index: u32) -> Option<Point> {
        self.points.get(index as usize).copied()
    }

    fn number(&self, element: Element) -> u32 {
        self.program.id(element).map_or(0, |id| id.0)
    }

    pub(crate) fn enter(&self, function: FunctionId) -> u32 {
        self.number(Element::Enter(function))
    }

    pub(crate) fn leave(&self, function: FunctionId) -> u32 {
        self.number(Element::Leave(function))
    }

    pub(crate) fn block(&self, function: FunctionId, block: BlockId) -> u32 {
        self.number(Element::Block(function, block))
    }

    pub(crate) fn edge(&self, function: FunctionId, edge: EdgeId) -> u32 {
        self.number(Element::Edge(function, edge))
    }

    pub(crate) fn after(&self, function: FunctionId, block: BlockId) -> u32 {
        self.afters.get(function.0 as usize).map_or(0, |first| first + block.0)
    }

    pub(crate) fn follow(&self, function: FunctionId) -> u32 {
        self.follows + function.0
    }

    fn arriving(&self) -> Vec<Vec<u32>> {
        let mut arriving = vec![Vec::new(); self.program.element_count()];
        for index in 0..self.program.element_count() as u32 {
            if let Some(Point::Edge(function, edge)) = self.point(index) {
                let own = self.program.function(function);
                let to = own.and_then(|own| own.edges().get(edge.0 as usize)).map(|edge| edge.to);
                let to = to.map(|to| self.block(function, to) as usize);
                if let Some(own) = to.and_then(|to| arriving.get_mut(to)) {
                    own.push(index);
                }
            }
        }
        arriving
    }

    /// Returns the edges that arrive at a block.
    pub(crate) fn arriving_at(&self, block: u32) -> &[u32] {
        self.arriving.get(block as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns the calls of a function: their [`Point::After`], with the functions that call.
    pub(crate) fn callers(&self, function: FunctionId) -> &[(u32, FunctionId)] {
        self.callers.get(function.0 as usize).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn own(&self, function: FunctionId, block: BlockId) -> Option<(&Function, &Block)> {
        let own = self.program.function(function)?;
        Some((own, own.block(block)?))
    }

    /// Calls `each` with the ways on at the end of a block, or of its call.
    pub(crate) fn ways(&self, fork: Fork, mut each: impl FnMut(Way)) {
        let Some((function, block)) = self.own(fork.function, fork.block) else { return };
        if fork.is_call {
            let call = block.call.iter();
            call.clone().flat_map(|call| &call.targets).for_each(|callee| each(Way::Into(*callee)));
            call.filter(|call| call.outside).for_each(|_| each(Way::Outside));
        } else {
            function.range(fork.block).for_each(|edge| each(Way::Edge(EdgeId(edge as u32))));
            block.returns.then(|| each(Way::Return));
            block.stops.then(|| each(Way::Stop));
        }
    }

    /// Returns the ways on at the end of a block, or of its call.
    pub(crate) fn ways_of(&self, fork: Fork) -> Vec<Way> {
        let mut ways = Vec::new();
        self.ways(fork, |way| ways.push(way));
        ways
    }

    /// Returns the forks of the blocks that a path from the entry of their function reaches.
    pub(crate) fn forks(&self) -> Vec<Fork> {
        let mut forks = Vec::new();
        for (id, function) in self.program.ids().zip(self.program.functions()) {
            let mut is_reached = vec![false; function.blocks().len()];
            let mut open = vec![function.entry()];
            while let Some(block) = open.pop() {
                match is_reached.get_mut(block.0 as usize) {
                    Some(seen) if !*seen => *seen = true,
                    _ => continue,
                }
                open.extend(function.leaving(block).iter().map(|edge| edge.to));
            }
            for block in (0..).map(BlockId).zip(is_reached).filter(|(_, own)| *own).map(|own| own.0)
            {
                for is_call in [true, false] {
                    let fork = Fork { function: id, block, is_call };
                    let mut count = 0;
                    self.ways(fork, |_| count += 1);
                    if count > 1 {
                        forks.push(fork);
                    }
                }
            }
        }
        forks
    }
}
