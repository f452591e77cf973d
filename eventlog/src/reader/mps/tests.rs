//! Streams made by a naive encoder, on every platform, whole and damaged.

mod encode;

use self::encode::Arg::{self, D, N, S};
use self::encode::{Row, encode, encoded, init};
use super::index;
use super::platform::{PLATFORMS, Shapes, platform};
use crate::reader::event::{Event, Value};
use crate::reader::fault::{Fault, FaultKind, OpenError};
use crate::reader::filter::Filter;
use crate::reader::label::Labels;
use crate::reader::log::{Index, Log, Options};
use crate::reader::merge::Order;
use crate::reader::registry::{Platform, Registry};
use crate::reader::segment::Decoded;
use crate::reader::source::Source;
use eventdef::Sort;
use eventdef::mps::REGISTRY;
use std::io;
use std::ops::Range;

/// Events of every sort, newest first as the MPS writes them.
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

/// Every event of a log in file order, as it would be encoded; those of unknown type by the name
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
            let event = Event {
                ticks: located.ticks,
                registry,
                event_type: registry.event_types.get(usize::from(located.row)),
                bytes: &decoded.bytes[at..at + usize::from(located.size)],
                labels: &Labels::default(),
                offset: segment.offset,
                number: 0,
                buffer: 0,
                thread: 0,
                stream: segment.stream,
                kind: 0,
            };
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

fn owned(rows: &[Row]) -> Vec<(String, u64, Vec<Arg>)> {
    rows.iter().map(|(name, clock, args)| (name.to_string(), *clock, args.clone())).collect()
}

fn kinds(index: &Index) -> Vec<FaultKind> {
    index.faults.iter().map(|fault| fault.kind.clone()).collect()
}

#[test]
fn every_platform_is_recognised_with_and_without_event_init() {
    for on in PLATFORMS {
        let bytes = log(on);
        let index = open(&bytes);
        assert_eq!(index.streams[0].platform, on);
        assert_eq!(read(&bytes, &index)[1..], owned(&rows()));
        assert_eq!(kinds(&index), []);
        let bytes = encoded(on, &rows());
        let index = open(&bytes);
        assert_eq!(index.streams[0].platform, on);
        assert_eq!(read(&bytes, &index), owned(&rows()));
        assert_eq!(kinds(&index), []);
    }
}

