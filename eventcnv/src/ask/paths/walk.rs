//! Finds the path of a program from the events of its runs.
//!
//! ```text
//!  GRAPH, PLAN, RUN… ── lens_paths::walk ──▶ log "path"; where the runs differ
//! ```
//!
//! Design: `.paths.walk` in `design/paths.md`.

use crate::ask::paths::inputs::{graph, plan_of, stop, text};
use crate::ask::paths::said::{failed, is_log, say_unknown, told};
use crate::open::output::Output;
use crate::open::{Known, Reading};
use cli::Stop;
use eventlog::writer::{Origin, uuid_of};
use lens_paths::answer::Answer;
use lens_paths::graph::{ElementId, Program};
use lens_paths::plan::text::fingerprint;
use lens_paths::source::{self, Recorded};
use lens_paths::walk::{Collection, Elements, Walked, Walker, text as letters};
use lens_paths::{Profile, Weights};
use std::io;
use std::path::{Path, PathBuf};

pub(super) const ABOUT: &str = "\
Finds the whole path of a program from the events of all runs of a plan, and writes it as a log: \
calls and blocks are slices. If the runs are not of one execution, it says where they differ, with \
the open calls there and at the last event that agrees. A killed program, a ring that begins \
midway, an unwinding: only what the events tell is in the log, the rest is unknown, and counted. \
The log of a program whose functions have the attribute #[calls::path] needs no graph and no plan: \
it has them. Without an output, its path is printed, a line for each call and each block.";

pub(super) const EXAMPLES: &str = "\
Examples:
  eventcnv paths walk shop.graph shop.plan run0.log run1.log -o path.log
  eventcnv paths walk mpsio.log                    the functions with #[calls::path] in a log
  eventcnv pairs path.log
  eventcnv report path.log -o path.html

A run is a log of the registry \"path\", or a text: numbers of witnesses in order, with the lines
\"run 1\" (of the plan), \"midway\" (the begin is missing) and \"cut\" (the end is missing).

Exit status:
  0  the path is whole
  1  part of it is unknown: standard error says where and why
  2  an input could not be read, the log could not be written, or the command line is wrong";

/// Find the path of a program from the events of its runs
#[derive(Debug, clap::Args)]
pub(crate) struct Walk {
    /// The graph of the program; or alone: a folder of jobs and their logs, or the log of a program
    /// with `#[calls::path]`
    #[arg(value_name = "GRAPH")]
    graph: PathBuf,

    /// The plan of the runs
    #[arg(value_name = "PLAN")]
    plan: Option<PathBuf>,

    /// The events of each run: logs or texts
    #[arg(value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// The log to write; "-" is standard output
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    output: Option<PathBuf>,

    /// Replace an existing output
    #[arg(long, requires = "output")]
    force: bool,
}

impl Walk {
    /// Returns the log of a program that has its graphs, if the arguments are that alone.
    pub(super) fn marked(&self) -> Result<Option<&PathBuf>, Stop> {
        if self.plan.is_some() || !self.graph.is_file() {
            return Ok(None);
        }
        Ok(is_log(&self.graph)?.then_some(&self.graph))
    }

    /// Returns the output, if there is one.
    pub(super) fn output(&self) -> Option<Output> {
        self.output.clone().map(|path| Output { path, force: self.force })
    }
}

/// Walks, and writes the log. Returns whether the path is whole.
pub(crate) fn run(args: &Walk) -> Result<bool, Stop> {
    let output = args.output();
    let output = &output.ok_or_else(|| stop(&args.graph, &"an output is needed, too: -o OUT"))?;
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    if args.plan.is_none() && args.graph.is_dir() {
        return crate::ask::paths::jobs::walk_jobs(&args.graph, output);
    }
    let plan = args.plan.as_ref().filter(|_| !args.runs.is_empty());
    let plan = plan.ok_or_else(|| stop(&args.graph, &"a plan and its runs are needed, too"))?;
    let program = graph(&args.graph)?;
    let profiles: Vec<Profile> =
        plan_of(&program, plan)?.into_iter().map(|run| run.profile).collect();
    let collections = collections(&args.runs, profiles.len(), fingerprint(&program))?;
    let inputs = [&[args.graph.clone(), plan.clone()], args.runs.as_slice()].concat();
    let walked = answer(&program, &profiles, &collections, (output, &inputs), plan)?;
    output.print(&told(&walked))?;
    Ok(report(&program, &walked))
}

