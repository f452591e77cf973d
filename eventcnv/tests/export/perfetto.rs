//! Perfetto's format, read by a decoder that knows only the wire format of protocol buffers.
//!
//! ```text
//!  bytes ──▶ fields ──▶ packets: names, tracks, track events ──▶ one for each line of the dump
//! ```
//!
//! Design: `.cnv.perfetto` in `design/eventcnv.md`.

use crate::{
    FLOWS, dumped, exported, is_double, is_number, live, logs, of_calls, of_two_processes,
};
use serde_json::Value;
use std::collections::HashMap;
use tempfile::TempDir;

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Field {
    pub(crate) fn number(&self) -> u64 {
        match self {
            Field::Number(value) => *value,
            Field::Bytes(_) => panic!("not a number: {self:?}"),
        }
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Field::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
            Field::Number(_) => panic!("not a string: {self:?}"),
        }
    }

    pub(crate) fn fields(&self) -> Message {
        match self {
            Field::Bytes(bytes) => decode(bytes),
            Field::Number(_) => panic!("not a message: {self:?}"),
        }
    }
}

pub(crate) struct Message(pub(crate) Vec<(u32, Field)>);

impl Message {
    pub(crate) fn all(&self, number: u32) -> impl Iterator<Item = &Field> {
        self.0.iter().filter(move |(field, _)| *field == number).map(|(_, value)| value)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Field> {
        self.all(number).last()
    }

    pub(crate) fn number(&self, number: u32) -> u64 {
        self.get(number).unwrap().number()
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (&byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    unreachable!()
}

pub(crate) fn decode(mut bytes: &[u8]) -> Message {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let value = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (number, rest) = bytes.split_first_chunk().unwrap();
                bytes = rest;
                Field::Number(u64::from_le_bytes(*number))
            }
            2 => {
                let size = varint(&mut bytes) as usize;
                let (inside, rest) = bytes.split_at(size);
                bytes = rest;
                Field::Bytes(inside.to_vec())
            }
            wire => panic!("wire type {wire}"),
        };
        fields.push(((tag >> 3) as u32, value));
    }
    Message(fields)
}

/// A track event, with its names looked up.
#[derive(Debug)]
pub(crate) struct TrackEvent {
    pub(crate) ns: u64,
    pub(crate) of: u64,
    pub(crate) track: u64,
    pub(crate) name: String,
    category: String,
    params: Vec<(String, (u32, Field))>,
    pub(crate) value: Option<i64>,
    pub(crate) real: Option<f64>,
    pub(crate) flows: [Vec<u64>; 2],
}

/// The events, tracks and processes of a trace.
#[derive(Default)]
pub(crate) struct Trace {
    names: HashMap<(u32, u64), String>,
    /// Parent, and name of the track or its thread.
    pub(crate) tracks: HashMap<u64, (Option<u64>, String)>,
    /// The processes, by their tracks.
    pub(crate) pids: HashMap<u64, u64>,
    pub(crate) events: Vec<TrackEvent>,
    /// The units of counters, by the names of their tracks.
    pub(crate) units: HashMap<String, u64>,
}

pub(crate) fn trace(args: &[&str]) -> Trace {
    let (bytes, _) = exported("trace.pftrace", args);
    let mut trace = Trace::default();
    for (index, (field, packet)) in decode(&bytes).0.iter().enumerate() {
        assert_eq!(*field, 1);
        let packet = packet.fields();
        assert_eq!(packet.number(10), 1, "the trace has one sequence");
        if index == 0 {
            let snapshot = packet.get(6).unwrap().fields();
            let default = packet.get(59).unwrap().fields().number(58);
            assert_eq!((packet.number(13), snapshot.number(2)), (1, default));
        }
        trace.take(&packet);
    }
    trace
}

