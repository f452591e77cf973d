//! Passes all events of a reading to a function, the cheapest way to read a log; or gives each with
//! bytes of its own, as an iterator.
//!
//! ```text
//!  next ──▶ the first event of a segment ──▶ a tight loop over those that follow in it ──▶ next …
//!  Run: what is left of a segment, at a glance: when, how large, which type ──▶ Run …
//! ```
//!
//! Order: `.time.order` in `design/format.md`.

use super::cache::Open;
use super::filter::Order;
use super::merge::Events;
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::Located;
use crate::reader::model::event::{Event, OwnedEvent};
use crate::reader::model::label::Labels;
use crate::reader::model::registry::Registry;

/// Consecutive events of one stream, registry, buffer and thread.
#[derive(Clone, Copy, Debug)]
pub struct Run<'l, 'a> {
    open: &'a Open<'l>,
    labels: &'a Labels,
    located: &'a [Located],
    number: u64,
}

/// The basic facts of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Time in ticks of the stream's clock.
    pub ticks: u64,
    /// Size of the whole event in bytes.
    pub size: u16,
    /// Index of its type in [`Registry::event_types`]; beyond them if the code is unknown.
    pub event_type_index: u16,
}

impl<'l, 'a> Run<'l, 'a> {
    /// Returns the number of events: at least one.
    pub fn count(&self) -> usize {
        self.located.len()
    }

    /// Returns the number of the first event (see [`Event::number`]).
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the registry of the events.
    pub fn registry(&self) -> &'l Registry {
        self.open.registry
    }

    /// Returns the basic facts of each event.
    #[inline]
    pub fn glances(&self) -> impl Iterator<Item = Glance> + 'a {
        self.located.iter().map(|&Located { ticks, size, row, .. }| Glance {
            ticks,
            size,
            event_type_index: row,
        })
    }

    /// Passes each event to a function.
    #[inline]
    pub fn each(&self, take: &mut impl FnMut(&Event<'l, '_>)) {
        for (located, index) in self.located.iter().zip(0..) {
            take(&self.open.event(self.number.wrapping_add(index), located, self.labels));
        }
    }

    /// Returns the event with this index, from 0.
    #[inline]
    pub fn event(&self, index: usize) -> Option<Event<'l, 'a>> {
        let located = self.located.get(index)?;
        Some(self.open.event(self.number.wrapping_add(index as u64), located, self.labels))
    }
}

impl<'l> Events<'l> {
    /// Passes the remaining events to a function as [`Events::each`] does, but in runs. A run is as
    /// long as it can be without cost.
    #[inline]
    pub fn each_run(&mut self, mut take: impl FnMut(&Run<'l, '_>)) {
        loop {
            self.take_rest_of_segment(&mut take);
            let Some((number, located)) = self.find_timely() else { return };
            let located = std::slice::from_ref(&located);
            if let Some(open) = self.open.get(self.current as usize) {
                let labels = self.labels_of(open.segment.stream);
                take(&Run { open, labels, located, number });
            }
        }
    }

    /// Passes the rest of the current segment as a run, if a filter wants all of it and no other
    /// segment comes between.
    #[inline]
    fn take_rest_of_segment(&mut self, take: &mut impl FnMut(&Run<'l, '_>)) {
        let labels = &self.no_labels;
        let Some(open) = self.open.get_mut(self.current as usize) else { return };
        let is_all = open.actions.is_none() && (open.from, open.to) == (0, u64::MAX);
        if self.order != Order::File || self.is_history || !is_all {
            return;
        }
        let begin = std::mem::replace(&mut open.position, open.count);
        let mut rest = open.decoded.located.get(begin as usize..).unwrap_or_default();
        let numbers = open.decoded.numbers.get(begin as usize..).unwrap_or_default();
        for numbers in numbers.chunk_by(|before, number| before.wrapping_add(1) == *number) {
            let (located, after) = rest.split_at_checked(numbers.len()).unwrap_or((rest, &[]));
            let number = numbers.first().copied().unwrap_or_default();
            take(&Run { open, labels, located, number });
            rest = after;
        }
        if !rest.is_empty() {
            let number = open.decoded.first.wrapping_add(begin.into());
            take(&Run { open, labels, located: rest, number });
        }
    }

    /// Passes the remaining events to a function: the events of [`Events::next`] in the same order,
    /// but at less cost.
    #[inline]
    pub fn each(&mut self, mut take: impl FnMut(&Event<'l, '_>)) {
        self.each_run(|run| run.each(&mut take));
    }

    /// Passes events until the function returns false. In order of time this costs less than
    /// [`Events::next`].
    #[inline]
    pub fn each_while(&mut self, mut take: impl FnMut(&Event<'l, '_>) -> bool) {
        while self.find().is_some() {
            // `turn` gives it with the next events. One call site lets the compiler inline `turn`.
            if let Some(open) = self.open.get_mut(self.current as usize) {
                open.position = open.position.saturating_sub(1);
            }
            if !self.turn(&mut take) {
                return;
            }
        }
    }

