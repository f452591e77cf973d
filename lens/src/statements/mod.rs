//! The statements in an event log: counts, times, percentiles, and those that never ran.
//!
//! ```text
//!  store ──▶ Facts ───────────────────────────────────────────────┐
//!  events ── source ──▶ Batch ─┬─ sums ── tables ──▶ Sum ─────────┼── correct ──▶ Times
//!                              └─ edges ── series ──▶ percentiles ┘
//! ```
//!
//! `#[profiled]` of the crate `calls` records them. Rooms, the highest first; an import runs to a
//! lower room: `against`, `reading`, `series`, `tables`, `correct`, `source`,
//! `model`. Design: `design/statements.md`.
//!
//! ```
//! use eventlog::reader::{Clock, Log};
//! use lens::statements::{self, Statements};
//!
//! # fn print(log: &Log) {
//! let statements = statements::read(log, &Clock::new(log), None);
//! for (statement, facts) in statements.iter() {
//!     let own = statements.times(statement).map(|times| times.own.bound());
//!     println!("{}: {} times, {own:?} ns", facts.place(), statements.count(statement));
//! }
//! # }
//! ```
//!
//! **Memory**: bounded by [`STATEMENT_COUNT_MAX`], by [`ROW_COUNT_MAX`], and by the limits of
//! `lens::slices`.

mod against;
mod correct;
mod model;
mod reading;
mod series;
mod source;
mod tables;

pub use against::{Match, Matched, compare};
pub use correct::{Method, Times, Value};
pub use model::{Costs, Facts, Statement, Sum, Variance};
pub use reading::{Left, ROW_COUNT_MAX, STATEMENT_COUNT_MAX, Statements, read};
pub use source::{Batch, Source, marks};
