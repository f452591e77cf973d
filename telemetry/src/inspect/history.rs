//! The events that are still in memory, newest first: of a block, of a ring, of all threads.
//!
//! ```text
//!  ring   │ block │ block │ head │     last ─▶ newest, older … ─▶ top, then the block before
//!  all    [ spot, spot, … spot ]       the newest so many of all rings: memory is bounded by that
//! ```
//!
//! Takes no lock and allocates nothing. Threads go on recording meanwhile: after each look at a
//! block it is asked whether that is still the same block. Design: `.sol.traceback`,
//! `.debug.buffer.reverse`, `.req.pm` in `design/telemetry.md`; `.event.fill`, `.event.base`,
//! `.time.order` in `design/format.md`.

use crate::block::memory::{self, Block};
use crate::rings::ring::Ring;
use crate::rings::thread;
use crate::store::intern;
use bytemuck::{Pod, Zeroable};
use core::cmp::Ordering;
use eventdef::{EventType, Registry};
use eventlog::format::{
    BASE_RECORD_CODE, BASE_RECORD_SIZE, BLOCK_HEADER_SIZE, BLOCK_MAGIC, BlockHeader,
    EVENT_HEADER_SIZE, EventHeader,
};

/// Where an event is in memory, and when it was recorded. Ordered by age: the oldest is the least
/// (`.time.order`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Spot {
    pub(crate) ticks: u64,
    pub(crate) number: u64,
    pub(crate) sequence: u64,
    pub(crate) buffer: u32,
    pub(crate) offset: u32,
}

impl Ord for Spot {
    fn cmp(&self, other: &Spot) -> Ordering {
        let key = |spot: &Spot| (spot.ticks, spot.buffer, spot.number);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Spot {
    fn partial_cmp(&self, other: &Spot) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An event as it was copied.
pub(crate) struct Recalled<'a> {
    pub(crate) registry: Option<&'static Registry>,
    pub(crate) thread: u32,
    pub(crate) code: u16,
    /// From its header on; cut, if there was no room for all.
    pub(crate) bytes: &'a [u8],
    pub(crate) is_cut: bool,
}

impl Recalled<'_> {
    /// What it is, if its registry has such a type.
    pub(crate) fn event_type(&self) -> Option<&'static EventType> {
        let types = self.registry?.event_types;
        let index = types.binary_search_by_key(&self.code, |each| each.code).ok()?;
        types.get(index)
    }
}

/// A block that is being read from its newest event up.
pub(crate) struct Walk {
    block: Block,
    header: BlockHeader,
    at: usize,
    top: usize,
    /// One more than the number of the event at `at`.
    number: u64,
    base: u64,
}

impl Walk {
    /// Begins at the newest event of a block; `None` if the block is not there.
    pub(crate) fn begin(block: Block, sequence: u64, buffer: u32) -> Option<Walk> {
        let mut walk = Walk::open(block, sequence, buffer)?;
        walk.base = walk.base_at_last();
        Some(walk)
    }

    /// The same without the base in force there, for which the block must be walked.
    fn open(block: Block, sequence: u64, buffer: u32) -> Option<Walk> {
        let header = block.header();
        let (at, top) = (header.last.get() as usize, header.top.get() as usize);
        let is_it = header.magic == BLOCK_MAGIC
            && (header.sequence.get(), header.buffer.get()) == (sequence, buffer);
        if !is_it || at < BLOCK_HEADER_SIZE || top > memory::block_size() {
            return None;
        }
        let number = header.first.get() + u64::from(header.count.get());
        Some(Walk { block, header, at, top, number, base: header.base.get() })
    }

    /// The base in force at *last*: *base last* may be ahead of the chain (`.read.open`).
    fn base_at_last(&self) -> u64 {
        let mut at = self.at;
        while let Some(header) = self.event(at) {
            if header.code == BASE_RECORD_CODE {
                return word(self.block, at + 8);
            }
            at += usize::from(header.size);
        }
        self.base
    }

