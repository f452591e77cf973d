//! Perfetto's format: packets in protocol buffers, for its UI and trace_processor.
//!
//! ```text
//!  packet: clocks, defaults │ packet: a track (process, thread, lane, counter) │ …
//!  packet: time, new names, track event: type, track, name, flows, parameters
//! ```
//!
//! One sequence of packets, with interned names. The numbers of fields are those of Perfetto's
//! `perfetto_trace.proto`. Design: `.cnv.perfetto` in `design/eventcnv.md`.

#[cfg(feature = "waits")]
pub(crate) mod kernel;

#[cfg(feature = "waits")]
use crate::export::perfetto::kernel::Kernel;
use crate::export::processes::Processes;
use crate::export::protobuf::Message;
use crate::export::timeline::{Action, Moment, TICKS, Timeline, argument, instant_name};
use crate::open::select::Selected;
use eventlog::reader::marks::Unit;
use eventlog::reader::{Clock, ClockBase, Event, Log, Value};
use lens::counters::{Counter, Number};
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// Bytes of one write, about.
const OUTPUT_SIZE: usize = 1 << 18;
/// Interned names, at most: labels beyond them are written at each use.
const NAME_COUNT_MAX: usize = 1 << 16;
/// The number of the only sequence.
const SEQUENCE: u64 = 1;

// Clocks (BuiltinClock).
const REALTIME: u64 = 1;
const MONOTONIC: u64 = 3;
/// The clock of a kernel's events.
const BOOTTIME: u64 = 6;

// Fields of a packet (Trace.packet, TracePacket).
const PACKET: u32 = 1;
const CLOCK_SNAPSHOT: u32 = 6;
const TIMESTAMP: u32 = 8;
const SEQUENCE_ID: u32 = 10;
const TRACK_EVENT: u32 = 11;
const INTERNED_DATA: u32 = 12;
const SEQUENCE_FLAGS: u32 = 13;
const DEFAULTS: u32 = 59;
const TRACK_DESCRIPTOR: u32 = 60;

/// Flags: interned names begin with this packet; a packet needs the interned names.
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// The type of a track event (TrackEvent.Type).
#[derive(Clone, Copy)]
enum Type {
    Begin = 1,
    End = 2,
    Instant = 3,
    Counter = 4,
}

/// A table of interned names (the field of InternedData).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Table {
    Category = 1,
    Event = 2,
    Annotation = 3,
}

/// The kind of a track: the upper bits of its number.
#[derive(Clone, Copy)]
enum Track {
    Process = 1,
    Thread = 2,
    Lane = 3,
    Counter = 4,
}

pub(crate) fn write(
    log: &Log,
    timeline: &mut Timeline,
    events: &mut Selected<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let processes = timeline.processes.clone();
    let (tracks, names) = (HashSet::new(), Names::default());
    let mut perfetto = Perfetto { processes, tracks, names, out: Message::default() };
    let mut kernel = Kernel::of(log);
    perfetto.head(&timeline.clock, kernel.is_some());
    while let Some(event) = events.next() {
        let moment = timeline.moment(&event);
        let of_kernel = kernel.as_mut();
        if !of_kernel.is_some_and(|kernel| kernel.take(&event, moment.ns, &mut perfetto.out)) {
            perfetto.event(&event, &moment, timeline);
        }
        if perfetto.out.bytes().len() >= OUTPUT_SIZE {
            out.write_all(perfetto.out.bytes())?;
            perfetto.out.clear();
        }
    }
    if let Some(kernel) = &mut kernel {
        kernel.finish(&mut perfetto.out);
    }
    out.write_all(perfetto.out.bytes())?;
    out.flush()
}

/// What builds without the lens on kernels know of a kernel: nothing.
#[cfg(not(feature = "waits"))]
struct Kernel;

#[cfg(not(feature = "waits"))]
impl Kernel {
    fn of(_: &Log) -> Option<Kernel> {
        None
    }

    fn take(&mut self, _: &Event<'_, '_>, _: u64, _: &mut Message) -> bool {
        false
    }

    fn finish(&mut self, _: &mut Message) {}
}

struct Perfetto {
    processes: Processes,
    tracks: HashSet<u64>,
    names: Names,
    out: Message,
}

/// Interned names: those of the registries, codes of unknown event types, and labels.
#[derive(Default)]
struct Names {
    numbers: HashMap<(Table, Box<str>), u64>,
    /// Names that are not written yet.
    new: Vec<(Table, u64, Box<str>)>,
}

impl Names {
    fn number(&mut self, table: Table, name: &str) -> u64 {
        let next = self.numbers.len() as u64 + 1;
        let key = (table, Box::from(name));
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        self.new.push((table, next, key.1.clone()));
        self.numbers.insert(key, next);
        next
    }

