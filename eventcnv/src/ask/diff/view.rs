//! The differences between two logs, for people.
//!
//! ```text
//!  A: 1690 events …   B: 4028 events …
//!  event type   A      B      change     most significant first
//! ```
//!
//! Design: `.cnv.diff` in `design/eventcnv.md`.

use crate::ask::diff::summary::{Both, Difference};
use crate::ask::stats::summary::Count;
use crate::ask::stats::summary::overview::Overview;
use crate::ask::stats::view::{number, rounded};
use crate::text;
use cli::table::Table;
use std::collections::HashMap;
use std::io::{self, Write};

/// Rows of a table of labels or registries.
const ROW_COUNT_MAX: usize = 100;

/// Writes the differences between logs with these names.
pub(crate) fn write(
    difference: &Difference,
    names: [&str; 2],
    sides: [&Overview<'_>; 2],
    out: &mut dyn Write,
) -> io::Result<()> {
    for ((letter, name), side) in ["A", "B"].into_iter().zip(names).zip(sides) {
        write!(out, "{letter}: {name}: {} events, {} bytes", side.total.events, side.total.bytes)?;
        if let (Some(seconds), Some((rate, _))) = (side.seconds, side.rates) {
            let is_approximate = side.streams.iter().any(|stream| stream.is_rate_approximate);
            let about = if is_approximate { "about " } else { "" };
            write!(out, " in {about}{seconds:.6} s, {} events/s", rounded(rate))?;
        }
        writeln!(out)?;
    }
    if difference.is_none() {
        return writeln!(out, "\nthe same events, values, labels and losses");
    }
    let rates = sides
        .map(|side| side.kinds.iter().map(|row| (&*row.name, row.rate)).collect::<HashMap<_, _>>());
    write_counts(&difference.kinds, "kind", rates, out)?;
    let rates = sides
        .map(|side| side.types.iter().map(|row| (&*row.name, row.rate)).collect::<HashMap<_, _>>());
    write_counts(&difference.types, "event type", rates, out)?;
    write_params(difference, out)?;
    for (side, labels) in ["A", "B"].into_iter().zip(&difference.labels) {
        let mut table = Table::new(1, &[&format!("labels only in {side}")]);
        for label in labels.iter().take(ROW_COUNT_MAX) {
            let mut quoted = Vec::new();
            text::quoted(&mut quoted, label.as_bytes());
            table.row(vec![String::from_utf8_lossy(&quoted).into_owned()]);
        }
        write_table(&table, labels.len(), out)?;
    }
    let mut table = Table::new(2, &["registry", "what changed"]);
    for (name, what) in difference.registries.iter().take(ROW_COUNT_MAX) {
        table.row(vec![name.clone(), what.clone()]);
    }
    write_table(&table, difference.registries.len(), out)?;
    let mut table = Table::new(1, &["not in the log", "A", "B"]);
    for (name, counts) in &difference.losses {
        table.row([std::slice::from_ref(name), &counts.map(|count| count.to_string())].concat());
    }
    write_table(&table, 0, out)
}

fn write_table(table: &Table, count: usize, out: &mut dyn Write) -> io::Result<()> {
    if !table.is_empty() {
        write!(out, "\n{table}")?;
    }
    match count.saturating_sub(ROW_COUNT_MAX) {
        0 => Ok(()),
        more => writeln!(out, "and {more} more"),
    }
}

fn write_counts(
    rows: &[Both<Count>],
    of: &str,
    rates: [HashMap<&str, Option<f64>>; 2],
    out: &mut dyn Write,
) -> io::Result<()> {
    let has_rates = rates.iter().all(|rates| rates.values().any(Option::is_some));
    let heading = if has_rates { ["A events/s", "B events/s"].as_slice() } else { &[] };
    let mut table = Table::new(1, &[&[of, "A", "B", "change"], heading].concat());
    for (name, counts) in rows {
        let [a, b] = counts.map(|count| count.events);
        let mut row = vec![name.clone(), a.to_string(), b.to_string(), change(a, b)];
        if has_rates {
            let rate = |rates: &HashMap<&str, Option<f64>>| rates.get(&**name).copied().flatten();
            row.extend(rates.each_ref().map(|rates| rounded(rate(rates).unwrap_or(0.0))));
        }
        table.row(row);
    }
    write_table(&table, 0, out)
}

/// Returns the change from one count to the other, as text.
fn change(a: u64, b: u64) -> String {
    match (a, b) {
        (0, _) => "new".to_owned(),
        (_, 0) => "gone".to_owned(),
        _ => format!("{:+.1} %", (b as f64 - a as f64) * 100.0 / a as f64),
    }
}

fn write_params(difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
    let heading = ["parameter", "distance", "A mean", "B mean", "A p50", "B p50", "A max", "B max"];
    let mut table = Table::new(1, &heading);
    for param in &difference.params {
        let [a, b] = param.values;
        let cell = |value: Option<f64>| value.map_or_else(String::new, number);
        let mut row = vec![param.name.clone(), format!("{:.1} %", param.distance * 100.0)];
        row.extend([a.mean, b.mean, a.median, b.median, a.max, b.max].map(cell));
        table.row(row);
    }
    write_table(&table, 0, out)
}