    /// The header of the event at an offset, if there is one that the block can have.
    fn event(&self, at: usize) -> Option<EventHeader> {
        if at + EVENT_HEADER_SIZE > self.top {
            return None;
        }
        let header: EventHeader = bytemuck::cast(word(self.block, at));
        let size = usize::from(header.size);
        let is_base = header.code == BASE_RECORD_CODE;
        let size_min = if is_base { BASE_RECORD_SIZE } else { EVENT_HEADER_SIZE };
        (size >= size_min && size.is_multiple_of(8) && at + size <= self.top).then_some(header)
    }
}

impl Iterator for Walk {
    type Item = Spot;

    fn next(&mut self) -> Option<Spot> {
        loop {
            let header = self.event(self.at)?;
            let offset = self.at;
            self.at += usize::from(header.size);
            if header.code == BASE_RECORD_CODE {
                self.base = word(self.block, offset + 16);
                continue;
            }
            self.number = self.number.checked_sub(1)?;
            let spot = Spot {
                ticks: self.base.wrapping_add(header.delta.into()),
                number: self.number,
                sequence: self.header.sequence.get(),
                buffer: self.header.buffer.get(),
                offset: offset as u32,
            };
            return self.block.is_still(&self.header).then_some(spot);
        }
    }
}

/// The word at an offset, a multiple of 8.
fn word(block: Block, at: usize) -> u64 {
    let mut bytes = [0; 8];
    block.peek(at, at + 8, &mut bytes);
    u64::from_ne_bytes(bytes)
}

/// The events of a ring that are in memory, newest first.
pub(crate) fn of_ring(ring: &Ring) -> impl Iterator<Item = Spot> {
    let buffer = ring.buffer();
    let blocks = ring.kept();
    blocks.map_while(move |(sequence, block)| Walk::begin(block, sequence, buffer)).flatten()
}

/// The events of the store, newest first.
pub(crate) fn of_store() -> impl Iterator<Item = Spot> {
    intern::kept().filter_map(|(sequence, block)| Walk::begin(block, sequence, 0)).flatten()
}

/// The newest events of all rings, as many as there is room for, oldest first. Gives how many there
/// are.
pub(crate) fn newest(spots: &mut [Spot]) -> usize {
    let mut count = 0;
    for ring in thread::rings() {
        for spot in of_ring(ring) {
            if !keep(spots, &mut count, spot) {
                break;
            }
        }
    }
    count
}

/// The oldest events of all rings that are after `after` and not after `until`, oldest first: as
/// many as there is room for, or at least half as many. `None`, or 0: there are no more. Gives how
/// many there are.
///
/// Of each ring the blocks that are newer than what is kept are passed over, and those that are
/// older than `after` not reached: to go on so through all that is in memory takes a look at each
/// event or two for each time that there was no more room.
pub(crate) fn oldest(spots: &mut [Spot], after: Option<Spot>, until: u64) -> usize {
    let mut oldest = Oldest { spots, count: 0, bound: None, until };
    thread::rings().for_each(|ring| oldest.look_at(ring, after));
    let Oldest { spots, count, .. } = oldest;
    spots[..count].sort_unstable();
    count
}

/// The oldest events, as they are being looked for.
struct Oldest<'a> {
    spots: &'a mut [Spot],
    count: usize,
    /// Events after this one have no room.
    bound: Option<Spot>,
    until: u64,
}

impl Oldest<'_> {
    fn look_at(&mut self, ring: &Ring, after: Option<Spot>) {
        for (sequence, block) in ring.kept() {
            let Some(mut walk) = Walk::open(block, sequence, ring.buffer()) else { continue };
            let base = walk.header.base.get().min(walk.header.base_last.get());
            if base > self.bound.map_or(self.until, |bound| bound.ticks) {
                continue;
            }
            walk.base = walk.base_at_last();
            for spot in walk {
                if after.is_some_and(|after| spot <= after) {
                    return;
                }
                self.keep(spot);
            }
        }
    }

    fn keep(&mut self, spot: Spot) {
        if spot.ticks > self.until || self.bound.is_some_and(|bound| spot > bound) {
            return;
        }
        if self.count == self.spots.len() {
            let half = self.count / 2;
            let (_, bound, _) = self.spots.select_nth_unstable(half);
            self.bound = Some(*bound);
            self.count = half + 1;
            return self.keep(spot);
        }
        self.spots[self.count] = spot;
        self.count += 1;
    }
}

