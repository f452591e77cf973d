//! The events of a log, one at a time, in order of time or of the file, in bounded memory.
//!
//! ```text
//!  segments by least ticks ──▶ │ not open yet │ open: a heap by the next event ──▶ Event
//!                                                        │ decoded: a cache of a fixed size
//! ```
//!
//! A segment is opened when its time has come. The heap changes only when the next event of the
//! first segment is later than that of the second. Order: `.time.order` in `design/format.md`.

use super::cache::{Cache, Key, Open, Stretch, Waiting};
use super::filter::{Action, Filter, Order, Plan};
use super::queue::{history, queue};
use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::Located;
use crate::reader::index::sort::Sorter;
use crate::reader::log::Log;
use crate::reader::model::event::Event;
use crate::reader::model::label::{LABEL_MEMORY_MAX, Labels};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

/// The events of a log: see [`Log::events`].
///
/// [`Events::next`] and [`Events::each`] lend each event, which costs least. The iterator gives
/// events with their own bytes.
#[must_use = "nothing is read until events are asked for"]
pub struct Events<'l> {
    log: &'l Log,
    pub(super) order: Order,
    plans: Arc<[Plan]>,
    /// Segments to read, in order.
    queue: Vec<u32>,
    queued: usize,
    /// The group (see [`Log::place`]) of the current segments.
    era: u16,
    pub(super) open: Vec<Open<'l>>,
    free: Vec<u32>,
    heap: BinaryHeap<Waiting>,
    pub(super) current: u32,
    /// The current segment is read until its next event lies beyond this.
    pub(super) bound: Key,
    cache: Cache,
    sorter: Sorter,
    /// The labels of consecutive streams, and the index of the first of these.
    pub(super) labels: Vec<Labels>,
    pub(super) labels_from: u16,
    pub(super) no_labels: Labels,
    /// The stretch of a partition; `None` for the whole log.
    pub(super) stretch: Option<Stretch>,
    /// Memory that is left for labels.
    label_room: usize,
    /// Whether `labels` holds a history, which needs the time of the event.
    pub(super) is_history: bool,
    faults: Faults,
}

impl Log {
    /// Returns the events that a filter lets through, in an order.
    pub fn events(&self, order: Order, filter: &Filter) -> Events<'_> {
        Events::new(self, order, filter)
    }
}

