//! The events in memory, for the program itself: newest first, of all threads.
//!
//! ```text
//!  ring ─ its newest ┐
//!  ring ─ its newest ┼─▶ the newest of these ─▶ Event: copied      ring ─ its next older event ┐ …
//!  ring ─ its newest ┘
//! ```
//!
//! Other threads go on recording meanwhile. It takes no lock of the runtime. It allocates some
//! hundred bytes for each buffer, and each event separately. So it is for ordinary code and for
//! panic hooks, not for signal handlers. Design: `.req.pm`, `.debug.buffer` in
//! `design/telemetry.md`; `.event.params` in `design/format.md`.

use crate::block::walk::Spot;
use crate::inspect::history::{self, Recalled};
use crate::inspect::text::{self, Now};
use crate::os::report::Text;
use crate::rings::thread;
use core::fmt;
use eventdef::{EventType, Kind, Param, Registry, Sort};
use eventlog::format::EVENT_SIZE_MAX;
use std::collections::BinaryHeap;

/// Returns the events of all threads and kinds that are in memory now, newest first, output or not.
/// Strings and labels appear where other events use them.
///
/// Later events are not among them. Events that are overwritten before the iterator reaches them
/// are left out, and [counted](Postmortem::overwritten).
///
/// ```
/// telemetry::events! {
///     /// The events of a heap.
///     registry "heap" version(1, 0, 0);
///     kinds standard;
///
///     /// Memory was handed out.
///     Allocate(0x0001, always, Object) {
///         /// its size in bytes
///         size: W,
///     }
/// }
/// for size in [16usize, 32, 48] {
///     telemetry::event!(Allocate, size);
/// }
/// let mut newest = telemetry::postmortem().of_kind("Object");
/// let event = newest.next().expect("it was just recorded");
/// assert_eq!(event.event_type().map(|event_type| event_type.name), Some("Allocate"));
/// assert_eq!(event.param("size"), Some(telemetry::postmortem::Value::W(48)));
/// assert!(event.to_string().ends_with("Allocate size:0000000000000030"));
/// assert_eq!(newest.take(10).count(), 2);
/// ```
pub fn postmortem() -> Postmortem {
    let now = Now::read();
    let (mut rings, mut newest) = (Vec::new(), BinaryHeap::new());
    for ring in thread::rings() {
        let mut older = Box::new(history::of_ring(ring).filter(move |s| s.ticks <= now.ticks));
        newest.extend(older.next().map(|spot| (spot, rings.len())));
        rings.push(Source { registry: ring.control.registry, kind: ring.kind(), older });
    }
    Postmortem { newest, rings, now, room: vec![0; EVENT_SIZE_MAX], overwritten: 0 }
}

/// The events that were in memory when [`postmortem`] was called, newest first.
pub struct Postmortem {
    /// The newest event of each ring that was not returned yet, and the ring's index in `rings`.
    newest: BinaryHeap<(Spot, usize)>,
    rings: Vec<Source>,
    now: Now,
    /// The buffer for a copy of an event.
    room: Vec<u8>,
    overwritten: u64,
}

/// A ring, and its events that were not read yet.
struct Source {
    registry: &'static Registry,
    kind: u8,
    older: Box<dyn Iterator<Item = Spot> + Send>,
}

impl Postmortem {
    /// Keeps only events of the kinds with this name, in any case, in any registry.
    pub fn of_kind(mut self, name: &str) -> Postmortem {
        self.newest.retain(|(_, index)| {
            let ring = &self.rings[*index];
            let kind = kind_of(ring.registry, ring.kind);
            kind.is_some_and(|kind| kind.name.eq_ignore_ascii_case(name))
        });
        self
    }

    /// Returns the number of events that were overwritten before the iterator reached them. A block
    /// that began again meanwhile counts as one event; the number of its other events is unknown.
    pub fn overwritten(&self) -> u64 {
        self.overwritten
    }
}

