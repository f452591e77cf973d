//! Open segments, and the cache of what is decoded of them.
//!
//! ```text
//!  Open: decoded whole ──too much in memory──▶ its next few events ──still too much──▶ nothing, decoded again at need
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

use super::event::Event;
use super::filter::Action;
use super::label::Labels;
use super::registry::Registry;
use super::segment::{Decoded, KIND_MIXED, Located};
use std::collections::VecDeque;
use std::rc::Rc;

/// Memory of the decoded segments that are kept, in bytes, but for the one being read.
pub const CACHE_SIZE_MAX: usize = 24 << 20;

/// Buffers that are kept for use again, and the most memory that one of them may hold.
const SPARE_COUNT_MAX: usize = 8;
const SPARE_SIZE_MAX: usize = 4 << 20;

/// The place of an event in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) ticks: u64,
    /// Stream and buffer.
    pub(crate) buffer: u64,
    pub(crate) number: u64,
}

impl Key {
    /// Later than any.
    pub(crate) const LAST: Key = Key { ticks: u64::MAX, buffer: u64::MAX, number: u64::MAX };
}

/// A segment that is being read.
pub(crate) struct Open<'l> {
    pub(crate) registry: &'l Registry,
    pub(crate) actions: Option<Rc<[Action]>>,
    pub(crate) decoded: Decoded,
    /// Events given, in the order of reading.
    pub(crate) position: u32,
    /// Events in all; those that are decoded at the moment may be fewer.
    pub(crate) count: u32,
    pub(crate) segment: u32,
    pub(crate) offset: u64,
    pub(crate) buffer: u64,
    pub(crate) thread: u32,
    pub(crate) stream: u16,
    pub(crate) kind: u8,
    /// Whether it was read from since the cache last looked.
    pub(crate) is_used: bool,
}

impl Open<'_> {
    /// The place of the next event in order of time, if it is decoded.
    #[inline(always)]
    pub(crate) fn key(&self) -> Option<Key> {
        let (place, located) = self.decoded.get(self.position as usize)?;
        let number = self.decoded.first.wrapping_add(place as u64);
        Some(Key { ticks: located.ticks, buffer: self.buffer, number })
    }
}

/// The event that is located in an open segment.
#[inline(always)]
pub(crate) fn event<'a>(
    open: &'a Open<'_>,
    number: u64,
    located: &Located,
    labels: &'a Labels,
) -> Event<'a> {
    let event_type = open.registry.event_types.get(usize::from(located.row));
    Event {
        ticks: located.ticks,
        registry: open.registry,
        event_type,
        bytes: open.decoded.event(located),
        labels,
        offset: open.offset.wrapping_add(u64::from(located.offset)),
        number,
        buffer: open.buffer as u32,
        thread: open.thread,
        stream: open.stream,
        kind: match event_type {
            Some(event_type) if open.kind == KIND_MIXED => event_type.kind,
            _ => open.kind,
        },
    }
}

/// The decoded segments that are kept.
#[derive(Default)]
pub(crate) struct Cache {
    /// Slots that may be put out, in the order of looking.
    resident: VecDeque<u32>,
    /// Memory of all that is decoded, in bytes.
    pub(crate) memory: usize,
    /// Buffers to use again.
    spare: Vec<Decoded>,
}

impl Cache {
    pub(crate) fn take(&mut self) -> Decoded {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn keep(&mut self, mut decoded: Decoded) {
        if self.spare.len() < SPARE_COUNT_MAX && decoded.memory() < SPARE_SIZE_MAX {
            decoded.clear();
            self.spare.push(decoded);
        }
    }

    /// Takes in a segment that was decoded, and puts others out while there is too much: of those, the next few
    /// events are kept, so that taking turns among many segments does not decode one for each event.
    pub(crate) fn admit(&mut self, open: &mut [Open<'_>], slot: u32) {
        self.resident.push_back(slot);
        let window = CACHE_SIZE_MAX / 2 / (open.len() + 1);
        // Each is looked at three times at most: used, whole, window.
        let mut looks = self.resident.len().saturating_mul(3);
        while self.memory > CACHE_SIZE_MAX && looks > 0 {
            looks -= 1;
            let Some(victim) = self.resident.pop_front() else { break };
            let Some(out) = open.get_mut(victim as usize) else { continue };
            let before = out.decoded.memory();
            if before == 0 {
                continue; // Closed, or put out.
            }
            if victim == slot || std::mem::take(&mut out.is_used) {
                self.resident.push_back(victim);
                continue;
            }
            let kept = if before > 2 * window {
                self.resident.push_back(victim);
                out.decoded.window(out.position as usize, window)
            } else {
                Decoded::default()
            };
            self.memory = self.memory.saturating_sub(before - kept.memory().min(before));
            self.keep(std::mem::replace(&mut out.decoded, kept));
        }
    }
}
