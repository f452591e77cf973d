//! Summarizes the runs of a heap: least times, medians, spreads, ratios, verdicts.
//!
//! ```text
//!  run, run, run ── each: ns an operation, peak, … ──▶ least │ median │ most
//!  least times of two heaps ── closer than the runs of one heap ──▶ noise
//! ```
//!
//! Design: `.rep.report` in `design/replay.md`.

use crate::measured::{HeapMeasured, Measured, Run};
use std::collections::BTreeMap;

const NS_PER_S: f64 = 1e9;
/// The heap that stands for the malloc of the C library.
const SYSTEM: &str = "system";

/// A figure of several runs: the median and the extremes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median of the runs.
    pub median: f64,
    /// The least of the runs.
    pub least: f64,
    /// The greatest of the runs.
    pub most: f64,
}

/// The summary of all runs of a heap. A figure that no run has is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Operations a second.
    pub ops_per_s: Option<Spread>,
    /// The rate of the fastest run, over that of the first heap.
    pub ops_vs_first: Option<f64>,
    /// Whether that ratio is noise: the runs of a heap differ by more than the heaps do.
    pub is_noise: Option<bool>,
    /// The ns of an operation: the duration over the number of operations.
    pub ns_per_op: Option<Spread>,
    /// The least ns of an operation, less the cost of the loop.
    pub net_ns_per_op: Option<f64>,
    /// The processor time of an operation in ns, of all threads, without waits.
    pub processor_ns_per_op: Option<Spread>,
    /// The least processor time of the first heap, over that of this heap.
    pub processor_vs_first: Option<f64>,
    /// Whether that ratio is noise.
    pub is_processor_noise: Option<bool>,
    /// The peak of resident memory in bytes, with the start-up memory.
    pub resident_peak: Option<Spread>,
    /// Resident memory before the first operation, in bytes.
    pub start_up: Option<Spread>,
    /// The peak of resident memory of the whole program with this heap, in bytes: the recorded
    /// peak without the recorder's part, less the peak here of the heap that stands for the
    /// program's malloc, plus the peak of this heap.
    pub program_peak: Option<f64>,
    /// The peak over that of the first heap.
    pub resident_vs_first: Option<f64>,
    /// The peak over the peak of live bytes: the overhead of the heap.
    pub resident_vs_live: Option<f64>,
    /// The most bytes that were live at a time.
    pub live_at_peak: Option<Spread>,
    /// The peak of resident memory over these live bytes.
    pub fragmentation_at_peak: Option<Spread>,
    /// The resident memory after all was freed: ms after that, and bytes.
    pub after: Vec<(u64, Spread)>,
    /// The number of minor page faults.
    pub faults_minor: Option<Spread>,
    /// The number of major page faults.
    pub faults_major: Option<Spread>,
    /// The number of failed allocations.
    pub failure_count: Option<Spread>,
}

impl Spread {
    /// Returns the spread of all finite values.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let upper = *values.get(values.len() / 2)?;
        let lower = *values.get((values.len() - 1) / 2)?;
        Some(Spread { median: f64::midpoint(lower, upper), least, most })
    }
}

impl Summary {
    /// Returns the summary of each heap.
    pub fn of_all(measured: &Measured) -> Vec<Summary> {
        let of = |heap| Summary::of(heap, measured.loop_ns, measured.workload.live_peak);
        let mut all: Vec<Summary> = measured.heaps.iter().map(of).collect();
        let Some(first) = all.first().cloned() else { return all };
        let malloc = measured.workload.malloc.as_deref();
        let recorded = measured.heaps.iter().position(|heap| stands_for(&heap.name, malloc));
        let recorded = recorded.and_then(|index| all.get(index)?.resident_peak);
        let program = measured.workload.program.map(|program| program.own_peak() as f64);
        for summary in &mut all {
            summary.program_peak = (|| {
                let others = program.filter(|peak| *peak > 0.0)? - recorded?.median;
                Some((others + summary.resident_peak?.median).max(0.0))
            })();
            (summary.ops_vs_first, summary.is_noise) = faster(summary.ns_per_op, first.ns_per_op);
            (summary.processor_vs_first, summary.is_processor_noise) =
                faster(summary.processor_ns_per_op, first.processor_ns_per_op);
            summary.resident_vs_first = over(summary.resident_peak, first.resident_peak);
            // The cost of the loop cannot be told from the waits for recorded times.
            summary.net_ns_per_op = summary.net_ns_per_op.filter(|_| !measured.is_paced);
        }
        all
    }

