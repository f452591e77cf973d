//! Sentences of the format that no other test checks: in a block changed by hand, and in a growing
//! stream.
//!
//! ```text
//!  naive block ── one field changed, sealed again ──▶ the reader obeys the changed field
//! ```
//!
//! Tags: `design/format.md`.

use eventlog::reader::{Filter, Log, Order};
use std::time::{SystemTime, UNIX_EPOCH};
use telemetry::{Kinds, MemoryPlinth, control, event};
use tests::naive::{self, Buffer, Platform, Ring, Value, Writer, put, seal_block};

const PLATFORM: Platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
const BLOCK_SIZE: usize = 4096;
const EVENT_SIZE: usize = 32;

/// Returns a stream whose second block has ten events of three words, at the ticks 1000 + 10 n.
fn stream() -> Vec<u8> {
    let mut writer = Writer::new(PLATFORM, [1; 16], [9; 16]);
    writer.registry(1, naive::KINDS, naive::TYPES, BLOCK_SIZE);
    let buffer = Buffer { buffer: 3, registry: 1, kind: 1, thread: 2 };
    let mut ring = Ring::new(&PLATFORM, buffer, 1000);
    for n in 0..10 {
        let words = [Value::P(n), Value::A(n), Value::W(n)];
        assert!(ring.record(&PLATFORM, 1000 + 10 * n, 2, &words));
    }
    ring.write(&mut writer, true);
    writer.bytes()
}

/// Returns the stream with its event block changed and sealed again, over the events from `last`.
fn changed(last: usize, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = stream();
    let block = &mut bytes[BLOCK_SIZE..];
    change(block);
    let payload = block[last..].to_vec();
    seal_block(block, &payload);
    bytes
}

/// Returns the ticks of all events in a log without faults.
fn ticks(bytes: Vec<u8>) -> Vec<u64> {
    let log = Log::from_source(bytes).expect("a log");
    let mut events = log.events(Order::Time, &Filter::default());
    let mut ticks = Vec::new();
    while let Some(event) = events.next() {
        ticks.push(event.ticks);
    }
    assert!(events.faults().is_empty(), "{:?}", events.faults());
    ticks
}

/// `.block.last`, `.block.count`
#[test]
fn the_reader_ignores_bytes_below_last() {
    let last = BLOCK_SIZE - 9 * EVENT_SIZE;
    let bytes = changed(last, |block| {
        put(block, 24, &(last as u32).to_le_bytes());
        put(block, 28, &9u32.to_le_bytes());
    });
    assert_eq!(ticks(bytes), (0..9).map(|n| 1000 + 10 * n).collect::<Vec<_>>());
}

/// `.event.delta`, `.block.base`
#[test]
fn the_ticks_of_an_event_are_the_base_and_its_delta() {
    let newest = BLOCK_SIZE - 10 * EVENT_SIZE;
    let bytes = changed(newest, |block| put(block, newest + 4, &95u32.to_le_bytes()));
    assert_eq!(ticks(bytes).last(), Some(&1095));
    let bytes = changed(newest, |block| {
        put(block, 56, &7000u64.to_le_bytes());
        put(block, 64, &7000u64.to_le_bytes());
    });
    assert_eq!(ticks(bytes), (0..10).map(|n| 7000 + 10 * n).collect::<Vec<_>>());
}

/// `.reserved`
#[test]
fn the_reader_ignores_reserved_bytes() {
    let last = BLOCK_SIZE - 10 * EVENT_SIZE;
    let mut bytes = changed(last, |block| put(block, 15, &[0xAB]));
    put(&mut bytes, 148, &[0xAB; 4]);
    put(&mut bytes, 408, &[0xAB; 104]);
    naive::seal_stream_header(&mut bytes);
    assert_eq!(ticks(bytes).len(), 10);
}

mod events {
    telemetry::events! {
        /// The events of this test.
        registry "format" version(1, 0, 0);
        kinds standard;

        /// A number.
        Number(0x0001, always, User) {
            /// which
            number: W,
        }
    }
}

fn now() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    time.expect("a time after 1970").as_nanos() as u64
}

/// `.header.once`, `.stream.grow`, `.time.interpolate`, `.time.sync`
#[test]
fn a_growing_stream_keeps_its_header_and_has_wall_times() {
    let plinth = MemoryPlinth::new();
    telemetry::setup().plinth(plinth.clone()).start().unwrap();
    control::set_output_everywhere(Kinds::User);
    let start = now();
    event!(events::Number, 0usize);
    telemetry::flush();
    let early = plinth.bytes();
    for number in 1..100_000usize {
        event!(events::Number, number);
    }
    telemetry::flush();
    let (late, end) = (plinth.bytes(), now());
    assert!(late.len() > early.len(), "the stream has grown");
    assert_eq!(early[..512], late[..512]);
    let kept = early.iter().zip(&late).all(|(early, late)| *early == 0 || early == late);
    assert!(kept, "a written byte has changed");
    judge_wall_times(Log::from_source(late).expect("a log"), start, end);
}

fn judge_wall_times(log: Log, start: u64, end: u64) {
    /// The error of a realtime clock, which the system also adjusts.
    const MARGIN: u64 = 50_000_000;
    let span = start - MARGIN..end + MARGIN;
    let mut events = log.events(Order::Time, &Filter::default());
    let (mut before, mut count) = (0, 0);
    while let Some(event) = events.next() {
        let stream = &log.streams()[usize::from(event.stream)];
        let time = stream.wall_time(event.ticks).expect("two clock syncs");
        count += 1;
        // Events recorded before the stream began are older than its first sync.
        if time.is_extrapolated {
            assert!(count < 10, "event {count}: {time:?}");
            continue;
        }
        assert!(span.contains(&time.realtime), "event {count}: {time:?} is not in {span:?}");
        assert!(time.realtime >= before, "event {count}: time goes back");
        before = time.realtime;
    }
    assert!(count >= 100_000, "{count} events");
}
