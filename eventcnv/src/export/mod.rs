//! Events for programs: a file for each format.
//!
//! ```text
//!  events ──▶ FORMAT.rs ──▶ what another program reads
//! ```
//!
//! Design: `.cnv.sql` in `design/eventcnv.md`.

pub(crate) mod sql;
