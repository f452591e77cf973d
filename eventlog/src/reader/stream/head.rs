//! The stream header, and which of its fields the reader trusts.
//!
//! ```text
//!  512 bytes ── checksum right ──▶ believed
//!           └── wrong ──▶ first part or block that checks; the rest where plausible
//! ```
//!
//! Rules: `.read.major`, `.read.minor`, `.read.header-damage`, `.read.no-magic` in
//! `design/format.md`.

use super::block;
use crate::format::{
    BLOCK_HEADER_SIZE, BLOCK_MAGIC, BLOCK_SIZE_LOG2_MAX, BLOCK_SIZE_LOG2_MIN, BlockHeader,
    BlockType, FILE_COUNT_MAX, FORMAT_VERSION, STREAM_HEADER_SIZE, STREAM_MAGIC, StreamHeader,
};
use crate::reader::fault::kind::{FaultKind, OpenError};
use crate::reader::fault::list::Faults;
use crate::reader::model::registry::Platform;
use crate::reader::model::stream::Stream;
use crate::reader::source::bytes::Source;
use bytemuck::Zeroable;
use eventdef::Version;
use std::io;

pub(crate) const BLOCK_SIZE_MAX: usize = 1 << BLOCK_SIZE_LOG2_MAX;
/// The longest hole at the beginning of a log, in bytes.
const HOLE_SIZE_MAX: u64 = 1 << 40;

/// The trusted facts of a stream header.
pub(crate) struct Head {
    pub(crate) stream: Stream,
    /// The first eight bytes of the UUID; `None` if the first block must state them.
    pub(crate) id: Option<[u8; 8]>,
    pub(crate) block_size_log2: u8,
    /// Which file it is of those that were written side by side, and their number
    /// (`.header.file`).
    pub(crate) file: Option<(u32, u32)>,
    /// Offset of the parts in block 0.
    pub(crate) parts_at: usize,
    /// Whether the checksum is right: open blocks must then agree with the header (`.read.open`).
    pub(crate) is_right: bool,
}

fn known() -> Version {
    version(FORMAT_VERSION)
}

fn version([major, median, minor]: [u16; 3]) -> Version {
    Version { major, median, minor }
}

/// Returns whether a stream begins with these bytes: with the magic (`.header.magic`), or with a
/// sound part at the place of the first part (`.read.no-magic`).
pub(crate) fn is_stream(bytes: &[u8]) -> bool {
    bytes.starts_with(&STREAM_MAGIC)
        || bytes.get(STREAM_HEADER_SIZE..).and_then(part).is_some_and(|part| is_in_header(&part))
}

/// Returns whether a sound part may be one of the header block.
fn is_in_header(part: &BlockHeader) -> bool {
    part.block_type != BlockType::Parts as u8
}

/// Returns whether these bytes begin with a sound stream header (`.stream.again`).
pub(crate) fn is_sound(bytes: &[u8]) -> bool {
    StreamHeader::read(bytes).is_some_and(|header| header.is_sound())
}

/// Returns the first sound stream header that begins in [from, to).
pub(crate) fn next_sound(bytes: &[u8], from: usize, to: usize) -> Option<usize> {
    let mut places = memchr::memmem::find_iter(bytes.get(from..to)?, &STREAM_MAGIC);
    let is_stream = |at: &usize| bytes.get(from + at..).is_some_and(is_sound);
    places.find(is_stream).map(|at| from + at)
}

/// Returns the header of the block or part at an offset, if it can be read.
pub(crate) fn block_header_at(source: &dyn Source, offset: u64) -> Option<BlockHeader> {
    BlockHeader::read(&read_some(source, offset, BLOCK_HEADER_SIZE).ok()?)
}

/// Returns the header of the part at the start of these bytes, if the part is sound.
pub(crate) fn part(bytes: &[u8]) -> Option<BlockHeader> {
    let header = BlockHeader::read(bytes)?;
    (header.magic == BLOCK_MAGIC
        && header.is_sealed()
        && block::header_size(&header) >= BLOCK_HEADER_SIZE
        && block::is_intact(&header, bytes, true))
    .then_some(header)
}

