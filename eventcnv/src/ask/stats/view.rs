//! Counts of events and bytes, values of parameters, gaps and losses.
//!
//! ```text
//!  Overview ──▶ totals, streams │ kinds │ event types │ threads │ parameters │ gaps │ losses
//! ```
//!
//! Design: `.cnv.stats` in `design/eventcnv.md`.

use crate::ask::stats::summary::overview::{
    GapOverview, Overview, ParamOverview, TypeOverview, reason,
};
use crate::ask::stats::summary::params::TopOf;
use crate::ask::stats::summary::{Count, seconds};
use crate::{show, text};
use cli::Stop;
use cli::table::{Around, Cell, Form, Sheet, Table, count, rate, text, time};
use cli::units::{counted, three_digits};
use eventdef::Sort;
use eventlog::reader::{CAUSES, ClockBase, Stream};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Values of a parameter that are listed, and those that a line for people has.
const TOP_COUNT: usize = 5;
const TOLD_COUNT: usize = 3;
const PERCENTILES: [f64; 3] = [50.0, 90.0, 99.0];

/// Returns the statistics in a form; CSV has the event types.
pub(crate) fn answer(overview: &Overview<'_>, form: &Form) -> Result<Vec<u8>, Stop> {
    let mut before = Vec::new();
    let Count { events, bytes } = overview.total;
    write!(before, "{}, {}", counted(events, "event"), counted(bytes, "byte"))?;
    if let Some(rates) = overview.rates {
        let [events, bytes] = [rates.0, rates.1].map(three_digits);
        write!(before, "; {events} events/s, {bytes} bytes/s")?;
    }
    writeln!(before)?;
    write_streams(overview, &mut before)?;
    let open_end = overview.open_end.as_ref().map(|what| format!("\n{what}\n"));
    let lost = match (overview.fault_count, &open_end) {
        _ if !overview.losses.is_empty() => String::new(),
        (0, Some(_)) => "\nnothing else is known to be lost\n".to_owned(),
        (0, None) => "\nnothing is known to be lost\n".to_owned(),
        (count, _) => {
            let faults = counted(count, "fault");
            let were = if count == 1 { "was" } else { "were" };
            format!("\n{faults} {were} found, which may have cost events\n")
        }
    };
    let after = open_end.unwrap_or_default() + &lost;
    let facts = json!({
        "events": events,
        "bytes": bytes,
        "seconds": overview.seconds,
        "events_per_s": overview.rates.map(|(events, _)| events),
        "bytes_per_s": overview.rates.map(|(_, bytes)| bytes),
        "streams": streams(overview),
        "lost": overview.all_losses().total(),
        "faults": overview.fault_count,
    });
    let before = String::from_utf8_lossy(&before).into_owned();
    let around = Around { before, after, facts, ..Around::default() };
    form.answer_all("event_types", sheets(overview), around)
}

