//! Exports: events for other programs. An export does not know files.
//!
//! ```text
//!  Event ── timeline.rs ──▶ Moment: when, slice, span, flow, counter ──┬─ chrome.rs    JSON
//!             └ marks.rs   which event types begin, end, link, count   ├─ perfetto.rs  protobuf.rs
//!                                                                      └─ folded.rs    a;b;c 17
//!  Call ── calls/ ──▶ graphviz, callgrind, pprof       Statement ── lcov.rs, calls/callgrind.rs
//!  Event ── ctf.rs ──▶ metadata, packets of each buffer
//!  Event ── sql/, parquet/ ──▶ rows, columns       python.rs ──▶ a module that reads it
//!  processes.rs  processes, threads
//! ```
//!
//! Design: `.cnv.export`, `.cnv.sql`, `.cnv.parquet`, `.cnv.py` in `design/eventcnv.md`.

pub(crate) mod calls;
pub(crate) mod chrome;
pub(crate) mod ctf;
pub(crate) mod flows;
pub(crate) mod folded;
pub(crate) mod lcov;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod perfetto;
pub(crate) mod processes;
pub(crate) mod protobuf;
pub(crate) mod python;
#[cfg(feature = "sql")]
pub(crate) mod sql;
pub(crate) mod timeline;
#[cfg(any(feature = "parquet", feature = "sql"))]
pub(crate) mod wall;
