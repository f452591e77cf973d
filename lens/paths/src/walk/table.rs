//! What a walk looks up at each point: letters, the next point, the ways of a fork by their first
//! letters.
//!
//! Design: `.paths.walk` in `design/paths.md`.

use super::Step;
use crate::condition::tells;
use crate::first::{First, TooLarge};
use crate::graph::{EdgeId, EdgeKind, ElementId, FunctionId};
use crate::points::{Fork, Point, Points, Way};
use crate::profile::{END, Profile};
use crate::seen::Seen;
use std::collections::HashMap;

/// How a path goes on from a point.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    To(u32),
    /// Into a function, then to the point after its return.
    Call(u32, u32),
    /// One of several ways: the fork's number.
    Fork(u32),
    Return,
    Stop,
}

/// A way that was chosen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    To(u32),
    Call(u32, u32),
    Stop,
}

/// A fork.
#[derive(Debug)]
struct Ways {
    fork: Fork,
    ways: Vec<(Way, Choice)>,
    /// The run that tells all its ways, if one does.
    teller: Option<usize>,
    /// The first letters of that run, in order, with their ways.
    letters: Vec<(u32, u32)>,
    /// The way that can return without a letter.
    silent: Option<u32>,
}

/// The tables of a program and its profiles.
#[derive(Debug)]
pub(super) struct Table<'p> {
    points: Points<'p>,
    firsts: Vec<First>,
    seen: Vec<Seen>,
    next: Vec<Next>,
    steps: Vec<Option<Step>>,
    /// The first letter of each point in `letters`.
    starts: Vec<u32>,
    /// Runs and letters.
    letters: Vec<(u32, u32)>,
    forks: Vec<Ways>,
    /// The edges that only the unwinding of a known function takes, in order.
    unwinding: Vec<u32>,
    /// The elements of the first run's letters that have one.
    only: HashMap<u32, Option<u32>>,
}

