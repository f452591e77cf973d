//! The time order of located events, which mostly form ascending or descending runs.
//!
//! ```text
//!  ticks, as in an MPS log  9 8 7 6│4 3 2│14 13 12 11│10 9 8
//!  runs, each turned round  6 7 8 9│2 3 4│11 12 13 14│8 9 10
//!  neighbours merged        2 3 4 6 7 8 9│8 9 10 11 12 13 14      where they overlap alone
//! ```
//!
//! A key is one word of ticks and place, so comparing and moving are cheap. No two keys are equal,
//! so events of equal ticks keep their order. Order: `.time.order` in `design/format.md`.

use super::segment::Located;

/// Bits of a key that hold the place.
const PLACE_BITS: u32 = 20;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;
/// Half of the range of ticks in a key: the largest distance from the first event.
const TICKS_HALF: u64 = 1 << (63 - PLACE_BITS);

/// Sorts events. Its memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    keys: Vec<u64>,
    /// As many keys, merged.
    merged: Vec<u64>,
    /// Where runs end.
    ends: Vec<usize>,
    located: Vec<Located>,
}

impl Sorter {
    /// Sorts events by time. `places` gets the place that each event had before.
    pub(crate) fn sort(&mut self, located: &mut Vec<Located>, places: &mut Vec<u32>) {
        self.order(located, places);
        let at = |place: &u32| located.get(*place as usize).copied().unwrap_or_default();
        self.located.clear();
        self.located.extend(places.iter().map(at));
        std::mem::swap(located, &mut self.located);
    }

    fn order(&mut self, located: &[Located], places: &mut Vec<u32>) {
        places.clear();
        let first = located.first().map_or(0, |located| located.ticks);
        let mut is_far = located.len() as u64 > PLACE_MASK;
        let key = |(located, place): (&Located, u64)| {
            let ticks = located.ticks.wrapping_sub(first).wrapping_add(TICKS_HALF);
            is_far |= ticks >= 2 * TICKS_HALF;
            ticks << PLACE_BITS | place
        };
        self.keys.clear();
        self.keys.extend(located.iter().zip(0..).map(key));
        if is_far {
            places.extend(0..located.len() as u32);
            let ticks = |place: &u32| located.get(*place as usize).map(|located| located.ticks);
            return places.sort_by_key(ticks);
        }
        self.sort_keys();
        places.extend(self.keys.iter().map(|key| (key & PLACE_MASK) as u32));
    }

    fn sort_keys(&mut self) {
        find_runs(&mut self.keys, &mut self.ends);
        self.merged.resize(self.keys.len(), 0);
        while self.ends.len() > 1 {
            let mut begin = 0;
            for pair in self.ends.chunks(2) {
                let end = pair.last().copied().unwrap_or(begin);
                let middle = pair.first().copied().unwrap_or(begin);
                if let (Some(before), Some(after), Some(merged)) = (
                    self.keys.get(begin..middle),
                    self.keys.get(middle..end),
                    self.merged.get_mut(begin..end),
                ) {
                    merge(before, after, merged);
                }
                begin = end;
            }
            std::mem::swap(&mut self.keys, &mut self.merged);
            let mut index = 0;
            let count = self.ends.len();
            self.ends.retain(|_| {
                index += 1;
                index % 2 == 0 || index == count
            });
        }
    }
}

/// Finds the ends of runs, and reverses descending runs.
fn find_runs(keys: &mut [u64], ends: &mut Vec<usize>) {
    ends.clear();
    let mut begin = 0;
    while let Some(rest) = keys.get_mut(begin..).filter(|rest| !rest.is_empty()) {
        let steps = || rest.iter().zip(rest.iter().skip(1));
        let descent = steps().take_while(|(a, b)| a > b).count();
        let size =
            if descent > 0 { 1 + descent } else { 1 + steps().take_while(|(a, b)| a < b).count() };
        if descent > 0
            && let Some(run) = rest.get_mut(..size)
        {
            run.reverse();
        }
        begin += size;
        ends.push(begin);
    }
}