    /// Passes the next event, and then the events of the segment before another segment's turn, if
    /// a filter wants all of them. Returns false if the function wants no more.
    #[inline(always)]
    fn turn(&mut self, take: &mut impl FnMut(&Event<'l, '_>) -> bool) -> bool {
        let Some(open) = self.open.get_mut(self.current as usize) else { return true };
        // In order of time, events outside the times were dropped already. At the time of the bound
        // itself, the buffers decide: the next call does that.
        let bound = match self.order {
            _ if open.actions.is_some() || open.line.is_some() => 0,
            Order::Time => self.bound.time,
            Order::File if (open.from, open.to) == (0, u64::MAX) => u64::MAX,
            Order::File => 0,
        };
        let is_all = bound == u64::MAX && self.order == Order::File;
        let own = usize::from(open.segment.stream).wrapping_sub(self.labels_from.into());
        let first = open.position;
        for n in first..open.count {
            let Some((number, located)) = open.decoded.get(n as usize) else { break };
            if located.ticks >= bound && !(is_all || n == first) {
                break;
            }
            open.position = n + 1;
            let labels = match self.labels.get_mut(own) {
                Some(labels) => {
                    // This has an effect only in a history.
                    labels.set_time(located.ticks);
                    labels
                }
                None => &mut self.no_labels,
            };
            if !take(&open.event(number, located, labels)) {
                return false;
            }
        }
        true
    }
}

impl<'l> IntoIterator for Events<'l> {
    type Item = OwnedEvent<'l>;
    type IntoIter = OwnedEvents<'l>;

    fn into_iter(self) -> OwnedEvents<'l> {
        OwnedEvents { events: self }
    }
}

/// An iterator over the events of a log, each with its own bytes.
#[derive(Debug)]
#[must_use = "nothing is read until events are asked for"]
pub struct OwnedEvents<'l> {
    events: Events<'l>,
}

impl OwnedEvents<'_> {
    /// See [`Events::faults`].
    pub fn faults(&self) -> &Faults {
        self.events.faults()
    }
}

impl<'l> Iterator for OwnedEvents<'l> {
    type Item = OwnedEvent<'l>;

    fn next(&mut self) -> Option<OwnedEvent<'l>> {
        self.events.next().map(|event| event.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{Filter, Log, Pick};

    #[test]
    fn bulk_readings_give_the_events_of_next() {
        let logs: [&[u8]; 2] = [
            include_bytes!("../../../tests/golden/log/heap-2.log"),
            include_bytes!("../../../tests/golden/mps/mpmss-cut.log"),
        ];
        let of_type = || Filter { event_types: vec![Pick::Name("PoolAlloc".into())], ..all() };
        fn all() -> Filter {
            Filter::default()
        }
        let mut run_count = 0;
        for (log, is_labelled) in logs.into_iter().flat_map(|log| [(log, false), (log, true)]) {
            let log = Log::from_source(log.to_vec()).unwrap();
            let late = log.span(0).map(|(first, last)| first / 2 + last / 2..=u64::MAX).unwrap();
            for filter in [all(), of_type(), Filter { times: vec![late], ..all() }] {
                let filter = Filter { labels: is_labelled, ..filter };
                for order in [Order::File, Order::Time] {
                    let told = |event: &Event<'_, '_>| {
                        (event.ticks, event.offset, event.number, event.labels.label(1).is_some())
                    };
                    let (mut expected, mut found) = (Vec::new(), Vec::new());
                    let mut events = log.events(order, &filter);
                    while let Some(event) = events.next() {
                        expected.push(told(&event));
                    }
                    log.events(order, &filter).each(|event| found.push(told(event)));
                    let mut first = Vec::new();
                    log.events(order, &filter).each_while(|event| {
                        first.push(told(event));
                        first.len() < expected.len() - 5
                    });
                    assert!(first == expected[..expected.len() - 5], "{}", first.len());
                    assert!(expected.len() > 100 && found == expected, "{}", found.len());
                    log.events(order, &filter).each_run(|run| {
                        let events = (0..).map_while(|index| run.event(index));
                        assert!(events.zip(run.glances()).zip(run.number()..).all(
                            |((event, glance), number)| {
                                event.number == number
                                    && event.ticks == glance.ticks
                                    && event.bytes.len() == usize::from(glance.size)
                                    && event.event_type
                                        == run
                                            .registry()
                                            .event_types
                                            .get(usize::from(glance.event_type_index))
                            }
                        ));
                        run_count += usize::from(run.count() > 1);
                    });
                }
            }
        }
        assert!(run_count > 10, "{run_count}");
    }
}
