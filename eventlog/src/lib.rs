//! The event log: the format of a stream, and its reader.
//!
//! ```text
//!  format   the bytes, on which writer and reader agree; no I/O, no allocation
//!  control  the lines of text by which a tool controls a running program
//!  reader   bytes to blocks to events (feature `reader`, on by default)
//!  writer   logs from logs (with the reader)
//! ```
//!
//! The format is specified in `design/format.md`, and nowhere else.
#![forbid(unsafe_code)]
#![deny(missing_debug_implementations)]

pub mod control;
pub mod format;
#[cfg(feature = "reader")]
pub mod reader;
#[cfg(feature = "reader")]
pub mod writer;
