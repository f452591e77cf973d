//! Invented results, always the same.
//!
//! ```text
//!  small()            two heaps, few samples: for golden files
//!  measured(shape)    a program that grows, shrinks and ends, under several heaps
//! ```

use replay::facts::Program;
use replay::measured::{HeapMeasured, Latency, Measured, Quantiles, Run, Sample, Subject};

const NAMES: [&str; 4] = ["system", "jemalloc", "mimalloc", "snmalloc"];

/// The size of the results.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) heap_count: usize,
    pub(crate) sample_count: u64,
    pub(crate) operation_count: u64,
    pub(crate) run_count: u64,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { heap_count: 4, sample_count: 240, operation_count: 12_400_000, run_count: 5 }
    }
}

fn subject(operation_count: u64) -> Subject {
    let part = |of: u64, parts: u64| operation_count / parts * of;
    Subject {
        name: "sort-large.log".to_owned(),
        allocation_count: part(48, 100),
        reallocation_count: part(5, 100),
        free_count: part(47, 100),
        thread_count: 3,
        pool_count: 1,
        bytes_allocated: part(48, 100) * 212,
        live_peak: 96_000_000,
        left_count: part(1, 100),
        left_bytes: part(1, 100) * 40,
        duration_ns: 4_812_345_678,
        program: Some(Program {
            resident_peak: 128_000_000,
            recorder: 2_000_000,
            user_ns: 3_900_000_000,
            system_ns: 210_000_000,
        }),
        malloc: Some("libc.so.6".to_owned()),
        sizes: (3..22).map(|power| (1 << power, bell(power as f64, 6.0, 2.4, 9e5))).collect(),
        lifetimes: (6..33).map(|power| (1 << power, bell(power as f64, 14.0, 5.0, 3e5))).collect(),
        skipped: vec![
            ("frees of what is unknown".to_owned(), 12),
            ("objects left at the end, freed there".to_owned(), 1240),
        ],
    }
}

/// Returns counts with a peak in the middle.
fn bell(at: f64, middle: f64, width: f64, most: f64) -> u64 {
    (most * (-((at - middle) / width).powi(2)).exp()) as u64 + 3
}

/// Returns the live bytes at a part of the run: up, level, down, with teeth.
fn live_at(part: f64) -> f64 {
    let ramp = (part * 2.6).min(1.0) - ((part - 0.8) * 5.0).max(0.0) * 0.98;
    let teeth = 1.0 - 0.22 * ((part * 17.0).fract());
    96e6 * (ramp * teeth).max(0.0)
}

fn quantiles(scale: f64, count: u64) -> Quantiles {
    let ns = |of: f64| (of * scale) as u64;
    let (p50, p99, p999) = (ns(14.0), ns(70.0), ns(410.0));
    Quantiles { count, mean: 18.5 * scale, p50, p99, p999, max: ns(184_000.0) }
}

fn latency(scale: f64, operation_count: u64) -> Latency {
    let nines = (operation_count as f64).log10();
    let point = |step: u32| {
        let nine = f64::from(step) / 60.0 * nines;
        let ns = scale * (9.0 + 5.0 * nine + 3.2 * nine.powi(4) + 0.6 * nine.powf(6.4));
        (1.0 - 10_f64.powf(-nine), ns as u64)
    };
    Latency {
        all: quantiles(scale, operation_count),
        curve: (0..=60).map(point).collect(),
        by_size: (3..22)
            .map(|power| {
                let dear = if power > 16 { 14.0 } else { 1.0 + f64::from(power) / 30.0 };
                (1 << power, quantiles(scale * dear, 40_000_000 >> power))
            })
            .collect(),
        free: quantiles(scale * 0.8, operation_count * 47 / 100),
    }
}

fn heap(index: usize, shape: Shape) -> HeapMeasured {
    let name = NAMES.get(index).map_or_else(
        || format!("a/rather/long/path/to/libmalloc-{index}.so"),
        |name| (*name).to_owned(),
    );
    let dear = 1.0 / (1.0 + 0.21 * (index as f64)) + if index % 3 == 2 { 0.1 } else { 0.0 };
    let waste = 1.06 + 0.12 * (index % 5) as f64;
    let duration = shape.operation_count as f64 * 31.0 * dear;
    let timeline = (0..=shape.sample_count)
        .map(|sample| {
            let part = sample as f64 / shape.sample_count as f64;
            let before = (0..=sample).map(|at| live_at(at as f64 / shape.sample_count as f64));
            let peak = before.fold(0.0, f64::max);
            let kept = 0.25 + 0.12 * (index % 4) as f64;
            let live = live_at(part);
            let resident = (live * waste).max(peak * waste * (1.0 - (1.0 - kept) * part)) + 6e5;
            Sample {
                time_ns: (duration * part) as u64,
                operation_count: (shape.operation_count as f64 * part) as u64,
                live: live as u64,
                resident: resident as u64,
            }
        })
        .collect::<Vec<_>>();
    let peak = timeline.iter().max_by_key(|sample| sample.resident).copied().unwrap_or_default();
    let run = |number: u64| Run {
        duration_ns: (duration * (1.0 + 0.011 * (number * 7 % 5) as f64)) as u64,
        operation_count: shape.operation_count,
        processor_ns: (duration * (1.8 + 0.02 * (number * 3 % 5) as f64)) as u64,
        live_reached: Some(96_000_000),
        start_up: 300_000 * index as u64,
        failure_count: 0,
        resident_peak: peak.resident + number * 4096,
        live_at_peak: peak.live,
        after: vec![
            (0, peak.resident / (2 + index as u64 % 3)),
            (1000, peak.resident / (3 + index as u64)),
            (5000, peak.resident / (9 + index as u64 * 4)),
        ],
        faults_minor: peak.resident / 4096 + 300 * index as u64,
        faults_major: number / 4,
    };
    HeapMeasured {
        about: String::new(),
        name,
        runs: (0..shape.run_count).map(run).collect(),
        latency: latency(dear * 1.4, shape.operation_count),
        timeline,
        warning: None,
        failure: None,
    }
}

/// Returns results of a program that grows, shrinks and ends.
pub(crate) fn measured(shape: Shape) -> Measured {
    Measured {
        workload: subject(shape.operation_count),
        mode: "as fast as possible, touching memory".to_owned(),
        machine: "some processor, 2 cores, Linux 6.1".to_owned(),
        is_paced: false,
        loop_ns: 2.25,
        clock_ns: 8.5,
        heaps: (0..shape.heap_count).map(|index| heap(index, shape)).collect(),
    }
}

/// Returns results of two heaps, one of them failed, with few samples.
pub(crate) fn small() -> Measured {
    let shape = Shape { heap_count: 2, sample_count: 3, operation_count: 10_000, run_count: 2 };
    let mut measured = measured(shape);
    for heap in &mut measured.heaps {
        heap.latency.curve = vec![(0.5, 20), (0.9, 40), (0.99, 90), (1.0, 4000)];
        heap.latency.by_size.truncate(3);
    }
    measured.workload.sizes.truncate(4);
    measured.workload.lifetimes.truncate(4);
    let failed = &mut measured.heaps[1];
    failed.runs[1].failure_count = 1;
    failed.failure = Some("died of SIGSEGV after 1,234 operations".to_owned());
    measured
}