/// Returns the tables of the statistics.
pub(crate) fn sheets(overview: &Overview<'_>) -> Vec<Sheet<'static>> {
    let mut sheets = overview.counts();
    sheets.extend(overview.has_params.then(|| overview.params()));
    sheets.extend(overview.gaps());
    sheets
}

impl Overview<'_> {
    /// Returns the clock of the times: ticks, if the length of one is unknown.
    fn base(&self) -> ClockBase {
        self.seconds.map_or(ClockBase::Ticks, |_| ClockBase::Start)
    }

    /// Returns a time that is known in seconds and in ticks.
    fn time(&self, seconds: Option<f64>, ticks: u64) -> Cell {
        match self.seconds {
            Some(_) => seconds.map(|seconds| (seconds * 1e9).round() as u64).into(),
            None => ticks.into(),
        }
    }

    fn counts(&self) -> Vec<Sheet<'static>> {
        let columns = || [count("events"), count("bytes"), rate("events").if_any()];
        let cells = |count: Count, rate: Option<f64>| {
            [count.events.into(), count.bytes.into(), Cell::from(rate)]
        };
        let late = time("complete after").if_any();
        let kinds = [text("kind")].into_iter().chain(columns()).chain([late]);
        let mut kinds = Table::new(kinds).of(self.base());
        for row in &self.kinds {
            let late = row.late.map(|late| self.time(late.seconds_after, late.ticks_after));
            let counts = cells(row.count, row.rate).into_iter().chain([late.into()]);
            kinds.row([row.name.clone().into()].into_iter().chain(counts));
        }
        let names = [text("event type"), text("kind").for_programs()];
        let mut types = Table::new(names.into_iter().chain(columns()));
        for row in &self.types {
            let names = [&row.name, &row.kind].map(|name| name.clone().into());
            types.row(names.into_iter().chain(cells(row.count, row.rate)));
        }
        let mut threads = Table::new([text("thread")].into_iter().chain(columns()));
        for row in &self.threads {
            let name = [row.name.clone().into()].into_iter();
            threads.row(name.chain(cells(row.count, row.rate)));
        }
        vec![
            Sheet::new("kinds", kinds),
            Sheet::new("event_types", types),
            Sheet::new("threads", threads),
        ]
    }

    /// Returns the values of parameters.
    fn params(&self) -> Sheet<'static> {
        let names = [text("event type"), text("parameter"), text("sort").for_programs()];
        let counts = ["count", "top error"].map(|name| count(name).for_programs());
        let values = ["min", "mean", "p50", "p90", "p99", "max"].map(count);
        let columns = names.into_iter().chain(counts).chain(values);
        let top = text("top").titled("most frequent values");
        let mut table = Table::new(columns.chain([top]));
        for row in &self.types {
            row.params.iter().for_each(|param| table.row(cells_of(row, param)));
        }
        let mut after =
            "percentiles with ~ are at most 1/64 too low; counts with ≥ are lower bounds\n"
                .to_owned();
        if self.is_params_cut {
            after += "the log has more parameters: select event types to see them\n";
        }
        Sheet::new("parameters", table).between("\n".to_owned(), after)
    }

    /// Returns the longest gaps in time, the missing numbers of events, and how many requested
    /// events are not in the log, by cause.
    fn gaps(&self) -> [Sheet<'static>; 3] {
        let stream = || count("stream").for_programs();
        let ticks = ["from tick", "to tick"].map(|name| count(name).for_programs());
        let times = [time("after"), time("").titled("for")];
        let columns = [text("of").titled("no events of"), stream()].into_iter().chain(ticks);
        let mut gaps = Table::new(columns.chain(times)).of(self.base());
        for GapOverview { of, stream, gap, seconds, seconds_before } in &self.gaps {
            let first = self.times.get(stream).map_or(0, |times| times.0);
            gaps.row([
                of.clone().into(),
                u64::from(*stream).into(),
                gap.from.into(),
                gap.to.into(),
                self.time(*seconds_before, gap.from.saturating_sub(first)),
                self.time(*seconds, gap.ticks()),
            ]);
        }
        let buffer = text("buffer").titled("missing of buffer");
        let mut holes = Table::new([stream(), buffer, count("first number"), count("events")]);
        for hole in &self.holes {
            let of = match self.streams.len() {
                1 => hole.buffer.to_string(),
                _ => format!("stream {}: {}", hole.stream, hole.buffer),
            };
            let of = Cell::Words(of, json!(hole.buffer));
            let stream = u64::from(hole.stream).into();
            holes.row([stream, of, hole.from.into(), (hole.to - hole.from).into()]);
        }
        let unlisted = match self.unlisted_hole_count {
            0 => String::new(),
            count => format!("and {count} more, none longer\n"),
        };
        let kind = text("kind").titled("not in the log");
        let mut losses = Table::new([kind].into_iter().chain(CAUSES.map(count)));
        for (kind, lost) in &self.losses {
            losses.row([kind.clone().into()].into_iter().chain(lost.causes().map(Cell::from)));
        }
        let holes = Sheet::new("holes", holes).between("\n".to_owned(), unlisted);
        [Sheet::new("gaps", gaps), holes, Sheet::new("losses", losses).whole()]
    }
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
            write!(out, ", {}", counted(last - first, "tick"))?;
            if let Some(seconds) = seconds(stream, first, last) {
                let about = if stream.is_rate_approximate { "about " } else { "" };
                write!(out, " ({about}{seconds:.6} s)")?;
            }
        }
        let before = u16::try_from(index).ok().and_then(|index| overview.before.get(&index));
        if let Some(&(from, to)) = before {
            let length = seconds(stream, from, to);
            let length = length
                .map_or_else(|| counted(to - from, "tick"), |seconds| format!("{seconds:.6} s"));
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

fn cells_of(row: &TypeOverview, param: &ParamOverview) -> impl Iterator<Item = Cell> {
    let numbers = &param.values.numbers;
    let (min, max) = numbers.range().unzip();
    let percentile = |percent| param.values.percentile(percent, param.sort);
    let percentiles =
        PERCENTILES.map(|percent| show::about(percentile(percent), param.unit, param.sort));
    let (top, error) = top(param);
    let cell = |value: Option<f64>| show::cell(value, param.unit, param.sort);
    let names = [&row.name, &param.name].map(|name| name.clone().into()).into_iter();
    names
        .chain([param.sort.letter().to_string().into(), param.values.count.into(), error.into()])
        .chain([min, numbers.mean()].map(cell))
        .chain(percentiles)
        .chain([cell(max)])
        .chain([top])
}

/// Returns the most frequent values of a parameter as the named dump writes them, and the error of
/// their counts.
fn top(param: &ParamOverview) -> (Cell, u64) {
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let quoted = |bytes: &[u8]| {
        let mut text = Vec::new();
        text::quoted(&mut text, bytes);
        words(&text)
    };
    // The text for people, the value, its label, its count.
    type Row = (String, String, Option<String>, u64);
    let (rows, error): (Vec<Row>, u64) = match &param.values.top {
        TopOf::Numbers(top) => {
            let row = |(&value, count, label): (&u64, u64, Option<&[u8]>)| {
                let scaled = show::scale(param.unit, param.sort).map(|scale| match param.sort {
                    Sort::D => scale(f64::from_bits(value)),
                    _ => scale(value as f64),
                });
                let value = number(param.sort, value);
                let labelled = label.map(|label| format!("{value}[{}]", quoted(label)));
                let scaled = scaled.map(|figure| figure.to_string());
                let shown = labelled.or(scaled).unwrap_or_else(|| value.clone());
                (shown, value, label.map(words), count)
            };
            (top.most(TOP_COUNT).into_iter().map(row).collect(), top.error())
        }
        TopOf::Strings(top) => {
            let rows = top.most(TOP_COUNT).into_iter();
            let rows = rows.map(|(value, count, _)| (quoted(value), words(value), None, count));
            (rows.collect(), top.error())
        }
    };
    let least = if error > 0 { "≥" } else { "" };
    let told = rows.iter().take(TOLD_COUNT);
    let told: Vec<_> = told.map(|(shown, .., count)| format!("{shown} ×{least}{count}")).collect();
    let row = |(_, value, label, count): &Row| {
        let mut row = json!({ "value": value, "count": count });
        label.iter().for_each(|label| row["label"] = json!(label));
        row
    };
    (Cell::Words(told.join(", "), rows.iter().map(row).collect()), error)
}

fn number(sort: Sort, value: u64) -> String {
    match sort {
        Sort::P | Sort::A => format!("{value:X}"),
        Sort::B => (value != 0).to_string(),
        Sort::D => f64::from_bits(value).to_string(),
        Sort::W | Sort::U | Sort::S => value.to_string(),
    }
}

fn streams(overview: &Overview<'_>) -> Value {
    let row = |(index, stream): (usize, &Stream)| {
        let at = u16::try_from(index).unwrap_or(u16::MAX);
        let (times, before) = (overview.times.get(&at), overview.before.get(&at));
        json!({
            "program": stream.program, "producer": stream.producer, "host": stream.host,
            "process": stream.pid, "format": stream.version.to_string(),
            "word_size": stream.platform.word_size, "big_endian": stream.platform.big_endian,
            "closed": stream.closed,
            "clock_rate": (stream.clock_rate > 0).then_some(stream.clock_rate),
            "is_clock_rate_approximate": stream.is_rate_approximate,
            "first_tick": times.map(|times| times.0), "last_tick": times.map(|times| times.1),
            "before": before.map(|&(from, to)| json!({
                "first_tick": from, "ticks": to - from, "seconds": seconds(stream, from, to),
                "events": reason(stream),
            })),
        })
    };
    overview.streams.iter().enumerate().map(row).collect()
}

/// Writes which volumes of a stream the log has, if the stream has several (`.header.volume`).
fn write_volumes(stream: &Stream, out: &mut dyn Write) -> io::Result<()> {
    match stream.volumes {
        (0, 0) if stream.next_volume.is_none() => Ok(()),
        (first, last) if first == last => write!(out, ", volume {first}"),
        (first, last) => write!(out, ", volumes {first} to {last}"),
    }
}
