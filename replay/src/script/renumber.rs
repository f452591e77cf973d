//! Renumbers objects, threads and pools from 0, in order of their first operations.
//!
//! ```text
//!  7, 3, 7, 9 ─▶ 0, 1, 0, 2
//! ```
//!
//! Design: `.rep.operation` in `design/replay.md`.

use crate::operation::{Action, Operation};

/// Stands for no number.
const NONE: u32 = u32::MAX;

/// Numbers in order of first use.
#[derive(Debug, Default)]
struct Numbers {
    numbers: Vec<u32>,
    count: u32,
}

impl Numbers {
    #[inline]
    fn get(&mut self, old: u32) -> u32 {
        if old as usize >= self.numbers.len() {
            self.numbers.resize(old as usize + 1, NONE);
        }
        let Some(number) = self.numbers.get_mut(old as usize) else { return old };
        if *number == NONE {
            *number = self.count;
            self.count += 1;
        }
        *number
    }
}

#[derive(Debug, Default)]
pub(crate) struct Renumber {
    objects: Numbers,
    threads: Numbers,
    pools: Numbers,
}

impl Renumber {
    /// Returns an operation with its new numbers.
    #[inline]
    pub(crate) fn apply(&mut self, operation: Operation) -> Operation {
        let object = |object: u32, numbers: &mut Numbers| numbers.get(object);
        let action = match operation.action {
            Action::Allocate { object: old, size, alignment, is_zeroed, pool } => {
                let object = object(old, &mut self.objects);
                let pool = self.pools.get(pool);
                Action::Allocate { object, size, alignment, is_zeroed, pool }
            }
            Action::Reallocate { object: old, size, is_unaligned } => {
                let object = object(old, &mut self.objects);
                Action::Reallocate { object, size, is_unaligned }
            }
            Action::Free { object: old } => Action::Free { object: object(old, &mut self.objects) },
            Action::EndPool { pool } => Action::EndPool { pool: self.pools.get(pool) },
        };
        Operation { thread: self.threads.get(operation.thread), action, ..operation }
    }
}
