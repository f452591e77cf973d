//! Compares what a [`Maker`] wrote with a list of the added events, and verifies the log.
//!
//! ```text
//!  seed ─▶ random calls ─┬─▶ Maker ─▶ bytes ─▶ Log ─▶ events, counts, syncs, labels ─┐
//!                        └─▶ Vec of what was added, sorted ──────────────────────────┴─ equal
//! ```
//!
//! In a test, few bytes may wait: runs are written early.

use super::pack::MEMORY_MAX;
use super::{Cause, Maker, Origin, uuid_of};
use crate::format::{ClockSync, StreamHeader};
use crate::reader::{Filter, Log, Order, Value};
use eventdef::field::{A, P};
use shop::{Empty, Mixed, Text, Words};
use std::collections::BTreeMap;
use std::num::NonZero;

mod hostile;
mod order;

mod shop {
    eventdef::events! {
        /// The events of the tests.
        registry "shop" version(1, 2, 3);
        kinds {
            /// One kind.
            Some = 0,
            /// The last possible kind.
            Other = 63,
        }

        /// Nothing.
        Empty(0x0001, always, Some) {}
        /// Three words.
        Words(0x0002, always, Other) {
            /// a pointer
            a: P,
            /// an address
            b: A,
            /// a word
            c: W,
        }
        /// Parameters with gaps between them.
        Mixed(0x0005, always, Some) {
            /// a Boolean
            a: B,
            /// a number
            b: U,
            /// a double
            c: D,
            /// another Boolean
            d: B,
            /// a word
            e: W,
        }
        /// A string.
        Text(0xFEFF, always, Other) {
            /// a number
            a: U,
            /// bytes
            b: S,
        }
    }
}

mod other {
    eventdef::events! {
        /// Another registry, with the codes of the first.
        registry "other" version(1, 0, 0);
        kinds standard;

        /// Its only event.
        Note(0x0001, always, User) {
            /// a word
            word: W,
        }
    }
}

/// Random numbers of a seed (xorshift).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn any(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.any() >> 16) % end
    }
}

/// An event: ticks, buffer, number; registry, kind, thread, code, parameters.
type Added = ((u64, u32, u64), (u16, u8, u32, u16, String));

/// The expected contents of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
struct Twin {
    events: Vec<Added>,
    /// The next number of each buffer.
    next: BTreeMap<u32, u64>,
    /// The losses of each buffer: full, nested, large, io and overwritten.
    lost: BTreeMap<u32, [u64; 5]>,
    syncs: Vec<u64>,
    strings: u64,
}

impl Twin {
    fn add(&mut self, place: (u32, u32, u64), of: (u16, u8, u16), values: String) {
        let (buffer, thread, ticks) = place;
        let (registry, kind, code) = of;
        let next = self.next.entry(buffer).or_default();
        self.events.push(((ticks, buffer, *next), (registry, kind, thread, code, values)));
        *next += 1;
    }
}

fn sync_at(ticks: u64) -> ClockSync {
    ClockSync { ticks, monotonic: ticks / 3, realtime: (1 << 60) + ticks / 3, uncertainty: 5 }
}

fn add(random: &mut Random, maker: &mut Maker<'_>, twin: &mut Twin, place: (u32, u32, u64)) {
    let (buffer, thread, ticks) = place;
    // Values of a word, whose size is that of the machine.
    let [a, b, c] = [0; 3].map(|_| random.any() as usize as u64);
    let text: Vec<u8> = (0..random.below(60)).map(|_| random.any() as u8).collect();
    let (word, number) = (a as usize, b as u32);
    let result = match random.below(5) {
        0 => {
            twin.add(place, (1, 0, 1), "[]".into());
            maker.add(buffer, thread, ticks, &Empty {})
        }
        1 => {
            let values = [Value::P(a), Value::A(b), Value::W(c)];
            twin.add(place, (1, 63, 2), format!("{values:?}"));
            let event = Words { a: P(word), b: A(b as usize), c: c as usize };
            maker.add(buffer, thread, ticks, &event)
        }
        2 => {
            let double = c as f64;
            let (first, second) = (a & 1 == 1, b & 1 == 1);
            let values = [Value::B(first), Value::U(number), Value::D(double)];
            let values = [&values[..], &[Value::B(second), Value::W(a)]].concat();
            twin.add(place, (1, 0, 5), format!("{values:?}"));
            let event = Mixed { a: first, b: number, c: double, d: second, e: word };
            maker.add(buffer, thread, ticks, &event)
        }
        3 => {
            twin.add(place, (1, 63, 0xFEFF), format!("{:?}", [Value::U(number), Value::S(&text)]));
            maker.add(buffer, thread, ticks, &Text { a: number, b: &text })
        }
        _ => {
            twin.add(place, (2, 6, 1), format!("{:?}", [Value::W(a)]));
            maker.add(buffer, thread, ticks, &other::Note { word })
        }
    };
    result.unwrap();
}

