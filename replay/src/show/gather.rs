//! Counts operations: their number, sizes, lifetimes, threads, and the objects that are left.
//!
//! ```text
//!  operation ─▶ Gather: live objects │ histograms │ threads │ pools │ live bytes over time
//! ```
//!
//! Design: `.rep.show` in `design/replay.md`.

use super::stacks::{StackShown, Stacks};
use crate::measured::Subject;
use crate::operation::{Action, Operation};
use crate::timeline::Timeline;
use foldhash::fast::FixedState;
use serde::Serialize;
use stacks::Stack;
use std::collections::HashMap;

/// The maximum number of points of live bytes over time.
const LIVE_COUNT_MAX: usize = 512;

/// The contents of `show`.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Shown {
    #[serde(flatten)]
    pub(crate) subject: Subject,
    /// Frees by another thread than the allocating one.
    pub(crate) cross_thread_free_count: u64,
    /// The time of the peak of live bytes, in ns.
    pub(crate) live_peak_ns: u64,
    /// The number of objects that were live then.
    pub(crate) live_peak_count: u64,
    /// The most live bytes in each stretch of time, and the beginning of the stretch.
    #[serde(skip)]
    pub(crate) live: Vec<(u64, u64)>,
    #[serde(skip)]
    pub(crate) threads: Vec<Part>,
    #[serde(skip)]
    pub(crate) pools: Vec<Part>,
    /// The stacks that held or allocated most, if the log has any.
    pub(crate) stacks: Vec<StackShown>,
}

/// The operations of a thread, or in a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) index: u32,
    pub(crate) allocation_count: u64,
    pub(crate) reallocation_count: u64,
    pub(crate) free_count: u64,
    /// The requested bytes.
    pub(crate) bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Object {
    size: u64,
    since: u64,
    thread: u32,
    pool: u32,
    stack: Stack,
}

#[derive(Debug, Default)]
pub(crate) struct Gather {
    shown: Shown,
    objects: HashMap<u32, Object, FixedState>,
    sizes: Histogram,
    lifetimes: Histogram,
    live: u64,
    timeline: Timeline<u64, LIVE_COUNT_MAX>,
    stacks: Stacks,
}

/// Counts of values by powers of two.
#[derive(Debug)]
struct Histogram([u64; 66]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram([0; 66])
    }
}

impl Histogram {
    #[inline]
    fn add(&mut self, value: u64) {
        // 0; 1; 2; 3, 4; 5 to 8; …
        let class = value.checked_sub(1).map_or(0, |less| 65 - less.leading_zeros());
        if let Some(count) = self.0.get_mut(class as usize) {
            *count += 1;
        }
    }

    /// Returns the greatest value of each class that has any, and its count.
    fn counts(&self) -> Vec<(u64, u64)> {
        let greatest = |class: usize| match class {
            0 => 0,
            class => 1u64.checked_shl(class as u32 - 1).unwrap_or(u64::MAX),
        };
        let counts = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(class, count)| (greatest(class), *count)).collect()
    }
}

#[inline]
fn part(list: &mut Vec<Part>, index: u32) -> &mut Part {
    let count = list.len() as u32;
    list.extend((count..=index).map(|index| Part { index, ..Part::default() }));
    &mut list[index as usize]
}

impl Gather {
    /// Counts an operation without a stack.
    pub(crate) fn take(&mut self, operation: &Operation) {
        self.take_of(operation, Stack::default());
    }

    /// Counts an operation, and the stack that asks for memory by it.
    pub(crate) fn take_of(&mut self, operation: &Operation, stack: Stack) {
        let Operation { time, thread, action } = *operation;
        let subject = &mut self.shown.subject;
        subject.duration_ns = subject.duration_ns.max(time);
        match action {
            Action::Allocate { object, size, pool, .. } => {
                subject.allocation_count += 1;
                self.objects.insert(object, Object { size, since: time, thread, pool, stack });
                self.sizes.add(size);
                self.stacks.allocate(stack, size);
                self.asked_for(thread, pool, size, |part| part.allocation_count += 1);
                self.change(time, 0, size);
            }
            Action::Reallocate { object, size, .. } => {
                let Some(known) = self.objects.get_mut(&object) else { return };
                subject.reallocation_count += 1;
                let before = std::mem::replace(&mut known.size, size);
                let pool = known.pool;
                self.stacks.free(std::mem::replace(&mut known.stack, stack), before);
                self.stacks.allocate(stack, size);
                self.sizes.add(size);
                self.asked_for(thread, pool, size, |part| part.reallocation_count += 1);
                self.change(time, before, size);
            }
            Action::Free { object } => {
                let Some(known) = self.objects.remove(&object) else { return };
                subject.free_count += 1;
                self.shown.cross_thread_free_count += u64::from(known.thread != thread);
                self.stacks.free(known.stack, known.size);
                self.lifetimes.add(time - known.since.min(time));
                part(&mut self.shown.threads, thread).free_count += 1;
                part(&mut self.shown.pools, known.pool).free_count += 1;
                self.change(time, known.size, 0);
            }
            Action::EndPool { pool } => drop(part(&mut self.shown.pools, pool)),
        }
    }

