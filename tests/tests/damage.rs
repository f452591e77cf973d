//! Damage costs what the format states, and no more: never a panic, a hang, or excessive memory.
//!
//! ```text
//!  a small log ── cut │ flip │ splice │ forge ──▶ Log ──▶ the remaining events, and faults
//! ```

use eventlog::reader::{Fault, FaultKind, Filter, Log, OpenError, Order, Value as Read};
use proptest::prelude::*;
use tests::naive::{self, BlockFields, Buffer, Platform, Ring, Value, Writer};

#[path = "damage/blocks.rs"]
mod blocks;
#[path = "damage/header.rs"]
mod header;
#[path = "damage/registries.rs"]
mod registries;
#[path = "damage/streams.rs"]
mod streams;

const WORDS: Platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
const NOBODY: Buffer = Buffer { buffer: 0, registry: 0, kind: 0, thread: 0 };
const B: usize = 4096;

/// An event, by the facts in its block: buffer, number, ticks, code.
type Identity = (u32, u64, u64, u16);

/// The small log: its bytes, and the place of each event.
struct Small {
    bytes: Vec<u8>,
    /// The range of each event's block or part, and the event.
    events: Vec<(std::ops::Range<usize>, Identity)>,
    /// The offset of the parts block.
    parts: usize,
}

fn words(n: u64) -> Vec<Value> {
    vec![Value::P(n), Value::A(n), Value::W(n)]
}

fn buffer(index: u32) -> Buffer {
    Buffer { buffer: index, registry: 1, kind: 1, thread: 1 }
}

fn writer() -> Writer {
    let mut writer = Writer::new(WORDS, [3; 16], [9; 16]);
    writer.registry(1, naive::KINDS, naive::TYPES, 300);
    writer
}

/// Returns a ring with events at these times.
fn ring(index: u32, base: u64, ticks: std::ops::Range<u64>) -> Ring {
    let mut ring = Ring::new(&WORDS, buffer(index), base);
    for ticks in ticks {
        assert!(ring.record(&WORDS, ticks, 2, &words(ticks)));
    }
    ring
}

/// Returns a log: header, three event blocks, a parts block with three event parts and an end.
fn small() -> Small {
    let mut writer = writer();
    let mut events = Vec::new();
    for index in 0..3 {
        let start = 1000 * u64::from(index);
        ring(index, start, start..start + 5).write(&mut writer, true);
        let block = B * (index as usize + 1)..B * (index as usize + 2);
        events.extend((0..5).map(|n| (block.clone(), (index, n, start + n, 2))));
    }
    writer.head.resize(B, 0); // So that parts go into a block of their own.
    let parts = 4 * B;
    let mut at = parts + 128;
    for index in 3..6 {
        let start = 1000 * u64::from(index);
        ring(index, start, start..start + 2).flush(&mut writer);
        let part = at..at + 128 + 64;
        at = part.end;
        events.extend((0..2).map(|n| (part.clone(), (index, n, start + n, 2))));
    }
    writer.end();
    Small { bytes: writer.bytes(), events, parts }
}

/// Reads a log in both orders. Returns its events and all faults; checks each event.
fn read(bytes: Vec<u8>) -> Result<(Vec<Identity>, Vec<Fault>), OpenError> {
    let log = Log::from_source(bytes)?;
    let mut faults: Vec<Fault> = log.faults().iter().cloned().collect();
    let mut all = Vec::new();
    for order in [Order::Time, Order::File] {
        let mut events = log.events(order, &Filter::new().labels(true));
        let mut found = Vec::new();
        while let Some(event) = events.next() {
            assert!(event.bytes.len() >= 8);
            assert!(event.params().count() <= 5);
            found.push((event.buffer, event.number, event.ticks, event.code()));
        }
        let told: Vec<Fault> = events.faults().iter().cloned().collect();
        if order == Order::File {
            faults.extend(told);
        }
        found.sort();
        all.push(found);
    }
    assert_eq!(all[0], all[1], "the orders give different events");
    for fault in &faults {
        assert!(fault.to_string().starts_with(&format!("offset {:#X}: ", fault.offset)));
    }
    Ok((all.swap_remove(0), faults))
}