impl Trace {
    fn take(&mut self, packet: &Message) {
        let interned = packet.get(12).map(Field::fields);
        for (table, entry) in interned.iter().flat_map(|data| &data.0) {
            let entry = entry.fields();
            let before = self.names.insert((*table, entry.number(1)), entry.get(2).unwrap().text());
            assert_eq!(before, None, "a name is interned once");
        }
        if let Some(track) = packet.get(60).map(Field::fields) {
            let own = track.get(2).map(Field::text);
            let thread = track.get(4).map(|thread| thread.fields().get(5).unwrap().text());
            let process = track.get(3).map(|process| process.fields().get(6).unwrap().text());
            if let Some(process) = track.get(3) {
                self.pids.insert(track.number(1), process.fields().number(1));
            }
            let parent = track.get(5).map(Field::number);
            let name = own.or(thread).or(process).unwrap();
            let unit = track.get(8).and_then(|of| of.fields().get(3).map(Field::number));
            self.units.extend(unit.map(|unit| (name.clone(), unit)));
            assert!(parent.is_none_or(|parent| self.tracks.contains_key(&parent)));
            assert!(self.tracks.insert(track.number(1), (parent, name)).is_none());
        }
        let Some(event) = packet.get(11).map(Field::fields) else { return };
        assert_eq!(packet.number(13), 2, "the packet needs earlier names");
        let name = |table, number: u64| self.names[&(table, number)].clone();
        let params = event.all(4).map(|param| {
            let param = param.fields();
            let value = param.0.iter().find(|(field, _)| *field != 1).unwrap().clone();
            (name(3, param.number(1)), value)
        });
        let flows = [47, 48].map(|field| event.all(field).map(Field::number).collect());
        let event = TrackEvent {
            ns: packet.number(8),
            of: event.number(9),
            track: event.number(11),
            name: match (event.get(10), event.get(23)) {
                (Some(number), None) => name(2, number.number()),
                (None, name) => name.map_or(String::new(), Field::text),
                both => panic!("two names: {both:?}"),
            },
            category: event.get(3).map_or(String::new(), |number| name(1, number.number())),
            params: params.collect(),
            value: event.get(30).map(|value| value.number() as i64),
            real: event.get(44).map(|value| f64::from_bits(value.number())),
            flows,
        };
        assert!(self.tracks.contains_key(&event.track));
        self.events.push(event);
    }
}

/// Returns whether an annotation equals the value in the dump.
fn is_value((field, found): &(u32, Field), expected: &Value) -> bool {
    match field {
        2 | 3 | 7 => is_number(expected, found.number()),
        5 => is_double(expected, f64::from_bits(found.number())),
        6 => expected == &found.text(),
        _ => false,
    }
}

/// `.cnv.perfetto`
#[test]
fn every_event_is_in_the_trace_once_with_its_parameters() {
    for log in logs() {
        let trace = trace(&[&log]);
        let own: Vec<&TrackEvent> =
            trace.events.iter().filter(|event| !event.params.is_empty()).collect();
        let lines = dumped(&[&log]);
        assert_eq!(own.len(), lines.len(), "{log}");
        let mut ns_before = 0;
        for (event, line) in own.iter().zip(&lines) {
            let (ticks, params) = event.params.split_last().unwrap();
            assert_eq!(ticks.0, "ticks");
            assert!(is_number(&line["ticks"], ticks.1.1.number()));
            let name = line["event"].as_str().unwrap();
            assert!(event.of != 3 || event.name == name, "{event:?} {line}");
            assert!(event.of != 1 || name.starts_with(&event.name), "{event:?} {line}");
            assert!(event.ns >= ns_before && (event.of == 2 || line["kind"] == event.category));
            ns_before = event.ns;
            let labels = line["labels"].as_object().map_or(0, |labels| labels.len());
            assert_eq!(params.len(), line["params"].as_object().unwrap().len() + labels);
            for (name, value) in params {
                let expected = match name.strip_suffix(" label") {
                    Some(name) => &line["labels"][name],
                    None => &line["params"][name],
                };
                assert!(is_value(value, expected), "{name} {value:?} {line}");
            }
        }
    }
}

#[test]
fn each_end_belongs_to_the_open_slice_of_its_track() {
    for (log, count) in logs().iter().zip([4, 5, 258, 7]) {
        let trace = trace(&[log]);
        let mut open: HashMap<u64, u64> = HashMap::new();
        let mut ends = 0;
        for event in &trace.events {
            let depth = open.entry(event.track).or_default();
            match event.of {
                1 => *depth += 1,
                2 => {
                    *depth = depth.checked_sub(1).unwrap();
                    ends += 1;
                }
                _ => {}
            }
        }
        assert_eq!(ends, count, "{log}");
    }
}

