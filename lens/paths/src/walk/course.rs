//! One walk: where it is, what it used, which steps are not sure yet.
//!
//! ```text
//!  step: arrive (letters, steps) ─▶ next: one way │ fork: choose │ return │ end
//!    └ lost: cut: the end │ else: drop steps that are not sure, go on at a letter with one element
//! ```
//!
//! Invariant: `pending` has the steps since the last letter that was used. Design: `.paths.walk` in
//! `design/paths.md`.

use super::table::{Choice, Next, Table};
use super::{Cause, Collection, DIVERGENCE_COUNT_MAX, Divergence, Step, Walked, Walker};
use crate::graph::ElementId;
use crate::profile::END;

/// Open calls, at most.
const DEPTH_MAX: usize = 1 << 20;
/// Steps without a letter, at most: a circle without a fork and without letters never ends.
const SILENT_COUNT_MAX: usize = 1 << 22;
/// Calls of a stack that are kept for people, at most: the innermost.
const STACK_SHOWN_MAX: usize = 64;

/// A walk.
pub(super) struct Walk<'w> {
    table: &'w Table<'w>,
    collections: &'w [Collection],
    /// The next letter of each collection.
    at: Vec<usize>,
    /// The points after open calls, and the calling blocks.
    stack: Vec<(u32, u32)>,
    /// Whether the callers of the outermost open function are unknown.
    is_midway: bool,
    /// Steps that no letter confirms yet.
    pending: Vec<Step>,
    each: &'w mut dyn FnMut(Step, usize),
    pub(super) walked: Walked,
    /// Steps since a letter was used.
    silent: usize,
    /// A run, and the number of its letters after which the stack is looked at.
    pub(super) look_at: Option<(usize, usize)>,
    /// The stack that was looked at.
    pub(super) seen: Vec<ElementId>,
}