    fn of(heap: &HeapMeasured, loop_ns: f64, live_peak: u64) -> Summary {
        let runs = heap.runs.as_slice();
        let of = |value: fn(&Run) -> f64| Spread::of(runs.iter().map(value));
        // A run without operations has no rate: 0/0 is not a number, and 1/0 is not finite.
        let ns_per_op = of(|run| run.duration_ns as f64 / run.operation_count as f64);
        let rate = |run: &Run| match run.operation_count {
            0 => f64::NAN,
            count => count as f64 * NS_PER_S / run.duration_ns as f64,
        };
        let resident_peak = of(|run| run.resident_peak as f64);
        Summary {
            ops_per_s: of(rate),
            ns_per_op,
            net_ns_per_op: ns_per_op.map(|ns| (ns.least - loop_ns).max(0.0)),
            processor_ns_per_op: of(|run| run.processor_ns as f64 / run.operation_count as f64),
            resident_peak,
            start_up: of(|run| run.start_up as f64),
            resident_vs_live: resident_peak
                .map(|peak| peak.median / live_peak as f64)
                .filter(|ratio| ratio.is_finite()),
            live_at_peak: of(|run| run.live_at_peak as f64),
            fragmentation_at_peak: of(|run| run.resident_peak as f64 / run.live_at_peak as f64),
            after: after(runs),
            faults_minor: of(|run| run.faults_minor as f64),
            faults_major: of(|run| run.faults_major as f64),
            failure_count: of(|run| run.failure_count as f64),
            ..Summary::default()
        }
    }
}

/// Returns whether a file of a library is that of the C library.
fn is_c_library(file: &str) -> bool {
    ["libc.so", "libc-", "libc.musl", "ld-musl"].iter().any(|begin| file.starts_with(begin))
}

/// Returns the library whose malloc a program had in place of the C library's, by its file.
pub(crate) fn replaced_by(malloc: Option<&str>) -> Option<&str> {
    malloc.filter(|file| !is_c_library(file))
}

/// Returns whether a heap stands for the malloc that a recorded program called.
pub(super) fn stands_for(heap: &str, malloc: Option<&str>) -> bool {
    let stem = |name: &str| {
        let file = name.rsplit('/').next().unwrap_or(name);
        let file = file.strip_prefix("lib").unwrap_or(file);
        file.split_once(".so").map_or(file, |(stem, _)| stem).to_owned()
    };
    match replaced_by(malloc) {
        None => heap == SYSTEM,
        Some(file) => stem(heap) == stem(file),
    }
}

/// Returns how many times as fast one heap is as the first, by their least times, and whether that
/// is noise, which a single run cannot tell.
fn faster(one: Option<Spread>, first: Option<Spread>) -> (Option<f64>, Option<bool>) {
    let (Some(one), Some(first)) = (one, first) else { return (None, None) };
    let ratio = first.least / one.least;
    let noise = (one.median - one.least).max(first.median - first.least);
    let is_noise = (one.least - first.least).abs() <= noise;
    (ratio.is_finite().then_some(ratio), (one != first && noise > 0.0).then_some(is_noise))
}

fn over(one: Option<Spread>, first: Option<Spread>) -> Option<f64> {
    let ratio = one?.median / first?.median;
    ratio.is_finite().then_some(ratio)
}

