//! The methods that take the recorder's own cost out of times.
//!
//! ```text
//!  Sum, Costs ── raw │ outer │ leaves │ calibrated ──▶ Times, each with an error bar
//! ```
//!
//! The sums themselves never change. Design: `.statements.correct` in `design/statements.md`.

use super::model::{Costs, Sum};

/// A method of correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Times as they were measured.
    Raw,
    /// Without the cost of what is beneath.
    Outer,
    /// The times of statements with others in them are the sums of these. Needs a trace.
    Leaves,
    /// Without the cost of what is beneath and of the own boundary; with an error bar.
    Calibrated,
}

/// A time, and how far it may be off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Value {
    /// In ns. It may be below zero: see [`Value::is_below`].
    pub ns: f64,
    /// In ns; 0 if it is not known.
    pub error: f64,
}

impl Value {
    /// Returns whether the time is too short to be measured: it is at most the error.
    #[must_use]
    pub fn is_below(&self) -> bool {
        self.ns < self.error
    }

    /// Returns the time, or its error if that is greater: a bound, and never negative.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.ns.max(self.error).max(0.0)
    }

    fn plus(self, other: Value) -> Value {
        Value { ns: self.ns + other.ns, error: self.error + other.error }
    }

    /// Returns a part of the time: of `count` times, one.
    fn by(self, count: f64) -> Value {
        Value { ns: self.ns / count, error: self.error / count }
    }
}

/// The times of executions, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Executions that were timed: at least one.
    pub timed: u64,
    /// All in them.
    pub total: Value,
    /// Without the statements in them.
    pub own: Value,
    /// The mean of the total times.
    pub mean: Value,
    /// The shortest one: see [`Times::one`].
    pub shortest: Value,
    /// The longest one.
    pub longest: Value,
    /// The sum of the squared distances from the mean, as it was measured; `None` if the sums
    /// contradict each other.
    pub squares: Option<f64>,
    /// The mean as it was measured.
    pub raw_mean: f64,
    /// Whether no statements are in any of them.
    pub is_leaf: bool,
}

impl Times {
    /// Returns the times of sums; `None` if none was timed. A tick has `ns` nanoseconds.
    pub(super) fn of(sum: &Sum, method: Method, costs: &Costs, ns: f64) -> Option<Times> {
        let timed = Some(sum.timed).filter(|timed| *timed > 0)? as f64;
        let total = correct(method, costs, Parts::total(sum), sum.total);
        let own = correct(method, costs, Parts::own(sum), sum.own);
        let mean = total.by(timed);
        let is_leaf = sum.beneath == 0 && sum.blocks == 0;
        let scaled = |value: Value| Value { ns: value.ns * ns, error: value.error * ns };
        let squares = sum.variance().map(|variance| variance.squares() * ns * ns);
        let mut times = Times {
            timed: sum.timed,
            total: scaled(total),
            own: scaled(own),
            mean: scaled(mean),
            shortest: Value::default(),
            longest: Value::default(),
            squares,
            raw_mean: sum.total as f64 / timed * ns,
            is_leaf,
        };
        times.shortest = times.one(sum.shortest as f64 * ns);
        times.longest = times.one(sum.longest as f64 * ns);
        Some(times)
    }

    /// Corrects the time of one execution. How much of the recorder was in one execution of a
    /// statement with others in it is not known: it gets its share.
    #[must_use]
    pub fn one(&self, ns: f64) -> Value {
        let (mean, error) = (self.mean.ns, self.mean.error);
        let ns = if self.is_leaf || self.raw_mean == 0.0 {
            ns - (self.raw_mean - mean)
        } else {
            ns * (mean / self.raw_mean)
        };
        Value { ns: if error == 0.0 { ns.max(0.0) } else { ns }, error }
    }

    /// Returns the times of these executions and others (the squares by T. F. Chan, G. H. Golub and
    /// R. J. LeVeque).
    #[must_use]
    pub fn plus(self, other: &Times) -> Times {
        let [a, b] = [self.timed as f64, other.timed as f64];
        let (total, apart) = (self.total.plus(other.total), other.raw_mean - self.raw_mean);
        let squares = self.squares.zip(other.squares);
        let least = |one: Value, two: Value| if two.ns < one.ns { two } else { one };
        let most = |one: Value, two: Value| if two.ns > one.ns { two } else { one };
        Times {
            timed: self.timed.saturating_add(other.timed),
            total,
            own: self.own.plus(other.own),
            mean: total.by(a + b),
            shortest: least(self.shortest, other.shortest),
            longest: most(self.longest, other.longest),
            squares: squares.map(|(one, two)| one + two + apart * apart * (a * b / (a + b))),
            raw_mean: self.raw_mean + apart * (b / (a + b)),
            is_leaf: self.is_leaf && other.is_leaf,
        }
    }

    /// Returns the standard deviation in ns, as it was measured.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        self.squares.map(|squares| (squares.max(0.0) / self.timed as f64).sqrt())
    }
}

/// What of the recorder is in a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// Boundaries of the own executions.
    pub(super) own: u64,
    pub(super) beneath: u64,
    pub(super) blocks: u64,
}

impl Parts {
    fn total(sum: &Sum) -> Parts {
        Parts { own: sum.timed, beneath: sum.beneath, blocks: sum.blocks }
    }

    fn own(sum: &Sum) -> Parts {
        Parts { own: sum.timed, beneath: 0, blocks: sum.direct }
    }
}

/// Corrects a time in ticks.
pub(super) fn correct(method: Method, costs: &Costs, parts: Parts, ticks: u64) -> Value {
    let Costs { inner, outer, spread, block_spread } = costs;
    let [own, beneath, blocks] = [parts.own, parts.beneath, parts.blocks].map(|count| count as f64);
    let inside = beneath * inner + blocks * outer;
    // A block has one statement at least.
    let error = (own + (beneath - blocks).max(0.0)) * spread + blocks * block_spread;
    let ticks = ticks as f64;
    match method {
        Method::Raw | Method::Leaves => Value { ns: ticks, error: 0.0 },
        Method::Outer => Value { ns: (ticks - inside).max(0.0), error: 0.0 },
        Method::Calibrated => Value { ns: ticks - inside - own * inner, error },
    }
}
