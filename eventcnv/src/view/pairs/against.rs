//! The durations of two logs, group by group.
//!
//! ```text
//!  old rows ─┐                         counts, p50, p99, change, distance ─┐
//!  new rows ─┴─ by slice and value ──┬─▶ means of the runs ──▶ p ──────────┴─▶ text, CSV, JSON
//! ```
//!
//! Design: `.cnv.pairs` in `design/eventcnv.md`; the test: `.slice.against` in `design/slices.md`.

use super::{Overview, PERCENTS, percentile, write_unit};
use crate::summary::calls::demangled;
use crate::summary::pairs::Row;
use crate::view::csv;
use crate::view::json::escaped;
use cli::Stop;
use cli::table::Table;
use eventlog::format::text::OneLine;
use serde_json::{Value, json};
use slices::{Comparison, Group, Percent, Percentile};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// A p value below it is significant, if it is the only one (of more, C. E. Bonferroni).
const SIGNIFICANCE: f64 = 0.01;

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
            comparison: old.and_then(|old| slices::compare(old.durations, row.durations)),
            p: old.and_then(|old| slices::chance(&old.means, &row.means)),
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

/// Returns the comparison of two logs in a form, or why they cannot be compared.
pub(crate) fn text(
    [old, new]: [&Overview<'_>; 2],
    names: [&str; 2],
    limit: usize,
    (is_json, is_csv): (bool, bool),
) -> Result<Vec<u8>, Stop> {
    if old.unit() != new.unit() {
        return Err(Stop::Message(format!(
            "{}: durations are in {} and those of {} in {}; state --clock-rate",
            names[0],
            old.unit(),
            names[1],
            new.unit()
        )));
    }
    let mut rows = compared(old, new);
    let count = test_count(&rows);
    rows.truncate(limit);
    let mut text = Vec::new();
    if is_json {
        text = escaped(&format!("{:#}\n", json(new, &rows, count))).into_bytes();
    } else if is_csv {
        write_csv(new, &rows, count, &mut text);
    } else {
        write((new, count), &rows, [old, new].map(|side| side.run_count), &mut text)?;
    }
    Ok(text)
}

/// Writes a table of two logs, whose durations have one unit.
fn write(
    (new, count): (&Overview<'_>, usize),
    rows: &[Compared<'_>],
    runs: [usize; 2],
    out: &mut dyn Write,
) -> io::Result<()> {
    write_unit(new.base, out)?;
    writeln!(out, "runs: {} old, {} new", runs[0], runs[1])?;
    let by = Some(new.by).filter(|by| !by.is_empty());
    let mut heading = vec![new.what];
    heading.extend(by);
    heading.extend(["old count", "count", "old p50", "p50", "change", "old p99", "p99", "change"]);
    heading.push("distance");
    if count > 0 {
        heading.extend(["p", "significant"]);
    }
    let mut table = Table::new(1 + by.iter().len(), &heading);
    for row in rows {
        let mut cells = vec![OneLine(row.name.as_bytes()).to_string()];
        cells.extend(by.map(|_| OneLine(row.value.as_bytes()).to_string()));
        cells.extend(row.groups.map(|group| group.map_or(0, Group::count).to_string()));
        for percent in [Percent::P50, Percent::P99] {
            let text = |group: &Group| percentile(group, percent);
            cells.extend(row.groups.map(|group| group.map_or_else(String::new, text)));
            let found = row.groups.map(|group| group.and_then(|group| group.percentile(percent)));
            cells.push(change(found).map_or_else(String::new, |change| format!("{change:+.1} %")));
        }
        let distance = row.comparison.map(|found| format!("{:.3}", found.distance));
        cells.push(distance.unwrap_or_default());
        if count > 0 {
            cells.push(row.p.map_or_else(String::new, |p| format!("{p:.2e}")));
            let is_so = is_significant(row, count);
            cells.push(is_so.map_or("", |is_so| if is_so { "yes" } else { "no" }).to_owned());
        }
        table.row(cells);
    }
    if table.is_empty() {
        return writeln!(out, "no selected event begins or ends anything");
    }
    writeln!(out, "\n{table}distance: the greatest of the two distributions, from 0 to 1")?;
    if count == 0 {
        return writeln!(
            out,
            "whether a difference is chance: one run does not tell how far runs differ; name more \
             of each program, as in NEW1 NEW2 --against OLD1 --against OLD2"
        );
    }
    writeln!(
        out,
        "p: the test of Welch, of the mean durations of runs; significant: p times the number of \
         tests is below {SIGNIFICANCE}"
    )
}

/// Writes the same as CSV.
fn write_csv(new: &Overview<'_>, rows: &[Compared<'_>], count: usize, out: &mut Vec<u8>) {
    let by = new.by;
    out.extend_from_slice(new.what.as_bytes());
    out.push(b',');
    if !by.is_empty() {
        csv::field(out, by.as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(b"unit,old_count,count,old_p50,p50,old_p99,p99,distance,exact,");
    out.extend_from_slice(b"old_runs,runs,p,significant\n");
    for row in rows {
        csv::field(out, row.name.as_bytes());
        out.push(b',');
        if !by.is_empty() {
            csv::field(out, row.value.as_bytes());
            out.push(b',');
        }
        let mut cells = vec![new.unit().to_owned()];
        cells.extend(row.groups.map(|group| group.map_or(0, Group::count).to_string()));
        for percent in [Percent::P50, Percent::P99] {
            let found = row.groups.map(|group| group.and_then(|group| group.percentile(percent)));
            cells.extend(found.map(|p| p.map_or_else(String::new, |p| p.ns.to_string())));
        }
        cells.push(optional(row.comparison.map(|found| found.distance)));
        cells.push(optional(row.comparison.map(|found| found.is_exact)));
        cells.extend(row.runs.map(|count| count.to_string()));
        cells.extend([optional(row.p), optional(is_significant(row, count))]);
        out.extend_from_slice(cells.join(",").as_bytes());
        out.push(b'\n');
    }
}

fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Returns the same as JSON.
fn json(overview: &Overview<'_>, rows: &[Compared<'_>], count: usize) -> Value {
    let side = |(group, run_count): (Option<&Group>, usize)| {
        let mut found = json!({ "count": group.map_or(0, Group::count), "runs": run_count });
        for (name, percent) in PERCENTS {
            let value = group.and_then(|group| group.percentile(percent)).map(|found| found.ns);
            found[name] = json!(value);
        }
        found
    };
    let row = |row: &Compared<'_>| {
        let [old, new] = [0, 1].map(|at| side((row.groups[at], row.runs[at])));
        json!({
            (overview.what): &*row.name,
            "value": Some(row.value).filter(|_| !overview.by.is_empty()),
            "old": old,
            "new": new,
            "distance": row.comparison.map(|found| found.distance),
            "exact": row.comparison.map(|found| found.is_exact),
            "p": row.p,
            "significant": is_significant(row, count),
        })
    };
    json!({
        "unit": overview.unit(),
        "test": "Welch",
        "groups": rows.iter().map(row).collect::<Value>(),
    })
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
