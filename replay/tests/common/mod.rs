//! Random operations, for tests of playing.
//!
//! ```text
//!  seed ──▶ random ──▶ Vec<Operation>, and their live bytes
//! ```
//!
//! Design: `.rep.truth` in `design/replay.md`.

use replay::operation::{Action, Operation};

/// Pseudorandom numbers: xorshift, from a seed that is not 0.
pub(crate) struct Random(u64);

impl Random {
    /// Returns the next number, below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// Returns a size: mostly small, sometimes 0, sometimes huge.
    fn size(&mut self) -> u64 {
        match self.below(100) {
            0 => 0,
            1 => self.below(1 << 20),
            _ => {
                let bits = self.below(12);
                1 + self.below(8 << bits)
            }
        }
    }
}

/// Returns operations of several threads and pools: one thread allocates each object, and any
/// thread frees it; some objects are reallocated, some are left; pools end, and later ones get
/// objects.
pub(crate) fn operations(
    seed: u64,
    count: u64,
    thread_count: u64,
    pool_count: u64,
) -> Vec<Operation> {
    let mut random = Random(seed);
    let (mut found, mut live_objects): (Vec<Operation>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
    let (mut objects, mut pools) = (0, (0..pool_count as u32).collect::<Vec<_>>());
    for time in 0..count {
        let thread = random.below(thread_count) as u32;
        let mut push = |action| found.push(Operation { time: time * 100, thread, action });
        let which = random.below(live_objects.len().max(1) as u64) as usize;
        match random.below(100) {
            0..50 => {
                let alignment = if random.below(20) == 0 { 1 << random.below(14) } else { 1 };
                let (size, pool) = (random.size(), pools[random.below(pool_count) as usize]);
                let is_zeroed = random.below(8) == 0;
                push(Action::Allocate { object: objects, size, alignment, is_zeroed, pool });
                live_objects.push((objects, pool));
                objects += 1;
            }
            50..58 if !live_objects.is_empty() => {
                push(Action::Reallocate {
                    object: live_objects[which].0,
                    size: random.size().max(1),
                    is_unaligned: time % 3 == 0,
                });
            }
            58..99 if !live_objects.is_empty() => {
                push(Action::Free { object: live_objects.swap_remove(which).0 });
            }
            99 if time % 7 == 0 && pool_count > 1 => {
                // A pool's number is never used again.
                let next = pools.iter().max().map_or(0, |last| last + 1);
                let pool = std::mem::replace(&mut pools[random.below(pool_count) as usize], next);
                for (object, _) in live_objects.extract_if(.., |object| object.1 == pool) {
                    push(Action::Free { object });
                }
                push(Action::EndPool { pool });
            }
            _ => {}
        }
    }
    found
}

/// Returns the live bytes after each operation on an object, counted independently.
pub(crate) fn live_steps(operations: &[Operation]) -> Vec<u64> {
    let mut sizes = std::collections::HashMap::new();
    let (mut live, mut steps) = (0, Vec::new());
    for operation in operations {
        match operation.action {
            Action::Allocate { object, size, .. } | Action::Reallocate { object, size, .. } => {
                live = live + size - sizes.insert(object, size).unwrap_or(0);
            }
            Action::Free { object } => live -= sizes.remove(&object).unwrap_or(0),
            Action::EndPool { .. } => continue,
        }
        steps.push(live);
    }
    steps
}
