//! The durations of two logs, group by group.
//!
//! ```text
//!  old rows ─┐                         counts, p50, p99, change, distance ─┐
//!  new rows ─┴─ by slice and value ──┬─▶ means of the runs ──▶ p ──────────┴─▶ Table
//! ```
//!
//! Design: `.cnv.pairs` in `design/eventcnv.md`; the test: `.slice.against` in `design/slices.md`.

use crate::ask::calls::summary::demangled;
use crate::ask::pairs::summary::Row;
use crate::ask::pairs::view::Overview;
use crate::show::percentile;
use cli::Stop;
use cli::table::{Around, Cell, Table, clock, count as tally, percent, text, time};
use lens::slices::{Comparison, Group, Percent, Percentile};
use serde_json::json;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A p value below it is significant, if it is the only one (of more, C. E. Bonferroni).
const SIGNIFICANCE: f64 = 0.01;
const DISTANCE: &str = "distance: the greatest of the two distributions, from 0 to 1\n";
const ONE_RUN: &str = "\
whether a difference is chance: one run does not tell how far runs differ; name more of each \
program, as in NEW1 NEW2 --against OLD1 --against OLD2
";

/// A group of two logs: the rows of the old one and of the new one.
struct Compared<'g> {
    pub(crate) name: Cow<'g, str>,
    pub(crate) value: &'g str,
    pub(crate) groups: [Option<&'g Group>; 2],
    /// The runs that have the group.
    pub(crate) runs: [usize; 2],
    pub(crate) comparison: Option<Comparison>,
    /// The probability that the runs of one program differ as much.
    pub(crate) p: Option<f64>,
}

/// Returns the groups of two logs, in the order of the new one.
fn compared<'g>(old: &'g Overview<'_>, new: &'g Overview<'_>) -> Vec<Compared<'g>> {
    let [labels, others] = [old, new].map(Labels::new);
    let key = |row: &'g Row<'_>| {
        let has_label = labels.is_one(row) && others.is_one(row);
        let value = if has_label { labelled(&row.value) } else { Cow::Borrowed(&*row.value) };
        (row.pair, &*row.name, value)
    };
    let before: HashMap<_, _> = old.rows.iter().map(|row| (key(row), row)).collect();
    let after: HashSet<_> = new.rows.iter().map(key).collect();
    let both = new.rows.iter().map(|row| {
        let old = before.get(&key(row)).copied();
        Compared {
            name: demangled(&*row.name),
            value: &row.value,
            groups: [old.map(|old| old.durations), Some(row.durations)],
            runs: [old.map_or(0, |old| old.means.len()), row.means.len()],
            comparison: old.and_then(|old| lens::slices::compare(old.durations, row.durations)),
            p: old.and_then(|old| lens::slices::chance(&old.means, &row.means)),
        }
    });
    let gone = old.rows.iter().filter(|row| !after.contains(&key(row))).map(|row| Compared {
        name: demangled(&*row.name),
        value: &row.value,
        groups: [Some(row.durations), None],
        runs: [row.means.len(), 0],
        comparison: None,
        p: None,
    });
    both.chain(gone).collect()
}

/// The number of groups of a log with the same labels: a label stands for a pointer in both logs
/// if it has one group in each.
struct Labels<'g>(HashMap<(&'g str, &'g str, Cow<'g, str>), usize>);

impl<'g> Labels<'g> {
    fn new(overview: &'g Overview<'_>) -> Labels<'g> {
        let mut counts = HashMap::new();
        for row in &overview.rows {
            *counts.entry((row.pair, &*row.name, labelled(&row.value))).or_default() += 1;
        }
        Labels(counts)
    }

    fn is_one(&self, row: &'g Row<'_>) -> bool {
        let key = (row.pair, &*row.name, labelled(&row.value));
        self.0.get(&key).is_none_or(|count| *count == 1)
    }
}

/// Returns a value without the pointers that have labels, as they differ in each run.
fn labelled(value: &str) -> Cow<'_, str> {
    let mut parts = value.split("[\"");
    let first = parts.next().unwrap_or_default();
    let mut text = String::new();
    let mut before = first;
    for part in parts {
        let digits = before.trim_end_matches(|c: char| c.is_ascii_hexdigit());
        text += digits.strip_suffix("0x").filter(|_| digits.len() < before.len()).unwrap_or(before);
        text += "[\"";
        before = part;
    }
    if text.is_empty() { Cow::Borrowed(value) } else { Cow::Owned(text + before) }
}

