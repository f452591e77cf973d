//! Harmful arguments, and an output that fails.
//!
//! ```text
//!  sizes, codes, ticks, registries … ──▶ MakeError, and the log is sound
//! ```

use super::shop::{self, Empty, Text};
use super::{sound, sync_at};
use crate::format::ClockSync;
use crate::reader::{Filter, Log, Order};
use crate::writer::maker::StreamId;
use crate::writer::{Cause, MakeError, Maker, Origin};
use eventdef::{Control, Event, EventType, Kind, ParamSink, Registry, Version, store};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// An event type that `events!` did not make.
#[derive(Clone, Copy)]
struct Forged<const CODE: u16, const KIND: u8> {
    size: usize,
}

static SHOP: Control = Control::new(&shop::REGISTRY);

impl<const CODE: u16, const KIND: u8> Event for Forged<CODE, KIND> {
    const TYPE: &'static EventType = &EventType {
        name: "Forged",
        code: CODE,
        kind: KIND,
        always: true,
        retired: false,
        coarse: false,
        doc: "",
        params: &[],
    };
    const KINDS: &'static [Kind] = &[];
    const FIXED_SIZE: usize = 8;

    fn control() -> &'static Control {
        &SHOP
    }

    fn size(&self) -> usize {
        self.size
    }

    fn encode(&self, sink: &mut impl ParamSink) {
        sink.put_u64(usize::MAX - 3, 1);
        sink.put_bytes(4, &[0xFF; 1000]);
        sink.put_u8(9, 1);
    }
}

/// A registry that is never freed.
fn registry(kinds: Vec<Kind>, rows: Vec<EventType>) -> &'static Registry {
    let version = Version { major: 1, median: 0, minor: 0 };
    let (kinds, event_types) = (kinds.leak(), rows.leak());
    Box::leak(Box::new(Registry { name: "leaked", version, doc: "", kinds, event_types }))
}

/// A maker with a stream of small blocks.
fn begun(bytes: &mut Vec<u8>) -> (Maker<'_>, StreamId) {
    let mut maker = Maker::new(bytes);
    let mut origin = Origin::new();
    origin.block_size_log2 = 12;
    let stream = maker.begin(&origin).unwrap();
    (maker, stream)
}

/// `.made.origin`
#[test]
fn an_impossible_stream_is_refused() {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    assert!(matches!(maker.add(1, 1, 1, &Empty {}), Err(MakeError::NoStream)));
    assert!(matches!(maker.sync(sync_at(1)), Err(MakeError::NoStream)));
    assert!(matches!(maker.turn(StreamId(0)), Err(MakeError::NoStream)));
    assert!(matches!(maker.label(1, 1, 1), Err(MakeError::NoStream)));
    assert!(matches!(Maker::new(&mut Vec::new()).finish(), Err(MakeError::NoStream)));
    let mut origin = Origin::new();
    for log2 in [0, 11, 21, 255] {
        origin.block_size_log2 = log2;
        assert!(matches!(maker.begin(&origin), Err(MakeError::BlockSize { .. })));
    }
    origin.block_size_log2 = 12;
    origin.sync = ClockSync { ticks: 0, ..sync_at(9) };
    assert!(matches!(maker.begin(&origin), Err(MakeError::SyncTicks)));
    origin.sync = ClockSync::default();
    maker.begin(&origin).unwrap();
    assert!(matches!(maker.begin(&origin), Err(MakeError::StreamTwice { .. })));
    assert!(matches!(maker.sync(ClockSync::default()), Err(MakeError::SyncTicks)));
    maker.finish().unwrap();
    sound(bytes, "a stream");
}

/// `.made`: an event without a place in a log is refused, and the log has no part of it.
#[test]
fn false_events_are_refused() {
    let mut bytes = Vec::new();
    let (mut maker, _) = begun(&mut bytes);
    // Sizes: the largest that fits, and larger ones.
    let text = vec![b'x'; 1 << 20];
    let mut count = 0;
    for size in [0, 3954, 3955, 3956, 3960, 65_000, 1 << 20] {
        let added = maker.add(1, 1, 1, &Text { a: 1, b: &text[..size] });
        let is_large = size > 4096 - 128 - 12 - 1;
        assert_eq!(matches!(added, Err(MakeError::EventSize { .. })), is_large, "{size}");
        assert_eq!(added.is_ok(), !is_large, "{size}");
        count += u64::from(!is_large);
    }
    assert!(matches!(maker.intern(1, &text), Err(MakeError::EventSize { .. })));
    // Types: codes and kinds that the registry lacks, and false sizes.
    let unknown = [
        maker.add(1, 1, 1, &Forged::<0, 0> { size: 8 }),
        maker.add(1, 1, 1, &Forged::<3, 0> { size: 8 }),
        maker.add(1, 1, 1, &Forged::<1, 1> { size: 8 }),
        maker.add(1, 1, 1, &Forged::<1, 255> { size: 8 }),
        maker.lose::<Forged<9, 0>>(1, 1, Cause::Full, 1),
    ];
    assert!(unknown.iter().all(|it| matches!(it, Err(MakeError::EventType { .. }))), "{unknown:?}");
    for size in [0, 4, 9, 4000, usize::MAX - 7, usize::MAX] {
        let added = maker.add(1, 1, 1, &Forged::<1, 0> { size });
        assert!(matches!(added, Err(MakeError::EventSize { .. })), "{size}: {added:?}");
    }
    let short = maker.add(1, 1, 1, &Forged::<2, 63> { size: 16 });
    assert!(matches!(short, Err(MakeError::EventSize { size: 16, .. })), "{short:?}");
    maker.add(1, 1, 1, &Forged::<1, 0> { size: 24 }).unwrap();
    assert_eq!(maker.finish().unwrap().event_count, count + 1);
    sound(bytes, "events");
}

