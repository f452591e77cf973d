//! Plans the witnesses of a program.
//!
//! ```text
//!  GRAPH, weights ── lens_paths::plan ──▶ table │ PLAN
//! ```
//!
//! Design: `.paths.plan` in `design/paths.md`.

use crate::tools::paths::inputs::{graph, say_all, stop};
use crate::tools::paths::walk::Measured;
use crate::tools::paths::{view, walk};
use cli::Stop;
use cli::table::Form;
use lens_paths::Weights;
use lens_paths::graph::{Element, Program};
use lens_paths::plan::{Kind, Options, PlanError, plan, spare, text};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(super) const ABOUT: &str = "\
Finds the cheapest witnesses that tell the whole path of a program: the edges, or with --blocks \
the blocks, whose events tell every branch. With several machines, several runs of the program \
with one input share the witnesses. All strategies are tried, and the cheapest plan is kept; its \
cost is that of the dearest machine.

A graph is a text: function NAME begins a function; 0 > 1 2*7 are edges, with weights if they are \
known; call 3 NAME ends a block with a call; exit 5 and stop 5 name blocks where the function or \
the program ends.

With --jobs the graph is that of a program without its source, and each run becomes a job: a file \
that any scheduler can hand to another machine. \"paths collect --job\" runs one, by breakpoints, \
and \"paths walk DIR\" checks and merges the logs.";

pub(super) const EXAMPLES: &str = "\
Examples:
  eventcnv paths plan shop.graph
  eventcnv paths plan shop.graph --machines 3 --blocks --limit 40 -o shop.plan
  eventcnv paths plan shop.graph --weights path.log  weighed by a path that was walked
  eventcnv paths plan shop.graph --log run.log       and which events of a run tell nothing
  eventcnv paths plan --machines 3 --jobs jobs -- gzip -c notes.txt   a job for each run

Weights, the first that is known: --weights, --log; those of the graph, if it states that of each
edge; else all edges of a fork weigh the same, and a loop runs twice.

Exit status:
  0  there is a plan
  1  no witnesses of this kind tell all ways apart, or the limit is too low: the fork is named
  2  the graph could not be read, or the command line is wrong";

/// Find the cheapest events that tell the whole path of a program
#[derive(Debug, clap::Args)]
#[command(mut_arg("top", |top| top.alias(None)))]
pub(crate) struct Plan {
    /// The graph of the program
    #[arg(value_name = "GRAPH")]
    #[cfg_attr(
        all(target_os = "linux", target_arch = "x86_64"),
        arg(required_unless_present = "jobs")
    )]
    graph: Option<PathBuf>,

    /// Machines that share the witnesses
    #[arg(long, value_name = "M", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    machines: u16,

    /// Witnesses of a run, at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,

    /// Witness blocks, as breakpoints do, instead of edges
    #[arg(long)]
    blocks: bool,

    /// Weigh by what happened: a log of "paths walk", or of a run whose events tell its path
    #[arg(long, value_name = "LOG")]
    weights: Option<PathBuf>,

    /// The same, and list the events of this run that tell nothing
    #[arg(long, value_name = "RUN.log", conflicts_with = "weights")]
    log: Option<PathBuf>,

    /// Write the plan; "-" is standard output
    #[arg(short = 'o', long = "output", value_name = "PLAN")]
    output: Option<PathBuf>,

    /// Replace an existing plan
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    form: Form,

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[command(flatten)]
    jobs: crate::tools::paths::jobs::Jobs,
}

/// Returns the weights that are known: what a log tells, those of the graph, else basic ones.
pub(super) fn weights(program: &Program, measured: Option<&Measured>) -> Weights {
    let weights = measured.and_then(|own| own.weights.clone());
    let weights = weights.or_else(|| Weights::written(program));
    weights.unwrap_or_else(|| Weights::basic(program))
}

/// Plans, prints the plans as a table, and writes the best. Returns whether there is one.
pub(crate) fn run(args: &Plan) -> Result<bool, Stop> {
    let options = Options {
        machines: usize::from(args.machines),
        limit: args.limit.map(|limit| limit as usize),
        kind: if args.blocks { Kind::Blocks } else { Kind::Edges },
    };
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    if crate::tools::paths::jobs::write(&args.jobs, &options)? {
        return Ok(true);
    }
    let source = args.graph.as_deref().ok_or_else(|| Stop::Message("a graph is needed".into()))?;
    if let Some(path) = &args.output {
        let inputs = [Some(source), args.log.as_deref(), args.weights.as_deref()];
        let inputs: Vec<_> = inputs.into_iter().flatten().map(Path::to_owned).collect();
        cli::output::refuse_inputs(path, &inputs)?;
    }
    let program = graph(source)?;
    let measured = args.log.as_ref().or(args.weights.as_ref());
    let measured = measured.map(|path| walk::measured(&program, path)).transpose()?;
    let weights = weights(&program, measured.as_ref());
    let plans = match plan(&program, &weights, &options) {
        Ok(plans) => plans,
        Err(error) => {
            let advice = match &error {
                PlanError::Open(_) if args.blocks => "; leave out --blocks",
                PlanError::Limit { .. } => "; raise --limit",
                _ => "",
            };
            let (what, lines) = match &error {
                PlanError::Open(clashes) => (error.to_string(), say_all(&program, clashes)),
                PlanError::Limit { fork, needs } => {
                    let place = program.title(Element::Block(fork.function, fork.block));
                    (format!("the fork after {place} needs {needs} witnesses in one run"), vec![])
                }
                _ => (error.to_string(), Vec::new()),
            };
            let name = cli::log::name(source);
            cli::complain(&format!("eventcnv: {name}: {what}{advice}\n"));
            lines.iter().for_each(|line| cli::complain(&format!("  {line}\n")));
            return Ok(false);
        }
    };
    let Some(best) = plans.best() else { return Err(stop(source, &"has no plan")) };
    if let Some(path) = &args.output {
        let text = text::write(&program, best);
        cli::output::write(path, args.force, |out| out.write_all(text.as_bytes()))?;
        if path.as_os_str() == "-" {
            return Ok(true);
        }
    }
    let own = args.log.as_ref().zip(measured.as_ref()).map(|(log, own)| {
        let found = spare(&program, &weights, &own.profile).map_err(|error| stop(log, &error))?;
        Ok::<_, Stop>((&own.profile, found))
    });
    let own = own.transpose()?;
    let spared = own.as_ref().map(|(profile, found)| (*profile, &**found));
    let answer = view::answer(&program, &weights, &plans, spared, &args.form)?;
    io::stdout().lock().write_all(&answer)?;
    Ok(true)
}
