//! A small log, to be damaged, and what a reader makes of it.
//!
//! ```text
//!  small() ──▶ bytes, and where each event is        read(bytes) ──▶ events, faults
//! ```
//!
//! What is in it: `design/format.md`, sections 3 and 4.

use eventlog::reader::{Fault, FaultKind, Filter, Log, OpenError, Order};
use tests::naive::{self, Buffer, Platform, Ring, Value, Writer};

pub(crate) const WORDS: Platform =
    Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
pub(crate) const NOBODY: Buffer = Buffer { buffer: 0, registry: 0, kind: 0, thread: 0 };
pub(crate) const B: usize = 4096;

/// An event, by what the block alone says of it: buffer, number, ticks, code.
pub(crate) type Identity = (u32, u64, u64, u16);

/// The small log: where each event ends up, and the bytes.
pub(crate) struct Small {
    pub(crate) bytes: Vec<u8>,
    /// The stretch that each event's block or part takes, and the event.
    pub(crate) events: Vec<(std::ops::Range<usize>, Identity)>,
    /// Where the parts block begins.
    pub(crate) parts: usize,
}

pub(crate) fn words(n: u64) -> Vec<Value> {
    vec![Value::P(n), Value::A(n), Value::W(n)]
}

pub(crate) fn buffer(index: u32) -> Buffer {
    Buffer { buffer: index, registry: 1, kind: 1, thread: 1 }
}

pub(crate) fn writer() -> Writer {
    let mut writer = Writer::new(WORDS, [3; 16], [9; 16]);
    writer.registry(1, naive::KINDS, naive::TYPES, 300);
    writer
}

/// A ring with these events.
pub(crate) fn ring(index: u32, base: u64, ticks: std::ops::Range<u64>) -> Ring {
    let mut ring = Ring::new(&WORDS, buffer(index), base);
    for ticks in ticks {
        assert!(ring.record(&WORDS, ticks, 2, &words(ticks)));
    }
    ring
}

/// Header block, three event blocks, a parts block with three event parts and an end part.
pub(crate) fn small() -> Small {
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

/// All events of a log in both orders, and all faults. Each event has been looked at whole.
pub(crate) fn read(bytes: Vec<u8>) -> Result<(Vec<Identity>, Vec<Fault>), OpenError> {
    let log = Log::from_source(bytes)?;
    let mut faults: Vec<Fault> = log.faults().iter().cloned().collect();
    let mut all = Vec::new();
    for order in [Order::Time, Order::File] {
        let mut events = log.events(order, &Filter { labels: true, ..Filter::default() });
        let mut found = Vec::new();
        while let Some(event) = events.next() {
            assert!(event.bytes.len() >= 8);
            assert!(event.params().count() <= 5);
            found.push((event.buffer, event.number, event.ticks, event.code()));
        }
        if order == Order::File {
            faults.extend(events.faults().iter().cloned());
        }
        found.sort();
        all.push(found);
    }
    assert_eq!(all[0], all[1], "both orders give the same events");
    for fault in &faults {
        assert!(fault.to_string().starts_with(&format!("offset {}: ", fault.offset)));
    }
    Ok((all.swap_remove(0), faults))
}

pub(crate) fn kinds(faults: &[Fault]) -> Vec<&FaultKind> {
    faults.iter().map(|fault| &fault.kind).collect()
}