/// Walks, and writes the log to an output that is none of the inputs.
pub(super) fn answer(
    program: &Program,
    profiles: &[Profile],
    collections: &[Collection],
    (output, inputs): (&Output, &[PathBuf]),
    plan: &Path,
) -> Result<Walked, Stop> {
    let walker = Walker::new(program, profiles).map_err(|error| stop(plan, &error))?;
    let mut origin = Origin::new();
    let bytes = |own: &Collection| own.letters.iter().flat_map(|own| own.to_le_bytes()).collect();
    let mut source: Vec<Vec<u8>> = collections.iter().map(bytes).collect();
    source.push(fingerprint(program).to_le_bytes().to_vec());
    origin.uuid = uuid_of(&source.concat());
    origin.program = program.function(program.main()).map_or("", |own| own.name()).to_owned();
    let mut refused = None;
    let written = output.write(inputs, |out| {
        let mut answer = Answer::new(program, &origin, out).map_err(failed)?;
        let mut result = Ok(());
        let walked = walker.walk(collections, &mut |step| {
            if result.is_ok() {
                result = answer.add(step);
            }
        });
        result.map_err(failed)?;
        let walked = walked.map_err(|error| {
            refused = Some(error.to_string());
            io::Error::from(io::ErrorKind::InvalidData)
        })?;
        for divergence in &walked.divergences {
            answer.differs(divergence).map_err(failed)?;
        }
        answer.finish().map_err(failed)?;
        Ok(walked)
    });
    match refused {
        Some(refused) => Err(stop(plan, &refused)),
        None => written,
    }
}

/// Reports what is unknown. Returns whether the path is whole.
pub(super) fn report(program: &Program, walked: &Walked) -> bool {
    for divergence in &walked.divergences {
        cli::complain(&format!("eventcnv: {}\n", divergence.say(program)));
    }
    say_unknown(walked);
    walked.is_whole
}

/// Reads the runs, in the order of the plan.
fn collections(paths: &[PathBuf], count: usize, print: u64) -> Result<Vec<Collection>, Stop> {
    let mut found: Vec<Option<Collection>> = vec![None; count];
    for (place, path) in paths.iter().enumerate() {
        let Recorded { run, graph, collection, .. } = recorded(path)?;
        if graph.is_some_and(|graph| graph != print) {
            return Err(stop(path, &"is a run of another graph"));
        }
        let run = run.unwrap_or(place);
        let Some(slot) = found.get_mut(run) else {
            return Err(stop(path, &format!("is run {run}, and the plan has {count} runs")));
        };
        if slot.replace(collection).is_some() {
            return Err(stop(path, &format!("is run {run}, which another file is, too")));
        }
    }
    let missing = |run: usize| Stop::Message(format!("run {run} of the plan is missing"));
    (0..).zip(found).map(|(run, own)| own.ok_or_else(|| missing(run))).collect()
}

/// Reads a run: a log, or a text.
pub(super) fn recorded(path: &Path) -> Result<Recorded, Stop> {
    if !is_log(path)? {
        let (run, collection) = letters::read(&text(path)?).map_err(|error| stop(path, &error))?;
        return Ok(Recorded { run, collection, ..Recorded::default() });
    }
    let reading = Reading::open_paths(&[path.to_owned()], &Known::default())?;
    let recorded = source::recorded(&reading.log).map_err(|error| reading.error(error))?;
    reading.finish();
    reading.end_unread();
    Ok(recorded)
}

/// What a log tells of a program.
pub(super) struct Measured {
    /// How often each element occurred, if the log tells its path.
    pub(super) weights: Option<Weights>,
    /// The elements that have events in the log of a run.
    pub(super) profile: Profile,
}

/// Reads the log of a path, or of a run.
pub(super) fn measured(program: &Program, path: &Path) -> Result<Measured, Stop> {
    let Ok(run) = recorded(path) else { return of_path(program, path) };
    let letters = run.collection.letters.iter().map(|letter| ElementId(*letter));
    let profile = Profile::of(letters.filter(|own| program.element(*own).is_some()));
    if profile.size() == 0 {
        return Err(stop(path, &"has no event of this graph"));
    }
    let mut elements = Elements::new(program);
    let profiles = [profile.clone()];
    let walked = Walker::new(program, &profiles)
        .ok()
        .and_then(|walker| walker.walk(&[run.collection], &mut |step| elements.add(step)).ok());
    if walked.is_some_and(|own| own.is_whole) {
        return Ok(Measured {
            weights: Some(Weights::counted(program, elements.finish())),
            profile,
        });
    }
    let name = cli::log::name(path);
    cli::complain(&format!(
        "eventcnv: {name}: note: its events do not tell the whole path: weights are not from it\n"
    ));
    Ok(Measured { weights: None, profile })
}

fn of_path(program: &Program, path: &Path) -> Result<Measured, Stop> {
    let reading = Reading::open_paths(&[path.to_owned()], &Known::default())?;
    let elements = source::walked(program, &reading.log);
    if elements.is_empty() {
        return Err(reading.error("has no call, block or event of this graph"));
    }
    let weights = Some(Weights::counted(program, elements));
    Ok(Measured { weights, profile: Profile::default() })
}
