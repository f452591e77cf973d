//! The events of a log as an iterator, each with bytes of its own.
//!
//! Order: `.time.order` in `design/format.md`.

use super::merge::Events;
use crate::reader::fault::list::Faults;
use crate::reader::model::event::OwnedEvent;

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
