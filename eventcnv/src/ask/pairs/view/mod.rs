//! Durations by group, and the longest slices, for people and for programs.
//!
//! ```text
//!  Overview ──▶ Table: a row for each group │ bars │ the slowest
//! ```
//!
//! Design: `.cnv.pairs` in `design/eventcnv.md`.

pub(crate) mod against;

use crate::ask::pairs::summary::{Row, Tally};
use crate::show::percentile;
use cli::table::{Around, Cell, Column, Table, clock, count, rate, text, time};
use cli::units::latency;
use eventlog::reader::ClockBase;
use lens::slices::{Group, Percent};
use serde_json::{Value, json};
use std::fmt::Write;

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
    pub(crate) id: lens::slices::Id,
    pub(crate) ticks: u64,
    pub(crate) line: String,
}

impl Overview<'_> {
    pub(crate) fn unit(&self) -> &'static str {
        if self.base == ClockBase::Ticks { "ticks" } else { "ns" }
    }

    /// Returns the column of the values by which slices are grouped.
    fn by(&self) -> Option<&str> {
        Some(self.by).filter(|by| !by.is_empty())
    }

    /// Returns the column of these values.
    fn value(&self) -> Column<'_> {
        text("value").titled(self.by).if_any()
    }

    /// Returns the cell of a value; none if slices are not grouped.
    fn value_of(&self, value: &str) -> Cell {
        self.by().map(|_| value.to_owned()).into()
    }

    /// Returns a duration as text.
    fn duration(&self, duration: u64) -> String {
        match self.base {
            ClockBase::Ticks => format!("{duration} ticks"),
            _ => latency(duration as f64),
        }
    }

    /// Returns a row for each group.
    pub(crate) fn table(&self) -> Table<'_> {
        let [p50, p90, p99, p99_9] = PERCENTS.map(|(name, _)| time(name));
        let times = [time("total"), time("mean"), p50, p90, p99, p99_9, time("max")];
        let counts = Tally::NAMES.map(|name| count(name).if_any());
        let columns = [text(self.what), self.value(), count("count"), rate("count").if_any()];
        let columns = columns.into_iter().chain(times).chain(counts);
        let mut table = Table::new(columns.chain([text("exact").for_programs()])).of(self.base);
        for row in &self.rows {
            let group = row.durations;
            let rate = row.seconds.map(|seconds| group.count() as f64 / seconds);
            let percentiles =
                PERCENTS.map(|(_, percent)| group.percentile(percent).map(percentile).into());
            let max = group.range().map(|(_, max)| max);
            table.row(
                [row.name.to_string().into(), self.value_of(&row.value)]
                    .into_iter()
                    .chain([group.count().into(), rate.into()])
                    .chain([group.sum().into(), group.mean().into()])
                    .chain(percentiles)
                    .chain([max.into()])
                    .chain(row.tally.counts().map(Cell::from))
                    .chain([is_exact(group).into()]),
            );
        }
        table
    }

    /// Returns what stands around the table: the clock, bars if they are wanted, the slowest.
    pub(crate) fn around(&self, has_bars: bool) -> Around {
        let mut after = String::new();
        if has_bars {
            self.rows.iter().for_each(|row| self.write_bars(row, &mut after));
        }
        self.write_slowest(&mut after);
        Around {
            before: format!("{}\n\n", clock(self.base)),
            none: "no selected event begins anything",
            after,
            facts: self.facts(),
        }
    }

    /// Returns the members of the JSON next to the rows.
    fn facts(&self) -> Value {
        let unit = self.unit();
        let end = |end: &End| {
            json!({
                "stream": end.id.stream, "buffer": end.id.buffer, "number": end.id.number,
                "ticks": end.ticks, "event": end.line,
            })
        };
        let slowest = self.slowest.iter().map(|slow| {
            let [begin, close] = &slow.ends;
            json!({
                "slice": slow.name, (format!("duration_{unit}")): slow.ns, "thread": slow.thread,
                "begin": end(begin), "end": end(close),
            })
        });
        let octaves = self.rows.iter().flat_map(|row| {
            row.durations.octaves().map(|(from, count)| {
                json!({
                    "slice": row.name, "value": row.value, (format!("from_{unit}")): from,
                    "count": count,
                })
            })
        });
        json!({
            "seconds": self.seconds,
            "by": self.by(),
            "octaves": octaves.collect::<Value>(),
            "slowest": slowest.collect::<Value>(),
        })
    }
    /// Writes a bar for each octave from the least duration to the greatest.
    fn write_bars(&self, row: &Row<'_>, out: &mut String) {
        let octaves: Vec<(u64, u64)> = row.durations.octaves().collect();
        let (Some((first, _)), Some((last, _))) = (octaves.first(), octaves.last()) else {
            return;
        };
        let space = if row.value.is_empty() { "" } else { " " };
        let _ = writeln!(out, "\n{}{space}{}", row.name, row.value);
        let most = octaves.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
        let after = |from: u64| if from == 0 { 1 } else { from << 1 };
        let all = std::iter::successors(Some(*first), |from| (from < last).then(|| after(*from)));
        let bars: Vec<(String, u64)> = all
            .map(|from| {
                let found = octaves.iter().find(|(least, _)| *least == from);
                (self.duration(from), found.map_or(0, |(_, count)| *count))
            })
            .collect();
        let width = bars.iter().map(|(from, _)| from.chars().count()).max().unwrap_or(0);
        for (from, count) in bars {
            // A bar has a mark for each part of the greatest, and one for any count.
            let size = (u128::from(count) * u128::from(BAR_SIZE)).div_ceil(u128::from(most));
            let (bar, space) = ("#".repeat(size as usize), if count > 0 { " " } else { "" });
            let _ = writeln!(out, "  ≥ {from:>width$}  {bar}{space}{count}");
        }
    }

    fn write_slowest(&self, out: &mut String) {
        for (index, slow) in self.slowest.iter().enumerate() {
            if index == 0 {
                *out += "\nthe slowest, each with the number of its events in their buffer\n";
            }
            let [End { id, .. }, _] = &slow.ends;
            let stream = Some(id.stream).filter(|_| self.is_stream_shown);
            let stream = stream.map_or_else(String::new, |stream| format!("stream {stream}, "));
            let Slow { name, ns, thread, .. } = slow;
            let _ = writeln!(out, "{} {name}, {stream}thread {thread}", self.duration(*ns));
            for End { id, line, .. } in &slow.ends {
                let _ = writeln!(out, "  {line}  #{} of buffer {}", id.number, id.buffer);
            }
        }
    }
}

pub(crate) fn is_exact(group: &Group) -> bool {
    group.count() == 0 || group.percentile(Percent::P50).is_some_and(|found| found.is_exact)
}
