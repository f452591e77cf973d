//! A log of ours for the dumper to read: as large as asked for, two threads with three kinds each.
//!
//! ```text
//!  event i at tick 20·i ─▶ one of six buffers, a hundred in a row ─▶ Maker
//! ```

use eventdef::field::{A, P};
use eventlog::format::{ClockSource, ClockSync};
use eventlog::writer::{MakeError, Maker, Origin};
use events::{PoolAlloc, PoolInit, SegAlloc};
use std::io::Write;

mod events {
    eventdef::events! {
        /// What a heap with pools does: the events of the benchmark's log.
        registry "bench" version(1, 0, 0);
        kinds standard;

        /// A pool was created.
        PoolInit(0x0001, always, Pool) {
            /// the pool
            pool: P,
            /// the arena that it takes memory from
            arena: P,
            /// the number of its class
            class: W,
        }
        /// Memory was handed out.
        PoolAlloc(0x0002, always, Object) {
            /// the pool
            pool: P,
            /// the memory
            address: A,
            /// its size in bytes
            size: W,
        }
        /// A segment was made.
        SegAlloc(0x0003, always, Seg) {
            /// the segment
            seg: P,
            /// its first byte
            base: A,
            /// its size in bytes
            size: W,
        }
    }
}

const BUFFER_COUNT: u64 = 6;
const EVENTS_IN_A_ROW: u64 = 100;
const TICKS_BETWEEN_EVENTS: u64 = 20;
/// How often the clocks are read: about as often as a block is full.
const EVENTS_BETWEEN_SYNCS: u64 = 2000;
const START: u64 = 1 << 41;
/// The time of day at the start, in ns.
const REALTIME_START: u64 = 1_700_000_000_000_000_000;

/// Writes a log with this number of events: three buffers, one a kind, for each of two threads.
pub(crate) fn write(event_count: u64, to: &mut dyn Write) -> Result<(), MakeError> {
    let mut origin = Origin::new();
    origin.uuid = *b"log of the bench";
    origin.clock_source = ClockSource::Tsc;
    let mut maker = Maker::new(to);
    maker.begin(&origin)?;
    for i in 0..event_count {
        let index = i / EVENTS_IN_A_ROW % BUFFER_COUNT;
        let (buffer, thread) = (index as u32 + 1, index as u32 / 3 + 1);
        let ticks = START + i * TICKS_BETWEEN_EVENTS;
        let one = P(0x7F49_6000_3000 + index as usize);
        let address = 0x7F49_60DF_8000 + i as usize * 16;
        let size = i as usize % 4096;
        match index % 3 {
            0 => maker.add(
                buffer,
                thread,
                ticks,
                &PoolInit { pool: one, arena: P(address), class: size },
            ),
            1 => {
                let alloc = PoolAlloc { pool: one, address: A(address), size };
                maker.add(buffer, thread, ticks, &alloc)
            }
            _ => maker.add(buffer, thread, ticks, &SegAlloc { seg: one, base: A(address), size }),
        }?;
        if i % EVENTS_BETWEEN_SYNCS == 0 || i + 1 == event_count {
            // Ticks of 1 ns.
            let realtime = REALTIME_START + (ticks - START);
            maker.sync(ClockSync { ticks, monotonic: ticks, realtime, uncertainty: 50 })?;
        }
    }
    maker.finish().map(drop)
}
