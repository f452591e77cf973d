//! Modifications: they turn operations into those of a slightly different program.
//!
//! ```text
//!  operation ─▶ step ─▶ 0, 1 or more ─▶ step ─▶ … ─▶ renumber ─▶ operation
//! ```
//!
//! Design: `.rep.modify` in `design/replay.md`.

mod args;
mod choose;
mod delay;
#[cfg(test)]
mod twin;

use super::renumber::Renumber;
use crate::operation::{Action, Operation};
use std::collections::VecDeque;
use std::fmt;
use std::ops::RangeInclusive;

pub(crate) use args::Modify;

/// One modification.
#[derive(Clone, Debug, PartialEq)]
pub enum Modification {
    /// Multiplies sizes by a factor.
    ScaleSize(f64),
    /// Rounds sizes up to a multiple.
    RoundSize(u64),
    /// Raises alignments to this one at least.
    Align(u64),
    /// Keeps the objects in these pools, or drops them.
    Pools(bool, Vec<u32>),
    /// Keeps the objects that were allocated with such a size, or drops them.
    Sizes(bool, Vec<RangeInclusive<u64>>),
    /// Keeps the objects that these threads allocated, or drops them.
    Threads(bool, Vec<u32>),
    /// Multiplies lifetimes by a factor, 1 at least: frees come later.
    Stretch(f64),
    /// Delays frees by this number of operations.
    DelayOperations(u64),
    /// Delays frees by this time in ns.
    DelayTime(u64),
    /// Drops this part of the frees.
    DropFree(f64),
    /// Plays this number of copies of the program at once.
    Copies(u32),
}

impl fmt::Display for Modification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only = |is_kept: bool| if is_kept { "only" } else { "without" };
        let list = |numbers: &[u32]| {
            numbers.iter().map(u32::to_string).collect::<Vec<String>>().join(", ")
        };
        match self {
            Modification::ScaleSize(factor) => write!(f, "sizes × {factor}"),
            Modification::RoundSize(multiple) => {
                write!(f, "sizes rounded up to multiples of {multiple}")
            }
            Modification::Align(1) => write!(f, "with the usual alignment"),
            Modification::Align(alignment) => write!(f, "aligned to {alignment} at least"),
            Modification::Pools(is_kept, pools) => {
                write!(f, "{} pools {}", only(*is_kept), list(pools))
            }
            Modification::Sizes(is_kept, sizes) => {
                let sizes = sizes.iter().map(written).collect::<Vec<String>>().join(", ");
                write!(f, "{} sizes {sizes}", only(*is_kept))
            }
            Modification::Threads(is_kept, threads) => {
                write!(f, "{} threads {}", only(*is_kept), list(threads))
            }
            Modification::Stretch(factor) => write!(f, "lifetimes × {factor}"),
            Modification::DelayOperations(count) => write!(f, "frees {count} operations later"),
            Modification::DelayTime(time) => write!(f, "frees {} later", with_unit(*time, &TIMES)),
            Modification::DropFree(part) => write!(f, "{} % of the frees dropped", part * 100.0),
            Modification::Copies(count) => write!(f, "{count} copies at once"),
        }
    }
}

/// Units of sizes and times on the command line.
const SIZES: [(u64, &str); 3] = [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
const TIMES: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];

/// Returns a number in the largest unit that divides it.
fn with_unit(number: u64, units: &[(u64, &str)]) -> String {
    let fits = |unit: &&(u64, &str)| number > 0 && number.is_multiple_of(unit.0);
    let unit = units.iter().find(fits);
    unit.map_or(number.to_string(), |(size, name)| format!("{}{name}", number / size))
}

/// Returns sizes as on the command line: with the last size or the one after it, whatever is
/// shorter.
fn written(range: &RangeInclusive<u64>) -> String {
    let size = |size: u64| with_unit(size, &SIZES);
    let (from, to) = (*range.start(), *range.end());
    let begin = if from == 0 && to != u64::MAX { String::new() } else { size(from) };
    if from == to {
        return size(to);
    }
    let Some(end) = to.checked_add(1) else { return format!("{begin}..") };
    let ends = [format!("{begin}..{}", size(end)), format!("{begin}..={}", size(to))];
    let [without, with] = ends;
    if with.len() < without.len() { with } else { without }
}