/// Returns the first whole block of a log that has lost its beginning, and its offset
/// (`.read.beginning`).
pub(crate) fn first_block(source: &dyn Source) -> io::Result<Option<(u64, BlockHeader)>> {
    let mut start = 0;
    let bytes = loop {
        let bytes = read_some(source, start, 2 * BLOCK_SIZE_MAX)?;
        if bytes.iter().any(|&byte| byte != 0) || bytes.is_empty() || start >= HOLE_SIZE_MAX {
            break bytes;
        }
        start += bytes.len() as u64;
    };
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    start += zeros as u64;
    let bytes = read_some(source, start, 2 * BLOCK_SIZE_MAX)?;
    let mut effort = 2 * BLOCK_SIZE_MAX;
    for at in memchr::memmem::find_iter(&bytes, &BLOCK_MAGIC) {
        let Some((rest, header)) =
            bytes.get(at..).and_then(|rest| Some((rest, BlockHeader::read(rest)?)))
        else {
            break;
        };
        let is_whole = match BlockType::from_byte(header.block_type) {
            // A part without events has no payload either.
            Some(BlockType::Events) => {
                header.payload_size() > 0 && block::is_intact(&header, rest, false)
            }
            Some(BlockType::Parts) => block::is_header_intact(&header, rest),
            _ => false,
        };
        let log2_range = BLOCK_SIZE_LOG2_MIN..=BLOCK_SIZE_LOG2_MAX;
        if is_whole && header.is_sealed() && log2_range.contains(&header.block_size_log2) {
            return Ok(Some((start + at as u64, header)));
        }
        let size = header.payload_size().min(rest.len());
        let Some(left) = effort.checked_sub(size.saturating_add(BLOCK_HEADER_SIZE)) else { break };
        effort = left;
    }
    Ok(None)
}

/// What stands at the place of a stream header.
pub(crate) enum Found {
    Head(Box<Head>),
    /// The remains of one, and a sound one after them, at this offset.
    Behind(u64),
    /// Nothing of one. The first whole block is at this offset.
    Blocks(Box<Head>, u64),
}

/// Reads the stream header at `start`. Fails if the major version is too high (`.read.major`).
pub(crate) fn read(
    source: &dyn Source,
    start: u64,
    faults: &mut Faults,
) -> Result<Found, OpenError> {
    let mut bytes = read_some(source, start, STREAM_HEADER_SIZE)?;
    let is_cut = bytes.len() < STREAM_HEADER_SIZE;
    bytes.resize(STREAM_HEADER_SIZE, 0);
    let header: StreamHeader = bytemuck::pod_read_unaligned(&bytes);
    let is_right = header.is_sound();
    let mut near = Vec::new();
    if !is_right || header.block_size_log2().is_none() {
        near = read_some(source, start, 2 * BLOCK_SIZE_MAX)?;
    }
    let evidence = find_sound(&near, 0, true, &mut (2 * BLOCK_SIZE_MAX));
    let found = version(header.version.map(|part| part.get()));
    // In a cut header, or before a sound part, a wrong version is damage.
    let is_proven =
        evidence.as_ref().is_some_and(|(at, part)| *at == STREAM_HEADER_SIZE && is_in_header(part));
    let is_damaged = !is_right && (is_cut || is_proven);
    if header.magic != STREAM_MAGIC
        && !is_proven
        && start == 0
        && let Some((at, block)) = first_block(source)?
    {
        let before = at.saturating_sub(2 * BLOCK_SIZE_MAX as u64);
        let near = read_some(source, before, (at - before) as usize)?;
        if let Some(behind) = next_sound(&near, 0, near.len()) {
            faults.push(0, FaultKind::HeaderMissing);
            return Ok(Found::Behind(before + behind as u64));
        }
        faults.push(0, FaultKind::Beginning { size: at });
        let (nothing, ignored) = (StreamHeader::zeroed(), &mut Faults::default());
        let head = settle(&nothing, 0, Some(&block), false, ignored);
        return Ok(Found::Blocks(Box::new(head), at));
    }
    if header.magic == STREAM_MAGIC && found.major != known().major && !is_damaged {
        return Err(OpenError::Major { found, known: known() });
    }
    if header.magic != STREAM_MAGIC {
        faults.push(start, FaultKind::HeaderMissing);
    } else if !is_right {
        faults.push(start, FaultKind::HeaderChecksum);
    } else if found > known() {
        faults.push(start, FaultKind::HeaderVersion { found, known: known() });
    }
    // A sound part after another header belongs to that header's stream (`.read.header-damage`).
    if let (false, Some((at, _))) = (is_right, &evidence)
        && let Some(behind) = next_sound(&near, 1, *at)
    {
        return Ok(Found::Behind(start.saturating_add(behind as u64)));
    }
    let evidence = evidence.as_ref().map(|(_, header)| header);
    Ok(Found::Head(Box::new(settle(&header, start, evidence, is_right, faults))))
}

