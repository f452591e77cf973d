//! The reader: bytes to events. It trusts no byte, and cannot panic.
//!
//! ```text
//!  Source ── index: headers only ──▶ [Segment] + [Registry] + [Fault]
//!                                      │ by time (heap of open segments, bounded cache) or by file
//!                                      ▼
//!                                   Event<'_>, one at a time
//! ```
//!
//! To read a log: open it, ask for its events, take them one at a time.
//!
//! ```
//! use eventlog::reader::{Filter, Log, Order, Pick};
//!
//! fn bytes_allocated(path: &str) -> Result<u64, Box<dyn std::error::Error>> {
//!     let log = Log::open(path)?;
//!     let event_types = vec![Pick::Name("PoolAlloc".into())];
//!     let filter = Filter { event_types, ..Filter::default() };
//!     let mut events = log.events(Order::Time, &filter);
//!     let mut bytes = 0;
//!     while let Some(event) = events.next() {
//!         bytes += event.param("size").and_then(|size| size.as_u64()).unwrap_or(0);
//!     }
//!     for fault in log.faults().iter().chain(events.faults()) {
//!         eprintln!("{path}: {fault}");
//!     }
//!     Ok(bytes)
//! }
//!
//! # // A log without events, so that the function is run too.
//! # let path = std::env::temp_dir().join(format!("eventlog-doc-{}.log", std::process::id()));
//! # let mut file = std::fs::File::create(&path).unwrap();
//! # let mut maker = eventlog::writer::Maker::new(&mut file);
//! # maker.begin(&eventlog::writer::Origin::new()).unwrap();
//! # maker.finish().unwrap();
//! # assert_eq!(bytes_allocated(path.to_str().unwrap()).unwrap(), 0);
//! # std::fs::remove_file(&path).unwrap();
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`; `.read.*` in `design/format.md`.

mod align;
pub(crate) mod block;
mod compare;
pub mod core;
mod each;
mod encoding;
pub(crate) mod entry;
mod event;
mod fault;
mod fault_text;
mod faults;
mod filter;
mod gaps;
mod given;
mod head;
mod headers;
mod history;
mod identity;
mod index;
pub(crate) mod label;
mod live;
mod log;
mod losses;
mod merge;
mod mps;
pub(crate) mod numbers;
mod open;
mod parts;
mod rate;
mod registry;
mod ring;
mod runs;
pub(crate) mod segment;
mod slices;
mod source;
mod stream;
mod survey;
mod time;
mod verify;
mod volume;

pub use compare::{Change, Difference, Part, compare, version_min};
pub use each::{Glance, Run};
pub use event::{Event, Params, Value};
pub use fault::{Fault, FaultKind, OpenError};
pub use faults::{FAULT_COUNT_MAX, Faults};
pub use filter::{Filter, Pick};
pub use index::{Account, Format, Options, Stream};
pub use label::{LABEL_MEMORY_MAX, Labels};
pub use live::Live;
pub use log::Log;
pub use losses::{CAUSES, Losses, Unhoused};
pub use merge::{Events, Order};
pub use mps::HeaderError;
pub use open::CACHE_SIZE_MAX;
pub use registry::{EventType, Kind, Param, Platform, Registry, StringEnd};
pub use slices::Slices;
pub use source::{FileSource, Joined, Source};
pub use survey::{Piece, What};
pub use time::WallTime;
pub use verify::Verified;
