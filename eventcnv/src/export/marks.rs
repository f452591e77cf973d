//! Marks that are given on the command line, before those that a log has.
//!
//! ```text
//!  --slice TraceBegin=TraceEnd:trace ──▶ eventlog::reader::Marks
//! ```
//!
//! Design: `.cnv.marks` in `design/eventcnv.md`.

use crate::select;
use eventlog::reader::Registry;
use eventlog::reader::marks::{Form, MarkError, Marks};

/// Marks that are given on the command line.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Marks")]
pub(crate) struct Given {
    /// Two event types begin and end what a thread does, told apart by these parameters:
    /// BEGIN=END, or BEGIN=END:PARAM,...
    #[arg(long = "slice", value_name = "PAIR")]
    slices: Vec<String>,

    /// Two event types begin and end the life of something, in whatever thread
    #[arg(long = "span", value_name = "PAIR")]
    spans: Vec<String>,

    /// An event of one type leads to that of another type with the same parameters
    #[arg(long = "flow", value_name = "PAIR")]
    flows: Vec<String>,

    /// A parameter is the value of a counter, EVENT.PARAM; or it is added, and another subtracted,
    /// EVENT.PARAM-EVENT.PARAM. With :PARAM after it, one counter for each value of that
    #[arg(long = "counter", value_name = "COUNTER")]
    counters: Vec<String>,

    /// Let only these be marks, and those in the log's registries, not names such as XBegin, XEnd
    #[arg(long)]
    no_names: bool,
}

impl Given {
    /// The marks of these registries. Else what is wrong with those on the command line.
    pub(crate) fn marks(&self, registries: &[Registry]) -> Result<Marks, String> {
        let mut marks = Marks::default();
        let lists = [&self.slices, &self.spans, &self.flows, &self.counters];
        for ((name, form), list) in Form::ALL.into_iter().zip(lists) {
            for text in list {
                let wrong = |error| format!("--{name} {text}: {}", unknown(error, registries));
                marks.add(form, text, registries).map_err(wrong)?;
            }
        }
        for registry in registries {
            marks.add_declared(registry);
            if !self.no_names {
                marks.add_named(registry);
            }
        }
        Ok(marks)
    }
}

/// What is wrong with a mark, with names that come near.
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
        error => error.to_string(),
    }
}
