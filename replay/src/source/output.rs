//! The operations and counts that follow from the events of a log.
//!
//! ```text
//!  track.rs, pools.rs ── objects at an address, in a pool ──▶ Output ─▶ Operation, Skipped, Facts
//! ```
//!
//! Design: `.rep.operation`, `.rep.skipped` in `design/replay.md`.

use super::skipped::{Cause, Skipped};
use crate::facts::Facts;
use crate::operation::{Action, Operation};
use foldhash::fast::FixedState;
use stacks::Stack;
use std::collections::{HashMap, VecDeque};

/// Stands for an object that was freed.
pub(super) const FREED: u32 = u32::MAX;

/// A map with a fast hash: no attacker chooses its keys.
pub(crate) type Map<K, V> = HashMap<K, V, FixedState>;

/// The time, stream and thread of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) time: u64,
    pub(crate) stream: u16,
    pub(crate) thread: u32,
}

/// The operations and counts that follow from the events.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(super) objects: u32,
    /// Operations that were not yet returned.
    pub(crate) found: VecDeque<Operation>,
    pub(crate) skipped: Skipped,
    pub(crate) facts: Facts,
    /// Whether the log has events of objects, and not only of memory that arenas give to pools.
    pub(crate) has_objects: bool,
    /// The stream and the stack that asked for each object last, if the caller wants them.
    pub(crate) stacks: Option<Vec<Stack>>,
}

impl Output {
    /// Adds an operation; `at` has the number of its thread.
    #[inline]
    pub(crate) fn push(&mut self, at: Moment, action: Action) {
        self.found.push_back(Operation { time: at.time, thread: at.thread, action });
    }

    #[inline]
    pub(crate) fn object(&mut self, at: Moment, stack: u32) -> Option<u32> {
        let object = self.objects;
        if object == FREED {
            self.skipped.count(Cause::Beyond);
            return None;
        }
        self.objects += 1;
        if let Some(stacks) = &mut self.stacks {
            stacks.push(Stack { stream: at.stream, number: stack });
        }
        Some(object)
    }
}
