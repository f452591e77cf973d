//! Texts of graphs and plans, and their forks in words.

use cli::Stop;
use lens_paths::graph::{Note, Program};
use lens_paths::plan::Run;
use lens_paths::{Clash, Way};
use std::fs;
use std::path::Path;

/// Bytes of a text, at most.
const TEXT_SIZE_MAX: u64 = 1 << 30;

/// Returns a stop that names a file.
pub(super) fn stop(path: &Path, what: &dyn std::fmt::Display) -> Stop {
    Stop::Message(format!("{}: {what}", cli::log::name(path)))
}

/// Returns the text of a file.
pub(super) fn text(path: &Path) -> Result<String, Stop> {
    let size = fs::metadata(path).map_err(|error| stop(path, &error))?.len();
    if size > TEXT_SIZE_MAX {
        return Err(stop(path, &"is larger than 1 GiB"));
    }
    fs::read_to_string(path).map_err(|error| stop(path, &error))
}

/// Reads a graph, and says what a user may not expect of it.
pub(super) fn graph(path: &Path) -> Result<Program, Stop> {
    let program = lens_paths::graph::read(&text(path)?).map_err(|error| stop(path, &error))?;
    let name = |function| program.function(function).map_or("?", |own| own.name());
    for note in program.notes() {
        let said = match note {
            Note::Unreachable(function, blocks) => {
                let count = cli::units::counted(blocks.len() as u64, "block");
                format!("no path of {} leads to {count} of it", name(*function))
            }
            Note::Endless(function) => {
                format!("no path through {} returns or ends the program", name(*function))
            }
            Note::Doubled(function, from, to) => format!(
                "{} has several edges from block {} to block {}, which are one",
                name(*function),
                from.0,
                to.0
            ),
            _ => continue,
        };
        cli::complain(&format!("eventcnv: {}: note: {said}\n", cli::log::name(path)));
    }
    Ok(program)
}

/// Reads a plan of a program.
pub(super) fn plan_of(program: &Program, path: &Path) -> Result<Vec<Run>, Stop> {
    lens_paths::plan::text::read(program, &text(path)?).map_err(|error| stop(path, &error))
}

/// Says which ways are not told apart.
fn say(program: &Program, clash: &Clash) -> String {
    let function = program.function(clash.fork.function);
    let name = |id| program.function(id).map_or("?", |own| own.name());
    let block = |id: lens_paths::graph::BlockId| {
        let label = function.and_then(|own| own.block(id)).and_then(|own| own.label.as_deref());
        label.map_or_else(|| format!("block {}", id.0), |label| format!("block {label}"))
    };
    let way = |way: Way| match way {
        Way::Edge(edge) => {
            let to = function.and_then(|own| own.edges().get(edge.0 as usize));
            to.map_or("?".into(), |edge| block(edge.to))
        }
        Way::Return => "its return".into(),
        Way::Stop => "the end of the program".into(),
        Way::Into(callee) => format!("a call of {}", name(callee)),
        Way::Outside => "a call of code outside".into(),
    };
    let (one, other) = clash.ways;
    format!(
        "{}, after {}: nothing tells {} from {}",
        name(clash.fork.function),
        block(clash.fork.block),
        way(one),
        way(other)
    )
}

/// Says the first clashes of several.
pub(super) fn say_all(program: &Program, clashes: &[Clash]) -> Vec<String> {
    const SAID_COUNT_MAX: usize = 20;
    let mut lines: Vec<String> =
        clashes.iter().take(SAID_COUNT_MAX).map(|clash| say(program, clash)).collect();
    match clashes.len().saturating_sub(SAID_COUNT_MAX) {
        0 => {}
        more => lines.push(format!("and {more} more pairs")),
    }
    lines
}
