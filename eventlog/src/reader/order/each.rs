//! All events of a reading, one after the other: what costs least where each is looked at briefly.
//!
//! ```text
//!  next ──▶ the first event of a segment ──▶ a tight loop over those that follow in it ──▶ next …
//!  Run: what is left of a segment, at a glance: when, how large, which type ──▶ Run …
//! ```
//!
//! Order: `.time.order` in `design/format.md`.

use super::filter::Order;
use super::merge::Events;
use super::open::Open;
use crate::reader::index::segment::Located;
use crate::reader::model::event::Event;
use crate::reader::model::label::Labels;
use crate::reader::model::registry::Registry;

/// Events of one stream, registry, buffer and thread, whose numbers follow on one another.
#[derive(Clone, Copy, Debug)]
pub struct Run<'l, 'a> {
    open: &'a Open<'l>,
    labels: &'a Labels,
    located: &'a [Located],
    number: u64,
}

/// An event at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// When it happened, in ticks of the stream's clock.
    pub ticks: u64,
    /// The size of the whole event.
    pub size: u16,
    /// The index of its type in [`Registry::event_types`]; beyond them if the registry lacks its
    /// code.
    pub event_type_index: u16,
}

impl<'l, 'a> Run<'l, 'a> {
    /// How many events there are: one at least.
    pub fn count(&self) -> usize {
        self.located.len()
    }

    /// The number of the first of them (see [`Event::number`]).
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Their registry.
    pub fn registry(&self) -> &'l Registry {
        self.open.registry
    }

    /// Each at a glance.
    #[inline]
    pub fn glances(&self) -> impl Iterator<Item = Glance> + 'a {
        self.located.iter().map(|&Located { ticks, size, row, .. }| Glance {
            ticks,
            size,
            event_type_index: row,
        })
    }

    /// Gives each event to a function.
    #[inline]
    pub fn each(&self, take: &mut impl FnMut(&Event<'l, '_>)) {
        for (located, index) in self.located.iter().zip(0..) {
            take(&self.open.event(self.number.wrapping_add(index), located, self.labels));
        }
    }

    /// The event of this index, from 0.
    #[inline]
    pub fn event(&self, index: usize) -> Option<Event<'l, 'a>> {
        let located = self.located.get(index)?;
        Some(self.open.event(self.number.wrapping_add(index as u64), located, self.labels))
    }
}

impl<'l> Events<'l> {
    /// Gives the events that are left to a function, as [`Events::each`] does, in runs as long as
    /// can be had at no cost.
    #[inline]
    pub fn each_run(&mut self, mut take: impl FnMut(&Run<'l, '_>)) {
        loop {
            self.take_rest_of_segment(&mut take);
            let Some((number, located)) = self.find_timely() else { return };
            let located = std::slice::from_ref(&located);
            if let Some(open) = self.open.get(self.current as usize) {
                let labels = self
                    .labels
                    .get(self.labels_place(open.segment.stream))
                    .unwrap_or(&self.no_labels);
                take(&Run { open, labels, located, number });
            }
        }
    }

    /// Gives what is left of the current segment as a run, if nothing comes in between and all of
    /// it is wanted.
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

    /// Gives the events that are left to a function: those that [`Events::next`] would give, in the
    /// same order, at less cost.
    #[inline]
    pub fn each(&mut self, mut take: impl FnMut(&Event<'l, '_>)) {
        self.each_run(|run| run.each(&mut take));
    }

    /// The same, as long as the function says that it wants more; in order of time at less cost.
    #[inline]
    pub fn each_while(&mut self, mut take: impl FnMut(&Event<'l, '_>) -> bool) {
        while self.find().is_some() {
            // It is given with those that follow it: what is called in one place is put in line.
            if let Some(open) = self.open.get_mut(self.current as usize) {
                open.position = open.position.saturating_sub(1);
            }
            if !self.turn(&mut take) {
                return;
            }
        }
    }

    /// Gives the next event, which is in the current segment, and what is left of the segment
    /// before another has its turn, if all of it is wanted. False: no more is wanted.
    #[inline(always)]
    fn turn(&mut self, take: &mut impl FnMut(&Event<'l, '_>) -> bool) -> bool {
        let Some(open) = self.open.get_mut(self.current as usize) else { return true };
        // In order of time, what is too early or too late is left out already. At the time of the
        // bound itself the buffers decide, and the next call.
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
                    // Of effect in a history alone.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{Filter, Log, Pick};

    #[test]
    fn each_event_is_given_that_next_gives() {
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
