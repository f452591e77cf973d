//! Logs of the registry `path` as collections, and as executions.
//!
//! ```text
//!  RunStart, Witness …, RunStop ──▶ Collection           CallBegin, BlockBegin … ──▶ elements
//! ```
//!
//! Design: `.paths.events` in `design/paths.md`.

use crate::answer::element_of;
use crate::graph::{Element, ElementId, FunctionId, Program};
use crate::walk::{Collection, Elements, Step};
use core::fmt;
use eventlog::reader::{Event, Filter, Log, Order};

/// The events of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The number of its profile, if it is known.
    pub run: Option<usize>,
    /// The fingerprint of its graph, if it is known.
    pub graph: Option<u64>,
    /// Its letters.
    pub collection: Collection,
    /// Whether no letter is missing: its stop counts all.
    pub is_complete: bool,
    /// What it was of, if a job recorded it.
    pub of: Option<Of>,
    /// The functions that code outside called, and how often.
    pub callbacks: Vec<(String, u64)>,
}

/// What a run was of: runs of one plan and one execution have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Of {
    /// The fingerprint of the plan.
    pub plan: u64,
    /// The fingerprint of the program, its arguments, environment, folder and input.
    pub source: u64,
    /// The fingerprint of what it printed, and of how it ended.
    pub output: u64,
    /// Calls from code outside.
    pub callbacks: u64,
    /// Whether it ended by itself.
    pub is_whole: bool,
}

/// Why a log is not that of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceError {
    /// It has no witness.
    Empty,
    /// It has the witnesses of several threads or runs.
    Several,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SourceError::Empty => "has no witness of the registry \"path\"",
            SourceError::Several => "has witnesses of several threads or runs; give a log of one",
        })
    }
}

impl core::error::Error for SourceError {}

fn each<'l>(log: &'l Log, mut each: impl FnMut(&Event<'l, '_>)) {
    log.events(Order::Time, &Filter::default()).each(|event| {
        if &*event.registry.name == "path" {
            each(event);
        }
    });
}

fn number(event: &Event<'_, '_>, name: &str) -> Option<u64> {
    event.param(name).and_then(|value| value.as_u64())
}

/// Returns the run that a log has. It begins with the event of its start, and ends with that of its
/// stop, if no witness is missing.
///
/// # Errors
///
/// Fails if the log has no run, or several.
pub fn recorded(log: &Log) -> Result<Recorded, SourceError> {
    let (mut found, mut place, mut is_several) = (Recorded::default(), None, false);
    let mut begins = 0;
    each(log, |event| {
        let own = (event.stream, event.buffer, event.thread);
        match event.name() {
            "RunStart" => {
                begins += 1;
                found.collection.begins = found.collection.letters.is_empty();
                found.run = number(event, "profile").and_then(|run| usize::try_from(run).ok());
                found.graph = number(event, "graph");
            }
            "Witness" => {
                is_several |= *place.get_or_insert(own) != own;
                let letter = number(event, "element").and_then(|own| u32::try_from(own).ok());
                found.collection.letters.extend(letter);
            }
            "RunOf" => {
                let number = |name| number(event, name).unwrap_or_default();
                found.of = Some(Of {
                    plan: number("plan"),
                    source: number("source"),
                    output: number("output"),
                    callbacks: number("callbacks"),
                    is_whole: number("whole") != 0,
                });
            }
            "OutsideCalls" => {
                let name = event
                    .param("function")
                    .and_then(|own| Some(own.as_str()?.to_owned()))
                    .unwrap_or_default();
                found.callbacks.push((name, number(event, "calls").unwrap_or_default()));
            }
            "RunStop" => {
                let hits = found.collection.letters.len() as u64;
                found.is_complete = number(event, "hits") == Some(hits);
            }
            _ => {}
        }
    });
    // A job notes what it got of a program that was killed, too.
    found.collection.ends = found.is_complete && found.of.is_none_or(|own| own.is_whole);
    match (begins, place) {
        _ if is_several || begins > 1 => Err(SourceError::Several),
        (0, None) => Err(SourceError::Empty),
        _ => Ok(found),
    }
}

/// Returns the elements of the path in a log, for [`crate::Weights::counted`].
pub fn walked(program: &Program, log: &Log) -> Vec<ElementId> {
    let mut elements = Elements::new(program);
    let mut open: Vec<FunctionId> = Vec::new();
    each(log, |event| {
        let of = |name| number(event, name).and_then(element_of).and_then(|id| program.element(id));
        match event.name() {
            "CallBegin" => {
                if let Some(Element::Enter(function)) = of("function") {
                    open.push(function);
                    elements.add(Step::Enter(function));
                }
            }
            "BlockBegin" => {
                if let Some(Element::Block(function, block)) = of("block") {
                    elements.add(Step::Block(function, block));
                }
            }
            "CallEnd" => {
                if let Some(function) = open.pop() {
                    let is_return = number(event, "how") == Some(0);
                    elements.add(if is_return {
                        Step::Leave(function)
                    } else {
                        Step::Unwound(function)
                    });
                }
            }
            _ => {}
        }
    });
    elements.finish()
}
