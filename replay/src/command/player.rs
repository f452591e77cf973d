//! The process that plays: started by `replay play`, and by nobody else.
//!
//! ```text
//!  replay player TASK < IMAGE ──▶ play::player ──▶ outcome, at the end of IMAGE
//! ```
//!
//! Design: `.rep.process` in `design/replay.md`.

use crate::play;
use crate::play::Contender;
use cli::Stop;

/// What it is to do.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// As JSON
    #[arg(value_name = "TASK")]
    task: String,
}

/// Plays.
pub(crate) fn run(args: &Args, contenders: &[Contender]) -> Result<bool, Stop> {
    play::player(&args.task, contenders)
}