/// Loses some events.
fn lose(random: &mut Random, maker: &mut Maker<'_>, twin: &mut Twin, buffer: u32) {
    let causes = [Cause::Full, Cause::Nested, Cause::Large, Cause::Io, Cause::Overwritten];
    let (cause, count) = (random.below(5) as usize, 1 + random.below(1000));
    maker.lose::<Words>(buffer, buffer, causes[cause], count).unwrap();
    twin.lost.entry(buffer).or_default()[cause] += count;
    let next = twin.next.entry(buffer).or_default();
    *next += if cause >= 3 { count } else { 0 };
}

/// Labels an address in the store.
fn label(random: &mut Random, maker: &mut Maker<'_>, twin: &mut Twin, ticks: u64) {
    let (address, name) = (0x7000 + random.below(9), format!("name {}", random.any()));
    let id = maker.intern(ticks, name.as_bytes()).unwrap();
    maker.label(ticks, address as usize, id).unwrap();
    twin.strings += 1;
    assert_eq!(id as u64, twin.strings);
    let (id, place) = (Value::W(id as u64), (0, 0, ticks));
    twin.add(place, (0, 0, 0xFF01), format!("{:?}", [id, Value::S(name.as_bytes())]));
    twin.add(place, (0, 0, 0xFF02), format!("{:?}", [Value::A(address), id]));
}

/// Makes a random log. Returns its bytes, and the expected contents of each stream by UUID.
fn made(seed: u64) -> (Vec<u8>, BTreeMap<[u8; 16], Twin>) {
    let random = &mut Random::new(seed);
    let (mut bytes, mut streams) = (Vec::new(), Vec::new());
    let mut maker = Maker::new(&mut bytes);
    for stream in 0..1 + seed % 3 {
        let mut origin = Origin::new();
        origin.uuid = uuid_of(&[seed as u8, stream as u8]);
        origin.block_size_log2 = 12 + (seed / 3 % 3) as u8;
        let has_sync = !seed.is_multiple_of(5);
        origin.sync = if has_sync { sync_at(500) } else { ClockSync::default() };
        let mut twin = Twin::default();
        twin.syncs.extend(has_sync.then_some(500));
        streams.push((maker.begin(&origin).unwrap(), origin.uuid, twin));
        assert_eq!(maker.registry(&shop::REGISTRY).unwrap(), 1);
        assert_eq!(maker.registry(&other::REGISTRY).unwrap(), 2);
    }
    // Streams follow each other or alternate, and so do kinds in a buffer.
    let (turns, buffers) = ([400, 40, 3][seed as usize % 3], 1 + random.below(40));
    let mut ticks = 1_000_000;
    for n in 0..1000u64 {
        if n.is_multiple_of(turns) {
            maker.turn(streams[(n / turns) as usize % streams.len()].0).unwrap();
        }
        let place = (n / turns) as usize % streams.len();
        let twin = &mut streams[place].2;
        ticks = match random.below(60) {
            0 => ticks + (1 << 40),
            1 => ticks - random.below(5000).min(ticks - 1),
            2..20 => ticks,
            _ => ticks + random.below(300),
        };
        let buffer = 1 + random.below(buffers) as u32;
        match random.below(40) {
            0 => label(random, &mut maker, twin, ticks),
            1 => lose(random, &mut maker, twin, buffer),
            2 => {
                maker.sync(sync_at(ticks)).unwrap();
                twin.syncs.push(ticks);
            }
            _ => add(random, &mut maker, twin, (buffer, buffer / 2, ticks)),
        }
        assert!(maker.memory <= MEMORY_MAX, "{}", maker.memory);
    }
    let done = maker.finish().unwrap();
    assert_eq!(done.size, bytes.len() as u64);
    let twins: BTreeMap<_, _> = streams.into_iter().map(|(_, uuid, twin)| (uuid, twin)).collect();
    assert_eq!(done.event_count, twins.values().map(|twin| twin.events.len() as u64).sum::<u64>());
    (bytes, twins)
}

