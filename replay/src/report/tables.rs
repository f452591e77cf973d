//! The tables of the report: of the text, CSV, JSON, and the page.
//!
//! ```text
//!  time:      heap │ ops/s │ vs first │ ns/op │ spread │ net │ cpu ns/op │ cpu vs first │ p50 │ …
//!  memory:    heap │ peak │ spread │ start-up │ vs first │ over live peak │ program
//!  left:      heap │ freed │ +1 s │ +5 s │ minor faults │ major faults │ failed
//!  latencies: of │ up to │ heap │ count │ mean │ p50 │ …
//! ```
//!
//! Design: `.rep.report` in `design/replay.md`, `.output.fields` in `design/output.md`.

use super::summary::{Spread, Summary, replaced_by, stands_for};
use crate::measured::{HeapMeasured, Measured, Quantiles};
use cli::table::{Cell, Sheet, Table, count, ratio, size, text, time};
use cli::units::{NOTHING, Unit, bytes, number, three_digits, wait};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A heap, and the summary of its runs.
type Row<'m> = (&'m HeapMeasured, &'m Summary);

/// Latencies of sizes that people see, at most.
const LATENCY_COUNT_MAX: usize = 40;

/// The results, their summaries, and the times in ms at which memory was measured after all was
/// freed, with the name and the title of their column.
pub(super) struct Parts<'m> {
    pub(super) measured: &'m Measured,
    pub(super) summaries: Vec<Summary>,
    after: Vec<(u64, String, String)>,
}

impl<'m> Parts<'m> {
    pub(super) fn new(measured: &'m Measured) -> Parts<'m> {
        let summaries = Summary::of_all(measured);
        let after = summaries.iter().flat_map(|summary| &summary.after).map(|(ms, _)| *ms);
        let named = |ms| {
            let title = if ms == 0 { "freed".to_owned() } else { format!("+{}", wait(ms)) };
            (ms, format!("after {ms} ms"), title)
        };
        let after = after.collect::<BTreeSet<u64>>().into_iter().map(named).collect();
        Parts { measured, summaries, after }
    }

    pub(super) fn has_noise(&self) -> bool {
        let noise = |of: &Summary| of.is_noise == Some(true) || of.is_processor_noise == Some(true);
        self.summaries.iter().any(noise)
    }

    fn heaps(&self) -> impl Iterator<Item = Row<'_>> {
        self.measured.heaps.iter().zip(&self.summaries)
    }

