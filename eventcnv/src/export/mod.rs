//! Events for programs: a file for each format.
//!
//! ```text
//!  events ──▶ FORMAT.rs ──▶ what another program reads
//! ```
//!
//! Design: `.cnv.sql`, `.cnv.parquet`, `.cnv.py` in `design/eventcnv.md`.

pub(crate) mod parquet;
pub(crate) mod python;
pub(crate) mod sql;
