//! Values of counters over time, as the tab *Counters* of the page has them.
//!
//! ```text
//!  Charts ──▶ those that changed most: title, unit, cells │ how many are left out
//! ```
//!
//! Design: `.cnv.report.counters` in `design/eventcnv.md`.

use crate::ask::pairs::reading::certainty_note;
use crate::page::counters::{Chart, Charts};
use crate::page::view::calls::text;
use eventlog::reader::Log;
use eventlog::reader::marks::Unit;
use lens::counters::{Counter, Refused};
use serde_json::{Value, json};

/// Returns the counters of a log; nothing if no counter has a value.
pub(crate) fn data(log: &Log, charts: &Charts) -> Option<Value> {
    let (chosen, parts) = charts.chosen();
    if chosen.is_empty() {
        return None;
    }
    let is_one = log.streams().len() < 2;
    let row = |(counter, chart): &(&Counter, Chart)| {
        let of = if is_one { String::new() } else { format!("stream {}: ", counter.stream) };
        let cells = chart.cells.iter();
        let cells = cells.flat_map(|cell| {
            [json!(cell.at), number(cell.low), number(cell.high), number(cell.last)]
        });
        json!({
            "name": text(&format!("{of}{}", counter.title)),
            "unit": counter.unit.map(|unit| match unit {
                Unit::Bytes => "bytes",
                Unit::Ns => "ns",
                Unit::Count => "count",
            }),
            "changes": chart.change_count,
            "least": charts.counters.least(counter).map(|least| number(least.as_f64())),
            "cells": cells.collect::<Value>(),
        })
    };
    let Refused { full, overflow } = charts.counters.refused();
    Some(json!({
        "parts": parts,
        "count": charts.count(),
        "refused": [full, overflow],
        "certainty": certainty_note(log, &charts.counters),
        "rows": chosen.iter().map(row).collect::<Value>(),
    }))
}

/// Returns a value in as few digits as tell it.
fn number(value: f64) -> Value {
    let is_whole = value.fract() == 0.0 && value.abs() < (1u64 << 53) as f64;
    if is_whole { json!(value as i64) } else { json!(value) }
}
