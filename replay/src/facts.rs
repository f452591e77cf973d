//! Facts of a recording other than operations: how much of blocks was written, and the program's
//! memory and time.
//!
//! ```text
//!  Touched: 4 of 12 pages of 64 KiB ─▶ class of sizes ─▶ written part      Process ─▶ its peak
//! ```
//!
//! Design: `.rep.touched`, `.rep.program` in `design/replay.md`.

use crate::operation::{Action, Operation};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Memory and processor time of the recorded program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Program {
    /// The peak of resident memory, in bytes; of several processes, the greatest.
    pub resident_peak: u64,
    /// The processor time in user mode of all processes, in ns, with that of recording.
    pub user_ns: u64,
    /// The processor time in the kernel, likewise.
    pub system_ns: u64,
    /// The recorder's own part of the resident memory, in bytes; 0: not known.
    pub recorder: u64,
}

impl Program {
    /// Returns the peak of resident memory without the recorder's part, in bytes.
    pub fn own_peak(&self) -> u64 {
        self.resident_peak.saturating_sub(self.recorder)
    }
}

/// All facts of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// How much of blocks was written.
    pub touched: Touched,
    /// The last figures of each process, by its stream; `None`: none so far.
    processes: BTreeMap<u16, Option<Program>>,
    /// The file of the library that has the malloc of each process.
    libraries: BTreeMap<u16, String>,
}

impl Facts {
    pub(crate) fn take(&mut self, stream: u16, program: Program) {
        self.processes.insert(stream, Some(program));
    }

    /// Notes the library that has the malloc of a process, by its path.
    pub(crate) fn take_library(&mut self, stream: u16, path: &[u8]) {
        let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        self.libraries.insert(stream, String::from_utf8_lossy(file).into_owned());
    }

    /// Returns the file of the library that has the malloc of the process with the greatest peak.
    pub fn malloc(&self) -> Option<String> {
        let peak = |stream: &u16| self.processes.get(stream).copied().flatten().unwrap_or_default();
        let greatest = self.libraries.iter().max_by_key(|(stream, _)| peak(stream).own_peak());
        greatest.map(|(_, file)| file.clone())
    }

    /// Notes a process that should record its figures.
    pub(crate) fn expect(&mut self, stream: u16) {
        self.processes.entry(stream).or_default();
    }

    /// Drops the processes without figures, and returns their number.
    pub(crate) fn drop_missing(&mut self) -> u64 {
        let count = self.processes.len();
        self.processes.retain(|_, program| program.is_some());
        (count - self.processes.len()) as u64
    }

    /// Returns the figures of all processes together; `None`: not known.
    pub fn program(&self) -> Option<Program> {
        self.processes.values().copied().flatten().reduce(|sum, one| {
            let greatest = if one.own_peak() > sum.own_peak() { one } else { sum };
            Program {
                user_ns: sum.user_ns.saturating_add(one.user_ns),
                system_ns: sum.system_ns.saturating_add(one.system_ns),
                ..greatest
            }
        })
    }
}

/// A class of blocks: whether they were zeroed, and one of four classes for each power of two.
type Class = (bool, u8);

/// The examined bytes, and those of them that were written.
type Sum = (u64, u64);

/// How much of larger blocks a program writes, by their class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    sums: BTreeMap<Class, Sum>,
}

/// Smaller blocks count as written completely: recordings examine only larger ones.
pub(crate) const SAMPLED_MIN: usize = 8 << 10;

const WHOLE: u32 = 1 << 16;

const CLASS_COUNT: usize = 4 * 64;

fn class_of(size: u64) -> u8 {
    let size = size.max(4);
    let log2 = size.ilog2();
    (4 * log2) as u8 + (size >> (log2 - 2) & 3) as u8
}

impl Touched {
    pub(crate) fn add(&mut self, size: u64, is_zeroed: bool, examined: u64, written: u64) {
        self.add_class(is_zeroed, class_of(size), examined, written);
    }

    pub(crate) fn add_class(&mut self, is_zeroed: bool, class: u8, examined: u64, written: u64) {
        let sum = self.sums.entry((is_zeroed, class)).or_default();
        let written = written.min(examined);
        *sum = (sum.0.saturating_add(examined), sum.1.saturating_add(written));
    }

    /// Returns the examined bytes, and those of them that were written.
    pub fn sum(&self) -> (u64, u64) {
        let add = |a: Sum, b: &Sum| (a.0.saturating_add(b.0), a.1.saturating_add(b.1));
        self.sums.values().fold((0, 0), add)
    }

    /// Returns for each class: zeroed, class, bytes examined, bytes written.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (bool, u8, u64, u64)> {
        self.sums.iter().map(|((is_zeroed, class), sum)| (*is_zeroed, *class, sum.0, sum.1))
    }

    /// Makes it from such rows.
    pub(crate) fn of_rows(rows: impl IntoIterator<Item = (bool, u8, u64, u64)>) -> Touched {
        let mut touched = Touched::default();
        for (is_zeroed, class, examined, written) in rows {
            touched.add_class(is_zeroed, class, examined, written);
        }
        touched
    }
}

/// The part of a block that the loop writes, by its size.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// The parts of blocks that are not zeroed, and of those that are, in 65536ths.
    parts: [[u32; CLASS_COUNT]; 2],
}

