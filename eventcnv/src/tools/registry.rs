//! Lists the event types that a log declares.
//!
//! ```text
//!  open/ ──▶ Log: its registries ── open/select ──▶ event types ──▶ show/registry.rs
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

use crate::open::select::{Select, is_selected};
use crate::open::{Input, Reading, Stdout};
use crate::show::registry;
use cli::Stop;
use eventlog::reader;
use std::io::{self, Write};

const ABOUT: &str = "\
Lists the event types that a log declares: their codes, names, documentation and parameters.

--kinds and --events choose event types.";

const EXAMPLES: &str = "\
Examples:
  eventcnv registry run.log                        the event types of a log
  eventcnv registry --events PoolAlloc run.log     one of them
  eventcnv registry --json run.log | head -n 1     the same for another program";

/// List the event types that a log declares
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Registry {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    select: Select,

    /// Print JSON: a line for each event type
    #[arg(long)]
    json: bool,
}

/// Runs the command. Returns whether the log was read completely.
pub(crate) fn run(args: &Registry) -> Result<bool, Stop> {
    let reading = Reading::open_with(&args.input, Stdout::Used)?;
    let selection = reading.select(&args.select, false)?;
    let is_shown = |registry: &reader::Registry, row: &reader::EventType| {
        is_selected(selection.filter(), registry, row)
    };
    let mut text = Vec::new();
    let write = if args.json { registry::write_json } else { registry::write };
    write(reading.log.registries(), is_shown, &mut text)?;
    io::stdout().lock().write_all(&text)?;
    Ok(reading.end_unread())
}
