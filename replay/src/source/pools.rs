//! Objects in pools: the memory of each pool, and the objects that end with it.
//!
//! ```text
//!  pool 3 ── address ─▶ Piece { size, object }      one map, ordered by (pool, address): pieces
//!            address ─▶ …                           that overlap, and those of a pool, are ranges
//! ```
//!
//! An arena gives memory to a pool, and takes it back in pieces of its own choice. The rest of an
//! object there is its size. Design: `.rep.pieces`, `.rep.pools` in `design/replay.md`.

use super::output::{Map, Moment, Output};
use super::rows::{MemoryEvent, Verb};
use super::skipped::Cause;
use crate::operation::Action;
use std::collections::BTreeMap;

/// The maximum number of pools; all further ones count as the last.
pub(crate) const POOL_COUNT_MAX: u32 = 1 << 24;

/// A range of memory of an object.
#[derive(Clone, Copy, Debug)]
struct Piece {
    size: u64,
    object: u32,
    /// Whether it was allocated in a buffer: then an event that frees it may be missing.
    is_buffered: bool,
    /// Whether it is a whole filling of a buffer: events may be about parts of it.
    is_filling: bool,
}

impl Piece {
    fn new(size: u64) -> Piece {
        Piece { size, object: 0, is_buffered: false, is_filling: false }
    }
}

#[derive(Clone, Copy, Debug)]
struct Pool {
    number: u32,
    /// Its arena, once an event event that the pool was made.
    arena: Option<u64>,
}

/// Where operations of an event go.
pub(crate) struct Target<'o> {
    pub(crate) at: Moment,
    pub(crate) output: &'o mut Output,
}

