//! The line charts: memory and fragmentation over a run, latencies.
//!
//! ```text
//!  timeline of each heap ── the same columns for all ──▶ resident, live, their ratio
//!  latency of each heap ─── the same quantiles, classes ─▶ ns
//! ```
//!
//! Design: `.rep.page` in `design/replay.md`.

use super::tables::{Parts, short_name};
use crate::measured::{HeapMeasured, Sample};
use cli::page::chart::{Chart, Line};
use cli::page::scale::{Scale, Tick, halved};
use cli::units::{Unit, bytes, latency, nanoseconds, three_digits};

const COLUMN_COUNT: usize = 200;
const QUANTILE_COUNT: usize = 121;
/// The minimum number of operations beyond a quantile: fewer are chance.
const BEYOND_COUNT_MIN: u64 = 10;
/// The nines of the last quantile: 99.9999999 %.
const NINES_MAX: f64 = 9.0;
/// Fragmentation is shown where at least this part of the peak is live: a ratio of small numbers
/// means nothing.
const LIVE_PART_MIN: f64 = 0.05;
/// The horizontal axis of a run: the time since the first operation, to its greatest value in ns.
struct Run {
    most: f64,
}

impl Run {
    fn new(parts: &Parts<'_>) -> Run {
        let samples = parts.measured.heaps.iter().flat_map(|heap| &heap.timeline);
        Run { most: samples.map(|sample| sample.time_ns as f64).fold(1.0, f64::max) }
    }

    fn columns(&self) -> Vec<Tick> {
        let column = |index: usize| {
            let at = index as f64 / (COLUMN_COUNT - 1) as f64;
            Tick { at, text: nanoseconds(at * self.most) }
        };
        (0..COLUMN_COUNT).map(column).collect()
    }

    fn ticks(&self) -> Vec<Tick> {
        Scale::Linear { most: self.most }.ticks(Unit::Nanoseconds)
    }

    /// Returns the greatest value of the samples in each column, and values on a line between
    /// columns with samples.
    fn values(&self, timeline: &[Sample], of: impl Fn(&Sample) -> Option<f64>) -> Vec<Option<f64>> {
        let mut values: Vec<Option<f64>> = vec![None; COLUMN_COUNT];
        let mut last: Option<(usize, f64)> = None;
        for sample in timeline {
            let place = sample.time_ns as f64 / self.most * (COLUMN_COUNT - 1) as f64;
            let value = of(sample).filter(|value| value.is_finite());
            if let (Some(value), Some(column)) = (value, values.get_mut(place.round() as usize)) {
                *column = Some(column.map_or(value, |had| had.max(value)));
            }
        }
        for to in 0..COLUMN_COUNT {
            let Some(after) = values[to] else { continue };
            if let Some((from, before)) = last.replace((to, after)) {
                for (step, value) in values[from..to].iter_mut().enumerate() {
                    *value = Some(before + (after - before) * step as f64 / (to - from) as f64);
                }
            }
        }
        values
    }
}

/// Returns the chart of resident memory of each heap, and of live bytes.
pub(super) fn memory(parts: &Parts<'_>) -> Chart {
    let run = Run::new(parts);
    let heaps = &parts.measured.heaps;
    let resident: Vec<Vec<Option<f64>>> = heaps
        .iter()
        .map(|heap| run.values(&heap.timeline, |sample| Some(sample.resident as f64)))
        .collect();
    // Each heap takes its own time: the live bytes of the first one are shown.
    let source = heaps.iter().find(|heap| !heap.timeline.is_empty());
    let timeline = source.map_or(&[][..], |heap| &heap.timeline);
    let live = run.values(timeline, |sample| Some(sample.live as f64));
    let scale = Scale::linear(resident.iter().chain([&live]).flatten().flatten().copied());
    let name = source.map_or("live".to_owned(), |heap| format!("live ({})", short_name(heap)));
    let area = Line { series: None, name, points: points(&live, scale, bytes) };
    Chart {
        title: "Memory",
        note: "resident, by time since the first operation; filled: live",
        x: run.ticks(),
        y: scale.ticks(Unit::Bytes),
        closer: halved(scale, Unit::Bytes),
        columns: run.columns(),
        lines: lines(heaps, resident, scale, bytes),
        area: Some(area),
    }
}

/// Returns the chart of resident over live memory of each heap.
pub(super) fn fragmentation(parts: &Parts<'_>) -> Chart {
    let run = Run::new(parts);
    let heaps = &parts.measured.heaps;
    let samples = heaps.iter().flat_map(|heap| &heap.timeline);
    let live_most = samples.map(|sample| sample.live).max().unwrap_or(0);
    let ratio = |sample: &Sample| {
        let is_enough = sample.live as f64 >= live_most as f64 * LIVE_PART_MIN && sample.live > 0;
        is_enough.then(|| sample.resident as f64 / sample.live as f64)
    };
    let ratios: Vec<_> = heaps.iter().map(|heap| run.values(&heap.timeline, ratio)).collect();
    let scale = Scale::log(ratios.iter().flatten().flatten().copied());
    let text = |value: f64| format!("{}×", three_digits(value));
    Chart {
        title: "Fragmentation",
        note: "resident over live, where at least 5 % of the peak is live",
        x: run.ticks(),
        y: scale.ticks(Unit::Ratio),
        columns: run.columns(),
        lines: lines(heaps, ratios, scale, text),
        ..Chart::default()
    }
}