/// `.cnv.marks`
#[test]
fn calls_and_tasks_have_the_names_of_their_functions() {
    let (log, expected) = of_calls();
    let trace = trace(&[&log]);
    let begins = trace.events.iter().filter(|event| event.of == 1);
    assert_eq!(begins.map(|event| &*event.name).collect::<Vec<_>>(), expected);
}

#[test]
fn tracks_are_processes_threads_lanes_and_counters() {
    let [log, ..] = logs();
    let trace = trace(&[&log, "--flow=PoolInit=PoolFinish"]);
    let mut names: Vec<&str> = trace.tracks.values().map(|(_, name)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names[..5],
        [
            "Arena",
            "Pool",
            "Pool",
            "Pool size 0x556289605a10 counts",
            "Pool size 0x556289605ae0 letters"
        ]
    );
    assert_eq!(names[5..], ["heap", "heap", "no thread"]);
    assert_eq!(trace.tracks.values().filter(|(parent, _)| parent.is_none()).count(), 1);
    let counted = trace.events.iter().filter(|event| event.of == 4);
    let last: HashMap<u64, i64> =
        counted.map(|event| (event.track, event.value.unwrap())).collect();
    let live: HashMap<String, i64> = live(&log).into_iter().collect();
    assert_eq!(last.len(), live.len());
    for (track, value) in last {
        let pool = live.iter().find(|(pool, _)| trace.tracks[&track].1.contains(*pool)).unwrap();
        assert_eq!(*pool.1, value);
    }
    let flows = |side: usize| -> Vec<u64> {
        let mut all: Vec<u64> =
            trace.events.iter().flat_map(|event| event.flows[side].clone()).collect();
        all.sort_unstable();
        all
    };
    assert_eq!((flows(0), flows(1)), (vec![1, 2], vec![1, 2]));
}

/// Returns the events of one process, and numbers their flows from 1: a trace numbers the flows of
/// all processes together.
fn of_process(trace: &Trace, pid: u64) -> Vec<String> {
    let mut flows = HashMap::new();
    let mut lines = Vec::new();
    for event in &trace.events {
        // The names of the tracks below that of the process, which may have its host's name.
        let (mut path, mut track) = (Vec::new(), event.track);
        while let (Some(parent), name) = &trace.tracks[&track] {
            path.push(&**name);
            track = *parent;
        }
        if trace.pids[&track] != pid {
            continue;
        }
        let flows = event.flows.each_ref().map(|ids| {
            let mut number = |id| {
                let next = flows.len() + 1;
                *flows.entry(id).or_insert(next)
            };
            ids.iter().copied().map(&mut number).collect::<Vec<usize>>()
        });
        let TrackEvent { ns, of, name, category, params, value, .. } = event;
        lines.push(format!("{ns} {of} {path:?} {name} {category} {params:?} {value:?} {flows:?}"));
    }
    lines
}

/// `.cnv.timeline`: slices, spans, flows and counters of two processes in one log equal those in
/// the log of each alone, on separate tracks.
#[test]
fn a_process_has_the_same_tracks_alone_and_among_others() {
    let directory = TempDir::new().unwrap();
    let (both, alone) = of_two_processes(&directory);
    let of = |log| trace(&[&[log], &FLOWS[..]].concat());
    let merged = of(&both);
    assert_eq!(merged.pids.len(), 2);
    let mut count = 0;
    for log in &alone {
        let alone = of(log);
        let [pid] = *alone.pids.values().copied().collect::<Vec<u64>>() else { panic!("one pid") };
        let (found, expected) = (of_process(&merged, pid), of_process(&alone, pid));
        assert_eq!(expected.len(), alone.events.len());
        assert_eq!(found.len(), expected.len(), "{log}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{log}");
        }
        for of in 1..=4 {
            assert!(alone.events.iter().any(|event| event.of == of), "{log} {of}");
        }
        count += found.len();
    }
    assert_eq!(count, merged.events.len());
    let mut ends: HashMap<u64, [u32; 2]> = HashMap::new();
    for event in &merged.events {
        for side in 0..2 {
            event.flows[side].iter().for_each(|id| ends.entry(*id).or_default()[side] += 1);
        }
    }
    assert!(ends.len() > 4 && ends.values().all(|sides| sides[0] == 1 && sides[1] <= 1));
}
