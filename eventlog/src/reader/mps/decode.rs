//! Decodes a segment of an MPS stream to located events.
//!
//! ```text
//!  bytes  ├ event ┼ event ┼ event ┤     sizes are right: the index walked them
//!  located  ▲       ▲       ▲           code to row, clock to ticks
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

use super::platform::{Head, head, is_size, on_platform};
use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::{Decoded, Located, Segment};
use crate::reader::model::registry::Registry;
use byteorder::ByteOrder;

/// The fault of bytes that were events in the first pass.
const CHANGED: &str = "what was an event is none any more: the log changed while it was read";

/// Decodes a segment that the first pass cut between events.
pub(super) fn decode(
    segment: &Segment,
    registry: &Registry,
    decoded: &mut Decoded,
    faults: &mut Faults,
) {
    decoded.located.clear();
    // The count may be false: reserve no more than the bytes can hold.
    let count_max = decoded.bytes.len() / usize::from(registry.platform.event_header_size).max(1);
    decoded.located.reserve((segment.count as usize).min(count_max));
    decoded.first = segment.first;
    let end = on_platform!(registry.platform, decode_on(registry, decoded));
    if end < decoded.bytes.len() {
        let size = (decoded.bytes.len() - end) as u64;
        faults.push(segment.offset + end as u64, FaultKind::Mps { what: CHANGED, size });
    }
}

/// Decodes events whose headers have `HEADER` bytes. Returns the offset where they end.
#[inline(always)]
fn decode_on<O: ByteOrder, const HEADER: usize>(
    registry: &Registry,
    decoded: &mut Decoded,
) -> usize {
    let platform = registry.platform;
    let (bytes, located) = (decoded.bytes.as_slice(), &mut decoded.located);
    let mut offset = 0;
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        let event = match rest.first_chunk() {
            Some(start) => Some(Head::read::<O, HEADER>(start)),
            None => head(platform, rest),
        };
        let event = event.filter(|head| is_size(platform, head.size) && head.size <= rest.len());
        let Some(event) = event else { break };
        located.push(Located {
            ticks: event.clock,
            offset: offset as u32,
            size: event.size as u16,
            row: registry.row(event.code).index(),
        });
        offset += event.size;
    }
    offset
}
