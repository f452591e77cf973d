//! Perfetto's format, read by a decoder that knows only the wire format of protocol buffers.
//!
//! ```text
//!  bytes ──▶ fields ──▶ packets: names, tracks, track events
//! ```
//!
//! Design: `.cnv.perfetto` in `design/eventcnv.md`.

use std::collections::HashMap;

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
    pub(crate) category: String,
    pub(crate) params: Vec<(String, (u32, Field))>,
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

impl Trace {
    /// Reads a trace.
    pub(crate) fn read(bytes: &[u8]) -> Trace {
        let mut trace = Trace::default();
        for (index, (field, packet)) in decode(bytes).0.iter().enumerate() {
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
