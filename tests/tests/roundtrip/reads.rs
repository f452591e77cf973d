//! The number of reads of a source, which bounds the time that a log takes.
//!
//! ```text
//!  Counting { bytes, reads } ── Log ──▶ events, and at most one read a block or window
//! ```

use super::*;
use eventlog::reader::Source;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A source that counts its reads.
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

/// Reads all events in an order, and checks their number and order. Returns the number of reads,
/// and how many it took to open the log.
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

/// 1000 buffers of 64 KiB that take turns exceed the cache: an evicted block leaves a window of its
/// next events.
#[test]
fn blocks_that_take_turns_are_decoded_once_a_window() {
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
        // Open blocks: the naive bit-by-bit checksum would take too long.
        writer.event_block(Buffer { buffer: buffer as u32, ..POOL }, fields, &payload, false);
    }
    let (time, _) = reads(writer.bytes(), Order::Time, buffers * per_buffer);
    // An event takes 52 bytes in a window: 32, its place in the block, and its rank in time. Each
    // buffer has a share of the cache, and adds 4 KiB. The first pass decodes every block.
    let window = (eventlog::reader::CACHE_SIZE_MAX as u64 / buffers + 4096) / 52;
    assert!(time <= buffers * (1 + per_buffer.div_ceil(window)), "{time} reads");
}

/// `.part.events`, `.event.number`: the parts of one buffer in one parts block are one entry of the
/// index, also between parts of other buffers.
#[test]
fn the_reader_reads_the_parts_of_a_buffer_together() {
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
