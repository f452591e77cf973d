//! Events to edges, and the numbers of events to gaps.
//!
//! ```text
//!  event ── registry, type ──▶ pair, key, time ──▶ Edge ─┐
//!        └─ buffer, number ──▶ Jump: does it follow? ────┴──▶ Batch ──▶ the pairing's thread
//! ```
//!
//! Threads that read partitions of a log do not know what the partition before had. So a batch has
//! the first and the last number of each of its buffers, and the thread that takes the batches in
//! order finds the gaps between them. Design: `.slice.source`, `.slice.gap` in `design/slices.md`.

use crate::slices::model::{Edge, Gap};
use eventlog::reader::marks::{Form, Marks, Side};
use eventlog::reader::{Clock, Event, Format, Log};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// The part of an event type in a slice.
#[derive(Clone, Copy, Debug)]
struct Part {
    side: Side,
    is_span: bool,
}

/// Makes edges of the events of a log. A clone serves another thread.
#[derive(Clone, Debug)]
pub struct Source<'l> {
    clock: &'l Clock,
    /// By the index of the registry in the log, and of the event type in the registry.
    parts: Arc<[Box<[Option<Part>]>]>,
    /// The line of each stream's clock that was used last.
    near: Vec<usize>,
}

impl<'l> Source<'l> {
    /// Returns the source for a log, its clock, and marks.
    pub fn new(log: &Log, clock: &'l Clock, marks: &Marks) -> Source<'l> {
        let is_span =
            |pair: u32| marks.pairs.get(pair as usize).is_some_and(|pair| pair.form == Form::Span);
        let part = |side: Side| Part { side, is_span: is_span(side.pair) };
        let parts = log.registries().iter().map(|registry| {
            let rows = registry.event_types.iter();
            rows.map(|row| marks.role_of(registry, row.code).part.map(part)).collect()
        });
        Source { clock, parts: parts.collect(), near: vec![0; log.streams().len()] }
    }

    /// Returns the edge of an event of the log, if it begins or ends anything.
    #[inline]
    pub fn edge(&mut self, event: &Event<'_, '_>) -> Option<Edge> {
        let parts = self.parts.get(event.registry_index as usize)?;
        let part = parts.get(usize::from(event.event_type_index))?.as_ref()?;
        let mut edge = Edge::new(event, &part.side, part.is_span);
        let near = self.near.get_mut(usize::from(event.stream))?;
        edge.ns = self.clock.ns_near(event.stream, event.ticks, near);
        Some(edge)
    }
}

/// A buffer: its stream and its index there.
type Buffer = (u16, u32);

/// The last event of a buffer.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// The number that follows.
    next: u64,
    registry: u16,
    /// The kind of all its events; `None` if they differ.
    kind: Option<u8>,
}

impl Last {
    /// Adds what is known of the same buffer.
    fn join(&mut self, kind: Option<u8>) {
        self.kind = self.kind.filter(|own| Some(*own) == kind);
    }
}

/// An event whose number does not follow the number before it, or the first of its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    stream: u16,
    buffer: u32,
    registry: u16,
    kind: Option<u8>,
    /// The number that was expected, unless it is the first of its buffer.
    expected: Option<u64>,
    number: u64,
}

/// The numbers of the events of each buffer, as far as they were met.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// By stream: whether its events have numbers that follow one another. Those of the MPS have
    /// none, and what was cut from a log leaves gaps that the user wanted.
    is_numbered: Arc<[bool]>,
    places: HashMap<Buffer, u32, RandomState>,
    lasts: Vec<(Buffer, Last)>,
    /// The place of the buffer of the last event.
    current: usize,
}

impl Numbers {
    /// Returns the numbers of a log before its first event.
    pub fn new(log: &Log) -> Numbers {
        let is_numbered =
            log.streams().iter().map(|stream| log.format() == Format::Stream && !stream.is_cut);
        let is_numbered = is_numbered.collect();
        Numbers { is_numbered, places: HashMap::default(), lasts: Vec::new(), current: 0 }
    }

    /// Notes an event. Returns it if its number does not follow; [`Numbers::gap`] of the numbers of
    /// the whole log then decides.
    #[inline]
    pub fn note(&mut self, event: &Event<'_, '_>) -> Option<Jump> {
        let buffer = (event.stream, event.buffer);
        if let Some((current, last)) = self.lasts.get_mut(self.current)
            && *current == buffer
            && last.next == event.number
            && last.kind.is_none_or(|kind| kind == event.kind)
        {
            last.next = event.number.wrapping_add(1);
            return None;
        }
        self.note_other(buffer, event)
    }

