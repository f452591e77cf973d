//! The trace event format of Chrome: JSON that chrome://tracing, Perfetto and speedscope read.
//!
//! ```text
//!  {"displayTimeUnit":"ns","otherData":{…},"traceEvents":[
//!  {"name":"TraceFlip","cat":"Trace","ph":"B","ts":17.25,"pid":4711,"tid":4711,"args":{…}},
//!  …]}
//! ```
//!
//! Slices are B and E, spans b and e (the lane is the id), flows s and f, counters C, other events
//! i. Design: `.cnv.chrome` in `design/eventcnv.md`.

use crate::export::processes::Processes;
use crate::export::timeline::{Action, Moment, TICKS, Timeline, argument, instant_name};
use crate::open::select::Selected;
use crate::show::json::Escaping;
use cli::fields::Real;
use eventlog::reader::{ClockBase, Event, Log, Stream, Value};
use lens::counters::Number;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;
use std::io::{self, Write};

/// Bytes of one write, about.
const OUTPUT_SIZE: usize = 1 << 18;
/// The largest number that readers of JSON keep exactly.
const WHOLE_MAX: u64 = 1 << 53;

/// Writes events as one JSON object. Before the first write of a long one, `tell` is given the
/// bytes that an event takes.
pub(crate) fn write(
    log: &Log,
    timeline: &mut Timeline,
    events: &mut Selected<'_>,
    tell: &dyn Fn(f64),
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut chrome =
        Chrome { processes: timeline.processes.clone(), origin: None, text: Vec::new() };
    chrome.head(log, timeline);
    let (head_size, mut count) = (chrome.text.len(), Some(0u32));
    while let Some(event) = events.next() {
        let moment = timeline.moment(&event);
        chrome.event(&event, &moment, timeline);
        count = count.map(|count| count + 1);
        if chrome.text.len() >= OUTPUT_SIZE {
            if let Some(count) = count.take() {
                tell((chrome.text.len() - head_size) as f64 / f64::from(count));
            }
            out.write_all(&chrome.text)?;
            chrome.text.clear();
        }
    }
    chrome.text.extend_from_slice(b"\n]}\n");
    out.write_all(&chrome.text)?;
    out.flush()
}

struct Chrome {
    processes: Processes,
    /// The first time of day, which is subtracted from all, so that a double holds them.
    origin: Option<u64>,
    text: Vec<u8>,
}

/// An entry of the trace; fields without a value are left out.
#[derive(Clone, Default, serde::Serialize)]
struct Entry<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'a str,
    ph: &'static str,
    /// In µs.
    ts: f64,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u32>,
    #[serde(skip_serializing_if = "str::is_empty")]
    s: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id2: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    bp: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Args<'a>>,
}

/// The arguments of an entry.
#[derive(Clone)]
enum Args<'a> {
    Name(&'a str),
    Value(Number),
    /// The parameters, and the ticks.
    Event(&'a Event<'a, 'a>),
}

impl Serialize for Args<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match *self {
            Args::Name(name) => map.serialize_entry("name", name)?,
            Args::Value(value) => match value.as_i64() {
                Some(value) => map.serialize_entry("value", &value)?,
                None => map.serialize_entry("value", &Real(value.as_f64()))?,
            },
            Args::Event(event) => {
                for (param, value) in event.params() {
                    map.serialize_entry(&argument(&param.name), &Param { event, value })?;
                }
                map.serialize_entry(TICKS, &format_args!("{:016X}", event.ticks))?;
            }
        }
        map.end()
    }
}

/// The value of a parameter. Pointers, addresses and large words are strings.
struct Param<'a> {
    event: &'a Event<'a, 'a>,
    value: Value<'a>,
}

impl Serialize for Param<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::W(word) if word <= WHOLE_MAX => serializer.serialize_u64(word),
            Value::W(word) => serializer.collect_str(&format_args!("{word:#x}")),
            Value::P(word) | Value::A(word) => {
                let labels = self.event.labels;
                match labels.label_id_of(self.value).and_then(|id| labels.string(id)) {
                    Some(label) => {
                        let label = String::from_utf8_lossy(label);
                        serializer.collect_str(&format_args!("{word:#x} {label}"))
                    }
                    None => serializer.collect_str(&format_args!("{word:#x}")),
                }
            }
            Value::U(value) => serializer.serialize_u32(value),
            Value::B(value) => serializer.serialize_bool(value),
            Value::D(value) => Real(value).serialize(serializer),
            Value::S(value) => serializer.serialize_str(&String::from_utf8_lossy(value)),
        }
    }
}

