//! A log is sound, or what is wrong with it is told: all that reading it tells, and more.
//!
//! ```text
//!  a small log ── byte by byte ──▶ read: faults ⊆ verify: faults
//! ```

use eventlog::reader::{Fault, FaultKind, Faults, Filter, Log, Order, What};
use std::num::NonZero;
use tests::naive::{self, Buffer, KINDS, Platform, Recipe, Ring, TYPES, Value, Writer};

const WORDS: Platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };

fn buffer(index: u32) -> Buffer {
    Buffer { buffer: index, registry: 1, kind: 1, thread: 1 }
}

fn writer() -> Writer {
    let mut writer = Writer::new(WORDS, [3; 16], [9; 16]);
    writer.registry(1, KINDS, TYPES, 300);
    writer
}

fn ring(index: u32, ticks: std::ops::Range<u64>) -> Ring {
    let mut ring = Ring::new(&WORDS, buffer(index), ticks.start);
    for ticks in ticks {
        let words = [Value::P(ticks), Value::A(ticks), Value::W(ticks)];
        assert!(ring.record(&WORDS, ticks, 2, &words));
    }
    ring
}

/// Three blocks, and a block with parts.
fn small() -> Vec<u8> {
    let mut writer = writer();
    for index in 0..3 {
        let start = 1000 * u64::from(index);
        ring(index, start..start + 5).write(&mut writer, true);
    }
    writer.head.resize(4096, 0);
    for index in 3..6 {
        let start = 1000 * u64::from(index);
        ring(index, start..start + 2).flush(&mut writer);
    }
    writer.end();
    writer.bytes()
}

fn all(log: &Log, more: &Faults) -> Vec<Fault> {
    log.faults().iter().chain(more).cloned().collect()
}

/// What reading tells, and what verifying tells.
fn both(bytes: Vec<u8>) -> (Vec<Fault>, Vec<Fault>) {
    let log = Log::from_source(bytes).unwrap();
    let mut events = log.events(Order::File, &Filter::default());
    let mut count = 0;
    while events.next().is_some() {
        count += 1;
    }
    let verified = log.verify(NonZero::new(2));
    assert_eq!(verified.event_count, count);
    (all(&log, events.faults()), all(&log, &verified.faults))
}

/// `.cnv.verify`
#[test]
fn what_reading_a_log_tells_verifying_it_tells_too() {
    let small = small();
    assert_eq!(both(small.clone()), (vec![], vec![]));
    // Every byte of a header, and some of the rest.
    let is_picked = |at: &usize| at % 4096 < 160 || at.is_multiple_of(29);
    for offset in (0..small.len()).filter(is_picked) {
        let mask = [0x01, 0x06, 0xFF][offset % 3];
        let mut bytes = small.clone();
        bytes[offset] ^= mask;
        let (read, verified) = both(bytes);
        let is_told = |fault: &Fault| verified.contains(fault);
        assert!(read.iter().all(is_told), "{offset} ^ {mask}: {read:?}\n{verified:?}");
    }
}

/// `.cnv.verify`: also of blocks whose events are all given by another.
#[test]
fn a_copy_that_is_not_needed_is_verified_too() {
    let mut writer = writer();
    let ring = ring(0, 0..9);
    ring.write(&mut writer, true);
    ring.write(&mut writer, true);
    writer.end();
    let mut bytes = writer.bytes();
    bytes[3 * 4096 - 1] ^= 1;
    let (_, verified) = both(bytes);
    let found: Vec<_> = verified.iter().map(|fault| (fault.offset, &fault.kind)).collect();
    assert_eq!(found, [(2 * 4096, &FaultKind::BlockChecksum { count: 9 })]);
}

/// `.cnv.verify`, `.event.number`, `.block.sync`, `.time.sync`
#[test]
fn what_no_reading_needs_is_verified() {
    let mut writer = writer();
    let mut first = ring(0, 100..105);
    first.fields.sequence = 4;
    first.fields.sync_ticks = 103;
    first.fields.sync_realtime = 5000;
    first.write(&mut writer, true);
    let mut second = ring(0, 200..205);
    second.fields.first = 5;
    second.fields.sequence = 3;
    second.fields.sync_realtime = 4000;
    second.write(&mut writer, true);
    writer.end();
    let (read, verified) = both(writer.bytes());
    assert_eq!(read, []);
    let found: Vec<_> = verified.iter().map(|fault| (fault.offset, fault.kind.clone())).collect();
    let expected = [
        (0, FaultKind::SyncSet { ticks: 204, by: 1000 }),
        (4096, FaultKind::EventLate { ticks: 104, sync: 103 }),
        (8192, FaultKind::BlockSequence { buffer: 0, found: 3, before: 4 }),
    ];
    assert_eq!(found, expected);
}

/// `.cnv.verify`
#[test]
fn sound_logs_of_every_platform_are_found_sound_whatever_is_in_them() {
    for seed in 0..40 {
        let platform = Platform {
            big_endian: seed % 2 == 1,
            word_size: [4, 8][seed as usize / 2 % 2],
            block_size_log2: 12 + seed as u32 % 3,
        };
        let recipe = Recipe {
            seed,
            platform,
            buffers: 1 + seed as u32 % 5,
            events: 800,
            with_copies: !seed.is_multiple_of(3),
            is_shuffled: seed.is_multiple_of(5),
            stream: 0,
        };
        let (writer, recorded) = naive::write(recipe);
        let log = Log::from_source(writer.bytes()).unwrap();
        let verified = log.verify(NonZero::new(2));
        assert_eq!(verified.event_count, recorded.len() as u64, "{seed}");
        assert_eq!(all(&log, &verified.faults), [], "{seed}");
        let (count, _) = verified.pieces[&(What::Stream, false)];
        assert_eq!(count, 1);
    }
}
