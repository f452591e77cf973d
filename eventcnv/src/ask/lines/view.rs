//! The statements of a log as tables: by statement, file and function; two runs; the CSV of TDK's
//! profiler.
//!
//! ```text
//!  summary.rs ──▶ rows, texts ──▶ Table
//! ```
//!
//! Design: `.cnv.lines` in `design/eventcnv.md`.

use crate::ask::lines::summary::{By, Group, Line, Pair, Which, groups, lines, pairs};
use crate::ask::pairs::view::PERCENTS;
use cli::fields::csv_field;
use cli::table::{Cell, Column, Table, count, percent, text, time};
use lens::statements::{Facts, Statements, Times, Value};
use std::io::Write;

/// The columns of a statement.
const COLUMNS: [Column<'static>; 19] = [
    text("place"),
    text("function"),
    count("count"),
    time("own").if_any(),
    time("own error").titled("own ±").if_any(),
    percent("own").if_any(),
    time("total").if_any(),
    time("total error").titled("total ±").if_any(),
    time("mean").if_any(),
    time("min").if_any(),
    count("traced").if_any(),
    time("p50").if_any(),
    time("p90").if_any(),
    time("p99").if_any(),
    time("p99.9").if_any(),
    time("max").if_any(),
    time("deviation").if_any(),
    time("waiting").if_any(),
    text("text").if_any(),
];
/// The columns of TDK's profiler.
const TDK: &str = "NrCallsToCmd,Filename,CmdLine,Min,Avg,Max,Total,CmdCharIndex,CmdLength\n";

fn cell(value: &Value) -> Cell {
    let ns = value.bound().round() as u64;
    if value.is_below() { Cell::Bound(ns) } else { Cell::Number(ns) }
}

fn error(value: &Value) -> Cell {
    Cell::Number(value.error.ceil() as u64)
}

/// Returns a time; 0 if it is too short to be measured.
fn known(value: &Value) -> f64 {
    if value.is_below() { 0.0 } else { value.ns }
}

fn rounded(ns: f64) -> Cell {
    Cell::Number(ns.max(0.0).round() as u64)
}

/// Returns the table of the statements, with their texts.
pub(crate) fn by_statement(
    found: &Statements,
    which: Which,
    mut line_of: impl FnMut(&Facts) -> Option<String>,
) -> Table<'static> {
    let lines = lines(found, which);
    let all: f64 = lines.iter().filter_map(Line::busy).map(|times| known(&times.own)).sum();
    let mut table = Table::new(COLUMNS);
    for line in &lines {
        let busy = line.busy();
        let of = |value: fn(&Times) -> Value| busy.map(value);
        let (own, total) = (of(|times| times.own), of(|times| times.total));
        let any = line.times.as_ref();
        let percent = own.filter(|_| all > 0.0).map(|own| known(&own) * 100.0 / all);
        let percentile = |percent| match found.percentile(line.statement, percent)? {
            (value, _) if value.is_below() => Some(cell(&value)),
            (value, is_exact) => {
                let ns = value.ns.round() as u64;
                Some(Cell::exact_if(is_exact, ns))
            }
        };
        let [p50, p90, p99, p99_9] = PERCENTS.map(|(_, percent)| percentile(percent).into());
        table.row([
            line.facts.place().into(),
            line.function.to_owned().into(),
            line.count.into(),
            own.as_ref().map(cell).into(),
            own.as_ref().map(error).into(),
            percent.into(),
            total.as_ref().map(cell).into(),
            total.as_ref().map(error).into(),
            any.map(|times| cell(&times.mean)).into(),
            any.map(|times| cell(&times.shortest)).into(),
            found.cut(line.statement).map(|(traced, _)| Cell::Number(traced)).into(),
            p50,
            p90,
            p99,
            p99_9,
            any.map(|times| cell(&times.longest)).into(),
            any.and_then(|times| times.deviation()).map(rounded).into(),
            line.waiting().map(|times| cell(&times.total)).into(),
            line_of(line.facts).into(),
        ]);
    }
    table
}