    /// Writes new names as a field of a packet.
    fn write(&mut self, packet: &mut Message) {
        if self.new.is_empty() {
            return;
        }
        packet.message(INTERNED_DATA, |data| {
            for (table, number, name) in self.new.drain(..) {
                data.message(table as u32, |entry| {
                    entry.uint(1, number);
                    entry.string(2, &name);
                });
            }
        });
    }
}

struct Entry<'a, 'e> {
    of: Type,
    ns: u64,
    track: u64,
    name: Option<&'a str>,
    event: Option<&'a Event<'e, 'e>>,
    moment: &'a Moment,
    value: Option<Number>,
}

impl Perfetto {
    /// Writes the clocks, and the clock of all times. Events of a kernel are of CLOCK_BOOTTIME,
    /// which stands for the clock of the log.
    fn head(&mut self, clock: &Clock, has_kernel: bool) {
        let id = if clock.base == ClockBase::Realtime { REALTIME } else { MONOTONIC };
        self.out.message(PACKET, |packet| {
            packet.uint(SEQUENCE_ID, SEQUENCE);
            packet.uint(SEQUENCE_FLAGS, STATE_CLEARED);
            packet.message(DEFAULTS, |defaults| defaults.uint(58, id));
            packet.message(CLOCK_SNAPSHOT, |snapshot| {
                let (monotonic, realtime) = clock.sync.unzip();
                let own = monotonic.or(Some(0));
                let of_kernel = own.filter(|_| has_kernel);
                for (id, ns) in [(id, own), (BOOTTIME, of_kernel), (REALTIME, realtime)] {
                    let Some(ns) = ns else { continue };
                    snapshot.message(1, |clock| {
                        clock.uint(1, id);
                        clock.uint(2, ns);
                    });
                }
                snapshot.uint(2, id);
            });
        });
    }

    fn event(&mut self, event: &Event<'_, '_>, moment: &Moment, timeline: &Timeline) {
        let thread = self.thread(event);
        let name = match &moment.action {
            Action::Begin { pair } | Action::SpanBegin { pair, .. } => {
                timeline.name(event, &moment.label, *pair)
            }
            _ => instant_name(event),
        };
        let name = Some(&*name);
        let entry = |of, track, name| Entry {
            of,
            ns: moment.ns,
            track,
            name,
            event: Some(event),
            moment,
            value: None,
        };
        let end = |track| Entry { event: None, ..entry(Type::End, track, None) };
        match &moment.action {
            Action::Instant => self.entry(entry(Type::Instant, thread, name)),
            Action::Begin { .. } => self.entry(entry(Type::Begin, thread, name)),
            Action::End { within, .. } => {
                for _ in 0..*within {
                    self.entry(end(thread));
                }
                self.entry(entry(Type::End, thread, None));
            }
            Action::SpanBegin { pair, lane, again } => {
                let track = self.lane(event.stream, *pair, *lane, timeline);
                if again.is_some() {
                    self.entry(end(track));
                }
                self.entry(entry(Type::Begin, track, name));
            }
            Action::SpanEnd { pair, lane } => {
                let track = self.lane(event.stream, *pair, *lane, timeline);
                self.entry(entry(Type::End, track, None));
            }
        }
        for (index, value) in &timeline.changed {
            let Some(counter) = timeline.counters.all().get(*index) else { continue };
            let track = self.counter(counter);
            let value = Some(*value);
            self.entry(Entry { value, event: None, ..entry(Type::Counter, track, None) });
        }
    }

    fn entry(&mut self, entry: Entry<'_, '_>) {
        let names = &mut self.names;
        self.out.message(PACKET, |packet| {
            packet.uint(TIMESTAMP, entry.ns);
            packet.uint(SEQUENCE_ID, SEQUENCE);
            packet.uint(SEQUENCE_FLAGS, NEEDS_STATE);
            packet.message(TRACK_EVENT, |track_event| {
                track_event.uint(9, entry.of as u64);
                track_event.uint(11, entry.track);
                match entry.name {
                    Some(name) if names.numbers.len() >= NAME_COUNT_MAX => {
                        track_event.string(23, name);
                    }
                    Some(name) => track_event.uint(10, names.number(Table::Event, name)),
                    None => {}
                }
                match (entry.value, entry.value.and_then(Number::as_i64)) {
                    (_, Some(value)) => track_event.uint(30, value as u64),
                    (Some(value), None) => track_event.double(44, value.as_f64()),
                    (None, None) => {}
                }
                if let Some(event) = entry.event {
                    params(event, names, track_event);
                    if let Some(flow) = entry.moment.flow {
                        track_event.fixed(if flow.is_end { 48 } else { 47 }, flow.id);
                    }
                }
            });
            names.write(packet);
        });
    }

