//! Header and registries of a log that is made of another log.
//!
//! ```text
//!  Stream ──▶ StreamHeader, as the other log has it        Registry ──▶ its encoding (5.1)
//! ```
//!
//! Layout: 2.1 and 5.1 of `design/format.md`.

use super::super::origin::{numbered_uuid, put_name};
use crate::format::schema::put_registry;
use crate::format::{
    BLOCK_SIZE_LOG2_MAX, BLOCK_SIZE_LOG2_MIN, FORMAT_VERSION, STREAM_CUT, STREAM_HEADER_SIZE,
    STREAM_RING, StreamHeader, U16le,
};
use crate::reader::segment::Segment;
use crate::reader::{Format, Log, Platform, Registry, Stream};
use crate::reader::{block, head};
use std::collections::HashMap;

/// log2 of the block size for an MPS log, whose events may have 64 KiB.
const MPS_BLOCK_SIZE_LOG2: u8 = 17;
/// Room of a block in addition to one event of an MPS log, at least.
const MPS_ROOM: u32 = 512;
/// Bytes that identify a stream of an MPS log.
const MPS_HEAD_SIZE: usize = 1 << 16;

/// Returns log2 of the block size: that of the stream, or of a volume or copy with larger blocks.
pub(super) fn block_size_log2<'a>(
    log: &Log,
    stream: &Stream,
    segments: impl Iterator<Item = &'a Segment>,
) -> u8 {
    if log.format() == Format::Mps {
        let largest = segments.map(|segment| segment.size).max().unwrap_or(0);
        // Events are at most as large as their runs, except for the padding of strings.
        let room = largest.saturating_add(MPS_ROOM).next_power_of_two().max(1).ilog2() as u8;
        return room.clamp(BLOCK_SIZE_LOG2_MIN, MPS_BLOCK_SIZE_LOG2);
    }
    let is_block = |segment: &&Segment| segment.flags & block::PART == 0;
    let largest = segments.filter(is_block).map(|segment| segment.size).max().unwrap_or(0);
    let size = largest.max(stream.block_size).max(1);
    let log2 = size.checked_next_power_of_two().map_or(u32::MAX, u32::ilog2);
    u8::try_from(log2).unwrap_or(u8::MAX).clamp(BLOCK_SIZE_LOG2_MIN, BLOCK_SIZE_LOG2_MAX)
}

/// Returns the header of a stream, not sealed.
pub(super) fn header(log: &Log, uuid: [u8; 16], stream: &Stream, log2: u8) -> StreamHeader {
    // An unreadable header counts as damaged.
    let old = head::read_some(log.source(), stream.offset, STREAM_HEADER_SIZE).unwrap_or_default();
    let is_right = |old: &StreamHeader| {
        log.format() == Format::Stream && old.is_sound() && old.uuid == stream.uuid
    };
    let old = StreamHeader::read(&old).filter(is_right);
    let mut header = old.unwrap_or_else(|| described(uuid, stream));
    set_platform(&mut header, stream.platform);
    header.version = FORMAT_VERSION.map(U16le::new);
    header.header_size = (STREAM_HEADER_SIZE as u16).into();
    header.block_size = (1u32 << log2).into();
    header.flags = (header.flags.get() & !(STREAM_RING | STREAM_CUT)).into();
    header.volume = stream.volumes.0.into();
    header.ring_count = 0.into();
    // A copy is one file.
    (header.file, header.file_count) = (0.into(), 0.into());
    header.reserved_432 = [0; 10];
    header
}

/// Sets the platform that decodes the events. A header may state an impossible platform
/// (`.header.word`).
fn set_platform(header: &mut StreamHeader, platform: Platform) {
    header.set_big_endian(platform.big_endian);
    if header.word_size != platform.word_size {
        header.word_size = platform.word_size;
        header.address_size = platform.word_size;
    }
}

/// Returns a header made of known facts.
fn described(uuid: [u8; 16], stream: &Stream) -> StreamHeader {
    let mut header = StreamHeader::native(BLOCK_SIZE_LOG2_MIN);
    header.word_size = 0;
    set_platform(&mut header, stream.platform);
    header.architecture = stream.architecture.into();
    header.uuid = uuid;
    header.boot_id = stream.boot_id;
    header.parent = stream.parent;
    header.pid = stream.pid.into();
    header.parent_pid = stream.parent_pid.into();
    header.start = stream.start.into();
    header.clock_source = stream.clock_source.into();
    // An approximate rate is not stated: the events give it again.
    let rate = if stream.is_rate_approximate { 0 } else { stream.clock_rate };
    header.clock_rate = rate.into();
    header.set_sync(stream.syncs.first().copied().unwrap_or_default());
    put_name(&mut header.producer, &stream.producer);
    put_name(&mut header.host, &stream.host);
    put_name(&mut header.program, &stream.program);
    header
}

/// Returns the UUIDs of the streams of a log. `first` returns the first segment of a stream.
pub(super) fn uuids<'l>(log: &'l Log, first: impl Fn(u16) -> Option<&'l Segment>) -> Vec<[u8; 16]> {
    let streams = log.streams().iter();
    if log.format() == Format::Stream {
        let own = |(index, stream)| own_uuid(log, first(index), stream);
        return (0..).zip(streams).map(own).collect();
    }
    let mut counts: HashMap<[u8; 16], u32> = HashMap::new();
    let made = streams.map(|stream| {
        let head = head::read_some(log.source(), stream.offset, MPS_HEAD_SIZE).unwrap_or_default();
        let uuid = numbered_uuid(&head, &[]);
        let count = counts.entry(uuid).or_default();
        *count += 1;
        if *count == 1 { uuid } else { numbered_uuid(&head, &(*count - 1).to_le_bytes()) }
    });
    made.collect()
}

/// Returns the UUID of a stream in our format.
fn own_uuid(log: &Log, segment: Option<&Segment>, stream: &Stream) -> [u8; 16] {
    let mut uuid = stream.uuid;
    // If the header is damaged, blocks state half of the UUID.
    let found = segment.and_then(|at| head::block_header_at(log.source(), at.offset));
    if let (Some(found), Some(to)) = (found, uuid.first_chunk_mut()) {
        *to = found.stream;
    }
    uuid
}

pub(super) fn is_known(registry: &Registry) -> bool {
    !(registry.event_types.is_empty() && registry.kinds.is_empty() && registry.name.is_empty())
}

pub(super) fn registry(registry: &Registry) -> Vec<u8> {
    let mut bytes = Vec::new();
    let put: &mut dyn FnMut(&[u8]) = &mut |piece| bytes.extend_from_slice(piece);
    put_registry!(registry, registry.recorded, registry.output, put);
    bytes
}
