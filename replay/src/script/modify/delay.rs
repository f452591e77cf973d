//! Frees that come later, or never.
//!
//! ```text
//!  free 7 ─▶ a heap of frees by when they are due ─▶ before the first operation not earlier
//!  end of a pool ─▶ first the frees of what is in it
//! ```
//!
//! Design: `.rep.modify.delay`, `.rep.modify.drop-free` in `design/replay.md`.

use super::Step;
use crate::operation::{Action, Operation};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// What is known of an object that is there.
#[derive(Clone, Copy)]
struct Object {
    /// When it was allocated, in ns.
    since: u64,
    pool: u32,
}

/// A free that is due: when, in what the delay is counted in; which came first; of what.
type Due = Reverse<(u64, u64, u32, u32)>;

/// Frees that come later.
struct Delay<W> {
    /// When a free is due: by the number of operations so far, the time of the free, and when its
    /// object was allocated.
    due: W,
    /// Whether that is a time.
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

/// Lifetimes times a factor.
pub(super) fn stretch(factor: f64) -> Box<dyn Step> {
    delay(true, move |_, time, since| {
        let lifetime = (time - since) as f64 * factor;
        since.saturating_add(lifetime as u64).max(time)
    })
}

/// Frees so many ns later.
pub(super) fn time(time: u64) -> Box<dyn Step> {
    delay(true, move |_, now, _| now.saturating_add(time))
}

/// Frees so many operations later.
pub(super) fn operations(later: u64) -> Box<dyn Step> {
    delay(false, move |count, _, _| count.saturating_add(later))
}

impl<W> Delay<W> {
    /// Gives the frees that are due by now.
    fn settle(&mut self, now: u64, time: u64, give: &mut dyn FnMut(Operation)) {
        while let Some(&Reverse((due, _, thread, object))) = self.heap.peek()
            && due <= now
        {
            self.heap.pop();
            self.pools.remove(&object);
            self.last = if self.is_time { due.max(self.last) } else { time };
            give(Operation { time: self.last, thread, action: Action::Free { object } });
        }
    }

    /// Gives the frees of what is in a pool.
    fn settle_pool(&mut self, pool: u32, time: u64, give: &mut dyn FnMut(Operation)) {
        if !self.pools.values().any(|other| *other == pool) {
            return;
        }
        let mut rest = BinaryHeap::new();
        while let Some(Reverse(due)) = self.heap.pop() {
            let (_, _, thread, object) = due;
            if self.pools.get(&object) == Some(&pool) {
                self.pools.remove(&object);
                give(Operation { time, thread, action: Action::Free { object } });
            } else {
                rest.push(Reverse(due));
            }
        }
        self.heap = rest;
    }
}

impl<W: Fn(u64, u64, u64) -> u64> Step for Delay<W> {
    fn take(&mut self, operation: Operation, give: &mut dyn FnMut(Operation)) {
        let Operation { time, thread, action } = operation;
        self.count += 1;
        self.settle(if self.is_time { time } else { self.count }, time, give);
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
            Action::EndPool { pool } => self.settle_pool(pool, time, give),
            Action::Reallocate { .. } => {}
        }
        give(operation);
    }

    fn end(&mut self, give: &mut dyn FnMut(Operation)) {
        self.settle(u64::MAX, self.last, give);
    }
}

/// Frees that never come, but for those of a pool that ends.
pub(super) struct Drop {
    part: f64,
    pools: HashMap<u32, u32>,
    /// Of each pool what is in it for ever.
    left: HashMap<u32, Vec<u32>>,
}

impl Drop {
    pub(super) fn new(part: f64) -> Drop {
        Drop { part, pools: HashMap::new(), left: HashMap::new() }
    }

    /// Whether an object is never freed: by its number, so that it is the same ones each time.
    pub(super) fn is_dropped(part: f64, object: u32) -> bool {
        // Multiplying by this odd number spreads the numbers evenly (Knuth).
        let spread = object.wrapping_mul(2_654_435_769);
        f64::from(spread) < part * (f64::from(u32::MAX) + 1.0)
    }
}

impl Step for Drop {
    fn take(&mut self, operation: Operation, give: &mut dyn FnMut(Operation)) {
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
                    give(Operation { action: Action::Free { object }, ..operation });
                }
            }
            Action::Reallocate { .. } => {}
        }
        give(operation);
    }
}