impl Iterator for Postmortem {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            let (spot, index) = self.newest.pop()?;
            let ring = &mut self.rings[index];
            let event = spot.read(&mut self.room).and_then(|event| {
                let (registry, kind) = (event.registry?, ring.kind);
                let (thread, code) = (event.thread, event.code);
                let now = self.now;
                Some(Event { spot, now, registry, kind, thread, code, bytes: event.bytes.into() })
            });
            self.newest.extend(ring.older.next().map(|older| (older, index)));
            match event {
                Some(event) => return Some(event),
                None => self.overwritten += 1,
            }
        }
    }
}

impl fmt::Debug for Postmortem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postmortem").field("buffers", &self.newest.len()).finish_non_exhaustive()
    }
}

/// A copy of an event in memory.
#[derive(Clone)]
pub struct Event {
    spot: Spot,
    now: Now,
    registry: &'static Registry,
    kind: u8,
    thread: u32,
    code: u16,
    bytes: Box<[u8]>,
}

/// The value of a parameter, by its sort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A pointer to a structure of the program.
    P(usize),
    /// An address in memory that the program manages.
    A(usize),
    /// A word.
    W(usize),
    /// A number of 32 bits.
    U(u32),
    /// A double.
    D(f64),
    /// A Boolean.
    B(bool),
    /// A string.
    S(&'a [u8]),
}

impl Event {
    /// Returns its time, in ticks of the stream's clock.
    pub fn ticks(&self) -> u64 {
        self.spot.ticks
    }

    /// Returns the index in the stream of the thread that recorded it: from 1.
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Returns the name of that thread when it began to record, if the store has it.
    pub fn thread_name(&self) -> Option<String> {
        let mut name = String::new();
        let give = &mut |text: &[u8]| name = Text(text).to_string();
        text::thread_name(self.thread, &mut [0; 128], &text::scan, give)?;
        Some(name)
    }

    /// Returns the registry of its event type.
    pub fn registry(&self) -> &'static Registry {
        self.registry
    }

    /// Returns its kind.
    pub fn kind(&self) -> Option<&'static Kind> {
        kind_of(self.registry, self.kind)
    }

    /// Returns its code, within its registry.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Returns its event type: name, parameters, documentation.
    pub fn event_type(&self) -> Option<&'static EventType> {
        self.recalled().event_type()
    }

    /// Returns its parameters, in their order, with their values.
    pub fn params(&self) -> impl Iterator<Item = (&'static Param, Value<'_>)> {
        let event_type = self.event_type();
        let params = event_type.map_or(&[][..], |event_type| event_type.params);
        params
            .iter()
            .enumerate()
            .filter_map(move |(index, param)| Some((param, self.value(event_type?, index)?)))
    }

    /// Returns the value of the parameter of this name, if it exists.
    pub fn param(&self, name: &str) -> Option<Value<'_>> {
        self.params().find(|(param, _)| param.name == name).map(|(_, value)| value)
    }

    /// Returns the event as its block has it (3.2 of `design/format.md`), in this machine's byte
    /// order.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn value(&self, event_type: &EventType, index: usize) -> Option<Value<'_>> {
        let sort = event_type.params.get(index)?.sort;
        if sort == Sort::S {
            return Some(Value::S(text::string(&self.recalled(), event_type)));
        }
        let bits = text::value(event_type, index, &self.bytes)?;
        Some(match sort {
            Sort::P => Value::P(bits as usize),
            Sort::A => Value::A(bits as usize),
            Sort::U => Value::U(bits as u32),
            Sort::D => Value::D(f64::from_bits(bits)),
            Sort::B => Value::B(bits != 0),
            _ => Value::W(bits as usize),
        })
    }

    fn recalled(&self) -> Recalled<'_> {
        let Event { registry, thread, code, bytes, .. } = self;
        Recalled { registry: Some(registry), thread: *thread, code: *code, bytes, is_cut: false }
    }
}

/// Writes the line of a [traceback](crate::traceback()), with its age at the call of
/// [`postmortem`].
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_event(f, self.spot.ticks, &self.recalled(), self.now, &text::scan)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns the kind of this index in a registry.
pub(super) fn kind_of(registry: &'static Registry, index: u8) -> Option<&'static Kind> {
    registry.kinds.iter().find(|kind| kind.index == index)
}