/// Returns the spread of each time at which any run measured memory.
fn after(runs: &[Run]) -> Vec<(u64, Spread)> {
    let mut at: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (ms, bytes) in runs.iter().flat_map(|run| &run.after) {
        at.entry(*ms).or_default().push(*bytes as f64);
    }
    at.into_iter().filter_map(|(ms, of)| Some((ms, Spread::of(of.into_iter())?))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Spread, Summary};
    use crate::facts::Program;
    use crate::measured::{HeapMeasured, Measured, Run, Subject};

    fn run(duration_ns: u64, operation_count: u64) -> Run {
        Run { duration_ns, operation_count, resident_peak: duration_ns, ..Run::default() }
    }

    /// `.rep.report`
    #[test]
    fn several_runs_give_their_median_and_extremes() {
        let odd = Spread::of([3.0, 1.0, f64::NAN, 2.0].into_iter());
        assert_eq!(odd, Some(Spread { median: 2.0, least: 1.0, most: 3.0 }));
        let even = Spread::of([4.0, 1.0, 2.0, f64::INFINITY, 3.0].into_iter());
        assert_eq!(even, Some(Spread { median: 2.5, least: 1.0, most: 4.0 }));
        assert_eq!(Spread::of(std::iter::empty()), None);
    }

    /// `.rep.report`
    #[test]
    fn a_heap_is_compared_with_the_first() {
        let heap = |runs: &[Run]| HeapMeasured { runs: runs.to_vec(), ..HeapMeasured::default() };
        let fast = heap(&[run(500, 100), run(1000, 100), run(2000, 100)]);
        let heaps = vec![heap(&[run(2000, 100)]), fast, heap(&[run(0, 0)])];
        let workload = Subject { live_peak: 400, ..Subject::default() };
        let all =
            Summary::of_all(&Measured { heaps, workload, loop_ns: 2.5, ..Measured::default() });
        assert_eq!(all[1].resident_vs_live, Some(2.5));
        assert_eq!(all[0].ops_vs_first, Some(1.0));
        assert_eq!(all[1].ops_vs_first, Some(4.0), "by the fastest runs");
        assert_eq!(all[1].resident_vs_first, Some(0.5));
        assert_eq!(all[1].net_ns_per_op, Some(2.5));
        assert_eq!((all[2].ops_per_s, all[2].ns_per_op), (None, None), "nothing was done");
        assert_eq!(all[1].fragmentation_at_peak, None, "nothing was live");
        assert_eq!(Summary::of_all(&Measured::default()), []);
    }

    /// `.rep.report`
    #[test]
    fn a_difference_below_the_noise_of_the_runs_is_noise() {
        let heap = |times: [u64; 3]| HeapMeasured {
            runs: times.map(|ns| Run { processor_ns: ns, ..run(ns, 100) }).to_vec(),
            ..HeapMeasured::default()
        };
        let judge = |first, one| {
            let heaps = vec![heap(first), heap(one)];
            let all = Summary::of_all(&Measured { heaps, ..Measured::default() });
            (all[1].is_noise, all[1].is_processor_noise, all[0].is_noise)
        };
        // 421 ns with a spread from 90 to 458 says nothing about 95.
        let verdict = judge([9_000, 42_100, 45_800], [9_500, 9_600, 9_700]);
        assert_eq!(verdict, (Some(true), Some(true), None));
        let verdict = judge([42_000, 42_100, 45_800], [9_500, 9_600, 9_700]);
        assert_eq!(verdict, (Some(false), Some(false), None));
    }

    /// `.rep.report`
    #[test]
    fn the_programs_peak_follows_from_the_peaks_of_the_heaps() {
        let heap = |name: &str, resident_peak| HeapMeasured {
            name: name.to_owned(),
            runs: vec![Run { resident_peak, ..run(1, 1) }],
            ..HeapMeasured::default()
        };
        let program = Some(Program { resident_peak: 168, recorder: 40, ..Program::default() });
        let foretold = |malloc: Option<&str>| {
            let malloc = malloc.map(str::to_owned);
            let workload = Subject { program, malloc, ..Subject::default() };
            let heaps = vec![heap("system", 10), heap("jemalloc", 15), heap("./libother.so.2", 20)];
            let all = Summary::of_all(&Measured { heaps, workload, ..Measured::default() });
            [all[0].program_peak, all[1].program_peak, all[2].program_peak]
        };
        for of_c in [None, Some("libc.so.6"), Some("libc-2.31.so"), Some("ld-musl-x86_64.so.1")] {
            assert_eq!(foretold(of_c), [Some(128.0), Some(133.0), Some(138.0)], "{of_c:?}");
        }
        let others = [Some(123.0), Some(128.0), Some(133.0)];
        assert_eq!(foretold(Some("libjemalloc.so.2")), others);
        assert_eq!(foretold(Some("libother.so"))[2], Some(128.0));
        assert_eq!(foretold(Some("libhoard.so")), [None; 3], "no heap stands for it");
    }
}
