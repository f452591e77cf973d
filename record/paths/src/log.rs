//! A run as a log, and back.
//!
//! ```text
//!  Gathered ─▶ RunStart, RunOf, Witness …, RunStop ─▶ log ─▶ Gathered
//! ```
//!
//! Design: `.collect.jobs` in `design/collect.md`.

use crate::error::CollectError;
use crate::job::Gathered;
use eventlog::reader::{Filter, Log, Order};
use eventlog::writer::{MakeError, Maker, Origin, uuid_of};
use lens_paths::events::{RunOf, RunStart, RunStop, Witness};
use std::io::Write;
use std::path::Path;

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
    maker.begin(&origin)?;
    maker.thread(1, 1, 1, "witnesses")?;
    let profile = u32::try_from(run.run).unwrap_or(u32::MAX);
    maker.add(1, 1, 1, &RunStart { profile, graph: run.graph as usize })?;
    let of = RunOf {
        plan: run.plan as usize,
        source: run.source as usize,
        output: run.output as usize,
        callbacks: run.callbacks as usize,
        whole: run.is_whole,
    };
    maker.add(1, 1, 1, &of)?;
    // The order is the time: a microsecond each.
    let mut ticks = 1;
    for letter in &run.letters {
        ticks += 1000;
        maker.add(1, 1, ticks, &Witness { element: *letter })?;
    }
    maker.add(1, 1, ticks + 1, &RunStop { hits: run.letters.len(), status: 0 })?;
    maker.finish().map(|_| ())
}

/// Reads a run from its log.
///
/// # Errors
///
/// The log cannot be read, is damaged, or lacks a part of the run.
pub fn read(path: &Path) -> Result<Gathered, CollectError> {
    let failed = |why: String| CollectError::Job(format!("{}: {why}", path.display()));
    let log = Log::open(path).map_err(|error| failed(error.to_string()))?;
    let mut run = Gathered {
        run: usize::MAX,
        graph: 0,
        plan: 0,
        source: 0,
        output: 0,
        callbacks: 0,
        is_whole: false,
        letters: Vec::new(),
    };
    let (mut is_of, mut hits) = (false, None);
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        if &*event.registry.name != "path" {
            continue;
        }
        let word = |name: &str| event.param(name).and_then(|own| own.as_u64()).unwrap_or_default();
        match event.name() {
            "RunStart" => {
                run.run = usize::try_from(word("profile")).unwrap_or(usize::MAX);
                run.graph = word("graph");
            }
            "RunOf" => {
                is_of = true;
                (run.plan, run.source) = (word("plan"), word("source"));
                (run.output, run.callbacks) = (word("output"), word("callbacks"));
                run.is_whole = word("whole") != 0;
            }
            "Witness" => run.letters.push(word("element") as u32),
            "RunStop" => hits = Some(word("hits")),
            _ => {}
        }
    }
    if !is_of {
        return Err(failed("is not the log of a run".into()));
    }
    if hits != Some(run.letters.len() as u64) || !events.faults().is_empty() {
        return Err(failed("is damaged: witnesses are missing; run the job again".into()));
    }
    Ok(run)
}