/// Returns the table of files or functions.
pub(crate) fn by_group(found: &Statements, by: By, which: Which) -> Table<'static> {
    let mut table = Table::new([
        text(if by == By::File { "file" } else { "function" }),
        count("statements"),
        count("executed"),
        percent("executed"),
        count("count"),
        time("own").if_any(),
        time("own error").titled("own ±").if_any(),
        percent("own").if_any(),
        time("waiting").if_any(),
    ]);
    let groups = groups(found, by);
    let value = |group: &Group<'_>| group.own.map(|(ns, error)| Value { ns, error });
    let all: f64 = groups.iter().filter_map(value).map(|own| known(&own)).sum();
    let is_shown = |group: &&Group<'_>| match which {
        Which::Executed => group.executed > 0,
        Which::Never => group.executed == 0,
        Which::All => true,
    };
    for group in groups.iter().filter(is_shown) {
        let own = value(group);
        let percent = own.filter(|_| all > 0.0).map(|own| known(&own) * 100.0 / all);
        table.row([
            group.name.to_owned().into(),
            group.statements.into(),
            group.executed.into(),
            Cell::Real(group.executed as f64 * 100.0 / group.statements.max(1) as f64),
            group.count.into(),
            own.as_ref().map(cell).into(),
            own.as_ref().map(error).into(),
            percent.into(),
            rounded(group.waiting),
        ]);
    }
    table
}

/// Returns the table of two runs.
pub(crate) fn against(
    [old, new]: [&Statements; 2],
    mut line_of: impl FnMut(&Facts) -> Option<String>,
) -> Table<'static> {
    let has_times = old.has_times() && new.has_times();
    let mut table = Table::new([
        text("place"),
        text("function"),
        text("match"),
        text("old place").if_any(),
        count("old count"),
        count("count"),
        time("old own").if_any(),
        time("own").if_any(),
        if has_times { time("change") } else { count("count change") },
        percent("change").if_any(),
        time("old mean").if_any(),
        time("mean").if_any(),
        text("text").if_any(),
    ]);
    for pair in &pairs(old, new) {
        let Pair { old, new, how } = pair;
        let Some(line) = new.as_ref().or(old.as_ref()) else { continue };
        let was = old.map(|old| old.facts.place());
        let was = was.filter(|was| new.is_some_and(|new| new.facts.place() != *was));
        let lines = [old, new];
        let [old_count, count] = lines.map(|line| Cell::Number(line.map_or(0, |line| line.count)));
        let value = |line: &Option<Line<'_>>| {
            let line = line.as_ref()?;
            let times = line.times.as_ref()?;
            Some(if line.waits { times.total } else { times.own })
        };
        let [old_own, own] = lines.map(|line| value(line).as_ref().map(cell).into());
        let mean = |line: &Option<Line<'_>>| Some(cell(&line.as_ref()?.times.as_ref()?.mean));
        let [old_mean, mean] = lines.map(|line| mean(line).into());
        let [before, after] = pair.times();
        let percent = before.zip(after).filter(|(before, _)| *before > 0.0);
        let percent = percent.map(|(before, after)| (after / before - 1.0) * 100.0);
        let change = pair.change(has_times);
        let new_text = new.as_ref().and_then(|line| line_of(line.facts));
        table.row([
            line.facts.place().into(),
            line.function.to_owned().into(),
            how.name().to_owned().into(),
            was.into(),
            old_count,
            count,
            old_own,
            own,
            Cell::Change(change.round()),
            percent.map(Cell::Change).into(),
            old_mean,
            mean,
            new_text.into(),
        ]);
    }
    table
}

/// Writes the CSV of TDK's profiler: counts, times in µs, and the place of each statement.
pub(crate) fn tdk(found: &Statements, which: Which) -> Vec<u8> {
    let mut out = TDK.as_bytes().to_vec();
    let mut lines = lines(found, which);
    lines.sort_by(|a, b| a.place().cmp(&b.place()));
    for line in &lines {
        let Facts { line: number, offset, size, .. } = *line.facts;
        // An execution that was not timed has no time, and what never ran has zeros.
        let none = if line.count == 0 { "0" } else { "" };
        let us = |value: Option<Value>| {
            let ns = value.map(|value| value.bound().round() as u64);
            ns.map_or_else(|| none.to_owned(), |ns| format!("{}.{:03}", ns / 1000, ns % 1000))
        };
        let times = line.times.as_ref();
        let values = [
            times.map(|times| times.shortest),
            times.map(|times| times.mean),
            times.map(|times| times.longest),
            times.map(|times| times.total),
        ];
        let [min, mean, max, total] = values.map(us);
        let _ = write!(out, "{},", line.count);
        csv_field(&mut out, line.facts.file.as_deref().unwrap_or(&line.facts.label).as_bytes());
        let _ = writeln!(out, ",{number},{min},{mean},{max},{total},{offset},{size}");
    }
    out
}