impl Parts {
    /// Takes the part of each class, or of the nearest class that was examined; all without any.
    pub(crate) fn new(touched: &Touched) -> Parts {
        let mut parts = [[WHOLE; CLASS_COUNT]; 2];
        for (is_zeroed, parts) in [false, true].into_iter().zip(&mut parts) {
            let rows = touched.rows().filter(|row| row.0 == is_zeroed && row.2 > 0);
            let part = |examined: u64, written: u64| {
                (u128::from(written) * u128::from(WHOLE) / u128::from(examined)) as u32
            };
            let seen: Vec<(u8, u32)> = rows.map(|row| (row.1, part(row.2, row.3))).collect();
            for (class, place) in (0..=u8::MAX).zip(parts) {
                let nearest = seen.iter().min_by_key(|(other, _)| other.abs_diff(class));
                *place = nearest.map_or(WHOLE, |(_, part)| *part);
            }
        }
        Parts { parts }
    }

    /// Returns how many bytes to write to a block that grew from one size to another.
    #[inline(always)]
    pub(crate) fn more(&self, from: usize, to: usize, is_zeroed: bool) -> usize {
        let bytes = to.saturating_sub(from);
        match to >= SAMPLED_MIN && bytes > 0 {
            // No more than before.
            true => self.of(to, is_zeroed, bytes).min(bytes),
            false => bytes,
        }
    }

    /// Returns the peak of written bytes in all live blocks.
    pub(crate) fn peak(&self, operations: impl Iterator<Item = Operation>) -> u64 {
        let mut live: HashMap<u32, (u64, u64)> = HashMap::new();
        let (mut sum, mut peak) = (0_u64, 0);
        let more =
            |from: u64, to: u64, is_zeroed| self.more(from as usize, to as usize, is_zeroed) as u64;
        for Operation { action, .. } in operations {
            let (object, now) = match action {
                Action::Allocate { object, size, is_zeroed, .. } => {
                    (object, Some((size, more(0, size, is_zeroed))))
                }
                Action::Reallocate { object, size, .. } => {
                    let (from, written) = live.get(&object).copied().unwrap_or_default();
                    let kept = written.min(size);
                    (object, Some((size, kept.saturating_add(more(from, size, false)))))
                }
                Action::Free { object } => (object, None),
                Action::EndPool { .. } => continue,
            };
            let before = match now {
                Some(now) => live.insert(object, now),
                None => live.remove(&object),
            };
            sum = sum.saturating_sub(before.map_or(0, |before| before.1));
            sum = sum.saturating_add(now.map_or(0, |now| now.1));
            peak = peak.max(sum);
        }
        peak
    }

    /// Returns how many of some bytes of a block are written.
    fn of(&self, size: usize, is_zeroed: bool, bytes: usize) -> usize {
        let row = self.parts.get(usize::from(is_zeroed));
        let part = row.and_then(|row| row.get(usize::from(class_of(size as u64))));
        let part = part.copied().unwrap_or(WHOLE);
        (bytes as u128 * u128::from(part)).div_ceil(u128::from(WHOLE)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.rep.touched`
    #[test]
    fn a_block_is_written_as_far_as_others_of_its_size() {
        let mut touched = Touched::default();
        touched.add(64 << 10, false, 40_000, 10_000);
        touched.add(64 << 10, false, 40_000, 30_000);
        touched.add(1 << 20, true, 1 << 20, 0);
        let parts = Parts::new(&touched);
        assert_eq!(parts.of(64 << 10, false, 64 << 10), 32 << 10);
        assert_eq!(parts.of(70_000, false, 70_000), 35_000);
        // A class without examined blocks is taken as the nearest class with some.
        assert_eq!(parts.of(1 << 30, false, 1 << 30), 1 << 29);
        assert_eq!(parts.of(9 << 10, true, 9 << 10), 0);
        assert_eq!(Parts::new(&Touched::default()).of(1 << 40, true, 5), 5);
        assert_eq!(touched.sum(), (80_000 + (1 << 20), 40_000));
        assert_eq!(Touched::of_rows(touched.rows()), touched);
        assert_eq!([class_of(0), class_of(u64::MAX)], [8, 255]);
    }

    /// `.rep.room`
    #[test]
    fn the_peak_of_written_bytes_is_less_than_the_live_peak() {
        let mut touched = Touched::default();
        touched.add(1 << 40, true, 1 << 24, 0);
        touched.add(1 << 20, false, 1 << 20, 1 << 19);
        let allocate = |object, size, is_zeroed| Action::Allocate {
            object,
            size,
            alignment: 1,
            is_zeroed,
            pool: 0,
        };
        let all = [
            allocate(0, 1 << 40, true),
            allocate(1, 1 << 20, false),
            allocate(2, 1000, false),
            Action::Reallocate { object: 1, size: 3 << 20, is_unaligned: false },
            Action::Free { object: 1 },
            Action::Reallocate { object: 2, size: 10, is_unaligned: false },
            allocate(3, 1 << 20, false),
        ];
        let all = all.map(|action| Operation { time: 0, thread: 0, action });
        let peak = |count: usize| Parts::new(&touched).peak(all.iter().copied().take(count));
        let [half, large] = [1 << 19, 3 << 19];
        assert_eq!([1, 2, 3, 4].map(peak), [0, half, half + 1000, large + 1000]);
        assert_eq!(peak(7), large + 1000);
    }
}
