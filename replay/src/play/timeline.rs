//! Samples over time, as many as a picture needs.
//!
//! ```text
//!  1 2 3 4 5 6 7 8 9 … 2048 ── full: every second goes, and of those to come ──▶ 2 4 6 8 …
//! ```
//!
//! Design: `.rep.process` in `design/replay.md`.

use crate::measured::Sample;

/// Samples that are kept, at most.
const SAMPLE_MAX: usize = 2048;

/// A bounded number of samples, and the highest.
#[derive(Debug)]
pub(crate) struct Timeline {
    samples: Vec<Sample>,
    /// Of so many that come one is kept.
    step: usize,
    came: usize,
    highest: Sample,
    last: Sample,
}

impl Default for Timeline {
    fn default() -> Timeline {
        let none = Sample::default();
        Timeline { samples: Vec::new(), step: 1, came: 0, highest: none, last: none }
    }
}

impl Timeline {
    pub(crate) fn add(&mut self, sample: Sample) {
        if sample.resident > self.highest.resident {
            self.highest = sample;
        }
        self.last = sample;
        if self.came.is_multiple_of(self.step) {
            self.samples.push(sample);
        }
        self.came += 1;
        if self.samples.len() >= SAMPLE_MAX {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.step *= 2;
        }
    }

    /// Those that are kept, the highest and the last one among them.
    pub(crate) fn finish(mut self) -> Vec<Sample> {
        if self.came > 0 {
            self.samples.extend([self.highest, self.last]);
        }
        self.samples.sort_by_key(|sample| sample.time_ns);
        self.samples.dedup();
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_is_bounded_and_keeps_its_highest_and_last_sample() {
        let mut timeline = Timeline::default();
        for time_ns in 0..100_000 {
            let resident = if time_ns == 77_777 { 99 } else { time_ns % 7 };
            timeline.add(Sample { time_ns, resident, ..Sample::default() });
        }
        let samples = timeline.finish();
        assert!((SAMPLE_MAX / 2..=SAMPLE_MAX + 2).contains(&samples.len()), "{}", samples.len());
        assert!(samples.is_sorted_by(|a, b| a.time_ns < b.time_ns));
        assert_eq!(samples.iter().map(|sample| sample.resident).max(), Some(99));
        assert_eq!(samples.last().map(|sample| sample.time_ns), Some(99_999));
    }
}
