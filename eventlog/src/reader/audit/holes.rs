//! When events of a buffer are missing.
//!
//! ```text
//!  numbers of a buffer      5 6 7          12 13            16 were recorded
//!  time            ─────────┤   ├──────────┤  ├──────────────▶
//!                    hole          hole          hole
//! ```
//!
//! The index has the numbers of all blocks. Their headers bound their times, but do not state them.
//! So the blocks around a hole are decoded. The reader looks at the checksums of the others, since
//! a damaged block gives no events. Design: `.slice.gap` in `design/slices.md`.

use crate::format::{BLOCK_HEADER_SIZE, BlockHeader};
use crate::reader::fault::kind::{Fault, FaultKind};
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::{Decoded, Segment};
use crate::reader::index::{Account, Format};
use crate::reader::log::Log;
use crate::reader::model::registry::Registry;
use crate::reader::model::stream::Stream;
use crate::reader::order::filter::{Filter, Order, Pick};
use crate::reader::stream::block::{self, NUMBERED, PART, SEVERAL};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A time in which events of a buffer are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hole {
    /// The stream, by its index in the log.
    pub stream: u16,
    /// The registry of the events, by its index in the stream.
    pub registry: u16,
    /// Their kind. A buffer with events of several kinds has a hole for each.
    pub kind: u8,
    /// The thread that recorded them, by its index in the stream.
    pub thread: u32,
    /// Ticks of the last event before it, else 0.
    pub from: u64,
    /// Ticks of the first event after it, else the greatest.
    pub to: u64,
}

/// The code of the store's event that a thread began to record (`.store.thread`).
const THREAD_CODE: u16 = 0xFF03;

/// Registry (by its index in the log), kind and thread.
type Whose = (u32, u8, u32);

impl Log {
    /// Returns the holes of the buffers whose registry, by its index in the log, and kind are
    /// `wanted`. The first `known` events of a buffer, by stream and index, count as read. A log
    /// that `is_growing` lacks no last events yet. Streams without numbers (the MPS's), and those
    /// that were cut, have no holes. This reads all blocks of these buffers.
    #[must_use]
    pub fn holes(
        &self,
        wanted: impl Fn(u32, u8) -> bool,
        known: &BTreeMap<(u16, u32), u64>,
        is_growing: bool,
    ) -> Vec<Hole> {
        if self.format() != Format::Stream {
            return Vec::new();
        }
        let mut buffers: BTreeMap<(u16, u32), Vec<&Segment>> = BTreeMap::new();
        for segment in self.segments() {
            if wanted(segment.registry, segment.kind) && !self.is_cut(segment.stream) {
                buffers.entry((segment.stream, segment.buffer)).or_default().push(segment);
            }
        }
        let mut accounts: BTreeMap<(u16, u32), &Account> = BTreeMap::new();
        for account in self.accounts() {
            if wanted(account.registry, account.kind) && !self.is_cut(account.stream) {
                let place = (account.stream, account.buffer);
                buffers.entry(place).or_default();
                accounts.insert(place, account);
            }
        }
        let (ends, tight) = (self.ends(is_growing), self.tight_kinds(&buffers));
        let (mut finder, mut holes, mut seen) = (Finder::new(self), Vec::new(), BTreeSet::new());
        for (place, mut segments) in buffers {
            segments.sort_unstable_by_key(|segment| (segment.first, segment.offset));
            let known = known.get(&place).copied().unwrap_or(0);
            let recorded = accounts.get(&place).map_or(0, |account| account.recorded);
            let hole = |(registry, kind, thread): Whose, (from, to)| {
                let registry = self.registries().get(registry as usize)?.index;
                Some(Hole { stream: place.0, registry, kind, thread, from, to })
            };
            if segments.is_empty() {
                let account = accounts.get(&place).filter(|account| known < account.recorded);
                let whole = |of: &&Account| hole((of.registry, of.kind, of.thread), (0, of.until));
                holes.extend(account.and_then(whole));
                continue;
            }
            let whose: BTreeSet<Whose> = segments.iter().map(|of| whose(of)).collect();
            let is_open = ends.get(&place.0) == Some(&u64::MAX);
            for times in finder.holes(&segments, known, if is_open { u64::MAX } else { recorded }) {
                holes.extend(whose.iter().filter_map(|&whose| hole(whose, times)));
            }
            seen.extend(whose.into_iter().map(|whose| (place.0, whose)));
        }
        let end = |registry: &Registry, place, kind| {
            let is_tight = tight.contains(&(place, kind));
            Some(u64::MAX).filter(|_| is_tight).or(ends.get(&registry.stream).copied())
        };
        if !ends.is_empty() || !tight.is_empty() {
            holes.extend(self.unseen(wanted, end, &seen));
        }
        holes
    }

