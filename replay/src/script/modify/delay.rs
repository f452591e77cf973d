//! Delays or drops frees.
//!
//! ```text
//!  free 7 ─▶ a heap of frees by due time ─▶ before the first operation that is not earlier
//!  end of a pool ─▶ first the frees of its objects
//! ```
//!
//! Design: `.rep.modify.delay`, `.rep.modify.drop-free` in `design/replay.md`.

use super::Step;
use crate::operation::{Action, Operation};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// A live object.
#[derive(Clone, Copy)]
struct Object {
    /// The time of its allocation, in ns.
    since: u64,
    pool: u32,
}

/// A delayed free: when it is due, in the unit of the delay; the number of the free; its thread;
/// its object.
type Due = Reverse<(u64, u64, u32, u32)>;

/// Delays frees.
struct Delay<W> {
    /// Computes when a free is due: from the number of operations so far, the time of the free, and
    /// the time of the allocation.
    due: W,
    /// Whether frees are due at a time, and not at a number of operations.
    is_time: bool,
    count: u64,
    objects: HashMap<u32, Object>,
    heap: BinaryHeap<Due>,
    pools: HashMap<u32, u32>,
    last: u64,
}

fn delay(is_time: bool, due: impl Fn(u64, u64, u64) -> u64 + 'static) -> Box<dyn Step> {
    Box::new(Delay {
        due,
        is_time,
        count: 0,
        objects: HashMap::new(),
        heap: BinaryHeap::new(),
        pools: HashMap::new(),
        last: 0,
    })
}

/// Multiplies lifetimes by a factor.
pub(super) fn stretch(factor: f64) -> Box<dyn Step> {
    delay(true, move |_, time, since| {
        let lifetime = (time - since) as f64 * factor;
        since.saturating_add(lifetime as u64).max(time)
    })
}

/// Delays frees by a time in ns.
pub(super) fn time(time: u64) -> Box<dyn Step> {
    delay(true, move |_, now, _| now.saturating_add(time))
}

/// Delays frees by a number of operations.
pub(super) fn operations(later: u64) -> Box<dyn Step> {
    delay(false, move |count, _, _| count.saturating_add(later))
}

impl<W> Delay<W> {
    /// Emits the frees that are due by now.
    fn emit_due(&mut self, now: u64, time: u64, emit: &mut dyn FnMut(Operation)) {
        while let Some(&Reverse((due, _, thread, object))) = self.heap.peek()
            && due <= now
        {
            self.heap.pop();
            self.pools.remove(&object);
            self.last = if self.is_time { due.max(self.last) } else { time };
            emit(Operation { time: self.last, thread, action: Action::Free { object } });
        }
    }

    /// Emits the frees of objects in a pool.
    fn emit_pool(&mut self, pool: u32, time: u64, emit: &mut dyn FnMut(Operation)) {
        if !self.pools.values().any(|other| *other == pool) {
            return;
        }
        let mut rest = BinaryHeap::new();
        while let Some(Reverse(due)) = self.heap.pop() {
            let (_, _, thread, object) = due;
            if self.pools.get(&object) == Some(&pool) {
                self.pools.remove(&object);
                emit(Operation { time, thread, action: Action::Free { object } });
            } else {
                rest.push(Reverse(due));
            }
        }
        self.heap = rest;
    }
}

impl<W: Fn(u64, u64, u64) -> u64> Step for Delay<W> {
    fn take(&mut self, operation: Operation, emit: &mut dyn FnMut(Operation)) {
        let Operation { time, thread, action } = operation;
        self.count += 1;
        self.emit_due(if self.is_time { time } else { self.count }, time, emit);
        self.last = time;
        match action {
            Action::Free { object } => {
                let known = self.objects.remove(&object);
                let Object { since, pool } = known.unwrap_or(Object { since: time, pool: 0 });
                let due = (self.due)(self.count, time, since);
                self.heap.push(Reverse((due, self.count, thread, object)));
                self.pools.insert(object, pool);
                return;
            }
            Action::Allocate { object, pool, .. } => {
                self.objects.insert(object, Object { since: time, pool });
            }
            Action::EndPool { pool } => self.emit_pool(pool, time, emit),
            Action::Reallocate { .. } => {}
        }
        emit(operation);
    }

    fn end(&mut self, emit: &mut dyn FnMut(Operation)) {
        self.emit_due(u64::MAX, self.last, emit);
    }
}

/// Drops frees, except at the end of their pool.
pub(super) struct Drop {
    part: f64,
    pools: HashMap<u32, u32>,
    /// The objects in each pool whose frees were dropped.
    left: HashMap<u32, Vec<u32>>,
}

impl Drop {
    pub(super) fn new(part: f64) -> Drop {
        Drop { part, pools: HashMap::new(), left: HashMap::new() }
    }

    /// Returns whether the free of an object is dropped. The number of the object decides, so that
    /// each run drops the same frees.
    pub(super) fn is_dropped(part: f64, object: u32) -> bool {
        // Multiplication by this odd number spreads the numbers evenly (Knuth).
        let spread = object.wrapping_mul(2_654_435_769);
        f64::from(spread) < part * (f64::from(u32::MAX) + 1.0)
    }
}

impl Step for Drop {
    fn take(&mut self, operation: Operation, emit: &mut dyn FnMut(Operation)) {
        match operation.action {
            Action::Allocate { object, pool, .. } => drop(self.pools.insert(object, pool)),
            Action::Free { object } => {
                let pool = self.pools.remove(&object).unwrap_or(0);
                if Drop::is_dropped(self.part, object) {
                    self.left.entry(pool).or_default().push(object);
                    return;
                }
            }
            Action::EndPool { pool } => {
                for object in self.left.remove(&pool).unwrap_or_default() {
                    emit(Operation { action: Action::Free { object }, ..operation });
                }
            }
            Action::Reallocate { .. } => {}
        }
        emit(operation);
    }
}