/// A modification, operation by operation.
trait Step {
    /// Takes an operation, and passes on the resulting ones, also of earlier operations.
    fn take(&mut self, operation: Operation, emit: &mut dyn FnMut(Operation));

    fn end(&mut self, emit: &mut dyn FnMut(Operation)) {
        let _ = emit;
    }
}

/// A step that turns each operation into one operation.
struct Map<F>(F);

impl<F: FnMut(Operation) -> Operation> Step for Map<F> {
    fn take(&mut self, operation: Operation, emit: &mut dyn FnMut(Operation)) {
        emit((self.0)(operation));
    }
}

impl Modification {
    fn step(&self) -> Box<dyn Step> {
        match self.clone() {
            Modification::ScaleSize(factor) => {
                sizes(move |size| (size as f64 * factor).round() as u64)
            }
            Modification::RoundSize(multiple) => {
                sizes(move |size| size.checked_next_multiple_of(multiple).unwrap_or(size))
            }
            Modification::Align(least) => Box::new(Map(move |mut operation: Operation| {
                match &mut operation.action {
                    Action::Allocate { alignment, .. } => *alignment = least.max(*alignment),
                    Action::Reallocate { is_unaligned, .. } => *is_unaligned &= least == 1,
                    _ => {}
                }
                operation
            })),
            Modification::Pools(is_kept, pools) => choose::pools(is_kept, pools),
            Modification::Sizes(is_kept, sizes) => choose::sizes(is_kept, sizes),
            Modification::Threads(is_kept, threads) => choose::threads(is_kept, threads),
            Modification::Stretch(factor) => delay::stretch(factor),
            Modification::DelayOperations(count) => delay::operations(count),
            Modification::DelayTime(time) => delay::time(time),
            Modification::DropFree(part) => Box::new(delay::Drop::new(part)),
            Modification::Copies(count) => Box::new(choose::Copies(count)),
        }
    }
}

fn sizes(change: impl Fn(u64) -> u64 + 'static) -> Box<dyn Step> {
    Box::new(Map(move |mut operation: Operation| {
        if let Action::Allocate { size, .. } | Action::Reallocate { size, .. } =
            &mut operation.action
        {
            *size = change(*size);
        }
        operation
    }))
}

/// Modified operations.
pub struct Modified<I> {
    operations: I,
    steps: Vec<Box<dyn Step>>,
    renumber: Renumber,
    found: VecDeque<Operation>,
    is_at_end: bool,
}

/// Modifies operations, one modification after another.
pub fn modify<I: Iterator<Item = Operation>>(
    operations: I,
    modifications: &[Modification],
) -> Modified<I> {
    Modified {
        operations,
        steps: modifications.iter().map(Modification::step).collect(),
        renumber: Renumber::default(),
        found: VecDeque::new(),
        is_at_end: false,
    }
}

impl<I> Modified<I> {
    /// Returns the operations before modifications.
    pub fn inner(&self) -> &I {
        &self.operations
    }

    /// Returns them mutably.
    pub(crate) fn inner_mut(&mut self) -> &mut I {
        &mut self.operations
    }
}

/// Passes an operation to the first step, the results to the next, and so on.
fn pass(steps: &mut [Box<dyn Step>], operation: Operation, found: &mut VecDeque<Operation>) {
    match steps.split_first_mut() {
        None => found.push_back(operation),
        Some((step, rest)) => step.take(operation, &mut |operation| pass(rest, operation, found)),
    }
}

/// Ends the first step, then the next, and so on.
fn end(steps: &mut [Box<dyn Step>], found: &mut VecDeque<Operation>) {
    if let Some((step, rest)) = steps.split_first_mut() {
        step.end(&mut |operation| pass(rest, operation, found));
        end(rest, found);
    }
}

impl<I: Iterator<Item = Operation>> Iterator for Modified<I> {
    type Item = Operation;

    #[inline]
    fn next(&mut self) -> Option<Operation> {
        if self.steps.is_empty() {
            return self.operations.next();
        }
        loop {
            if let Some(operation) = self.found.pop_front() {
                return Some(self.renumber.apply(operation));
            }
            if self.is_at_end {
                return None;
            }
            match self.operations.next() {
                Some(operation) => pass(&mut self.steps, operation, &mut self.found),
                None => {
                    self.is_at_end = true;
                    end(&mut self.steps, &mut self.found);
                }
            }
        }
    }
}
