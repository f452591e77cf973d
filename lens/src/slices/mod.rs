//! What begins and ends in a log: slices, paired from events, and how long they lasted.
//!
//! ```text
//!  events ── source ──▶ edges ── pairing ──▶ slices ─┬─ durations ──▶ count, percentiles
//!            a mark's   begin    one stack a thread, │ slowest   ──▶ the longest
//!            pair, key  or end,  one table of keys   │ against   ──▶ two logs compared
//!                       gaps                         ├ runs      ──▶ runs of two programs compared
//!                                                    └─▶ rows, timelines, call graphs
//! ```
//!
//! A collection, a request or a call lies between the event that begins it and the event that ends
//! it: it is a [`Slice`]. The marks of a log ([`eventlog::reader::marks`]) name such pairs of event
//! types; a caller can add its own. Rooms, the highest first; an import runs to a lower room:
//! `against`, `runs`, `slowest`, `durations`, `pairing`, `source`, `model`. Design:
//! `design/slices.md`.
//!
//! ```
//! use eventlog::reader::marks::Marks;
//! use eventlog::reader::{Clock, Filter, Log, Order};
//! use lens::slices::{Durations, Holes, Limits, Pairing, Percent, Source};
//!
//! # fn print(log: &Log) {
//! let marks = Marks::of(log.registries());
//! let clock = Clock::new(log);
//! let mut source = Source::new(log, &clock, &marks);
//! let mut pairing = Pairing::new(Limits::default()).with_holes(Holes::new(log, &marks));
//! let mut durations = Durations::new(Limits::default());
//! log.events(Order::Time, &Filter::default()).each(|event| {
//!     let Some(edge) = source.edge(event) else { return };
//!     pairing.take(&edge, |slice| {
//!         if let Some(ns) = slice.duration() {
//!             durations.add(slice.begin.pair as usize, ns);
//!         }
//!     });
//! });
//! pairing.finish(|unfinished| println!("{} did not end", marks.name(unfinished.begin.pair)));
//! durations.settle();
//! for (pair, group) in (0..).zip(durations.groups()) {
//!     println!("{}: {:?}", marks.name(pair), group.percentile(Percent::P99));
//! }
//! # }
//! ```
//!
//! - **Threads**: [`Batch`] carries edges and numbers from the threads that read to the one that
//!   pairs.
//! - **Memory**: bounded by [`Limits`], whatever the log.

mod against;
mod durations;
mod model;
mod pairing;
mod runs;
mod slowest;
mod source;

pub use against::{Comparison, compare};
pub use durations::{Durations, Group, Percent, Percentile};
pub use model::{Edge, Gap, Id, Limits, Slice, Slot, Track, Verdict};
pub use pairing::{Counts, Holes, Pairing, Turn};
pub use runs::{Runs, chance};
pub use slowest::{Long, Slowest};
pub use source::{Batch, Jump, Numbers, Source, Step};
