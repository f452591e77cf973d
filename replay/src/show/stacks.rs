//! Counts objects by the stack that allocated them, and names the frames of stacks.
//!
//! ```text
//!  object ─▶ stack ─▶ counts, bytes, left bytes ─ merge ─▶ equal stacks are one ─▶ names
//! ```
//!
//! Design: `.rep.stack`, `.rep.show.stack` in `design/replay.md`.

use eventlog::reader::Log;
use serde::Serialize;
use stacks::Stack;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// The minimum number of frames that tell stacks apart: deeper stacks have no more recorded frames,
/// or a varying number.
const SURE_COUNT_MIN: usize = 32;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct StackShown {
    /// The innermost frame first.
    pub(crate) frames: Vec<String>,
    /// The number of requests (with reallocations), and their bytes.
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    /// The objects and bytes that were live at the peak.
    pub(crate) peak_count: u64,
    pub(crate) peak_bytes: u64,
    /// The objects and bytes that were left at the end.
    pub(crate) left_count: u64,
    pub(crate) left_bytes: u64,
}

/// The counts of a stack. Live objects are counted in `left`; those at the peak are noted at the
/// first change after it.
#[derive(Clone, Debug, Default)]
struct Counted {
    shown: StackShown,
    /// The number of peaks at its last change.
    peak: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Stacks {
    all: HashMap<Stack, Counted>,
    /// The number of times that live bytes reached a new peak.
    peak: u64,
}

impl Stacks {
    fn change(&mut self, stack: Stack, change: impl FnOnce(&mut StackShown)) {
        if stack.number != 0 {
            let counted = self.all.entry(stack).or_default();
            counted.note(self.peak);
            change(&mut counted.shown);
        }
    }

    pub(crate) fn allocate(&mut self, stack: Stack, size: u64) {
        self.change(stack, |shown| {
            shown.count += 1;
            shown.bytes = shown.bytes.saturating_add(size);
            shown.left_count += 1;
            shown.left_bytes = shown.left_bytes.saturating_add(size);
        });
    }

    pub(crate) fn free(&mut self, stack: Stack, size: u64) {
        self.change(stack, |shown| {
            shown.left_count = shown.left_count.saturating_sub(1);
            shown.left_bytes = shown.left_bytes.saturating_sub(size);
        });
    }

    /// Notes a new peak of live bytes.
    pub(crate) fn peak(&mut self) {
        self.peak += 1;
    }

    /// Returns the top stacks by bytes at the peak, by bytes, by bytes left, and by count, with
    /// their names.
    pub(crate) fn top(mut self, count_max: usize, log: &Log) -> Vec<StackShown> {
        if self.all.is_empty() {
            return Vec::new();
        }
        self.all.values_mut().for_each(|counted| counted.note(self.peak));
        let mut trees = stacks::Stacks::new(log);
        let mut list = merge(&trees, self.all.into_iter().map(|(stack, of)| (stack, of.shown)));
        let mut picked = HashSet::new();
        let keys: [fn(&StackShown) -> u64; 4] = [
            |shown| shown.peak_bytes,
            |shown| shown.bytes,
            |shown| shown.left_bytes,
            |shown| shown.count,
        ];
        for key in keys {
            list.sort_by_key(|(stack, shown)| (Reverse(key(shown)), *stack));
            let first = list.iter().take(count_max).filter(|(_, shown)| key(shown) > 0);
            picked.extend(first.map(|(stack, _)| *stack));
        }
        list.retain(|(stack, _)| picked.contains(stack));
        list.sort_by_key(|(stack, shown)| (Reverse(shown.bytes), *stack));
        let named = |(stack, shown): (Stack, StackShown)| StackShown {
            frames: trees.frames(stack).iter().map(ToString::to_string).collect(),
            ..shown
        };
        list.into_iter().map(named).collect()
    }
}

impl Counted {
    /// Notes the counts at a peak, if one came since the last change.
    fn note(&mut self, peak: u64) {
        if self.peak != peak {
            self.peak = peak;
            self.shown.peak_count = self.shown.left_count;
            self.shown.peak_bytes = self.shown.left_bytes;
        }
    }
}

/// Merges stacks that are equal as far as all of them are recorded: deep stacks may have more or
/// fewer outer frames.
fn merge(
    trees: &stacks::Stacks,
    stacks: impl Iterator<Item = (Stack, StackShown)>,
) -> Vec<(Stack, StackShown)> {
    let stacks: Vec<(Stack, StackShown)> = stacks.collect();
    let depths = stacks.iter().map(|(stack, _)| trees.addresses(*stack).take(256).count());
    let sure = (depths.max().unwrap_or(0) / 2).max(SURE_COUNT_MIN);
    let mut merged: HashMap<(u16, Vec<u64>), (Stack, StackShown)> = HashMap::new();
    for (stack, shown) in stacks {
        let key = (stack.stream, trees.addresses(stack).take(sure).collect());
        let (first, sum) = merged.entry(key).or_insert((stack, StackShown::default()));
        *first = stack.min(*first);
        for (sum, one) in [
            (&mut sum.count, shown.count),
            (&mut sum.bytes, shown.bytes),
            (&mut sum.peak_count, shown.peak_count),
            (&mut sum.peak_bytes, shown.peak_bytes),
            (&mut sum.left_count, shown.left_count),
            (&mut sum.left_bytes, shown.left_bytes),
        ] {
            *sum = sum.saturating_add(one);
        }
    }
    merged.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_keeps_its_counts_at_the_peak() {
        // `.rep.show.stack`
        let [a, b] = [1, 2].map(|number| Stack { stream: 0, number });
        let mut stacks = Stacks::default();
        stacks.allocate(a, 100);
        stacks.peak();
        stacks.allocate(b, 50);
        stacks.peak();
        stacks.free(a, 100);
        stacks.allocate(b, 20);
        stacks.allocate(Stack::default(), 7);
        stacks.all.values_mut().for_each(|counted| counted.note(stacks.peak));
        let of = |stack| {
            let shown = &stacks.all[&stack].shown;
            (shown.bytes, shown.peak_bytes, shown.peak_count, shown.left_bytes)
        };
        assert_eq!((of(a), of(b), stacks.all.len()), ((100, 100, 1, 0), (70, 50, 1, 70), 2));
    }

    #[test]
    fn stacks_cut_at_different_depths_are_one() {
        let of = |number| Stack { stream: 0, number };
        let mut trees = stacks::Stacks::default();
        // A deep recursion: 64 frames of one stack are recorded, and 40 of the other.
        for frame in 1..=64 {
            trees.add(of(frame), frame - 1, 7);
            trees.add(of(frame + 100), if frame <= 24 { 0 } else { frame + 99 }, 7);
        }
        trees.add(of(200), 64, 9);
        let one = StackShown { bytes: 5, ..StackShown::default() };
        let stacks = [64, 164, 200, 3].map(|number| (of(number), one.clone()));
        let merged = merge(&trees, stacks.into_iter());
        let mut bytes: Vec<u64> = merged.iter().map(|(_, shown)| shown.bytes).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, [5, 5, 10]);
    }
}
