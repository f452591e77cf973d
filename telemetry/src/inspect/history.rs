//! The events in memory, newest first: of a block, of a ring, of all threads.
//!
//! ```text
//!  ring   │ block │ block │ head │     last ─▶ newest, older … ─▶ top, then the block before
//!  all    [ spot, spot, … spot ]       the newest events of all rings, in memory of a fixed size
//! ```
//!
//! Takes no lock and allocates nothing. Threads go on recording meanwhile: after each read of a
//! block, a check shows whether it is still the same block. Design: `.sol.traceback`,
//! `.debug.buffer.reverse`, `.req.pm` in `design/telemetry.md`; `.event.fill`, `.event.base`,
//! `.time.order` in `design/format.md`.

use crate::block::memory::Block;
use crate::block::walk::{Spot, Walk};
use crate::rings::ring::Ring;
use crate::rings::thread;
use crate::store::intern;
use eventdef::{EventType, Registry};

/// A copy of an event.
pub(crate) struct Recalled<'a> {
    pub(crate) registry: Option<&'static Registry>,
    pub(crate) thread: u32,
    pub(crate) code: u16,
    /// The event from its header on; cut if it was too long.
    pub(crate) bytes: &'a [u8],
    pub(crate) is_cut: bool,
}

impl Recalled<'_> {
    /// Returns its event type, if its registry has it.
    pub(crate) fn event_type(&self) -> Option<&'static EventType> {
        let types = self.registry?.event_types;
        let index = types.binary_search_by_key(&self.code, |each| each.code).ok()?;
        types.get(index)
    }
}

/// Returns the events of a ring in memory, newest first.
pub(crate) fn of_ring(ring: &Ring) -> impl Iterator<Item = Spot> {
    let buffer = ring.buffer();
    let blocks = ring.kept();
    blocks.map_while(move |(sequence, block)| Walk::begin(block, sequence, buffer)).flatten()
}

/// Returns the events of the store, newest first.
pub(crate) fn of_store() -> impl Iterator<Item = Spot> {
    intern::kept().filter_map(|(sequence, block)| Walk::begin(block, sequence, 0)).flatten()
}

/// Finds the newest events of all rings, as many as `spots` holds, oldest first. Returns their
/// number.
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

/// Finds the oldest events of all rings after `after` and up to `until`, oldest first. Returns
/// their number: at least half of what `spots` holds, unless fewer are left; 0: none is left.
///
/// In each ring it skips the blocks that are newer than the events found so far, and does not reach
/// those older than `after`. So reading all of memory in this way reads each event once or twice
/// for each call.
pub(crate) fn oldest(spots: &mut [Spot], after: Option<Spot>, until: u64) -> usize {
    let mut oldest = Oldest { spots, count: 0, bound: None, until };
    thread::rings().for_each(|ring| oldest.search(ring, after));
    let Oldest { spots, count, .. } = oldest;
    spots[..count].sort_unstable();
    count
}

/// A search for the oldest events.
struct Oldest<'a> {
    spots: &'a mut [Spot],
    count: usize,
    /// Events after this one have no room.
    bound: Option<Spot>,
    until: u64,
}

impl Oldest<'_> {
    fn search(&mut self, ring: &Ring, after: Option<Spot>) {
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

/// Returns the newest event of the kinds with this index, in any registry.
pub(crate) fn newest_of_kind(kind: u8) -> Option<Spot> {
    let rings = thread::rings().filter(|ring| ring.kind() == kind);
    rings.filter_map(|ring| of_ring(ring).next()).max()
}

/// Keeps an event among the newest, which are sorted. Returns false if all kept events are newer.
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
    /// Copies the event; returns `None` if it was overwritten meanwhile.
    pub(crate) fn read<'a>(&self, out: &'a mut [u8]) -> Option<Recalled<'a>> {
        let (block, registry) = self.block()?;
        self.read_in(block, registry, out)
    }

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

    /// Returns its ring; `None` for an event of the store.
    pub(crate) fn ring(&self) -> Option<&'static Ring> {
        thread::rings().find(|ring| ring.buffer() == self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::clock;
    use crate::os::entry::Entry;
    use crate::rings::ring::Identity;
    use crate::rings::ring::Own;
    use bytemuck::Zeroable;
    use eventdef::{ParamSink, store};
    use eventlog::format::{BASE_RECORD_SIZE, BaseRecord};

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

    /// `.event.fill`, `.event.base`: a base record counts only for the events below it.
    #[test]
    fn a_ring_is_read_from_its_newest_event() {
        let ring = ring(1000);
        assert!(put(&ring, 1, 0) && put(&ring, 2, 0));
        let claim = ring.block().claim(BASE_RECORD_SIZE).expect("room");
        claim.publish_base(&BaseRecord::new(9_000, 1000));
        assert!(put(&ring, 3, 0));
        assert_eq!(ticks_and_numbers(&ring), [(9003, 2), (1002, 1), (1001, 0)]);
    }

    #[test]
    fn the_previous_block_is_read_while_it_exists() {
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
        assert!(Walk::begin(ring.block_of(0), 0, 77).is_none(), "begun again since");
    }

    #[test]
    fn the_newest_events_are_kept_in_order_of_time() {
        let mut spots = [Spot::zeroed(); 4];
        let mut count = 0;
        let spot = |ticks| Spot { ticks, ..Spot::zeroed() };
        let kept: Vec<bool> =
            [5, 3, 9, 1, 4, 2, 9, 0].map(|ticks| keep(&mut spots, &mut count, spot(ticks))).into();
        assert_eq!(kept, [true, true, true, true, true, false, true, false]);
        assert_eq!((spots.map(|spot| spot.ticks), count), ([4, 5, 9, 9], 4));
    }
}
