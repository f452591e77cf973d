//! The reader: bytes to events. It trusts no byte, and cannot panic.
//!
//! ```text
//!  Source ── index: headers only ──▶ [Segment] + [Registry] + [Fault]
//!                                      │ order: time (heap of open segments, cache of a fixed size) or file
//!                                      ▼
//!                                   Event<'_>, one at a time
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`; `.read.*` in `design/format.md`.

mod event;
mod fault;
mod label;
mod log;
mod registry;
mod segment;
mod source;

pub use event::{Event, Params, Value};
pub use fault::{FAULT_COUNT_MAX, Fault, FaultKind, Faults, OpenError};
pub use label::Labels;
pub use log::{Account, Format, Options, Stream};
pub use registry::{EventType, Kind, Param, Platform, Registry, StringEnd};
pub use source::{FileSource, Source};
