//! Events to entries of lanes: halves of flows, and events that begin and end no slice.
//!
//! ```text
//!  event ── part in a flow ──▶ Half { key, time }
//!        └─ no part in a slice ──▶ Tick { type, time }
//! ```
//!
//! Design: `.cnv.report.threads` in `design/eventcnv.md`.

use crate::ask::pairs::reading::Aside;
use eventlog::reader::marks::{Key, Marks, Side};
use eventlog::reader::{Clock, Event, EventType, Format, Log, Registry};
use lens::counters::{Source, Steps};
use lens::slices::Id;

/// The event type of events that no registry of the log declares.
pub(crate) const UNKNOWN: u32 = u32::MAX;
/// In the event type of an end that ends nothing: the rest is its pair.
pub(crate) const ALONE: u32 = 1 << 31;

/// One end of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    pub(crate) key: Key,
    pub(crate) ns: u64,
    pub(crate) pair: u32,
    pub(crate) thread: u32,
    pub(crate) stream: u16,
    pub(crate) is_end: bool,
}

/// An event that begins and ends no slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tick {
    pub(crate) id: Id,
    pub(crate) ns: u64,
    pub(crate) thread: u32,
    /// The event type: index of the registry << 16 | its index there.
    pub(crate) of: u32,
}

/// What a worker made of the events of a piece.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    pub(crate) halves: Vec<Half>,
    pub(crate) ticks: Vec<Tick>,
    /// The changes of counters.
    pub(crate) steps: Steps,
}

/// The parts of an event type.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    flow: Option<Side>,
    is_tick: bool,
}

/// The parts of all event types of a log, by the index of the registry in the log, and of the event
/// type in the registry.
pub(crate) struct Kinds(Vec<Vec<Parts>>);

impl Kinds {
    /// Returns the parts that marks state. Events of the store make none.
    pub(crate) fn new(log: &Log, marks: &Marks) -> Kinds {
        let has_store = log.format() == Format::Stream;
        let of = |registry: &Registry| {
            let parts = |row: &EventType| {
                let role = marks.role_of(registry, row.code);
                let is_stored = has_store && registry.index == 0;
                Parts { flow: role.flow, is_tick: role.part.is_none() && !is_stored }
            };
            registry.event_types.iter().map(parts).collect()
        };
        Kinds(log.registries().iter().map(of).collect())
    }
}

/// Returns the number of the type of an event.
fn type_of(event: &Event<'_, '_>) -> u32 {
    let has_number = event.event_type.is_some() && event.registry_index < ALONE >> 16;
    let number = || event.registry_index << 16 | u32::from(event.event_type_index);
    if has_number { number() } else { UNKNOWN }
}

/// Makes entries of the events that a worker reads.
pub(crate) struct Maker<'l> {
    clock: &'l Clock,
    kinds: &'l Kinds,
    counters: Source,
    /// The line of each stream's clock that was used last.
    near: Vec<usize>,
    made: Entries,
}

impl<'l> Maker<'l> {
    /// Returns a maker without entries.
    pub(crate) fn new(
        log: &Log,
        clock: &'l Clock,
        kinds: &'l Kinds,
        counters: Source,
    ) -> Maker<'l> {
        Maker {
            clock,
            kinds,
            counters,
            near: vec![0; log.streams().len()],
            made: Entries::default(),
        }
    }
}

impl Aside for Maker<'_> {
    type Entries = Entries;
    const ASKS: bool = true;
    const TELLS_ALL: bool = true;

    fn add(&mut self, event: &Event<'_, '_>, is_chosen: bool) -> usize {
        let &Event { stream, thread, buffer, number, ticks, .. } = event;
        let Some(near) = self.near.get_mut(usize::from(stream)) else { return self.made.count() };
        // The value of a counter depends on all events, whatever is selected.
        self.counters.add(event, || self.clock.ns_near(stream, ticks, near), &mut self.made.steps);
        let unknown = Parts { flow: None, is_tick: true };
        let parts = self.kinds.0.get(event.registry_index as usize);
        let parts = parts.and_then(|parts| parts.get(usize::from(event.event_type_index)));
        let parts = parts.copied().filter(|_| event.event_type.is_some()).unwrap_or(unknown);
        if !is_chosen || (parts.flow.is_none() && !parts.is_tick) {
            return self.made.count();
        }
        let ns = self.clock.ns_near(stream, ticks, near);
        if let Some(side) = parts.flow {
            let (key, pair, is_end) = (side.key(event), side.pair, side.is_end);
            self.made.halves.push(Half { key, ns, pair, thread, stream, is_end });
        }
        if parts.is_tick {
            let id = Id { stream, buffer, number };
            self.made.ticks.push(Tick { id, ns, thread, of: type_of(event) });
        }
        self.made.count()
    }

    fn take(&mut self) -> Entries {
        std::mem::take(&mut self.made)
    }
}

impl Entries {
    fn count(&self) -> usize {
        self.halves.len() + self.ticks.len() + self.steps.len()
    }
}
