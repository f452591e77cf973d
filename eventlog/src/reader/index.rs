//! What the first pass finds in a source: streams, registries, segments, accounts, faults.
//!
//! ```text
//!  stream.rs │ mps/ ──▶ Index ──▶ Log (log.rs) ──▶ Events (merge.rs)
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

use super::faults::Faults;
use super::registry::{Platform, Registry};
use super::segment::{Decode, Segment};
use crate::format::ClockSync;
use eventdef::Version;
use std::collections::HashMap;
use std::ops::Range;

/// Clock syncs of a stream that are kept; beyond, every second one is let go.
pub(crate) const SYNC_COUNT_MAX: usize = 1 << 16;

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

impl Stream {
    /// Keeps a clock sync; of too many, every second one.
    pub(crate) fn add_sync(&mut self, sync: ClockSync) {
        if self.syncs.len() >= SYNC_COUNT_MAX {
            let mut is_kept = false;
            self.syncs.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
        self.syncs.push(sync);
    }
}

/// A stream of the log: what its header says. Of an MPS log most of it is empty.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Where it begins in the source.
    pub offset: u64,
    /// The platform that wrote it.
    pub platform: Platform,
    /// The version of the format; of MPS, the version that `EventInit` states.
    pub version: Version,
    /// ELF machine number; 0 unknown.
    pub architecture: u16,
    /// Size of a block in bytes; 0 in an MPS log.
    pub block_size: u32,
    /// Identifies the stream.
    pub uuid: [u8; 16],
    /// Identifies the boot of the host; zero unknown.
    pub boot_id: [u8; 16],
    /// The stream of the process that forked this one; zero none.
    pub parent: [u8; 16],
    /// Process identifier.
    pub pid: u64,
    /// The parent's process identifier.
    pub parent_pid: u64,
    /// When the process began, ns since the Unix epoch.
    pub start: u64,
    /// Where the ticks come from, as numbered in `.header.clock`.
    pub clock_source: u32,
    /// Ticks per second where the platform states it, or the syncs of the MPS tell it; 0 unknown.
    pub clock_rate: u64,
    /// Whether the rate is approximate (`.mps.rate`).
    pub is_rate_approximate: bool,
    /// What wrote the stream.
    pub producer: Box<str>,
    /// Name of the host.
    pub host: Box<str>,
    /// Name of the program.
    pub program: Box<str>,
    /// Clock syncs in ascending order of ticks.
    pub syncs: Vec<ClockSync>,
    /// Whether it was closed in good order (`.part.end`).
    pub closed: bool,
    /// The lowest number of its volumes that are here, and the highest (`.header.volume`); twice 0
    /// if it is in one file.
    pub volumes: (u64, u64),
    /// The volume in which it goes on after the last one here, as that says (`.volume.end`).
    pub next_volume: Option<u64>,
    /// Whether it is a bounded ring, whose blocks begin anew (`.header.ring`).
    pub is_ring: bool,
    /// Whether events were left out when it was made of another log (`.cut.flag`).
    pub is_cut: bool,
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
