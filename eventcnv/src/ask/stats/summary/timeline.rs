//! The times with events, and the gaps without.
//!
//! ```text
//!  first ticks of the log                                        last
//!  │ cell │ cell │ cell │ …        first and last event of each; a gap longer than a cell contains
//!     └ • • ┘      └─ gap ─┘  •    a border, so it is found with its exact length
//! ```
//!
//! The order of the events does not matter. Design: `.cnv.gaps` in
//! `design/eventcnv.md`.

/// Cells of a timeline, at most: a gap shorter than a 2048th of the log may be missed.
const CELL_COUNT_MAX: u64 = 1 << 12;

#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    base: u64,
    /// Ticks of a cell, as a power of two.
    shift: u32,
    /// Ticks of the first and last event in each.
    cells: Vec<(u64, u64)>,
}

/// A time without events: from one event to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Gap {
    pub(crate) fn ticks(self) -> u64 {
        self.to - self.from
    }
}

/// A cell without events.
const EMPTY: (u64, u64) = (u64::MAX, 0);

impl Timeline {
    /// Returns a timeline for events between these ticks.
    pub(crate) fn new((first, last): (u64, u64)) -> Timeline {
        let mut shift = 0;
        while last.saturating_sub(first) >> shift >= CELL_COUNT_MAX {
            shift += 1;
        }
        let count = (last.saturating_sub(first) >> shift) + 1;
        Timeline { base: first, shift, cells: vec![EMPTY; count as usize] }
    }

    /// Counts an event.
    #[inline]
    pub(crate) fn add(&mut self, ticks: u64) {
        self.add_all([ticks]);
    }

    /// Counts events, except those before the timeline. It is fast if most are near the one before.
    #[inline]
    pub(crate) fn add_all(&mut self, all: impl IntoIterator<Item = u64>) {
        let end = self.cells.len().saturating_sub(1) as u64;
        let (mut at, mut times) = (0, EMPTY);
        for ticks in all {
            let Some(after) = ticks.checked_sub(self.base) else { continue };
            let cell = (after >> self.shift).min(end);
            if cell != at {
                self.widen(at, std::mem::replace(&mut times, EMPTY));
                at = cell;
            }
            times = (times.0.min(ticks), times.1.max(ticks));
        }
        self.widen(at, times);
    }

    #[inline]
    fn widen(&mut self, cell: u64, times: (u64, u64)) {
        if let Some(cell) = self.cells.get_mut(cell as usize) {
            *cell = (cell.0.min(times.0), cell.1.max(times.1));
        }
    }

    /// Adds the events of a timeline with the same cells.
    pub(crate) fn merge(&mut self, other: &Timeline) {
        for (own, cell) in self.cells.iter_mut().zip(&other.cells) {
            *own = (own.0.min(cell.0), own.1.max(cell.1));
        }
    }

    /// Returns the ticks of the first and last event.
    pub(crate) fn span(&self) -> Option<(u64, u64)> {
        let mut cells = self.cells.iter().filter(|cell| **cell != EMPTY);
        let first = cells.next()?;
        Some((first.0, cells.next_back().unwrap_or(first).1))
    }

    /// Returns the longest gaps of at least a cell that begin at `since` or later, the longest
    /// first.
    pub(crate) fn gaps(&self, count: usize, since: u64) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let mut last: Option<u64> = None;
        for cell in self.cells.iter().filter(|cell| **cell != EMPTY) {
            if let Some(from) = last.filter(|from| *from >= since)
                && cell.0.saturating_sub(from) >> self.shift > 0
            {
                gaps.push(Gap { from, to: cell.0 });
            }
            last = Some(cell.1);
        }
        gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.ticks()), gap.from));
        gaps.truncate(count);
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.cnv.gaps`: in any order; a naive twin sorts all ticks.
    #[test]
    fn gaps_longer_than_a_cell_are_found_exactly() {
        let mut state = 99u64;
        let mut ticks: Vec<u64> = (0..3000)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                1_000_000 + (state >> 40) * if state.is_multiple_of(7) { 5 } else { 1 }
            })
            .collect();
        let span = (*ticks.iter().min().unwrap(), *ticks.iter().max().unwrap());
        let mut halves = [Timeline::new(span), Timeline::new(span)];
        for (index, &at) in ticks.iter().enumerate() {
            halves[index % 2].add(at);
        }
        // The same ticks again change nothing.
        halves[1].add_all(ticks.iter().copied().skip(1).step_by(2));
        let [mut timeline, other] = halves;
        timeline.merge(&other);
        ticks.sort_unstable();
        let gap = |pair: &[u64]| Gap { from: pair[0], to: pair[1] };
        let mut expected: Vec<Gap> = ticks.windows(2).map(gap).collect();
        expected.sort_by_key(|gap| (std::cmp::Reverse(gap.ticks()), gap.from));
        let cell = 1 << timeline.shift;
        expected.retain(|gap| gap.ticks() >= cell);
        assert!(expected.len() > 100, "{}", expected.len());
        assert_eq!(timeline.gaps(usize::MAX, 0), expected);
        assert_eq!(timeline.span(), Some(span));
    }

    #[test]
    fn a_timeline_takes_any_ticks() {
        let mut timeline = Timeline::new((0, u64::MAX));
        [0, u64::MAX, 1 << 63].into_iter().for_each(|ticks| timeline.add(ticks));
        assert_eq!(timeline.span(), Some((0, u64::MAX)));
        let mut one = Timeline::new((5, 5));
        [5, 5, 90].into_iter().for_each(|ticks| one.add(ticks));
        assert_eq!((one.gaps(9, 0), one.span()), (vec![], Some((5, 90))));
        assert_eq!(Timeline::new((7, 9)).span(), None);
    }
}
