//! Writes a web page that shows a plan, and the path that was found with it.
//!
//! ```text
//!  GRAPH, PLAN ── show::paths ──▶ tables, drawing ─┬──────────────────▶ page.html
//!  LOG of the path ── the page of `report` ────────┘ a tab of it
//! ```
//!
//! Design: `.paths.plan` in `design/paths.md`.

use crate::open::Input;
use crate::open::output::Output;
use crate::open::select::Select;
use crate::page;
use crate::tools::paths;
use crate::tools::paths::inputs::{graph, plan_of};
use crate::tools::paths::{plan, walk};
use cli::Stop;
use std::path::PathBuf;

pub(super) const ABOUT: &str = "\
Writes a web page that shows a plan: the graph with its witnesses and weights, the load of each \
machine, and the tables of runs and witnesses. With the log of a path, it is the page of \
`eventcnv report`: the path by function and block over time, and the plan in a tab, with the \
counts of the path as weights.";

pub(super) const EXAMPLES: &str = "\
Examples:
  eventcnv paths report shop.graph shop.plan -o plan.html
  eventcnv paths report shop.graph shop.plan path.log -o page.html

Exit status:
  0  the page shows all that the log has
  1  the log is damaged: the page shows the rest
  2  an input could not be read, the page could not be written, or the command line is wrong";

/// Write a web page that shows a plan, and the path that was found with it
#[derive(Debug, clap::Args)]
pub(crate) struct Report {
    /// The graph of the program
    #[arg(value_name = "GRAPH")]
    graph: PathBuf,

    /// A plan of "paths plan"
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    /// The path: a log of "paths walk"
    #[arg(value_name = "LOG")]
    log: Option<PathBuf>,

    /// The page to write; "-" is standard output
    #[arg(short = 'o', long = "output", value_name = "PAGE")]
    output: PathBuf,

    /// Replace an existing page
    #[arg(long)]
    force: bool,
}

/// Writes the page. Returns whether the log was read completely.
pub(crate) fn run(args: &Report) -> Result<bool, Stop> {
    let program = graph(&args.graph)?;
    let runs = plan_of(&program, &args.plan)?;
    let measured = args.log.as_ref().map(|log| walk::measured(&program, log)).transpose()?;
    let weights = plan::weights(&program, measured.as_ref());
    let markup = paths::view::markup(&program, &weights, &runs);
    let output = Output { path: args.output.clone(), force: args.force };
    let Some(log) = args.log.clone() else {
        let inputs = [args.graph.clone(), args.plan.clone()];
        let name = cli::log::name(&args.plan);
        output.write(&inputs, |out| page::view::write_plan(&name, markup, out))?;
        return Ok(true);
    };
    let page = page::Report {
        input: Input::of(log),
        select: Select::default(),
        output,
        method: None,
        source: ".".into(),
    };
    page::write(&page, Some(markup))
}
