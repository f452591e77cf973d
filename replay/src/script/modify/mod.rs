//! Modifications: they turn operations into those of a slightly different program.
//!
//! ```text
//!  --drop-size 4096.. --scale-size 1.5 ─▶ two steps, in the order of the command line
//!  operation ─▶ step ─▶ 0, 1 or more ─▶ step ─▶ … ─▶ renumber ─▶ operation
//! ```
//!
//! clap's derive knows no order among options, so this module asks clap for their places. Design:
//! `.rep.modify` in `design/replay.md`.

#[cfg(test)]
mod twin;

use super::renumber::Renumber;
use crate::operation::{Action, Operation};
use clap::{Arg, ArgAction, ArgMatches, Command, Error};
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::ops::RangeInclusive;

/// The options: name, value, help.
const OPTIONS: [(&str, &str, &str); 13] = [
    ("scale-size", "F", "Multiply sizes by F"),
    ("round-size", "N", "Round sizes up to multiples of N"),
    ("align", "N", "Align everything to N at least, a power of two"),
    ("keep-pool", "LIST", "Keep only the objects in these pools, numbered as by `show`: 0,2"),
    ("drop-pool", "LIST", "Drop the objects in these pools"),
    (
        "keep-size",
        "RANGES",
        "Keep only objects allocated with these sizes: 16, 1K..64K (without the end), 1M..",
    ),
    ("drop-size", "RANGES", "Drop objects allocated with these sizes"),
    ("keep-thread", "LIST", "Keep only objects that these threads allocate, numbered as by `show`"),
    ("drop-thread", "LIST", "Drop objects that these threads allocate"),
    ("stretch", "F", "Multiply lifetimes by F, 1 or more: frees come later"),
    ("delay-free", "N|TIME", "Free N operations later, or a time: 1000, 5us, 20ms, 1s"),
    ("drop-free", "P", "Drop this part of the frees, as 0.05 or 5%: shows the cost of leaks"),
    ("copies", "N", "Play N copies of the program at once, each with threads of its own"),
];

const SIZES: [(&str, u64); 3] = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)];
const TIMES: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
/// The maximum factor for sizes and times: a larger one is a mistake.
const FACTOR_MAX: f64 = 1e6;
const COPY_COUNT_MAX: u32 = 4096;

/// One modification. It prints as on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Modification {
    option: &'static str,
    text: String,
    change: Change,
}

#[derive(Clone, Debug)]
enum Change {
    ScaleSize(f64),
    RoundSize(u64),
    Align(u64),
    /// Keeps the objects with such a pool, size or thread, or drops them. If threads are dropped,
    /// the allocating thread does what they did with a kept object.
    Choose {
        is_kept: bool,
        what: fn(&Object) -> u64,
        is_thread: bool,
        ranges: Vec<RangeInclusive<u64>>,
    },
    Stretch(f64),
    DelayOperations(u64),
    /// In ns.
    DelayTime(u64),
    DropFree(f64),
    Copies(u32),
}

impl fmt::Display for Modification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{} {}", self.option, self.text)
    }
}