/// Checks that partitions give the same events and faults, in the same order.
fn assert_slices_give_the_same(bytes: &[u8]) {
    let log = Log::from_source(bytes.to_vec()).unwrap();
    for order in [Order::Time, Order::File] {
        let mut events = log.events(order, &Filter::new().labels(true));
        let mut found = Vec::new();
        while let Some(event) = events.next() {
            found.push((event.buffer, event.number, event.ticks, event.code()));
        }
        let faults = events.faults().iter().cloned().collect();
        assert_eq!(read_in_partitions(&log, order), (found, faults));
    }
}

/// Returns events and faults, read partition by partition.
fn read_in_partitions(log: &Log, order: Order) -> (Vec<Identity>, Vec<Fault>) {
    let partitions = log.partitions(order, &Filter::new().labels(true), 3);
    let mut faults = partitions.faults().clone();
    let mut found = Vec::new();
    for slice in 0..partitions.count() {
        let mut events = partitions.events(slice);
        while let Some(event) = events.next() {
            found.push((event.buffer, event.number, event.ticks, event.code()));
        }
        faults.append(events.faults());
    }
    (found, faults.iter().cloned().collect())
}

fn kinds(faults: &[Fault]) -> Vec<&FaultKind> {
    faults.iter().map(|fault| &fault.kind).collect()
}

/// `.stream.tail`, `.write.torn`, `.stream.grow`, `.read.end`
#[test]
fn a_log_cut_anywhere_gives_the_events_of_whole_blocks() {
    let small = small();
    for cut in 0..small.bytes.len() {
        let result = read(small.bytes[..cut].to_vec());
        if cut < 8 {
            assert!(matches!(result, Err(OpenError::Empty | OpenError::NotALog)), "{cut}");
            continue;
        }
        let (found, _) = result.unwrap();
        // Missing bytes count as zeros, so that trailing zeros may be missing.
        let is_whole = |place: &std::ops::Range<usize>| {
            small.bytes[place.clone()]
                .iter()
                .skip(cut.saturating_sub(place.start))
                .all(|&byte| byte == 0)
                && cut >= place.start + 128
        };
        // The reader skips an event that lacks any byte (`.read.chain`).
        let is_there = |place: &std::ops::Range<usize>, number: u64| {
            is_whole(place) && place.end - 32 * number as usize <= cut
        };
        let whole = small.events.iter().filter(|(place, event)| is_there(place, event.1));
        let mut expected: Vec<_> = whole.map(|(_, event)| *event).collect();
        expected.sort();
        assert_eq!(found, expected, "cut at {cut}");
    }
}

