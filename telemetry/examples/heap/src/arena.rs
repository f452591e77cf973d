//! The arena: segments of one size, each from the operating system at first, and used again by
//! whatever pool.
//!
//! ```text
//!  │ segment 0 │ segment 1 │ … │        free: [1]
//! ```

use crate::events::{ArenaCreate, ArenaDestroy, ArenaExtend};
use telemetry::event;

/// Size of a segment, in bytes.
pub(crate) const SEGMENT_SIZE: usize = 64 * 1024;

/// Where an object is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) segment: u32,
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

/// Memory for pools.
pub(crate) struct Arena {
    segments: Vec<Box<[u8]>>,
    free: Vec<u32>,
}

impl Arena {
    pub(crate) fn new() -> Box<Arena> {
        let arena = Box::new(Arena { segments: Vec::new(), free: Vec::new() });
        event!(ArenaCreate, &*arena, SEGMENT_SIZE);
        telemetry::label(&*arena, telemetry::add_string("arena"));
        arena
    }

    /// A segment that no pool has.
    pub(crate) fn take_segment(&mut self) -> u32 {
        if let Some(segment) = self.free.pop() {
            return segment;
        }
        let memory = vec![0; SEGMENT_SIZE].into_boxed_slice();
        event!(ArenaExtend { arena: &*self, base: memory.as_ptr(), size: memory.len() });
        self.segments.push(memory);
        self.segments.len() as u32 - 1
    }

    /// Takes a segment back.
    pub(crate) fn put_segment(&mut self, segment: u32) {
        self.free.push(segment);
    }

    /// The address of a segment.
    pub(crate) fn base(&self, segment: u32) -> usize {
        self.segments[segment as usize].as_ptr().addr()
    }

    /// The address of an object.
    pub(crate) fn address(&self, place: Place) -> usize {
        self.base(place.segment) + place.offset as usize
    }

    /// The bytes of an object.
    pub(crate) fn bytes(&self, place: Place) -> &[u8] {
        let from = place.offset as usize;
        &self.segments[place.segment as usize][from..from + place.size as usize]
    }

    /// The same, to change them.
    pub(crate) fn bytes_mut(&mut self, place: Place) -> &mut [u8] {
        let from = place.offset as usize;
        &mut self.segments[place.segment as usize][from..from + place.size as usize]
    }

    /// Moves the bytes of an object to another one.
    pub(crate) fn copy(&mut self, from: Place, to: Place) {
        let (source, target) = (from.segment as usize, to.segment as usize);
        let [source, target] = self
            .segments
            .get_disjoint_mut([source, target])
            .expect("a collector has segments of its own");
        let (from_offset, to_offset) = (from.offset as usize, to.offset as usize);
        let size = from.size as usize;
        target[to_offset..to_offset + size]
            .copy_from_slice(&source[from_offset..from_offset + size]);
    }

    /// Gives all memory back.
    pub(crate) fn destroy(&mut self) {
        event!(ArenaDestroy, &*self, self.segments.len() * SEGMENT_SIZE);
        self.segments.clear();
        self.free.clear();
    }
}
