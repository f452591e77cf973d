//! A reading of a log in partitions, which several threads read side by side.
//!
//! ```text
//!  order of time:  ─┤ 0 ├────┤ 1 ├────┤ 2 ├─   the events of all partitions, one after the
//!  a segment          ┌────────┐                other, are those of the log in its order
//!  that is carried:   begins ──▶ goes on
//!  order of file:  segments 0…99 │ 100…199 │ …
//! ```
//!
//! A segment that reaches into several partitions is decoded in each. So partitions are much longer
//! than such overlaps. Order: `.time.order` in `design/format.md`.

use super::cache::Stretch;
use super::filter::Order;
use super::filter::{Filter, Plan};
use super::merge::Events;
use super::queue::{history, queue};
use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::log::Log;
use crate::reader::model::label::Labels;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The least ratio of a partition's own segments to those that began before it.
const SEGMENTS_PER_CARRIED: usize = 2;

/// The events of a log in partitions: see [`Log::partitions`].
#[must_use]
pub struct Partitions<'l> {
    log: &'l Log,
    order: Order,
    plans: Arc<[Plan]>,
    labels: Vec<Labels>,
    stretches: Vec<Stretch>,
    /// A reading of the whole log instead, because its labels are not known beforehand.
    whole: Option<Filter>,
    faults: Faults,
}

impl Log {
    /// Returns the events in partitions of about `count` events, for several threads. The events of
    /// all partitions in turn are those of [`Log::events`]. A log that cannot be divided is one
    /// partition.
    pub fn partitions(&self, order: Order, filter: &Filter, count: u64) -> Partitions<'_> {
        Partitions::new(self, order, filter, count)
    }
}

opaque_debug!(Partitions<'_>);

impl<'l> Partitions<'l> {
    pub(crate) fn new(log: &'l Log, order: Order, filter: &Filter, count: u64) -> Partitions<'l> {
        let mut faults = Faults::default();
        let labels = if filter.labels { history(log, &mut faults) } else { Vec::new() };
        let is_limited = faults.iter().any(|fault| fault.kind == FaultKind::LabelLimit);
        let is_exact = !is_limited && labels.iter().all(Labels::is_exact);
        let plans = log.registries().iter().map(|registry| Plan::new(filter, registry, false));
        let plans: Arc<[Plan]> = plans.collect();
        let (stretches, whole) = match order {
            _ if !is_exact && filter.labels => (Vec::new(), Some(filter.clone())),
            // Partitions are divided by ticks.
            Order::Time if log.is_aligned() => (Vec::new(), Some(filter.clone())),
            Order::Time => (by_time(log, queue(log, order, &plans, filter.beginning), count), None),
            Order::File => {
                (by_file(log, &queue(log, order, &plans, filter.beginning), count), None)
            }
        };
        if whole.is_some() {
            faults = Faults::default();
        }
        Partitions { log, order, plans, labels, stretches, whole, faults }
    }

    /// Returns the number of partitions.
    pub fn count(&self) -> usize {
        if self.whole.is_some() { 1 } else { self.stretches.len() }
    }

    /// Returns the events of a partition by index; beyond the last, none.
    pub fn events(&self, index: usize) -> Events<'l> {
        if let Some(filter) = self.whole.as_ref().filter(|_| index == 0) {
            return Events::new(self.log, self.order, filter);
        }
        let stretch = self.stretches.get(index).cloned().unwrap_or_default();
        Events::of_stretch(self.log, self.order, self.plans.clone(), &self.labels, stretch)
    }

    /// Returns the faults of the pass over labels.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }
}

impl<'l> Events<'l> {
    /// Returns the events of a stretch, with the labels of its streams.
    fn of_stretch(
        log: &'l Log,
        order: Order,
        plans: Arc<[Plan]>,
        labels: &[Labels],
        stretch: Stretch,
    ) -> Events<'l> {
        let queue = stretch.queue.clone();
        let is_history = !labels.is_empty();
        let streams = || queue.iter().filter_map(|&place| log.segment(place)).map(|at| at.stream);
        let (first, last) = (streams().min().unwrap_or(0), streams().max().unwrap_or(0));
        // An MPS file may have a stream for each run of a program. Most of them are not read here.
        let labels = labels.get(first.into()..=last.into()).unwrap_or_default().to_vec();
        let mut events = Events::with_queue(log, order, plans, labels, queue);
        events.labels_from = first;
        events.is_history = is_history;
        events.stretch = Some(stretch);
        events
    }
}

/// Divides segments in file order into stretches of about `count` events.
fn by_file(log: &Log, queue: &[u32], count: u64) -> Vec<Stretch> {
    let mut stretches = vec![Stretch { to: u64::MAX, ..Stretch::default() }];
    let mut event_count = 0;
    for &place in queue {
        if event_count >= count {
            stretches.push(Stretch { to: u64::MAX, ..Stretch::default() });
            event_count = 0;
        }
        if let Some(stretch) = stretches.last_mut() {
            stretch.queue.push(place);
        }
        event_count += log.segment(place).map_or(0, |segment| u64::from(segment.count));
    }
    stretches
}

/// Divides segments in order of time into stretches of one era each.
fn by_time(log: &Log, queue: Vec<u32>, count: u64) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let mut stretch = Stretch { to: u64::MAX, ..Stretch::default() };
    // The ends of segments that reach to the current one.
    let mut open: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
    let (mut event_count, mut era) = (0, None);
    for place in queue {
        let Some(segment) = log.segment(place) else { continue };
        let begin = segment.ticks_min;
        let (own, _) = log.place(segment);
        let is_new_era = era.replace(own) != Some(own);
        if is_new_era {
            open.clear();
        }
        while open.peek().is_some_and(|Reverse((end, _))| *end < begin) {
            open.pop();
        }
        let new_count = stretch.queue.len() - stretch.carried_count;
        let is_long = event_count >= count && new_count >= SEGMENTS_PER_CARRIED * open.len();
        // Segments that begin at one time are in one partition. No partition lies before the first
        // time.
        let is_end = is_long && begin > stretch.from && begin > 0;
        if is_new_era || is_end {
            let mut carried: Vec<u32> = open.iter().map(|Reverse((_, place))| *place).collect();
            carried.sort_by_key(|&place| log.segment(place).map(|segment| segment.ticks_min));
            let next = Stretch {
                carried_count: carried.len(),
                queue: carried,
                from: if is_new_era { 0 } else { begin },
                to: u64::MAX,
            };
            let mut last = std::mem::replace(&mut stretch, next);
            last.to = if is_new_era { u64::MAX } else { begin - 1 };
            if !last.queue.is_empty() {
                stretches.push(last);
            }
            event_count = 0;
        }
        stretch.queue.push(place);
        open.push(Reverse((segment.ticks_max, place)));
        event_count += u64::from(segment.count);
    }
    stretches.push(stretch);
    stretches
}
