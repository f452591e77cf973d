//! Events to edges and asides, in batches.
//!
//! ```text
//!  CallEnter, CallLeave, PollEnter, … ──▶ Edge, with the caller that it states ─┐
//!  CallUnwind, CallSlow, Switch, …    ──▶ Aside ────────────────────────────────┴─▶ Batch
//! ```
//!
//! The slices of other registries are edges too, if the marks have them. Design: `.calls.lens` in
//! `design/calls.md`.

use crate::calls::family::Family;
use crate::calls::model::UNSELECTED;
use crate::slices::{Edge, Id, Track};
use eventlog::reader::marks::{Form, Marks};
use eventlog::reader::{Account, Clock, Event, Log, Registry};
use std::sync::Arc;

/// The extra value of an edge that states none.
pub(crate) const UNSTATED: u64 = u64::MAX;
/// The kind of pauses and sums in the registry `calls`.
pub(crate) const PROFILE: u8 = 2;
/// Parameters of an aside, at most.
const VALUE_COUNT: usize = 3;

/// The meaning of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sense {
    /// A call; its key is the function.
    Call,
    /// A poll; its key is the function and the task.
    Poll,
    /// A task; its key is the task.
    Task,
    /// A slice of another registry.
    Slice,
    /// A span of another registry.
    Nothing,
}

/// Returns the sense of each pair of marks.
pub(crate) fn senses(log: &Log, marks: &Marks) -> Vec<Sense> {
    let sense = |pair: &eventlog::reader::marks::Pair| match pair.form {
        Form::Slice => Sense::Slice,
        _ => Sense::Nothing,
    };
    let mut senses: Vec<Sense> = marks.pairs.iter().map(sense).collect();
    for registry in log.registries().iter().filter(|registry| is_calls(registry)) {
        // Statements and pauses are not calls.
        for row in &registry.event_types {
            let part = marks.role_of(registry, row.code).part;
            if let Some(place) = part.and_then(|side| senses.get_mut(side.pair as usize)) {
                *place = Sense::Nothing;
            }
        }
        for (name, sense) in
            [("CallEnter", Sense::Call), ("PollEnter", Sense::Poll), ("TaskStart", Sense::Task)]
        {
            let row = registry.event_type_named(name);
            let part = row.and_then(|row| marks.role_of(registry, row.code).part);
            if let Some(place) = part.and_then(|side| senses.get_mut(side.pair as usize)) {
                *place = sense;
            }
        }
    }
    senses
}

/// Returns the marks of a log for this lens: those of the registry `calls`, or of all registries.
pub fn marks(log: &Log, is_all: bool) -> Marks {
    if is_all {
        return Marks::of(log.registries());
    }
    let mut marks = Marks::default();
    log.registries().iter().filter(|registry| is_calls(registry)).for_each(|registry| {
        marks.add_declared(registry);
    });
    marks
}

/// Returns whether a log has the registry of calls.
pub fn has_calls(log: &Log) -> bool {
    log.registries().iter().any(is_calls)
}

/// Returns how many events of calls were overwritten, in memory or in a ring, as intended.
pub fn overwritten(log: &Log) -> u64 {
    let count = |account: &Account| {
        let registry = log.registries().get(account.registry as usize);
        let kind = registry.filter(|registry| is_calls(registry))?.kind(account.kind)?;
        (&*kind.name == "Call").then_some(account.overwritten)
    };
    log.accounts().iter().filter_map(count).fold(0, u64::saturating_add)
}

pub(crate) fn is_calls(registry: &Registry) -> bool {
    &*registry.name == "calls"
}

/// The meaning of an event that neither begins nor ends anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// function
    Unwind,
    /// function, caller, elapsed
    Slow,
    /// context
    Switch,
    /// function, count
    Muted,
    /// The thread's clock stops.
    Pause,
    /// The thread's clock goes on.
    Resume,
}

const WORDS: [(&str, Word, &[&str]); 6] = [
    ("CallUnwind", Word::Unwind, &["function"]),
    ("CallSlow", Word::Slow, &["function", "caller", "elapsed"]),
    ("Switch", Word::Switch, &["context"]),
    ("CallsMuted", Word::Muted, &["function", "count"]),
    ("PauseEnter", Word::Pause, &[]),
    ("PauseLeave", Word::Resume, &[]),
];
/// The parameter that an edge carries in addition to its key.
const EXTRAS: [(&str, &str); 4] = [
    ("CallEnter", "caller"),
    ("PollEnter", "caller"),
    ("TaskStart", "function"),
    ("TaskFinish", "ready"),
];

/// An event that neither begins nor ends anything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aside {
    pub(crate) word: Word,
    pub(crate) values: [u64; VALUE_COUNT],
    /// Its place and time, as those of an end without a pair.
    pub(crate) edge: Edge,
}

/// What to take from the events of a type.
#[derive(Clone, Copy, Debug)]
enum Role {
    Extra(u8),
    Aside(Word, [Option<u8>; VALUE_COUNT]),
}

/// Makes edges and asides of the events of a log. A clone serves another thread.
#[derive(Clone, Debug)]
pub struct Source<'l> {
    slices: crate::slices::Source<'l>,
    clock: &'l Clock,
    /// By the index of the registry in the log, and of the event type in the registry.
    roles: Arc<[Box<[Option<Role>]>]>,
    near: Vec<usize>,
    /// By pair of the marks: whether its slices are calls or tasks.
    is_used: Arc<[bool]>,
    family: Option<Arc<Family>>,
    /// In a family: the pair for which each pair stands, as each stream has a registry.
    pairs: Arc<[u32]>,
}

