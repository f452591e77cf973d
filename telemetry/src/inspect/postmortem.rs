//! The events that are still in memory, for the program itself: newest first, of all threads.
//!
//! ```text
//!  ring ─ its newest ┐
//!  ring ─ its newest ┼─▶ the newest of these ─▶ Event: copied      ring ─ the one before that ┐ …
//!  ring ─ its newest ┘
//! ```
//!
//! Other threads go on recording meanwhile. Takes no lock of the runtime; allocates: some hundred
//! bytes for each buffer that there is, and each event by itself. So it is for ordinary code and
//! for panic hooks, not for signal handlers. Design: `.req.pm`, `.debug.buffer` in
//! `design/telemetry.md`; `.event.params` in `design/format.md`.

use crate::inspect::history::{self, Recalled, Spot};
use crate::inspect::text::{self, Now};
use crate::os::report::Text;
use crate::rings::thread;
use core::fmt;
use eventdef::{EventType, Kind, Param, Registry, Sort};
use eventlog::format::EVENT_SIZE_MAX;
use std::collections::BinaryHeap;

/// The events of all threads and kinds that are in memory now, newest first, output or not; but not
/// strings, labels and the like, which are shown where they are used.
///
/// What is recorded from now on is not among them. What is overwritten before it was given is left
/// out, and [counted](Postmortem::overwritten).
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
///
/// In a panic hook:
///
/// ```
/// std::panic::set_hook(Box::new(|info| {
///     eprintln!("{info}");
///     telemetry::postmortem().take(20).for_each(|event| eprintln!("{event}"));
/// }));
/// ```
pub fn postmortem() -> Postmortem {
    let now = Now::read();
    let mut rings = BinaryHeap::new();
    for ring in thread::rings() {
        let mut older = Box::new(history::of_ring(ring).filter(move |s| s.ticks <= now.ticks));
        if let Some(newest) = older.next() {
            let (registry, kind) = (ring.control.registry, ring.kind());
            rings.push(Ahead { newest, registry, kind, older });
        }
    }
    Postmortem { rings, now, room: vec![0; EVENT_SIZE_MAX], overwritten: 0 }
}

/// The events that were in memory when [`postmortem`] was called, newest first.
pub struct Postmortem {
    rings: BinaryHeap<Ahead>,
    now: Now,
    /// Where an event is copied to.
    room: Vec<u8>,
    overwritten: u64,
}

/// What is still to come of a ring. The greatest is the one whose newest event is the newest.
struct Ahead {
    newest: Spot,
    registry: &'static Registry,
    kind: u8,
    older: Box<dyn Iterator<Item = Spot> + Send>,
}

impl PartialEq for Ahead {
    fn eq(&self, other: &Ahead) -> bool {
        self.newest == other.newest
    }
}

impl Eq for Ahead {}

impl PartialOrd for Ahead {
    fn partial_cmp(&self, other: &Ahead) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ahead {
    fn cmp(&self, other: &Ahead) -> core::cmp::Ordering {
        self.newest.cmp(&other.newest)
    }
}

impl Postmortem {
    /// Only those of the kind that is called so, in any case, in whichever registry.
    pub fn of_kind(mut self, name: &str) -> Postmortem {
        self.rings.retain(|ahead| {
            let kind = kind_of(ahead.registry, ahead.kind);
            kind.is_some_and(|kind| kind.name.eq_ignore_ascii_case(name))
        });
        self
    }

    /// Events that were in memory and were overwritten before they were given. Of a block that is
    /// begun anew meanwhile it is known of one event only; the others are gone with it.
    pub fn overwritten(&self) -> u64 {
        self.overwritten
    }
}

impl Iterator for Postmortem {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            let mut ahead = self.rings.pop()?;
            let (spot, kind) = (ahead.newest, ahead.kind);
            let event = spot.read(&mut self.room).and_then(|event| {
                let registry = event.registry?;
                let (thread, code) = (event.thread, event.code);
                let now = self.now;
                Some(Event { spot, now, registry, kind, thread, code, bytes: event.bytes.into() })
            });
            if let Some(older) = ahead.older.next() {
                self.rings.push(Ahead { newest: older, ..ahead });
            }
            match event {
                Some(event) => return Some(event),
                None => self.overwritten += 1,
            }
        }
    }
}

impl fmt::Debug for Postmortem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postmortem").field("buffers", &self.rings.len()).finish_non_exhaustive()
    }
}

/// An event that was still in memory: a copy.
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
    /// When it was recorded, in ticks of the stream's clock.
    pub fn ticks(&self) -> u64 {
        self.spot.ticks
    }

    /// The index of the thread that recorded it, in the stream: from 1.
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// What that thread was called when it began to record, as far as the store has it.
    pub fn thread_name(&self) -> Option<String> {
        let mut name = String::new();
        let give = &mut |text: &[u8]| name = Text(text).to_string();
        text::thread_name(self.thread, &mut [0; 128], &text::scan, give)?;
        Some(name)
    }

    /// The registry that its event type is of.
    pub fn registry(&self) -> &'static Registry {
        self.registry
    }

    /// Its kind.
    pub fn kind(&self) -> Option<&'static Kind> {
        kind_of(self.registry, self.kind)
    }

    /// Its code, within its registry.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Its event type: its name, its parameters, what it says.
    pub fn event_type(&self) -> Option<&'static EventType> {
        self.recalled().event_type()
    }

    /// Its parameters, in their order, with their values.
    pub fn params(&self) -> impl Iterator<Item = (&'static Param, Value<'_>)> {
        let event_type = self.event_type();
        let params = event_type.map_or(&[][..], |event_type| event_type.params);
        params
            .iter()
            .enumerate()
            .filter_map(move |(index, param)| Some((param, self.value(event_type?, index)?)))
    }

    /// The value of the parameter of this name, if there is one.
    pub fn param(&self, name: &str) -> Option<Value<'_>> {
        self.params().find(|(param, _)| param.name == name).map(|(_, value)| value)
    }

    /// The event as it stands in its block (3.2 of `design/format.md`), in this machine's byte
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

/// The line of a [traceback](crate::traceback()), its age that at the call of [`postmortem`].
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

fn kind_of(registry: &'static Registry, index: u8) -> Option<&'static Kind> {
    registry.kinds.iter().find(|kind| kind.index == index)
}
