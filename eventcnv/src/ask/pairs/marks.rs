//! Options that mark pairs of event types.
//!
//! ```text
//!  --slice TraceBegin=TraceEnd:trace ──▶ eventlog::reader::Marks
//! ```
//!
//! Design: `.cnv.marks` in `design/eventcnv.md`.

use crate::open::select;
use eventlog::reader::Registry;
use eventlog::reader::marks::{Form, MarkError, Marks};

/// The options.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Marks")]
pub(crate) struct MarkOptions {
    /// Two event types begin and end an activity of a thread: BEGIN=END. BEGIN=END:PARAM,... pairs
    /// events that have equal parameters
    #[arg(long = "slice", value_name = "PAIR")]
    slices: Vec<String>,

    /// Two event types begin and end a lifetime, in any thread
    #[arg(long = "span", value_name = "PAIR")]
    spans: Vec<String>,

    /// An event of one type leads to the event of another type with equal parameters
    #[arg(long = "flow", value_name = "PAIR")]
    flows: Vec<String>,

    /// A parameter is the value of a counter, EVENT.PARAM; or one adds and another subtracts,
    /// EVENT.PARAM-EVENT.PARAM. With :PARAM after it, each value of that parameter has a counter
    #[arg(long = "counter", value_name = "COUNTER")]
    counters: Vec<String>,

    /// Ignore names such as XBegin and XEnd; use only these options and the log's registries
    #[arg(long)]
    no_names: bool,
}

/// The options of what begins and ends.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Marks")]
pub(crate) struct PairOptions {
    /// Two event types begin and end an activity of a thread: BEGIN=END. BEGIN=END:PARAM,... pairs
    /// events that have equal parameters
    #[arg(long = "slice", alias = "pair", value_name = "PAIR")]
    slices: Vec<String>,

    /// Two event types begin and end a lifetime, in any thread
    #[arg(long = "span", value_name = "PAIR")]
    spans: Vec<String>,

    /// Ignore names such as XBegin and XEnd; use only these options and the log's registries
    #[arg(long)]
    no_names: bool,
}

impl PairOptions {
    /// Returns the marks for these registries, or what is wrong with the options.
    pub(crate) fn marks(&self, registries: &[Registry]) -> Result<Marks, String> {
        let lists = [("slice", Form::Slice, &self.slices), ("span", Form::Span, &self.spans)];
        marks(&lists, self.no_names, registries)
    }
}

impl MarkOptions {
    /// Returns the marks for these registries, or what is wrong with the options.
    pub(crate) fn marks(&self, registries: &[Registry]) -> Result<Marks, String> {
        let lists = [&self.slices, &self.spans, &self.flows, &self.counters];
        let lists: Vec<_> = Form::ALL
            .into_iter()
            .zip(lists)
            .map(|((name, form), list)| (name, form, list))
            .collect();
        marks(&lists, self.no_names, registries)
    }
}

/// Returns the marks of options, by name and form of each, and then those of the registries.
fn marks(
    lists: &[(&str, Form, &Vec<String>)],
    no_names: bool,
    registries: &[Registry],
) -> Result<Marks, String> {
    let mut marks = Marks::default();
    for (name, form, list) in lists {
        for text in *list {
            let wrong = |error| format!("--{name} {text}: {}", unknown(error, registries));
            marks.add(*form, text, registries).map_err(wrong)?;
        }
    }
    for registry in registries {
        marks.add_declared(registry);
        if !no_names {
            marks.add_named(registry);
        }
    }
    Ok(marks)
}

/// Returns the error for a mark, with similar names.
fn unknown(error: MarkError, registries: &[Registry]) -> String {
    let rows = || registries.iter().flat_map(|registry| &registry.event_types);
    match error {
        MarkError::EventType(name) => {
            select::unknown("event type", &name, rows().map(|row| &*row.name))
        }
        MarkError::Param { event_type, param } => {
            let row = rows().find(|row| *row.name == event_type);
            let params = row.into_iter().flat_map(|row| &row.params).map(|param| &*param.name);
            select::unknown(&format!("parameter of {event_type}"), &param, params)
        }
        MarkError::Sort { ref event_type, .. } => {
            let row = rows().find(|row| *row.name == **event_type);
            let params = row.into_iter().flat_map(|row| &row.params);
            let numbers = params.filter(|param| param.sort.is_number());
            let numbers: Vec<&str> = numbers.map(|param| &*param.name).collect();
            let numbers = if numbers.is_empty() { "none".to_owned() } else { numbers.join(", ") };
            format!("{error} (integers and doubles); {event_type} has {numbers}")
        }
        error => error.to_string(),
    }
}
