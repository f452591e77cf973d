//! The time for which a log has the events of its program.
//!
//! ```text
//!  the store   │ • •  •                           •      │  never overwritten: from the first on
//!  buffer 1    │             (overwritten)  • • • • • • •│
//!  buffer 2    │             (overwritten)     • • • • • │
//!                                           └ the history of the program begins here
//! ```
//!
//! Of a ring, and of a log without its first events, the store has events long before those of the
//! program. Time counts from the first event of the program. Rules: `.ring.beginning` in
//! `design/format.md`; `.cnv.history` in `design/eventcnv.md`.

use super::{Log, widest};
use crate::reader::index::Format;
use crate::reader::index::segment::{Decoded, Segment};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The events that a log has of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The stream, by its index in the log.
    pub stream: u16,
    /// The buffer, by its index in the stream.
    pub buffer: u32,
    /// The registry, by its index in the log.
    pub registry: u32,
    /// The kind of its events.
    pub kind: u8,
    /// The thread that recorded the first of them, by its index in the stream.
    pub thread: u32,
    /// How many they are.
    pub count: u64,
    /// Ticks of the first and the last of them.
    pub span: (u64, u64),
    /// Whether the log lacks the first events of the buffer.
    pub is_late: bool,
}

/// The times for which a log has the events of its program.
#[derive(Clone, Debug, Default)]
pub struct History {
    spans: Vec<Option<(u64, u64)>>,
    /// The time before it in each stream, if the log lacks events of the program there.
    before: Vec<Option<(u64, u64)>>,
    /// The buffers of the program, by stream and index.
    held: BTreeMap<(u16, u32), Held>,
}

impl Log {
    /// Returns the times for which the log has the events of its program.
    #[must_use]
    pub fn history(&self) -> History {
        let spans = self.spans();
        let mut history = History { before: vec![None; spans.len()], spans, held: BTreeMap::new() };
        let mut decoded = Decoded::default();
        for segment in self.segments() {
            if let Some(span) = self.span_of(segment, &mut decoded)
                && self.is_of_program(segment)
            {
                history.add(segment, span);
            }
        }
        for held in history.held.values_mut() {
            // Events of the MPS have no numbers.
            held.is_late &= self.format() == Format::Stream;
        }
        let mut firsts: Vec<Option<(u64, bool)>> = vec![None; history.spans.len()];
        for Held { stream, span, is_late, .. } in history.held.values() {
            if let Some(first) = firsts.get_mut(usize::from(*stream)) {
                let own = (span.0, *is_late);
                *first = Some(first.map_or(own, |first| first.min(own)));
            }
        }
        for ((span, before), first) in history.spans.iter_mut().zip(&mut history.before).zip(firsts)
        {
            let (Some(span), Some((first, is_late))) = (span, first) else { continue };
            *before = Some((span.0, first)).filter(|(from, to)| is_late && from < to);
            span.0 = first;
        }
        for (span, last) in history.spans.iter_mut().zip(self.lasts(&mut decoded)) {
            if let (Some((first, end)), Some(last)) = (span, last) {
                *end = last.max(*first);
            }
        }
        history
    }

    /// Returns the ticks of the last event of each stream. A sealed block tells only when it was
    /// sealed, so the last block of each buffer is decoded, and others that begin after its events.
    fn lasts(&self, decoded: &mut Decoded) -> Vec<Option<u64>> {
        let mut lasts: Vec<Option<u64>> = vec![None; self.streams().len()];
        let mut ends: BTreeMap<(u16, u32, u32, u8), &Segment> = BTreeMap::new();
        for segment in self.segments() {
            // Blocks of a made log may give one buffer to several kinds.
            let Segment { stream, buffer, registry, kind, .. } = *segment;
            let end = ends.entry((stream, buffer, registry, kind)).or_insert(segment);
            if segment.first >= end.first {
                *end = segment;
            }
        }
        let mut ends: Vec<&Segment> = ends.into_values().collect();
        ends.sort_by_key(|segment| Reverse(segment.ticks_max));
        let ends = ends.into_iter().map(|segment| (segment, segment.ticks_max));
        let others = self.segments().iter().map(|segment| (segment, segment.ticks_min));
        for (segment, most) in ends.chain(others) {
            let Some(last) = lasts.get_mut(usize::from(segment.stream)) else { continue };
            if Some(most) <= *last {
                continue;
            }
            let own = match self.format() {
                // An MPS log is indexed event by event.
                Format::Stream => self.ticks_of(segment, decoded).map(|(_, last)| last),
                _ => Some(segment.ticks_max),
            };
            *last = own.max(*last);
        }
        lasts
    }

