//! How long slices lasted, as the tab *Durations* of the page has it.
//!
//! ```text
//!  Groups of `pairs` ──▶ rows: counts, percentiles, bars ◀── the row of each name of the lanes
//!  Nesting ──▶ weights ──▶ the paths with the most time, of these rows
//! ```
//!
//! Design: `.cnv.report.durations` in `design/eventcnv.md`.

use crate::ask::pairs::rates::Rates;
use crate::ask::pairs::reading::Values;
use crate::ask::pairs::summary::Row;
use crate::ask::pairs::view::{PERCENTS, is_exact};
use crate::page::durations::Timed;
use crate::page::view::calls::{nodes, text};
use crate::page::view::weights::Weights;
use eventlog::reader::Log;
use eventlog::reader::marks::Marks;
use lens::calls::{Graph, Tree};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Rows, at most.
const ROW_COUNT_MAX: usize = 1000;

/// Returns the durations of a log. `names` are the pairs and values that name bars of the lanes.
pub(crate) fn data(
    timed: &mut Timed,
    (log, marks, values): (&Log, &Marks, &Values),
    names: &[(u32, u32)],
    is_ns: bool,
) -> Value {
    let places: Vec<usize> =
        names.iter().map(|(pair, name)| timed.groups.place_of(*pair, *name, 0)).collect();
    let tree = timed.nesting.tree();
    let weights = Weights::new(tree, &Graph::of(tree), 0);
    let mut rows = timed.groups.rows(log, marks, values, &Rates::default());
    rows.retain(|row| row.durations.count() > 0 || row.tally.counts().iter().any(|n| *n > 0));
    let left = rows.split_off(rows.len().min(ROW_COUNT_MAX));
    let rows_of: HashMap<usize, u32> = rows.iter().map(|row| row.place).zip(0..).collect();
    json!({
        "isNs": is_ns,
        "time": Weights::of(&weights.nodes, Tree::ROOT),
        "isFull": tree.is_full(),
        "rows": rows.iter().map(row).collect::<Value>(),
        "left": left.len(),
        "rowOf": places.iter().map(|place| rows_of.get(place).copied()).collect::<Vec<_>>(),
        "nodes": nodes(tree, &weights, |at| rows_of.get(&(at as usize)).copied()),
    })
}

/// Returns the numbers of a row; its bars are the counts of the octaves with any.
fn row(row: &Row<'_>) -> Value {
    let group = row.durations;
    let percentiles = PERCENTS.map(|(_, part)| group.percentile(part).map(|found| found.ns));
    json!({
        "name": text(&row.name),
        "count": group.count(),
        "total": group.sum() as f64,
        "percentiles": percentiles,
        "max": group.range().map(|(_, max)| max),
        "isExact": is_exact(group),
        "odd": row.tally.counts(),
        "bars": group.octaves().map(|(from, count)| json!([from, count])).collect::<Value>(),
    })
}
