//! Gives each event once, and finds missing events: stream, buffer and number identify an event.
//!
//! ```text
//!  one buffer    ├── block 0..2044 ──┤     ├── block 2044..4088 ──┤   gap: lost, or accounted for
//!                ├ part ┤├ part ┤  covered: given by the block, if the block is whole
//! ```
//!
//! The index comes from headers, which may be damaged. So the reader checks the blocks on both
//! sides of a gap in the numbers, and of a change of registry, kind or thread, which a buffer never
//! changes: otherwise a filter could skip a block by a false kind. It also checks the last block of
//! each buffer, whose counts are the totals. Rules: `.event.identity`, `.read.sealed`, `.read.loss`
//! in `design/format.md`.
//!
//! Blocks that state their numbers (`.cut.numbers`) may overlap with different events. If a buffer
//! has such a block, the reader reads all its blocks and compares number by number.

use super::block::{self, PART, TRIMMED};
use super::head;
use super::numbers;
use crate::format::BlockHeader;
use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::Segment;
use crate::reader::index::{Account, Index};
use crate::reader::model::stream::Stream;
use crate::reader::source::bytes::Source;
use rangemap::RangeSet;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Flag of a [`Segment`] in this module: it was checked.
const CHECKED: u8 = 4;
/// Ranges of numbers that move in vain, at most, before a tree has them.
const WORK: usize = 1 << 22;

/// Decides which segment gives which events, and drops segments that give none.
pub(crate) fn settle(
    source: &dyn Source,
    index: &mut Index,
    mut accounts: BTreeMap<(u16, u32), Account>,
    is_moving: bool,
) {
    let mut order: Vec<u32> = (0..index.segments.len() as u32).collect();
    order.sort_unstable_by_key(|&place| {
        let segment = index.segments.get(place as usize);
        segment.map(|at| (at.stream, at.buffer, at.first, Reverse(at.count), at.offset))
    });
    let mut settler = Settler {
        source,
        streams: &index.streams,
        segments: &mut index.segments,
        chosen: &mut index.chosen,
        faults: &mut index.faults,
        bytes: Vec::new(),
        account: Account::default(),
        is_ring: false,
        is_moving,
    };
    let is_ring =
        |stream: u16| index.streams.get(usize::from(stream)).is_some_and(|stream| stream.is_ring);
    let of = |segments: &[Segment], place: u32| {
        segments.get(place as usize).map(|segment| (segment.stream, segment.buffer))
    };
    let mut rest = order.as_mut_slice();
    while let Some(&first) = rest.first() {
        let Some(key) = of(settler.segments, first) else { break };
        let count = rest.partition_point(|&place| of(settler.segments, place) <= Some(key));
        let (group, others) = rest.split_at_mut(count.max(1));
        settler.account = accounts.remove(&key).unwrap_or_default();
        settler.is_ring = is_ring(key.0);
        if group.iter().any(|&place| settler.is_numbered(place)) {
            settler.numbered(group);
        } else {
            settler.buffer(group);
        }
        accounts.insert(key, settler.account);
        rest = others;
    }
    index.segments.retain(|segment| segment.count > 0);
    for segment in &mut index.segments {
        segment.flags &= !CHECKED;
    }
    for ((stream, buffer), mut account) in accounts {
        if account.found == 0 {
            settle_empty(&mut account, index.streams.get(usize::from(stream)), &mut index.faults);
        }
        index.accounts.push(Account { stream, buffer, ..account });
    }
}

/// The numbers that segments give, from the first number of the current segment on: no later one
/// gives a number below it.
struct Given {
    /// Ranges that do not touch, the lowest last: most segments go on where these begin.
    ranges: Vec<Range<u64>>,
    /// The same, from where on the ranges took too long to move.
    tree: Option<RangeSet<u64>>,
    /// Ranges that may still move.
    work: usize,
}

impl Given {
    fn new(work: usize) -> Given {
        Given { ranges: Vec::new(), tree: None, work }
    }