impl Modification {
    fn parse(option: &'static str, text: &str) -> Result<Modification, String> {
        let choose = |what: fn(&Object) -> u64| {
            let ranges = text.split(',').map(range).collect::<Result<_, _>>()?;
            let is_thread = option.ends_with("thread");
            let is_kept = option.starts_with("keep");
            Ok::<Change, String>(Change::Choose { is_kept, what, is_thread, ranges })
        };
        let change = match option {
            "scale-size" => Change::ScaleSize(factor(text)?),
            "round-size" => match size(text)? {
                0 => return Err("must be above 0".to_owned()),
                multiple => Change::RoundSize(multiple),
            },
            "align" => match size(text)? {
                alignment if alignment.is_power_of_two() && alignment <= 1 << 31 => {
                    // Every allocation is aligned to 16.
                    Change::Align(if alignment > 16 { alignment } else { 1 })
                }
                _ => return Err("must be a power of two up to 2 GiB".to_owned()),
            },
            "keep-pool" | "drop-pool" => choose(|object| object.pool.into())?,
            "keep-size" | "drop-size" => choose(|object| object.size)?,
            "keep-thread" | "drop-thread" => choose(|object| object.thread.into())?,
            "stretch" => match factor(text)? {
                factor if factor >= 1.0 => Change::Stretch(factor),
                _ => return Err("must be at least 1: frees cannot come earlier".to_owned()),
            },
            "delay-free" => match (split(text, &TIMES), text.parse()) {
                (Some((number, ns)), _) => Change::DelayTime((factor(number)? * ns as f64) as u64),
                (None, Ok(count)) => Change::DelayOperations(count),
                (None, Err(_)) => return Err("must be a number, or a time such as 5us".to_owned()),
            },
            "drop-free" => {
                let (digits, of) = split(text, &[("%", 100)]).unwrap_or((text, 1));
                let part = digits.parse().map(|value: f64| value / of as f64);
                let part = part.ok().filter(|part| (0.0..=1.0).contains(part));
                let why = || "must be from 0 to 1, or from 0% to 100%".to_owned();
                Change::DropFree(part.ok_or_else(why)?)
            }
            _ => match text.parse() {
                Ok(copies @ 1..=COPY_COUNT_MAX) => Change::Copies(copies),
                _ => return Err(format!("must be a number from 1 to {COPY_COUNT_MAX}")),
            },
        };
        Ok(Modification { option, text: text.to_owned(), change })
    }
}

/// Splits a number from its unit, if it has one.
fn split<'t>(text: &'t str, units: &[(&str, u64)]) -> Option<(&'t str, u64)> {
    units.iter().find_map(|(unit, of)| Some((text.strip_suffix(unit)?, *of)))
}

fn factor(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| *value > 0.0 && *value <= FACTOR_MAX);
    value.ok_or_else(|| "must be a number above 0, up to a million".to_owned())
}

/// Parses a number, or a size with the suffix K, M or G.
fn size(text: &str) -> Result<u64, String> {
    let upper = text.to_uppercase();
    let (digits, of) = split(&upper, &SIZES).unwrap_or((&upper, 1));
    let value = digits.parse::<u64>().ok().and_then(|value| value.checked_mul(of));
    value.ok_or_else(|| format!("{text} is not a number; write it as 16, 64K, 1M or 2G"))
}

/// Parses a number, or a range of numbers: without its end, unless `..=` precedes it.
fn range(text: &str) -> Result<RangeInclusive<u64>, String> {
    let Some((from, to)) = text.split_once("..") else {
        return size(text).map(|size| size..=size);
    };
    let from = if from.is_empty() { 0 } else { size(from)? };
    let to = match to.strip_prefix('=') {
        Some(to) => Some(size(to)?),
        None if to.is_empty() => Some(u64::MAX),
        None => size(to)?.checked_sub(1),
    };
    let range = to.map(|to| from..=to).filter(|range| !range.is_empty());
    range.ok_or_else(|| format!("{text} contains no number"))
}

/// The modifications of a command line, in its order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Modify {
    pub(crate) list: Vec<Modification>,
}

impl fmt::Display for Modify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.list.iter().map(Modification::to_string).collect::<Vec<_>>().join(" "))
    }
}

