//! Values over time, in a bounded number of points: the greatest of each stretch of time.
//!
//! ```text
//!  add(time, value) ─▶ │ max │ max │ max │ …      too many: each two become one
//! ```
//!
//! Design: `.rep.show`, `.rep.process` in `design/replay.md`.

/// The greatest value in each of up to `COUNT_MAX` stretches of time.
#[derive(Debug)]
pub(crate) struct Timeline<T, const COUNT_MAX: usize> {
    /// The length of a stretch, in ns.
    width: u64,
    /// The values; none in a stretch without any.
    points: Vec<Option<T>>,
}

impl<T, const COUNT_MAX: usize> Default for Timeline<T, COUNT_MAX> {
    fn default() -> Timeline<T, COUNT_MAX> {
        Timeline { width: 1, points: Vec::new() }
    }
}

impl<T: Copy, const COUNT_MAX: usize> Timeline<T, COUNT_MAX> {
    /// Adds a value at a time, no earlier than the one before. `until_then` is the value that held
    /// since then, if one did; `key` tells which of two values is greater.
    #[inline]
    pub(crate) fn add<K: Ord>(
        &mut self,
        time: u64,
        value: T,
        until_then: Option<T>,
        key: impl Fn(&T) -> K,
    ) {
        while time / self.width >= COUNT_MAX as u64 {
            self.width = self.width.saturating_mul(2);
            let greatest = |pair: &[Option<T>]| pair.iter().copied().flatten().max_by_key(&key);
            self.points = self.points.chunks(2).map(greatest).collect();
        }
        let place = (time / self.width) as usize;
        if place >= self.points.len() {
            self.points.resize(place + 1, until_then);
        }
        if let Some(point) = self.points.get_mut(place)
            && point.as_ref().is_none_or(|greatest| key(greatest) < key(&value))
        {
            *point = Some(value);
        }
    }

    /// Returns the beginning of each stretch, and its greatest value.
    pub(crate) fn points(&self) -> impl Iterator<Item = (u64, Option<T>)> {
        (0..).step_by(self.width as usize).zip(self.points.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_is_bounded_and_has_the_greatest_of_each_stretch() {
        const COUNT_MAX: usize = 512;
        let values: Vec<(u64, u64)> = (0..5000u64).map(|n| (n * n / 3, n * 7919 % 1000)).collect();
        let (mut samples, mut levels) = (Timeline::default(), Timeline::default());
        let mut last = None;
        for &(time, value) in &values {
            Timeline::<u64, COUNT_MAX>::add(&mut samples, time, value, None, |value| *value);
            Timeline::<u64, COUNT_MAX>::add(&mut levels, time, value, last, |value| *value);
            last = Some(value);
        }
        let points: Vec<_> = samples.points().zip(levels.points()).collect();
        assert!((COUNT_MAX / 2..=COUNT_MAX).contains(&points.len()));
        for (index, &((begin, sample), (_, level))) in points.iter().enumerate() {
            let end = points.get(index + 1).map_or(u64::MAX, |next| next.0.0);
            let within = values.iter().filter(|(time, _)| (begin..end).contains(time));
            let greatest = within.map(|at| at.1).max();
            assert_eq!(sample, greatest);
            // The level before counts until the first value of the stretch.
            let before = values.iter().rev().find(|(time, _)| *time < begin).map(|at| at.1);
            assert!(level >= greatest && level <= greatest.max(before));
        }
        assert_eq!(points.iter().filter_map(|point| point.0.1).max(), Some(999));
    }
}
