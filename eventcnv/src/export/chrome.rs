//! The trace event format of Chrome: JSON that chrome://tracing, Perfetto and speedscope read.
//!
//! ```text
//!  {"displayTimeUnit":"ns","otherData":{…},"traceEvents":[
//!  {"name":"TraceFlip","cat":"Trace","ph":"B","ts":17.250,"pid":4711,"tid":4711,"args":{…}},
//!  …]}
//! ```
//!
//! Slices are B and E, spans b and e (the lane is the id), flows s and f, counters C, other events
//! i. Design: `.cnv.chrome` in `design/eventcnv.md`.

use super::json;
use super::processes::Processes;
use super::timeline::{Action, Flow, Moment, Number, Timeline, instant_name};
use crate::select::Selected;
use crate::text;
use crate::view::json::string;
use eventlog::reader::{ClockBase, Event, Log};
use std::io::{self, Write};

/// Bytes of one write, about.
const OUTPUT_SIZE: usize = 1 << 18;

/// Writes events as one JSON object.
pub(crate) fn write(
    log: &Log,
    timeline: &mut Timeline,
    events: &mut Selected<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut chrome =
        Chrome { processes: timeline.processes.clone(), origin: None, text: Vec::new() };
    chrome.head(log, timeline);
    while let Some(event) = events.next() {
        let moment = timeline.moment(&event);
        chrome.event(&event, &moment, timeline);
        if chrome.text.len() >= OUTPUT_SIZE {
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

/// The fields that all entries of an event share.
struct Origin {
    ns: u64,
    pid: u32,
    tid: u32,
}

impl Chrome {
    fn head(&mut self, log: &Log, timeline: &Timeline) {
        let clock = match timeline.clock.base {
            ClockBase::Monotonic => "CLOCK_MONOTONIC",
            ClockBase::Realtime => "CLOCK_REALTIME, from the first event",
            ClockBase::Start => "from the first event",
            ClockBase::Ticks => "ticks, as ns",
        };
        self.text.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"clock\":");
        string(&mut self.text, clock.as_bytes());
        for (name, of) in [("hosts", 0), ("producers", 1)] {
            let texts = log.streams().iter().map(|stream| match of {
                0 => &*stream.host,
                _ => &*stream.producer,
            });
            let texts: Vec<&str> = texts.collect();
            self.text.push(b',');
            string(&mut self.text, name.as_bytes());
            self.text.push(b':');
            string(&mut self.text, texts.join(", ").as_bytes());
        }
        self.text.extend_from_slice(b"},\"traceEvents\":[");
        // The first entry has no comma before it. It is empty, and all readers accept it.
        self.text.extend_from_slice(b"\n{\"name\":\"clock\",\"ph\":\"M\",\"ts\":0,\"pid\":0}");
        for index in 0..self.processes.by_stream.len() as u16 {
            if self.processes.first(index) != index {
                continue;
            }
            let name = self.processes.by_stream.get(usize::from(index));
            let name = name.map_or(String::new(), |process| process.name.clone());
            self.metadata("process_name", self.processes.pid(index), None, &name);
        }
        for ((stream, index), thread) in self.processes.threads.clone() {
            if self.processes.place(stream, index) != (stream, index) {
                continue;
            }
            self.metadata(
                "thread_name",
                self.processes.pid(stream),
                Some(thread.tid),
                &thread.name,
            );
        }
    }

    fn metadata(&mut self, what: &str, pid: u32, tid: Option<u32>, name: &str) {
        self.text.extend_from_slice(b",\n{\"name\":");
        string(&mut self.text, what.as_bytes());
        self.text.extend_from_slice(b",\"ph\":\"M\",\"ts\":0,\"pid\":");
        text::decimal(&mut self.text, pid.into());
        if let Some(tid) = tid {
            self.text.extend_from_slice(b",\"tid\":");
            text::decimal(&mut self.text, tid.into());
        }
        self.text.extend_from_slice(b",\"args\":{\"name\":");
        string(&mut self.text, name.as_bytes());
        self.text.extend_from_slice(b"}}");
    }

    fn event(&mut self, event: &Event<'_, '_>, moment: &Moment, timeline: &Timeline) {
        let (tid, new) = self.processes.thread(event);
        let pid = self.processes.pid(event.stream);
        if let Some(name) = new.filter(|name| !name.is_empty()) {
            self.metadata("thread_name", pid, Some(tid), &name);
        }
        let first = if timeline.clock.base == ClockBase::Realtime { moment.ns } else { 0 };
        let origin = *self.origin.get_or_insert(first);
        let at = Origin { ns: moment.ns.saturating_sub(origin), pid, tid };
        let name = |pair| timeline.marks.name(pair);
        match moment.action {
            Action::Instant => {
                // Readers draw a flow from slice to slice.
                let form =
                    if moment.flow.is_some() { ("X", "\"dur\":0") } else { ("i", "\"s\":\"t\"") };
                self.entry(&instant_name(event), form, &at, event);
            }
            Action::Begin { pair } => self.entry(name(pair), ("B", ""), &at, event),
            Action::End { pair, within } => {
                for _ in 0..within {
                    self.open("", "", "E", &at);
                    self.text.push(b'}');
                }
                self.entry(name(pair), ("E", ""), &at, event);
            }
            Action::SpanBegin { pair, lane, is_again } => {
                let id = format!("\"id2\":{{\"local\":\"{pair}.{lane}\"}}");
                if is_again {
                    self.open(name(pair), "span", "e", &at);
                    self.text.push(b',');
                    self.text.extend_from_slice(id.as_bytes());
                    self.text.push(b'}');
                }
                self.entry(name(pair), ("b", &id), &at, event);
            }
            Action::SpanEnd { pair, lane } => {
                let id = format!("\"id2\":{{\"local\":\"{pair}.{lane}\"}}");
                self.entry(name(pair), ("e", &id), &at, event);
            }
        }
        if let Some(flow) = moment.flow {
            self.flow(name(flow.pair), flow, &at);
        }
        if let Some(counter) = moment.counter.and_then(|index| timeline.counters.get(index)) {
            self.open(&counter.name, "counter", "C", &at);
            self.text.extend_from_slice(b",\"args\":{\"value\":");
            let _ = match counter.value {
                Number::Whole(value) => write!(self.text, "{value}"),
                Number::Real(value) => {
                    json::double(&mut self.text, value);
                    Ok(())
                }
            };
            self.text.extend_from_slice(b"}}");
        }
    }

    /// Appends an entry without its end.
    fn open(&mut self, name: &str, category: &str, phase: &str, at: &Origin) {
        let text = &mut self.text;
        text.extend_from_slice(b",\n{");
        if !name.is_empty() {
            text.extend_from_slice(b"\"name\":");
            string(text, name.as_bytes());
            text.extend_from_slice(b",\"cat\":");
            string(text, category.as_bytes());
            text.push(b',');
        }
        text.extend_from_slice(b"\"ph\":\"");
        text.extend_from_slice(phase.as_bytes());
        text.extend_from_slice(b"\",\"ts\":");
        json::micros(text, at.ns);
        text.extend_from_slice(b",\"pid\":");
        text::decimal(text, at.pid.into());
        text.extend_from_slice(b",\"tid\":");
        text::decimal(text, at.tid.into());
    }

    /// Appends the entry of an event with its parameters; `form` is the phase and its fields.
    fn entry(&mut self, name: &str, form: (&str, &str), at: &Origin, event: &Event<'_, '_>) {
        let (phase, fields) = form;
        let is_span = matches!(phase, "b" | "e");
        let kind = event.registry.kind(event.kind).map_or("?", |kind| &kind.name);
        self.open(name, if is_span { "span" } else { kind }, phase, at);
        if !fields.is_empty() {
            self.text.push(b',');
            self.text.extend_from_slice(fields.as_bytes());
        }
        self.text.extend_from_slice(b",\"args\":{");
        for (param, value) in event.params() {
            string(&mut self.text, param.name.as_bytes());
            self.text.push(b':');
            json::value(&mut self.text, event, value);
            self.text.push(b',');
        }
        self.text.extend_from_slice(b"\"ticks\":\"");
        text::hex16(&mut self.text, event.ticks);
        self.text.extend_from_slice(b"\"}}");
    }

    fn flow(&mut self, name: &str, flow: Flow, at: &Origin) {
        self.open(name, "flow", if flow.is_end { "f" } else { "s" }, at);
        self.text.extend_from_slice(b",\"id\":");
        text::decimal(&mut self.text, flow.id);
        // The flow ends in the enclosing slice, not in the next one.
        self.text.extend_from_slice(if flow.is_end { b",\"bp\":\"e\"}" } else { b"}" });
    }
}
