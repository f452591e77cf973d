//! An overview as JSON, for other programs.
//!
//! ```text
//!  { "events": …, "seconds": …, "streams": […], "kinds": […], "event types": […], … }
//! ```
//!
//! Design: `.cnv.stats`, `.cnv.json` in `design/eventcnv.md`.

use crate::ask::stats::summary::overview::{
    Counted, Overview, ParamOverview, TypeOverview, reason,
};
use crate::ask::stats::summary::params::TopOf;
use crate::ask::stats::summary::{Count, seconds};
use crate::text::Real;
use eventdef::Sort;
use eventlog::reader::CAUSES;
use serde_json::{Value, json};

/// Values of a parameter that are listed.
pub(crate) const TOP_COUNT: usize = 5;
pub(crate) const PERCENTILES: [f64; 3] = [50.0, 90.0, 99.0];

pub(crate) fn overview(overview: &Overview<'_>) -> Value {
    let counted = |row: &Counted| {
        let Count { events, bytes } = row.count;
        let mut found = json!({
            "name": row.name, "events": events, "bytes": bytes, "eventsPerSecond": row.rate,
        });
        if let Some(late) = row.late {
            found["completeAfter"] = json!({
                "ticks": late.ticks_after, "seconds": late.seconds_after,
            });
        }
        found
    };
    let gaps = overview.gaps.iter().map(|gap| {
        json!({
            "of": gap.of, "stream": gap.stream, "from": gap.gap.from, "to": gap.gap.to,
            "ticks": gap.gap.ticks(), "seconds": gap.seconds,
        })
    });
    let holes = overview.holes.iter().map(|hole| {
        json!({
            "stream": hole.stream, "buffer": hole.buffer, "first": hole.from,
            "count": hole.to - hole.from,
        })
    });
    let losses = overview.losses.iter().map(|(kind, losses)| {
        let mut row = json!({ "kind": kind });
        for (cause, count) in CAUSES.iter().zip(losses.causes()) {
            row[cause] = json!(count);
        }
        row
    });
    json!({
        "events": overview.total.events,
        "bytes": overview.total.bytes,
        "seconds": overview.seconds,
        "eventsPerSecond": overview.rates.map(|(events, _)| events),
        "bytesPerSecond": overview.rates.map(|(_, bytes)| bytes),
        "streams": streams(overview),
        "kinds": overview.kinds.iter().map(counted).collect::<Value>(),
        "eventTypes": overview.types.iter().map(event_type).collect::<Value>(),
        "threads": overview.threads.iter().map(counted).collect::<Value>(),
        "gaps": gaps.collect::<Value>(),
        "holes": holes.collect::<Value>(),
        "losses": losses.collect::<Value>(),
        "lost": overview.all_losses().total(),
        "faults": overview.fault_count,
    })
}

fn streams(overview: &Overview<'_>) -> Value {
    let row = |(index, stream): (usize, &eventlog::reader::Stream)| {
        let at = u16::try_from(index).unwrap_or(u16::MAX);
        let (times, before) = (overview.times.get(&at), overview.before.get(&at));
        json!({
            "program": stream.program, "producer": stream.producer, "host": stream.host,
            "process": stream.pid, "format": stream.version.to_string(),
            "wordSize": stream.platform.word_size, "bigEndian": stream.platform.big_endian,
            "closed": stream.closed,
            "clockRate": (stream.clock_rate > 0).then_some(stream.clock_rate),
            "clockRateIsApproximate": stream.is_rate_approximate,
            "first": times.map(|times| times.0), "last": times.map(|times| times.1),
            "before": before.map(|&(from, to)| json!({
                "first": from, "ticks": to - from, "seconds": seconds(stream, from, to),
                "events": reason(stream),
            })),
        })
    };
    overview.streams.iter().enumerate().map(row).collect()
}

fn event_type(row: &TypeOverview) -> Value {
    let mut found = json!({
        "name": row.name, "kind": row.kind, "events": row.count.events, "bytes": row.count.bytes,
        "eventsPerSecond": row.rate,
    });
    if !row.params.is_empty() {
        found["parameters"] = row.params.iter().map(param).collect();
    }
    found
}

fn param(param: &ParamOverview) -> Value {
    let values = &param.values;
    let mut found = json!({
        "name": param.name, "sort": param.sort.letter().to_string(), "count": values.count,
    });
    if let Some((min, max)) = values.numbers.range() {
        found["min"] = json!(Real(min));
        found["max"] = json!(Real(max));
        found["mean"] = json!(values.numbers.mean().map(Real));
        for percent in PERCENTILES {
            found[format!("p{percent}")] = json!(values.numbers.percentile(percent).map(Real));
        }
    }
    let (rows, error) = top(param, TOP_COUNT);
    let row = |row: &TopRow| {
        let mut found = json!({ "value": row.value, "count": row.count });
        if let Some(label) = &row.label {
            found["label"] = json!(label);
        }
        found
    };
    found["top"] = rows.iter().map(row).collect();
    found["topError"] = json!(error);
    found
}

/// A frequent value.
pub(crate) struct TopRow {
    pub(crate) value: String,
    pub(crate) label: Option<String>,
    pub(crate) count: u64,
}

/// Returns the most frequent values of a parameter as the named dump writes them, and the error of
/// their counts.
pub(crate) fn top(param: &ParamOverview, count: usize) -> (Vec<TopRow>, u64) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match &param.values.top {
        TopOf::Numbers(top) => {
            let row = |(&value, count, label): (&u64, u64, Option<&[u8]>)| TopRow {
                value: number(param.sort, value),
                label: label.map(text),
                count,
            };
            (top.most(count).into_iter().map(row).collect(), top.error())
        }
        TopOf::Strings(top) => {
            let rows = top.most(count).into_iter();
            let rows =
                rows.map(|(value, count, _)| TopRow { value: text(value), label: None, count });
            (rows.collect(), top.error())
        }
    }
}

fn number(sort: Sort, value: u64) -> String {
    match sort {
        Sort::P | Sort::A => format!("{value:X}"),
        Sort::B => (value != 0).to_string(),
        Sort::D => f64::from_bits(value).to_string(),
        Sort::W | Sort::U | Sort::S => value.to_string(),
    }
}