impl clap::Args for Modify {
    fn augment_args(command: Command) -> Command {
        command.args(OPTIONS.map(|(option, value, help)| {
            Arg::new(option)
                .long(option)
                .value_name(value)
                .help(help)
                .help_heading("Modifications, done in the order of the command line")
                .action(ArgAction::Append)
                .value_parser(move |text: &str| Modification::parse(option, text))
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Modify::augment_args(command)
    }
}

impl clap::FromArgMatches for Modify {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Modify, Error> {
        let mut found = BTreeMap::new();
        for (option, ..) in OPTIONS {
            let places = matches.indices_of(option).into_iter().flatten();
            let values = matches.get_many::<Modification>(option).into_iter().flatten();
            found.extend(places.zip(values.cloned()));
        }
        Ok(Modify { list: found.into_values().collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Modify::from_arg_matches(matches)?;
        Ok(())
    }
}

/// An object, as it was allocated.
#[derive(Clone, Copy, Debug)]
struct Object {
    since: u64,
    thread: u32,
    pool: u32,
    size: u64,
}

/// A modification at work, operation by operation.
struct Step {
    change: Change,
    objects: HashMap<u32, Object, FixedState>,
    /// Delayed frees and their pools: by when they are due, and by their numbers.
    waiting: BTreeMap<(u64, u64), (Operation, u32)>,
    /// The number of operations so far.
    count: u64,
    /// The time of the last operation.
    time: u64,
    /// The thread of the last operation that was kept.
    thread: Option<u32>,
}

impl Step {
    fn new(modification: &Modification) -> Step {
        let (objects, waiting) = (HashMap::default(), BTreeMap::new());
        let change = modification.change.clone();
        Step { change, objects, waiting, count: 0, time: 0, thread: None }
    }

    /// Takes an operation, and passes on the resulting ones, also of earlier operations.
    fn take(&mut self, mut operation: Operation, out: &mut VecDeque<Operation>) {
        use Action::{Allocate, Reallocate};
        match (&self.change, &mut operation.action) {
            (Change::ScaleSize(factor), Allocate { size, .. } | Reallocate { size, .. }) => {
                *size = (*size as f64 * factor).round() as u64;
            }
            (Change::RoundSize(multiple), Allocate { size, .. } | Reallocate { size, .. }) => {
                *size = size.checked_next_multiple_of(*multiple).unwrap_or(*size);
            }
            (Change::Align(least), Allocate { alignment, .. }) => {
                *alignment = (*alignment).max(*least);
            }
            (Change::Align(least), Reallocate { is_unaligned, .. }) => *is_unaligned &= *least == 1,
            (Change::ScaleSize(_) | Change::RoundSize(_) | Change::Align(_), _) => {}
            (&Change::Copies(copies), _) => return copy(operation, copies, out),
            (Change::Choose { .. }, _) => return self.choose(operation, out),
            _ => return self.delay(operation, out),
        }
        out.push_back(operation);
    }

    /// Notes an operation, and returns its object.
    fn object(&mut self, operation: &Operation) -> Option<Object> {
        let Operation { time: since, thread, action } = *operation;
        match action {
            Action::Allocate { object, size, pool, .. } => {
                let allocated = Object { since, thread, pool, size };
                self.objects.insert(object, allocated);
                Some(allocated)
            }
            Action::Reallocate { object, .. } => self.objects.get(&object).copied(),
            Action::Free { object } => self.objects.remove(&object),
            Action::EndPool { .. } => None,
        }
    }

    fn choose(&mut self, mut operation: Operation, out: &mut VecDeque<Operation>) {
        let object = self.object(&operation);
        let Change::Choose { is_kept, what, is_thread, ranges } = &self.change else { return };
        let is_wanted = |number| ranges.iter().any(|range| range.contains(&number)) == *is_kept;
        // A pool without objects may end, too.
        let by = match operation.action {
            Action::EndPool { .. } => self.thread,
            _ => object.filter(|object| is_wanted(what(object))).map(|object| object.thread),
        };
        let Some(by) = by else { return };
        if *is_thread && !is_wanted(operation.thread.into()) {
            operation.thread = by;
        }
        self.thread = Some(operation.thread);
        out.push_back(operation);
    }

    fn delay(&mut self, operation: Operation, out: &mut VecDeque<Operation>) {
        let time = operation.time;
        (self.count, self.time) = (self.count + 1, time);
        let is_count = matches!(self.change, Change::DelayOperations(_));
        self.pass_due(if is_count { self.count } else { time }, out);
        let object = self.object(&operation);
        match (operation.action, object) {
            (Action::Free { object: number }, Some(Object { since, pool, .. })) => {
                let due = match self.change {
                    Change::Stretch(factor) => {
                        since.saturating_add(((time - since) as f64 * factor) as u64).max(time)
                    }
                    Change::DelayTime(later) => time.saturating_add(later),
                    Change::DelayOperations(later) => self.count.saturating_add(later),
                    // Only the end of its pool brings it.
                    Change::DropFree(part) if is_dropped(part, number) => u64::MAX,
                    _ => return out.push_back(operation),
                };
                self.waiting.insert((due, self.count), (operation, pool));
            }
            (Action::EndPool { pool }, _) => {
                let frees = self.waiting.extract_if(.., |_, (_, other)| *other == pool);
                out.extend(frees.map(|(_, (free, _))| Operation { time, ..free }));
                out.push_back(operation);
            }
            _ => out.push_back(operation),
        }
    }

    /// Passes on the delayed frees that are due by now.
    fn pass_due(&mut self, now: u64, out: &mut VecDeque<Operation>) {
        while let Some(first) = self.waiting.first_entry()
            && first.key().0 <= now
        {
            let ((due, _), (free, _)) = first.remove_entry();
            let is_count = matches!(self.change, Change::DelayOperations(_));
            out.push_back(Operation { time: if is_count { self.time } else { due }, ..free });
        }
    }

    /// Passes on what still waits at the end.
    fn end(&mut self, out: &mut VecDeque<Operation>) {
        if !matches!(self.change, Change::DropFree(_)) {
            self.pass_due(u64::MAX, out);
        }
    }
}

/// Does an operation in each of several copies of the program, which have objects and threads of
/// their own, and pools in common.
fn copy(operation: Operation, copies: u32, out: &mut VecDeque<Operation>) {
    for copy in 0..copies {
        let of_copy = |number: &mut u32| {
            let new = number.checked_mul(copies).and_then(|first| first.checked_add(copy));
            new.map(|new| *number = new).is_some()
        };
        let mut operation = operation;
        let is_whole = match &mut operation.action {
            Action::Allocate { object, .. }
            | Action::Reallocate { object, .. }
            | Action::Free { object } => of_copy(object),
            Action::EndPool { .. } => copy + 1 == copies,
        };
        if is_whole && of_copy(&mut operation.thread) {
            out.push_back(operation);
        }
    }
}

/// Returns whether the free of an object is dropped. The number of the object decides, so that each
/// run drops the same frees.
fn is_dropped(part: f64, object: u32) -> bool {
    // Multiplication by this odd number spreads the numbers evenly (Knuth).
    let spread = object.wrapping_mul(2_654_435_769);
    f64::from(spread) < part * (f64::from(u32::MAX) + 1.0)
}

pub(crate) struct Modified<I> {
    /// The operations before modifications.
    pub(crate) origin: I,
    steps: Vec<Step>,
    renumber: Renumber,
    found: VecDeque<Operation>,
    is_at_end: bool,
}

/// Modifies operations, one modification after another.
pub(crate) fn modify<I: Iterator<Item = Operation>>(operations: I, how: &Modify) -> Modified<I> {
    Modified {
        origin: operations,
        steps: how.list.iter().map(Step::new).collect(),
        renumber: Renumber::default(),
        found: VecDeque::new(),
        is_at_end: false,
    }
}

impl<I: Iterator<Item = Operation>> Iterator for Modified<I> {
    type Item = Operation;

    #[inline]
    fn next(&mut self) -> Option<Operation> {
        if self.steps.is_empty() {
            return self.origin.next();
        }
        while self.found.is_empty() && !self.is_at_end {
            self.found.extend(self.origin.next());
            self.is_at_end = self.found.is_empty();
            for step in &mut self.steps {
                for operation in std::mem::take(&mut self.found) {
                    step.take(operation, &mut self.found);
                }
                if self.is_at_end {
                    step.end(&mut self.found);
                }
            }
        }
        self.found.pop_front().map(|operation| self.renumber.apply(operation))
    }
}
