//! The differences between two logs.
//!
//! ```text
//!  A: 1690 events …   B: 4028 events …
//!  event type   A events   B events   change %     most significant first
//! ```
//!
//! Design: `.cnv.diff` in `design/eventcnv.md`.

use crate::ask::diff::summary::{Both, Difference, significance};
use crate::ask::stats::summary::Count;
use crate::ask::stats::summary::overview::Overview;
use crate::show;
use cli::Stop;
use cli::table::{Around, Cell, Form, Sheet, Table, count, percent, rate, text};
use cli::units::three_digits;
use serde_json::json;
use std::collections::HashMap;

/// Rows of labels or registries for people.
const ROW_COUNT_MAX: usize = 100;

/// Returns the differences between logs with these names in a form; CSV has the event types.
pub(crate) fn answer(
    difference: &Difference,
    names: [&str; 2],
    sides: [&Overview<'_>; 2],
    form: &Form,
) -> Result<Vec<u8>, Stop> {
    let mut facts = json!({ "same": difference.is_none() });
    let mut before = String::new();
    for ((letter, name), side) in ["A", "B"].into_iter().zip(names).zip(sides) {
        let Count { events, bytes } = side.total;
        facts[letter.to_lowercase()] =
            json!({ "events": events, "bytes": bytes, "seconds": side.seconds });
        before += &format!("{letter}: {name}: {events} events, {bytes} bytes");
        if let (Some(seconds), Some((rate, _))) = (side.seconds, side.rates) {
            let is_approximate = side.streams.iter().any(|stream| stream.is_rate_approximate);
            let about = if is_approximate { "about " } else { "" };
            before += &format!(" in {about}{seconds:.6} s, {} events/s", three_digits(rate));
        }
        before += "\n";
    }
    let kinds = sides.map(|side| side.kinds.iter().map(|row| (&*row.name, row.rate)).collect());
    let types = sides.map(|side| side.types.iter().map(|row| (&*row.name, row.rate)).collect());
    let mut sheets = vec![
        Sheet::new("kinds", counts(&difference.kinds, "kind", &kinds)),
        Sheet::new("event_types", counts(&difference.types, "event type", &types)),
        Sheet::new("parameters", params(difference)),
    ];
    let of_labels =
        [("labels_only_in_a", "labels only in A"), ("labels_only_in_b", "labels only in B")];
    for ((name, title), labels) in of_labels.into_iter().zip(&difference.labels) {
        let mut table = Table::new([text("label").titled(title)]);
        labels.iter().for_each(|label| table.row([label.clone().into()]));
        sheets.push(Sheet::new(name, table).most(ROW_COUNT_MAX));
    }
    let mut registries = Table::new([text("registry"), text("what changed")]);
    for (name, what) in &difference.registries {
        registries.row([name, what].map(|text| text.clone().into()));
    }
    let kind = text("kind and cause").titled("not in the log");
    let mut losses = Table::new([kind, count("A events"), count("B events")]);
    for (name, counts) in &difference.losses {
        losses.row([name.clone().into()].into_iter().chain(counts.map(Cell::from)));
    }
    sheets.push(Sheet::new("registries", registries).most(ROW_COUNT_MAX));
    sheets.push(Sheet::new("losses", losses).whole());
    let none = "\nthe same events, values, labels and losses";
    form.answer_all("event_types", sheets, Around { before, none, facts, ..Around::default() })
}

/// Rates by name.
type Rates<'r> = HashMap<&'r str, Option<f64>>;

fn counts<'t>(rows: &[Both<Count>], of: &'t str, rates: &[Rates<'_>; 2]) -> Table<'t> {
    let events = ["A events", "B events"];
    let bytes = ["A bytes", "B bytes"].map(|name| count(name).for_programs());
    let columns = [text(of)].into_iter().chain(events.map(count)).chain([percent("change")]);
    let columns = columns.chain(events.map(|name| rate(name).if_any())).chain(bytes);
    let mut table = Table::new(columns.chain([count("significance").for_programs()]));
    for (name, counts) in rows {
        let [a, b] = counts.map(|count| count.events);
        let change = (b as f64 - a as f64) * 100.0 / a as f64;
        let change = Some(Cell::Change(change)).filter(|_| a > 0);
        let rate = |rates: &Rates<'_>| Cell::from(rates.get(&**name).copied().flatten());
        let cells = [name.clone().into(), a.into(), b.into(), change.into()];
        let bytes = counts.map(|count| count.bytes.into());
        let cells = cells.into_iter().chain(rates.each_ref().map(rate)).chain(bytes);
        table.row(cells.chain([significance(*counts).into()]));
    }
    table
}

fn params(difference: &Difference) -> Table<'static> {
    let counts = ["A count", "B count"].map(|name| count(name).for_programs());
    let values = ["A mean", "B mean", "A p50", "B p50", "A max", "B max"].map(count);
    let columns = [text("parameter"), count("distance")].into_iter().chain(counts);
    let mut table = Table::new(columns.chain(values));
    for param in &difference.params {
        let [a, b] = param.values;
        let cells = [param.name.clone().into(), param.distance.into(), a.count.into()];
        let cell = |value| show::cell(value, param.unit, param.sort);
        let medians = [a, b].map(|side| show::about(side.median, param.unit, param.sort));
        let cells = cells.into_iter().chain([b.count.into()]);
        let cells = cells.chain([a.mean, b.mean].map(cell)).chain(medians);
        table.row(cells.chain([a.max, b.max].map(cell)));
    }
    table
}
