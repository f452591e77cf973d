//! The result of the first pass: streams, registries, segments, accounts, faults.
//!
//! ```text
//!  stream.rs │ mps/ ──▶ Index ──▶ Log (log.rs) ──▶ Events (merge.rs)
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

pub(crate) mod align;
pub(crate) mod segment;
pub(crate) mod sort;

use crate::reader::fault::list::Faults;
use crate::reader::model::registry::Registry;
use crate::reader::model::stream::Stream;
use segment::{Decode, Segment};
use std::collections::HashMap;
use std::ops::Range;

/// A format of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our format (`design/format.md`).
    Stream,
    /// A raw stream of the Memory Pool System.
    Mps,
}

/// Facts about a log that the caller knows.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The registry of a raw MPS stream, if it is not the one of MPS 2.0.0. The reader lays it out
    /// for the stream's platform.
    pub mps_registry: Option<Registry>,
    /// The rate of all clocks in ticks a second. It overrides the streams.
    pub clock_rate: Option<u64>,
}

/// The result of the first pass.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) format: Format,
    pub(crate) decode: Decode,
    pub(crate) streams: Vec<Stream>,
    pub(crate) registries: Vec<Registry>,
    pub(crate) segments: Vec<Segment>,
    /// The numbers of the events that a segment gives, by the segment's offset: for segments that
    /// give several ranges of their events.
    pub(crate) chosen: HashMap<u64, Vec<Range<u64>>>,
    pub(crate) accounts: Vec<Account>,
    pub(crate) faults: Faults,
}

/// The counts of a buffer, and what the log has of its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The stream, by its index in the log.
    pub stream: u16,
    /// The buffer, by its index in the stream.
    pub buffer: u32,
    /// The registry, by its index in the log.
    pub registry: u32,
    /// The kind of its events.
    pub kind: u8,
    /// The thread that records into it.
    pub thread: u32,
    /// Events recorded, as far as known: the highest number in the log plus one.
    pub recorded: u64,
    /// Ticks that none of these events is beyond, as far as known: else the greatest.
    pub until: u64,
    /// Events in the log.
    pub found: u64,
    /// Recorded and overwritten in memory, because the kind was not output.
    pub overwritten: u64,
    /// Requested and not recorded: the buffer was full.
    pub discarded_full: u32,
    /// Requested and not recorded: while the thread recorded another event of the kind.
    pub discarded_nested: u32,
    /// Requested and not recorded: too large.
    pub discarded_large: u32,
    /// Recorded, but the host failed to write them.
    pub discarded_io: u32,
    /// Recorded, but neither in the log nor accounted for (`.read.loss`).
    pub lost: u64,
}
