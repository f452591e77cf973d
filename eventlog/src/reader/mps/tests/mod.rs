//! Tests with streams of a naive encoder on every platform, whole and damaged.

mod ahead;
mod damage;
mod encode;
mod versions;

use self::encode::Arg::{self, D, N, S};
use self::encode::{Row, encode, encoded, init};
use super::index::{CELL_SIZE, index};
use super::platform::{PLATFORMS, Shapes, of_version, platform};
use crate::reader::fault::kind::{FaultKind, OpenError};
use crate::reader::index::segment::{Decoded, Segment};
use crate::reader::index::{Index, Options};
use crate::reader::model::event::{Event, Value};
use crate::reader::model::registry::{Platform, Registry};
use crate::reader::source::bytes::Source;
use eventdef::mps::REGISTRY;
use eventdef::{Sort, Version};
use std::io;

/// Events of every sort, newest first as in the MPS.
fn rows() -> Vec<Row> {
    let mut rows = vec![
        ("Intern", 900, vec![N(1), S("release \"x\" é".into())]),
        ("EventClockSync", 1100, vec![N(77)]),
        ("PauseTimeSet", 1300, vec![N(0x1000), D(0.25)]),
        ("PoolInitMVFF", 1290, vec![N(0x2000), N(1), N(2), N(3), N(1), N(0), N(1)]),
        ("Intern", 1280, vec![N(2), S(String::new())]),
        ("LabelPointer", 1270, vec![N(0x2000), N(2)]),
        ("BufferInitRank", 1260, vec![N(0x3000), N(0x2000), N(1), N(3)]),
        ("MeterValues", 1250, vec![N(0x4000), D(1.5), D(-2.0), N(4), N(5), N(6)]),
    ];
    rows.extend((0..40).map(|n| ("ArenaPollBegin", 2000 - n, vec![N(0x1000 + n)])));
    rows
}

fn log(on: Platform) -> Vec<u8> {
    let mut rows = rows();
    rows.insert(0, init(on, [2, 0, 0]));
    encoded(on, &rows)
}

fn open(bytes: &[u8]) -> Index {
    index(&bytes, &Options::default()).unwrap()
}

fn open_as(bytes: &[u8], known: &Registry) -> Index {
    index(&bytes, &Options { mps_registry: Some(known.clone()), ..Options::default() }).unwrap()
}

/// All events of a log in file order, as the encoder takes them. An event of unknown type is called
/// "?".
fn read(bytes: &[u8], index: &Index) -> Vec<(String, u64, Vec<Arg>)> {
    let mut all = Vec::new();
    for segment in &index.segments {
        let registry = &index.registries[segment.registry as usize];
        let at = segment.offset as usize;
        let piece = bytes[at..at + segment.size as usize].to_vec();
        let mut decoded = Decoded::default();
        decoded.bytes = piece;
        let mut faults = Default::default();
        (index.decode)(segment, registry, &mut decoded, &mut faults);
        assert_eq!(decoded.located.len(), segment.count as usize);
        for located in &decoded.located {
            assert!((segment.ticks_min..=segment.ticks_max).contains(&located.ticks));
            let at = located.offset as usize;
            let bytes = &decoded.bytes[at..at + usize::from(located.size)];
            let event = Event::new(registry, located.ticks, bytes);
            assert_eq!(event.event_type_index, located.row);
            let args = event.params().map(|(_, value)| match value {
                Value::P(value) | Value::A(value) | Value::W(value) => N(value),
                Value::U(value) => N(value.into()),
                Value::B(value) => N(value.into()),
                Value::D(value) => D(value),
                Value::S(string) => S(String::from_utf8_lossy(string).into_owned()),
            });
            all.push((event.name().to_owned(), event.ticks, args.collect()));
        }
    }
    all
}

/// A host with bad pages of 4096 bytes.
struct Host<'b> {
    bytes: &'b [u8],
    bad: &'b [u64],
}

impl Source for Host<'_> {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let pages = offset / 4096..(offset + buf.len() as u64).div_ceil(4096);
        match self.bad.iter().any(|page| pages.contains(page)) {
            true => Err(io::Error::other("a bad sector")),
            false => self.bytes.read_at(offset, buf),
        }
    }
}

