//! A row: the sums of one statement in one table.
//!
//! ```text
//!  version │ count │ timed │ total │ own │ !shortest │ longest │ squares │ …     a word each
//! ```
//!
//! One thread adds. Others read, and try again if the version was odd, or has changed. A count
//! alone changes by one store, and needs no version. Design: `.statements.table` in
//! `design/statements.md`.

use crate::atomic::{AtomicUsize, Ordering, fence, spin_loop};

/// The words of a row.
pub(crate) const WORD_COUNT: usize = 16;

/// Odd while the row changes.
const VERSION: usize = 0;
const COUNT: usize = 1;
const TIMED: usize = 2;
const TOTAL: usize = 3;
const OWN: usize = 4;
/// All bits are inverted, so that zeroed memory is an empty row.
const SHORTEST_INVERTED: usize = 5;
const LONGEST: usize = 6;
const SQUARES_LOW: usize = 7;
const SQUARES_HIGH: usize = 8;
const BENEATH: usize = 9;
const BLOCKS: usize = 10;
const DIRECT: usize = 11;
/// The mark of what the log has; 0: nothing.
const TOLD: usize = 12;

/// Attempts to read a row that changes.
const ATTEMPT_COUNT_MAX: usize = 100;

/// What ended in an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inside {
    pub(crate) beneath: usize,
    pub(crate) blocks: usize,
    pub(crate) direct: usize,
}

