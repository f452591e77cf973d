//! Objects in pools: what is where in each pool, and what ends with it.
//!
//! ```text
//!  pool 3 ── address ─▶ Piece { size, object }      (pool, address) in order: what overlaps, and
//!            address ─▶ …                           what a pool has, are stretches of one map
//! ```
//!
//! An arena gives a pool memory, and takes it back in pieces of its own choice: what is left of an
//! object there is its size. Design: `.rep.pieces`, `.rep.pools` in `design/replay.md`.

use super::rows::Told;
use super::skipped::Cause;
use super::track::{At, Map, Output};
use crate::operation::Action;
use std::collections::BTreeMap;

/// Pools that are told apart, at most; those beyond are the last.
const POOL_COUNT_MAX: u32 = 1 << 24;

/// A stretch of memory that is an object's.
#[derive(Clone, Copy, Debug)]
struct Piece {
    size: u64,
    object: u32,
    /// Whether it was allocated in a buffer: then there may be no event that frees it.
    is_buffered: bool,
    /// Whether it is all that a buffer was filled with: there are events of parts of it.
    is_filling: bool,
}

/// A pool.
#[derive(Clone, Copy, Debug)]
struct Pool {
    number: u32,
    /// Its arena, once it is known that it was made.
    arena: Option<u64>,
}

/// What is known of pools.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    /// By stream and address.
    pools: Map<(u16, u64), Pool>,
    /// Of each buffer of a stream the address of its pool.
    buffers: Map<(u16, u64), u64>,
    /// Buffers in which something is reserved that was not committed yet.
    reserved: Map<(u16, u64), ()>,
    /// Buffers that log their objects.
    pub(crate) logged: Map<(u16, u64), ()>,
    /// Of each buffer that does not, what it was filled with last: the pool and the address.
    fillings: Map<(u16, u64), (u32, u64)>,
    count: u32,
    /// By pool and address.
    pieces: BTreeMap<(u32, u64), Piece>,
    /// Of objects in several pieces what is left of them.
    split: Map<u32, u64>,
    /// Where objects were taken to be freed, because their memory was given back; a free may still
    /// come.
    given_back: Map<(u32, u64), ()>,
}

impl Pools {
    /// How many there were.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Takes what an event says of pools.
    pub(crate) fn take(&mut self, told: Told, at: At, output: &mut Output) {
        match told {
            Told::Allocate { address, size, pool, stack, .. } => {
                let place = (self.number(at, pool), address);
                let piece = Piece { size, object: 0, is_buffered: false, is_filling: false };
                self.allocate(at, place, piece, stack, output);
            }
            Told::Reserve { buffer } => {
                // Once it is refused (a collection came between), it is reserved anew.
                let before = self.reserved.insert((at.stream, buffer), ());
                output.skipped.add(Cause::Uncommitted, before.map_or(0, |()| 1));
            }
            Told::Commit { address, size, buffer } => {
                self.reserved.remove(&(at.stream, buffer));
                let pool = self.buffers.get(&(at.stream, buffer)).copied().unwrap_or(0);
                let place = (self.number(at, pool), address);
                let piece = Piece { size, object: 0, is_buffered: true, is_filling: false };
                self.allocate(at, place, piece, 0, output);
            }
            Told::Give { address, size, pool } => {
                let place = (self.number(at, pool), address);
                let piece = Piece { size, object: 0, is_buffered: false, is_filling: false };
                self.allocate(at, place, piece, 0, output);
            }
            Told::Fill { address, size, buffer } => self.fill(at, address, size, buffer, output),
            Told::Empty { buffer, spare } => self.empty(at, buffer, spare, output),
            Told::Free { address, pool, size } => {
                let place = (self.number(at, pool), address);
                self.free(at, place, size, output);
            }
            Told::Take { address, size, pool: 0 } => self.give_back_any(at, address, size, output),
            Told::Take { address, size, pool } => {
                let place = (self.number(at, pool), address);
                self.give_back(at, place, size, output);
            }
            Told::BeginBuffer { buffer, pool } => {
                let before = self.reserved.remove(&(at.stream, buffer));
                output.skipped.add(Cause::Uncommitted, before.map_or(0, |()| 1));
                self.buffers.insert((at.stream, buffer), pool);
            }
            Told::BeginPool { pool, arena } => self.begin(at, pool, arena, output),
            Told::EndPool { pool } => self.end(at, pool, output),
            Told::EndArena { arena } => self.end_arena(at, arena, output),
            Told::Begin { .. } | Told::Reallocate { .. } => {}
            // They are of no pool.
            Told::Touched { .. } | Told::Process { .. } | Told::Miss { .. } => {}
            Told::Ask | Told::Short => {}
        }
    }

