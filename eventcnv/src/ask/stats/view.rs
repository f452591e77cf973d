//! Counts of events and bytes, values of parameters, gaps and losses, for people.
//!
//! ```text
//!  Overview ──▶ totals │ streams │ kinds │ event types, parameters │ threads │ gaps │ losses
//! ```
//!
//! Design: `.cnv.stats` in `design/eventcnv.md`.

use crate::ask::stats::summary::json::{PERCENTILES, top};
use crate::ask::stats::summary::overview::{GapOverview, Late, Overview, TypeOverview, reason};
use crate::ask::stats::summary::{Count, seconds};
use crate::text;
use cli::table::Table;
use eventlog::reader::{CAUSES, Stream};
use std::io::{self, Write};

/// Values of a parameter that are listed.
const TOP_COUNT: usize = 3;

pub(crate) fn write(overview: &Overview<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Count { events, bytes } = overview.total;
    write!(out, "{events} events, {bytes} bytes")?;
    if let Some((events, bytes)) = overview.rates {
        write!(out, "; {} events/s, {} bytes/s", rounded(events), rounded(bytes))?;
    }
    writeln!(out)?;
    write_streams(overview, out)?;
    let is_late = overview.kinds.iter().any(|row| row.late.is_some());
    let mut by_kind = counts(overview, "kind", is_late.then_some("complete after"));
    let mut by_type = counts(overview, "event type", None);
    let mut by_thread = counts(overview, "thread", None);
    for row in &overview.kinds {
        let mut cells = cells(overview, &row.name, row.count, row.rate);
        cells.extend(is_late.then(|| row.late.map_or_else(String::new, late)));
        by_kind.row(cells);
    }
    for row in &overview.types {
        by_type.row(cells(overview, &row.name, row.count, row.rate));
    }
    for row in &overview.threads {
        by_thread.row(cells(overview, &row.name, row.count, row.rate));
    }
    for table in [by_kind, by_type, by_thread] {
        if !table.is_empty() {
            write!(out, "\n{table}")?;
        }
    }
    write_params(overview, out)?;
    write_gaps(overview, out)?;
    write_losses(overview, out)
}

fn counts(overview: &Overview<'_>, of: &str, last: Option<&str>) -> Table {
    let mut heading = vec![of, "events", "bytes"];
    heading.extend(overview.rates.map(|_| "events/s"));
    heading.extend(last);
    Table::new(1, &heading)
}

fn cells(overview: &Overview<'_>, name: &str, count: Count, rate: Option<f64>) -> Vec<String> {
    let mut row = vec![name.to_owned(), count.events.to_string(), count.bytes.to_string()];
    row.extend(overview.rates.map(|_| rate.map_or_else(String::new, rounded)));
    row
}

/// Returns when the history of a kind is complete.
fn late(late: Late) -> String {
    match late.seconds_after {
        Some(seconds) => format!("{seconds:.6} s"),
        None => format!("{} ticks", late.ticks_after),
    }
}

/// Returns a number with four digits at least.
pub(crate) fn rounded(number: f64) -> String {
    if number >= 1000.0 { format!("{number:.0}") } else { format!("{number:.1}") }
}

