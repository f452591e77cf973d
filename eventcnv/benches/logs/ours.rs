//! A log of ours for the dumper to read: as large as asked for, two threads with three kinds each.
//!
//! ```text
//!  event i at tick 20·i ─▶ one of six buffers, a hundred in a row ─▶ a block each time one is full
//! ```
//!
//! Layout: `design/format.md`; `.event.fill`, `.block.crc`, `.part.registry`.

use eventdef::Event;
use eventlog::format::encode_registry;
use eventlog::format::{BLOCK_HEADER_SIZE, BlockHeader, BlockType, ClockSync, StreamHeader};
use events::{PoolAlloc, PoolInit, SegAlloc};
use std::io::{self, Write};

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

const BLOCK_SIZE_LOG2: u8 = 16;
const BLOCK_SIZE: usize = 1 << BLOCK_SIZE_LOG2;
const EVENT_SIZE: usize = 32;
const EVENTS_IN_BLOCK: usize = (BLOCK_SIZE - BLOCK_HEADER_SIZE) / EVENT_SIZE;
const BUFFER_COUNT: u64 = 6;
const EVENTS_IN_A_ROW: u64 = 100;
const TICKS_BETWEEN_EVENTS: u64 = 20;
const START: u64 = 1 << 41;
/// The time of day at the start, in ns.
const REALTIME_START: u64 = 1_700_000_000_000_000_000;
/// Code and kind of each buffer's events: of three buffers for each of two threads.
const CODES: [u16; 3] = [PoolInit::CODE, PoolAlloc::CODE, SegAlloc::CODE];
const KINDS: [u8; 3] = [PoolInit::KIND, PoolAlloc::KIND, SegAlloc::KIND];
const STREAM: [u8; 16] = *b"log of the bench";

/// One buffer: its block as it is filled, and how many events were in those before.
struct Buffer {
    index: u64,
    block: Vec<u8>,
    count: usize,
    first: u64,
    sequence: u64,
    base: u64,
    /// The ticks of the newest event.
    end: u64,
}

/// Writes a log of so many events.
pub(crate) fn write(event_count: u64, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(&header_block())?;
    let mut buffers: Vec<Buffer> = (0..BUFFER_COUNT).map(Buffer::new).collect();
    for i in 0..event_count {
        let index = (i / EVENTS_IN_A_ROW % BUFFER_COUNT) as usize;
        buffers[index].record(i);
        if buffers[index].count == EVENTS_IN_BLOCK {
            buffers[index].write(to)?;
        }
    }
    buffers.iter_mut().filter(|buffer| buffer.count != 0).try_for_each(|buffer| buffer.write(to))
}

/// The stream header, and the registry as a part after it.
fn header_block() -> Vec<u8> {
    let mut header = StreamHeader::native(BLOCK_SIZE_LOG2);
    header.uuid = STREAM;
    header.clock_source = 1.into();
    header.seal();
    let mut encoding = Vec::new();
    encode_registry(&events::REGISTRY, u64::MAX, u64::MAX, &mut |bytes| {
        encoding.extend_from_slice(bytes);
    });
    let mut part = block_header(BlockType::Registry);
    part.registry = 1.into();
    part.top = (encoding.len() as u32).into();
    part.sequence = (encoding.len() as u64).into();
    part.seal(&encoding);
    let mut block = [bytes_of(&header), bytes_of(&part), &encoding].concat();
    block.resize(BLOCK_SIZE, 0);
    block
}

fn block_header(block_type: BlockType) -> BlockHeader {
    let mut header = BlockHeader::native(block_type, BLOCK_SIZE_LOG2);
    header.stream.copy_from_slice(&STREAM[..8]);
    header
}

fn bytes_of<T: bytemuck::NoUninit>(value: &T) -> &[u8] {
    bytemuck::bytes_of(value)
}

impl Buffer {
    fn new(index: u64) -> Buffer {
        Buffer {
            index,
            block: vec![0; BLOCK_SIZE],
            count: 0,
            first: 0,
            sequence: 0,
            base: 0,
            end: 0,
        }
    }

    fn record(&mut self, i: u64) {
        let ticks = START + i * TICKS_BETWEEN_EVENTS;
        self.base = if self.count == 0 { ticks } else { self.base };
        self.end = ticks;
        self.count += 1;
        let last = BLOCK_SIZE - self.count * EVENT_SIZE;
        let delta = (ticks - self.base) as u32;
        let params = [0x7F49_6000_3000 + self.index, 0x7F49_60DF_8000 + i * 16, i % 4096];
        let event = &mut self.block[last..last + EVENT_SIZE];
        event[..2].copy_from_slice(&CODES[self.index as usize % 3].to_ne_bytes());
        event[2..4].copy_from_slice(&(EVENT_SIZE as u16).to_ne_bytes());
        event[4..8].copy_from_slice(&delta.to_ne_bytes());
        for (place, param) in event[8..].chunks_exact_mut(8).zip(params) {
            place.copy_from_slice(&param.to_ne_bytes());
        }
    }

    fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        let last = BLOCK_SIZE - self.count * EVENT_SIZE;
        let mut header = block_header(BlockType::Events);
        header.registry = 1.into();
        header.kind = KINDS[self.index as usize % 3];
        header.last = (last as u32).into();
        header.top = (BLOCK_SIZE as u32).into();
        header.count = (self.count as u32).into();
        header.buffer = (self.index as u32 + 1).into();
        header.sequence = self.sequence.into();
        header.first = self.first.into();
        header.base = self.base.into();
        header.base_last = self.base.into();
        // As the runtime does: the clocks when the block was full, here with ticks of 1 ns.
        header.set_sync(ClockSync {
            ticks: self.end,
            monotonic: self.end,
            realtime: REALTIME_START + (self.end - START),
            uncertainty: 50,
        });
        header.thread = (self.index as u32 / 3 + 1).into();
        header.seal(&self.block[last..]);
        self.block[..BLOCK_HEADER_SIZE].copy_from_slice(bytes_of(&header));
        to.write_all(&self.block)?;
        self.block.fill(0);
        self.sequence += 1;
        self.first += self.count as u64;
        self.count = 0;
        Ok(())
    }
}