    /// The log is at its end.
    pub(crate) fn end_of_log(&mut self, output: &mut Output) {
        output.skipped.add(Cause::Uncommitted, self.reserved.drain().count() as u64);
    }

    /// The number of a pool.
    fn number(&mut self, at: At, pool: u64) -> u32 {
        let next = self.count.min(POOL_COUNT_MAX - 1);
        let count = &mut self.count;
        let pool = self.pools.entry((at.stream, pool)).or_insert_with(|| {
            *count = next + 1;
            Pool { number: next, arena: None }
        });
        pool.number
    }

    /// A piece, which gets its object.
    fn allocate(
        &mut self,
        at: At,
        place: (u32, u64),
        piece: Piece,
        stack: u32,
        output: &mut Output,
    ) {
        if place.1 == 0 {
            return output.skipped.count(Cause::Failed);
        }
        let size = piece.size;
        let Some(object) = output.object(at, stack) else { return };
        for (begin, piece) in self.overlapping(place, size.max(1)) {
            if piece.is_filling {
                let to = place.1.saturating_add(size);
                self.cut((place.0, begin), piece, place.1, to, at, output);
                continue;
            }
            let is_known = begin == place.1 && !piece.is_buffered;
            let cause = if is_known { Cause::HandedOutTwice } else { Cause::GivenBack };
            self.remove((place.0, begin), piece, at, cause, output);
        }
        self.pieces.insert(place, Piece { object, ..piece });
        self.given_back.remove(&place);
        let (pool, alignment) = (place.0, 1);
        output.push(at, Action::Allocate { object, size, alignment, is_zeroed: false, pool });
    }

    /// A buffer that does not log its objects was filled: that is one object, for want of more.
    fn fill(&mut self, at: At, address: u64, size: u64, buffer: u64, output: &mut Output) {
        let key = (at.stream, buffer);
        if size == 0 || self.logged.contains_key(&key) {
            return;
        }
        let pool = self.buffers.get(&key).copied().unwrap_or(0);
        let place = (self.number(at, pool), address);
        let piece = Piece { size, object: 0, is_buffered: true, is_filling: true };
        self.allocate(at, place, piece, 0, output);
        self.fillings.insert(key, place);
    }

    /// What is left of it is given back.
    fn empty(&mut self, at: At, buffer: u64, spare: u64, output: &mut Output) {
        let Some(place) = self.fillings.remove(&(at.stream, buffer)) else { return };
        let Some(&piece) = self.pieces.get(&place).filter(|piece| piece.is_filling) else { return };
        let end = place.1.saturating_add(piece.size);
        self.cut(place, piece, end.saturating_sub(spare).max(place.1), end, at, output);
    }

    /// Takes a stretch away from a piece, and so from its object.
    fn cut(
        &mut self,
        (pool, begin): (u32, u64),
        piece: Piece,
        from: u64,
        to: u64,
        at: At,
        output: &mut Output,
    ) {
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
        self.shrink(piece, cut, at, output);
    }

    /// The pieces of a pool that have bytes in a stretch of memory.
    fn overlapping(&self, (pool, address): (u32, u64), size: u64) -> Vec<(u64, Piece)> {
        let end = address.saturating_add(size);
        let before = self.pieces.range((pool, 0)..(pool, address)).next_back();
        let before =
            before.filter(|((_, begin), piece)| begin.saturating_add(piece.size) > address);
        let within = self.pieces.range((pool, address)..(pool, end));
        before.into_iter().chain(within).map(|(&(_, begin), &piece)| (begin, piece)).collect()
    }

    /// Takes a piece away that was not freed, and its object if it was the last of it.
    fn remove(
        &mut self,
        place: (u32, u64),
        piece: Piece,
        at: At,
        cause: Cause,
        output: &mut Output,
    ) {
        self.pieces.remove(&place);
        if let Some(left) = self.split.get_mut(&piece.object) {
            *left = left.saturating_sub(piece.size);
            if *left > 0 {
                return;
            }
            self.split.remove(&piece.object);
        }
        output.skipped.count(cause);
        output.push(at, Action::Free { object: piece.object });
    }

