//! Prints the manual page.
//!
//! Design: `.cnv.man` in `design/eventcnv.md`.

const EXAMPLES: &str = "\
Examples:
  eventcnv man > eventcnv.1     the manual page: man ./eventcnv.1";

/// Print the manual page
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Page {}
