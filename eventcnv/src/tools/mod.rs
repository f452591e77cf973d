//! The commands that ask no question, each with its arguments, help with examples, and work.
//!
//! ```text
//!  args.rs ──▶ NAME.rs ── open/ ──▶ events ──▶ show/ or export/
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod connection;
pub(crate) mod control;
pub(crate) mod core;
pub(crate) mod cut;
pub(crate) mod dump;
pub(crate) mod export;
pub(crate) mod follow;
pub(crate) mod index;
pub(crate) mod listen;
pub(crate) mod man;
pub(crate) mod merge;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod py;
#[cfg(feature = "sql")]
pub(crate) mod query;
pub(crate) mod receive;
pub(crate) mod recover;
pub(crate) mod registry;
#[cfg(feature = "sql")]
pub(crate) mod sql;
pub(crate) mod verify;