/// Opens a log and checks that it is sound.
fn sound(bytes: Vec<u8>, of: &str) -> Log {
    let log = Log::from_source(bytes).unwrap();
    let verified = log.verify(NonZero::new(1));
    let faults: Vec<_> = log.faults().iter().chain(&verified.faults).collect();
    assert!(faults.is_empty(), "{of}: {faults:?}");
    assert!(log.is_closed(), "{of}");
    log
}

fn values(event: &crate::reader::Event<'_, '_>) -> String {
    format!("{:?}", event.params().map(|(_, value)| value).collect::<Vec<_>>())
}

fn added(event: &crate::reader::Event<'_, '_>) -> Added {
    let key = (event.ticks, event.buffer, event.number);
    let of = (event.registry.index, event.kind, event.thread, event.code(), values(event));
    (key, of)
}

/// `.made.order`, `.made.kinds`, `.made.turn`, `.made.loss`, `.made.sync`, `.event.number`: the log
/// is sound, and has the added events in the order of time.
#[test]
fn a_log_has_the_events_that_were_added() {
    for seed in 0..30 {
        let (bytes, twins) = made(seed);
        let log = sound(bytes, &format!("seed {seed}"));
        assert_eq!(log.streams().len(), twins.len(), "seed {seed}");
        let mut found = vec![Twin::default(); log.streams().len()];
        let mut events = log.events(Order::Time, &Filter::default());
        while let Some(event) = events.next() {
            found[usize::from(event.stream)].events.push(added(&event));
        }
        assert!(events.faults().iter().next().is_none(), "seed {seed}: {:?}", events.faults());
        for account in log.accounts() {
            assert_eq!(account.lost, 0, "seed {seed}: {account:?}");
            let lost = [account.discarded_full, account.discarded_nested, account.discarded_large];
            let lost = [lost[0], lost[1], lost[2], account.discarded_io].map(u64::from);
            let lost = [lost[0], lost[1], lost[2], lost[3], account.overwritten];
            let found = &mut found[usize::from(account.stream)];
            found.next.insert(account.buffer, account.recorded);
            if lost != [0; 5] {
                found.lost.insert(account.buffer, lost);
            }
        }
        for (stream, found) in log.streams().iter().zip(&mut found) {
            let mut twin = Twin { strings: 0, ..twins[&stream.uuid].clone() };
            twin.events.sort_by_key(|(key, _)| *key);
            twin.syncs.sort_unstable();
            twin.syncs.dedup();
            // A sync stands in the header again if streams alternate.
            found.syncs = stream.syncs.iter().map(|sync| sync.ticks).collect();
            found.syncs.dedup();
            let at = found.events.iter().zip(&twin.events).position(|(a, b)| a != b);
            assert!(
                *found == twin,
                "seed {seed}: {at:?} {:?} {:?}, {:?} {:?}",
                at.map(|at| (&found.events[at], &twin.events[at])),
                (found.events.len(), twin.events.len()),
                (&found.lost, &twin.lost, &found.next, &twin.next),
                (&found.syncs, &twin.syncs)
            );
        }
    }
}

