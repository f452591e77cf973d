//! Measures how long each call of the heap takes.
//!
//! ```text
//!  counter │ heap.allocate │ counter ──▶ ticks, less the counter's cost ─┐ buffer
//!  every LIVE_STEP ops: buffer ──▶ a histogram for each class of sizes; frees; reallocations
//! ```
//!
//! Design: `.rep.latency` in `design/replay.md`.

use super::counter::{cost, counter};
use crate::measured::{Latency, Quantiles};
use crate::workload::{LIVE_STEP, OpKind};
use hdrhistogram::Histogram;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Measures each call of the heap, or nothing.
pub(crate) trait Timer {
    const IS_ON: bool;

    /// Runs before a call. Returns the time.
    fn before(&self) -> u64;
    /// Runs after a call.
    fn after(&mut self, before: u64, kind: OpKind, size: usize);
    /// Runs about every LIVE_STEP ops, between calls.
    fn flush(&mut self);
}

impl Timer for () {
    const IS_ON: bool = false;

    #[inline(always)]
    fn before(&self) -> u64 {
        0
    }
    #[inline(always)]
    fn after(&mut self, _: u64, _: OpKind, _: usize) {}
    #[inline(always)]
    fn flush(&mut self) {}
}

/// The number of classes of sizes: powers of two from 1 to 2^63; the last has all larger sizes.
const CLASS_COUNT: usize = 64;
const FREE: usize = CLASS_COUNT;
const REALLOCATE: usize = FREE + 1;

/// The greatest latency in ticks: minutes.
const TICKS_MAX: u64 = 1 << 40;
/// The precision of a histogram, in digits.
const DIGITS: u8 = 2;
/// The points of the curve for each halving of the rest above.
const CURVE_STEPS: u32 = 8;

/// The maximum number of threads with their own histograms, of 2 MiB each; further threads share
/// them.
const SHARD_COUNT_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct Histograms {
    /// The cost of reading the counter, in ticks.
    cost: u64,
    shards: Vec<Mutex<Vec<Histogram<u64>>>>,
    stopwatch_count: AtomicUsize,
}

#[derive(Debug)]
pub(crate) struct Stopwatch<'a> {
    cost: u64,
    /// The index of a histogram, and ticks.
    buffer: Vec<(u8, u64)>,
    histograms: &'a Mutex<Vec<Histogram<u64>>>,
}

/// Returns a histogram. It has no 0, which is recorded as 1.
fn histogram() -> Option<Histogram<u64>> {
    Histogram::new_with_bounds(1, TICKS_MAX, DIGITS).ok()
}

/// Returns the logarithm of the smallest power of two that holds a size.
fn class_of(size: usize) -> usize {
    let log2 = (size.max(1) as u64 - 1).checked_ilog2().map_or(0, |log2| log2 + 1);
    (log2 as usize).min(CLASS_COUNT - 1)
}

impl Histograms {
    pub(crate) fn new(thread_count: usize) -> Histograms {
        let all = || Mutex::new((0..=REALLOCATE).filter_map(|_| histogram()).collect());
        let shards = (0..thread_count.clamp(1, SHARD_COUNT_MAX)).map(|_| all()).collect();
        Histograms { cost: cost(), shards, stopwatch_count: AtomicUsize::new(0) }
    }

    pub(crate) fn stopwatch(&self) -> Stopwatch<'_> {
        let index = self.stopwatch_count.fetch_add(1, Ordering::Relaxed) % self.shards.len();
        let buffer = Vec::with_capacity(2 * LIVE_STEP);
        Stopwatch { cost: self.cost, buffer, histograms: &self.shards[index] }
    }
}

impl Timer for Stopwatch<'_> {
    const IS_ON: bool = true;

    #[inline(always)]
    fn before(&self) -> u64 {
        counter()
    }

    #[inline(always)]
    fn after(&mut self, before: u64, kind: OpKind, size: usize) {
        let ticks = counter().wrapping_sub(before);
        let index = match kind {
            OpKind::Free => FREE,
            OpKind::Reallocate => REALLOCATE,
            _ => class_of(size),
        };
        self.buffer.push((index as u8, ticks));
    }

    fn flush(&mut self) {
        let mut histograms = self.histograms.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, ticks) in self.buffer.drain(..) {
            if let Some(histogram) = histograms.get_mut(usize::from(index)) {
                histogram.saturating_record(ticks.saturating_sub(self.cost).max(1));
            }
        }
    }
}

