//! The graphs and plans of functions with `#[path]`, from the strings of a log.
//!
//! Design: `.paths.marked` in `design/paths.md`.

use crate::condition::clashes;
use crate::graph::{Builder, FunctionId, GraphError, Program};
use crate::plan::text as plans;
use crate::profile::Profile;
use core::fmt;
use eventdef::path::GRAPH;
use eventlog::reader::{Filter, Log, Order};
use std::collections::BTreeMap;

/// Why a log has no path of functions with `#[path]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarkedError {
    /// It has no graph of such a function.
    Empty,
    /// A graph, or its plan, cannot be read.
    Graph {
        /// the function
        function: String,
        /// what is wrong
        what: String,
    },
}

impl fmt::Display for MarkedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MarkedError::Empty => f.write_str("has no function with `#[path]`"),
            MarkedError::Graph { function, what } => {
                write!(f, "the graph of {function} cannot be read ({what})")
            }
        }
    }
}

impl core::error::Error for MarkedError {}

/// Bytes of all graphs, at most; later ones are left out.
const TEXT_SIZE_MAX: usize = 1 << 28;

/// A function: its program alone, and its witnesses.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) program: Program,
    pub(super) profile: Profile,
}

/// The first numbers of the functions of each stream, with the functions.
pub(super) type Numbers = BTreeMap<(u16, u64), usize>;

/// The parts of a text.
#[derive(Default)]
struct Parts {
    name: String,
    count: usize,
    texts: BTreeMap<usize, Vec<u8>>,
}

/// Reads the functions of a log: as one program, each alone, and their numbers.
pub(super) fn read(log: &Log) -> Result<(Program, Vec<Own>, Numbers), MarkedError> {
    let (mut known, mut numbers) = (BTreeMap::new(), Numbers::new());
    let (mut functions, mut builder) = (Vec::new(), Builder::default());
    for (place, parts) in parts(log) {
        // The rest of it is lost: its events are those of an unknown function.
        if parts.texts.len() != parts.count {
            continue;
        }
        let text: Vec<u8> = parts.texts.into_values().flatten().collect();
        let failed = |what: String| MarkedError::Graph { function: parts.name.clone(), what };
        let text = String::from_utf8(text).map_err(|error| failed(error.to_string()))?;
        let at = match known.get(&(parts.name.clone(), text.clone())) {
            Some(at) => *at,
            None => {
                let own = function(&text).map_err(failed)?;
                add(&mut builder, &parts.name, &own.program)
                    .map_err(|error| failed(error.to_string()))?;
                functions.push(own);
                known.insert((parts.name.clone(), text), functions.len() - 1);
                functions.len() - 1
            }
        };
        numbers.insert(place, at);
    }
    let program = builder.build().map_err(|_| MarkedError::Empty)?;
    Ok((program, functions, numbers))
}

/// Returns the parts of all texts, by the stream and the first number of each.
fn parts(log: &Log) -> BTreeMap<(u16, u64), Parts> {
    let mut all: BTreeMap<(u16, u64), Parts> = BTreeMap::new();
    let mut room = TEXT_SIZE_MAX;
    log.events(Order::Time, &Filter::new().events(["Intern"])).each(|event| {
        let string = event.param("string").filter(|_| event.registry.index == 0);
        let Some(string) = string.as_ref().and_then(|own| own.as_bytes()) else { return };
        let Some((head, text)) = split(string) else { return };
        let words: Vec<&str> = head.splitn(4, ' ').collect();
        let [first, part, count, name] = words[..] else { return };
        let (Ok(first), Ok(part), Ok(count)) = (first.parse(), part.parse(), count.parse()) else {
            return;
        };
        let Some(left) = room.checked_sub(text.len()) else { return };
        room = left;
        let own = all.entry((event.stream, first)).or_default();
        (own.name, own.count) = (name.to_owned(), count);
        own.texts.insert(part, text.to_vec());
    });
    all
}

/// Splits a string into the words of its first line and the text.
fn split(string: &[u8]) -> Option<(&str, &[u8])> {
    let rest = string.strip_prefix(GRAPH.as_bytes())?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    Some((str::from_utf8(rest.get(..end)?).ok()?, rest.get(end + 1..)?))
}

/// Reads a graph of one function and its plan.
fn function(text: &str) -> Result<Own, String> {
    let (graph, plan) = text.split_once("\nplan ").ok_or("it has no plan")?;
    let program = crate::graph::text::read(graph).map_err(|error| error.to_string())?;
    if program.functions().len() != 1 {
        return Err("it has several functions".into());
    }
    let plan = plans::read(&program, &format!("plan {plan}"))?;
    let [run] = &plan[..] else { return Err("its plan has several runs".into()) };
    let profile = run.profile.clone();
    let open = clashes(&program, core::slice::from_ref(&profile));
    if open.is_ok_and(|open| !open.is_empty()) {
        return Err("its witnesses do not tell its path".into());
    }
    Ok(Own { program, profile })
}

/// Adds the function of a program to another one, under another name.
fn add(builder: &mut Builder, name: &str, program: &Program) -> Result<(), GraphError> {
    let Some(own) = program.functions().first() else { return Ok(()) };
    let id: FunctionId = builder.function(name, own.address())?;
    for block in own.blocks() {
        let added = builder.block(id, block.address, block.label.as_deref())?;
        if block.returns {
            builder.returns(id, added)?;
        }
        if block.stops {
            builder.stops(id, added)?;
        }
    }
    builder.entry(id, own.entry())?;
    own.edges().iter().try_for_each(|edge| builder.weighted_edge(id, edge.clone()))
}