/// Returns whether the difference of a row is significant, among `count` tests.
fn is_significant(row: &Compared<'_>, count: usize) -> Option<bool> {
    row.p.map(|p| p * (count as f64) < SIGNIFICANCE)
}

/// Returns the number of tests.
fn test_count(rows: &[Compared<'_>]) -> usize {
    rows.iter().filter(|row| row.p.is_some()).count()
}

/// Returns the change from one duration to another, in percent.
fn change([old, new]: [Option<Percentile>; 2]) -> Option<f64> {
    let (old, new) = (old?.ns, new?.ns);
    (old > 0).then(|| (new as f64 / old as f64 - 1.0) * 100.0)
}

/// Returns the comparison of two logs as a table, with what stands around it, or why they cannot be
/// compared.
pub(crate) fn against<'o>(
    [old, new]: [&'o Overview<'_>; 2],
    names: [&str; 2],
) -> Result<(Table<'o>, Around), Stop> {
    if old.unit() != new.unit() {
        return Err(Stop::Message(format!(
            "{}: durations are in {} and those of {} in {}; state --clock-rate",
            names[0],
            old.unit(),
            names[1],
            new.unit()
        )));
    }
    let rows = compared(old, new);
    let count = test_count(&rows);
    let after = match (rows.is_empty(), count) {
        (true, _) => String::new(),
        (_, 0) => format!("{DISTANCE}{ONE_RUN}"),
        _ => format!(
            "{DISTANCE}p: the test of Welch, of the mean durations of runs; significant: p times \
             the number of tests is below {SIGNIFICANCE}\n"
        ),
    };
    let runs = [old, new].map(|side| side.run_count);
    let clock = clock(new.base);
    let around = Around {
        before: format!("{clock}\nruns: {} old, {} new\n\n", runs[0], runs[1]),
        none: "no selected event begins anything",
        after,
        facts: json!({ "test": "Welch", "by": new.by() }),
    };
    Ok((table(new, &rows, count), around))
}

/// Returns a row for each group of two logs.
fn table<'o>(new: &'o Overview<'_>, rows: &[Compared<'_>], count: usize) -> Table<'o> {
    let mut table = Table::new([
        text(new.what),
        new.value(),
        tally("old count"),
        tally("count"),
        time("old p50"),
        time("p50"),
        percent("p50 change").titled("change %"),
        time("old p99"),
        time("p99"),
        percent("p99 change").titled("change %"),
        tally("distance"),
        text("exact").for_programs(),
        tally("old runs").for_programs(),
        tally("runs").for_programs(),
        tally("p").if_any(),
        text("significant").if_any(),
    ]);
    for row in rows {
        let [old_count, count_now] = row.groups.map(|group| group.map_or(0, Group::count).into());
        let [p50, p99] = [Percent::P50, Percent::P99].map(|percent| {
            let found = row.groups.map(|group| group.and_then(|group| group.percentile(percent)));
            let [old, new] = found.map(|found| found.map(percentile).into());
            [old, new, change(found).map(Cell::Change).into()]
        });
        let [old_runs, runs] = row.runs.map(|count| (count as u64).into());
        table.row(
            [row.name.to_string().into(), new.value_of(row.value), old_count, count_now]
                .into_iter()
                .chain(p50)
                .chain(p99)
                .chain([
                    row.comparison.map(|found| found.distance).into(),
                    row.comparison.map(|found| found.is_exact).into(),
                    old_runs,
                    runs,
                    row.p.into(),
                    is_significant(row, count).into(),
                ]),
        );
    }
    table.of(new.base)
}

#[cfg(test)]
mod tests {
    use super::labelled;

    #[test]
    fn a_label_stands_for_its_pointer() {
        for (value, expected) in [
            ("0x7F57[\"letters\"]", "[\"letters\"]"),
            ("0xA[\"a\"] 0xB[\"b\"]", "[\"a\"] [\"b\"]"),
            ("0x7F57", "0x7F57"),
            ("17 0xA[\"a\"] 0xB", "17 [\"a\"] 0xB"),
            ("0x[\"", "0x[\""),
            ("face[\"", "face[\""),
            ("", ""),
        ] {
            assert_eq!(labelled(value), expected);
        }
    }
}