impl<'l> Source<'l> {
    /// Returns the source for a log, its clock, and the marks of [`marks`].
    pub fn new(log: &Log, clock: &'l Clock, marks: &Marks) -> Source<'l> {
        let roles = log.registries().iter().map(|registry| {
            let role = |row: &eventlog::reader::EventType| {
                let index = |name: &str| row.param(name).and_then(|(at, _)| u8::try_from(at).ok());
                if !is_calls(registry) {
                    return None;
                }
                if let Some((_, extra)) = EXTRAS.iter().find(|(name, _)| *name == &*row.name) {
                    return index(extra).map(Role::Extra);
                }
                let (_, word, names) = WORDS.iter().find(|(name, ..)| *name == &*row.name)?;
                let mut params = [None; VALUE_COUNT];
                for (place, name) in params.iter_mut().zip(*names) {
                    *place = Some(index(name)?);
                }
                Some(Role::Aside(*word, params))
            };
            registry.event_types.iter().map(role).collect()
        });
        let slices = crate::slices::Source::new(log, clock, marks);
        let near = vec![0; log.streams().len()];
        let is_used = senses(log, marks).into_iter().map(|sense| sense != Sense::Nothing);
        let (is_used, roles) = (is_used.collect(), roles.collect());
        Source { slices, clock, roles, near, is_used, family: None, pairs: Arc::new([]) }
    }

    /// Takes a process and its ancestors as one process; `marks` are those of [`Source::new`].
    pub fn with_family(self, log: &Log, marks: &Marks, family: Family) -> Source<'l> {
        let senses = senses(log, marks);
        let first = |(own, sense): (u32, &Sense)| match sense {
            Sense::Slice | Sense::Nothing => own,
            sense => senses.iter().position(|other| other == sense).map_or(own, |at| at as u32),
        };
        let pairs = (0..).zip(&senses).map(first).collect();
        Source { family: Some(Arc::new(family)), pairs, ..self }
    }

    #[inline]
    fn track(&self, track: Track) -> Track {
        self.family.as_ref().map_or(track, |family| family.track(track))
    }

    /// Returns whether an event begins or ends anything, or is an aside: it counts as a call then.
    #[inline]
    pub fn has(&self, event: &Event<'_, '_>) -> bool {
        self.role(event).is_some()
    }

    #[inline]
    fn role(&self, event: &Event<'_, '_>) -> Option<&Role> {
        let roles = self.roles.get(event.registry_index as usize)?;
        roles.get(usize::from(event.event_type_index))?.as_ref()
    }

    /// Adds an event to a batch. Call it for every event of the log, in order of time. A call whose
    /// beginning is not selected lies on its stack, and is not told.
    #[inline]
    pub fn add(&mut self, event: &Event<'_, '_>, is_selected: bool, batch: &mut Batch) {
        batch.edges.note(event);
        let tag = if is_selected { 0 } else { UNSELECTED };
        if let Some(mut edge) = self.slices.edge(event) {
            if self.is_used.get(edge.pair as usize) != Some(&true) {
                return self.aside(event, tag, batch);
            }
            let extra = match self.role(event) {
                Some(Role::Extra(index)) => value(event, *index),
                _ => UNSTATED,
            };
            edge.tag = tag;
            if let Some(family) = &self.family {
                edge.track = family.track(edge.track);
                edge.pair = self.pairs.get(edge.pair as usize).copied().unwrap_or(edge.pair);
            }
            batch.edges.push(edge);
            batch.extras.push(extra);
        } else {
            self.aside(event, tag, batch);
        }
    }

    fn aside(&mut self, event: &Event<'_, '_>, tag: u32, batch: &mut Batch) {
        if let Some(Role::Aside(word, params)) = self.role(event).copied() {
            let near = self.near.get_mut(usize::from(event.stream));
            let ns = near.map_or(0, |near| self.clock.ns_near(event.stream, event.ticks, near));
            let edge = Edge {
                ticks: event.ticks,
                ns,
                id: Id { stream: event.stream, buffer: event.buffer, number: event.number },
                thread: event.thread,
                track: match word {
                    // A child goes on counting where its parent was.
                    Word::Muted if self.family.is_some() => (0, 0),
                    _ => self.track((event.stream, event.thread)),
                },
                tag,
                registry: event.registry.index,
                kind: event.kind,
                is_end: true,
                ..Edge::default()
            };
            let values = params.map(|index| index.map_or(0, |index| value(event, index)));
            batch.asides.push((batch.extras.len() as u32, Aside { word, values, edge }));
        }
    }
}

fn value(event: &Event<'_, '_>, index: u8) -> u64 {
    event.param_at(index.into()).and_then(|value| value.as_u64()).unwrap_or(0)
}

/// Edges and asides of consecutive events.
#[derive(Clone, Debug)]
pub struct Batch {
    pub(crate) edges: crate::slices::Batch,
    /// One for each edge.
    pub(crate) extras: Vec<u64>,
    /// Each with the number of edges before it.
    pub(crate) asides: Vec<(u32, Aside)>,
}

impl Batch {
    /// Returns an empty batch for events of a log.
    pub fn new(log: &Log) -> Batch {
        Batch { edges: crate::slices::Batch::new(log), extras: Vec::new(), asides: Vec::new() }
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
        let extras = Vec::with_capacity(self.extras.len());
        Batch {
            edges: self.edges.take(),
            extras: std::mem::replace(&mut self.extras, extras),
            asides: std::mem::take(&mut self.asides),
        }
    }
}
