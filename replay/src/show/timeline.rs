//! A value over time, in a bounded number of points: the greatest of each stretch.
//!
//! ```text
//!  at(time, value) ─▶ │ max │ max │ max │ …      too many: two become one
//! ```
//!
//! Design: `.rep.show` in `design/replay.md`.

/// Stretches that are kept, at most.
const COUNT_MAX: usize = 512;

/// The greatest value in each stretch of time.
#[derive(Debug)]
pub(super) struct Timeline {
    /// How long a stretch is, in ns.
    width: u64,
    points: Vec<u64>,
    last: u64,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { width: 1, points: Vec::new(), last: 0 }
    }
}

impl Timeline {
    /// From this time on, which is no earlier than the one before, it has this value.
    #[inline]
    pub(super) fn at(&mut self, time: u64, value: u64) {
        while time / self.width >= COUNT_MAX as u64 {
            self.width = self.width.saturating_mul(2);
            let pairs = self.points.chunks(2);
            self.points = pairs.map(|pair| pair.iter().copied().max().unwrap_or(0)).collect();
        }
        let place = (time / self.width) as usize;
        while self.points.len() <= place {
            self.points.push(self.last);
        }
        if let Some(point) = self.points.get_mut(place) {
            *point = value.max(*point);
        }
        self.last = value;
    }

    /// When each stretch begins, and its greatest value.
    pub(super) fn points(&self) -> Vec<(u64, u64)> {
        let points = self.points.iter().enumerate();
        points.map(|(index, value)| (index as u64 * self.width, *value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_has_the_greatest_value_of_each_stretch() {
        let values: Vec<(u64, u64)> = (0..5000u64).map(|n| (n * n / 3, n * 7919 % 1000)).collect();
        let mut timeline = Timeline::default();
        values.iter().for_each(|&(time, value)| timeline.at(time, value));
        let points = timeline.points();
        assert!((COUNT_MAX / 2..=COUNT_MAX).contains(&points.len()));
        for (index, &(begin, greatest)) in points.iter().enumerate() {
            let end = points.get(index + 1).map_or(u64::MAX, |next| next.0);
            let within = values.iter().filter(|(time, _)| (begin..end).contains(time));
            let before = values.iter().rev().find(|(time, _)| *time < begin).map(|at| at.1);
            let expected = within.map(|at| at.1).chain(before).max().unwrap();
            // What it was before counts until the first of the stretch.
            assert!(greatest <= expected && greatest >= expected.min(before.unwrap_or(0)));
        }
        assert_eq!(points.iter().map(|point| point.1).max(), Some(999));
    }
}
