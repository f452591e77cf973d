//! The commands: each has its arguments, its help with examples, and its implementation.
//!
//! ```text
//!  args.rs ── command ──▶ NAME.rs: Args, ABOUT, EXAMPLES, run(&Args) ──▶ Ok(no fault?) │ Stop
//! ```
//!
//! Design: `design/replay.md`.

pub(crate) mod compile;
pub(crate) mod heaps;
pub(crate) mod play;
pub(crate) mod show;
