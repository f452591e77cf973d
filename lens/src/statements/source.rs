//! Events to sums, asides and edges, in batches; the costs of the recorder.
//!
//! ```text
//!  StatementEnter, StatementLeave ──▶ Edge ─────────────┐
//!  StatementSum, Switch, PauseEnter, PauseLeave ▶ Aside ─┴──▶ Batch
//! ```
//!
//! Design: `.statements.events`, `.statements.lens` in `design/statements.md`.

use super::model::{Costs, Sum};
use crate::calls::model::UNSELECTED;
use crate::calls::source::is_calls;
use crate::slices::{Edge, Track};
use eventlog::reader::marks::{Form, Marks};
use eventlog::reader::{Clock, Event, EventType, Filter, Log, Order};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The parameters of StatementSum, in the order of [`sum_of`].
const SUM: [&str; 13] = [
    "count",
    "timed",
    "total",
    "own",
    "shortest",
    "longest",
    "squaresLow",
    "squaresHigh",
    "beneath",
    "blocks",
    "direct",
    "statement",
    "table",
];

/// Returns the marks of a log for this lens: the statements of a trace.
pub fn marks(log: &Log) -> Marks {
    let mut marks = Marks::default();
    for registry in log.registries().iter().filter(|registry| is_calls(registry)) {
        // A log of an earlier version has none.
        let text = "StatementEnter=StatementLeave:statement";
        let _ = marks.add(Form::Slice, text, std::slice::from_ref(registry));
    }
    marks
}

/// Returns the costs of the recorder, by stream: the last ones hold.
pub(super) fn costs(log: &Log) -> BTreeMap<u16, Costs> {
    let mut costs = BTreeMap::new();
    log.events(Order::Time, &Filter::new().event("Calibration")).each(|event| {
        if !is_calls(event.registry) {
            return;
        }
        let value = |name| event.param(name).and_then(|value| value.as_f64()).unwrap_or(f64::NAN);
        let [inner, outer, spread] = ["inner", "outer", "spread"].map(value);
        // A log of an earlier version states how far each of the two may be off.
        let block_spread =
            event.param("blockSpread").map_or(spread + spread, |_| value("blockSpread"));
        costs.insert(event.stream, Costs { inner, outer, spread, block_spread });
    });
    costs
}

/// An event that neither begins nor ends a statement.
#[derive(Clone, Copy, Debug)]
pub(super) enum Aside {
    /// The sums so far of a statement in a table.
    Sum {
        address: u64,
        table: u64,
        sum: Sum,
    },
    Pause {
        is_end: bool,
    },
    /// The thread goes on in a coroutine.
    Switch {
        context: u64,
    },
}

/// When and where an event was recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct When {
    pub(super) thread: Track,
    pub(super) ticks: u64,
}

/// What to take from the events of a type.
#[derive(Clone, Copy, Debug)]
enum Role {
    Sum([Option<u8>; SUM.len()], Option<u8>),
    Pause { is_end: bool },
    Switch(u8),
}

/// Makes edges and asides of the events of a log. A clone serves another thread.
#[derive(Clone, Debug)]
pub struct Source<'l> {
    slices: crate::slices::Source<'l>,
    /// By the index of the registry in the log, and of the event type in the registry.
    roles: Arc<[Box<[Option<Role>]>]>,
}