/// The newest event of the kinds with this index, in whatever registry.
pub(crate) fn newest_of_kind(kind: u8) -> Option<Spot> {
    let rings = thread::rings().filter(|ring| ring.kind() == kind);
    rings.filter_map(|ring| of_ring(ring).next()).max()
}

/// What is at an address.
pub(crate) enum Found {
    /// An event.
    Event(Spot),
    /// Some of a block that is no event: its header, or what nothing was recorded into yet.
    Block(u32, u64),
    /// None of our memory.
    Nothing,
}

/// What is at an address: looks at all blocks that are in memory, those of the store too.
pub(crate) fn at(address: usize) -> Found {
    let is_there = |block: Block| {
        block.address() <= address && address < block.address() + memory::block_size()
    };
    let mut found = Found::Nothing;
    let mut look = |block: Block, sequence: u64, buffer: u32| {
        if is_there(block) {
            let spots = Walk::begin(block, sequence, buffer).into_iter().flatten();
            let offset = (address - block.address()) as u32;
            let before = spots.take_while(|spot| spot.offset <= offset).last();
            let spot = before.filter(|spot| spot.end(block).is_some_and(|end| offset < end));
            found = spot.map_or(Found::Block(buffer, sequence), Found::Event);
        }
    };
    intern::kept().for_each(|(sequence, block)| look(block, sequence, 0));
    for ring in thread::rings() {
        ring.kept().for_each(|(sequence, block)| look(block, sequence, ring.buffer()));
    }
    found
}

/// Keeps an event among the newest, which are in order. False: all that are kept are newer.
fn keep(spots: &mut [Spot], count: &mut usize, spot: Spot) -> bool {
    let at = spots[..*count].partition_point(|kept| *kept < spot);
    if *count < spots.len() {
        spots.copy_within(at..*count, at + 1);
        spots[at] = spot;
        *count += 1;
    } else if at == 0 {
        return false;
    } else {
        spots.copy_within(1..at, 0);
        spots[at - 1] = spot;
    }
    true
}

