//! The columns of the report, for the text and the page.
//!
//! ```text
//!  time:    heap │ ops/s │ vs first │ ns/op │ spread │ net │ cpu ns/op │ cpu vs first │ p50 │ …
//!  memory:  heap │ peak │ spread │ start-up │ vs first │ over live peak │ program
//!  left:    heap │ freed │ +1 s │ +5 s │ minor faults │ major faults │ failed
//!  classes: size │ a heap │ another │ …
//! ```
//!
//! Design: `.rep.report` in `design/replay.md`.

use super::summary::{Spread, Summary, replaced_by, stands_for};
use crate::measured::{HeapMeasured, Measured, Quantiles};
use cli::units::{NOTHING, Unit, bytes, latency, number, or_nothing, three_digits, wait};
use std::collections::{BTreeMap, BTreeSet};

/// A heading and rows; the first column has names, all others numbers.
pub(super) struct Columns {
    pub(super) heading: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Columns {
    pub(super) fn new<const N: usize>(
        heading: [&str; N],
        rows: impl Iterator<Item = Vec<String>>,
    ) -> Columns {
        Columns { heading: heading.map(str::to_owned).to_vec(), rows: rows.collect() }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Parts<'m> {
    pub(super) measured: &'m Measured,
    pub(super) summaries: &'m [Summary],
}

impl<'m> Parts<'m> {
    pub(super) fn has_noise(self) -> bool {
        let noise = |of: &Summary| of.is_noise == Some(true) || of.is_processor_noise == Some(true);
        self.summaries.iter().any(noise)
    }

    pub(super) fn heaps(self) -> impl Iterator<Item = (&'m HeapMeasured, &'m Summary)> {
        self.measured.heaps.iter().zip(self.summaries)
    }

    pub(super) fn time(self) -> Columns {
        let heading = [
            "heap",
            "ops/s",
            "vs first",
            "ns/op",
            "spread",
            "net",
            "cpu ns/op",
            "cpu vs first",
            "p50",
            "p99",
            "p99.9",
            "max",
        ];
        let row = |(heap, summary): (&HeapMeasured, &Summary)| {
            let all = &heap.latency.all;
            let of_all = |of: fn(&Quantiles) -> u64| quantile(all, of);
            vec![
                name(heap),
                or_nothing(summary.ops_per_s, |rate| Unit::Count.text(rate.most)),
                ratio(summary.ops_vs_first, summary.is_noise),
                or_nothing(summary.ns_per_op, |ns| three_digits(ns.least)),
                or_nothing(summary.ns_per_op, |ns| between(ns, three_digits)),
                or_nothing(summary.net_ns_per_op, three_digits),
                or_nothing(summary.processor_ns_per_op, |ns| three_digits(ns.least)),
                ratio(summary.processor_vs_first, summary.is_processor_noise),
                of_all(|of| of.p50),
                of_all(|of| of.p99),
                of_all(|of| of.p999),
                of_all(|of| of.max),
            ]
        };
        Columns::new(heading, self.heaps().map(row))
    }

    pub(super) fn memory(self) -> Columns {
        let heading =
            ["heap", "peak", "spread", "start-up", "vs first", "over live peak", "program"];
        let row = |(heap, summary): (&HeapMeasured, &Summary)| {
            vec![
                name(heap),
                size(summary.resident_peak),
                or_nothing(summary.resident_peak, |of| between(of, bytes)),
                size(summary.start_up),
                or_nothing(summary.resident_vs_first, |ratio| Unit::Ratio.text(ratio)),
                or_nothing(summary.resident_vs_live, |ratio| Unit::Ratio.text(ratio)),
                or_nothing(summary.program_peak, bytes),
            ]
        };
        Columns::new(heading, self.heaps().map(row))
    }

    /// Returns how the column "program" follows, where the program had another malloc than that of
    /// the C library.
    pub(super) fn of_program(self) -> Option<String> {
        let malloc = self.measured.workload.malloc.as_deref();
        let file = replaced_by(malloc)?;
        let heap = self.measured.heaps.iter().find(|heap| stands_for(&heap.name, malloc));
        Some(match heap {
            Some(heap) => format!(
                "program: the recorded program had the malloc of {file}; the peak of {} stands for \
                 it",
                short_name(heap)
            ),
            None => format!(
                "program: not foretold, because the recorded program had the malloc of {file}; \
                 --heap system,/PATH/{file} plays against it"
            ),
        })
    }

    /// Returns the columns of memory that is left, page faults, and failures.
    pub(super) fn left(self) -> Columns {
        let times = self.after_times();
        let mut heading = vec!["heap".to_owned()];
        heading.extend(times.iter().map(|ms| after_heading(*ms)));
        heading.extend(["minor faults", "major faults", "failed"].map(str::to_owned));
        let row = |(heap, summary): (&HeapMeasured, &Summary)| {
            let whole = |value: Option<Spread>| or_nothing(value, |of| number(of.median as u64));
            let mut row = vec![name(heap)];
            row.extend(times.iter().map(|ms| size(summary.after_at(*ms))));
            row.push(whole(summary.faults_minor));
            row.push(whole(summary.faults_major));
            row.push(or_nothing(summary.failure_count, |of| number(of.most as u64)));
            row
        };
        Columns { heading, rows: self.heaps().map(row).collect() }
    }

    /// Returns latencies of allocations by size: "p50 · p99.9" of each heap.
    pub(super) fn classes(self) -> Columns {
        let heaps = &self.measured.heaps;
        let mut rows: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for (column, heap) in (1..).zip(heaps) {
            for (class, of) in heap.latency.by_size.iter().filter(|(_, of)| of.count > 0) {
                let row = rows.entry(*class).or_insert_with(|| {
                    let mut row = vec![NOTHING.to_owned(); heaps.len() + 1];
                    row[0] = Unit::Bytes.round(*class as f64);
                    row
                });
                row[column] = format!("{} · {}", latency(of.p50 as f64), latency(of.p999 as f64));
            }
        }
        let heading = [String::from("size up to")].into_iter().chain(heaps.iter().map(name));
        Columns { heading: heading.collect(), rows: rows.into_values().collect() }
    }

    /// Returns the times at which memory was measured after all was freed, in ms.
    pub(super) fn after_times(self) -> Vec<u64> {
        let all = self.summaries.iter().flat_map(|summary| &summary.after);
        all.map(|(ms, _)| *ms).collect::<BTreeSet<u64>>().into_iter().collect()
    }
}

impl Summary {
    /// Returns the resident memory at a time in ms after all was freed.
    pub(super) fn after_at(&self, ms: u64) -> Option<Spread> {
        self.after.iter().find(|(time, _)| *time == ms).map(|(_, of)| *of)
    }
}

/// Returns the name of a heap, with a mark if its results do not compare.
pub(super) fn name(heap: &HeapMeasured) -> String {
    format!("{}{}", heap.name, if trouble(heap).is_some() { " (!)" } else { "" })
}

/// Returns why the results of a heap do not compare with the others.
pub(super) fn trouble(heap: &HeapMeasured) -> Option<String> {
    let failed = || heap.runs.iter().map(|run| run.failure_count).max().filter(|count| *count > 0);
    let without = |failed| {
        format!("{} allocations failed, so that it did less than the others", number(failed))
    };
    let failed = || failed().map(without);
    heap.failure.clone().or_else(failed).or_else(|| heap.warning.clone())
}

fn ratio(ratio: Option<f64>, is_noise: Option<bool>) -> String {
    match is_noise {
        Some(true) => "noise".to_owned(),
        _ => or_nothing(ratio, |ratio| Unit::Ratio.text(ratio)),
    }
}

/// Explains the word in place of a ratio.
pub(super) const NOISE: &str =
    "noise: the runs of one heap differ by more than the two heaps do; use more --runs";

/// States what the times of a heap do not foretell of a program.
pub(super) const NOT_IN_TIMES: &str = "not in these times: gains and losses of the program's own \
     code, where a heap puts its objects nearer to each other or further apart (caches)";

/// Returns a short name of a heap: the file of a path.
pub(super) fn short_name(heap: &HeapMeasured) -> &str {
    heap.name.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&heap.name)
}

/// Returns "28.9–30.1", or one number if both are equal.
pub(super) fn between(of: Spread, text: impl Fn(f64) -> String) -> String {
    let [least, most] = [of.least, of.most].map(text);
    if least == most { least } else { format!("{least}–{most}") }
}

fn size(value: Option<Spread>) -> String {
    or_nothing(value, |of| bytes(of.median))
}

/// Returns a latency, if any was measured.
pub(super) fn quantile(of: &Quantiles, which: fn(&Quantiles) -> u64) -> String {
    or_nothing((of.count > 0).then(|| which(of) as f64), latency)
}

fn after_heading(ms: u64) -> String {
    match ms {
        0 => "freed".to_owned(),
        _ => format!("+{}", wait(ms)),
    }
}
