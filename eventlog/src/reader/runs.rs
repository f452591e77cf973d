//! The order of time of located events, most of which stand in runs.
//!
//! ```text
//!  ticks, as in an MPS log  9 8 7 6│4 3 2│14 13 12 11│10 9 8
//!  runs, each turned round  6 7 8 9│2 3 4│11 12 13 14│8 9 10
//!  neighbours merged        2 3 4 6 7 8 9│8 9 10 11 12 13 14      where they overlap alone
//! ```
//!
//! A key is one word, ticks and then place: what is compared is what is moved, and no two are
//! equal, so that events of equal ticks keep their order. Order: `.time.order` in
//! `design/format.md`.

use super::segment::Located;

/// Bits of a key that are the place.
const PLACE_BITS: u32 = 20;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

/// Puts the places of these events, in order of time, into `places`.
pub(crate) fn order(located: &[Located], places: &mut Vec<u32>) {
    places.clear();
    let ticks = located.iter().map(|located| located.ticks);
    let (min, max) = ticks.fold((u64::MAX, 0), |(min, max), at| (at.min(min), at.max(max)));
    let is_narrow = max.saturating_sub(min) <= u64::MAX >> PLACE_BITS;
    if !is_narrow || located.len() as u64 > PLACE_MASK {
        places.extend(0..located.len() as u32);
        let ticks = |place: &u32| located.get(*place as usize).map(|located| located.ticks);
        return places.sort_by_key(ticks);
    }
    let key = |(located, place): (&Located, u64)| (located.ticks - min) << PLACE_BITS | place;
    let mut keys: Vec<u64> = located.iter().zip(0..).map(key).collect();
    sort(&mut keys);
    places.extend(keys.iter().map(|key| (key & PLACE_MASK) as u32));
}

/// Sorts keys, no two of which are equal.
fn sort(keys: &mut [u64]) {
    let mut ends = find_runs(keys);
    let mut left = Vec::with_capacity(keys.len());
    while ends.len() > 1 {
        let mut begin = 0;
        for pair in ends.chunks(2) {
            if let &[middle, end] = pair
                && let Some(both) = keys.get_mut(begin..end)
            {
                merge(both, middle - begin, &mut left);
            }
            begin = pair.last().copied().unwrap_or(begin);
        }
        ends = ends.chunks(2).filter_map(|pair| pair.last().copied()).collect();
    }
}

/// Where runs end; those that descend are turned round.
fn find_runs(keys: &mut [u64]) -> Vec<usize> {
    let mut ends = Vec::new();
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
    ends
}

/// Merges the sorted keys before and from `middle` on; `left` is memory to use.
fn merge(keys: &mut [u64], middle: usize, left: &mut Vec<u64>) {
    let Some((before, after)) = keys.split_at_checked(middle) else { return };
    let (Some(last), Some(first)) = (before.last(), after.first()) else { return };
    if last < first {
        return;
    }
    // What stands outside the overlap is where it belongs.
    let begin = before.partition_point(|key| key < first);
    let end = middle + after.partition_point(|key| key < last);
    left.clear();
    left.extend_from_slice(before.get(begin..).unwrap_or_default());
    let Some(keys) = keys.get_mut(begin..end) else { return };
    let (mut taken, mut right) = (0, left.len());
    let mut to = 0;
    while let (Some(&a), Some(&b)) = (left.get(taken), keys.get(right)) {
        // No branch: which of two comes first cannot be foretold.
        let is_right = b < a;
        if let Some(place) = keys.get_mut(to) {
            *place = if is_right { b } else { a };
        }
        taken += usize::from(!is_right);
        right += usize::from(is_right);
        to += 1;
    }
    // What is left of the right stands there already.
    let rest = left.get(taken..).unwrap_or_default();
    if let Some(places) = keys.get_mut(to..to + rest.len()) {
        places.copy_from_slice(rest);
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
        let mut found = vec![7];
        order(&located(ticks), &mut found);
        assert_eq!(found, expected, "{ticks:?}");
    }

    #[test]
    fn whatever_the_runs_events_are_put_in_order_stably() {
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
    fn times_too_far_apart_for_a_word_are_put_in_order_too() {
        check(&[u64::MAX, 0, 5, u64::MAX, 0, 1 << 44, (1 << 44) - 1]);
        check(&[1 << 44, 0, (1 << 44) - 1, 1 << 44]);
        check(&[(1 << 44) - 1, 0, (1 << 44) - 1, 3, 3]);
    }
}
