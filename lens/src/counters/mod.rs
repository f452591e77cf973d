//! Values over time: the counters that the events of a log change.
//!
//! ```text
//!  events ── source ──▶ steps ── table ──▶ (counter, step), the counter with its new value
//!            a mark's   +64 of   one counter for each
//!            change     pool P   stream, mark and key
//! ```
//!
//! The marks of a log ([`eventlog::reader::marks`]) name the counters, as in the doc string of an
//! event type: `[counter live += size:pool]`. Rooms, the highest first: `table`, `source`, `model`.
//! Design: `.cnv.counters` in `design/eventcnv.md`.
//!
//! ```
//! use eventlog::reader::marks::Marks;
//! use eventlog::reader::{Clock, Filter, Log, Order};
//! use lens::counters::{Counters, Source, Steps};
//!
//! # fn print(log: &Log) {
//! let marks = Marks::of(log.registries());
//! let clock = Clock::new(log);
//! // Each thread that reads has a source and its steps; one thread takes the steps in order.
//! let (mut source, mut steps) = (Source::new(log, &marks), Steps::default());
//! let mut counters = Counters::new(log, &marks, |_, _| true);
//! let filter = Filter::new().labels(true);
//! log.events(Order::Time, &filter).each(|event| {
//!     source.add(event, || clock.ns(event.stream, event.ticks), &mut steps);
//!     counters.take(&mut steps, |_, counter, step| {
//!         println!("{} ns: {} is {}", step.ns, counter.title, counter.value);
//!     });
//! });
//! for counter in counters.all() {
//!     // The first value of a relative counter is unknown; it was not below `least`.
//!     println!("{}: {} {:?}", counter.title, counter.value, counters.least(counter));
//! }
//! # }
//! ```

mod model;
mod source;
mod table;

pub use model::{Counter, Number, Step, Steps};
pub use source::Source;
pub use table::{COUNTER_COUNT_MAX, Counters, Refused};

#[cfg(test)]
mod tests;
