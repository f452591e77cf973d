//! Steps, counters and their values.
//!
//! Design: `.cnv.counters` in `design/eventcnv.md`.

use crate::slices::Id;
use eventlog::reader::marks::{Change, Key, Unit};
use std::fmt;

/// The value of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A sum of integers, which is exact.
    Whole(i128),
    /// A sum with doubles in it.
    Real(f64),
}

impl Number {
    /// Returns the value as a double, rounded to the nearest.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Whole(value) => value as f64,
            Number::Real(value) => value,
        }
    }

    /// Returns the value of an integer that has 64 bits.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Number::Whole(value) => value.try_into().ok(),
            Number::Real(_) => None,
        }
    }

    /// Returns whether it is below zero.
    pub fn is_negative(self) -> bool {
        match self {
            Number::Whole(value) => value < 0,
            Number::Real(value) => value < 0.0,
        }
    }

    /// Returns this value less the value before a change; a difference of two doubles may be
    /// infinite.
    pub fn less(self, before: Number) -> Number {
        let less = || Number::Real(self.as_f64() - before.as_f64());
        self.changed(Change::Subtract, before).unwrap_or_else(less)
    }

    /// Returns the sum or the difference; `None` if it overflows.
    pub(super) fn changed(self, change: Change, by: Number) -> Option<Number> {
        let sum = match (change, self, by) {
            (Change::Is, ..) => by,
            (Change::Add, Number::Whole(a), Number::Whole(b)) => Number::Whole(a.checked_add(b)?),
            (Change::Subtract, Number::Whole(a), Number::Whole(b)) => {
                Number::Whole(a.checked_sub(b)?)
            }
            (Change::Add, a, b) => Number::Real(a.as_f64() + b.as_f64()),
            (Change::Subtract, a, b) => Number::Real(a.as_f64() - b.as_f64()),
        };
        match sum {
            Number::Real(sum) if !sum.is_finite() => None,
            sum => Some(sum),
        }
    }

    /// Returns the lesser of two.
    pub(super) fn min(self, other: Number) -> Number {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => Number::Whole(a.min(b)),
            (a, b) => {
                if b.as_f64() < a.as_f64() {
                    b
                } else {
                    a
                }
            }
        }
    }
}

/// Writes all digits of an integer.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Whole(value) => value.fmt(f),
            Number::Real(value) => value.fmt(f),
        }
    }
}

/// A change of a counter by an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The values that tell one counter of the mark from another.
    pub key: Key,
    /// The event.
    pub id: Id,
    /// Time in ticks of the stream's clock.
    pub ticks: u64,
    /// Time in ns by the clock of the log.
    pub ns: u64,
    /// The amount.
    pub by: Number,
    /// What happens with it.
    pub change: Change,
    /// The counter's mark, by its index in the marks.
    pub pair: u32,
    /// The thread that recorded the event, by its index in the stream.
    pub thread: u32,
    /// The registry of the event, by its index in the stream.
    pub registry: u16,
    /// The kind of the event.
    pub kind: u8,
    /// The place of the change among those by the event.
    pub place: u8,
    /// A value of the caller.
    pub tag: u32,
    /// What names the first value of the key: a string of the stream, by its number; or the value
    /// itself, if it is a string.
    pub(super) name: Option<NameId>,
}

/// A string that names a value: of a stream, by its number; or by its hash.
pub(super) type NameId = (u16, bool, u64);

/// The changes by consecutive events, and the strings that the changes name for the first time.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    pub(super) steps: Vec<Step>,
    pub(super) names: Vec<(NameId, Box<str>)>,
}

impl Steps {
    /// Returns the number of changes.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the changes after the first `count`, for the caller to set their tags.
    pub fn since(&mut self, count: usize) -> impl Iterator<Item = &mut Step> {
        self.steps.iter_mut().skip(count)
    }
}

/// A counter.
#[derive(Clone, Debug)]
pub struct Counter {
    /// The stream, by its index in the log.
    pub stream: u16,
    /// The mark, by its index in the marks.
    pub pair: u32,
    /// The index of the counter in [`Counters::all`](super::Counters::all).
    pub index: usize,
    /// The values that tell it from other counters of the mark.
    pub key: Key,
    /// The string that named the first value of the key at the counter's first change.
    pub label: Option<Box<str>>,
    /// The name of the mark, the key, the label, and whether the first value is unknown: one line.
    pub title: Box<str>,
    /// What it counts.
    pub unit: Option<Unit>,
    /// Its value.
    pub value: Number,
    /// Its value before the last change.
    pub before: Number,
    /// Its least value before an event stated its value, since all its changes are in the log.
    pub(super) low: Option<Number>,
    /// Whether an event stated its value.
    pub(super) is_stated: bool,
    /// Whether the last change stated it.
    pub(super) is_last_stated: bool,
}
