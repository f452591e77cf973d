//! Draws a histogram as SVG: a bar for each power of two.
//!
//! ```text
//!  600 k ┤   █
//!  300 k ┤   █ █
//!      0 ┼─▄─█─█─▂─
//!         16 32 64 128 B
//! ```
//!
//! Design: `.rep.page` in `design/replay.md`.

use super::chart::{bottom, percent, side};
use super::scale::{Scale, Tick};
use cli::units::{Unit, number};
use maud::{Markup, html};

const NAMED_COUNT_MAX: usize = 8;
/// The part of its place that a bar takes.
const BAR_PART: f64 = 0.86;

/// Draws the counts of classes; a class is named by its greatest value.
pub(super) fn histogram(title: &str, note: &str, classes: &[(u64, u64)], unit: Unit) -> Markup {
    let classes = without_gaps(classes);
    let scale = Scale::linear(classes.iter().map(|class| class.1 as f64));
    let width = 1.0 / classes.len().max(1) as f64;
    let name = |class: u64| unit.round(class as f64);
    let every = classes.len().div_ceil(NAMED_COUNT_MAX).max(1);
    let named = classes.iter().enumerate().step_by(every);
    let x: Vec<Tick> = named
        .map(|(index, class)| Tick { at: (index as f64 + 0.5) * width, text: name(class.0) })
        .collect();
    html! {
        figure {
            figcaption { b { (title) } " " span.soft { (note) } }
            @if classes.is_empty() {
                p.none { "No data." }
            } @else {
                svg.chart.histogram role="img" aria-label=(title) {
                    (side(&scale.ticks(Unit::Count)))
                    (bottom(&x))
                    @for (index, class) in classes.iter().enumerate().filter(|(_, of)| of.1 > 0) {
                        // Even a small count is visible.
                        @let tallness = scale.place(class.1 as f64).max(0.006);
                        rect.column x=(percent((index as f64 + (1.0 - BAR_PART) / 2.0) * width))
                            width=(percent(width * BAR_PART)) y=(percent(1.0 - tallness))
                            height=(percent(tallness)) {
                            title { "up to " (name(class.0)) ": " (number(class.1)) }
                        }
                    }
                }
            }
        }
    }
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