    /// Describes a new track. Returns its number.
    fn track(
        &mut self,
        (track, stream, number): (Track, u16, u64),
        parent: Option<u64>,
        describe: impl FnOnce(&mut Message),
    ) -> u64 {
        let uuid = (track as u64) << 60 | u64::from(stream) << 44 | number;
        if self.tracks.insert(uuid) {
            self.out.message(PACKET, |packet| {
                packet.uint(SEQUENCE_ID, SEQUENCE);
                packet.message(TRACK_DESCRIPTOR, |descriptor| {
                    descriptor.uint(1, uuid);
                    if let Some(parent) = parent {
                        descriptor.uint(5, parent);
                    }
                    describe(descriptor);
                });
            });
        }
        uuid
    }

    fn process(&mut self, stream: u16) -> u64 {
        let (stream, pid) = (self.processes.first(stream), self.processes.pid(stream));
        let process = self.processes.by_stream.get(usize::from(stream));
        let name = process.map_or(String::new(), |process| process.name.clone());
        self.track((Track::Process, stream, 0), None, |descriptor| {
            descriptor.message(3, |process| {
                process.uint(1, pid.into());
                process.string(6, &name);
            });
        })
    }

    fn thread(&mut self, event: &Event<'_, '_>) -> u64 {
        let process = self.process(event.stream);
        let pid = self.processes.pid(event.stream);
        let (tid, _) = self.processes.thread(event);
        let place = self.processes.place(event.stream, event.thread);
        let thread = self.processes.threads.get(&place);
        let name = thread.map_or(String::new(), |thread| thread.name.clone());
        self.track((Track::Thread, place.0, place.1.into()), Some(process), |descriptor| {
            descriptor.message(4, |thread| {
                thread.uint(1, pid.into());
                thread.uint(2, tid.into());
                thread.string(5, &name);
            });
        })
    }

    fn lane(&mut self, stream: u16, pair: u32, lane: u32, timeline: &Timeline) -> u64 {
        let process = self.process(stream);
        // At most 2^16 lanes are open at a time.
        let number = u64::from(pair) << 17 | u64::from(lane);
        self.track((Track::Lane, stream, number), Some(process), |descriptor| {
            descriptor.string(2, timeline.marks.name(pair));
        })
    }

    fn counter(&mut self, counter: &Counter) -> u64 {
        let process = self.process(counter.stream);
        let track = (Track::Counter, counter.stream, counter.index as u64);
        self.track(track, Some(process), |descriptor| {
            descriptor.string(2, &counter.title);
            descriptor.message(8, |of| {
                if let Some(unit) = counter.unit {
                    of.uint(3, unit_of(unit));
                }
            });
        })
    }
}

/// Returns the number of a unit (CounterDescriptor.Unit).
fn unit_of(unit: Unit) -> u64 {
    match unit {
        Unit::Ns => 1,
        Unit::Count => 2,
        Unit::Bytes => 3,
    }
}

/// Writes the kind of an event as its category, its parameters and its ticks as annotations.
fn params(event: &Event<'_, '_>, names: &mut Names, track_event: &mut Message) {
    let kind = event.registry.kind(event.kind).map_or("?", |kind| &kind.name);
    track_event.uint(3, names.number(Table::Category, kind));
    for (param, value) in event.params() {
        let name = names.number(Table::Annotation, &argument(&param.name));
        track_event.message(4, |annotation| {
            annotation.uint(1, name);
            match value {
                Value::P(value) | Value::A(value) => annotation.uint(7, value),
                Value::W(value) => annotation.uint(3, value),
                Value::U(value) => annotation.uint(3, value.into()),
                Value::B(value) => annotation.uint(2, value.into()),
                Value::D(value) => annotation.double(5, value),
                Value::S(value) => annotation.string(6, &String::from_utf8_lossy(value)),
            }
        });
        let is_address = matches!(value, Value::P(_) | Value::A(_));
        let label = event.labels.label_id_of(value).filter(|_| is_address);
        if let Some(label) = label.and_then(|id| event.labels.string(id)) {
            let name = names.number(Table::Annotation, &format!("{} label", param.name));
            track_event.message(4, |annotation| {
                annotation.uint(1, name);
                annotation.string(6, &String::from_utf8_lossy(label));
            });
        }
    }
    let name = names.number(Table::Annotation, TICKS);
    track_event.message(4, |annotation| {
        annotation.uint(1, name);
        annotation.uint(3, event.ticks);
    });
}
