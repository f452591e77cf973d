//! Where events lie in a log that is made: their blocks, and the names before them.
//!
//! ```text
//!  bytes ──▶ │ header │ parts │ block │ block │ … ──▶ base of each block ≤ ticks of its events
//! ```

use super::*;
use crate::format::{BLOCK_MAGIC, BaseRecord, BlockHeader, BlockType, EventHeader};

const BLOCK_SIZE: usize = 4096;
/// The size of an event of three words.
const EVENT_SIZE: usize = (8 + 3 * size_of::<usize>()).next_multiple_of(8);

/// Makes a log of small blocks.
fn made_by(make: impl FnOnce(&mut Maker<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    let mut origin = Origin::new();
    origin.block_size_log2 = 12;
    maker.begin(&origin).unwrap();
    make(&mut maker);
    maker.finish().unwrap();
    bytes
}

fn words(n: usize) -> Words {
    Words { a: P(n), b: A(0), c: n }
}

/// The blocks of a buffer with their offsets, in the order of the file.
fn blocks_of(bytes: &[u8], buffer: u32) -> impl Iterator<Item = (usize, BlockHeader, &[u8])> {
    let blocks = bytes.chunks_exact(BLOCK_SIZE).enumerate().skip(1);
    blocks.filter_map(move |(at, block)| {
        let header: BlockHeader = bytemuck::pod_read_unaligned(&block[..size_of::<BlockHeader>()]);
        let is_it = header.magic == BLOCK_MAGIC
            && header.block_type == BlockType::Events as u8
            && header.buffer.get() == buffer;
        is_it.then_some((at * BLOCK_SIZE, header, block))
    })
}

/// The ticks of the events of a block, the newest first.
fn ticks_of(header: &BlockHeader, block: &[u8]) -> Vec<u64> {
    let (mut at, mut base, mut ticks) =
        (header.last.get() as usize, header.base_last.get(), vec![]);
    while at < block.len() {
        let event: EventHeader = bytemuck::pod_read_unaligned(&block[at..at + 8]);
        if event.code == 0 {
            let record: BaseRecord = bytemuck::pod_read_unaligned(&block[at..at + 24]);
            base = record.base_before;
        } else {
            ticks.push(base + u64::from(event.delta));
        }
        at += usize::from(event.size);
    }
    ticks
}

/// `.made.order`: where the ticks of a buffer go back, another block begins.
#[test]
fn no_event_is_earlier_than_the_base_of_its_block() {
    // They fill most of a block: less would be written as a part.
    const COUNT: usize = 3200 / EVENT_SIZE;
    let starts = [1 << 40, 5000, 7000, 20, 1 << 33];
    let bytes = made_by(|maker| {
        for (part, start) in starts.into_iter().enumerate() {
            for n in 0..COUNT {
                maker.add(1, 1, start + n as u64, &words(part * COUNT + n)).unwrap();
            }
        }
    });
    let mut found = Vec::new();
    for (offset, header, block) in blocks_of(&bytes, 1) {
        let ticks = ticks_of(&header, block);
        let base = header.base.get();
        assert!(ticks.iter().all(|ticks| *ticks >= base), "{offset}: {base} {ticks:?}");
        found.extend(ticks.into_iter().rev());
    }
    let added = starts.into_iter().flat_map(|start| (0..COUNT as u64).map(move |n| start + n));
    assert_eq!(found, added.collect::<Vec<_>>());
    sound(bytes, "ticks that go back");
}

/// `.made.names`: where ticks go back a block is written at once; else when memory is short.
#[test]
fn a_name_stands_before_the_blocks_of_later_events() {
    const ROUNDS: u64 = 8;
    // They fill more than half of a block.
    const COUNT: u64 = 2240 / EVENT_SIZE as u64;
    let name = |round: u64| format!("<name {round:04}>");
    for goes_back in [true, false] {
        let start = |round| if goes_back { 10_000 - 200 * round } else { 10_000 + 200 * round };
        let bytes = made_by(|maker| {
            for round in 0..ROUNDS {
                let id = maker.intern(20_000 + round, name(round).as_bytes()).unwrap();
                maker.label(20_000 + round, round as usize, id).unwrap();
                let events = (0..COUNT).map(|n| (start(round) + n, words(n as usize)));
                events.for_each(|(ticks, event)| maker.add(1, 1, ticks, &event).unwrap());
            }
        });
        assert!(blocks_of(&bytes, 1).count() > 2, "{goes_back}");
        for (offset, header, _) in blocks_of(&bytes, 1) {
            let newest = header.first.get() + u64::from(header.count.get()) - 1;
            for round in 0..=newest / COUNT {
                let place = memchr::memmem::find(&bytes, name(round).as_bytes());
                assert!(place.is_some_and(|at| at < offset), "{goes_back}: {round} {place:?}");
            }
        }
        sound(bytes, "names");
    }
}