    /// Returns all tables, with their titles for people.
    pub(super) fn sheets(&self) -> Vec<Sheet<'_>> {
        let of = |name, title: &str, table| {
            Sheet::new(name, table).between(format!("\n{title}\n"), String::new())
        };
        let program = self.of_program().map_or_else(String::new, |note| note + "\n");
        let memory = Sheet::new("memory", self.memory()).between("\nMemory\n".to_owned(), program);
        let left = "After all was freed; page faults; allocations that failed";
        vec![
            of("time", "Time", self.time()),
            memory,
            of("left", left, self.left()),
            of("latencies", "Latencies", self.latencies().0).most(LATENCY_COUNT_MAX),
        ]
    }

    pub(super) fn time(&self) -> Table<'static> {
        let ns = |ns: Option<f64>| or_unknown(ns, |ns| Cell::Words(three_digits(ns), json!(ns)));
        let rate = |of: Spread| Cell::Words(Unit::Count.text(of.most), json!(of.most));
        let least = |of: Option<Spread>| ns(of.map(|of| of.least));
        let noise = |ratio, is_noise| match is_noise {
            Some(true) => Cell::Words("noise".to_owned(), json!(ratio)),
            _ => or_unknown(ratio, Cell::Real),
        };
        let all = |of: &Row<'_>, at: usize| quantiles(&of.0.latency.all)[at].clone();
        Table::of_each(
            self.heaps(),
            &[
                (text("heap"), &|of| name(of.0)),
                (cli::table::rate("ops"), &|of| or_unknown(of.1.ops_per_s, rate)),
                (ratio("vs first"), &|of| noise(of.1.ops_vs_first, of.1.is_noise)),
                (text("noise").for_programs(), &|of| of.1.is_noise.into()),
                (time("per op").titled("ns/op"), &|of| least(of.1.ns_per_op)),
                (time("per op most").titled("spread"), &|of| {
                    or_unknown(of.1.ns_per_op, |of| between(of, three_digits))
                }),
                (time("per op median").for_programs(), &|of| {
                    of.1.ns_per_op.map(|of| of.median).into()
                }),
                (time("net per op").titled("net"), &|of| ns(of.1.net_ns_per_op)),
                (time("processor per op").titled("cpu ns/op"), &|of| {
                    least(of.1.processor_ns_per_op)
                }),
                (ratio("processor vs first").titled("cpu vs first"), &|of| {
                    noise(of.1.processor_vs_first, of.1.is_processor_noise)
                }),
                (text("processor noise").for_programs(), &|of| of.1.is_processor_noise.into()),
                (time("p50"), &|of| all(of, 0)),
                (time("p99"), &|of| all(of, 1)),
                (time("p99.9"), &|of| all(of, 2)),
                (time("max"), &|of| all(of, 3)),
            ],
        )
    }

    pub(super) fn memory(&self) -> Table<'static> {
        let median = |of: Option<Spread>| or_unknown(of.map(|of| of.median), Cell::Real);
        let known = |of: Option<f64>| or_unknown(of, Cell::Real);
        Table::of_each(
            self.heaps(),
            &[
                (text("heap"), &|of| name(of.0)),
                (size("peak"), &|of| median(of.1.resident_peak)),
                (size("peak most").titled("spread"), &|of| {
                    or_unknown(of.1.resident_peak, |of| between(of, bytes))
                }),
                (size("start up").titled("start-up"), &|of| median(of.1.start_up)),
                (ratio("vs first"), &|of| known(of.1.resident_vs_first)),
                (ratio("over live peak"), &|of| known(of.1.resident_vs_live)),
                (size("program"), &|of| known(of.1.program_peak)),
                (size("live at peak").for_programs(), &|of| median(of.1.live_at_peak)),
                (ratio("fragmentation at peak").for_programs(), &|of| {
                    median(of.1.fragmentation_at_peak)
                }),
            ],
        )
    }

    /// Returns how the column "program" follows, where the program had another malloc than that of
    /// the C library.
    pub(super) fn of_program(&self) -> Option<String> {
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

    /// Returns memory that is left, page faults, and failures.
    pub(super) fn left(&self) -> Table<'_> {
        let after = self.after.iter().map(|(_, name, title)| size(name).titled(title));
        let counts = ["minor faults", "major faults", "failed"].map(count);
        let mut table = Table::new([text("heap")].into_iter().chain(after).chain(counts));
        for (heap, summary) in self.heaps() {
            let at = |ms: u64| summary.after.iter().find(|(time, _)| *time == ms);
            let after = self.after.iter().map(|(ms, ..)| at(*ms).map(|(_, of)| of.median));
            let median = |of: Option<Spread>| of.map(|of| of.median);
            let counts = [
                median(summary.faults_minor),
                median(summary.faults_major),
                summary.failure_count.map(|of| of.most),
            ];
            let counts = counts.map(|of| or_unknown(of, |of| Cell::Number(of as u64)));
            let after = after.map(|of| or_unknown(of, Cell::Real));
            table.row([name(heap)].into_iter().chain(after).chain(counts));
        }
        table
    }

    /// Returns latencies, the heaps next to each other: of frees, and of allocations by size. Also
    /// returns the heap of each row.
    pub(super) fn latencies(&self) -> (Table<'static>, Vec<usize>) {
        let counts = [count("count"), time("mean")];
        let names = [text("of"), size("up to").if_any(), text("heap")];
        let names = names.into_iter().chain(counts);
        let mut table = Table::new(names.chain(["p50", "p99", "p99.9", "max"].map(time)));
        let mut places = Vec::new();
        let heaps = || self.measured.heaps.iter().enumerate();
        let mut row = |what: &str, size: Option<u64>, (place, heap), of: &Quantiles| {
            if of.count > 0 {
                let mean = Cell::Real(of.mean);
                let cells =
                    [what.to_owned().into(), size.into(), name(heap), of.count.into(), mean];
                table.row(cells.into_iter().chain(quantiles(of)));
                places.push(place);
            }
        };
        heaps().for_each(|(place, heap)| row("frees", None, (place, heap), &heap.latency.free));
        let sizes = heaps().flat_map(|(_, heap)| &heap.latency.by_size).map(|(size, _)| *size);
        for size in sizes.collect::<BTreeSet<u64>>() {
            for heap in heaps() {
                let found = heap.1.latency.by_size.iter().find(|(own, _)| *own == size);
                found.into_iter().for_each(|(_, of)| row("allocations", Some(size), heap, of));
            }
        }
        (table, places)
    }
}

/// Returns the name of a heap, with a mark if its results do not compare.
fn name(heap: &HeapMeasured) -> Cell {
    let mark = if trouble(heap).is_some() { " (!)" } else { "" };
    Cell::Words(format!("{}{mark}", heap.name), json!(heap.name))
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

/// Returns the cell of a value, which people see as unknown if there is none.
fn or_unknown<T>(value: Option<T>, cell: impl Fn(T) -> Cell) -> Cell {
    value.map_or_else(|| Cell::Words(NOTHING.to_owned(), Value::Null), cell)
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

/// Returns the greatest, which people see as "28.9–30.1", or as one number if all are equal.
fn between(of: Spread, text: impl Fn(f64) -> String) -> Cell {
    let [least, most] = [of.least, of.most].map(text);
    Cell::Words(if least == most { least } else { format!("{least}–{most}") }, json!(of.most))
}

/// Returns latencies, if any were measured.
fn quantiles(of: &Quantiles) -> [Cell; 4] {
    [of.p50, of.p99, of.p999, of.max]
        .map(|ns| or_unknown((of.count > 0).then_some(ns), Cell::Number))
}