    /// Returns whether the events of a segment are the program's own, not those of the store.
    fn is_of_program(&self, segment: &Segment) -> bool {
        let registry = self.registries().get(segment.registry as usize);
        registry.is_some_and(|registry| registry.index > 0)
    }
}

impl History {
    fn add(&mut self, segment: &Segment, span: (u64, u64)) {
        let Segment { stream, buffer, registry, kind, thread, .. } = *segment;
        let is_late = segment.first > 0;
        let new = Held { stream, buffer, registry, kind, thread, count: 0, span, is_late };
        let held = self.held.entry((stream, buffer)).or_insert(new);
        held.count += u64::from(segment.count);
        held.span = widest(held.span, span);
        held.is_late &= is_late;
    }

    /// Returns for each stream when its history begins and ends, in ticks: from the first event of
    /// the program, or of the runtime if the program has none, to the last event.
    pub fn spans(&self) -> &[Option<(u64, u64)>] {
        &self.spans
    }

    /// Returns the time before the history of a stream, in ticks: from the first event of the
    /// runtime on. `None` if the history begins with the first event of a buffer.
    pub fn before(&self, stream: u16) -> Option<(u64, u64)> {
        self.before.get(usize::from(stream)).copied().flatten()
    }

    /// Returns when the history of a stream begins, in ticks.
    pub fn begin(&self, stream: u16) -> Option<u64> {
        self.spans.get(usize::from(stream)).copied().flatten().map(|(first, _)| first)
    }

    /// Returns what the log has of the buffers of the program.
    pub fn held(&self) -> impl Iterator<Item = &Held> {
        self.held.values()
    }

    /// Returns what the log has of the buffers of the program in a stream.
    pub fn held_of(&self, stream: u16) -> impl Iterator<Item = &Held> {
        self.held.range((stream, 0)..=(stream, u32::MAX)).map(|(_, held)| held)
    }

    /// Returns when the history of a buffer begins, in ticks: with the stream's, or with its own
    /// first event if the log lacks those before.
    pub fn begin_of(&self, stream: u16, buffer: u32) -> Option<u64> {
        match self.held.get(&(stream, buffer)) {
            Some(held) if held.is_late => Some(held.span.0),
            _ => self.begin(stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{Filter, Order};
    use std::path::Path;

    /// `.cnv.history`: a block is sealed after its last event, and its clock sync is later still.
    #[test]
    fn a_history_ends_with_the_last_event() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let mut later_count = 0;
        for name in ["log/heap.log", "log/heap-2.log", "calls/shop.log", "lines/till.log"]
            .into_iter()
            .chain(["explain/store.log", "client/ring.log", "mps/mpmss-cut.log"])
        {
            let log = Log::open(golden.join(name)).unwrap();
            let mut lasts: Vec<Option<u64>> = vec![None; log.streams().len()];
            log.events(Order::File, &Filter::new()).each(|event| {
                let last = &mut lasts[usize::from(event.stream)];
                *last = (*last).max(Some(event.ticks));
            });
            let history = log.history();
            let ends = history.spans().iter().map(|span| span.map(|(_, last)| last));
            assert_eq!(ends.collect::<Vec<_>>(), lasts, "{name}");
            let syncs = log.spans().into_iter().map(|span| span.map(|(_, last)| last));
            later_count += syncs.zip(&lasts).filter(|(sync, last)| sync > last).count();
        }
        assert!(later_count > 3, "{later_count} logs have a sync after their last event");
    }
}