opaque_debug!(Events<'_>);

impl<'l> Events<'l> {
    pub(crate) fn new(log: &'l Log, order: Order, filter: &Filter) -> Events<'l> {
        let is_history = filter.labels && order == Order::File;
        let mut faults = Faults::default();
        let labels = if is_history {
            history(log, &mut faults)
        } else if filter.labels {
            vec![Labels::default(); log.streams().len()]
        } else {
            Vec::new()
        };
        let with_roles = filter.labels && !is_history;
        let plans = log.registries().iter().map(|registry| Plan::new(filter, registry, with_roles));
        let plans = Arc::from_iter(plans);
        let queue = queue(log, order, &plans, filter.beginning);
        let mut events = Events::with_queue(log, order, plans, labels, queue);
        events.is_history = is_history;
        events.faults = faults;
        events
    }

    pub(crate) fn with_queue(
        log: &'l Log,
        order: Order,
        plans: Arc<[Plan]>,
        labels: Vec<Labels>,
        queue: Vec<u32>,
    ) -> Events<'l> {
        Events {
            log,
            order,
            plans,
            queue,
            queued: 0,
            era: 0,
            open: Vec::new(),
            free: Vec::new(),
            heap: BinaryHeap::new(),
            current: u32::MAX,
            bound: Key::LAST,
            // An MPS log has a buffer for each stream, and no accounts.
            cache: Cache::new(log.accounts().len().max(log.streams().len())),
            sorter: Sorter::default(),
            labels,
            labels_from: 0,
            no_labels: Labels::default(),
            stretch: None,
            label_room: LABEL_MEMORY_MAX,
            is_history: false,
            faults: Faults::default(),
        }
    }

    /// Returns the labels of a stream; none if the filter asked for none.
    #[inline(always)]
    pub(super) fn labels_of(&self, stream: u16) -> &Labels {
        self.labels.get(self.labels_place(stream)).unwrap_or(&self.no_labels)
    }

    /// Returns the index in `labels` of a stream's labels.
    #[inline(always)]
    pub(super) fn labels_place(&self, stream: u16) -> usize {
        usize::from(stream).wrapping_sub(self.labels_from.into())
    }

    /// Returns the faults of this reading so far. [`Log::faults`] has those of the first pass.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Returns the next event.
    #[expect(clippy::should_implement_trait, reason = "an event borrows from what was read last")]
    #[inline]
    pub fn next(&mut self) -> Option<Event<'l, '_>> {
        self.next_where(|_| true)
    }

    /// Returns the next event for which `is_it` is true.
    #[inline]
    pub fn next_where(
        &mut self,
        is_match: impl Fn(&Event<'_, '_>) -> bool,
    ) -> Option<Event<'l, '_>> {
        loop {
            let (number, located) = self.find_timely()?;
            let open = self.open.get(self.current as usize)?;
            if is_match(&open.event(number, &located, self.labels_of(open.segment.stream))) {
                // Computed again: a borrow cannot outlive a turn of the loop.
                let open = self.open.get(self.current as usize)?;
                return Some(open.event(number, &located, self.labels_of(open.segment.stream)));
            }
        }
    }

    /// Returns the next event to give and its number, and sets the labels to its time.
    #[inline(always)]
    pub(super) fn find_timely(&mut self) -> Option<(u64, Located)> {
        let (number, located) = self.find()?;
        if self.is_history {
            let stream = self.open.get(self.current as usize)?.segment.stream;
            let place = self.labels_place(stream);
            self.labels.get_mut(place)?.set_time(located.ticks);
        }
        Some((number, located))
    }

    /// Returns the next event to give and its number.
    #[inline(always)]
    pub(super) fn find(&mut self) -> Option<(u64, Located)> {
        loop {
            if let Some(open) = self.open.get_mut(self.current as usize)
                && let Some((number, &located)) = open.decoded.get(open.position as usize)
            {
                let key = Key { time: open.time(located.ticks), buffer: open.buffer, number };
                // Two copies of one event have equal keys: neither waits for the other.
                if key <= self.bound {
                    open.position += 1;
                    let is_timely = open.from <= located.ticks && located.ticks <= open.to;
                    let is_given = match &open.actions {
                        None => true,
                        Some(actions) => match actions.get(usize::from(located.row)) {
                            Some(Action { give, role: None }) => *give,
                            action => {
                                let action = action.copied();
                                self.act(action, number, &located)
                            }
                        },
                    };
                    if is_given && is_timely {
                        return Some((number, located));
                    }
                    continue;
                }
            }
            let is_more = match self.order {
                Order::Time => self.advance(),
                Order::File => self.advance_in_file(),
            };
            if !is_more {
                return None;
            }
        }
    }

    /// Feeds the labels with an event, or checks an event of unknown code. Returns whether to give
    /// it.
    #[cold]
    fn act(&mut self, action: Option<Action>, number: u64, located: &Located) -> bool {
        let Some(open) = self.open.get(self.current as usize) else { return false };
        let place = self.labels_place(open.segment.stream);
        let event = open.event(number, located, &self.no_labels);
        let Some(action) = action else {
            let plan = self.plans.get(open.segment.registry as usize);
            return plan.is_some_and(|plan| plan.unknown(open.segment.kind, event.code()));
        };
        if let Some(role) = action.role
            && let Some(labels) = self.labels.get_mut(place)
            && !labels.feed(role, &event, &mut self.label_room)
        {
            self.faults.push_once(event.offset, FaultKind::LabelLimit);
        }
        action.give
    }

    /// Makes the next segment of the file the current one.
    fn advance_in_file(&mut self) -> bool {
        self.close(self.current);
        while let Some(&place) = self.queue.get(self.queued) {
            self.queued += 1;
            let slot = self.begin(place);
            if self.open.get(slot as usize).is_some_and(|open| open.count > 0) {
                self.current = slot;
                return true;
            }
            self.close(slot);
        }
        self.current = u32::MAX;
        false
    }

    /// Makes the segment with the earliest event the current one.
    #[inline(never)]
    fn advance(&mut self) -> bool {
        let mut waiting = self.wait(self.current);
        let next = loop {
            let top = self.heap.peek().copied();
            let first = waiting.max(top); // The greatest is the earliest.
            let next = self.queue.get(self.queued).and_then(|&place| self.log.segment(place));
            let Some(next) = next else { break None };
            let (era, begin) = self.log.place(next);
            match first {
                Some(_) if era != self.era => break None,
                Some(first) if begin > first.key.time => break Some(begin),
                _ => {}
            }
            self.era = era;
            if let Some(&place) = self.queue.get(self.queued) {
                self.queued += 1;
                let slot = self.begin(place);
                if let Some(opened) = self.wait(slot) {
                    self.heap.push(opened);
                }
            }
        };
        // The earliest becomes the current one; the current one takes its place in the heap.
        match (&mut waiting, self.heap.peek_mut()) {
            (Some(waiting), Some(mut top)) if *top > *waiting => std::mem::swap(waiting, &mut top),
            (Some(_), _) => {}
            (None, Some(top)) => waiting = Some(PeekMut::pop(top)),
            (None, None) => {}
        }
        let Some(first) = waiting else { return false };
        self.current = first.slot;
        if let Some(open) = self.open.get_mut(first.slot as usize) {
            open.is_used = true;
        }
        let second = self.heap.peek().map_or(Key::LAST, |second| second.key);
        let unopened = next.map_or(Key::LAST, |time| Key { time, buffer: 0, number: 0 });
        self.bound = second.min(unopened);
        self.decode(first.slot)
    }

    /// Returns the next event of an open segment, and closes a segment without further events.
    #[inline]
    fn wait(&mut self, slot: u32) -> Option<Waiting> {
        let open = self.open.get(slot as usize)?;
        if let Some(key) = open.key() {
            return Some(Waiting { key, slot });
        }
        if open.position < open.count && self.decode(slot) {
            let key = self.open.get(slot as usize)?.key()?;
            return Some(Waiting { key, slot });
        }
        self.close(slot);
        None
    }

    /// Opens and decodes a segment. Returns its slot.
    fn begin(&mut self, place: u32) -> u32 {
        let log = self.log;
        let Some(segment) = log.segment(place) else { return u32::MAX };
        let Some(registry) = log.registries().get(segment.registry as usize) else {
            return u32::MAX;
        };
        let Some(plan) = self.plans.get(segment.registry as usize) else { return u32::MAX };
        let times = plan.times_of(segment);
        let (mut from, mut to) = (*times.start(), *times.end());
        let mut is_carried = false;
        if let Some(stretch) = &self.stretch {
            is_carried = self.queued <= stretch.carried_count;
            from = from.max(if is_carried { stretch.from } else { 0 });
            to = to.min(if segment.ticks_max > stretch.to { stretch.to } else { u64::MAX });
        }
        let mut open = Open {
            registry,
            actions: plan.actions.clone(),
            from,
            to,
            decoded: self.cache.take(),
            position: 0,
            count: 0,
            segment: *segment,
            line: log.line(segment.stream).filter(|_| self.order == Order::Time),
            buffer: u64::from(segment.stream) << 32 | u64::from(segment.buffer),
            origin: log.streams().get(usize::from(segment.stream)),
            is_used: true,
            stamp: 0,
        };
        // The partition where a segment begins reports its faults.
        let mut muted = Faults::default();
        let faults = if is_carried { &mut muted } else { &mut self.faults };
        log.decode(segment, registry, &mut open.decoded, faults);
        if self.order == Order::Time {
            open.decoded.sort(&mut self.sorter);
            if !plan.is_labelling() {
                open.trim();
            }
        }
        open.count = open.decoded.located.len() as u32;
        // The slot that `push` gives it.
        let slot = self.free.pop().unwrap_or(self.open.len() as u32);
        match self.open.get_mut(slot as usize) {
            Some(place) => *place = open,
            None => self.open.push(open),
        }
        self.cache.admit(&mut self.open, slot);
        slot
    }

    /// Decodes the next event of an open segment again, if necessary.
    fn decode(&mut self, slot: u32) -> bool {
        let Some(open) = self.open.get_mut(slot as usize) else { return false };
        if open.key().is_some() {
            return true;
        }
        self.cache.release(open);
        open.decoded = self.cache.take();
        // The first decoding reported its faults.
        let mut muted = Faults::default();
        self.log.decode(&open.segment, open.registry, &mut open.decoded, &mut muted);
        open.decoded.sort(&mut self.sorter);
        let is_present = open.key().is_some();
        self.cache.admit(&mut self.open, slot);
        is_present
    }

    /// Frees the slot of a segment.
    fn close(&mut self, slot: u32) {
        let Some(open) = self.open.get_mut(slot as usize) else { return };
        self.cache.release(open);
        open.count = 0;
        open.position = 0;
        open.actions = None;
        self.free.push(slot);
    }
}