/// Measures the rate of the counter, from its creation on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    ticks: u64,
    time: Instant,
}

impl Rate {
    pub(crate) fn start() -> Rate {
        Rate { ticks: counter(), time: Instant::now() }
    }

    pub(crate) fn ns_per_tick(&self) -> f64 {
        let ticks = counter().wrapping_sub(self.ticks).max(1);
        self.time.elapsed().as_nanos() as f64 / ticks as f64
    }
}

/// Returns the latencies and the cost of the counter, in ns.
pub(crate) fn latency(histograms: Histograms, ns_per_tick: f64) -> (Latency, f64) {
    let Some(mut all) = histogram() else { return Default::default() };
    let cost = histograms.cost;
    let shards = histograms.shards.into_iter();
    let mut shards = shards.map(|shard| shard.into_inner().unwrap_or_else(PoisonError::into_inner));
    let mut histograms = shards.next().unwrap_or_default();
    for shard in shards {
        for (sum, one) in histograms.iter_mut().zip(&shard) {
            // All histograms have the same bounds.
            let _ = sum.add(one);
        }
    }
    for histogram in &histograms {
        let _ = all.add(histogram);
    }
    let mut found = Latency { all: quantiles(&all, ns_per_tick), ..Latency::default() };
    for (class, histogram) in histograms.iter().take(CLASS_COUNT).enumerate() {
        if !histogram.is_empty() {
            found.by_size.push((1 << class, quantiles(histogram, ns_per_tick)));
        }
    }
    if let Some(free) = histograms.get(FREE) {
        found.free = quantiles(free, ns_per_tick);
    }
    found.curve = curve(&all, ns_per_tick);
    (found, cost as f64 * ns_per_tick)
}

fn ns(ticks: u64, ns_per_tick: f64) -> u64 {
    (ticks as f64 * ns_per_tick).round() as u64
}

fn quantiles(histogram: &Histogram<u64>, ns_per_tick: f64) -> Quantiles {
    if histogram.is_empty() {
        return Quantiles::default();
    }
    let at = |quantile| ns(histogram.value_at_quantile(quantile), ns_per_tick);
    Quantiles {
        count: histogram.len(),
        mean: histogram.mean() * ns_per_tick,
        p50: at(0.5),
        p99: at(0.99),
        p999: at(0.999),
        max: ns(histogram.max(), ns_per_tick),
    }
}

fn curve(histogram: &Histogram<u64>, ns_per_tick: f64) -> Vec<(f64, u64)> {
    let mut curve: Vec<(f64, u64)> = Vec::new();
    for step in histogram.iter_quantiles(CURVE_STEPS) {
        let point = (step.quantile(), ns(step.value_iterated_to(), ns_per_tick));
        match curve.last_mut() {
            Some(last) if last.1 == point.1 => *last = point,
            _ => curve.push(point),
        }
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_the_sizes_up_to_its_power_of_two() {
        for (size, class) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1 << 20, 20)] {
            assert_eq!(class_of(size), class, "{size}");
        }
        assert_eq!(class_of(usize::MAX), CLASS_COUNT - 1);
    }

    /// `.rep.latency`
    #[test]
    fn latencies_exclude_the_cost_of_the_counter() {
        let mut histograms = Histograms::new(30_000);
        histograms.cost = 10;
        assert_eq!(histograms.shards.len(), SHARD_COUNT_MAX);
        // Several threads share histograms.
        for _ in 0..SHARD_COUNT_MAX {
            histograms.stopwatch().flush();
        }
        let (mut first, mut watch) = (histograms.stopwatch(), histograms.stopwatch());
        first.buffer.push((FREE as u8, 5));
        first.flush();
        for ticks in 1..=1000 {
            watch.buffer.push((4, ticks + 10));
        }
        watch.flush();
        let (found, clock) = latency(histograms, 2.0);
        assert!((clock - 20.0).abs() < 1e-9);
        assert_eq!((found.all.count, found.free.count, found.free.max), (1001, 1, 2));
        let [(16, of_16)] = found.by_size.as_slice() else { panic!("{:?}", found.by_size) };
        assert!((990..=1010).contains(&of_16.p50), "{of_16:?}");
        assert!((1970..=2020).contains(&of_16.max), "{of_16:?}");
        assert!(found.curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{:?}", found.curve);
        assert_eq!(found.curve.last().map(|last| last.0), Some(1.0));
    }
}