impl Chrome {
    fn head(&mut self, log: &Log, timeline: &Timeline) {
        let clock = match timeline.clock.base {
            ClockBase::Monotonic => "CLOCK_MONOTONIC",
            ClockBase::Realtime => "CLOCK_REALTIME, from the first event",
            ClockBase::Start => "from the first event",
            ClockBase::Ticks => "ticks, as ns",
        };
        let texts =
            |of: fn(&Stream) -> &str| log.streams().iter().map(of).collect::<Vec<_>>().join(", ");
        let (hosts, producers) = (texts(|stream| &stream.host), texts(|stream| &stream.producer));
        self.text.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",\"otherData\":");
        self.append(&json!({ "clock": clock, "hosts": hosts, "producers": producers }));
        // The first entry has no comma before it. It is empty, and all readers accept it.
        self.text.extend_from_slice(b",\"traceEvents\":[\n");
        self.append(&Entry { name: "clock", ph: "M", ..Entry::default() });
        for index in 0..self.processes.by_stream.len() as u16 {
            if self.processes.first(index) != index {
                continue;
            }
            let name = self.processes.by_stream.get(usize::from(index));
            let name = name.map_or(String::new(), |process| process.name.clone());
            self.metadata("process_name", self.processes.pid(index), None, &name);
        }
        for ((stream, index), thread) in self.processes.threads.clone() {
            if self.processes.place(stream, index) == (stream, index) {
                let pid = self.processes.pid(stream);
                self.metadata("thread_name", pid, Some(thread.tid), &thread.name);
            }
        }
    }

    fn append(&mut self, what: &impl Serialize) {
        let mut serializer = serde_json::Serializer::with_formatter(&mut self.text, Escaping);
        // Writing into memory cannot fail.
        let _ = what.serialize(&mut serializer);
    }

    fn push(&mut self, entry: Entry<'_>) {
        self.text.extend_from_slice(b",\n");
        self.append(&entry);
    }

    fn metadata(&mut self, what: &str, pid: u32, tid: Option<u32>, name: &str) {
        let args = Some(Args::Name(name));
        self.push(Entry { name: what, ph: "M", pid, tid, args, ..Entry::default() });
    }

    fn event(&mut self, event: &Event<'_, '_>, moment: &Moment, timeline: &Timeline) {
        let (tid, new) = self.processes.thread(event);
        let pid = self.processes.pid(event.stream);
        if let Some(name) = new.filter(|name| !name.is_empty()) {
            self.metadata("thread_name", pid, Some(tid), &name);
        }
        let first = if timeline.clock.base == ClockBase::Realtime { moment.ns } else { 0 };
        let origin = *self.origin.get_or_insert(first);
        let ts = moment.ns.saturating_sub(origin) as f64 / 1000.0;
        let at = |ph| Entry { ph, ts, pid, tid: Some(tid), ..Entry::default() };
        let kind = event.registry.kind(event.kind).map_or("?", |kind| &kind.name);
        let of = |ph, name| Entry { name, cat: kind, args: Some(Args::Event(event)), ..at(ph) };
        let name = |pair, label| timeline.name(event, label, pair);
        let id = |pair: &u32, lane: &u32| Some(json!({ "local": format!("{pair}.{lane}") }));
        match &moment.action {
            Action::Instant => {
                let name = &instant_name(event);
                // Readers draw a flow from slice to slice.
                self.push(match moment.flow {
                    Some(_) => Entry { dur: Some(0), ..of("X", name) },
                    None => Entry { s: "t", ..of("i", name) },
                });
            }
            Action::Begin { pair } => self.push(of("B", &name(*pair, &moment.label))),
            Action::End { pair, within } => {
                (0..*within).for_each(|_| self.push(at("E")));
                self.push(of("E", &name(*pair, &moment.label)));
            }
            Action::SpanBegin { pair, lane, again } => {
                let id2 = id(pair, lane);
                if let Some(label) = again {
                    let (name, id2) = (&name(*pair, label), id2.clone());
                    self.push(Entry { name, cat: "span", id2, ..at("e") });
                }
                let name = &name(*pair, &moment.label);
                self.push(Entry { cat: "span", id2, ..of("b", name) });
            }
            Action::SpanEnd { pair, lane } => {
                let (name, id2) = (&name(*pair, &moment.label), id(pair, lane));
                self.push(Entry { cat: "span", id2, ..of("e", name) });
            }
        }
        if let Some(flow) = moment.flow {
            // The flow ends in the enclosing slice, not in the next one.
            let (ph, bp) = if flow.is_end { ("f", "e") } else { ("s", "") };
            self.push(Entry {
                name: timeline.marks.name(flow.pair),
                cat: "flow",
                id: Some(flow.id),
                bp,
                ..at(ph)
            });
        }
        for (index, value) in &timeline.changed {
            let Some(counter) = timeline.counters.all().get(*index) else { continue };
            let args = Some(Args::Value(*value));
            self.push(Entry { name: &counter.title, cat: "counter", args, ..at("C") });
        }
    }
}