pub(super) fn quantiles(parts: &Parts<'_>) -> Chart {
    let heaps = &parts.measured.heaps;
    let counts = heaps.iter().map(|heap| heap.latency.all.count);
    let nines = counts.max().map_or(1.0, nines_of).clamp(1.0, NINES_MAX);
    let at = |index: usize| index as f64 / (QUANTILE_COUNT - 1) as f64;
    let curves: Vec<Vec<Option<f64>>> = heaps
        .iter()
        .map(|heap| {
            let own = nines_of(heap.latency.all.count);
            let value = |index| {
                let nine = at(index) * nines;
                if nine > own + 1e-9 {
                    None
                } else {
                    value_at(&heap.latency.curve, 1.0 - 10_f64.powf(-nine))
                }
            };
            (0..QUANTILE_COUNT).map(value).collect()
        })
        .collect();
    // Latencies below 1 ns are drawn at 1 ns.
    let scale = Scale::log(curves.iter().flatten().flatten().map(|ns| ns.max(1.0)));
    let column = |index| {
        let text = format!("{} of operations", percent_text(at(index) * nines));
        Tick { at: at(index), text }
    };
    // Longer labels leave room for fewer.
    let every = if nines > 4.0 { 2 } else { 1 };
    let tick =
        |nine: u32| Tick { at: f64::from(nine) / nines, text: percent_text(f64::from(nine)) };
    Chart {
        title: "Latency",
        note: "of a part of the operations, at most; at least 10 operations took longer",
        x: (0..=nines as u32).filter(|nine| nine % every == every - 1).map(tick).collect(),
        y: scale.ticks(Unit::Nanoseconds),
        columns: (0..QUANTILE_COUNT).map(column).collect(),
        lines: lines(heaps, curves, scale, latency),
        ..Chart::default()
    }
}

fn lines(
    heaps: &[HeapMeasured],
    values: Vec<Vec<Option<f64>>>,
    scale: Scale,
    text: impl Fn(f64) -> String,
) -> Vec<Line> {
    let line = |(index, (heap, values)): (usize, (&HeapMeasured, Vec<Option<f64>>))| Line {
        series: Some(index),
        name: short_name(heap).to_owned(),
        points: points(&values, scale, &text),
    };
    heaps.iter().zip(values).enumerate().map(line).collect()
}

fn points(values: &[Option<f64>], scale: Scale, text: impl Fn(f64) -> String) -> Vec<Option<Tick>> {
    let point = |value: f64| Tick { at: scale.place(value), text: text(value) };
    values.iter().map(|value| value.map(&point)).collect()
}

/// Returns the nines of the last quantile with enough operations beyond it.
fn nines_of(count: u64) -> f64 {
    (count as f64 / BEYOND_COUNT_MIN as f64).max(1.0).log10()
}

fn value_at(curve: &[(f64, u64)], part: f64) -> Option<f64> {
    let found = curve.iter().find(|(quantile, _)| *quantile >= part - 1e-12);
    found.or(curve.last()).map(|(_, ns)| *ns as f64)
}

/// Returns "99.9 %", with all nines and one more digit.
fn percent_text(nines: f64) -> String {
    let places = (nines - 1e-9).ceil().clamp(2.0, NINES_MAX) as usize - 2;
    format!("{:.places$} %", (1.0 - 10_f64.powf(-nines)) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::{COLUMN_COUNT, Parts, Run, percent_text, quantiles, value_at};
    use crate::measured::{HeapMeasured, Latency, Measured, Quantiles, Sample};

    fn sample(time_ns: u64, resident: u64) -> Sample {
        Sample { time_ns, resident, ..Sample::default() }
    }

    /// `.rep.page`
    #[test]
    fn a_peak_between_two_columns_is_kept() {
        let run = Run { most: 1e6 };
        let timeline: Vec<Sample> =
            (0..=100_000).map(|n| sample(n * 10, if n == 77_777 { 900 } else { 5 })).collect();
        let values = run.values(&timeline, |sample| Some(sample.resident as f64));
        assert_eq!(values.len(), COLUMN_COUNT);
        assert_eq!(values.iter().flatten().filter(|value| **value == 900.0).count(), 1);
        assert_eq!(values.iter().flatten().filter(|value| **value == 5.0).count(), 199);
    }

    /// `.rep.page`
    #[test]
    fn a_percentile_has_ten_slower_operations() {
        let all = Quantiles { count: 20_000, p50: 5, p999: 90_000, ..Quantiles::default() };
        let latency = Latency { all, ..Latency::default() };
        let heaps = vec![HeapMeasured { latency, ..HeapMeasured::default() }];
        let measured = Measured { heaps, ..Measured::default() };
        let parts = Parts::new(&measured);
        // The slowest ten of 20,000 are beyond 99.95 %.
        let last = quantiles(&parts).columns.last().map(|column| column.text.clone());
        assert_eq!(last.as_deref(), Some("99.95 % of operations"));
    }

    /// `.rep.page`
    #[test]
    fn a_quantile_is_the_latency_at_its_part() {
        let curve = [(0.5, 10), (0.9, 20), (1.0, 1000)];
        let values = [0.0, 0.5, 0.51, 0.9, 0.95, 1.0].map(|part| value_at(&curve, part));
        assert_eq!(values.map(Option::unwrap), [10.0, 10.0, 20.0, 20.0, 1000.0, 1000.0]);
        assert_eq!(value_at(&[], 0.5), None);
        let texts = [0.0, 0.3, 1.0, 2.0, 3.0, 2.4, 6.0].map(percent_text);
        assert_eq!(texts, ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.6 %", "99.9999 %"]);
    }
}
