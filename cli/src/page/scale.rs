//! Axes: the place of a value between 0 and 1, and the round values of the labels.
//!
//! ```text
//!  linear   0 ─── 2 MiB ─── 4 MiB ─── 6 MiB       from 0 to a little above the greatest value
//!  log      1 ns ─ 10 ns ─ 100 ns ─ 1 µs          from a round value to a round value
//! ```
//!
//! Design: `.output.page` in `design/output.md`.

use crate::units::Unit;

/// The number of labels of an axis, about.
const TICK_COUNT: f64 = 5.0;
/// The possible ends of a log axis in each decade.
const DIGITS: [f64; 7] = [1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0];
/// The maximum number of labels of a log axis.
const LOG_TICK_COUNT_MAX: usize = 8;
const HALVING_COUNT: u32 = 6;
/// The length of a linear axis, relative to the greatest value.
const HEADROOM: f64 = 1.06;

/// A place on an axis, and its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// From 0 to 1.
    pub at: f64,
    /// What stands there.
    pub text: String,
}

/// The mapping of values to places on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From 0 on.
    Linear {
        /// The value at the end.
        most: f64,
    },
    /// Both are above 0, and differ.
    Log {
        /// The value at the beginning.
        least: f64,
        /// The value at the end.
        most: f64,
    },
}

impl Scale {
    /// Returns an axis from 0 to the greatest value.
    pub fn linear(values: impl Iterator<Item = f64>) -> Scale {
        let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        Scale::Linear { most: if most > 0.0 { most * HEADROOM } else { 1.0 } }
    }

    /// Returns a log axis from the least to the greatest of the values above 0.
    pub fn log(values: impl Iterator<Item = f64>) -> Scale {
        let fits = |value: &f64| value.is_finite() && *value > 0.0;
        let (least, most) = values
            .filter(fits)
            .fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(v), most.max(v)));
        if most == 0.0 {
            return Scale::Log { least: 1.0, most: 10.0 };
        }
        let (below, above) = (least.log10().floor() as i32 - 1, most.log10().ceil() as i32 + 1);
        let steps = steps_of(&DIGITS, below, above);
        let is_below = |step: &&f64| **step <= least * 1.001;
        let is_above = |step: &&f64| **step >= most * 0.999;
        let low = steps.iter().rev().find(is_below).copied().unwrap_or(least);
        let high = steps.iter().find(is_above).copied().unwrap_or(most);
        // A single value is in the middle.
        if high > low {
            Scale::Log { least: low, most: high }
        } else {
            Scale::Log { least: low / 2.0, most: high * 2.0 }
        }
    }

    /// Returns the place of a value, from 0 to 1.
    pub fn place(self, value: f64) -> f64 {
        let place = match self {
            Scale::Linear { most } => value / most,
            Scale::Log { least, most } => (value.max(least) / least).ln() / (most / least).ln(),
        };
        place.clamp(0.0, 1.0)
    }

    /// Returns the labels.
    pub fn ticks(self, unit: Unit) -> Vec<Tick> {
        let values = match self {
            Scale::Linear { most } => linear_steps(most, unit),
            Scale::Log { least, most } => log_steps(least, most),
        };
        let tick = |value: f64| Tick { at: self.place(value), text: unit.round(value) };
        values.into_iter().map(tick).collect()
    }
}

/// Returns the labels of an axis that ends at a half, a quarter, … of the greatest value: they
/// appear when lines with greater values are hidden.
pub fn halved(scale: Scale, unit: Unit) -> Vec<Vec<Tick>> {
    let Scale::Linear { most } = scale else { return Vec::new() };
    let halves = (1..=HALVING_COUNT).map(|n| most / f64::from(1 << n));
    halves.map(|most| Scale::Linear { most }.ticks(unit)).collect()
}

/// Returns multiples of 1, 2 or 5 of a decade of the unit for the greatest value.
fn linear_steps(most: f64, unit: Unit) -> Vec<f64> {
    let (size, _) = unit.step(most);
    let rough = most / size / TICK_COUNT;
    let decade = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * decade).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough) * size;
    // Bytes and counts are integers.
    let is_whole = matches!(unit, Unit::Bytes | Unit::Count) && size == 1.0;
    let step = if is_whole { step.max(1.0) } else { step };
    let count = (most / step).floor().min(4.0 * TICK_COUNT) as u32;
    (0..=count).map(|n| f64::from(n) * step).collect()
}

/// Decades, and where they are few, their 2 and 5.
fn log_steps(least: f64, most: f64) -> Vec<f64> {
    let within = |value: &f64| (least * 0.999..=most * 1.001).contains(value);
    let (low, high) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    let steps = |digits: &[f64]| steps_of(digits, low, high).into_iter().filter(within).collect();
    let fine: [&[f64]; 2] = [&DIGITS, &[1.0, 2.0, 5.0]];
    let few = |steps: &Vec<f64>| steps.len() <= LOG_TICK_COUNT_MAX;
    if let Some(steps) = fine.into_iter().map(steps).find(few) {
        return steps;
    }
    let decades: Vec<f64> = steps(&[1.0]);
    let every = decades.len().div_ceil(LOG_TICK_COUNT_MAX).max(1);
    decades.into_iter().step_by(every).collect()
}

/// Returns these digits of each decade.
fn steps_of(digits: &[f64], low: i32, high: i32) -> Vec<f64> {
    (low..=high).flat_map(|n| digits.iter().map(move |digit| digit * 10_f64.powi(n))).collect()
}

#[cfg(test)]
mod tests {
    use super::Scale;
    use crate::units::Unit;

    fn texts(scale: Scale, unit: Unit) -> Vec<String> {
        scale.ticks(unit).into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn the_labels_of_an_axis_are_round() {
        let scale = Scale::linear([7e6, 3.0, f64::NAN].into_iter());
        assert_eq!(texts(scale, Unit::Bytes), ["0 B", "2 MiB", "4 MiB", "6 MiB"]);
        let scale = Scale::linear([3.0].into_iter());
        assert_eq!(texts(scale, Unit::Count), ["0", "1", "2", "3"]);
        let scale = Scale::log([3.0, 700_000.0].into_iter());
        let expected = ["10 ns", "100 ns", "1 µs", "10 µs", "100 µs"];
        assert_eq!(texts(scale, Unit::Nanoseconds), expected);
        let scale = Scale::log([0.9, 4.0].into_iter());
        assert_eq!(texts(scale, Unit::Ratio), ["0.7×", "1×", "1.2×", "1.5×", "2×", "3×", "5×"]);
        assert_eq!(
            Scale::log([5.0].into_iter()).place(5.0),
            0.5,
            "a single value is in the middle"
        );
    }
}