    fn free(&mut self, at: At, place: (u32, u64), size: u64, output: &mut Output) {
        let filling = self.overlapping(place, size).into_iter().find(|(_, piece)| piece.is_filling);
        if let Some((begin, piece)) = filling {
            let (pool, from) = place;
            return self.cut((pool, begin), piece, from, from.saturating_add(size), at, output);
        }
        match self.pieces.remove(&place) {
            Some(piece) => output.push(at, Action::Free { object: piece.object }),
            None if self.given_back.remove(&place).is_some() => {
                output.skipped.take_back(Cause::GivenBack);
            }
            None => output.skipped.count(Cause::UnknownFree),
        }
    }

    /// An arena takes a stretch of memory back: of objects in buffers it is the end; what the arena
    /// itself gave shrinks.
    fn give_back(&mut self, at: At, place: (u32, u64), size: u64, output: &mut Output) {
        let (pool, from) = place;
        let to = from.saturating_add(size);
        let overlapping = self.overlapping(place, size);
        if overlapping.is_empty() && !output.has_objects {
            return output.skipped.count(Cause::UnknownPiece);
        }
        for (begin, piece) in overlapping {
            if output.has_objects && !piece.is_filling {
                if piece.is_buffered {
                    self.remove((pool, begin), piece, at, Cause::GivenBack, output);
                    self.given_back.insert((pool, begin), ());
                }
                continue;
            }
            self.cut((pool, begin), piece, from, to, at, output);
        }
    }

    /// The same where it is not said which pool gives back (the MPS before 2.0): whose it is.
    fn give_back_any(&mut self, at: At, address: u64, size: u64, output: &mut Output) {
        let of_stream = self.pools.iter().filter(|((stream, _), _)| *stream == at.stream);
        let mut owners: Vec<u32> = of_stream.map(|(_, pool)| pool.number).collect();
        owners.retain(|pool| !self.overlapping((*pool, address), size).is_empty());
        owners.sort_unstable();
        if owners.is_empty() && !output.has_objects {
            output.skipped.count(Cause::UnknownPiece);
        }
        for pool in owners {
            self.give_back(at, (pool, address), size, output);
        }
    }

    /// Bytes of an object were given back.
    fn shrink(&mut self, piece: Piece, cut: u64, at: At, output: &mut Output) {
        let Piece { object, size, .. } = piece;
        let left = self.split.get(&object).copied().unwrap_or(size).saturating_sub(cut);
        if left == 0 {
            self.split.remove(&object);
            return output.push(at, Action::Free { object });
        }
        self.split.insert(object, left);
        output.push(at, Action::Reallocate { object, size: left, is_unaligned: false });
    }

    fn begin(&mut self, at: At, pool: u64, arena: u64, output: &mut Output) {
        let known = self.pools.get(&(at.stream, pool));
        if known.is_some_and(|pool| pool.arena.is_some()) {
            output.skipped.count(Cause::PoolWithoutEnd);
            self.end(at, pool, output);
        }
        // Its buffers are made before it is said to be.
        self.number(at, pool);
        if let Some(known) = self.pools.get_mut(&(at.stream, pool)) {
            known.arena = Some(arena);
        }
    }

    fn end(&mut self, at: At, pool: u64, output: &mut Output) {
        let Some(Pool { number, .. }) = self.pools.remove(&(at.stream, pool)) else { return };
        if number + 1 == POOL_COUNT_MAX {
            return;
        }
        let pieces = self.pieces.range((number, 0)..=(number, u64::MAX));
        let pieces: Vec<_> = pieces.map(|(&place, &piece)| (place, piece)).collect();
        for (place, piece) in pieces {
            self.remove(place, piece, at, Cause::EndedWithPool, output);
        }
        output.push(at, Action::EndPool { pool: number });
    }

    fn end_arena(&mut self, at: At, arena: u64, output: &mut Output) {
        let of_it = |((stream, address), pool): (&(u16, u64), &Pool)| {
            let is_of_it = *stream == at.stream && pool.arena == Some(arena);
            is_of_it.then_some((pool.number, *address))
        };
        let mut pools: Vec<(u32, u64)> = self.pools.iter().filter_map(of_it).collect();
        pools.sort_unstable();
        for (_, pool) in pools {
            output.skipped.count(Cause::PoolWithoutEnd);
            self.end(at, pool, output);
        }
    }
}