    /// Adds the ranges of a segment, which ascend. Returns the parts that were not given.
    fn add(&mut self, whole: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut own = Vec::with_capacity(whole.len());
        let Some(first) = whole.first().map(|first| first.start) else { return own };
        if self.work < self.ranges.len() {
            self.tree = Some(self.ranges.drain(..).collect());
        }
        if let Some(given) = &mut self.tree {
            if first > 0 {
                given.remove(0..first);
            }
            for range in whole.iter().filter(|range| !range.is_empty()) {
                own.extend(given.gaps(range));
                given.insert(range.clone());
            }
            return own;
        }
        let below = self.ranges.iter().rev().take_while(|range| range.end < first).count();
        self.ranges.truncate(self.ranges.len() - below);
        let (before, mut merged) = (self.ranges.len(), Vec::new());
        for range in whole.iter().filter(|range| !range.is_empty()) {
            while let Some(given) = self.ranges.pop_if(|given| given.start < range.start) {
                join(&mut merged, given);
            }
            let reached = merged.last().map_or(0, |last: &Range<u64>| last.end);
            let mut at = range.start.max(reached);
            join(&mut merged, range.clone());
            while let Some(given) = self.ranges.pop_if(|given| given.start <= range.end) {
                if at < given.start {
                    own.push(at..given.start);
                }
                at = at.max(given.end);
                join(&mut merged, given);
            }
            if at < range.end {
                own.push(at..range.end);
            }
        }
        let moved = before - self.ranges.len();
        self.work = (self.work + 8 * whole.len()).saturating_sub(moved);
        self.ranges.extend(merged.into_iter().rev());
        own
    }
}

/// Adds a range that does not begin before the last one.
fn join(merged: &mut Vec<Range<u64>>, range: Range<u64>) {
    match merged.last_mut().filter(|last| range.start <= last.end) {
        Some(last) => last.end = last.end.max(range.end),
        None => merged.push(range),
    }
}

struct Settler<'a> {
    source: &'a dyn Source,
    streams: &'a [Stream],
    segments: &'a mut [Segment],
    chosen: &'a mut HashMap<u64, Vec<Range<u64>>>,
    faults: &'a mut Faults,
    bytes: Vec<u8>,
    /// Of the current buffer.
    account: Account,
    /// Whether the buffer is of a ring, and whether the ring changed while it was copied.
    is_ring: bool,
    is_moving: bool,
}

fn end(segment: &Segment) -> u64 {
    segment.first.saturating_add(u64::from(segment.count))
}

/// Returns the facts that all blocks of a buffer share.
fn constants(segment: &Segment) -> (u32, u8, u32) {
    (segment.registry, segment.kind, segment.thread)
}

/// Computes what a ring overwrote: the events below `first` (`.ring.beginning`), or the count of
/// the program, which may be ahead. It is at most what is missing (`.ring.overwritten`).
fn settle_ring(account: &mut Account, first: u64, missing: u64, is_moving: bool) {
    let io = u64::from(account.discarded_io);
    // Events that had no room in the file have later numbers (`.ring.store`).
    account.recorded = account.recorded.saturating_add(io.saturating_sub(missing));
    let most = missing.saturating_sub(io);
    let known = if is_moving { most } else { account.overwritten.max(first) };
    account.overwritten = known.min(most);
}

/// Settles a buffer without events in the log. Its account tells what is missing (`.part.account`),
/// unless volumes that are not in the log may have it (`.volume.loss`).
fn settle_empty(account: &mut Account, stream: Option<&Stream>, faults: &mut Faults) {
    let Some(stream) = stream else { return };
    let accounted = account.overwritten.saturating_add(u64::from(account.discarded_io));
    if stream.is_ring && !stream.is_kept {
        account.overwritten = account.recorded;
    } else if !stream.is_cut && stream.volumes.0 == 0 {
        account.lost = account.recorded.saturating_sub(accounted);
    }
    if account.lost > 0 {
        let kind = FaultKind::Lost { buffer: account.buffer, count: account.lost };
        faults.push(stream.offset, kind);
    }
}