/// Merges two sorted lists into `merged`, which has the size of both.
fn merge(before: &[u64], after: &[u64], merged: &mut [u64]) {
    // Keys outside the overlap are already in order.
    let first = after.first().copied().unwrap_or(u64::MAX);
    let (head, left) = before.split_at(before.partition_point(|key| *key < first));
    let last = left.last().copied().unwrap_or(0);
    let (right, tail) = after.split_at(after.partition_point(|key| *key < last));
    let Some((place, rest)) = merged.split_at_mut_checked(head.len()) else { return };
    place.copy_from_slice(head);
    let Some((overlap, place)) = rest.split_at_mut_checked(left.len() + right.len()) else {
        return;
    };
    if place.len() == tail.len() {
        place.copy_from_slice(tail);
    }
    merge_overlap(left, right, overlap);
}

/// Merges sorted keys from both ends at once, because the two ends do not wait for each other.
fn merge_overlap(mut left: &[u64], mut right: &[u64], mut merged: &mut [u64]) {
    while let ([a, .., c], [b, .., d]) = (left, right)
        && let [first, rest @ .., last] = merged
    {
        // The code has no branch, because a processor cannot predict which key is smaller.
        let (is_left, is_left_last) = (a < b, c > d);
        *first = if is_left { *a } else { *b };
        *last = if is_left_last { *c } else { *d };
        let end = left.len() - usize::from(is_left_last);
        left = left.get(usize::from(is_left)..end).unwrap_or_default();
        let end = right.len() - usize::from(!is_left_last);
        right = right.get(usize::from(!is_left)..end).unwrap_or_default();
        merged = rest;
    }
    // One of the lists has at most one key left.
    let (one, many) = if left.len() < 2 { (left, right) } else { (right, left) };
    let before = one.first().map_or(0, |one| many.partition_point(|key| key < one));
    let (head, tail) = many.split_at(before);
    for (place, key) in merged.iter_mut().zip(head.iter().chain(one).chain(tail)) {
        *place = *key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(ticks: &[u64]) -> Vec<Located> {
        ticks.iter().map(|&ticks| Located { ticks, ..Located::default() }).collect()
    }

    /// Compares with the standard sort.
    fn check(ticks: &[u64]) {
        let mut expected: Vec<u32> = (0..ticks.len() as u32).collect();
        expected.sort_by_key(|&place| ticks[place as usize]);
        let (mut sorter, mut events, mut found) = (Sorter::default(), located(ticks), vec![7]);
        sorter.sort(&mut events, &mut found);
        assert_eq!(found, expected, "{ticks:?}");
        let sorted = expected.iter().map(|&place| ticks[place as usize]);
        assert!(events.iter().map(|event| event.ticks).eq(sorted), "{ticks:?}");
    }

    #[test]
    fn events_in_any_runs_are_sorted_stably() {
        let mut state = 1_u64;
        let mut random = move || {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            state >> 33
        };
        for size in (0..40).chain([100, 1000, 3000]) {
            for range in [1, 3, 50, 100_000] {
                check(&(0..size).map(|_| random() % range).collect::<Vec<u64>>());
            }
            for run in [1, 2, 7, 101] {
                check(&(0..size).map(|n| 5000 + n / run * 3 - n % run).collect::<Vec<u64>>());
                check(&(0..size).map(|n| n % run * 3 + n / run).collect::<Vec<u64>>());
            }
        }
    }

    #[test]
    fn distant_times_are_sorted() {
        check(&[u64::MAX, 0, 5, u64::MAX, 0, 1 << 44, (1 << 44) - 1]);
        check(&[1 << 44, 0, (1 << 44) - 1, 1 << 44]);
        check(&[(1 << 44) - 1, 0, (1 << 44) - 1, 3, 3]);
    }
}
