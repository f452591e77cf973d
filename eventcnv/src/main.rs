//! The tool of the event log: prints, exports, compares and verifies logs, and controls running
//! programs.
//!
//! ```sh
//! eventcnv -v mpsio.log
//! ```
//!
//! ```text
//!  args.rs ─┬▶ ask/NAME, page/ ── open/ ──▶ events ──▶ sums ──▶ a table │ a page
//!           └▶ tools/NAME.rs ─── open/ ──▶ events ──▶ show/ for people │ export/
//! ```
//!
//! - **Platforms**: Unix; tests run on Linux. It reads logs of each platform.
//! - **Rust**: 1.91 or later. No unsafe code. All features are on by default: `parquet`, `paths`,
//!   `record`, `sql`, `waits`.
//!
//! Design: `.dumper`, `.control.tool` in `design/telemetry.md`.
#![forbid(unsafe_code)]

mod args;
mod ask;
mod export;
mod open;
mod page;
mod show;
mod text;
mod tools;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::exit("eventcnv", args::parse(std::env::args_os()).and_then(|args| args.run()))
}
