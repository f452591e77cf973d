//! The event log: the format of a stream, its reader and its writer.
//!
//! ```text
//!  format   the bytes, on which writer and reader agree; no I/O, no allocation
//!  reader   bytes to blocks to events (feature `reader`, on by default)
//!  writer   events to logs: of a tool, or of other logs (with the reader)
//! ```
//!
//! The format is specified in `design/format.md`, and nowhere else.
#![forbid(unsafe_code)]

pub mod format;
#[cfg(feature = "reader")]
pub mod reader;
#[cfg(feature = "reader")]
pub mod writer;