impl Target<'_> {
    fn push(&mut self, action: Action) {
        self.output.push(self.at, action);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Pools {
    /// The pools by stream and address.
    pools: Map<(u16, u64), Pool>,
    /// The address of the pool of each buffer of a stream.
    buffers: Map<(u16, u64), u64>,
    /// Buffers with a reservation that was not yet committed.
    reserved: Map<(u16, u64), ()>,
    /// Buffers that log their objects.
    pub(crate) logged: Map<(u16, u64), ()>,
    /// The last filling of each other buffer: the pool and the address.
    fillings: Map<(u16, u64), (u32, u64)>,
    count: u32,
    pieces: BTreeMap<(u32, u64), Piece>,
    /// The rest of objects that are in several pieces, in bytes.
    split: Map<u32, u64>,
    /// Places of objects that count as freed, because their memory was given back; an event that
    /// frees them may still come.
    given_back: Map<(u32, u64), ()>,
}

impl Pools {
    pub(crate) fn take(&mut self, out: &mut Target<'_>, event: MemoryEvent) {
        // Of an event about a buffer, `pool` is the buffer.
        let MemoryEvent { address, size, pool, stack, .. } = event;
        match event.verb {
            Verb::Allocate | Verb::AllocateZeroed => {
                let place = (self.number(out, pool), address);
                self.allocate(out, place, Piece::new(size), stack);
            }
            Verb::Reserve => {
                // If the commit is refused, because a collection came between, the program reserves
                // again.
                let before = self.reserved.insert((out.at.stream, address), ());
                out.output.skipped.add(Cause::Uncommitted, before.map_or(0, |()| 1));
            }
            Verb::Commit => {
                self.reserved.remove(&(out.at.stream, pool));
                let pool = self.buffers.get(&(out.at.stream, pool)).copied().unwrap_or(0);
                let place = (self.number(out, pool), address);
                let piece = Piece { is_buffered: true, ..Piece::new(size) };
                self.allocate(out, place, piece, 0);
            }
            Verb::ArenaAllocate => {
                let place = (self.number(out, pool), address);
                self.allocate(out, place, Piece::new(size), 0);
            }
            Verb::Fill => self.fill(out, address, size, pool),
            Verb::Empty => self.empty(out, address, size),
            Verb::Free => {
                let place = (self.number(out, pool), address);
                self.free(out, place, size);
            }
            Verb::ArenaFree if pool == 0 => self.give_back_any(out, address, size),
            Verb::ArenaFree => {
                let place = (self.number(out, pool), address);
                self.give_back(out, place, size);
            }
            Verb::BeginBuffer => {
                let before = self.reserved.remove(&(out.at.stream, address));
                out.output.skipped.add(Cause::Uncommitted, before.map_or(0, |()| 1));
                self.buffers.insert((out.at.stream, address), pool);
            }
            Verb::BeginPool => self.begin(out, pool, address),
            Verb::EndPool => self.end(out, pool),
            Verb::EndArena => self.end_arena(out, address),
            // All other events are about no pool.
            _ => {}
        }
    }

    pub(crate) fn end_of_log(&mut self, output: &mut Output) {
        output.skipped.add(Cause::Uncommitted, self.reserved.drain().count() as u64);
    }

    fn number(&mut self, out: &mut Target<'_>, pool: u64) -> u32 {
        let next = self.count.min(POOL_COUNT_MAX - 1);
        let count = &mut self.count;
        let pool = self.pools.entry((out.at.stream, pool)).or_insert_with(|| {
            *count = next + 1;
            Pool { number: next, arena: None }
        });
        pool.number
    }

    fn allocate(&mut self, out: &mut Target<'_>, place: (u32, u64), piece: Piece, stack: u32) {
        if place.1 == 0 {
            return out.output.skipped.count(Cause::Failed);
        }
        let size = piece.size;
        let Some(object) = out.output.object(out.at, stack) else { return };
        for (begin, piece) in self.overlapping(place, size.max(1)) {
            if piece.is_filling {
                let to = place.1.saturating_add(size);
                self.cut(out, (place.0, begin, piece), place.1, to);
                continue;
            }
            let is_known = begin == place.1 && !piece.is_buffered;
            let cause = if is_known { Cause::HandedOutTwice } else { Cause::GivenBack };
            self.remove(out, (place.0, begin), piece, cause);
        }
        self.pieces.insert(place, Piece { object, ..piece });
        self.given_back.remove(&place);
        let (pool, alignment) = (place.0, 1);
        out.push(Action::Allocate { object, size, alignment, is_zeroed: false, pool });
    }

    /// Makes an object of the filling of a buffer that does not log its objects.
    fn fill(&mut self, out: &mut Target<'_>, address: u64, size: u64, buffer: u64) {
        let key = (out.at.stream, buffer);
        if size == 0 || self.logged.contains_key(&key) {
            return;
        }
        let pool = self.buffers.get(&key).copied().unwrap_or(0);
        let place = (self.number(out, pool), address);
        let piece = Piece { is_buffered: true, is_filling: true, ..Piece::new(size) };
        self.allocate(out, place, piece, 0);
        self.fillings.insert(key, place);
    }

    /// Takes the unused rest of a filling away.
    fn empty(&mut self, out: &mut Target<'_>, buffer: u64, spare: u64) {
        let Some(place) = self.fillings.remove(&(out.at.stream, buffer)) else { return };
        let Some(&piece) = self.pieces.get(&place).filter(|piece| piece.is_filling) else { return };
        let end = place.1.saturating_add(piece.size);
        let spare_begin = end.saturating_sub(spare).max(place.1);
        self.cut(out, (place.0, place.1, piece), spare_begin, end);
    }

    /// Takes a range away from a piece, and so from its object.
    fn cut(&mut self, out: &mut Target<'_>, piece: (u32, u64, Piece), from: u64, to: u64) {
        let (pool, begin, piece) = piece;
        let end = begin.saturating_add(piece.size);
        let cut = end.min(to).saturating_sub(begin.max(from));
        if cut == 0 {
            return;
        }
        self.pieces.remove(&(pool, begin));
        let mut keep = |begin: u64, end: u64| {
            if begin < end {
                self.pieces.insert((pool, begin), Piece { size: end - begin, ..piece });
            }
        };
        keep(begin, from.min(end));
        keep(to.max(begin), end);
        self.shrink(out, piece, cut);
    }

    fn overlapping(&self, (pool, address): (u32, u64), size: u64) -> Vec<(u64, Piece)> {
        let end = address.saturating_add(size);
        let before = self.pieces.range((pool, 0)..(pool, address)).next_back();
        let before =
            before.filter(|((_, begin), piece)| begin.saturating_add(piece.size) > address);
        let within = self.pieces.range((pool, address)..(pool, end));
        before.into_iter().chain(within).map(|(&(_, begin), &piece)| (begin, piece)).collect()
    }

    /// Removes a piece that was not freed, and its object if that was its last piece.
    fn remove(&mut self, out: &mut Target<'_>, place: (u32, u64), piece: Piece, cause: Cause) {
        self.pieces.remove(&place);
        if let Some(left) = self.split.get_mut(&piece.object) {
            *left = left.saturating_sub(piece.size);
            if *left > 0 {
                return;
            }
            self.split.remove(&piece.object);
        }
        out.output.skipped.count(cause);
        out.push(Action::Free { object: piece.object });
    }

    fn free(&mut self, out: &mut Target<'_>, place: (u32, u64), size: u64) {
        let filling = self.overlapping(place, size).into_iter().find(|(_, piece)| piece.is_filling);
        if let Some((begin, piece)) = filling {
            let (pool, from) = place;
            return self.cut(out, (pool, begin, piece), from, from.saturating_add(size));
        }
        match self.pieces.remove(&place) {
            Some(piece) => out.push(Action::Free { object: piece.object }),
            None if self.given_back.remove(&place).is_some() => {
                out.output.skipped.take_back(Cause::GivenBack);
            }
            None => out.output.skipped.count(Cause::UnknownFree),
        }
    }

    /// Takes a range back for the arena: it ends objects in buffers, and shrinks memory that the
    /// arena itself gave.
    fn give_back(&mut self, out: &mut Target<'_>, place: (u32, u64), size: u64) {
        let (pool, from) = place;
        let to = from.saturating_add(size);
        let overlapping = self.overlapping(place, size);
        if overlapping.is_empty() && !out.output.has_objects {
            return out.output.skipped.count(Cause::UnknownPiece);
        }
        for (begin, piece) in overlapping {
            if out.output.has_objects && !piece.is_filling {
                if piece.is_buffered {
                    self.remove(out, (pool, begin), piece, Cause::GivenBack);
                    self.given_back.insert((pool, begin), ());
                }
                continue;
            }
            self.cut(out, (pool, begin, piece), from, to);
        }
    }

    /// Does the same if the event does not name the pool (the MPS before 2.0).
    fn give_back_any(&mut self, out: &mut Target<'_>, address: u64, size: u64) {
        let of_stream = self.pools.iter().filter(|((stream, _), _)| *stream == out.at.stream);
        let mut owners: Vec<u32> = of_stream.map(|(_, pool)| pool.number).collect();
        owners.retain(|pool| !self.overlapping((*pool, address), size).is_empty());
        owners.sort_unstable();
        if owners.is_empty() && !out.output.has_objects {
            out.output.skipped.count(Cause::UnknownPiece);
        }
        for pool in owners {
            self.give_back(out, (pool, address), size);
        }
    }

    /// Shrinks an object by bytes that were given back.
    fn shrink(&mut self, out: &mut Target<'_>, piece: Piece, cut: u64) {
        let Piece { object, size, .. } = piece;
        let left = self.split.get(&object).copied().unwrap_or(size).saturating_sub(cut);
        if left == 0 {
            self.split.remove(&object);
            return out.push(Action::Free { object });
        }
        self.split.insert(object, left);
        out.push(Action::Reallocate { object, size: left, is_unaligned: false });
    }

    fn begin(&mut self, out: &mut Target<'_>, pool: u64, arena: u64) {
        let known = self.pools.get(&(out.at.stream, pool));
        if known.is_some_and(|pool| pool.arena.is_some()) {
            out.output.skipped.count(Cause::PoolWithoutEnd);
            self.end(out, pool);
        }
        // The buffers of a pool are made before the event of the pool.
        self.number(out, pool);
        if let Some(known) = self.pools.get_mut(&(out.at.stream, pool)) {
            known.arena = Some(arena);
        }
    }

    fn end(&mut self, out: &mut Target<'_>, pool: u64) {
        let Some(Pool { number, .. }) = self.pools.remove(&(out.at.stream, pool)) else { return };
        if number + 1 == POOL_COUNT_MAX {
            return;
        }
        let pieces = self.pieces.range((number, 0)..=(number, u64::MAX));
        let pieces: Vec<_> = pieces.map(|(&place, &piece)| (place, piece)).collect();
        for (place, piece) in pieces {
            self.remove(out, place, piece, Cause::EndedWithPool);
        }
        out.push(Action::EndPool { pool: number });
    }

    fn end_arena(&mut self, out: &mut Target<'_>, arena: u64) {
        let of_it = |((stream, address), pool): (&(u16, u64), &Pool)| {
            let is_of_it = *stream == out.at.stream && pool.arena == Some(arena);
            is_of_it.then_some((pool.number, *address))
        };
        let mut pools: Vec<(u32, u64)> = self.pools.iter().filter_map(of_it).collect();
        pools.sort_unstable();
        for (_, pool) in pools {
            out.output.skipped.count(Cause::PoolWithoutEnd);
            self.end(out, pool);
        }
    }
}
