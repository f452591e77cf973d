//! The commands, each with its arguments, its help with examples, and its work.
//!
//! ```text
//!  args.rs ──▶ NAME.rs ── reading/, select/ ──▶ events ──▶ view/ or export/
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

pub(crate) mod calls;
pub(crate) mod check;
mod connection;
pub(crate) mod control;
pub(crate) mod core;
pub(crate) mod cut;
pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod export;
pub(crate) mod follow;
pub(crate) mod index;
pub(crate) mod lines;
pub(crate) mod listen;
mod man;
pub(crate) mod merge;
mod output;
pub(crate) mod pairs;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
#[cfg(feature = "paths")]
pub(crate) mod paths;
#[cfg(feature = "sql")]
pub(crate) mod query;
mod receive;
pub(crate) mod recover;
pub(crate) mod report;
#[cfg(feature = "sql")]
pub(crate) mod sql;
pub(crate) mod stats;
pub(crate) mod verify;
#[cfg(feature = "waits")]
pub(crate) mod waits;