fn owned(rows: &[Row]) -> Vec<(String, u64, Vec<Arg>)> {
    rows.iter().map(|(name, clock, args)| (name.to_string(), *clock, args.clone())).collect()
}

fn kinds(index: &Index) -> Vec<FaultKind> {
    index.faults.iter().map(|fault| fault.kind.clone()).collect()
}

/// `.mps.bool`, `.mps.init`, `.mps.version`: Booleans are bits before 2.0, and bytes from then on.
#[test]
fn every_platform_and_version_is_recognised() {
    let known = |[major, median, minor]: [u16; 3]| {
        let mut known = Registry::new(&REGISTRY, PLATFORMS[0]);
        known.version = Version { major, median, minor };
        known
    };
    for (known, stated) in [
        (known([2, 0, 0]), None),
        (known([2, 0, 0]), Some([2, 0, 0])),
        (known([1, 6, 1]), Some([1, 6, 1])),
        (known([2, 3, 0]), Some([2, 3, 1])),
    ] {
        for on in PLATFORMS.map(|on| of_version(on, known.version)) {
            let rows: Vec<_> =
                stated.map(|version| init(on, version)).into_iter().chain(rows()).collect();
            let bytes = encoded(on, &rows);
            let index = open_as(&bytes, &known);
            let [major, median, minor] = stated.unwrap_or([2, 0, 0]).map(|part| part as u16);
            assert_eq!(index.streams[0].version, Version { major, median, minor });
            assert_eq!((index.streams[0].platform, kinds(&index)), (on, vec![]));
            assert_eq!(read(&bytes, &index), owned(&rows), "{on:?}");
        }
    }
}

#[test]
fn every_event_type_has_the_shape_of_the_encoder() {
    for on in PLATFORMS {
        let shapes = Shapes::new(&Registry::new(&REGISTRY, on));
        for row in REGISTRY.event_types {
            let arg = |sort| match sort {
                Sort::D => D(1.0),
                Sort::S => S("string".into()),
                _ => N(1),
            };
            let args = row.params.iter().map(|param| arg(param.sort)).collect();
            let bytes = encoded(on, &[(row.name, 1, args)]);
            assert!(shapes.is_chain(&bytes, 4, true), "{} on {on:?}", row.name);
        }
    }
}

#[test]
fn a_log_that_fits_several_platforms_is_reported() {
    // The log has doubles and 32-bit values, but no word.
    let on = platform(false, 8, 8);
    let mut bytes = Vec::new();
    for clock in 1..20_u64 {
        bytes.extend([0, 0x90, 24, 0, 0, 0, 0, 0]);
        bytes.extend(clock.to_le_bytes());
        bytes.extend(2.5_f64.to_le_bytes());
    }
    bytes.iter_mut().step_by(24).for_each(|code| *code = 1);
    bytes.iter_mut().skip(1).step_by(24).for_each(|code| *code = 0);
    static DOUBLE: eventdef::Registry = eventdef::Registry {
        name: "double",
        event_types: &[eventdef::EventType {
            name: "Double",
            code: 1,
            params: &[eventdef::Param { sort: Sort::D, name: "value", doc: "a value" }],
            ..REGISTRY.event_types[0]
        }],
        ..REGISTRY
    };
    let options = Options { mps_registry: Some(Registry::new(&DOUBLE, on)), ..Options::default() };
    let index = index(&bytes, &options).unwrap();
    let others = vec!["32-bit little-endian, 64-bit values aligned to 8"];
    let fault = FaultKind::MpsPlatform { used: "64-bit little-endian", others };
    assert_eq!(kinds(&index), [fault]);
}

#[test]
fn events_of_another_version_are_given_by_code() {
    for on in PLATFORMS {
        let mut rows = rows();
        rows.insert(0, init(on, [1, 6, 1]));
        let bytes = encoded(on, &rows);
        let index = open(&bytes);
        let found = Some(Version { major: 1, median: 6, minor: 1 });
        assert_eq!(kinds(&index), [FaultKind::MpsVersion { found, known: REGISTRY.version }]);
        assert!(
            index.faults.iter().next().unwrap().to_string().contains("eventdef.h of version 1.6.1")
        );
        let events = read(&bytes, &index);
        assert_eq!(events.len(), rows.len());
        assert!(events.iter().all(|(name, _, args)| name == "?" && args.is_empty()));
    }
}

