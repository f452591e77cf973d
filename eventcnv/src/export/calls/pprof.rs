//! Writes paths of calls as a profile of pprof: a compressed protocol buffer.
//!
//! ```text
//!  Profile ── sample_type: calls (count), time (nanoseconds)
//!          ├─ sample: locations from the innermost one, calls, own time      one for each path
//!          ├─ mapping: states that locations have names and lines
//!          ├─ location ── line ── function ── names, file, line
//!          └─ string_table
//! ```
//!
//! pprof takes a name that equals its system name for one of C++, and removes all in `<…>` and
//! `(…)`: `<shop::Cart as shop::Basket>::add` would be `::add`. So only a symbol that was demangled
//! has a system name.
//!
//! github.com/google/pprof/blob/main/proto/profile.proto. Design: `.cnv.export.calls` in
//! `design/eventcnv.md`.

use crate::export::calls::names::{name, symbol};
use crate::export::protobuf::Message;
use flate2::Compression;
use flate2::write::GzEncoder;
use lens::calls::{Calls, Function, Tree};
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

/// Calls of a path, from the innermost one, at most.
const DEPTH_MAX: usize = 512;

/// The number of the only mapping.
const MAPPING: u64 = 1;

/// Fields of the messages.
mod field {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const MAPPING: u32 = 3;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING: u32 = 6;
    pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

/// The strings of a profile; the first one is empty.
struct Strings {
    places: HashMap<String, u64>,
    all: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

/// Adds the types of values, and the mapping.
fn begin(strings: &mut Strings, message: &mut Message) {
    for (kind, unit) in [("calls", "count"), ("time", "nanoseconds")] {
        let (kind, unit) = (strings.number(kind), strings.number(unit));
        message.message(field::SAMPLE_TYPE, |value| {
            value.uint(1, kind);
            value.uint(2, unit);
        });
    }
    // Without it, pprof looks for the program's file.
    message.message(field::MAPPING, |mapping| {
        mapping.uint(1, MAPPING);
        (7..=9).for_each(|has| mapping.uint(has, 1));
    });
}

/// Writes the profile. Returns notes for the user.
pub(super) fn write(calls: &Calls, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let mut strings = Strings { places: HashMap::new(), all: Vec::new() };
    strings.number("");
    let mut out = GzEncoder::new(out, Compression::default());
    let mut message = Message::default();
    begin(&mut strings, &mut message);
    let nodes = calls.tree().nodes();
    let (mut functions, mut deep_count) = (BTreeSet::new(), 0u64);
    for node in nodes.iter().skip(1).filter(|node| node.sum.count > 0) {
        let mut path: Vec<Function> = Vec::new();
        let mut at = Some(node);
        while let Some(inner) = at.filter(|_| path.len() < DEPTH_MAX) {
            path.push(inner.function);
            at = (inner.parent != Tree::ROOT).then(|| nodes.get(inner.parent as usize)).flatten();
        }
        deep_count += u64::from(at.is_some());
        functions.extend(&path);
        message.message(field::SAMPLE, |sample| {
            path.iter().for_each(|function| sample.uint(1, (*function).into()));
            // Values are signed.
            let values = [node.sum.count, node.sum.own];
            values.into_iter().for_each(|value| sample.uint(2, value.min(i64::MAX as u64)));
        });
        out.write_all(message.bytes())?;
        message.clear();
    }
    for function in functions {
        let facts = calls.functions().facts(function);
        let line = facts.map_or(0, |facts| facts.line);
        let own = strings.number(&name(calls, function));
        let system = strings.number(&symbol(calls, function).unwrap_or_default());
        let file = facts.and_then(|facts| facts.file.as_deref()).unwrap_or_default();
        let file = strings.number(file);
        // A function and its location have one number.
        message.message(field::LOCATION, |location| {
            location.uint(1, function.into());
            location.uint(2, MAPPING);
            location.message(4, |place| {
                place.uint(1, function.into());
                place.uint(2, line.into());
            });
        });
        message.message(field::FUNCTION, |of| {
            of.uint(1, function.into());
            of.uint(2, own);
            of.uint(3, system);
            of.uint(4, file);
            of.uint(5, line.into());
        });
        out.write_all(message.bytes())?;
        message.clear();
    }
    let time = strings.number("time");
    strings.all.iter().for_each(|text| message.string(field::STRING, text));
    message.uint(field::DEFAULT_SAMPLE_TYPE, time);
    out.write_all(message.bytes())?;
    out.finish()?;
    let note =
        format!("{deep_count} paths are deeper than {DEPTH_MAX}, and lack their outer calls");
    Ok(Vec::from_iter((deep_count > 0).then_some(note)))
}
