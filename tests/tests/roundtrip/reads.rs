//! How often the source is read: what bounds the time that a log can take.
//!
//! ```text
//!  Counting { bytes, reads } ── Log ──▶ events, and no more reads than blocks and windows
//! ```

use super::*;
use eventlog::reader::Source;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A source that counts the reads of it.
struct Counting {
    bytes: Vec<u8>,
    reads: Arc<AtomicU64>,
}

impl Source for Counting {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes.read_at(offset, buf)
    }
}

/// Reads all events in an order, judges that they are as many and numbered in order, and says how
/// many reads that took, and how many it took to open the log.
fn reads(bytes: Vec<u8>, order: Order, expected: u64) -> (u64, u64) {
    let reads = Arc::new(AtomicU64::new(0));
    let log = Log::from_source(Counting { bytes, reads: reads.clone() }).unwrap();
    assert!(log.faults().is_empty(), "{:?}", log.faults());
    let opening = reads.swap(0, Ordering::Relaxed);
    let mut events = log.events(order, &Filter::default());
    let mut next = std::collections::HashMap::new();
    let (mut count, mut ticks) = (0, 0);
    while let Some(event) = events.next() {
        let number = next.entry(event.buffer).or_insert(0);
        assert_eq!(event.number, *number, "of buffer {}", event.buffer);
        *number += 1;
        assert!(order == Order::File || event.ticks >= ticks);
        ticks = event.ticks;
        count += 1;
    }
    assert_eq!(count, expected);
    assert!(events.faults().is_empty(), "{:?}", events.faults());
    (reads.load(Ordering::Relaxed), opening)
}

/// 1000 buffers of 64 KiB whose events take turns are more than the cache holds: a block that is
/// put out leaves a window of its next events.
#[test]
fn blocks_that_take_turns_are_decoded_once_for_each_window_and_not_for_each_event() {
    let platform = Platform { block_size_log2: 16, ..WORDS };
    let mut writer = Writer::new(platform, [1; 16], [9; 16]);
    writer.registry(1, naive::KINDS, naive::TYPES, 4000);
    let (buffers, per_buffer) = (1000u64, 1000u64);
    for buffer in 0..buffers {
        let mut payload = Vec::new();
        for n in (0..per_buffer).rev() {
            let mut event = platform.event(2, &words(n));
            platform.set_delta(&mut event, (n * buffers) as u32);
            payload.extend(event);
        }
        let (last, count) = ((platform.block_size() - payload.len()) as u32, per_buffer as u32);
        let fields = naive::BlockFields {
            block_type: 1,
            last,
            count,
            top: platform.block_size() as u32,
            base: buffer,
            base_last: buffer,
            ..naive::BlockFields::default()
        };
        // Open, so that the bit by bit checksum takes no time.
        writer.event_block(Buffer { buffer: buffer as u32, ..POOL }, fields, &payload, false);
    }
    let (time, _) = reads(writer.bytes(), Order::Time, buffers * per_buffer);
    // An event takes 52 bytes in a window: 32, its place in the block and in order of time. Each
    // buffer has a share of the cache, and adds 4 KiB to it. The first time all of it is decoded.
    let window = (eventlog::reader::CACHE_SIZE_MAX as u64 / buffers + 4096) / 52;
    assert!(time <= buffers * (1 + per_buffer.div_ceil(window)), "{time} reads");
}

/// `.part.events`, `.event.number`: the parts of one buffer in one parts block are one entry of the
/// index, also where parts of other buffers are between them.
#[test]
fn the_parts_of_a_buffer_in_one_parts_block_are_read_together() {
    for (buffers, with_bases) in [(1, false), (3, false), (3, true)] {
        let platform = Platform { block_size_log2: 16, ..WORDS };
        let mut writer = Writer::new(platform, [1; 16], [9; 16]);
        writer.registry(1, naive::KINDS, naive::TYPES, 4000);
        let mut rings: Vec<Ring> =
            (0..buffers).map(|buffer| Ring::new(&platform, Buffer { buffer, ..POOL }, 0)).collect();
        for n in 0..3000 {
            let ring = &mut rings[n as usize % buffers as usize];
            let ticks = if with_bases && n % 100 > 50 { n << 33 } else { n };
            if !ring.record(&platform, ticks, 2, &words(n)) {
                ring.advance(&platform, ticks);
                assert!(ring.record(&platform, ticks, 2, &words(n)));
            }
            ring.flush(&mut writer);
        }
        let blocks = writer.blocks.len() as u64;
        for order in if with_bases { &[Order::File][..] } else { &[Order::Time, Order::File] } {
            let (count, opening) = reads(writer.bytes(), *order, 3000);
            let most = u64::from(buffers) * 3 * (blocks + 1);
            assert!(count <= most, "{count} reads of {blocks} blocks");
            assert!(opening <= 16 + 4 * blocks, "{opening} reads to open it");
        }
    }
}
