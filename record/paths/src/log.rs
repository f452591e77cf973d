//! A run as a log, and back.
//!
//! ```text
//!  Gathered ─▶ RunStart, RunOf, OutsideCalls …, Witness …, RunStop ─▶ log ─▶ Gathered
//! ```
//!
//! Design: `.collect.jobs` in `design/collect.md`.

use crate::error::CollectError;
use crate::job::Gathered;
use eventlog::reader::Log;
use eventlog::writer::{MakeError, Maker, Origin, uuid_of};
use lens_paths::answer::ordered;
use lens_paths::events::{OutsideCalls, RunOf, RunStart, RunStop, Witness};
use lens_paths::source::recorded;
use std::io::Write;
use std::path::Path;

/// Bytes of a function's name, at most.
const NAME_SIZE_MAX: usize = 4000;

/// Writes a run as a log.
///
/// # Errors
///
/// Fails as [`Maker::add`] does.
pub fn write(run: &Gathered, out: &mut dyn Write) -> Result<(), MakeError> {
    let mut origin = Origin::new();
    let letters = run.letters.iter().flat_map(|letter| letter.to_le_bytes());
    let facts = [run.plan, run.source, run.output, run.run as u64];
    let source: Vec<u8> = facts.iter().flat_map(|own| own.to_le_bytes()).chain(letters).collect();
    origin.uuid = uuid_of(&source);
    origin.producer = concat!("eventcnv ", env!("CARGO_PKG_VERSION")).into();
    let mut maker = Maker::new(out);
    maker.begin(&ordered(origin))?;
    maker.thread(1, 1, 1, "witnesses")?;
    let profile = u32::try_from(run.run).unwrap_or(u32::MAX);
    maker.add(1, 1, 1, &RunStart { profile, graph: run.graph as usize })?;
    let of = RunOf {
        plan: run.plan as usize,
        source: run.source as usize,
        output: run.output as usize,
        callbacks: run.callbacks.iter().map(|(_, count)| *count as usize).sum(),
        whole: run.is_whole,
    };
    maker.add(1, 1, 1, &of)?;
    for (function, count) in &run.callbacks {
        let calls = OutsideCalls { calls: *count as usize, function: cut(function).as_bytes() };
        maker.add(1, 1, 1, &calls)?;
    }
    let mut ticks = 1;
    for letter in &run.letters {
        ticks += 1;
        maker.add(1, 1, ticks, &Witness { element: *letter })?;
    }
    maker.add(1, 1, ticks + 1, &RunStop { hits: run.letters.len(), status: 0 })?;
    maker.finish().map(|_| ())
}

/// Returns a name that has room in an event.
fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_SIZE_MAX)]
}

/// Reads a run from its log.
///
/// # Errors
///
/// The log cannot be read, is damaged, or lacks a part of the run.
pub fn read(path: &Path) -> Result<Gathered, CollectError> {
    let failed = |why: &str| CollectError::Job(format!("{}: {why}", path.display()));
    let log = Log::open(path).map_err(|error| failed(&error.to_string()))?;
    let found = recorded(&log).map_err(|error| failed(&error.to_string()))?;
    let (Some(run), Some(graph), Some(of)) = (found.run, found.graph, found.of) else {
        return Err(failed("is not the log of a run"));
    };
    let called: u64 = found.callbacks.iter().map(|(_, count)| count).sum();
    if !found.is_complete || called != of.callbacks {
        return Err(failed("is damaged: events are missing; run the job again"));
    }
    Ok(Gathered {
        run,
        graph,
        plan: of.plan,
        source: of.source,
        output: of.output,
        callbacks: found.callbacks,
        is_whole: of.is_whole,
        letters: found.collection.letters,
    })
}