    /// Counts requested bytes of a thread in a pool.
    #[inline]
    fn asked_for(&mut self, thread: u32, pool: u32, size: u64, count: fn(&mut Part)) {
        let subject = &mut self.shown.subject;
        subject.bytes_allocated = subject.bytes_allocated.saturating_add(size);
        for part in [part(&mut self.shown.threads, thread), part(&mut self.shown.pools, pool)] {
            part.bytes = part.bytes.saturating_add(size);
            count(part);
        }
    }

    #[inline]
    fn change(&mut self, time: u64, before: u64, now: u64) {
        let live_before = self.live;
        self.live = self.live.saturating_sub(before).saturating_add(now);
        self.timeline.add(time, self.live, Some(live_before), |live| *live);
        if self.live > self.shown.subject.live_peak {
            self.shown.subject.live_peak = self.live;
            self.shown.live_peak_ns = time;
            self.shown.live_peak_count = self.objects.len() as u64;
            self.stacks.peak();
        }
    }

    pub(crate) fn take_stacks(&mut self) -> Stacks {
        std::mem::take(&mut self.stacks)
    }

    pub(crate) fn finish(mut self) -> Shown {
        let subject = &mut self.shown.subject;
        subject.left_count = self.objects.len() as u64;
        let sum = |sum: u64, known: &Object| sum.saturating_add(known.size);
        subject.left_bytes = self.objects.values().fold(0, sum);
        subject.thread_count = self.shown.threads.len() as u32;
        subject.pool_count = self.shown.pools.len() as u32;
        subject.sizes = self.sizes.counts();
        subject.lifetimes = self.lifetimes.counts();
        let points = self.timeline.points();
        self.shown.live = points.map(|(time, live)| (time, live.unwrap_or(0))).collect();
        self.shown
    }
}

/// Counts operations for reports: all except the name, and skipped events.
pub fn subject(operations: impl Iterator<Item = Operation>) -> Subject {
    let mut gather = Gather::default();
    operations.for_each(|operation| gather.take(&operation));
    gather.finish().subject
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::twin::operations;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 50, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn counts_equal_those_of_a_naive_twin(
            numbers in prop::collection::vec(any::<(u8, u32, u8)>(), 0..400),
        ) {
            // `.rep.show`
            let list = operations(&numbers, 4);
            let mut gather = Gather::default();
            list.iter().for_each(|operation| gather.take(operation));
            let shown = gather.finish();
            let mut objects: BTreeMap<u32, (u64, u64, u32)> = BTreeMap::new();
            let (mut cross, mut lives, mut sizes) = (0, Vec::new(), Vec::new());
            let mut peak = (0, 0, 0);
            for operation in &list {
                match operation.action {
                    Action::Allocate { object, size, .. } => {
                        objects.insert(object, (size, operation.time, operation.thread));
                        sizes.push(size);
                    }
                    Action::Reallocate { object, size, .. } => {
                        objects.get_mut(&object).unwrap().0 = size;
                        sizes.push(size);
                    }
                    Action::Free { object } => {
                        let (_, since, thread) = objects.remove(&object).unwrap();
                        cross += u64::from(thread != operation.thread);
                        lives.push(operation.time - since);
                    }
                    Action::EndPool { .. } => {}
                }
                let live = objects.values().map(|object| object.0).sum::<u64>();
                if live > peak.0 {
                    peak = (live, operation.time, objects.len() as u64);
                }
            }
            let subject = &shown.subject;
            let left: u64 = objects.values().map(|object| object.0).sum();
            prop_assert_eq!((subject.left_count, subject.left_bytes), (objects.len() as u64, left));
            prop_assert_eq!(shown.cross_thread_free_count, cross);
            let found = (subject.live_peak, shown.live_peak_ns, shown.live_peak_count);
            prop_assert_eq!(found, peak);
            prop_assert_eq!(subject.bytes_allocated, sizes.iter().sum::<u64>());
            for (values, counts) in [(&sizes, &subject.sizes), (&lives, &subject.lifetimes)] {
                for (greatest, count) in counts {
                    let is_in = |value: &&u64| **value <= *greatest && **value * 2 > *greatest;
                    let is_zero = |value: &&u64| **value == 0 && *greatest == 0;
                    let found = values.iter().filter(|value| is_in(value) || is_zero(value));
                    prop_assert_eq!(found.count() as u64, *count);
                }
                let total: u64 = counts.iter().map(|count| count.1).sum();
                prop_assert_eq!(total, values.len() as u64);
            }
        }
    }
}
