//! The percentiles of a trace, and what they cover.
//!
//! ```text
//!  series ── durations ──▶ percentile ── by the method ──▶ Value        traced < timed ──▶ cut
//! ```
//!
//! Design: `.statements.correct`, `.statements.lens` in `design/statements.md`.

use super::{Method, Statement, Statements, Value};
use slices::{Group, Percent};

impl Statements {
    /// Returns the durations of a statement's executions in a trace; without durations if the log
    /// has no trace. They are raw, or those of the leaves.
    pub fn durations(&self, statement: Statement) -> &Group {
        self.trace.durations.group(statement as usize)
    }

    /// Returns a percentile of the times of a statement in a trace, corrected by the method.
    pub fn percentile(&self, statement: Statement, percent: Percent) -> Option<(Value, bool)> {
        let found = self.durations(statement).percentile(percent)?;
        let ns = found.ns as f64;
        let value = match self.method {
            Method::Raw | Method::Leaves => Value { ns, error: 0.0 },
            _ => self.times(statement)?.one(ns),
        };
        Some((value, found.is_exact))
    }

    /// Returns how many executions of a statement the trace has with a time, and how many were
    /// timed, if these are more: the trace was cut, or began later. `None` also for a statement
    /// that waits: no trace has it.
    pub fn cut(&self, statement: Statement) -> Option<(u64, u64)> {
        let timed =
            self.sums(statement).fold(0u64, |timed, (_, sum)| timed.saturating_add(sum.timed));
        let traced = self.durations(statement).count();
        let is_cut = self.has_trace() && traced < timed && !self.waits(statement);
        is_cut.then_some((traced, timed))
    }
}
