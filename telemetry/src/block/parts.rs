//! A block of parts, as it is built in memory.
//!
//! ```text
//!  │ header │ part │ part │ part │ 0 0 0 … │         written: the host has it up to here
//!            └ 128 ─ payload ─ zeros to 8  └ used
//! ```
//!
//! Knows no lock and no host. Design: section 4 of `design/format.md`.

use crate::block::memory::{self, PartsMemory};
use crate::block::registry_encoding::Piece;
use crate::block::{identity, root};
use eventlog::format::{
    BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader, BlockType, STREAM_HEADER_SIZE, StreamHeader,
};

const PART_ALIGNMENT: usize = 8;
/// The header block keeps its size divided by this for the last account.
const KEPT_FRACTION: usize = 4;

pub(crate) struct PartsBlock {
    memory: PartsMemory,
    place: u64,
    begin: usize,
    used: usize,
    written: usize,
    /// The latest end of its parts.
    end: usize,
}

impl PartsBlock {
    /// Begins block 0: the stream header, then parts (`.header.parts`).
    pub(crate) fn begin_stream(mut memory: PartsMemory, header: &StreamHeader) -> PartsBlock {
        memory.clear();
        memory.put(0, bytemuck::bytes_of(header));
        let (begin, end) = (STREAM_HEADER_SIZE, memory.bytes().len());
        PartsBlock { memory, place: 0, begin, used: begin, written: 0, end }
    }

    /// Reserves room in the header block for the [last account](PartsBlock::begin_last).
    pub(crate) fn keep_room(&mut self) {
        self.end -= PartsBlock::kept_size(self.memory.bytes().len());
    }

    /// Returns the size of that room in a header block of this size.
    pub(crate) fn kept_size(block_size: usize) -> usize {
        block_size / KEPT_FRACTION
    }

    /// Returns memory for blocks, without a block in it.
    pub(crate) fn idle(memory: PartsMemory) -> PartsBlock {
        let size = memory.bytes().len();
        PartsBlock { memory, place: 0, begin: size, used: size, written: size, end: size }
    }

    /// Begins another block in the same memory (`.parts.header`): number `sequence` of the stream,
    /// at this place.
    pub(crate) fn begin(&mut self, place: u64, sequence: u64, stream: [u8; 8]) {
        self.memory.clear();
        self.memory.put(0, bytemuck::bytes_of(&block_header(sequence, stream)));
        self.place = place;
        self.begin = BLOCK_HEADER_SIZE;
        self.used = BLOCK_HEADER_SIZE;
        self.written = 0;
        self.end = self.memory.bytes().len();
    }

    /// Makes `block` a parts block without parts, number `sequence` of the stream.
    pub(crate) fn put_empty(block: &mut [u8], sequence: u64) {
        let header = block_header(sequence, identity::id());
        let (head, rest) = block.split_at_mut(BLOCK_HEADER_SIZE);
        head.copy_from_slice(bytemuck::bytes_of(&header));
        rest.fill(0);
    }

    /// Continues in the block at a place. The host has `used` bytes of it, then zeros.
    pub(crate) fn begin_last(&mut self, place: u64, used: usize) {
        self.memory.clear();
        self.place = place;
        (self.begin, self.used, self.written) = (used, used, used);
        self.end = self.memory.bytes().len();
    }

    /// Releases the room that was reserved for the last account.
    pub(crate) fn open_kept(&mut self) {
        self.end = self.memory.bytes().len();
    }

    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Returns the greatest payload of a part in a parts block of this size (`.parts.fits`).
    pub(crate) fn payload_size_max(block_size: usize) -> usize {
        block_size - 2 * BLOCK_HEADER_SIZE
    }

    /// Returns the greatest payload of the next part here, if a part has room.
    pub(crate) fn room(&self) -> Option<usize> {
        self.end.checked_sub(self.used + BLOCK_HEADER_SIZE)
    }

    /// Puts a part (`.parts.chain`): its header, sealed here (`.parts.sealed`), and its payload of
    /// top − last bytes. Returns false if the part does not fit.
    pub(crate) fn push(&mut self, mut header: BlockHeader, payload: &[u8]) -> bool {
        if self.room().is_none_or(|room| room < payload.len()) {
            return false;
        }
        header.seal(payload);
        let begin = self.used + BLOCK_HEADER_SIZE;
        self.memory.put(begin, payload);
        self.memory.put(self.used, bytemuck::bytes_of(&header));
        let end = (begin + payload.len()).next_multiple_of(PART_ALIGNMENT);
        self.used = end.min(self.memory.bytes().len());
        true
    }

    /// Returns whether this is a header block, none of whose bytes the host has.
    pub(crate) fn is_header(&self) -> bool {
        self.place == 0 && self.written == 0
    }

    /// Returns the bytes that the host lacks, and their offset in the stream (`.stream.grow`).
    pub(crate) fn unwritten(&self) -> (u64, &[u8]) {
        (self.offset() + self.written as u64, &self.memory.bytes()[self.written..self.used])
    }