pub(crate) fn read_some(source: &dyn Source, offset: u64, size: usize) -> io::Result<Vec<u8>> {
    let left = usize::try_from(source.size().saturating_sub(offset)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; size.min(left)];
    let size = source.read_at(offset, &mut bytes)?;
    bytes.truncate(size);
    Ok(bytes)
}

/// Finds the next sound part from an offset on, a multiple of 8, or optionally the next sound block
/// of events (`.parts.sealed`). Its facts about the stream are right. `effort` limits the bytes
/// that are checked in vain: bytes full of magics must not take forever.
pub(crate) fn find_sound(
    bytes: &[u8],
    from: usize,
    with_blocks: bool,
    effort: &mut usize,
) -> Option<(usize, BlockHeader)> {
    let places = memchr::memmem::find_iter(bytes.get(from..)?, &BLOCK_MAGIC);
    for at in places.map(|at| from + at).filter(|at| at % 8 == 0) {
        let rest = bytes.get(at..)?;
        if let Some(header) = part(rest) {
            return Some((at, header));
        }
        let header = BlockHeader::read(rest)?;
        let is_block = header.block_type == BlockType::Events as u8 && at % (1 << 12) == 0;
        if with_blocks && is_block && header.is_sealed() && block::is_intact(&header, rest, false) {
            return Some((at, header));
        }
        let size = header.payload_size().min(rest.len());
        *effort = effort.checked_sub(size.saturating_add(BLOCK_HEADER_SIZE))?;
    }
    None
}

/// Returns which file a header says that it is of how many, if that can be.
fn file_of(header: &StreamHeader) -> Option<(u32, u32)> {
    let (file, count) = (header.file.get(), header.file_count.get());
    (file < count && (2..=FILE_COUNT_MAX).contains(&count)).then_some((file, count))
}

/// Decides which facts to trust: block size (`.header.block-size`), offset of the parts
/// (`.header.parts`), word size (`.header.word`), UUID (`.header.uuid`). It ignores reserved bytes
/// (`.reserved`).
fn settle(
    header: &StreamHeader,
    start: u64,
    evidence: Option<&BlockHeader>,
    is_right: bool,
    faults: &mut Faults,
) -> Head {
    let mut replace = |field, found: u64, used: u64| {
        if found != used {
            faults.push(start, FaultKind::HeaderField { field, found, used });
        }
    };
    let log2_range = BLOCK_SIZE_LOG2_MIN..=BLOCK_SIZE_LOG2_MAX;
    let log2 = evidence.map(|block| block.block_size_log2).filter(|log2| log2_range.contains(log2));
    let log2 = log2.or(header.block_size_log2()).unwrap_or(BLOCK_SIZE_LOG2_MIN);
    // All other fields of a sound header are trusted.
    let evidence = evidence.filter(|_| !is_right);
    // `.header.block-size`
    replace("block size", u64::from(header.block_size.get()), 1 << log2);
    let header_size = usize::from(header.header_size.get());
    let is_size_right = header_size >= STREAM_HEADER_SIZE
        && header_size <= 1 << log2
        && header_size % 8 == 0
        && evidence.is_none();
    let parts_at = if is_size_right { header_size } else { STREAM_HEADER_SIZE };
    replace("header size", header_size as u64, parts_at as u64);
    let platform = evidence.map(block::platform).unwrap_or_else(|| {
        // `.header.word`
        let word_size = if header.word_size == 4 { 4 } else { 8 };
        replace("word size", u64::from(header.word_size), u64::from(word_size));
        Platform::stream(header.is_big_endian().unwrap_or(false), word_size)
    });
    let id = evidence.map(|block| block.stream);
    let id = id.or_else(|| header.uuid.first_chunk().copied().filter(|_| is_right));
    Head {
        stream: Stream::of_header(header, start, platform, 1 << log2),
        id,
        block_size_log2: log2,
        file: file_of(header).filter(|_| is_right),
        parts_at,
        is_right,
    }
}
