//! Why threads did not run: what a kernel tells of its threads, as runs, waits and causes.
//!
//! ```text
//!  perf.data, trace.dat, text ── source ──▶ output ──▶ log "kernel" ── model ──▶ answers
//! ```
//!
//! Design: `design/waits.md`.

pub mod account;
pub mod answer;
pub mod calls;
pub mod critical;
pub mod delay;
pub mod events;
pub mod frames;
pub mod model;
pub mod names;
pub mod output;
pub mod parts;
pub mod path;
mod shares;
pub mod source;
pub mod stack;
pub mod tracks;
pub mod under;
pub mod waited;
