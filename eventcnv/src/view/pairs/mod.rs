//! Durations by group, and the longest slices, for people and for programs.
//!
//! ```text
//!  Summary ──▶ heading │ a row for each group │ bars │ the slowest │ CSV │ JSON
//! ```
//!
//! Design: `.cnv.pairs` in `design/eventcnv.md`.

pub(crate) mod against;

use super::csv;
use super::stats::rounded;
use crate::summary::pairs::{Row, Tally};
use cli::table::Table;
use eventlog::reader::ClockBase;
use serde_json::{Value, json};
use slices::{Group, Percent, Percentile};
use std::io::{self, Write};

/// The columns of percentiles.
pub(crate) const PERCENTS: [(&str, Percent); 4] = [
    ("p50", Percent::P50),
    ("p90", Percent::P90),
    ("p99", Percent::P99),
    ("p99.9", Percent::P99_9),
];
/// The greatest length of a bar.
const BAR_SIZE: u64 = 50;

/// The slices of a log, summed up.
pub(crate) struct Overview<'g> {
    pub(crate) base: ClockBase,
    /// The word for the subject of a row.
    pub(crate) what: &'static str,
    /// The column of values by which slices are grouped; empty if there are none.
    pub(crate) by: &'g str,
    /// The time in which slices could begin, if known.
    pub(crate) seconds: Option<f64>,
    pub(crate) rows: Vec<Row<'g>>,
    /// The number of runs, if they are to be compared.
    pub(crate) run_count: usize,
    pub(crate) slowest: Vec<Slow>,
    /// Whether threads and buffers are named with their stream.
    pub(crate) is_stream_shown: bool,
}

/// A long slice, with the lines of its beginning and its end.
pub(crate) struct Slow {
    pub(crate) name: String,
    pub(crate) ns: u64,
    pub(crate) thread: u32,
    pub(crate) ends: [End; 2],
}

/// The beginning of a slice, or its end.
pub(crate) struct End {
    pub(crate) id: slices::Id,
    pub(crate) ticks: u64,
    pub(crate) line: String,
}

impl Overview<'_> {
    pub(crate) fn unit(&self) -> &'static str {
        if self.base == ClockBase::Ticks { "ticks" } else { "ns" }
    }
}

/// Writes the unit of the durations, and where it comes from.
pub(crate) fn write_unit(base: ClockBase, out: &mut dyn Write) -> io::Result<()> {
    let of = match base {
        ClockBase::Monotonic => "ns of CLOCK_MONOTONIC",
        ClockBase::Realtime => "ns of CLOCK_REALTIME",
        ClockBase::Start => "ns, by the rate that the log states",
        ClockBase::Ticks => "ticks: the log does not state their length",
    };
    writeln!(out, "durations in {of}")
}

/// Returns a percentile as text; `~` marks one of a histogram.
pub(crate) fn percentile(group: &Group, percent: Percent) -> String {
    match group.percentile(percent) {
        Some(Percentile { ns, is_exact: true }) => ns.to_string(),
        Some(Percentile { ns, is_exact: false }) => format!("~{ns}"),
        None => String::new(),
    }
}

/// Writes a table of all groups, and the slowest slices; with bars if wanted.
pub(crate) fn write(
    overview: &Overview<'_>,
    has_bars: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_unit(overview.base, out)?;
    let is_any = |at: usize| overview.rows.iter().any(|row| count_at(&row.tally, at) > 0);
    let shown: Vec<usize> = (0..Tally::NAMES.len()).filter(|at| is_any(*at)).collect();
    let by = Some(overview.by).filter(|by| !by.is_empty());
    let mut heading = vec![overview.what];
    heading.extend(by);
    heading.push("count");
    heading.extend(overview.seconds.map(|_| "per s"));
    heading.extend(["total", "mean"]);
    heading.extend(PERCENTS.map(|(name, _)| name));
    heading.push("max");
    heading.extend(shown.iter().filter_map(|at| Tally::NAMES.get(*at)));
    let mut table = Table::new(1 + by.iter().len(), &heading);
    for row in &overview.rows {
        let group = row.durations;
        let mut cells = vec![row.name.to_string()];
        cells.extend(by.map(|_| row.value.clone()));
        cells.push(group.count().to_string());
        cells.extend(rate(row).map(rounded));
        cells.push(group.sum().to_string());
        cells.push(group.mean().map_or_else(String::new, |mean| format!("{mean:.1}")));
        cells.extend(PERCENTS.map(|(_, percent)| percentile(group, percent)));
        cells.push(group.range().map_or_else(String::new, |(_, max)| max.to_string()));
        cells.extend(shown.iter().map(|at| count_at(&row.tally, *at).to_string()));
        table.row(cells);
    }
    if table.is_empty() {
        writeln!(out, "no selected event begins or ends anything")?;
    } else {
        write!(out, "\n{table}")?;
    }
    if has_bars {
        overview.rows.iter().try_for_each(|row| write_bars(row, overview.unit(), out))?;
    }
    write_slowest(overview, out)
}

fn count_at(tally: &Tally, at: usize) -> u64 {
    tally.counts().get(at).copied().unwrap_or(0)
}