impl<'p> Table<'p> {
    pub(super) fn new(points: Points<'p>, profiles: &[Profile]) -> Result<Table<'p>, TooLarge> {
        let firsts = profiles.iter().map(|profile| First::new(&points, profile));
        let firsts = firsts.collect::<Result<Vec<First>, TooLarge>>()?;
        let mut table = Table {
            seen: firsts.iter().map(First::seen).collect(),
            firsts,
            next: Vec::with_capacity(points.count()),
            steps: Vec::with_capacity(points.count()),
            starts: Vec::with_capacity(points.count() + 1),
            letters: Vec::new(),
            forks: Vec::new(),
            unwinding: Vec::new(),
            only: HashMap::new(),
            points,
        };
        for (element, letter) in profiles.first().iter().flat_map(|own| own.letters()) {
            let only = table.only.entry(*letter).or_insert(Some(element.0));
            *only = only.filter(|own| *own == element.0);
        }
        for point in 0..table.points.count() as u32 {
            table.add(point);
        }
        table.starts.push(table.letters.len() as u32);
        Ok(table)
    }

    fn add(&mut self, index: u32) {
        self.starts.push(self.letters.len() as u32);
        for (run, first) in (0..).zip(&self.firsts) {
            self.letters.extend(first.letter(index).map(|letter| (run, letter)));
        }
        let Some(point) = self.points.point(index) else { return };
        self.steps.push(match point {
            Point::Enter(function) => Some(Step::Enter(function)),
            Point::Leave(function) => Some(Step::Leave(function)),
            Point::Block(function, block) => Some(Step::Block(function, block)),
            Point::Edge(..) | Point::After(..) | Point::Follow(_) => None,
        });
        let next = match point {
            Point::Enter(function) => {
                let entry = self.points.program.function(function).map(|own| own.entry());
                entry.map_or(Next::Stop, |entry| Next::To(self.points.block(function, entry)))
            }
            Point::Leave(_) => Next::Return,
            Point::Follow(_) => Next::Stop,
            Point::Edge(function, EdgeId(edge)) => {
                let own = self.points.program.function(function);
                let edge = own.and_then(|own| own.edges().get(edge as usize));
                let from = edge.filter(|edge| edge.kind == EdgeKind::Unwind).map(|edge| edge.from);
                let from = from.and_then(|from| own?.block(from)?.call.as_ref());
                if from.is_some_and(|call| !call.targets.is_empty()) {
                    self.unwinding.push(index);
                }
                let to = edge.map(|edge| edge.to);
                to.map_or(Next::Stop, |to| Next::To(self.points.block(function, to)))
            }
            Point::Block(function, block) => self.fork(Fork { function, block, is_call: true }),
            Point::After(function, block) => self.fork(Fork { function, block, is_call: false }),
        };
        self.next.push(next);
    }

    /// Returns how a path goes on from a block or its call; adds the fork if it is one.
    fn fork(&mut self, fork: Fork) -> Next {
        let after = self.points.after(fork.function, fork.block);
        let mut ways = Vec::new();
        self.points.ways(fork, |way| {
            let choice = match way {
                Way::Edge(edge) => Choice::To(self.points.edge(fork.function, edge)),
                Way::Return => Choice::To(self.points.leave(fork.function)),
                Way::Stop => Choice::Stop,
                Way::Into(callee) => Choice::Call(self.points.enter(callee), after),
                Way::Outside => Choice::To(after),
            };
            ways.push((way, choice));
        });
        match ways[..] {
            [] if fork.is_call => Next::To(after),
            [] => Next::Stop,
            [(_, Choice::To(next))] => Next::To(next),
            [(_, Choice::Call(enter, after))] => Next::Call(enter, after),
            [(_, Choice::Stop)] => Next::Stop,
            _ => {
                let own = self.told(fork, ways);
                self.forks.push(own);
                Next::Fork(self.forks.len() as u32 - 1)
            }
        }
    }

    fn told(&mut self, fork: Fork, ways: Vec<(Way, Choice)>) -> Ways {
        let mut firsts = self.firsts.iter().zip(&mut self.seen);
        let teller = firsts.position(|(first, seen)| tells(&self.points, first, fork, seen));
        let (mut letters, mut silent) = (Vec::new(), None);
        if let Some(first) = teller.and_then(|run| self.firsts.get(run)) {
            for (at, (way, _)) in (0..).zip(&ways) {
                let returns = first.way(&self.points, fork, *way, &mut |point| {
                    let set = first.set(point).iter();
                    letters.extend(set.map(|own| (first.letter_of(*own), at)));
                });
                if *way == Way::Stop {
                    letters.push((END, at));
                }
                if returns {
                    silent = Some(at);
                }
            }
            letters.sort_unstable();
            letters.dedup();
        }
        Ways { fork, ways, teller, letters, silent }
    }

    pub(super) fn begin(&self) -> u32 {
        self.points.enter(self.points.program.main())
    }

    pub(super) fn next(&self, point: u32) -> Next {
        self.next.get(point as usize).copied().unwrap_or(Next::Stop)
    }

    /// Returns whether a point is an edge that only the unwinding of a known function takes.
    pub(super) fn is_unwinding(&self, point: u32) -> bool {
        self.unwinding.binary_search(&point).is_ok()
    }

    pub(super) fn step(&self, point: u32) -> Option<Step> {
        self.steps.get(point as usize).copied().flatten()
    }

    /// Returns the runs in which a point has a letter, and the letters.
    pub(super) fn letters(&self, point: u32) -> &[(u32, u32)] {
        let at = |point: usize| self.starts.get(point).map_or(0, |start| *start as usize);
        self.letters.get(at(point as usize)..at(point as usize + 1)).unwrap_or_default()
    }

    pub(super) fn teller(&self, fork: u32) -> Option<usize> {
        self.forks.get(fork as usize).and_then(|own| own.teller)
    }

    /// Returns the way that the next letter of the telling run stands for.
    pub(super) fn choose(&self, fork: u32, letter: u32) -> Option<Choice> {
        let own = self.forks.get(fork as usize)?;
        let at = match own.letters.binary_search_by_key(&letter, |(first, _)| *first) {
            Ok(found) => own.letters.get(found)?.1,
            Err(_) => {
                let first = self.firsts.get(own.teller?)?;
                let follow = self.points.follow(own.fork.function);
                own.silent.filter(|_| first.has(follow, letter))?
            }
        };
        own.ways.get(at as usize).map(|(_, choice)| *choice)
    }

    /// Returns the one way that the next letters of all runs allow. A run that is cut allows all.
    ///
    /// # Errors
    ///
    /// Fails with a run that allows none of the ways that others allow; with none if several ways
    /// are left.
    pub(super) fn choose_by_all(
        &self,
        fork: u32,
        peeks: &[Option<u32>],
    ) -> Result<Choice, Option<usize>> {
        let own = self.forks.get(fork as usize).ok_or(None)?;
        let mut left: Vec<&(Way, Choice)> = own.ways.iter().collect();
        for (run, letter) in peeks.iter().enumerate() {
            let Some(letter) = letter else { continue };
            left.retain(|(way, _)| self.allows(run, own.fork, *way, *letter));
            if left.is_empty() {
                return Err(Some(run));
            }
        }
        match left[..] {
            [(_, choice)] => Ok(*choice),
            _ => Err(None),
        }
    }

    fn allows(&self, run: usize, fork: Fork, way: Way, letter: u32) -> bool {
        let Some(first) = self.firsts.get(run) else { return false };
        let mut is_first = way == Way::Stop && letter == END;
        let returns = first.way(&self.points, fork, way, &mut |point| {
            is_first |= first.has(point, letter);
        });
        let follow = self.points.follow(fork.function);
        is_first || (returns && first.has(follow, letter))
    }

    /// Returns the points after the calls of a function that can come next, by the first run.
    pub(super) fn callers(&self, leave: u32, letter: u32) -> Vec<u32> {
        let (function, Some(first)) = (self.function(leave), self.firsts.first()) else {
            return Vec::new();
        };
        let is_next = |(after, caller): &&(u32, FunctionId)| {
            let follow = self.points.follow(*caller);
            first.has(*after, letter) || (first.returns(*after) && first.has(follow, letter))
        };
        let mut found: Vec<u32> =
            self.points.callers(function).iter().filter(is_next).map(|own| own.0).collect();
        found.dedup();
        found
    }

    /// Returns the one element of a letter of the first run.
    pub(super) fn only(&self, letter: u32) -> Option<u32> {
        self.only.get(&letter).copied().flatten()
    }

    pub(super) fn function(&self, point: u32) -> FunctionId {
        match self.points.point(point) {
            Some(
                Point::Enter(function)
                | Point::Leave(function)
                | Point::Block(function, _)
                | Point::Edge(function, _)
                | Point::After(function, _)
                | Point::Follow(function),
            ) => function,
            None => self.points.program.main(),
        }
    }

    /// Returns the element of a point, or that of its block.
    pub(super) fn element(&self, point: u32) -> ElementId {
        match self.points.point(point) {
            Some(Point::After(function, block)) => ElementId(self.points.block(function, block)),
            Some(Point::Follow(function)) => ElementId(self.points.leave(function)),
            _ => ElementId(point),
        }
    }
}
