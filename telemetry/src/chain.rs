//! The chain of events in a block, walked from the newest up: what a writer needs to know of it.
//!
//! ```text
//!  last ─▶ │ event │ event │ base record │ event │ ◀─ top     size leads to the next older one
//! ```
//!
//! Design: `.event.fill`, `.event.base` in `design/format.md`.

use eventlog::format::{
    BASE_RECORD_CODE, BASE_RECORD_SIZE, BaseRecord, EVENT_HEADER_SIZE, EventHeader,
};

/// The base in force at the newest of these events, given the one in force at their top.
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
    fn without_a_base_record_the_base_is_that_of_the_top() {
        assert_eq!(base_at_last(&[event(1, 3), event(2, 2)].concat(), 77), 77);
        assert_eq!(base_at_last(&[], 78), 78);
    }
}