impl<'l> Source<'l> {
    /// Returns the source for a log, its clock, and the marks of [`marks`].
    pub fn new(log: &Log, clock: &'l Clock, marks: &Marks) -> Source<'l> {
        let role = |row: &EventType| {
            let index = |name: &str| row.param(name).and_then(|(at, _)| u8::try_from(at).ok());
            match &*row.name {
                "StatementSum" => Some(Role::Sum(SUM.map(index), index("waits"))),
                "PauseEnter" => Some(Role::Pause { is_end: false }),
                "PauseLeave" => Some(Role::Pause { is_end: true }),
                "Switch" => index("context").map(Role::Switch),
                _ => None,
            }
        };
        let roles = log.registries().iter().map(|registry| {
            let rows = registry.event_types.iter();
            rows.map(|row| role(row).filter(|_| is_calls(registry))).collect()
        });
        Source { slices: crate::slices::Source::new(log, clock, marks), roles: roles.collect() }
    }

    /// Adds an event to a batch, whose sum or statement is taken if it is selected. Call it for
    /// every event of the log, in order of time. Returns whether the lens has a use for the event.
    #[inline]
    pub fn add(&mut self, event: &Event<'_, '_>, is_selected: bool, batch: &mut Batch) {
        batch.edges.note(event);
        if let Some(mut edge) = self.slices.edge(event) {
            edge.tag = if is_selected { 0 } else { UNSELECTED };
            batch.edges.push(edge);
            batch.edge_count += 1;
        } else if let Some(role) = self.role(event) {
            let aside = match role {
                Role::Sum(params, waits) if is_selected => sum_of(event, params, *waits),
                Role::Sum(..) => None,
                Role::Pause { is_end } => Some(Aside::Pause { is_end: *is_end }),
                Role::Switch(context) => {
                    let context =
                        event.param_at((*context).into()).and_then(|value| value.as_u64());
                    context.map(|context| Aside::Switch { context })
                }
            };
            let when = When { thread: (event.stream, event.thread), ticks: event.ticks };
            batch.asides.extend(aside.map(|aside| (batch.edge_count, when, aside)));
        }
    }

    /// Returns whether the lens has a use for an event.
    #[inline]
    pub fn has(&mut self, event: &Event<'_, '_>) -> bool {
        matches!(self.role(event), Some(Role::Sum(..))) || self.slices.edge(event).is_some()
    }

    #[inline]
    fn role(&self, event: &Event<'_, '_>) -> Option<&Role> {
        let roles = self.roles.get(event.registry_index as usize)?;
        roles.get(usize::from(event.event_type_index))?.as_ref()
    }
}

fn sum_of(
    event: &Event<'_, '_>,
    params: &[Option<u8>; SUM.len()],
    waits: Option<u8>,
) -> Option<Aside> {
    let mut values = [0; SUM.len()];
    for (value, index) in values.iter_mut().zip(params) {
        *value = event.param_at((*index)?.into())?.as_u64()?;
    }
    let [count, timed, total, own, shortest, longest, low, high, rest @ ..] = values;
    let [beneath, blocks, direct, address, table] = rest;
    let waits = waits.and_then(|index| event.param_at(index.into())?.as_u64()) == Some(1);
    let squares = u128::from(high) << 64 | u128::from(low);
    let is_full = false;
    let sum = Sum {
        count,
        timed,
        total,
        own,
        shortest: if timed > 0 { shortest } else { u64::MAX },
        longest,
        squares,
        beneath,
        blocks,
        direct,
        waits,
        is_full,
    };
    Some(Aside::Sum { address, table, sum })
}

/// Edges and asides of consecutive events.
#[derive(Clone, Debug)]
pub struct Batch {
    pub(super) edges: crate::slices::Batch,
    edge_count: u32,
    /// Each with the number of edges before it.
    pub(super) asides: Vec<(u32, When, Aside)>,
}

impl Batch {
    /// Returns an empty batch for events of a log.
    pub fn new(log: &Log) -> Batch {
        Batch { edges: crate::slices::Batch::new(log), edge_count: 0, asides: Vec::new() }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.edges.len() + self.asides.len()
    }

    /// Returns whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the entries, and leaves an empty batch.
    pub fn take(&mut self) -> Batch {
        Batch {
            edges: self.edges.take(),
            edge_count: std::mem::take(&mut self.edge_count),
            asides: std::mem::take(&mut self.asides),
        }
    }
}

/// Returns the statement of an edge, by its address.
pub(super) fn address_of(edge: &Edge) -> u64 {
    edge.key.first().copied().unwrap_or(0)
}
