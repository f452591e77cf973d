//! The calls in an event log: callers, counts, times.
//!
//! ```text
//!  events ── source ──▶ batches ── stacks ──▶ Call, Task ─┬─ owners ──▶ threads, tasks
//!            functions ─────────────┘  └──▶ tree ── graph ┴─ clusters
//! ```
//!
//! The crate `calls` records them, as events of the registry `calls`. This lens reads them from any
//! log: a file, a ring, a core; and the slices of other registries, if its caller asks. Rooms, the
//! highest first; an import runs to a lower room: `owners`, `clusters`, `graph`,
//! `stacks`, `nesting`, `tree`, `source`, `functions`, `clocks`, `identity`, `model`. Design:
//! `design/calls.md`.
//!
//! ```
//! use eventlog::reader::{Clock, Log};
//! use lens::calls::{Graph, Told};
//!
//! # fn print(log: &Log) {
//! let clock = Clock::new(log);
//! let marks = lens::calls::marks(log, false);
//! let (calls, _) = lens::calls::read(log, &clock, &marks, &mut |functions, told| {
//!     if let Told::Call(call) = told {
//!         println!("{} took {:?} ns", functions.name(call.function), call.duration);
//!     }
//! });
//! let graph = Graph::of(calls.tree());
//! for (function, facts) in calls.functions().iter() {
//!     println!("{}: {} calls", facts.name, graph.function(function).count);
//! }
//! # }
//! ```
//!
//! - **Memory**: bounded by functions, edges, paths and depth, each with a limit.

pub(crate) mod clocks;
mod clusters;
mod family;
pub(crate) mod functions;
mod graph;
pub mod identity;
pub(crate) mod model;
mod nesting;
mod owners;
pub(crate) mod source;
mod stacks;
mod tree;

pub use clusters::{Link, clusters};
pub use family::Family;
pub use functions::{Facts, Functions};
pub use graph::{CallEdge, Graph};
pub use model::{Call, Counts, Function, NONE, OpenCall, OpenStack, Task, Told, UNSELECTED};
pub use nesting::Nesting;
pub use owners::{Owners, TaskPlace, TaskSum, ThreadSum};
pub use source::{Batch, Source, has_calls, marks, overwritten};
pub use stacks::Calls;
pub use tree::{NODE_COUNT_MAX, Node, Sum, Tree};

use eventlog::reader::marks::Marks;
use eventlog::reader::{Clock, Filter, Log, Order};

/// Events of a batch, about.
const BATCH_COUNT: usize = 1 << 12;

/// Reads all calls of a log on one thread, and passes them to `each`. Returns the lens and the
/// calls in progress at the end.
pub fn read(
    log: &Log,
    clock: &Clock,
    marks: &Marks,
    each: &mut dyn FnMut(&Functions, Told<'_>),
) -> (Calls, Vec<OpenStack>) {
    let mut calls = Calls::new(log, marks);
    read_with(log, clock, marks, &mut calls, each);
    let open = calls.finish(each);
    (calls, open)
}

fn read_with(
    log: &Log,
    clock: &Clock,
    marks: &Marks,
    calls: &mut Calls,
    each: &mut dyn FnMut(&Functions, Told<'_>),
) {
    let (mut source, mut batch) = (Source::new(log, clock, marks), Batch::new(log));
    log.events(Order::Time, &Filter::default()).each(|event| {
        source.add(event, true, &mut batch);
        if batch.len() >= BATCH_COUNT {
            calls.take(&batch.take(), each);
        }
    });
    calls.take(&batch, each);
}