impl Spot {
    /// Copies the event; `None`: it was overwritten meanwhile.
    pub(crate) fn read<'a>(&self, out: &'a mut [u8]) -> Option<Recalled<'a>> {
        let (block, registry) = self.block()?;
        self.read_in(block, registry, out)
    }

    /// The same where it is known which ring it is in.
    pub(crate) fn read_in_ring<'a>(&self, ring: &Ring, out: &'a mut [u8]) -> Option<Recalled<'a>> {
        self.read_in(ring.block_of(self.sequence), Some(ring.control.registry), out)
    }

    fn read_in<'a>(
        &self,
        block: Block,
        registry: Option<&'static Registry>,
        out: &'a mut [u8],
    ) -> Option<Recalled<'a>> {
        let walk = Walk::open(block, self.sequence, self.buffer)?;
        let header = walk.event(self.offset as usize)?;
        let (size, room) = (usize::from(header.size), out.len() - out.len() % 8);
        let bytes = &mut out[..size.min(room)];
        block.peek(self.offset as usize, self.offset as usize + bytes.len(), bytes);
        let is_cut = size > bytes.len();
        let recalled = Recalled {
            registry,
            thread: walk.header.thread.get(),
            code: header.code,
            bytes,
            is_cut,
        };
        block.is_still(&walk.header).then_some(recalled)
    }

    fn block(&self) -> Option<(Block, Option<&'static Registry>)> {
        if self.buffer == 0 {
            return Some((intern::block_of(self.sequence)?, Some(&eventdef::store::REGISTRY)));
        }
        let ring = self.ring()?;
        Some((ring.block_of(self.sequence), Some(ring.control.registry)))
    }

    /// The ring that it is in; none if it is of the store.
    pub(crate) fn ring(&self) -> Option<&'static Ring> {
        thread::rings().find(|ring| ring.buffer() == self.buffer)
    }

    /// The offset at which it ends, in its block.
    fn end(&self, block: Block) -> Option<u32> {
        let walk = Walk::open(block, self.sequence, self.buffer)?;
        Some(self.offset + u32::from(walk.event(self.offset as usize)?.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::clock;
    use crate::os::sync::Entry;
    use crate::rings::ring::Identity;
    use crate::rings::ring::Own;
    use eventdef::{ParamSink, store};
    use eventlog::format::BaseRecord;

    eventdef::events! {
        /// Events of this test.
        registry "history" version(1, 0, 0);
        kinds standard;

        /// What is looked for.
        Found(1, always, Object) {
            /// which
            index: W,
        }
    }

    fn ring(ticks: u64) -> Own {
        clock::choose();
        let identity = Identity { registry: 1, kind: 0, buffer: 77 };
        Ring::create(&store::CONTROL, identity, 1, 2, ticks).expect("memory")
    }

    fn put(ring: &Own, delta: u32, value: u64) -> bool {
        let Some(mut claim) = ring.block().claim(16) else { return false };
        claim.put_header(7, delta);
        claim.put_u64(8, value);
        claim.publish();
        true
    }

    fn ticks_and_numbers(ring: &Ring) -> Vec<(u64, u64)> {
        of_ring(ring).map(|spot| (spot.ticks, spot.number)).collect()
    }

    /// `.event.fill`, `.event.base`: a base record counts for the events below it alone.
    #[test]
    fn a_ring_is_read_from_its_newest_event_on() {
        let ring = ring(1000);
        assert!(put(&ring, 1, 0) && put(&ring, 2, 0));
        let claim = ring.block().claim(BASE_RECORD_SIZE).expect("room");
        claim.publish_base(&BaseRecord::new(9_000, 1000));
        assert!(put(&ring, 3, 0));
        assert_eq!(ticks_and_numbers(&ring), [(9003, 2), (1002, 1), (1001, 0)]);
    }

    #[test]
    fn the_block_before_is_read_while_it_is_there() {
        let ring = ring(clock::ticks());
        let mut count = 0;
        for _ in 0..3 {
            while put(&ring, 1, count) {
                count += 1;
            }
            assert!(ring.advance(&Entry::new(), clock::ticks(), 1));
        }
        let numbers: Vec<u64> = of_ring(&ring).map(|spot| spot.number).collect();
        let oldest = 2 * (count / 3);
        assert_eq!(numbers, (oldest..count).rev().collect::<Vec<_>>(), "one full, one empty");
        let oldest = of_ring(&ring).last().expect("an event");
        assert!(Walk::begin(ring.block_of(oldest.sequence), oldest.sequence, 77).is_some());
        assert!(Walk::begin(ring.block_of(0), 0, 77).is_none(), "begun anew since");
    }

    /// `.debug.describe`: an address within the event, its first byte and its last.
    #[test]
    fn an_event_is_found_by_any_address_within_it() {
        let put = |index: usize| crate::event!(Found, index);
        (0..3).for_each(put);
        let ring = thread::rings().next().expect("one");
        let block = ring.block();
        let spots: Vec<Spot> = of_ring(ring).collect();
        for spot in &spots {
            for address in [spot.offset, spot.offset + 15].map(|at| block.address() + at as usize) {
                assert!(matches!(at(address), super::Found::Event(found) if found == *spot));
            }
        }
        let newest = spots[0].offset as usize;
        for offset in [0, BLOCK_HEADER_SIZE, newest - 1] {
            let found = at(block.address() + offset);
            assert!(matches!(found, super::Found::Block(buffer, 0) if buffer == ring.buffer()));
        }
        assert!(matches!(at(block.address() - 1), super::Found::Nothing));
        let store = of_store().last().expect("a thread was made known");
        let (block, _) = store.block().expect("the store's");
        let found = at(block.address() + store.offset as usize + 1);
        assert!(matches!(found, super::Found::Event(found) if found == store));
    }

    #[test]
    fn the_newest_are_kept_in_the_order_of_their_time() {
        let mut spots = [Spot::zeroed(); 4];
        let mut count = 0;
        let spot = |ticks| Spot { ticks, ..Spot::zeroed() };
        let kept: Vec<bool> =
            [5, 3, 9, 1, 4, 2, 9, 0].map(|ticks| keep(&mut spots, &mut count, spot(ticks))).into();
        assert_eq!(kept, [true, true, true, true, true, false, true, false]);
        assert_eq!((spots.map(|spot| spot.ticks), count), ([4, 5, 9, 9], 4));
    }
}
