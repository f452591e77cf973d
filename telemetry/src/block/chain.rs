//! The chain of events in a block, from the newest to the oldest, as a writer reads it.
//!
//! ```text
//!  last ─▶ │ event │ event │ base record │ event │ ◀─ top     size leads to the next older one
//! ```
//!
//! Design: `.event.fill`, `.event.base` in `design/format.md`.

use eventlog::format::{
    BASE_RECORD_CODE, BASE_RECORD_SIZE, BaseRecord, EVENT_HEADER_SIZE, EventHeader,
};

/// In place of a delta: the event has no newer one.
const NO_NEWER: u32 = u32::MAX;

/// Returns the base in force at the newest of these events, from the base in force at their top.
pub(crate) fn base_at_last(events: &[u8], base_at_top: u64) -> u64 {
    let mut rest = events;
    while let Some(header) = rest.get(..EVENT_HEADER_SIZE) {
        let header: EventHeader = bytemuck::pod_read_unaligned(header);
        let record = rest.get(..BASE_RECORD_SIZE).filter(|_| header.code == BASE_RECORD_CODE);
        if let Some(record) = record {
            return bytemuck::pod_read_unaligned::<BaseRecord>(record).base;
        }
        match rest.get(usize::from(header.size).max(EVENT_HEADER_SIZE)..) {
            Some(older) => rest = older,
            None => break,
        }
    }
    base_at_top
}

/// Reverses a chain: puts the place of the next newer event into each event, in place of its delta.
/// Returns the place of the oldest event.
pub(crate) fn turn_around(events: &mut [u8]) -> Option<usize> {
    let (mut at, mut newer) = (0, None);
    while let Some(place) = events.get_mut(at..at + EVENT_HEADER_SIZE) {
        let mut header: EventHeader = bytemuck::pod_read_unaligned(place);
        header.delta = newer.map_or(NO_NEWER, |newer| newer as u32);
        place.copy_from_slice(bytemuck::bytes_of(&header));
        newer = Some(at);
        at += usize::from(header.size).max(EVENT_HEADER_SIZE);
    }
    newer
}

/// Returns an event of a reversed chain: its code, its bytes, and the place of the next newer one.
pub(crate) fn turned(events: &[u8], at: usize) -> Option<(u16, &[u8], Option<usize>)> {
    let header = events.get(at..at + EVENT_HEADER_SIZE)?;
    let header: EventHeader = bytemuck::pod_read_unaligned(header);
    let event = events.get(at..at + usize::from(header.size))?;
    let newer = (header.delta != NO_NEWER).then_some(header.delta as usize);
    Some((header.code, event, newer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(code: u16, words: usize) -> Vec<u8> {
        let header = EventHeader { code, size: (8 + words * 8) as u16, delta: 1 };
        [bytemuck::bytes_of(&header).to_vec(), vec![0xAA; words * 8]].concat()
    }

    fn base(base: u64, before: u64) -> Vec<u8> {
        bytemuck::bytes_of(&BaseRecord::new(base, before)).to_vec()
    }

    /// `.event.base`
    #[test]
    fn the_newest_base_record_is_in_force_at_last() {
        let older = [event(1, 3), base(100, 50), event(2, 0)].concat();
        assert_eq!(base_at_last(&older, 50), 100);
        let newer = [event(3, 1), base(900, 100), older].concat();
        assert_eq!(base_at_last(&newer, 50), 900);
    }

    #[test]
    fn a_reversed_chain_leads_from_the_oldest_to_the_newest() {
        let mut events = [event(3, 1), base(900, 100), event(2, 2), event(1, 0)].concat();
        let (mut codes, mut at) = (Vec::new(), turn_around(&mut events));
        while let Some((code, event, newer)) = at.and_then(|at| turned(&events, at)) {
            codes.push((code, event.len()));
            at = newer;
        }
        assert_eq!(codes, [(1, 8), (2, 24), (0, 24), (3, 16)]);
        assert_eq!(turn_around(&mut []), None);
    }

    #[test]
    fn without_a_base_record_the_base_at_the_top_counts() {
        assert_eq!(base_at_last(&[event(1, 3), event(2, 2)].concat(), 77), 77);
        assert_eq!(base_at_last(&[], 78), 78);
    }
}