/// The sums of a row at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) count: usize,
    pub(crate) timed: usize,
    pub(crate) total: usize,
    pub(crate) own: usize,
    pub(crate) shortest: usize,
    pub(crate) longest: usize,
    pub(crate) squares: u128,
    pub(crate) inside: Inside,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a>(pub(crate) &'a [AtomicUsize; WORD_COUNT]);

impl Row<'_> {
    #[inline(always)]
    fn get(self, word: usize) -> usize {
        self.0[word].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn set(self, word: usize, value: usize) {
        self.0[word].store(value, Ordering::Relaxed);
    }

    #[inline(always)]
    fn add_to(self, word: usize, value: usize) {
        self.set(word, self.get(word).wrapping_add(value));
    }

    /// Counts an execution that begins, and returns its number, from 1.
    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        let count = self.get(COUNT).wrapping_add(1);
        self.set(COUNT, count);
        count
    }

    /// Changes several words.
    #[inline(always)]
    fn change(self, work: impl FnOnce()) {
        let version = self.get(VERSION);
        self.set(VERSION, version.wrapping_add(1));
        fence(Ordering::Release);
        work();
        self.0[VERSION].store(version.wrapping_add(2), Ordering::Release);
    }

    /// Adds an execution that ended, by its ticks.
    #[inline(always)]
    pub(crate) fn add(self, ticks: usize, own: usize, inside: Inside) {
        self.change(|| {
            self.add_to(TIMED, 1);
            self.add_to(TOTAL, ticks);
            self.add_to(OWN, own);
            self.set(SHORTEST_INVERTED, self.get(SHORTEST_INVERTED).max(!ticks));
            self.set(LONGEST, self.get(LONGEST).max(ticks));
            let ticks = ticks as u128;
            let squares = self.squares().wrapping_add(ticks.wrapping_mul(ticks));
            self.set(SQUARES_LOW, squares as usize);
            self.set(SQUARES_HIGH, (squares >> usize::BITS) as usize);
            if inside.beneath | inside.blocks != 0 {
                self.add_to(BENEATH, inside.beneath);
                self.add_to(BLOCKS, inside.blocks);
                self.add_to(DIRECT, inside.direct);
            }
        });
    }

    fn squares(self) -> u128 {
        (self.get(SQUARES_HIGH) as u128) << usize::BITS | self.get(SQUARES_LOW) as u128
    }

    /// Makes it empty.
    pub(crate) fn clear(self) {
        // In a forked child, the change of a thread that it lacks never ends.
        self.set(VERSION, self.get(VERSION).next_multiple_of(2));
        let count = self.get(COUNT);
        if count | self.get(TIMED) != 0 {
            self.change(|| (COUNT..TOLD).for_each(|word| self.set(word, 0)));
            // The mark rises still.
            self.set(VERSION, self.get(VERSION).wrapping_add(count.next_multiple_of(2)));
        }
    }

    /// Returns its sums, and makes it empty.
    pub(crate) fn take(self) -> Sums {
        let sums = self.read();
        self.clear();
        sums.map_or(Sums::default(), |(sums, _)| sums)
    }

    /// Returns a mark that rises with each change; it is not 0, and even.
    fn mark(self) -> usize {
        self.get(VERSION).wrapping_add(self.get(COUNT)).wrapping_add(1).wrapping_mul(2)
    }

    /// Returns the sums and their mark; `None`: the row changes all the time, or this code
    /// interrupted a change.
    fn read(self) -> Option<(Sums, usize)> {
        for _ in 0..ATTEMPT_COUNT_MAX {
            let version = self.0[VERSION].load(Ordering::Acquire);
            let mark = self.mark();
            let sums = Sums {
                count: self.get(COUNT),
                timed: self.get(TIMED),
                total: self.get(TOTAL),
                own: self.get(OWN),
                shortest: if self.get(TIMED) == 0 { 0 } else { !self.get(SHORTEST_INVERTED) },
                longest: self.get(LONGEST),
                squares: self.squares(),
                inside: Inside {
                    beneath: self.get(BENEATH),
                    blocks: self.get(BLOCKS),
                    direct: self.get(DIRECT),
                },
            };
            fence(Ordering::Acquire);
            if version.is_multiple_of(2) && self.get(VERSION) == version {
                return Some((sums, mark));
            }
            spin_loop();
        }
        None
    }

    /// Returns the sums that the log lacks. `is_empty`: the row counts as empty. `is_all`: the log
    /// may lack those that it was told.
    pub(crate) fn untold(self, is_empty: bool, is_all: bool) -> Option<Sums> {
        let told = self.get(TOLD);
        if told == 0 && (is_empty || self.get(COUNT) | self.get(TIMED) == 0) {
            return None;
        }
        let (sums, mark) = self.read()?;
        let (sums, mark) = if is_empty { (Sums::default(), mark | 1) } else { (sums, mark) };
        if told == mark && !is_all {
            return None;
        }
        self.set(TOLD, mark);
        Some(sums)
    }

    /// Forgets what the log was told: this is another log.
    pub(crate) fn forget(self) {
        self.set(TOLD, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn words() -> [AtomicUsize; WORD_COUNT] {
        [const { AtomicUsize::new(0) }; WORD_COUNT]
    }

    /// A generator of numbers (PCG).
    fn random(state: &mut u64) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 24) as usize
    }

    /// K3: the variance that a reader makes of the sums is that of the series, in integers.
    #[test]
    fn sums_of_squares_are_exact() {
        let words = words();
        let row = Row(&words);
        let (mut total, mut squares, mut state) = (0u128, 0u128, 7);
        let count = if cfg!(miri) { 100 } else { 10_000_000u32 };
        for _ in 0..count {
            let ticks = random(&mut state);
            row.add(ticks, ticks / 2, Inside::default());
            total += ticks as u128;
            squares += (ticks as u128) * (ticks as u128);
        }
        let (sums, _) = row.read().expect("nothing changes it");
        assert_eq!((sums.timed, sums.squares), (count as usize, squares));
        assert_eq!(sums.total as u128, total);
        assert!(cfg!(miri) || squares > 1 << 80, "both halves are used");
        let variance = |squares: u128| u128::from(count) * squares - total * total;
        assert_eq!(variance(sums.squares), variance(squares));
    }

    /// K10: ticks above 2^63.
    #[test]
    fn the_squares_of_long_executions_are_exact() {
        let words = words();
        let row = Row(&words);
        let long = isize::MAX as usize;
        row.add(long, 1, Inside { beneath: 3, blocks: 2, direct: 1 });
        row.add(5, 5, Inside::default());
        let (sums, _) = row.read().expect("nothing changes it");
        assert_eq!((sums.shortest, sums.longest), (5, long));
        assert_eq!(sums.squares, (long as u128) * (long as u128) + 25);
        assert_eq!(sums.inside, Inside { beneath: 3, blocks: 2, direct: 1 });
    }

    #[test]
    fn the_log_is_told_what_it_lacks() {
        let words = words();
        let row = Row(&words);
        assert_eq!(row.untold(false, true), None, "it is empty");
        row.count();
        assert_eq!(row.untold(false, false).map(|sums| sums.count), Some(1));
        assert_eq!(row.untold(false, false), None);
        assert_eq!(row.untold(false, true).map(|sums| sums.count), Some(1));
        row.add(7, 7, Inside::default());
        assert_eq!(row.untold(false, false).map(|sums| sums.timed), Some(1));
        // A reset that its thread did not see yet, and then saw.
        assert_eq!(row.untold(true, false), Some(Sums::default()));
        assert_eq!(row.untold(true, false), None);
        row.clear();
        row.count();
        let told = row.untold(false, false).map(|sums| (sums.count, sums.timed));
        assert_eq!(told, Some((1, 0)));
        row.forget();
        row.clear();
        assert_eq!(row.untold(false, true), None);
    }

    /// The total, the own time and the squares that another thread reads belong together.
    #[test]
    fn a_reader_sees_no_half_of_a_change() {
        let (words, is_over) = (words(), AtomicBool::new(false));
        let row = Row(&words);
        let count = if cfg!(miri) { 200 } else { 200_000 };
        let mut seen = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..count).for_each(|_| Row(&words).add(3, 2, Inside::default()));
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                if let Some((sums, _)) = row.read() {
                    assert_eq!((sums.total, sums.own), (3 * sums.timed, 2 * sums.timed));
                    assert_eq!(sums.squares, 9 * sums.timed as u128);
                    seen += 1;
                }
            }
        });
        assert_eq!(row.read().map(|(sums, _)| sums.timed), Some(count));
        assert!(seen > 0 || cfg!(miri));
    }

    /// A fork copies the row while another thread changes it.
    #[test]
    fn a_cleared_row_whose_change_never_ended_can_be_read() {
        for begun in [VERSION, COUNT] {
            let words = words();
            let row = Row(&words);
            row.0[begun].store(1, Ordering::Relaxed);
            row.0[VERSION].store(1, Ordering::Relaxed);
            row.clear();
            row.count();
            row.add(7, 7, Inside::default());
            assert_eq!(row.read().map(|(sums, _)| (sums.count, sums.timed)), Some((1, 1)));
        }
    }

    /// A signal handler that interrupted a change reads nothing.
    #[test]
    fn a_change_in_progress_cannot_be_read() {
        let words = words();
        let row = Row(&words);
        row.count();
        row.change(|| assert_eq!(row.read(), None));
        assert!(row.read().is_some());
    }
}
