//! Histograms of a workload: a bar for each power of two.
//!
//! ```text
//!  (8, 1), (64, 2) ──▶ 8 │ 16 │ 32 │ 64: 1 │ 0 │ 0 │ 2 ──▶ the kit of `cli`
//! ```
//!
//! Design: `.rep.page` in `design/replay.md`.

use cli::page::chart::{Bar, bars};
use cli::units::Unit;
use maud::Markup;

/// Draws the counts of classes; a class is named by its greatest value.
pub(super) fn histogram(title: &str, note: &str, classes: &[(u64, u64)], unit: Unit) -> Markup {
    let bar = |(class, value): (u64, u64)| Bar {
        name: unit.round(class as f64),
        value,
        class: String::new(),
    };
    let all: Vec<Bar> = without_gaps(classes).into_iter().map(bar).collect();
    bars(title, note, &all, Unit::Count)
}

/// Returns all powers of two from the first class to the last, in order.
fn without_gaps(classes: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let exponent = |class: u64| class.max(1).next_power_of_two().trailing_zeros();
    let filled = || classes.iter().filter(|class| class.1 > 0).map(|class| class.0);
    let (Some(least), Some(most)) = (filled().min(), filled().max()) else { return Vec::new() };
    let class = |power: u32| {
        let of = classes.iter().filter(|class| exponent(class.0) == power);
        (1_u64 << power, of.fold(0_u64, |sum, class| sum.saturating_add(class.1)))
    };
    (exponent(least)..=exponent(most).min(63)).map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::without_gaps;

    /// `.rep.page`
    #[test]
    fn an_empty_power_of_two_is_a_gap() {
        let classes = without_gaps(&[(64, 2), (8, 1), (0, 3), (128, 0), (1, 4)]);
        assert_eq!(classes, [(1, 7), (2, 0), (4, 0), (8, 1), (16, 0), (32, 0), (64, 2)]);
        assert_eq!(without_gaps(&[(8, 0)]), []);
        assert_eq!(without_gaps(&[(1 << 63, 1)]), [(1 << 63, 1)]);
    }
}
