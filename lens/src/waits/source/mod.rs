//! Bytes of others to rows.
//!
//! ```text
//!  text of a format file ── format ──▶ fields ────────────┐
//!  pages of the ring buffer ── page ──▶ records ── ring ──┴─ tracepoints ──▶ rows ──▶ output
//! ```
//!
//! Design: `.waits.page` in `design/waits.md`.

pub mod cursor;
pub mod dat;
mod description;
pub mod format;
pub mod import;
pub mod page;
pub mod perf;
pub mod ring;
pub mod script;
pub mod stats;
pub mod switches;
pub mod tracepoints;