    /// Returns the bytes that the host lacks to the end of the block, including its zeros.
    pub(crate) fn unwritten_padded(&self) -> (u64, &[u8]) {
        (self.offset() + self.written as u64, &self.memory.bytes()[self.written..])
    }

    /// Passes on the header of the first part that the host lacks.
    pub(crate) fn first_unwritten(&self, give: impl FnOnce(&BlockHeader)) {
        if let Some((_, header, _)) = self.not_written().next() {
            give(&header);
        }
    }

    /// Returns the end of the first part that the host lacks, if other parts follow it.
    pub(crate) fn end_of_first_unwritten(&self) -> Option<usize> {
        let (end, ..) = self.not_written().next()?;
        (end < self.used).then_some(end)
    }

    /// Returns the bytes before `end` that the host lacks, and their offset in the stream.
    pub(crate) fn unwritten_to(&self, end: usize) -> (u64, &[u8]) {
        (self.offset() + self.written as u64, &self.memory.bytes()[self.written..end])
    }

    /// Notes that the host has the parts before `end`.
    pub(crate) fn mark_written_to(&mut self, end: usize) {
        self.written = end;
    }

    /// Notes that the host has all parts. (If it also has zeros after them, later parts may replace
    /// those.)
    pub(crate) fn mark_written(&mut self) {
        self.written = self.used;
    }

    /// Notes that the host has the block to its end. The block takes no more parts.
    pub(crate) fn close(&mut self) {
        self.used = self.memory.bytes().len();
        self.written = self.used;
    }

    /// Returns whether the host lacks some parts.
    pub(crate) fn is_unwritten(&self) -> bool {
        self.written < self.used
    }