/// Writes a line for each stream: program, platform, duration, end.
fn write_streams(overview: &Overview<'_>, out: &mut dyn Write) -> io::Result<()> {
    for (index, stream) in overview.streams.iter().enumerate() {
        let by = if stream.program.is_empty() { &stream.producer } else { &stream.program };
        let platform = stream.platform;
        let order = if platform.big_endian { "big-endian" } else { "little-endian" };
        let width = platform.word_size * 8;
        let version = stream.version;
        write!(out, "stream {index}: {by}, format {version}, {width}-bit {order}")?;
        if stream.pid > 0 {
            write!(out, ", process {}", stream.pid)?;
        }
        if stream.parent != [0; 16] {
            let parent = text::uuid(&stream.parent);
            write!(out, ", forked by process {} with stream {parent}", stream.parent_pid)?;
        }
        let times = u16::try_from(index).ok().and_then(|index| overview.times.get(&index));
        if let Some(&(first, last)) = times {
            write!(out, ", {} ticks", last - first)?;
            if let Some(seconds) = seconds(stream, first, last) {
                let about = if stream.is_rate_approximate { "about " } else { "" };
                write!(out, " ({about}{seconds:.6} s)")?;
            }
        }
        let before = u16::try_from(index).ok().and_then(|index| overview.before.get(&index));
        if let Some(&(from, to)) = before {
            let length = seconds(stream, from, to);
            let length = length.map_or_else(
                || format!("{} ticks", to - from),
                |seconds| format!("{seconds:.6} s"),
            );
            write!(out, "; the events of the {length} before are {}", reason(stream))?;
        }
        write_volumes(stream, out)?;
        if let Some(next) = stream.next_volume {
            write!(out, "; goes on in volume {next}")?;
        } else if !stream.closed {
            // `.read.end`: not a fault, but the user of a killed program wants to know.
            write!(out, "; not closed: the program was killed, or still runs")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes a table of the values of parameters.
fn write_params(overview: &Overview<'_>, out: &mut dyn Write) -> io::Result<()> {
    if !overview.has_params {
        return Ok(());
    }
    let heading = ["parameter", "min", "mean", "p50", "p90", "p99", "max", "most frequent values"];
    let mut table = Table::new(1, &heading);
    table.end_left();
    overview.types.iter().for_each(|row| add_params(row, &mut table));
    if !table.is_empty() {
        write!(out, "\n{table}")?;
        writeln!(out, "percentiles are at most 1/64 too low; counts with ≥ are lower bounds")?;
    }
    if overview.is_params_cut {
        writeln!(out, "the log has more parameters: select event types to see them")?;
    }
    Ok(())
}

fn add_params(row: &TypeOverview, table: &mut Table) {
    for param in &row.params {
        let numbers = &param.values.numbers;
        let mut cells = vec![format!("{} {}", row.name, param.name)];
        let range = numbers.range();
        let percentiles = PERCENTILES.map(|percent| numbers.percentile(percent));
        let middle = [range.map(|range| range.0), numbers.mean()];
        let all = middle.into_iter().chain(percentiles).chain([range.map(|range| range.1)]);
        cells.extend(all.map(|value| value.map_or_else(String::new, number)));
        let (rows, error) = top(param, TOP_COUNT);
        let least = if error > 0 { "≥" } else { "" };
        let rows = rows.iter().map(|row| {
            let mut value = Vec::new();
            match &row.label {
                _ if param.sort == eventdef::Sort::S => {
                    text::quoted(&mut value, row.value.as_bytes())
                }
                Some(label) => {
                    value.extend_from_slice(row.value.as_bytes());
                    value.push(b'[');
                    text::quoted(&mut value, label.as_bytes());
                    value.push(b']');
                }
                None => value.extend_from_slice(row.value.as_bytes()),
            }
            format!("{} ×{least}{}", String::from_utf8_lossy(&value), row.count)
        });
        cells.push(rows.collect::<Vec<_>>().join(", "));
        table.row(cells);
    }
}

/// Returns a number with the digits that it needs, four after the point at most.
pub(crate) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value}");
    }
    if value.abs() >= 1e15 || value.abs() < 1e-3 {
        return format!("{value:.4e}");
    }
    format!("{value:.4}").trim_end_matches('0').to_owned()
}

/// Writes the longest gaps in time, and the missing numbers of events.
fn write_gaps(overview: &Overview<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(1, &["no events of", "after", "for"]);
    let time = |gap: &GapOverview| match (gap.seconds_before, gap.seconds) {
        (Some(before), Some(seconds)) => [format!("{before:.6} s"), format!("{seconds:.6} s")],
        _ => {
            let first = overview.times.get(&gap.stream).map_or(0, |times| times.0);
            [gap.gap.from - first, gap.gap.ticks()].map(|ticks| format!("{ticks} ticks"))
        }
    };
    for gap in &overview.gaps {
        table.row([std::slice::from_ref(&gap.of), &time(gap)].concat());
    }
    if !table.is_empty() {
        write!(out, "\n{table}")?;
    }
    let mut table = Table::new(1, &["missing of buffer", "first number", "events"]);
    for hole in &overview.holes {
        let of = match overview.streams.len() {
            1 => hole.buffer.to_string(),
            _ => format!("stream {}: {}", hole.stream, hole.buffer),
        };
        table.row(vec![of, hole.from.to_string(), (hole.to - hole.from).to_string()]);
    }
    if !table.is_empty() {
        write!(out, "\n{table}")?;
    }
    if overview.unlisted_hole_count > 0 {
        writeln!(out, "and {} more, none longer", overview.unlisted_hole_count)?;
    }
    Ok(())
}

/// Writes how many requested events are not in the log, by cause.
fn write_losses(overview: &Overview<'_>, out: &mut dyn Write) -> io::Result<()> {
    if overview.losses.is_empty() {
        return match overview.fault_count {
            0 => writeln!(out, "\nnothing is known to be lost"),
            1 => writeln!(out, "\n1 fault was found, which may have cost events"),
            count => writeln!(out, "\n{count} faults were found, which may have cost events"),
        };
    }
    let mut table = Table::new(1, &[&["not in the log"], CAUSES.as_slice()].concat());
    for (kind, losses) in &overview.losses {
        let mut row = vec![kind.clone()];
        row.extend(losses.causes().map(|count| count.to_string()));
        table.row(row);
    }
    write!(out, "\n{table}")
}

/// Writes which volumes of a stream the log has, if the stream has several (`.header.volume`).
fn write_volumes(stream: &Stream, out: &mut dyn Write) -> io::Result<()> {
    match stream.volumes {
        (0, 0) if stream.next_volume.is_none() => Ok(()),
        (first, last) if first == last => write!(out, ", volume {first}"),
        (first, last) => write!(out, ", volumes {first} to {last}"),
    }
}
