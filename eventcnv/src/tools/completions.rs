//! Prints the script by which a shell asks this tool how a word goes on.
//!
//! ```text
//!  completions SHELL ──▶ a script ──▶ the shell ── EVENTCNV_COMPLETE ──▶ this tool: names in a log
//! ```
//!
//! Design: `.cnv.complete` in `design/eventcnv.md`.

use clap_complete::Shell;
use clap_complete::env::Shells;
use cli::Stop;
use std::io::{self, Write};

/// The environment variable by which a shell asks for completions.
pub(crate) const VARIABLE: &str = "EVENTCNV_COMPLETE";

const EXAMPLES: &str = "\
Examples:
  eventcnv completions bash > ~/.local/share/bash-completion/completions/eventcnv";

/// Print completions for a shell, including kinds and event types of the named log
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(args: &Completions) -> Result<bool, Stop> {
    let mut text = Vec::new();
    let name = "eventcnv";
    if let Some(completer) = Shells::builtins().completer(&args.shell.to_string()) {
        completer.write_registration(VARIABLE, name, name, name, &mut text)?;
    }
    io::stdout().lock().write_all(&text)?;
    Ok(true)
}