    /// Passes on each part of events that the host lacks, or may lack, until `take` fails.
    pub(crate) fn each_unwritten<E>(
        &self,
        mut take: impl FnMut(&BlockHeader, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let events = BlockType::Events as u8;
        let mut parts = self.not_written().filter(|(_, header, _)| header.block_type == events);
        parts.try_for_each(|(_, header, payload)| take(&header, payload))
    }

    /// Returns the parts that the host lacks.
    fn not_written(&self) -> impl Iterator<Item = (usize, BlockHeader, &[u8])> {
        each(&self.memory.bytes()[..self.used], self.written.max(self.begin))
    }

    pub(crate) fn into_memory(self) -> PartsMemory {
        self.memory
    }

    pub(crate) fn place(&self) -> u64 {
        self.place
    }

    fn offset(&self) -> u64 {
        self.place * self.memory.bytes().len() as u64
    }
}

/// Returns the header of the parts block with this number in the stream (`.parts.header`).
pub(crate) fn block_header(sequence: u64, stream: [u8; 8]) -> BlockHeader {
    let size = memory::block_size() as u32;
    let mut header = BlockHeader::native(BlockType::Parts, memory::block_size_log2());
    header.stream = stream;
    header.last = size.into();
    header.top = size.into();
    header.sequence = sequence.into();
    header.seal(&[]);
    header
}

/// Returns the header of a part without events.
pub(crate) fn header(block_type: BlockType) -> BlockHeader {
    let mut header = BlockHeader::native(block_type, memory::block_size_log2());
    header.stream = identity::id();
    header.set_sync(root::sync());
    header
}

/// Returns the header of a piece of a registry (`.part.registry`).
pub(crate) fn piece_header(index: u16, offset: usize, piece: &Piece) -> BlockHeader {
    let mut header = header(BlockType::Registry);
    header.registry = index.into();
    header.first = (offset as u64).into();
    header.sequence = (piece.whole as u64).into();
    header.top = (piece.size as u32).into();
    header
}

/// Returns the size of the whole parts at the beginning of a parts block (or the header block). If
/// the block was copied while a part was put, these are the parts before it.
pub(crate) fn sound_size(bytes: &[u8], is_first: bool) -> usize {
    let begin = if is_first { STREAM_HEADER_SIZE } else { BLOCK_HEADER_SIZE };
    let is_sound = |(_, header, payload): &(usize, BlockHeader, &[u8])| {
        header.magic == BLOCK_MAGIC
            && header.is_sealed()
            && header.checksum(payload) == header.crc.get()
    };
    each(bytes, begin).take_while(is_sound).last().map_or(begin, |(end, ..)| end)
}

/// Returns the parts from an offset on: the end of each, its header, its payload.
fn each(bytes: &[u8], mut at: usize) -> impl Iterator<Item = (usize, BlockHeader, &[u8])> {
    core::iter::from_fn(move || {
        let (head, rest) = bytes.get(at..)?.split_at_checked(BLOCK_HEADER_SIZE)?;
        let header: BlockHeader = bytemuck::pod_read_unaligned(head);
        let payload = rest.get(..header.payload_size())?;
        let end = (at + BLOCK_HEADER_SIZE + payload.len()).next_multiple_of(PART_ALIGNMENT);
        at = end.min(bytes.len());
        Some((at, header, payload))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream_begun() -> PartsBlock {
        let mut header = StreamHeader::native(memory::block_size_log2());
        header.seal();
        PartsBlock::begin_stream(PartsMemory::map().expect("memory"), &header)
    }

    fn part(size: u32, count: u32) -> BlockHeader {
        let mut header = BlockHeader::native(BlockType::Events, memory::block_size_log2());
        header.last = 1000.into();
        header.top = (1000 + size).into();
        header.count = count.into();
        header
    }

    fn push(parts: &mut PartsBlock, size: u32, count: u32) -> bool {
        parts.push(part(size, count), &vec![0xEE; size as usize])
    }

    /// `.parts.chain`, `.parts.payload`, `.parts.sealed`, `.header.parts`
    #[test]
    fn parts_follow_one_another_at_multiples_of_eight() {
        let mut parts = stream_begun();
        assert!(push(&mut parts, 20, 1) && push(&mut parts, 8, 2));
        let (offset, bytes) = parts.unwritten();
        assert_eq!((offset, bytes.len()), (0, 512 + 128 + 24 + 128 + 8));
        let second = 512 + 128 + 24;
        let header: BlockHeader = bytemuck::pod_read_unaligned(&bytes[second..second + 128]);
        assert!(header.is_sealed());
        assert_eq!(header.crc.get(), header.checksum(&[0xEE; 8]));
        assert_eq!(bytes[512 + 128 + 19..512 + 128 + 24], [0xEE, 0, 0, 0, 0]);
    }

    /// `.stream.grow`: written bytes are not written again.
    #[test]
    fn a_second_flush_writes_the_bytes_after_the_first() {
        let mut parts = stream_begun();
        push(&mut parts, 8, 1);
        parts.mark_written();
        assert!(parts.unwritten().1.is_empty());
        push(&mut parts, 16, 1);
        let (offset, bytes) = parts.unwritten();
        assert_eq!((offset, bytes.len()), (512 + 136, 144));
        assert_eq!(parts.unwritten_padded().1.len(), memory::block_size() - (512 + 136));
    }

    /// `.parts.fits`, `.parts.header`
    #[test]
    fn a_part_that_does_not_fit_goes_into_the_next_block() {
        let mut parts = stream_begun();
        let block_size = memory::block_size();
        let size = (block_size - 512 - 128) as u32;
        assert!(!push(&mut parts, size + 1, 1) && push(&mut parts, size, 1));
        assert_eq!(parts.room(), None);
        parts.begin(5, 3, [7; 8]);
        let (offset, bytes) = parts.unwritten();
        assert_eq!((offset, bytes.len()), (5 * block_size as u64, 128));
        let header: BlockHeader = bytemuck::pod_read_unaligned(bytes);
        assert_eq!(header.block_type, BlockType::Parts as u8);
        assert_eq!((header.last.get(), header.top.get()), (block_size as u32, block_size as u32));
        assert_eq!((header.sequence.get(), header.stream), (3, [7; 8]));
        assert_eq!(header.crc.get(), header.checksum(&[]));
        let most = PartsBlock::payload_size_max(block_size) as u32;
        assert!(!push(&mut parts, most + 1, 1) && push(&mut parts, most, 1));
        assert!(parts.unwritten_padded().1[128 + 128 + most as usize..].is_empty());
    }

    /// `.sol.ordering`: a signal handler copies the block while its owner puts parts and begins it
    /// again. Miri and the thread sanitizer see a data race if a store is a plain one.
    #[test]
    fn a_concurrent_copy_holds_whole_parts() {
        let mut parts = stream_begun();
        let block = parts.memory.block();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut copy = vec![0; memory::block_size()];
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    block.peek(0, memory::block_size(), &mut copy);
                    let used = sound_size(&copy, false);
                    let mut at = BLOCK_HEADER_SIZE;
                    while at < used {
                        let header: BlockHeader = bytemuck::pod_read_unaligned(&copy[at..at + 128]);
                        let payload = &copy[at + 128..at + 128 + header.payload_size()];
                        assert!(payload.iter().all(|byte| *byte == header.count.get() as u8));
                        at += 128 + payload.len().next_multiple_of(8);
                    }
                }
            });
            for sequence in 0..if cfg!(miri) { 4 } else { 2000 } {
                parts.begin(1, sequence, [7; 8]);
                (1..8).for_each(|count| {
                    let size = 40 + 9 * count;
                    assert!(parts.push(part(size, count), &vec![count as u8; size as usize]));
                });
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    /// `.stream.grow`: the same bytes, whatever follows them.
    #[test]
    fn refused_bytes_are_written_again() {
        let mut parts = stream_begun();
        push(&mut parts, 8, 1);
        parts.mark_written();
        push(&mut parts, 20, 2);
        let (offset, bytes) = parts.unwritten();
        let failed = (offset, bytes.to_vec());
        push(&mut parts, 9, 3);
        let (offset, bytes) = parts.unwritten();
        assert_eq!((offset, &bytes[..failed.1.len()]), (failed.0, &failed.1[..]));
        parts.close();
        assert_eq!((parts.room(), parts.unwritten().1.len()), (None, 0));
    }
}