#[test]
fn the_shape_of_each_event_type_is_what_the_encoder_makes() {
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
fn a_log_that_fits_several_platforms_says_so() {
    // Of doubles and 32-bit values alone no word is in the log.
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
    let options = Options { mps_registry: Some(Registry::new(&DOUBLE, on)) };
    let index = index(&bytes, &options).unwrap();
    let others = vec!["32-bit little-endian, 64-bit values aligned to 8"];
    let fault = FaultKind::MpsPlatform { used: "64-bit little-endian", others };
    assert_eq!(kinds(&index), [fault]);
}

#[test]
fn another_version_is_named_and_its_events_are_given_by_code() {
    for on in PLATFORMS {
        let mut rows = rows();
        rows.insert(0, init(on, [1, 6, 1]));
        let bytes = encoded(on, &rows);
        let index = open(&bytes);
        let found = Some(eventdef::Version { major: 1, median: 6, minor: 1 });
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
fn a_minor_version_adds_event_types_and_the_rest_is_read() {
    let on = platform(false, 8, 8);
    let mut bytes = encoded(on, &[init(on, [2, 0, 1])]);
    for _ in 0..100 {
        bytes.extend([0x00, 0x60, 24, 0, 0, 0, 0, 0]);
        bytes.extend(1234_u64.to_le_bytes());
        bytes.extend([0; 8]);
    }
    encode(&mut bytes, on, &rows()[1]);
    let index = open(&bytes);
    // Once for the code, not once for each event.
    assert_eq!(kinds(&index), [FaultKind::EventUnknown { registry: 1, code: 0x6000 }]);
    let names: Vec<String> = read(&bytes, &index).into_iter().map(|(name, _, _)| name).collect();
    let unknown = ["?"; 100];
    assert_eq!(names, [&["EventInit"], unknown.as_slice(), &["EventClockSync"]].concat());
}

#[test]
fn damage_costs_what_it_touches_and_is_reported_with_its_size() {
    for on in PLATFORMS {
        let whole = log(on);
        let events = read(&whole, &open(&whole));
        let starts = starts(&whole, on);
        let mut bytes = whole.clone();
        bytes[starts[3] + 2..][..2].copy_from_slice(&[0xFF, 0xFF]);
        let opened = open(&bytes);
        let mut expected = events;
        expected.remove(3);
        assert_eq!(read(&bytes, &opened), expected, "{on:?}");
        let lost = (starts[4] - starts[3]) as u64;
        let fault = opened.faults.iter().next().unwrap();
        assert_eq!((opened.faults.count(), fault.offset), (1, starts[3] as u64));
        assert!(matches!(fault.kind, FaultKind::Mps { size, .. } if size == lost));
    }
}

/// Where events begin, by the sizes alone.
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
fn bytes_changed_lost_or_put_in_cost_at_most_five_events() {
    for on in PLATFORMS {
        let whole = log(on);
        let count = open(&whole).segments.iter().map(|segment| segment.count).sum::<u32>();
        // Every thirteenth offset: all alignments, in a thirteenth of the time.
        for at in (0..whole.len()).step_by(3) {
            for change in [0, 1, 2] {
                let mut bytes = whole.clone();
                match change {
                    0 => bytes[at] ^= 0xFF,
                    1 => drop(bytes.drain(at..(at + 5).min(whole.len()))),
                    _ => drop(bytes.splice(at..at, [0x21, 0, 0x18, 0, 7, 7, 7])),
                }
                let index = open(&bytes);
                let found = read(&bytes, &index).len() as u32;
                // Four events must follow one another where reading goes on: near the end there may
                // be fewer.
                assert!(found + 5 >= count, "{on:?}, change {change} at {at}: {found} of {count}");
                let skipped: u64 = skipped(&index);
                let read =
                    index.segments.iter().map(|segment| u64::from(segment.size)).sum::<u64>();
                assert_eq!(
                    skipped + read,
                    bytes.len() as u64,
                    "every byte is an event's or reported"
                );
            }
        }
    }
}

fn skipped(index: &Index) -> u64 {
    let size = |kind| if let FaultKind::Mps { size, .. } = kind { size } else { 0 };
    kinds(index).into_iter().map(size).sum()
}

#[test]
fn a_log_cut_at_any_offset_gives_the_events_before_the_cut() {
    for on in PLATFORMS {
        let whole = log(on);
        let starts = starts(&whole, on);
        let events = read(&whole, &open(&whole));
        for size in 0..whole.len() {
            let count = starts.iter().filter(|&&start| start < size).count();
            let is_boundary = starts.contains(&size);
            let whole_count = if is_boundary { count } else { count.saturating_sub(1) };
            let bytes = &whole[..size];
            match index(&bytes, &Options::default()) {
                Ok(index) => {
                    assert_eq!(read(bytes, &index), events[..whole_count]);
                    assert_eq!(index.faults.is_empty(), is_boundary);
                }
                Err(OpenError::NotALog) => assert_eq!(whole_count, 0, "cut at {size}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn what_is_not_a_log_is_refused() {
    let text = "The quick brown fox jumps over the lazy dog.\n".repeat(5000);
    let mut noise = 0x9E37_79B9_7F4A_7C15_u64;
    let noise: Vec<u8> = (0..200_000)
        .map(|_| {
            noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (noise >> 56) as u8
        })
        .collect();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\0\0\0\x02\0\x08\x06\0\0\0\xf4x\xd4\xfa";
    let zeros = vec![0; 100_000];
    for bytes in [text.as_bytes(), &noise, png, &zeros, b"", b"\x1d\0\x30"] {
        let refused = index(&bytes, &Options::default());
        assert!(matches!(refused, Err(OpenError::NotALog)));
    }
}

#[test]
fn a_log_whose_beginning_is_lost_is_read_from_where_it_can_be() {
    for on in PLATFORMS {
        let whole = log(on);
        let starts = starts(&whole, on);
        let bytes = &whole[starts[2] + 4..];
        let index = open(bytes);
        let events = read(&whole, &open(&whole));
        assert_eq!(read(bytes, &index), events[3..]);
        assert_eq!(skipped(&index), (starts[3] - starts[2] - 4) as u64);
    }
}

#[test]
fn a_real_log_cut_within_any_event_keeps_its_platform() {
    for (name, on) in
        [("mpmss-cut", platform(false, 8, 8)), ("mpmss-32bit-cut", platform(false, 4, 4))]
    {
        let path = format!("{}/../tests/golden/mps/{name}.log", env!("CARGO_MANIFEST_DIR"));
        let whole = std::fs::read(path).unwrap();
        let starts = starts(&whole, on);
        for (&start, &next) in starts.iter().zip(&starts[1..]).step_by(5).skip(10).take(60) {
            for cut in [1, 4, 8, 15] {
                let bytes = &whole[start + cut..];
                let index = open(bytes);
                let found = (index.streams[0].platform, index.streams[0].offset);
                assert_eq!(found, (on, (next - start - cut) as u64), "{name} {start} {cut}");
            }
        }
    }
}

#[test]
fn a_log_counts_as_closed_for_it_cannot_say() {
    assert!(Log::from_source(log(PLATFORMS[0])).unwrap().is_closed());
}

#[test]
fn a_byte_repeated_is_not_a_log() {
    let long = [0x04, 0x08, 0x10].map(|byte| (byte, 200_000));
    for (byte, size) in (0..=255).map(|byte| (byte, 2000)).chain(long) {
        let refused = index(&vec![byte; size], &Options::default());
        assert!(matches!(refused, Err(OpenError::NotALog)), "{byte} × {size}");
    }
}

#[test]
fn damaged_logs_are_given_in_both_orders_to_the_last_event() {
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % below
    };
    for round in 0..120 {
        let mut bytes = log(PLATFORMS[round % PLATFORMS.len()]);
        for _ in 0..random(20) {
            let at = random(bytes.len());
            bytes[at] = [0, 1, 8, 0x21, 0x7F, 0xFF][random(6)];
        }
        let Ok(log) = Log::from_source(bytes) else { continue };
        let count: u64 = log.segments().iter().map(|segment| u64::from(segment.count)).sum();
        let filter = Filter { labels: true, ..Filter::default() };
        for order in [Order::Time, Order::File] {
            let mut events = log.events(order, &filter);
            let (mut found, mut last) = (0, (0, 0));
            while let Some(event) = events.next() {
                found += 1;
                let now = (event.stream, event.ticks);
                assert!(
                    order == Order::File || now >= last,
                    "round {round}: {now:?} after {last:?}"
                );
                last = now;
            }
            assert_eq!(found, count, "round {round}, {order:?}");
        }
    }
}

/// Bytes of which a page cannot be read.
struct Broken {
    bytes: Vec<u8>,
    page: Range<u64>,
}

impl Source for Broken {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let end = offset + buf.len() as u64;
        if offset < self.page.end && self.page.start < end {
            return Err(io::Error::other("a bad sector"));
        }
        self.bytes.read_at(offset, buf)
    }
}

#[test]
fn what_the_host_cannot_read_costs_what_is_there_and_is_a_fault() {
    let on = platform(false, 8, 8);
    let mut rows = vec![init(on, [2, 0, 0])];
    rows.extend((0..200_000).map(|n| ("ArenaPollBegin", 5000 + n, vec![N(n)])));
    let bytes = encoded(on, &rows);
    for start in [1 << 21, 3_000_000_u64.next_multiple_of(4096)] {
        let page = start..start + 4096;
        let index = index(&Broken { bytes: bytes.clone(), page }, &Options::default()).unwrap();
        let read: usize = index.segments.iter().map(|segment| segment.count as usize).sum();
        assert!((rows.len() - 173..=rows.len() - 170).contains(&read), "{read}");
        let message = "a bad sector".to_owned();
        let is_io = |fault: &&Fault| fault.kind == FaultKind::Io { message: message.clone() };
        assert_eq!(index.faults.iter().find(is_io).map(|fault| fault.offset), Some(start));
    }
}

#[test]
fn events_behind_zeros_and_noise_are_found_at_any_offset() {
    for on in PLATFORMS {
        let whole = log(on);
        for (size, noise) in [(100_001, 0), (100_003, 0x5A)] {
            for shift in 0..9 {
                let gap: Vec<u8> = (0..size + shift).map(|n: u64| (n * n * noise) as u8).collect();
                let after = &whole[starts(&whole, on)[1]..];
                let bytes = [&whole, gap.as_slice(), after].concat();
                let index = open(&bytes);
                let events = read(&bytes, &index);
                assert_eq!(events.len(), 2 * rows().len() + 1, "{on:?} {noise} {shift}");
                assert_eq!(skipped(&index), gap.len() as u64);
            }
        }
    }
}

#[test]
fn segments_are_at_most_64_kib_and_streams_are_told_apart() {
    let on = platform(false, 8, 8);
    let mut rows = vec![init(on, [2, 0, 0])];
    rows.extend((0..20_000).map(|n| ("ArenaPollBegin", 5000 + n, vec![N(n)])));
    let one = encoded(on, &rows);
    let other = log(platform(true, 4, 8));
    let bytes = [one.as_slice(), &one, &other].concat();
    let index = open(&bytes);
    assert!(index.segments.iter().all(|segment| segment.size <= 1 << 16));
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