#[test]
fn a_later_minor_version_is_read() {
    let on = platform(false, 8, 8);
    let mut bytes = encoded(on, &[init(on, [2, 0, 1])]);
    for _ in 0..100 {
        bytes.extend([0x00, 0x60, 24, 0, 0, 0, 0, 0]);
        bytes.extend(1234_u64.to_le_bytes());
        bytes.extend([0; 8]);
    }
    encode(&mut bytes, on, &rows()[1]);
    let index = open(&bytes);
    // One fault for the code, not one for each event.
    let found = Version { major: 2, median: 0, minor: 1 };
    let later = FaultKind::MpsMinor { found, known: REGISTRY.version };
    let unknown = FaultKind::EventUnknown { registry: 1, code: 0x6000 };
    assert_eq!(kinds(&index), [later, unknown]);
    assert!(index.faults.iter().all(|fault| fault.is_warning()));
    let names: Vec<String> = read(&bytes, &index).into_iter().map(|(name, _, _)| name).collect();
    let unknown = ["?"; 100];
    assert_eq!(names, [&["EventInit"], unknown.as_slice(), &["EventClockSync"]].concat());
}

/// Pseudo-random numbers below a bound.
pub(super) fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    }
}

/// The offsets of events, by their sizes.
fn starts(bytes: &[u8], on: Platform) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        starts.push(at);
        let size = [bytes[at + 2], bytes[at + 3]];
        at += usize::from(if on.big_endian {
            u16::from_be_bytes(size)
        } else {
            u16::from_le_bytes(size)
        });
    }
    starts
}

#[test]
fn a_file_that_is_not_a_log_is_refused() {
    let text = "The quick brown fox jumps over the lazy dog.\n".repeat(5000);
    let mut random = random(7);
    let noise: Vec<u8> = (0..200_000).map(|_| random(256) as u8).collect();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\0\0\0\x02\0\x08\x06\0\0\0\xf4x\xd4\xfa";
    let long = [0, 0x04, 0x08, 0x10].map(|byte| vec![byte; 200_000]);
    let repeated = (0..=255).map(|byte| vec![byte; 2000]).chain(long);
    let files = [text.as_bytes(), &noise, png, b"", b"\x1d\0\x30"].map(<[u8]>::to_vec);
    for bytes in files.into_iter().chain(repeated) {
        let refused = index(&bytes, &Options::default());
        let begin = &bytes[..bytes.len().min(8)];
        assert!(matches!(refused, Err(OpenError::NotALog)), "{begin:?} × {}", bytes.len());
    }
}

#[test]
fn segments_end_at_cells_and_at_streams() {
    let on = platform(false, 8, 8);
    let mut rows = vec![init(on, [2, 0, 0])];
    rows.extend((0..20_000).map(|n| ("ArenaPollBegin", 5000 + n, vec![N(n)])));
    let one = encoded(on, &rows);
    let other = log(platform(true, 4, 8));
    let bytes = [one.as_slice(), &one, &other].concat();
    let index = open(&bytes);
    let last_begin = |segment: &Segment| segment.offset + u64::from(segment.size) - 24;
    let is_of_one_cell =
        |segment: &Segment| last_begin(segment) / CELL_SIZE == segment.offset / CELL_SIZE;
    assert!(index.segments.iter().all(is_of_one_cell));
    let offsets: Vec<u64> = index.streams.iter().map(|stream| stream.offset).collect();
    assert_eq!(offsets, [0, one.len() as u64, 2 * one.len() as u64]);
    assert_eq!(index.streams[2].platform, platform(true, 4, 8));
    assert_eq!(read(&bytes, &index).len(), 2 * 20_001 + 1 + self::rows().len());
    let mut next = 0;
    for segment in &index.segments {
        assert_eq!((segment.offset, segment.first), (segment.offset, next));
        next += u64::from(segment.count);
    }
}
