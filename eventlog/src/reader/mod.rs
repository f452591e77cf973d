//! The reader: bytes to events. It trusts no byte, and cannot panic.
//!
//! ```text
//!  Source ── index: headers only ──▶ [Segment] + [Registry] + [Fault]
//!                                      │ by time (heap of open segments, bounded cache) or by file
//!                                      ▼
//!                                   Event<'_>, one at a time
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`; `.read.*` in `design/format.md`.

mod block;
mod encoding;
mod entry;
mod event;
mod fault;
mod fault_text;
mod filter;
mod head;
mod identity;
mod label;
mod log;
mod merge;
mod mps;
mod open;
mod parts;
mod registry;
mod segment;
mod source;
mod stream;
mod time;

pub use event::{Event, Params, Value};
pub use fault::{FAULT_COUNT_MAX, Fault, FaultKind, Faults, OpenError};
pub use filter::{Filter, Pick};
pub use label::{LABEL_MEMORY_MAX, Labels};
pub use log::{Account, Format, Log, Options, Stream};
pub use merge::{Events, Order};
pub use mps::HeaderError;
pub use open::CACHE_SIZE_MAX;
pub use registry::{EventType, Kind, Param, Platform, Registry, StringEnd};
pub use source::{FileSource, Source};
pub use time::WallTime;
