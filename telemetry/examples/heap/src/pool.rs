//! A pool: allocates by moving a mark through its newest segment.
//!
//! ```text
//!  segments │ full │ full │ used ────▶┊ room │
//! ```

use crate::arena::{Arena, Place, SEGMENT_SIZE};
use crate::events::{PoolAlloc, PoolFinish, PoolFree, PoolInit, SegAlloc, SegFree};
use telemetry::event;

/// What objects are aligned to, in bytes.
const ALIGNMENT: usize = 8;

/// Objects of one use.
pub(crate) struct Pool {
    segments: Vec<u32>,
    used: usize,
    object_count: usize,
}

impl Pool {
    /// A pool with a name that the log shows.
    pub(crate) fn new(arena: &Arena, name: &str, moving: bool) -> Box<Pool> {
        let pool = Box::new(Pool { segments: Vec::new(), used: SEGMENT_SIZE, object_count: 0 });
        event!(PoolInit, &*pool, arena, moving);
        telemetry::label(&*pool, telemetry::add_string(name));
        pool
    }

    /// Allocates; an object is at most as large as a segment.
    pub(crate) fn allocate(&mut self, arena: &mut Arena, size: usize) -> Place {
        let taken = size.next_multiple_of(ALIGNMENT);
        if self.used + taken > SEGMENT_SIZE {
            let segment = arena.take_segment();
            event!(SegAlloc, &*self, arena.base(segment), SEGMENT_SIZE);
            self.segments.push(segment);
            self.used = 0;
        }
        let segment = *self.segments.last().expect("there is one");
        let place = Place { segment, offset: self.used as u32, size: size as u32 };
        self.used += taken;
        self.object_count += 1;
        event!(PoolAlloc, &*self, arena.address(place), size);
        place
    }

    /// Gives an object back if it is the newest; any other is left to the collector.
    pub(crate) fn free(&mut self, arena: &Arena, place: Place) {
        let end = place.offset as usize + (place.size as usize).next_multiple_of(ALIGNMENT);
        if self.segments.last() == Some(&place.segment) && end == self.used {
            event!(PoolFree, &*self, arena.address(place), place.size as usize);
            self.used = place.offset as usize;
        }
    }

    /// What it has, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.segments.len() * SEGMENT_SIZE
    }

    /// Goes on with new segments; the old ones are the caller's, to be given back when nothing in
    /// them is used.
    pub(crate) fn condemn(&mut self) -> Vec<u32> {
        self.used = SEGMENT_SIZE;
        std::mem::take(&mut self.segments)
    }

    /// Gives condemned segments back.
    pub(crate) fn release(&self, arena: &mut Arena, condemned: Vec<u32>) {
        for segment in condemned {
            event!(SegFree, self, arena.base(segment));
            arena.put_segment(segment);
        }
    }

    /// Gives everything back.
    pub(crate) fn finish(&mut self, arena: &mut Arena) {
        let all = self.condemn();
        self.release(arena, all);
        event!(PoolFinish, &*self, self.object_count);
    }
}