impl<'w> Walk<'w> {
    pub(super) fn new(
        walker: &'w Walker<'_>,
        collections: &'w [Collection],
        each: &'w mut dyn FnMut(Step, usize),
    ) -> Walk<'w> {
        Walk {
            table: &walker.table,
            collections,
            at: vec![0; collections.len()],
            stack: Vec::new(),
            is_midway: false,
            pending: Vec::new(),
            each,
            walked: Walked::default(),
            silent: 0,
            look_at: None,
            seen: Vec::new(),
        }
    }

    pub(super) fn run(&mut self) {
        self.walked.is_whole = true;
        let is_begun = self.collections.iter().all(|own| own.begins);
        let mut point = if is_begun {
            Some(self.table.begin())
        } else {
            self.unknown(Cause::Begin);
            self.resume(None, 0)
        };
        while let Some(at) = point {
            if self.seen_enough() {
                return;
            }
            point = match self.step(at) {
                Ok(next) => next,
                Err(cause) => self.lose(cause),
            };
        }
        self.flush();
    }

    fn seen_enough(&mut self) -> bool {
        let Some((run, count)) = self.look_at else { return false };
        let is_reached = self.at.get(run).is_some_and(|at| *at >= count);
        if is_reached {
            self.seen = self.shown();
        }
        is_reached
    }

    /// Goes on from a point: `None` at the end of the path.
    fn step(&mut self, point: u32) -> Result<Option<u32>, Lost> {
        self.arrive(point)?;
        self.silent += 1;
        if self.silent > SILENT_COUNT_MAX {
            return Err(Lost { cause: Cause::Other, run: 0, at: point });
        }
        match self.table.next(point) {
            Next::To(next) => Ok(Some(next)),
            Next::Call(enter, after) => self.call(point, enter, after).map(Some),
            Next::Fork(fork) => match self.choose(point, fork)? {
                Choice::To(next) => Ok(Some(next)),
                Choice::Call(enter, after) => self.call(point, enter, after).map(Some),
                Choice::Stop => self.end(point),
            },
            Next::Return => match self.stack.pop() {
                Some((after, _)) => Ok(Some(after)),
                None if self.is_midway => self.caller(point),
                None => self.end(point),
            },
            Next::Stop => self.end(point),
        }
    }

    fn call(&mut self, point: u32, enter: u32, after: u32) -> Result<u32, Lost> {
        if self.stack.len() >= DEPTH_MAX {
            return Err(Lost { cause: Cause::Other, run: 0, at: point });
        }
        self.stack.push((after, point));
        Ok(enter)
    }

    /// Notes the step of a point, and uses its letters.
    fn arrive(&mut self, point: u32) -> Result<(), Lost> {
        let mut is_used = false;
        if self.table.is_unwinding(point) {
            self.unwind();
        }
        for (run, letter) in self.table.letters(point) {
            let (Some(at), Some(own)) =
                (self.at.get_mut(*run as usize), self.collections.get(*run as usize))
            else {
                continue;
            };
            match own.letters.get(*at) {
                Some(next) if next == letter => *at += 1,
                None if !own.ends => {
                    return Err(Lost { cause: Cause::Cut, run: *run as usize, at: point });
                }
                _ => return Err(Lost { cause: Cause::Other, run: *run as usize, at: point }),
            }
            self.walked.letters += 1;
            is_used = true;
        }
        if let Some(step) = self.table.step(point) {
            self.pending.push(step);
        }
        if is_used {
            self.silent = 0;
            self.flush();
            // A run that was killed may have ended here: no later step is sure.
            if self.is_cut() {
                return Err(Lost { cause: Cause::Cut, run: 0, at: point });
            }
        }
        Ok(())
    }

    /// Returns whether every collection ends before its run, and is used up.
    fn is_cut(&self) -> bool {
        let mut all = self.collections.iter().zip(&self.at);
        all.all(|(own, at)| !own.ends && *at >= own.letters.len())
    }

    fn flush(&mut self) {
        let at = self.first_at();
        for step in self.pending.drain(..) {
            self.walked.blocks += u64::from(matches!(step, Step::Block(..)));
            (self.each)(step, at);
        }
    }

    /// Gives a step out.
    fn give(&mut self, step: Step) {
        let at = self.first_at();
        (self.each)(step, at);
    }

    /// Returns how many letters of the first run are used.
    fn first_at(&self) -> usize {
        self.at.first().copied().unwrap_or_default()
    }

    /// Returns the next letter of a run: [`END`] at its end, none where it is cut.
    fn peek(&self, run: usize) -> Option<u32> {
        let (at, own) = (self.at.get(run)?, self.collections.get(run)?);
        match own.letters.get(*at) {
            Some(letter) => Some(*letter),
            None => own.ends.then_some(END),
        }
    }

    fn choose(&mut self, point: u32, fork: u32) -> Result<Choice, Lost> {
        if let Some(run) = self.table.teller(fork)
            && let Some(letter) = self.peek(run)
        {
            let chosen = self.table.choose(fork, letter);
            return chosen.ok_or(Lost { cause: Cause::Other, run, at: point });
        }
        let peeks: Vec<Option<u32>> = (0..self.at.len()).map(|run| self.peek(run)).collect();
        self.table.choose_by_all(fork, &peeks).map_err(|run| {
            let is_cut = peeks.iter().any(Option::is_none);
            let cause = if is_cut && run.is_none() { Cause::Cut } else { Cause::Other };
            Lost { cause, run: run.unwrap_or(0), at: point }
        })
    }

    /// The program ends: all letters must be used.
    fn end(&mut self, point: u32) -> Result<Option<u32>, Lost> {
        for (run, own) in self.collections.iter().enumerate() {
            match self.at.get(run) {
                Some(at) if *at < own.letters.len() => {
                    return Err(Lost { cause: Cause::Other, run, at: point });
                }
                _ if !own.ends => return Err(Lost { cause: Cause::Cut, run, at: point }),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Finds the caller of a function whose call was not seen.
    fn caller(&mut self, point: u32) -> Result<Option<u32>, Lost> {
        let lost = |cause| Lost { cause, run: 0, at: point };
        let Some(letter) = self.peek(0) else { return Err(lost(Cause::Cut)) };
        match self.table.callers(point, letter)[..] {
            [after] => Ok(Some(after)),
            // The outermost function may be the main one.
            [] if letter == END => self.end(point),
            _ => Err(lost(Cause::Caller)),
        }
    }

    /// Handles the loss of the path. Returns where it goes on.
    fn lose(&mut self, lost: Lost) -> Option<u32> {
        let found = self.peek(lost.run).filter(|letter| *letter != END);
        let is_odd = lost.cause == Cause::Other;
        if is_odd && self.walked.divergences.len() < DIVERGENCE_COUNT_MAX {
            let agreed = self.at.get(lost.run).copied().unwrap_or(0);
            self.walked.divergences.push(Divergence {
                run: lost.run,
                agreed,
                found,
                at: self.table.element(lost.at),
                stack: self.shown(),
                agreed_stack: Vec::new(),
            });
        }
        self.unknown(lost.cause);
        let hidden = self.drop_pending();
        if self.collections.len() > 1 || lost.cause == Cause::Cut {
            return None;
        }
        self.resume(Some(lost.at), hidden)
    }

    /// A call ended by unwinding. The steps since the last letter, with returns, are not sure.
    fn unwind(&mut self) {
        self.unknown(Cause::Unwinding);
        self.drop_pending();
    }

    /// Drops the steps that no letter confirms. What they returned from has ended somehow. Returns
    /// how many of the open functions they began.
    fn drop_pending(&mut self) -> usize {
        let mut opened = 0;
        for step in core::mem::take(&mut self.pending) {
            match step {
                Step::Enter(_) => opened += 1,
                Step::Leave(_) if opened > 0 => opened -= 1,
                Step::Leave(function) => self.give(Step::Unwound(function)),
                _ => {}
            }
        }
        opened
    }

    fn unknown(&mut self, cause: Cause) {
        self.walked.unknown += 1;
        self.walked.is_whole = false;
        self.give(Step::Unknown(cause));
    }

    /// Goes on at the next letter that only one element has. If its function is open, the calls
    /// that it made end; else all end. The innermost `hidden` functions were not given out.
    fn resume(&mut self, from: Option<u32>, mut hidden: usize) -> Option<u32> {
        let (own, at) = (self.collections.first()?, self.at.first_mut()?);
        let rest = own.letters.get(*at..).unwrap_or_default();
        let found = rest.iter().position(|letter| self.table.only(*letter).is_some());
        let skipped = found.unwrap_or(rest.len());
        *at += skipped;
        self.walked.passed_over += skipped as u64;
        let element = self.table.only(*own.letters.get(*at)?)?;
        self.silent = 0;
        let function = self.table.function(element);
        let mut current = from.map(|point| self.table.function(point));
        while current != Some(function) {
            match current {
                Some(_) if hidden > 0 => hidden -= 1,
                Some(ended) => self.give(Step::Unwound(ended)),
                None => {}
            }
            let Some((_, call)) = self.stack.pop() else {
                self.is_midway = true;
                break;
            };
            current = Some(self.table.function(call));
        }
        Some(element)
    }

    fn shown(&self) -> Vec<ElementId> {
        let from = self.stack.len().saturating_sub(STACK_SHOWN_MAX);
        let shown = self.stack.get(from..).unwrap_or_default();
        shown.iter().map(|(_, call)| self.table.element(*call)).collect()
    }
}

/// Where a walk lost the path, and why.
#[derive(Clone, Copy, Debug)]
struct Lost {
    cause: Cause,
    run: usize,
    at: u32,
}
