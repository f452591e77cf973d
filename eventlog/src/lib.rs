//! The event log: the bytes of a stream, a reader of streams, and a writer of logs.
//!
//! A program that records with the crate `telemetry` leaves a log. The log has its event types and
//! their parameters in it, so this crate reads any log, also years later on another platform. It
//! reads files, rings that are still written, core dumps, streams that arrive, and raw logs of the
//! Memory Pool System.
//!
#![cfg_attr(feature = "reader", doc = "```")]
#![cfg_attr(not(feature = "reader"), doc = "```ignore")]
//! use eventlog::reader::{Filter, Log, Order};
//!
//! fn bytes_allocated(path: &str) -> Result<u64, Box<dyn std::error::Error>> {
//!     let log = Log::open(path)?;
//!     let mut events = log.events(Order::Time, &Filter::new().event("PoolAlloc"));
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
//! `examples/count.rs` counts events by type; `examples/pools.rs` follows live bytes by pool.
//!
//! ```text
//!  format   the bytes, on which writer and reader agree; no I/O, no allocation
//!  control  the lines of text by which a tool controls a running program
//!  reader   bytes to blocks to events (feature `reader`)
//!  writer   events to logs: of a tool, or of other logs (feature `reader`)
//! ```
//!
//! - **Features**: `reader`, on by default: the modules `reader` and `writer`. Without it the crate
//!   has what a recording runtime needs.
//! - **Platforms**: no code depends on the system, the byte order or the word size; a log of any
//!   platform is read on any other. Tests run on Linux (x86-64).
//! - **Rust**: 1.91 or later. No unsafe code.
//!
//! The format is specified in `design/format.md`, and nowhere else.
#![forbid(unsafe_code)]
#![deny(missing_debug_implementations)]

/// Lets `{:?}` print the name of a type that holds a log or an output.
#[cfg(feature = "reader")]
macro_rules! opaque_debug {
    ($type:ty) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($type))
            }
        }
    };
}

pub mod control;
pub mod format;
#[cfg(feature = "reader")]
pub mod reader;
#[cfg(feature = "reader")]
pub mod writer;
