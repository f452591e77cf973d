//! The commands: of each its arguments, its help with examples, and what it does.
//!
//! ```text
//!  args.rs ── which one ──▶ NAME.rs: Args, ABOUT, EXAMPLES, run(&Args) ──▶ Ok(no fault?) │ Stop
//! ```
//!
//! Design: `design/replay.md`.

pub(crate) mod compare;
pub(crate) mod compile;
pub(crate) mod heaps;
pub(crate) mod play;
pub(crate) mod player;
pub(crate) mod record;
pub(crate) mod show;