impl Settler<'_> {
    /// Settles the segments of one buffer, in order of their first number, the longest first. The
    /// places of the kept segments overwrite `group`.
    fn buffer(&mut self, group: &mut [u32]) {
        let mut kept: Vec<u32> = Vec::new();
        for &mut place in group {
            let Some(segment) = self.get(place) else { continue };
            loop {
                let top = kept.last().copied().and_then(|top| Some((top, self.get(top)?)));
                let reached = top.map_or(0, |(_, top)| end(&top));
                let is_alike = top.is_none_or(|(_, top)| constants(&top) == constants(&segment));
                if segment.first == reached && is_alike {
                    kept.push(place);
                    break;
                }
                if let Some((top, _)) = top
                    && !self.check(top)
                {
                    self.drop(top);
                    kept.pop();
                    continue;
                }
                // A superfluous copy is checked too: it may be a damaged block of another buffer.
                if self.check(place) && end(&segment) > reached {
                    kept.push(place);
                } else {
                    self.drop(place);
                }
                break;
            }
        }
        while let Some(&last) = kept.last()
            && !self.check(last)
        {
            self.drop(last);
            kept.pop();
        }
        self.give(&kept);
    }

    fn get(&self, place: u32) -> Option<Segment> {
        self.segments.get(place as usize).copied()
    }

    fn drop(&mut self, place: u32) {
        if let Some(segment) = self.segments.get_mut(place as usize) {
            segment.count = 0;
        }
    }

    /// Reads a block, and returns whether it is sound. The first pass has checked parts and walked
    /// open blocks. The counts in the header go to the buffer's account.
    fn check(&mut self, place: u32) -> bool {
        let Some(segment) = self.segments.get_mut(place as usize) else { return false };
        if segment.flags & (CHECKED | PART) != 0 {
            return true;
        }
        segment.flags |= CHECKED;
        let segment = *segment;
        let Some(present) = self.read(&segment) else { return false };
        let Some(header) = BlockHeader::read(&self.bytes) else { return false };
        if !header.is_sealed() {
            // An open block's count is the length of its chain.
            let recorded = self.account.recorded.max(end(&segment));
            self.account.fold(&header);
            self.account.recorded = recorded;
            return true;
        }
        if !block::is_intact(&header, &self.bytes, false) {
            let kind = block::damage(&header, header.top.get() as usize, present);
            self.faults.push(segment.offset, kind);
            return false;
        }
        self.account.fold(&header);
        true
    }

    /// Reads a segment, and returns how many of its bytes are in the log.
    fn read(&mut self, segment: &Segment) -> Option<usize> {
        self.bytes.clear();
        self.bytes.resize(segment.size as usize, 0);
        match self.source.read_at(segment.offset, &mut self.bytes) {
            Ok(size) => Some(size),
            Err(error) => {
                self.faults.push(segment.offset, FaultKind::Io { message: error.to_string() });
                None
            }
        }
    }

    fn is_numbered(&self, place: u32) -> bool {
        self.get(place).is_some_and(|segment| segment.flags & block::NUMBERED != 0)
    }

    /// Settles the segments of one buffer, in order of their first number, number by number: each
    /// segment gives the numbers that no earlier one gives.
    fn numbered(&mut self, group: &[u32]) {
        let (mut kept, mut given) = (Vec::new(), Given::new(WORK));
        let (mut reached, mut found) = (0, 0u64);
        for &place in group {
            let whole = if self.check(place) { self.ranges(place) } else { Vec::new() };
            reached = reached.max(whole.last().map_or(0, |last| last.end));
            let own = given.add(&whole);
            let count = own.iter().fold(0, |sum, range| sum + (range.end - range.start));
            let Some(segment) = self.segments.get_mut(place as usize) else { continue };
            segment.count = u32::try_from(count).unwrap_or(u32::MAX);
            let Some(first) = own.first() else { continue };
            segment.first = first.start;
            found = found.saturating_add(count);
            kept.push(place);
            if own != whole {
                self.chosen.insert(segment.offset, own);
            }
        }
        self.account.found = self.account.found.saturating_add(found);
        let (begin, before) = self.begin(&kept);
        let missing = reached.saturating_sub(begin).saturating_sub(found);
        self.close(&kept, begin, before, reached, missing, None);
    }

    /// Returns the numbers of a segment that was just checked.
    fn ranges(&mut self, place: u32) -> Vec<Range<u64>> {
        let Some(segment) = self.get(place) else { return Vec::new() };
        if segment.flags & block::NUMBERED == 0 {
            return std::iter::once(segment.first..end(&segment)).collect();
        }
        let is_part = segment.flags & PART != 0;
        // `check` has read the bytes of a block.
        if is_part && self.read(&segment).is_none() {
            return Vec::new();
        }
        let header = BlockHeader::read(&self.bytes);
        header.map_or_else(Vec::new, |header| numbers::ranges(&header, &self.bytes, is_part))
    }

    /// Assigns each number to one segment, and counts the missing numbers.
    fn give(&mut self, kept: &[u32]) {
        let (begin, before) = self.begin(kept);
        let mut reached = begin;
        let mut gap = None;
        let mut missing = 0u64;
        for &place in kept {
            let Some(segment) = self.segments.get_mut(place as usize) else { continue };
            if segment.first > reached {
                missing = missing.saturating_add(segment.first - reached);
                gap = gap.or(Some(segment.offset));
            }
            let end = end(segment);
            let first = segment.first.max(reached);
            if first > segment.first {
                segment.flags |= TRIMMED;
            }
            segment.count = u32::try_from(end.saturating_sub(first)).unwrap_or(u32::MAX);
            segment.first = first;
            self.account.found = self.account.found.saturating_add(u64::from(segment.count));
            reached = reached.max(end);
        }
        self.close(kept, begin, before, reached, missing, gap);
    }

    /// Settles the account of a buffer that lacks `missing` of the numbers below `reached`; the
    /// first gap is at offset `gap`.
    fn close(
        &mut self,
        kept: &[u32],
        begin: u64,
        before: u64,
        reached: u64,
        mut missing: u64,
        gap: Option<u64>,
    ) {
        let Some(last) = kept.last().and_then(|&place| self.get(place)) else { return };
        let account = &mut self.account;
        account.buffer = last.buffer;
        account.registry = last.registry;
        account.kind = last.kind;
        account.thread = last.thread;
        account.recorded = account.recorded.max(reached);
        missing = missing.saturating_add(account.recorded - reached);
        // Next to a log whose first volumes are missing, a ring adds no loss.
        if self.is_ring && begin == 0 {
            let first = kept.first().and_then(|&place| self.get(place)).map_or(0, |at| at.first);
            let stream = self.streams.get(usize::from(last.stream));
            // A ring that keeps all counts what it overwrites nevertheless.
            let first = if stream.is_some_and(|stream| stream.is_kept) { 0 } else { first };
            settle_ring(&mut self.account, first, missing, self.is_moving);
        }
        let account = &mut self.account;
        let accounted = account.overwritten.saturating_add(u64::from(account.discarded_io));
        account.lost = missing.saturating_sub(accounted.saturating_sub(before));
        if self.streams.get(usize::from(last.stream)).is_some_and(|stream| stream.is_cut) {
            account.lost = 0; // `.cut.flag`
        }
        if account.lost > 0 {
            let kind = FaultKind::Lost { buffer: last.buffer, count: account.lost };
            self.faults.push(gap.unwrap_or(last.offset), kind);
        }
    }

    /// Returns the first number that must be in the log, and how many numbers before it are
    /// accounted for. If the first volumes are missing, the lowest number in the log counts, and
    /// its block's counts (`.volume.loss`).
    fn begin(&self, kept: &[u32]) -> (u64, u64) {
        let first = kept.first().and_then(|&place| self.get(place));
        let lowest = |stream: u16| self.streams.get(usize::from(stream)).map(|at| at.volumes.0);
        let Some(first) = first.filter(|at| at.first > 0 && lowest(at.stream) > Some(0)) else {
            return (0, 0);
        };
        // The reading of its events reports an I/O failure.
        let header = head::block_header_at(self.source, first.offset);
        let accounted = header.map_or(0, |header| {
            header.overwritten.get().saturating_add(u64::from(header.discarded_io.get()))
        });
        (first.first, accounted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.event.identity`: compared with a note for each number.
    #[test]
    fn each_number_is_given_once() {
        let mut seed = 7u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for round in 0..2000 {
            let mut segments: Vec<Vec<Range<u64>>> = Vec::new();
            for _ in 0..1 + random(12) {
                let (mut at, mut ranges) = (random(60), Vec::new());
                for _ in 0..random(9) {
                    let end = at + random(5);
                    ranges.push(at..end);
                    at = end + random(4);
                }
                segments.push(ranges);
            }
            segments.sort_by_key(|ranges| ranges.first().map_or(0, |first| first.start));
            let mut is_given = [false; 200];
            let mut given = Given::new(if round % 2 == 0 { WORK } else { 3 });
            for whole in &segments {
                let own = given.add(whole);
                assert!(own.iter().all(|range| range.start < range.end), "{own:?}");
                let mut expected = whole.iter().cloned().flatten().collect::<Vec<u64>>();
                expected.retain(|at| !std::mem::replace(&mut is_given[*at as usize], true));
                let found: Vec<u64> = own.iter().cloned().flatten().collect();
                assert_eq!(found, expected, "{segments:?}");
            }
        }
    }
}
