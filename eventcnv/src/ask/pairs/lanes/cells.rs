//! Many slices or events as few cells: counts and busy times by lane, row and stretch of time.
//!
//! ```text
//!  (lane, row, part, ns >> shift) ──▶ Cell: count, busy, from, to, the longest
//!  too many cells ──▶ shift + 1: two neighbours become one
//! ```
//!
//! The width of a cell only grows, so it does not depend on the order of what is added. Design:
//! `.cnv.report.threads` in `design/eventcnv.md`.

use foldhash::fast::RandomState;
use lens::slices::Id;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The greatest width of a cell: 2^63 ns.
const SHIFT_MAX: u32 = 63;

/// Where a cell is: its lane, its row, and a part of that.
pub(crate) type Place = (u32, u32, u32);

/// What the cell sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) count: u64,
    /// The sum of the known durations in ns.
    pub(crate) busy: u64,
    /// The first beginning and the last end in ns.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The name of the longest one, which began first of those.
    pub(crate) name: u32,
    /// Whether others have another name.
    pub(crate) is_mixed: bool,
    longest: u64,
    longest_from: u64,
    /// The beginning and the end of the longest one.
    pub(crate) ids: [Option<Id>; 2],
}

impl Cell {
    /// Returns the cell of a thing with a name, from its beginning to its end.
    pub(crate) fn of(name: u32, [from, to]: [u64; 2], busy: u64, ids: [Option<Id>; 2]) -> Cell {
        let longest = to.saturating_sub(from);
        let is_mixed = false;
        Cell { count: 1, busy, from, to, name, is_mixed, longest, longest_from: from, ids }
    }

    fn merge(&mut self, other: &Cell) {
        self.count += other.count;
        self.busy = self.busy.saturating_add(other.busy);
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
        self.is_mixed |= other.is_mixed || other.name != self.name;
        // Of those that began together, that with the least number.
        let rank = |cell: &Cell| (cell.longest, u64::MAX - cell.longest_from);
        if (rank(other), self.ids) > (rank(self), other.ids) {
            (self.longest, self.longest_from) = (other.longest, other.longest_from);
            (self.name, self.ids) = (other.name, other.ids);
        }
    }
}

/// Cells, at most a given number.
#[derive(Debug)]
pub(crate) struct Cells {
    count_max: usize,
    shift: u32,
    all: HashMap<(Place, u64), Cell, RandomState>,
    /// What found no room in cells of the greatest width.
    pub(crate) left: u64,
}

impl Cells {
    /// Returns a table without cells.
    pub(crate) fn new(count_max: usize) -> Cells {
        Cells { count_max, shift: 0, all: HashMap::default(), left: 0 }
    }

    /// Returns the width of a cell in ns.
    pub(crate) fn width(&self) -> u64 {
        1 << self.shift
    }

    /// Adds a cell to the cell in which it begins.
    pub(crate) fn add(&mut self, place: Place, cell: &Cell) {
        loop {
            let is_full = self.all.len() >= self.count_max;
            match self.all.entry((place, cell.from >> self.shift)) {
                Entry::Occupied(mut own) => return own.get_mut().merge(cell),
                Entry::Vacant(own) if !is_full => {
                    own.insert(*cell);
                    return;
                }
                Entry::Vacant(_) if self.shift >= SHIFT_MAX => return self.left += cell.count,
                Entry::Vacant(_) => self.widen(),
            }
        }
    }

    fn widen(&mut self) {
        self.shift += 1;
        for ((place, _), cell) in std::mem::take(&mut self.all) {
            let own = self.all.entry((place, cell.from >> self.shift));
            own.and_modify(|own| own.merge(&cell)).or_insert(cell);
        }
    }

    /// Returns the cells by place, in order of time.
    pub(crate) fn sorted(&self) -> Vec<(Place, Cell)> {
        let mut all: Vec<_> = self.all.iter().map(|((place, _), cell)| (*place, *cell)).collect();
        all.sort_unstable_by_key(|(place, cell)| (*place, cell.from));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(number: u64) -> Option<Id> {
        Some(Id { number, ..Id::default() })
    }

    proptest! {
        /// `.cnv.report.threads`: a naive twin adds up what begins in each stretch of time.
        #[test]
        fn cells_have_all_that_was_added(
            things in prop::collection::vec((0u32..3, 0u64..5000, 0u64..300, 0u32..3), 0..200),
            count_max in 1usize..40,
            by in 1usize..7,
        ) {
            let mut cells = Cells::new(count_max);
            for (number, &(lane, from, length, name)) in (0..).zip(&things) {
                let cell = Cell::of(name, [from, from + length], length, [id(number), None]);
                cells.add((lane, 0, 0), &cell);
            }
            // Another order gives the same cells.
            let mut others = Cells::new(count_max);
            for rest in 0..by {
                for (number, &(lane, from, length, name)) in (0..).zip(&things) {
                    if number as usize % by == rest {
                        let ids = [id(number), None];
                        let cell = Cell::of(name, [from, from + length], length, ids);
                        others.add((lane, 0, 0), &cell);
                    }
                }
            }
            let found = cells.sorted();
            prop_assert!(found.len() <= count_max);
            if cells.left == 0 && others.left == 0 {
                prop_assert_eq!(&found, &others.sorted());
                prop_assert_eq!(cells.width(), others.width());
            }
            let count: u64 = found.iter().map(|(_, cell)| cell.count).sum();
            prop_assert_eq!(count + cells.left, things.len() as u64);
            for ((lane, ..), cell) in &found {
                let is_in = |thing: &&(u32, u64, u64, u32)| {
                    thing.0 == *lane && thing.1 / cells.width() == cell.from / cells.width()
                };
                let own: Vec<_> = things.iter().filter(is_in).collect();
                if cells.left == 0 {
                    prop_assert_eq!(own.len() as u64, cell.count);
                    prop_assert_eq!(own.iter().map(|thing| thing.2).sum::<u64>(), cell.busy);
                    prop_assert_eq!(own.iter().map(|thing| thing.1).min(), Some(cell.from));
                    let last = own.iter().map(|thing| thing.1 + thing.2).max();
                    prop_assert_eq!(last, Some(cell.to));
                    let is_mixed = own.iter().any(|thing| thing.3 != own[0].3);
                    prop_assert_eq!(is_mixed, cell.is_mixed);
                    let longest = own.iter().max_by_key(|thing| (thing.2, u64::MAX - thing.1));
                    let most = longest.map(|thing| (thing.2, thing.1));
                    prop_assert_eq!(most, Some((cell.longest, cell.longest_from)));
                }
            }
        }
    }

    /// `.cnv.report.threads`: places alone may fill the table; what is left out is counted.
    #[test]
    fn places_without_room_are_counted() {
        let mut cells = Cells::new(3);
        for lane in 0..5 {
            for from in [7, u64::MAX] {
                cells.add((lane, 0, 0), &Cell::of(1, [from, from], 0, [None, None]));
            }
        }
        assert_eq!(cells.sorted().len(), 3);
        let count: u64 = cells.sorted().iter().map(|(_, cell)| cell.count).sum();
        assert_eq!((count, cells.left), (3, 7));
    }
}
