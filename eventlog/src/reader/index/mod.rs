//! What the first pass finds in a source: streams, registries, segments, accounts, faults.
//!
//! ```text
//!  stream.rs │ mps/ ──▶ Index ──▶ Log (log.rs) ──▶ Events (merge.rs)
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

pub(crate) mod align;
pub(crate) mod runs;
pub(crate) mod segment;

use crate::reader::fault::list::Faults;
use crate::reader::model::registry::Registry;
use crate::reader::model::stream::Stream;
use segment::{Decode, Segment};
use std::collections::HashMap;
use std::ops::Range;

/// The two formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A stream of ours (`design/format.md`).
    Stream,
    /// A raw stream of the Memory Pool System.
    Mps,
}

/// What the caller knows about a log that the log does not say.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The registry of a raw MPS stream, if it is not that of MPS 2.0.0. It is laid out for the
    /// platform that is found.
    pub mps_registry: Option<Registry>,
    /// How fast the clocks of all streams tick, in ticks a second, whatever they say themselves.
    pub clock_rate: Option<u64>,
}

/// What the first pass makes of a source.
#[derive(Debug)]
pub(crate) struct Index {
    /// The format.
    pub(crate) format: Format,
    /// How its segments are decoded.
    pub(crate) decode: Decode,
    /// The streams, in file order.
    pub(crate) streams: Vec<Stream>,
    /// The registries of all streams.
    pub(crate) registries: Vec<Registry>,
    /// The segments, in file order.
    pub(crate) segments: Vec<Segment>,
    /// Of segments that give not all of their events, and not those of one range, the numbers of
    /// those that they give, by the segment's offset.
    pub(crate) chosen: HashMap<u64, Vec<Range<u64>>>,
    /// What each buffer counted.
    pub(crate) accounts: Vec<Account>,
    /// What was found wrong.
    pub(crate) faults: Faults,
}

/// What a buffer counted, and what of it is in the log.
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
    /// Events recorded, as far as the log knows: one more than the highest number seen.
    pub recorded: u64,
    /// Events in the log.
    pub found: u64,
    /// Recorded, and overwritten in memory because their kind was not output.
    pub overwritten: u64,
    /// Requested and not recorded: no room.
    pub discarded_full: u32,
    /// Requested and not recorded: in the middle of recording another.
    pub discarded_nested: u32,
    /// Requested and not recorded: too large.
    pub discarded_large: u32,
    /// Recorded, and not taken by the host.
    pub discarded_io: u32,
    /// Recorded, neither found nor accounted for (`.read.loss`).
    pub lost: u64,
}