/// Writes a bar for each octave from the least duration to the greatest.
fn write_bars(row: &Row<'_>, unit: &str, out: &mut dyn Write) -> io::Result<()> {
    let octaves: Vec<(u64, u64)> = row.durations.octaves().collect();
    let (Some((first, _)), Some((last, _))) = (octaves.first(), octaves.last()) else {
        return Ok(());
    };
    let space = if row.value.is_empty() { "" } else { " " };
    writeln!(out, "\n{}{space}{}", row.name, row.value)?;
    let most = octaves.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let (width, mut from) = (last.to_string().len(), *first);
    loop {
        let found = octaves.iter().find(|(least, _)| *least == from);
        let count = found.map_or(0, |(_, count)| *count);
        // A bar has a mark for each part of the greatest, and one for any count.
        let size = (u128::from(count) * u128::from(BAR_SIZE)).div_ceil(u128::from(most)) as usize;
        let space = if count > 0 { " " } else { "" };
        writeln!(out, "  ≥ {from:>width$} {unit}  {}{space}{count}", "#".repeat(size))?;
        if from >= *last {
            return Ok(());
        }
        from = if from == 0 { 1 } else { from << 1 };
    }
}

fn write_slowest(overview: &Overview<'_>, out: &mut dyn Write) -> io::Result<()> {
    for (index, slow) in overview.slowest.iter().enumerate() {
        if index == 0 {
            writeln!(out, "\nthe slowest, each with the number of its events in their buffer")?;
        }
        let [End { id, .. }, _] = &slow.ends;
        let stream = Some(id.stream).filter(|_| overview.is_stream_shown);
        let stream = stream.map_or_else(String::new, |stream| format!("stream {stream}, "));
        let Slow { name, ns, thread, .. } = slow;
        writeln!(out, "{ns} {} {name}, {stream}thread {thread}", overview.unit())?;
        for End { id, line, .. } in &slow.ends {
            writeln!(out, "  {line}  #{} of buffer {}", id.number, id.buffer)?;
        }
    }
    Ok(())
}

/// Writes a line for each group, after one with the names of the columns.
pub(crate) fn write_csv(overview: &Overview<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(overview.what.as_bytes());
    out.push(b',');
    if !overview.by.is_empty() {
        csv::field(out, overview.by.as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(b"unit,count,per_s,total,mean");
    PERCENTS.iter().for_each(|(name, _)| drop(write!(out, ",{name}")));
    out.extend_from_slice(b",max,exact");
    Tally::NAMES.iter().for_each(|name| drop(write!(out, ",{}", name.replace(' ', "_"))));
    out.push(b'\n');
    for row in &overview.rows {
        let group = row.durations;
        csv::field(out, row.name.as_bytes());
        out.push(b',');
        if !overview.by.is_empty() {
            csv::field(out, row.value.as_bytes());
            out.push(b',');
        }
        let mut cells = vec![overview.unit().to_owned(), group.count().to_string()];
        cells.push(rate(row).map_or_else(String::new, |rate| rate.to_string()));
        cells.push(group.sum().to_string());
        cells.push(group.mean().map_or_else(String::new, |mean| mean.to_string()));
        let found = PERCENTS.map(|(_, percent)| group.percentile(percent));
        let text = |found: Option<Percentile>| found.map_or_else(String::new, |p| p.ns.to_string());
        cells.extend(found.map(text));
        cells.push(group.range().map_or_else(String::new, |(_, max)| max.to_string()));
        cells.push(is_exact(group).to_string());
        cells.extend(row.tally.counts().map(|count| count.to_string()));
        out.extend_from_slice(cells.join(",").as_bytes());
        out.push(b'\n');
    }
}

/// Returns how many slices a second a group has, if the time is known.
fn rate(row: &Row<'_>) -> Option<f64> {
    row.seconds.map(|seconds| row.durations.count() as f64 / seconds)
}

fn is_exact(group: &Group) -> bool {
    group.count() == 0 || group.percentile(Percent::P50).is_some_and(|found| found.is_exact)
}

/// Returns all as JSON.
pub(crate) fn json(overview: &Overview<'_>) -> Value {
    let end = |end: &End| {
        json!({
            "stream": end.id.stream, "buffer": end.id.buffer, "number": end.id.number,
            "ticks": end.ticks, "event": end.line,
        })
    };
    let slowest = overview.slowest.iter().map(|slow| {
        let [begin, close] = &slow.ends;
        json!({
            "slice": slow.name, "duration": slow.ns, "thread": slow.thread,
            "begin": end(begin), "end": end(close),
        })
    });
    json!({
        "unit": overview.unit(),
        "seconds": overview.seconds,
        "by": Some(overview.by).filter(|by| !by.is_empty()),
        "groups": overview.rows.iter().map(|row| group(overview, row)).collect::<Value>(),
        "slowest": slowest.collect::<Value>(),
    })
}

fn group(overview: &Overview<'_>, row: &Row<'_>) -> Value {
    let group = row.durations;
    let octave = |(from, count)| json!({ "from": from, "count": count });
    let mut found = json!({
        "slice": row.name,
        "value": Some(&row.value).filter(|_| !overview.by.is_empty()),
        "count": group.count(),
        "perSecond": rate(row),
        "total": u64::try_from(group.sum()).unwrap_or(u64::MAX),
        "mean": group.mean(),
        "max": group.range().map(|(_, max)| max),
        "exact": is_exact(group),
        "octaves": group.octaves().map(octave).collect::<Value>(),
    });
    for (name, percent) in PERCENTS {
        found[name] = json!(group.percentile(percent).map(|found| found.ns));
    }
    for (name, count) in Tally::NAMES.iter().zip(row.tally.counts()) {
        found[name.replace(" b", "B").replace(" w", "W")] = json!(count);
    }
    found
}
