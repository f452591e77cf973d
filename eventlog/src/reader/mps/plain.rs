//! Walks plain events in a tight loop: whole events of known types and the right sizes.
//!
//! ```text
//!  │ event │ event │ … │ event │ anything else: EventInit, unknown, damaged, cut
//!  └─ Run: how many, when ─────┘ ▲ end: the caller handles it
//! ```
//!
//! And decodes the events of a segment, which the index walked before: code to row, clock to ticks.
//! Design: `eventlog::reader` in `ARCHITECTURE.md`; layout: `.mps.event` in `design/format.md`.

use super::platform::{Fit, Head, Shapes, head, is_size, on_platform};
use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::{Decoded, KIND_MIXED, Located, Segment};
use crate::reader::model::registry::Registry;
use byteorder::ByteOrder;

/// A size that no event has.
const NO_SIZE: u32 = u32::MAX;

/// The facts about a code.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// The size of its events, or [`NO_SIZE`].
    size: u32,
    kind: u8,
    /// Whether a string gives its events their size.
    is_text: bool,
}

const NO_RULE: Rule = Rule { size: NO_SIZE, kind: 0, is_text: false };

/// The plain events of a registry.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    shapes: Shapes,
    rules: Vec<Rule>,
}

/// Consecutive plain events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Where they end in the bytes.
    pub(super) end: usize,
    pub(super) count: u32,
    pub(super) ticks_min: u64,
    pub(super) ticks_max: u64,
    pub(super) clock: u64,
    /// A bit for each of their kinds.
    kinds: u64,
}

impl Run {
    pub(super) fn of_one(event: Head, kind: u8) -> Run {
        Run {
            end: event.size,
            count: 1,
            ticks_min: event.clock,
            ticks_max: event.clock,
            clock: event.clock,
            // An unknown kind has no bit.
            kinds: 1_u64.checked_shl(kind.into()).unwrap_or(0),
        }
    }

    /// Returns their kind, or [`KIND_MIXED`].
    pub(super) fn kind(&self) -> u8 {
        if self.kinds.is_power_of_two() { self.kinds.trailing_zeros() as u8 } else { KIND_MIXED }
    }
}

impl Plain {
    /// Returns the plain events of a registry that is laid out for its platform, except those of
    /// one code.
    pub(super) fn new(registry: &Registry, shapes: &Shapes, except: Option<u16>) -> Plain {
        let code_last = registry.event_types.last().map_or(0, |row| row.code);
        let mut rules = vec![NO_RULE; usize::from(code_last) + 1];
        for row in registry.event_types.iter().filter(|row| Some(row.code) != except) {
            // A kind has a bit in the masks.
            if let Some(rule) = rules.get_mut(usize::from(row.code)).filter(|_| row.kind < 64) {
                let size = shapes.size_of(row.code).map_or(NO_SIZE, u32::from);
                *rule = Rule { size, kind: row.kind, is_text: size == NO_SIZE };
            }
        }
        Plain { shapes: shapes.clone(), rules }
    }

    /// Walks the plain events that begin in `bytes` at [start, end). `bytes` hold all of each
    /// event.
    pub(super) fn run(&self, bytes: &[u8], start: usize, end: usize) -> Run {
        on_platform!(self.shapes.platform, self.run_on(bytes, start, end))
    }

    /// Walks events whose headers have `HEADER` bytes.
    #[inline(always)]
    fn run_on<O: ByteOrder, const HEADER: usize>(
        &self,
        bytes: &[u8],
        start: usize,
        end: usize,
    ) -> Run {
        let (mut ticks_min, mut ticks_max) = (u64::MAX, 0);
        let (mut at, mut count, mut clock, mut kinds) = (start, 0, 0, 0);
        let rules = self.rules.as_slice();
        while at < end {
            let Some(head) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) else {
                break;
            };
            let head = Head::read::<O, HEADER>(head);
            let Some(rule) = rules.get(usize::from(head.code)) else { break };
            if rule.size != head.size as u32 && !self.is_text(rule, head, bytes, at) {
                break;
            }
            let next = at + head.size;
            if next > bytes.len() {
                break;
            }
            clock = head.clock;
            ticks_min = ticks_min.min(clock);
            ticks_max = ticks_max.max(clock);
            kinds |= 1 << (rule.kind & 63);
            count += 1;
            at = next;
        }
        Run { end: at, count, ticks_min, ticks_max, clock, kinds }
    }

    /// Returns whether a string event ends with its string.
    #[cold]
    fn is_text(&self, rule: &Rule, head: Head, bytes: &[u8], at: usize) -> bool {
        let rest = bytes.get(at..).unwrap_or_default();
        rule.is_text && self.shapes.fit(head, rest) == Fit::Exact
    }

    pub(super) fn shapes(&self) -> &Shapes {
        &self.shapes
    }
}

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
