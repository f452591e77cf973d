//! A program whose path is wanted: which of its functions, and the jobs of its plan.
//!
//! Design: `.collect.jobs` in `design/collect.md`.

use crate::tools::paths::inputs::{say_all, stop};
use crate::tools::paths::said::demangled_in;
use cli::Stop;
use lens_paths::graph::Element;
use lens_paths::plan::{Kind, Options, PlanError};
use record_paths::{Choice, Job, Launch, Planned, Subject};
use std::ffi::OsString;
use std::path::PathBuf;

/// What a path is of, and what the program reads.
#[derive(Debug, clap::Args)]
pub(super) struct Chosen {
    /// The function where the path begins and ends
    #[arg(long, value_name = "NAME")]
    main: Option<String>,

    /// Only functions whose names have this part; all others are code outside
    #[arg(long, value_name = "PART")]
    only: Vec<String>,

    /// The file that the program reads as its standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
}

/// Returns the options of a plan.
pub(super) fn options(machines: u16, limit: Option<usize>, is_of_blocks: bool) -> Options {
    let kind = if is_of_blocks { Kind::Blocks } else { Kind::Edges };
    Options { machines: usize::from(machines), limit, kind }
}

/// Reads a program, and plans its runs.
pub(super) fn plan(
    command: &[OsString],
    chosen: &Chosen,
    options: &Options,
) -> Result<(Subject, Vec<Job>), Stop> {
    let (program, arguments) = command.split_first().ok_or_else(|| failed("no program"))?;
    let program = cli::program::find(program)?;
    let choice = Choice { root: chosen.main.clone(), functions: chosen.only.clone() };
    let subject = Subject::read(&program, &choice).map_err(failed)?;
    note_left(&subject);
    let planned = match subject.plan(options) {
        Ok(planned) => planned,
        Err(error) => {
            if let PlanError::Open(clashes) = &error {
                let lines = say_all(subject.program(), clashes);
                lines.iter().for_each(|line| cli::complain(&format!("  {line}\n")));
            }
            return Err(stop(&program, &refused(&subject, chosen, &error)));
        }
    };
    report_plan(&planned);
    let launch = Launch {
        program,
        arguments: arguments.to_vec(),
        input: chosen.input.clone(),
        ..Launch::default()
    };
    let jobs = record_paths::jobs(&subject, &choice, &planned, &launch).map_err(failed)?;
    Ok((subject, jobs))
}

/// Returns why there is no plan.
fn refused(subject: &Subject, chosen: &Chosen, error: &PlanError) -> String {
    let program = subject.program();
    match error {
        PlanError::Limit { fork, needs } => {
            let place = demangled_in(&program.say(Element::Block(fork.function, fork.block)));
            format!("the fork after {place} needs {needs} witnesses in one run; raise --limit")
        }
        PlanError::Open(clashes) => {
            let pairs = cli::units::counted_in_groups(clashes.len() as u64, "pair");
            let functions = program.functions().len() as u64;
            let functions = cli::units::counted_in_groups(functions, "function");
            let fewer = if chosen.only.is_empty() { "" } else { "fewer " };
            format!(
                "no breakpoints tell {pairs} of ways apart, in the graph of {functions}; choose \
                 {fewer}functions by parts of their names: --only PART"
            )
        }
        error => error.to_string(),
    }
}

fn report_plan(planned: &Planned) {
    let sizes: Vec<String> =
        planned.runs.iter().map(|run| run.profile.size().to_string()).collect();
    let kind = if planned.kind == Kind::Edges { "edges and blocks" } else { "blocks" };
    cli::complain(&format!(
        "eventcnv: plan: {}, {kind}: {} witnesses\n",
        planned.strategy,
        sizes.join(" + ")
    ));
}

fn note_left(subject: &Subject) {
    let left: Vec<_> = subject.chart.left.iter().filter(|own| !own.troubles.is_empty()).collect();
    if let Some(first) = left.first() {
        cli::complain(&format!(
            "eventcnv: note: {} of the program are code outside, as not all their edges are known: \
             {} at {:#x}\n",
            cli::units::counted(left.len() as u64, "function"),
            demangled_in(&first.name),
            first.start
        ));
    }
}

pub(super) fn failed(error: impl std::fmt::Display) -> Stop {
    Stop::Message(error.to_string())
}

/// Returns the command that becomes a traced program.
pub(super) fn starter() -> Result<Vec<OsString>, Stop> {
    let own = std::env::current_exe().map_err(failed)?;
    Ok(vec![own.into(), "paths".into(), "start".into(), "--".into()])
}
