//! Where a made log keeps its clock syncs.

use eventlog::format::{BlockHeader, BlockType, ClockSync};
use eventlog::reader::Log;
use eventlog::writer::{Maker, Origin};

const BLOCK_SIZE: usize = 1 << 12;

telemetry::events! {
    /// Events of equal size.
    registry "even" version(1, 0, 0);
    kinds standard;

    /// A number.
    Number(1, always, User) {
        /// the number
        number: W,
    }
}

/// `.made.sync`: a block of events costs a part of the log; a clock sync in its header is free.
#[test]
fn a_full_block_of_a_made_log_has_the_next_clock_sync() {
    let mut origin = Origin::new();
    (origin.uuid, origin.block_size_log2) = ([7; 16], 12);
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    maker.begin(&origin).unwrap();
    for ticks in 1..=20_000 {
        maker.add(ticks as u32 % 3 + 1, 1, ticks, &Number { number: ticks as usize }).unwrap();
        if ticks % 50 == 0 {
            let sync = ClockSync { ticks, monotonic: ticks, realtime: ticks, uncertainty: 1 };
            maker.sync(sync).unwrap();
        }
    }
    maker.finish().unwrap();

    let (mut block_count, mut synced_count) = (0, 0);
    for block in bytes.chunks(BLOCK_SIZE) {
        let header = BlockHeader::read(block).unwrap();
        if header.block_type == BlockType::Events as u8 && header.buffer.get() > 0 {
            block_count += 1;
            synced_count += usize::from(header.sync().ticks != 0);
        }
    }
    assert!(block_count > 60, "{block_count}");
    // The last block of a buffer is written without a later sync.
    assert!(synced_count + 3 >= block_count, "{synced_count} of {block_count}");
    let log = Log::from_source(bytes).unwrap();
    assert_eq!(log.streams()[0].syncs.len(), 20_000 / 50);
    assert!(log.faults().is_empty());
}
