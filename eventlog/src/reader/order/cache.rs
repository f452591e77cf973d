//! Open segments, and the cache of their decoded events.
//!
//! ```text
//!  Open: decoded whole ──too much in memory──▶ its next few events ──still──▶ nothing
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

use super::filter::Action;
use crate::reader::index::align::Line;
use crate::reader::index::segment::{Decoded, Located, Segment};
use crate::reader::model::event::Event;
use crate::reader::model::label::Labels;
use crate::reader::model::registry::Registry;
use crate::reader::model::stream::Stream;
use std::collections::VecDeque;
use std::sync::Arc;

/// Memory of the decoded segments in bytes, at most: without the current segment, and without
/// `BUFFER_SIZE_MAX` for each buffer.
pub const CACHE_SIZE_MAX: usize = 24 << 20;

/// Additional memory for each buffer of the log: one smallest block, because two readings may run
/// side by side. Events that alternate among thousands of buffers are decoded once for each window,
/// so long windows pay.
const BUFFER_SIZE_MAX: usize = 4 << 10;
/// The part of the cache for windows, in eighths.
const WINDOW_EIGHTHS: usize = 7;

/// Buffers that are kept for use again, and the memory of one of them, at most.
const SPARE_COUNT_MAX: usize = 8;
const SPARE_SIZE_MAX: usize = 4 << 20;

/// The position of an event in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// In ticks, or on the common line of time.
    pub(crate) time: u64,
    /// Stream and buffer.
    pub(crate) buffer: u64,
    pub(crate) number: u64,
}

impl Key {
    /// Later than any event.
    pub(crate) const LAST: Key = Key { time: u64::MAX, buffer: u64::MAX, number: u64::MAX };
}

/// An open segment with its next event. The greatest is the earliest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) key: Key,
    pub(crate) slot: u32,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        (other.key, other.slot).cmp(&(self.key, self.slot))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A segment that is being read.
#[derive(Debug)]
pub(crate) struct Open<'l> {
    pub(crate) registry: &'l Registry,
    pub(crate) actions: Option<Arc<[Action]>>,
    pub(crate) decoded: Decoded,
    /// The times to give: [from, to], in ticks.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Number of events that were read.
    pub(crate) position: u32,
    /// Number of events. A window holds fewer.
    pub(crate) count: u32,
    pub(crate) segment: Segment,
    /// The line of time of its stream, if several eras are aligned.
    pub(crate) line: Option<&'l Line>,
    /// Stream and buffer, as in [`Key::buffer`].
    pub(crate) buffer: u64,
    pub(crate) origin: Option<&'l Stream>,
    /// Whether it was read since the cache last checked.
    pub(crate) is_used: bool,
    /// The cache's mark of it; 0 if no event of it is decoded.
    pub(crate) stamp: u64,
}

impl<'l> Open<'l> {
    #[inline(always)]
    pub(crate) fn event<'a>(
        &'a self,
        number: u64,
        located: &Located,
        labels: &'a Labels,
    ) -> Event<'l, 'a> {
        let at = (number, located);
        self.segment.event(self.registry, self.origin, &self.decoded, at, labels)
    }

    /// Drops sorted events outside the times. They feed no labels.
    pub(crate) fn trim(&mut self) {
        let located = &mut self.decoded.located;
        let end = located.partition_point(|located| located.ticks <= self.to);
        located.truncate(end);
        self.position = located.partition_point(|located| located.ticks < self.from) as u32;
    }

    /// Returns the position of ticks in order of time.
    #[inline(always)]
    pub(crate) fn time(&self, ticks: u64) -> u64 {
        match self.line {
            None => ticks,
            Some(line) => line.at(ticks),
        }
    }

    /// Returns the position of the next event, if it is decoded.
    #[inline(always)]
    pub(crate) fn key(&self) -> Option<Key> {
        let (number, located) = self.decoded.get(self.position as usize)?;
        Some(Key { time: self.time(located.ticks), buffer: self.buffer, number })
    }
}

