//! The processor of a record, whether the record states it or not.
//!
//! ```text
//!  CPU in the record │ else ID_INDEX: the processor of its event
//!                    │ else a seat: the thread that is switched in takes the first that is free
//! ```
//!
//! Design: `.waits.perf` in `design/waits.md`.

use super::layout::{Facts, Layout};
use crate::waits::source::cursor::Cursor;
use crate::waits::source::switches::IS_OUT;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Numbers of events, at most.
const ID_COUNT_MAX: usize = 1 << 20;
/// Seats, at most.
const SEAT_COUNT_MAX: usize = 1 << 12;

/// Where the records of a source were made.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The processor of each event that has one.
    cpus: HashMap<u64, u32, RandomState>,
    /// Events that are of one thread and of those that it makes; others.
    bound_count: usize,
    free_count: usize,
    /// The threads that run, where records do not tell processors: 0 stands for none.
    seats: Option<Vec<u32>>,
}

impl Places {
    /// Takes ID_INDEX: a count, then number, index, processor and thread of each event.
    pub(super) fn index(&mut self, mut cursor: Cursor<'_>) {
        for _ in 0..cursor.u64().unwrap_or(0).min(ID_COUNT_MAX as u64) {
            let place = (cursor.u64(), cursor.u64(), cursor.u64(), cursor.u64());
            let (Some(id), Some(_), Some(cpu), Some(thread)) = place else { break };
            // -1 stands for any.
            let count =
                if thread == u64::MAX { &mut self.free_count } else { &mut self.bound_count };
            *count += 1;
            if let Some(cpu) = u32::try_from(cpu).ok().filter(|_| self.cpus.len() < ID_COUNT_MAX) {
                self.cpus.insert(id, cpu);
            }
        }
    }

    /// Notes the fields of the records. Returns whether all of them can tell their processor.
    pub(super) fn learn(&mut self, layouts: &[Layout]) -> bool {
        let is_known = |own: &Layout| {
            let is_placed =
                |ids: &[u64]| !ids.is_empty() && ids.iter().all(|id| self.cpus.contains_key(id));
            own.has_cpu() || own.has_id() && is_placed(&own.ids)
        };
        let is_seated = layouts.iter().any(|own| own.has_switches && !is_known(own));
        self.seats = is_seated.then(Vec::new);
        !is_seated
    }

    /// Returns whether all records are of one thread and of those that it makes.
    pub(super) fn are_bound(&self) -> bool {
        self.bound_count > 0 && self.free_count == 0
    }

    /// Returns the processor of an event; `None` if it is not known.
    pub(super) fn of_event(&self, id: u64) -> Option<u32> {
        self.cpus.get(&id).copied()
    }

    /// Returns the processor of a record.
    #[inline]
    pub(super) fn of(&mut self, facts: &Facts) -> u32 {
        match &mut self.seats {
            Some(seats) => seat(seats, facts.thread),
            None => facts.cpu.or_else(|| self.of_event(facts.id)).unwrap_or(0),
        }
    }

    /// Notes that a thread does not run any more.
    pub(super) fn leave(&mut self, thread: u32) {
        let mut seats = self.seats.iter_mut().flatten();
        if let Some(seat) = seats.find(|seat| **seat == thread) {
            *seat = 0;
        }
    }

    /// Notes that SWITCH was read.
    pub(super) fn switched(&mut self, thread: u32, misc: u16) {
        if misc & IS_OUT != 0 {
            self.leave(thread);
        }
    }
}

/// Returns the seat of a thread, which takes one if it has none.
fn seat(seats: &mut Vec<u32>, thread: u32) -> u32 {
    if thread == 0 {
        return 0;
    }
    let find = |of: u32| seats.iter().position(|seat| *seat == of);
    let at = find(thread).or_else(|| find(0)).unwrap_or(seats.len()).min(SEAT_COUNT_MAX);
    if seats.len() <= at {
        seats.resize(at + 1, 0);
    }
    if let Some(seat) = seats.get_mut(at) {
        *seat = thread;
    }
    at as u32
}