/// `.made`, `.made.names`, `.made.loss`, `.store.before`
#[test]
fn hostile_numbers_make_a_sound_log() {
    let mut bytes = Vec::new();
    let (mut maker, stream) = begun(&mut bytes);
    let intern = store::Intern { stringId: 1, string: b"a" };
    let strayed = [
        maker.add(0, 0, 1, &Empty {}),
        maker.add(1, 0, 1, &intern),
        maker.add(0, 1, 1, &intern),
        maker.lose::<Empty>(0, 0, Cause::Full, 1),
    ];
    assert!(strayed.iter().all(|it| matches!(it, Err(MakeError::Store { .. }))), "{strayed:?}");
    assert!(matches!(maker.label(9, 1, 1), Err(MakeError::String { string: 1 })));
    assert_eq!(maker.intern(10, b"a").unwrap(), 1);
    assert!(matches!(maker.label(9, 1, 1), Err(MakeError::String { string: 1 })));
    maker.label(10, 1, 1).unwrap();
    maker.label(11, 1, 0).unwrap();
    maker.add(u32::MAX, u32::MAX, u64::MAX, &Empty {}).unwrap();
    maker.add(u32::MAX, 0, 0, &Empty {}).unwrap();
    maker.add(2, 0, 1 << 40, &Empty {}).unwrap();
    maker.lose::<Empty>(3, 0, Cause::Overwritten, u64::MAX).unwrap();
    assert!(matches!(maker.add(3, 0, 1, &Empty {}), Err(MakeError::Numbers { buffer: 3 })));
    maker.lose::<Empty>(4, 0, Cause::Io, 1 << 33).unwrap();
    maker.lose::<Empty>(5, 0, Cause::Nested, u64::MAX).unwrap();
    maker.lose::<Empty>(5, 0, Cause::Nested, u64::MAX).unwrap();
    maker.turn(stream).unwrap();
    let done = maker.finish().unwrap();
    assert_eq!(done.event_count, 6);
    let log = sound(bytes, "hostile");
    let accounts: BTreeMap<u32, _> = log.accounts().iter().map(|it| (it.buffer, it)).collect();
    let four = accounts[&4];
    assert_eq!(u64::from(four.discarded_io) + four.overwritten, 1 << 33);
    assert_eq!((accounts[&5].discarded_nested, accounts[&3].overwritten), (u32::MAX, u64::MAX));
    let mut events = log.events(Order::Time, &Filter::default());
    let first = events.next().map(|event| event.ticks);
    let mut last = None;
    let mut found = 1;
    while let Some(event) = events.next() {
        (last, found) = (Some(event.ticks), found + 1);
    }
    assert_eq!((first, last, found), (Some(0), Some(u64::MAX), done.event_count));
}

/// `.registry.index`: a log has as many registries as a reader accepts.
#[test]
fn too_many_registries_are_refused() {
    let kind = |index| Kind { index, name: "K", doc: "" };
    let row = |code, doc| {
        let (name, params) = ("E", &[][..]);
        EventType { name, code, kind: 0, always: true, retired: false, coarse: false, doc, params }
    };
    let mut bytes = Vec::new();
    let (mut maker, _) = begun(&mut bytes);
    for index in 1..5000 {
        let lawful = registry(vec![kind(0)], vec![row(1, ""), row(0xFEFF, "")]);
        assert_eq!(maker.registry(lawful).unwrap(), index);
        assert_eq!(maker.registry(lawful).unwrap(), index);
    }
    maker.add(1, 1, 1, &Empty {}).unwrap();
    let large = "x".repeat(65_535).leak();
    let large = || registry(vec![kind(0)], (1..100).map(|code| row(code, large)).collect());
    let refused = (0..4).map(|_| maker.registry(large())).find(Result::is_err);
    assert!(matches!(refused, Some(Err(MakeError::Registries { .. }))), "{refused:?}");
    maker.finish().unwrap();
    assert!(Log::from_source(bytes).unwrap().registries().len() >= 5001);
}

/// Fails after some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = bytes.len().min(self.0);
        self.0 -= size;
        if size == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(size) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_call_fails_after_the_output_failed() {
    let mut full = Full(9000);
    let mut maker = Maker::new(&mut full);
    maker.begin(&Origin::new()).unwrap();
    let failed = (0..100_000).map(|n| maker.add(1, 1, n, &Empty {})).find(Result::is_err);
    let is_full = |error: &MakeError| match error {
        MakeError::Io(error) => error.kind() == io::ErrorKind::StorageFull,
        _ => false,
    };
    assert!(failed.is_some_and(|failed| is_full(&failed.unwrap_err())));
    assert!(is_full(&maker.add(1, 1, 1, &Empty {}).unwrap_err()));
    assert!(is_full(&maker.sync(sync_at(1)).unwrap_err()));
    assert!(is_full(&maker.finish().unwrap_err()));
}