/// `.made.names`: a reader that follows the log knows every name before its use.
#[test]
fn names_arrive_before_what_they_name() {
    for buffers in [1, 7] {
        let mut bytes = Vec::new();
        let mut maker = Maker::new(&mut bytes);
        let mut origin = Origin::new();
        origin.block_size_log2 = 12;
        maker.begin(&origin).unwrap();
        let count = 3000;
        for n in 0..count {
            let (ticks, address) = (1000 + n as u64, 0x7000 + n);
            let id = maker.intern(ticks, format!("{n}").as_bytes()).unwrap();
            maker.label(ticks, address, id).unwrap();
            let event = Words { a: P(address), b: A(0), c: n };
            maker.add(1 + (n % buffers) as u32, 1, ticks, &event).unwrap();
        }
        maker.finish().unwrap();
        let mut found = 0;
        for end in (4096..bytes.len()).step_by(4096).chain([bytes.len()]) {
            let log = Log::from_source(bytes[..end].to_vec()).unwrap();
            let mut events = log.events(Order::File, &Filter::new().labels(true));
            found = 0;
            while let Some(event) = events.next() {
                if event.registry.index == 1 {
                    found += 1;
                    let (pool, n) = (event.param("a").unwrap(), event.param("c").unwrap());
                    let label = event.labels.label(pool.as_u64().unwrap()).map(<[u8]>::to_vec);
                    assert_eq!(label, Some(format!("{}", n.as_u64().unwrap()).into()), "{end}");
                }
            }
        }
        assert_eq!(found, count);
        sound(bytes, "labels");
    }
}

/// `.made.origin`, `.header.names`, `.header.clock`
#[test]
fn the_header_has_the_facts_of_its_origin() {
    let mut origin = Origin::new();
    assert_ne!(origin.uuid, Origin::new().uuid);
    assert_eq!((origin.uuid[6] >> 4, origin.uuid[8] >> 6), (4, 2));
    origin.uuid = uuid_of(b"source");
    assert_eq!((origin.uuid[6] >> 4, uuid_of(b"source")), (8, origin.uuid));
    (origin.boot_id, origin.parent) = ([9; 16], [8; 16]);
    (origin.pid, origin.parent_pid, origin.start) = (4711, 1, 1 << 60);
    (origin.clock_source, origin.clock_rate) = (crate::format::ClockSource::Tsc, 2_000_000_000);
    origin.sync = sync_at(77);
    origin.producer = "é".repeat(40);
    (origin.host, origin.program) = ("host".into(), "shop".into());
    origin.block_size_log2 = 20;
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    maker.begin(&origin).unwrap();
    assert_eq!(maker.finish().unwrap().event_count, 0);
    let header: StreamHeader = bytemuck::pod_read_unaligned(&bytes[..512]);
    assert_eq!(header.clock_flags.get(), crate::format::CLOCK_INVARIANT);
    let log = sound(bytes, "no events");
    let stream = &log.streams()[0];
    assert_eq!((stream.uuid, stream.boot_id, stream.parent), (origin.uuid, [9; 16], [8; 16]));
    assert_eq!((stream.pid, stream.parent_pid, stream.start), (4711, 1, 1 << 60));
    assert_eq!((stream.clock_source, stream.clock_rate), (1, 2_000_000_000));
    assert_eq!((&*stream.host, &*stream.program), ("host", "shop"));
    assert_eq!(&*stream.producer, "é".repeat(32));
    assert_eq!(stream.syncs, [sync_at(77)]);
    let registries: Vec<_> = log.registries().iter().map(|registry| &*registry.name).collect();
    assert_eq!(registries, ["telemetry"]);
}

/// `.stream.tail`, `.stream.again`: another log may follow, wherever a log ends in its last block.
#[test]
fn concatenated_logs_of_any_size_are_sound() {
    let mut origin = Origin::new();
    (origin.uuid, origin.block_size_log2) = (uuid_of(b"next"), 12);
    let mut next = Vec::new();
    let mut maker = Maker::new(&mut next);
    maker.begin(&origin).unwrap();
    maker.finish().unwrap();
    origin.uuid = uuid_of(b"first");
    for size in (0..3000).step_by(8) {
        let mut bytes = Vec::new();
        let mut maker = Maker::new(&mut bytes);
        maker.begin(&origin).unwrap();
        maker.add(1, 1, 1, &Text { a: 1, b: &vec![b'x'; size] }).unwrap();
        maker.finish().unwrap();
        let tail = bytes.len() % 4096;
        bytes.extend_from_slice(&next);
        assert_eq!(sound(bytes, &format!("{tail}")).streams().len(), 2, "{tail}");
    }
}
