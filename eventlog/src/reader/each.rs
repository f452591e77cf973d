//! All events of a reading, one after the other: what costs least where each is looked at briefly.
//!
//! ```text
//!  next ──▶ the first event of a segment ──▶ a tight loop over those that follow in it ──▶ next …
//! ```
//!
//! Order: `.time.order` in `design/format.md`.

use super::event::Event;
use super::merge::{Events, Order};
use super::open::event;

impl Events<'_> {
    /// Gives the events that are left to a function: those that [`Events::next`] would give, in the
    /// same order, at less cost.
    #[inline]
    pub fn each(&mut self, mut take: impl FnMut(&Event<'_>)) {
        while let Some(event) = self.next() {
            take(&event);
            self.rest_of_segment(&mut take);
        }
    }

    /// Gives what is left of the current segment, if nothing comes in between and all of it is
    /// wanted.
    #[inline]
    fn rest_of_segment(&mut self, take: &mut impl FnMut(&Event<'_>)) {
        if self.order != Order::File || self.is_history {
            return;
        }
        let Some(open) = self.open.get_mut(self.current as usize) else { return };
        if open.actions.is_some() || (open.from, open.to) != (0, u64::MAX) {
            return;
        }
        let begin = open.position as usize;
        open.position = open.count;
        for n in begin..open.count as usize {
            let Some((place, located)) = open.decoded.get(n) else { break };
            let number = open.decoded.first.wrapping_add(place as u64);
            take(&event(open, number, located, &self.no_labels));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Filter, Log, Pick};
    use super::*;

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
        for (log, is_labelled) in logs.into_iter().flat_map(|log| [(log, false), (log, true)]) {
            let log = Log::from_source(log.to_vec()).unwrap();
            let late = log.span(0).map(|(first, last)| first / 2 + last / 2..=u64::MAX).unwrap();
            for filter in [all(), of_type(), Filter { times: vec![late], ..all() }] {
                let filter = Filter { labels: is_labelled, ..filter };
                for order in [Order::File, Order::Time] {
                    let told = |event: &Event<'_>| {
                        (event.ticks, event.offset, event.number, event.labels.label(1).is_some())
                    };
                    let (mut expected, mut found) = (Vec::new(), Vec::new());
                    let mut events = log.events(order, &filter);
                    while let Some(event) = events.next() {
                        expected.push(told(&event));
                    }
                    log.events(order, &filter).each(|event| found.push(told(event)));
                    assert!(expected.len() > 100 && found == expected, "{}", found.len());
                }
            }
        }
    }
}
