//! Which segments are read, and the first pass over the store for labels.
//!
//! ```text
//!  plans ──▶ segments, in the order of reading
//!  segments of the store, in order of time ──▶ Labels of all times
//! ```
//!
//! Design: `.store.label` in `design/format.md`.

use super::filter::Order;
use super::filter::Plan;
use super::merge::Events;
use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::log::Log;
use crate::reader::model::label::Labels;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the segments to read, in order.
pub(crate) fn queue(
    log: &Log,
    order: Order,
    plans: &Arc<[Plan]>,
    beginning: Option<u64>,
) -> Vec<u32> {
    let wants = |place: &u32| {
        let segment = log.segment(*place);
        let plan = segment.and_then(|segment| plans.get(segment.registry as usize));
        segment.zip(plan).is_some_and(|(segment, plan)| plan.wants(segment))
    };
    let mut queue: Vec<u32> = (0..log.segments().len() as u32).filter(wants).collect();
    if let Some(count) = beginning {
        keep_beginnings(log, count, &mut queue);
    }
    if order == Order::Time {
        queue.sort_by_key(|&place| log.segment(place).map(|segment| log.place(segment)));
    }
    queue
}

/// Keeps the segments with any of the first `count` events of a buffer in its stream. (In an MPS
/// file, the numbers go on from one stream to the next.)
fn keep_beginnings(log: &Log, count: u64, queue: &mut Vec<u32>) {
    let mut starts: BTreeMap<(u16, u32), u64> = BTreeMap::new();
    for segment in log.segments() {
        let start = starts.entry((segment.stream, segment.buffer)).or_insert(segment.first);
        *start = segment.first.min(*start);
    }
    queue.retain(|&place| {
        log.segment(place).is_some_and(|segment| {
            let start = starts.get(&(segment.stream, segment.buffer)).copied().unwrap_or(0);
            segment.first.saturating_sub(start) < count
        })
    });
}

/// Returns the labels of the log over all time. Of the faults, it reports only a lack of memory:
/// the reading itself meets the others.
pub(crate) fn history(log: &Log, faults: &mut Faults) -> Vec<Labels> {
    let plans = log.registries().iter().map(Plan::labels_alone).collect();
    let labels = vec![Labels::with_history(); log.streams().len()];
    let queue = queue(log, Order::Time, &plans, None);
    let mut events = Events::with_queue(log, Order::Time, plans, labels, queue);
    while events.next().is_some() {}
    for fault in events.faults().iter().filter(|fault| fault.kind == FaultKind::LabelLimit) {
        faults.push_once(fault.offset, fault.kind.clone());
    }
    let mut labels = events.labels;
    labels.iter_mut().for_each(Labels::finish);
    labels
}