    /// Returns the holes of threads that the store knows, and of whose events of a kind the log may
    /// lack all, up to an `end`.
    fn unseen(
        &self,
        wanted: impl Fn(u32, u8) -> bool,
        end: impl Fn(&Registry, u32, u8) -> Option<u64>,
        seen: &BTreeSet<(u16, Whose)>,
    ) -> Vec<Hole> {
        let mut holes = Vec::new();
        let event_types = vec![Pick::NumberIn(0, THREAD_CODE)];
        let mut threads = BTreeMap::new();
        let of_threads = Filter { event_types, ..Filter::default() };
        self.events(Order::File, &of_threads).each(|event| {
            let thread = event.param("thread").and_then(|thread| thread.as_u64());
            if let Some(thread) = thread.and_then(|thread| u32::try_from(thread).ok()) {
                threads.insert((event.stream, thread), event.ticks);
            }
        });
        // The store may be damaged.
        for &(stream, (.., thread)) in seen {
            threads.entry((stream, thread)).or_insert(0);
        }
        for (place, registry) in (0..).zip(self.registries()) {
            for kind in (0..64).filter(|kind| wanted(place, *kind)) {
                let Some(to) = end(registry, place, kind) else { continue };
                let of = (registry.stream, 0)..=(registry.stream, u32::MAX);
                holes.extend(threads.range(of).filter_map(|(&(stream, thread), &from)| {
                    let is_unseen = !seen.contains(&(stream, (place, kind, thread)));
                    let hole = Hole { stream, registry: registry.index, kind, thread, from, to };
                    (is_unseen && from < to).then_some(hole)
                }));
            }
        }
        holes
    }

    /// Returns up to when a log may lack events without a number in it, by stream: earlier files
    /// have them, or the log lacks its last blocks.
    fn ends(&self, is_growing: bool) -> BTreeMap<u16, u64> {
        let damaged = self.streams_with_lost_blocks();
        let streams = (0..).zip(self.streams()).filter(|(stream, _)| !self.is_cut(*stream));
        let end = |(stream, of): (u16, &Stream)| {
            let is_open = !is_growing && (self.lacks_end(stream) || damaged.contains(&stream));
            // A volume has the events of the time after its header.
            let begin = of.syncs.first().filter(|_| of.volumes.0 > 0).map(|sync| sync.ticks);
            let end = if is_open { Some(u64::MAX) } else { begin };
            end.map(|end| (stream, end))
        };
        streams.filter_map(end).collect()
    }

    /// Returns the kinds of rings for which a thread may have found no block (`.ring.full`), by the
    /// index of their registry in the log: where each block is one that a thread fills.
    fn tight_kinds(&self, buffers: &BTreeMap<(u16, u32), Vec<&Segment>>) -> BTreeSet<(u32, u8)> {
        let is_full = |(at, of): (u16, &Stream)| of.is_ring && self.has_no_free_block(at, of);
        let streams: Vec<bool> = (0..).zip(self.streams()).map(is_full).collect();
        let (mut tight, mut others) = (BTreeSet::new(), BTreeSet::new());
        for ((stream, _), segments) in buffers {
            if streams.get(usize::from(*stream)) == Some(&true)
                && let Some(first) = segments.first()
            {
                let of = if segments.len() == 1 { &mut tight } else { &mut others };
                of.insert((first.registry, first.kind));
            }
        }
        &tight - &others
    }

    /// Returns whether all blocks of a ring behind those of the store were used, and the log does
    /// not say that no event was discarded for want of one.
    fn has_no_free_block(&self, index: u16, stream: &Stream) -> bool {
        let blocks = self.segments().iter().filter(|of| of.stream == index && of.buffer > 0);
        let first = blocks.map(|of| of.offset).min().unwrap_or(stream.offset);
        let ends = self.streams().iter().map(|other| other.offset);
        let end = ends.filter(|end| *end > stream.offset).min().unwrap_or(self.size());
        let mut places = (first..end).step_by(stream.block_size.max(1) as usize);
        let mut header = [0; BLOCK_HEADER_SIZE];
        let is_used = |at| {
            header.fill(0);
            self.source().read_at(at, &mut header).is_err() || header != [0; BLOCK_HEADER_SIZE]
        };
        !(stream.closed && self.unhoused().is_empty()) && places.all(is_used)
    }

    /// Returns whether the log may lack the last blocks of a stream, or its next file.
    fn lacks_end(&self, stream: u16) -> bool {
        let of = self.streams().get(usize::from(stream));
        self.is_open_ended(stream) || of.is_some_and(|of| of.next_volume.is_some())
    }