    fn note_other(&mut self, buffer: Buffer, event: &Event<'_, '_>) -> Option<Jump> {
        if self.is_numbered.get(usize::from(buffer.0)) != Some(&true) {
            return None;
        }
        let next = event.number.wrapping_add(1);
        let new = Last { next, registry: event.registry.index, kind: Some(event.kind) };
        let (expected, kind) = match self.find(buffer) {
            Some(last) => {
                let expected = std::mem::replace(&mut last.next, next);
                last.join(new.kind);
                (Some(expected), last.kind)
            }
            None => {
                self.set(buffer, new);
                (None, new.kind)
            }
        };
        let number = event.number;
        let (stream, buffer) = buffer;
        let jump = Jump { stream, buffer, registry: new.registry, kind, expected, number };
        (expected != Some(number)).then_some(jump)
    }

    /// Returns what is known of a buffer, which becomes the current one.
    fn find(&mut self, buffer: Buffer) -> Option<&mut Last> {
        self.current = *self.places.get(&buffer)? as usize;
        self.lasts.get_mut(self.current).map(|(_, last)| last)
    }

    fn set(&mut self, buffer: Buffer, new: Last) {
        match self.find(buffer) {
            Some(last) => *last = Last { kind: last.kind.filter(|_| last.kind == new.kind), ..new },
            None => {
                self.current = self.lasts.len();
                self.places.insert(buffer, self.current as u32);
                self.lasts.push((buffer, new));
            }
        }
    }

    /// Returns the gap before an event, if events are missing there. `self` has the numbers of all
    /// earlier batches, or noted the event itself. The numbers of a buffer begin with 0.
    pub fn gap(&self, jump: &Jump) -> Option<Gap> {
        let Jump { stream, buffer, registry, .. } = *jump;
        let place = self.places.get(&(stream, buffer));
        let last = place.and_then(|place| self.lasts.get(*place as usize)).map(|(_, last)| last);
        // A buffer that this event began has no earlier number.
        let before = last.filter(|last| last.next != jump.number.wrapping_add(1));
        let expected = jump.expected.or(before.map(|last| last.next)).unwrap_or(0);
        let kind = last.map_or(jump.kind, |last| last.kind.filter(|kind| Some(*kind) == jump.kind));
        (expected != jump.number).then_some(Gap { stream, buffer, registry, kind })
    }

    /// Takes over the last numbers of a batch.
    pub fn follow(&mut self, batch: &Batch) {
        for (buffer, last) in &batch.numbers.lasts {
            self.set(*buffer, *last);
        }
    }

    /// Takes the numbers, and leaves those before the first event.
    fn take(&mut self) -> Numbers {
        let (is_numbered, places) = (self.is_numbered.clone(), HashMap::default());
        std::mem::replace(self, Numbers { is_numbered, places, lasts: Vec::new(), current: 0 })
    }
}

/// What a batch says next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The number of an event does not follow.
    Jump(&'a Jump),
    /// An event begins or ends something.
    Edge(&'a Edge),
}

/// Edges of consecutive events, and the numbers of these.
#[derive(Clone, Debug)]
pub struct Batch {
    edges: Vec<Edge>,
    /// Each with the number of edges before it.
    jumps: Vec<(u32, Jump)>,
    numbers: Numbers,
}

impl Batch {
    /// Returns an empty batch for events of a log.
    pub fn new(log: &Log) -> Batch {
        Batch { edges: Vec::new(), jumps: Vec::new(), numbers: Numbers::new(log) }
    }

    /// Notes the number of an event; call it for every event, before [`Batch::push`].
    #[inline]
    pub fn note(&mut self, event: &Event<'_, '_>) {
        if let Some(jump) = self.numbers.note(event) {
            self.jumps.push((self.edges.len() as u32, jump));
        }
    }

    /// Adds an edge.
    #[inline]
    pub fn push(&mut self, edge: Edge) {
        self.edges.push(edge);
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.edges.len() + self.jumps.len()
    }

    /// Returns whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the entries, and leaves an empty batch with room for as many.
    pub fn take(&mut self) -> Batch {
        let edges = Vec::with_capacity(self.edges.len());
        let edges = std::mem::replace(&mut self.edges, edges);
        Batch { edges, jumps: std::mem::take(&mut self.jumps), numbers: self.numbers.take() }
    }

    /// Returns the entries in order.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let (mut edges, mut jumps) = (self.edges.iter(), self.jumps.iter().peekable());
        // How many edges come before the next jump.
        let mut left = jumps.peek().map_or(usize::MAX, |(before, _)| *before as usize);
        std::iter::from_fn(move || {
            if left > 0 {
                left -= 1;
                return edges.next().map(Step::Edge);
            }
            let (at, found) = jumps.next()?;
            left =
                jumps.peek().map_or(usize::MAX, |(before, _)| before.saturating_sub(*at) as usize);
            Some(Step::Jump(found))
        })
    }
}
