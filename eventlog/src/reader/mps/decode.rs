//! A piece of an MPS stream to located events.
//!
//! ```text
//!  bytes  ├ event ┼ event ┼ event ┤     sizes are right: the index walked them
//!  located  ▲       ▲       ▲           code to row, clock to ticks
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

use super::platform::{head, is_size};
use crate::reader::fault::FaultKind;
use crate::reader::faults::Faults;
use crate::reader::registry::Registry;
use crate::reader::segment::{Decoded, Located, Segment};

/// What is said of bytes that were events when the stream was indexed.
const CHANGED: &str = "what was an event is none any more: the log changed while it was read";

/// Decodes a segment that the index cut at event boundaries.
pub(super) fn decode(
    segment: &Segment,
    registry: &Registry,
    decoded: &mut Decoded,
    faults: &mut Faults,
) {
    let platform = registry.platform;
    decoded.located.clear();
    decoded.first = segment.first;
    let mut offset = 0;
    while let Some(rest) = decoded.bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        let event = head(platform, rest);
        let Some(event) =
            event.filter(|head| is_size(platform, head.size) && head.size <= rest.len())
        else {
            let size = rest.len() as u64;
            faults.push(segment.offset + offset as u64, FaultKind::Mps { what: CHANGED, size });
            return;
        };
        decoded.located.push(Located {
            ticks: event.clock,
            offset: offset as u32,
            size: event.size as u16,
            row: registry.row(event.code).index(),
        });
        offset += event.size;
    }
}