/// The stretch of a log that a partition reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stretch {
    /// Its segments in order: first those that began before it.
    pub(crate) queue: Vec<u32>,
    pub(crate) carried_count: usize,
    /// The first time to give, of segments that began before it.
    pub(crate) from: u64,
    /// The last time to give, of segments that go on after it.
    pub(crate) to: u64,
}

/// The decoded segments that are kept.
pub(crate) struct Cache {
    /// Memory that they may take, in bytes.
    size_max: usize,
    /// Segments that are decoded whole, in the order of checks: slot and [`Open::stamp`].
    whole: VecDeque<(u32, u64)>,
    /// Segments that keep only a few decoded events.
    windows: VecDeque<(u32, u64)>,
    /// Memory of all that is decoded, in bytes.
    memory: usize,
    spare: Vec<Decoded>,
    stamp: u64,
}

impl Cache {
    pub(crate) fn new(buffer_count: usize) -> Cache {
        Cache {
            size_max: CACHE_SIZE_MAX.saturating_add(buffer_count.saturating_mul(BUFFER_SIZE_MAX)),
            whole: VecDeque::new(),
            windows: VecDeque::new(),
            memory: 0,
            spare: Vec::new(),
            stamp: 0,
        }
    }

    /// Returns empty buffers to decode into.
    pub(crate) fn take(&mut self) -> Decoded {
        self.spare.pop().unwrap_or_default()
    }

    fn keep(&mut self, mut decoded: Decoded) {
        if self.spare.len() < SPARE_COUNT_MAX && decoded.memory() < SPARE_SIZE_MAX {
            decoded.clear();
            self.spare.push(decoded);
        }
    }

    /// Drops the decoded events of a segment.
    pub(crate) fn release(&mut self, open: &mut Open<'_>) {
        self.memory = self.memory.saturating_sub(open.decoded.memory());
        open.stamp = 0;
        self.keep(std::mem::take(&mut open.decoded));
    }

    /// Adds a segment that was decoded whole, and evicts others while memory is exceeded. Of those,
    /// it keeps the next few events: alternating among many segments then needs no decoding for
    /// each event.
    pub(crate) fn admit(&mut self, open: &mut [Open<'_>], slot: u32) {
        let Some(admitted) = open.get_mut(slot as usize) else { return };
        self.memory += admitted.decoded.memory();
        self.stamp += 1;
        admitted.stamp = self.stamp;
        self.whole.push_back((slot, self.stamp));
        let is_current = |open: &[Open<'_>], &(slot, stamp): &(u32, u64)| {
            open.get(slot as usize).is_some_and(|open| open.stamp == stamp)
        };
        if self.whole.len() + self.windows.len() > 4 * open.len() + 16 {
            self.whole.retain(|entry| is_current(open, entry));
            self.windows.retain(|entry| is_current(open, entry));
        }
        let window = self.size_max / 8 * WINDOW_EIGHTHS / open.len().max(1);
        // Each segment is checked at most twice: the first time it may count as used.
        let mut looks = self.whole.len().saturating_mul(2);
        while self.memory > self.size_max && looks > 0 {
            looks -= 1;
            let Some((victim, stamp)) = self.whole.pop_front() else { break };
            let Some(out) = open.get_mut(victim as usize) else { continue };
            if out.stamp != stamp {
                continue;
            }
            if victim == slot || std::mem::take(&mut out.is_used) {
                self.whole.push_back((victim, stamp));
                continue;
            }
            let kept = out.decoded.window(out.position as usize, window);
            self.release(out);
            self.memory += kept.memory();
            out.decoded = kept;
            out.stamp = stamp;
            self.windows.push_back((victim, stamp));
        }
        // Windows from a time with fewer open segments may be too large.
        while self.memory > self.size_max
            && let Some((victim, stamp)) = self.windows.pop_front()
        {
            if let Some(out) = open.get_mut(victim as usize).filter(|out| out.stamp == stamp) {
                self.release(out);
            }
        }
    }
}