    /// Returns the streams with damage that may have cost more events than the numbers of their
    /// buffers lack: the last events of any buffer.
    fn streams_with_lost_blocks(&self) -> BTreeSet<u16> {
        let faults = self.faults();
        if faults.count() > faults.iter().count() as u64 {
            return (0..).zip(self.streams()).map(|(stream, _)| stream).collect();
        }
        let mut lost: BTreeMap<u16, u64> = BTreeMap::new();
        for Fault { offset, kind } in faults.iter() {
            let count = match kind {
                FaultKind::BlockChecksum { count } => u64::from(*count),
                FaultKind::BlockMagic { .. }
                | FaultKind::BlockField { .. }
                | FaultKind::BlockHole { .. }
                | FaultKind::BlockCut { .. }
                | FaultKind::PartMagic { .. }
                | FaultKind::StreamCut { .. }
                | FaultKind::FileMissing { .. } => u64::MAX,
                _ => continue,
            };
            // The stream that begins last before it.
            let streams = (0..).zip(self.streams()).filter(|(_, stream)| stream.offset <= *offset);
            if let Some((stream, _)) = streams.max_by_key(|(_, stream)| stream.offset) {
                let sum = lost.entry(stream).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        for account in self.accounts() {
            // Of an unknown number, nothing is known to be all.
            if let Some(sum) = lost.get_mut(&account.stream).filter(|sum| **sum < u64::MAX) {
                *sum = sum.saturating_sub(account.lost);
            }
        }
        lost.into_iter().filter(|(_, sum)| *sum > 0).map(|(stream, _)| stream).collect()
    }
}

fn whose(of: &Segment) -> Whose {
    (of.registry, of.kind, of.thread)
}

/// Finds the holes of one buffer after the other.
struct Finder<'l> {
    log: &'l Log,
    decoded: Decoded,
}

impl<'l> Finder<'l> {
    fn new(log: &'l Log) -> Finder<'l> {
        Finder { log, decoded: Decoded::default() }
    }

    /// Returns the holes between segments in the order of their numbers, from the number `next` on;
    /// the buffer had the numbers below `end`.
    fn holes(&mut self, segments: &[&Segment], mut next: u64, end: u64) -> Vec<(u64, u64)> {
        let (mut holes, mut before) = (Vec::new(), None);
        if segments.iter().any(|segment| segment.flags & NUMBERED != 0) {
            return self.numbered(segments, next, end);
        }
        for segment in segments {
            let numbers = segment.first..segment.first.saturating_add(segment.count.into());
            if numbers.end <= next {
                before = Some(*segment);
            } else if let Some(numbers) = self.sound(segment, numbers) {
                if numbers.start > next {
                    let from = self.last(before);
                    let to = self.times(segment).map_or(from, |(first, _)| first);
                    holes.push((from.min(to), from.max(to)));
                }
                (before, next) = (Some(*segment), numbers.end);
            }
        }
        if next < end {
            holes.push((self.last(before), u64::MAX));
        }
        holes
    }

    /// As [`Finder::holes`], of segments that state their numbers: others may have those between.
    fn numbered(&mut self, segments: &[&Segment], mut next: u64, end: u64) -> Vec<(u64, u64)> {
        // Numbers that follow one another, with the first and the last ticks.
        let mut runs: Vec<(Range<u64>, u64, u64)> = Vec::new();
        for segment in segments {
            let _ = self.decode(segment);
            for (number, located) in (0..).map_while(|n| self.decoded.get(n)) {
                let ticks = located.ticks;
                match runs.last_mut().filter(|(run, ..)| run.end == number) {
                    Some((run, _, last)) => (run.end, *last) = (number.saturating_add(1), ticks),
                    None => runs.push((number..number.saturating_add(1), ticks, ticks)),
                }
            }
        }
        runs.sort_unstable_by_key(|(run, ..)| run.start);
        let (mut holes, mut from) = (Vec::new(), 0);
        for (run, first, last) in runs {
            if run.start > next {
                holes.push((from.min(first), from.max(first)));
            }
            (next, from) = (next.max(run.end), last);
        }
        if next < end {
            holes.push((from, u64::MAX));
        }
        holes
    }

    /// Returns the ticks of the last event of what came before.
    fn last(&mut self, before: Option<&Segment>) -> u64 {
        before.and_then(|before| self.times(before)).map_or(0, |(_, last)| last)
    }

    /// Returns the numbers of the events that a segment gives, if it gives any.
    fn sound(&mut self, segment: &Segment, numbers: Range<u64>) -> Option<Range<u64>> {
        if segment.flags & SEVERAL == 0 {
            let bytes = &mut self.decoded.bytes;
            bytes.clear();
            bytes.resize(segment.size as usize, 0);
            self.log.source().read_at(segment.offset, bytes).ok()?;
            let header = BlockHeader::read(bytes)?;
            if header.is_sealed() {
                let is_part = segment.flags & PART != 0;
                return block::is_intact(&header, bytes, is_part).then_some(numbers);
            }
        }
        // Where the chain of an open block is broken, the oldest events are missing; where one of
        // several parts is damaged, the newest ones.
        self.decode(segment)?;
        let first = self.decoded.get(0)?.0;
        Some(first..first.saturating_add(self.decoded.located.len() as u64))
    }

    /// Returns the ticks of the first and the last event that a segment gives.
    fn times(&mut self, segment: &Segment) -> Option<(u64, u64)> {
        self.decode(segment)?;
        let located = &self.decoded.located;
        Some((located.first()?.ticks, located.last()?.ticks))
    }

    fn decode(&mut self, segment: &Segment) -> Option<()> {
        let registry = self.log.registries().get(segment.registry as usize)?;
        // A reading of the events reports the faults.
        self.log.decode(segment, registry, &mut self.decoded, &mut Faults::default());
        Some(())
    }
}