/// `.block.crc`, `.read.sealed`, `.parts.sealed`, `.parts.header`, `.parts.chain`,
/// `.read.header-damage`, `.read.no-magic`, `.read.resync`, `.header.crc`, `.header.magic`,
/// `.header.order`, `.header.word`, `.block.magic`, `.block.stream`, `.crc`, `.event.unknown`,
/// `.part.registry-before`, `.part.end`
#[test]
fn a_flipped_byte_costs_at_most_its_block_or_part() {
    let small = small();
    let all: Vec<_> = small.events.iter().map(|(_, event)| *event).collect();
    for offset in 0..small.bytes.len() {
        // One mask is enough in free space.
        let is_gap = (1400..3900).contains(&(offset % B));
        for &mask in if is_gap { &[0xFF][..] } else { &[0x01, 0x06, 0xFF] } {
            let mut bytes = small.bytes.clone();
            bytes[offset] ^= mask;
            let (found, faults) = read(bytes).unwrap();
            assert!(found.iter().all(|event| all.contains(event)), "{offset} invents events");
            let is_hit = |place: &std::ops::Range<usize>| match offset.checked_sub(small.parts) {
                // The damage hides that this is a parts block.
                Some(0..8) => place.start >= small.parts,
                _ => place.contains(&offset),
            };
            for (place, event) in &small.events {
                assert!(found.contains(event) || is_hit(place), "{offset} ^ {mask:#x}: {event:?}");
            }
            assert!(found.len() == all.len() || !faults.is_empty(), "{offset}: an unreported loss");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_pieces_of_a_log_invent_no_events(
        pieces in prop::collection::vec((0usize..21000, 0usize..9000), 1..6),
    ) {
        let small = small();
        let mut bytes = small.bytes[..512].to_vec();
        for (start, size) in pieces {
            let rest = small.bytes.get(start..).unwrap_or_default();
            bytes.extend_from_slice(&rest[..size.min(rest.len())]);
        }
        assert_slices_give_the_same(&bytes);
        let (found, _) = read(bytes).unwrap();
        let all: Vec<_> = small.events.iter().map(|(_, event)| *event).collect();
        prop_assert!(found.iter().all(|event| all.contains(event)));
        let mut once = found.clone();
        once.dedup();
        prop_assert_eq!(once, found);
    }

    #[test]
    fn the_reader_reads_any_bytes_after_a_magic(
        magic in prop::bool::ANY, bytes in prop::collection::vec(any::<u8>(), 0..9000),
    ) {
        let mut all = small().bytes[..if magic { 512 } else { 1024 }].to_vec();
        all.extend_from_slice(&bytes);
        prop_assert!(read(all).is_ok());
    }

    /// No checksum covers the bytes in an open block.
    #[test]
    fn the_reader_accepts_any_bytes_in_an_open_block(
        last in 0u32..5000, top in 0u32..5000, count: u32, first: u64, base: u64, base_last: u64,
        payload in prop::collection::vec(
            prop_oneof![Just(0u8), Just(8), Just(24), any::<u8>()], 0..3900,
        ),
    ) {
        let mut writer = writer();
        let fields = BlockFields {
            block_type: 1, last, top, count, first, base, base_last, ..BlockFields::default()
        };
        writer.event_block(buffer(0), fields, &payload, false);
        ring(1, 0, 0..5).write(&mut writer, true);
        assert_slices_give_the_same(&writer.bytes());
        let (found, _) = read(writer.bytes()).unwrap();
        prop_assert_eq!(found.iter().filter(|event| event.0 == 1).count(), 5);
    }
}

/// `.block.size`, `.read.sealed`
#[test]
fn the_reader_skips_a_sealed_block_with_invalid_bounds() {
    for (last, top) in
        [(0, 4096), (127, 4096), (4096, 4095), (128, 4097), (128, u32::MAX), (u32::MAX, 0)]
    {
        let mut writer = writer();
        let fields = BlockFields { block_type: 1, last, top, count: 3, ..BlockFields::default() };
        writer.event_block(buffer(0), fields, &[0; 64], true);
        ring(1, 0, 0..5).write(&mut writer, true);
        let (found, faults) = read(writer.bytes()).unwrap();
        assert_eq!(found.len(), 5);
        assert!(matches!(kinds(&faults)[..], [FaultKind::BlockField { .. }]), "{faults:?}");
    }
}

/// `.block.type`, `.block.unknown`, `.block.stream`, `.stream.hole`, `.read.resync`, `.block.flags`
#[test]
fn the_reader_skips_and_reports_foreign_blocks() {
    let mut writer = writer();
    ring(0, 0, 0..5).write(&mut writer, true);
    for _ in 0..2 {
        let fields = BlockFields { block_type: 77, ..BlockFields::default() };
        writer.event_block(NOBODY, fields, &[0; 8], true);
    }
    writer.blocks.push(vec![0; B]);
    writer.blocks.push(vec![0; B]);
    let mut other = Writer::new(WORDS, [8; 16], [9; 16]);
    ring(0, 0, 0..5).write(&mut other, true);
    writer.blocks.extend(other.blocks);
    writer.blocks.push(vec![0x55; B]);
    ring(1, 0, 0..5).write(&mut writer, true);
    writer.blocks.push(vec![0; B]);
    let (found, faults) = read(writer.bytes()).unwrap();
    assert_eq!(found.len(), 10);
    let size = B as u64;
    let expected = [
        (2 * size, FaultKind::BlockType { found: 77 }),
        (4 * size, FaultKind::BlockHole { size: 2 * size }),
        (6 * size, FaultKind::BlockForeign),
        (7 * size, FaultKind::BlockMagic { size }),
    ];
    let expected = expected.map(|(offset, kind)| Fault { offset, kind });
    assert_eq!(faults, expected, "a hole at the end is not a fault");
}

/// `.block.unknown`, `.block.header-size`, `.parts.chain`
#[test]
fn the_reader_skips_unknown_parts_and_header_bytes() {
    let mut writer = writer();
    writer.part(NOBODY, BlockFields { block_type: 9, top: 24, ..BlockFields::default() }, &[1; 24]);
    // A part of a later minor version has a header of 136 bytes.
    let later = ring(2, 0, 0..3);
    let mut header = writer.header(buffer(2), later.rest, Some(&later.payload));
    header[7] = 17;
    let added = [0xAB; 8];
    naive::seal_block(&mut header, &[added.as_slice(), &later.payload].concat());
    header.extend_from_slice(&added);
    writer.head.extend_from_slice(&header);
    writer.head.extend_from_slice(&later.payload);
    ring(0, 0, 0..5).flush(&mut writer);
    let (found, faults) = read(writer.bytes()).unwrap();
    assert_eq!(found.len(), 8);
    assert_eq!(kinds(&faults), [&FaultKind::BlockType { found: 9 }]);
    assert!(faults[0].is_warning());
}

/// Every eighth byte may begin a part as long as the rest: checking all of them would take too
/// long.
#[test]
fn the_reader_soon_gives_up_a_block_of_magics() {
    let platform = Platform { block_size_log2: 20, ..WORDS };
    let mut writer = Writer::new(platform, [3; 16], [9; 16]);
    let header = writer.header(
        buffer(0),
        BlockFields { block_type: 1, top: 1 << 19, ..BlockFields::default() },
        Some(&[]),
    );
    while writer.head.len() < 1 << 20 {
        writer.head.extend_from_slice(&header[..40]);
    }
    let start = std::time::Instant::now();
    let (found, faults) = read(writer.bytes()).unwrap();
    assert!(found.is_empty() && !faults.is_empty());
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
}

/// `.event.identity`, `.read.sealed`: earlier parts replace a damaged block.
#[test]
fn parts_give_the_events_of_a_damaged_block() {
    let mut writer = writer();
    let mut ring = ring(0, 0, 0..5);
    ring.flush(&mut writer);
    assert!(ring.record(&WORDS, 9, 2, &words(1)));
    ring.write(&mut writer, true);
    let mut bytes = writer.bytes();
    let (found, faults) = read(bytes.clone()).unwrap();
    assert_eq!((found.len(), faults.len()), (6, 0), "every event once");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let (found, faults) = read(bytes).unwrap();
    assert_eq!(found.len(), 5);
    assert_eq!(kinds(&faults), [&FaultKind::BlockChecksum { count: 6 }]);
}

/// `.write.begin`
#[test]
fn the_reader_takes_a_block_without_a_magic_for_a_hole() {
    let small = small();
    let mut bytes = small.bytes.clone();
    bytes[2 * B..2 * B + 4].fill(0);
    let (found, faults) = read(bytes).unwrap();
    assert_eq!(found.len(), small.events.len() - 5);
    assert_eq!(kinds(&faults), [&FaultKind::BlockHole { size: B as u64 }]);
}

/// `.parts.chain`: the host refused a part.
#[test]
fn zeros_among_parts_are_a_hole() {
    let small = small();
    let mut bytes = small.bytes.clone();
    let second = small.parts + 128 + 192;
    bytes[second..second + 192].fill(0);
    let (found, faults) = read(bytes).unwrap();
    assert_eq!(found.len(), small.events.len() - 2);
    let hole = Fault { offset: second as u64, kind: FaultKind::BlockHole { size: 192 } };
    assert_eq!(faults, [hole]);
}
