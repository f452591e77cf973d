//! Which events of a buffer were given already, in bounded memory.
//!
//! ```text
//!  0 ──── given ────┤   gap   ├── given ──┤ next          ranges of numbers, a few at most
//! ```
//!
//! Rules: `.event.identity`, `.event.number` in `design/format.md`.

use std::collections::HashMap;
use std::ops::Range;

/// Buffers that are remembered, at most: of those beyond, an event may be given twice.
const BUFFER_COUNT_MAX: usize = 1 << 16;
/// Ranges that are remembered of a buffer, at most: the oldest gap is closed, and what comes for it
/// later is not given.
const RANGE_COUNT_MAX: usize = 16;

/// What was given so far.
#[derive(Debug, Default)]
pub(crate) struct Given {
    buffers: HashMap<u32, Vec<Range<u64>>>,
}

impl Given {
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.buffers.clear();
    }

    /// Notes an event of a buffer; false if it was given before.
    pub(crate) fn add(&mut self, buffer: u32, number: u64) -> bool {
        if self.buffers.len() >= BUFFER_COUNT_MAX && !self.buffers.contains_key(&buffer) {
            return true;
        }
        let ranges = self.buffers.entry(buffer).or_default();
        // In most cases it is the next one.
        if let Some(last) = ranges.last_mut().filter(|last| last.end == number) {
            last.end = last.end.saturating_add(1);
            return true;
        }
        let place = ranges.partition_point(|range| range.end < number);
        match ranges.get_mut(place) {
            Some(range) if range.contains(&number) => return false,
            Some(range) if range.end == number => range.end = number.saturating_add(1),
            Some(range) if range.start == number.saturating_add(1) => range.start = number,
            _ => ranges.insert(place, number..number.saturating_add(1)),
        }
        // A gap may have been closed, or there are too many of them.
        let touches = |(a, b): (&Range<u64>, &Range<u64>)| a.end >= b.start;
        let is_over = ranges.len() > RANGE_COUNT_MAX;
        let at = ranges.iter().zip(ranges.iter().skip(1)).position(touches);
        if let Some(at) = at.or(is_over.then_some(0))
            && let Some(end) = ranges.get(at + 1).map(|next| next.end)
        {
            ranges.remove(at + 1);
            if let Some(range) = ranges.get_mut(at) {
                range.end = range.end.max(end);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// `.event.identity`
    #[test]
    fn an_event_is_given_once_in_whatever_order_they_come() {
        let (mut given, mut twin) = (Given::default(), HashSet::new());
        let mut random = 1u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Few gaps at a time: near the beginning of a window that moves.
            let number = twin.len() as u64 / 2 + (random >> 33) % 8;
            let buffer = (random >> 50) as u32 % 2;
            assert_eq!(given.add(buffer, number), twin.insert((buffer, number)), "{number}");
        }
    }

    #[test]
    fn of_too_many_gaps_the_oldest_is_closed() {
        let mut given = Given::default();
        assert!((0..=16).all(|n| given.add(7, 10 * n)));
        assert!(!given.add(7, 5), "taken for given");
        assert!(given.add(7, 15) && !given.add(7, 15));
        assert!((0..1000).all(|n| given.add(7, 1000 + 2 * n)));
        assert!(given.buffers[&7].len() <= RANGE_COUNT_MAX);
        assert!(given.add(7, u64::MAX) && given.add(8, 5));
    }
}
