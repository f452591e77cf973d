//! A log: what the first pass found in a source, of either format.
//!
//! ```text
//!  recognise ──▶ index (stream.rs, mps/) ──▶ Index ──▶ Log
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

use super::fault::{FaultKind, Faults, OpenError};
use super::filter::Filter;
use super::merge::{Events, Order};
use super::mps;
use super::registry::{Platform, Registry};
use super::segment::{Decode, Decoded, Segment};
use super::source::{FileSource, Source};
use super::stream;
use crate::format::ClockSync;
use eventdef::Version;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::path::Path;

/// Bytes by which the format is recognised: enough for the first part of a stream whose header is
/// damaged.
const HEAD_SIZE: usize = 1 << 20;

/// Clock syncs of a stream that are kept; beyond, every second one is let go.
pub(crate) const SYNC_COUNT_MAX: usize = 1 << 16;

/// A log: streams of ours, or a raw stream of MPS.
pub struct Log {
    source: Box<dyn Source + Send + Sync>,
    index: Index,
    eras: Vec<u16>,
}

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
    /// What each buffer counted.
    pub(crate) accounts: Vec<Account>,
    /// What was found wrong.
    pub(crate) faults: Faults,
}

impl Log {
    /// Opens a log file.
    pub fn open(path: impl AsRef<Path>) -> Result<Log, OpenError> {
        Log::open_with(path, &Options::default())
    }

    /// Opens a log file of which more is known than it says.
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Log, OpenError> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(OpenError::Directory);
        }
        Log::with_source(Box::new(FileSource::new(file)?), options)
    }

    /// Reads the log in a source.
    pub fn from_source(source: impl Source + Send + Sync + 'static) -> Result<Log, OpenError> {
        Log::with_source(Box::new(source), &Options::default())
    }

    /// Reads the log in a source of which more is known than it says.
    pub fn with_source(
        source: Box<dyn Source + Send + Sync>,
        options: &Options,
    ) -> Result<Log, OpenError> {
        if source.size() == 0 {
            return Err(OpenError::Empty);
        }
        let mut head = vec![0; HEAD_SIZE.min(usize::try_from(source.size()).unwrap_or(HEAD_SIZE))];
        let size = source.read_at(0, &mut head)?;
        head.truncate(size);
        let index = index(&*source, &head, options)?;
        let eras = eras(&index.streams);
        Ok(Log { source, index, eras })
    }

    /// Its format.
    pub fn format(&self) -> Format {
        self.index.format
    }

    /// The streams in it, in file order; one, unless logs were concatenated.
    pub fn streams(&self) -> &[Stream] {
        &self.index.streams
    }

    /// The registries of all streams, by stream and index.
    pub fn registries(&self) -> &[Registry] {
        &self.index.registries
    }

    /// What the headers told of faults; what is found while events are read is in
    /// [`Events::faults`].
    pub fn faults(&self) -> &Faults {
        &self.index.faults
    }

    /// What each buffer counted, by stream and buffer. Empty for an MPS log.
    pub fn accounts(&self) -> &[Account] {
        &self.index.accounts
    }

    /// Whether every stream in it was closed in good order (`.read.end`). An MPS log cannot say,
    /// and counts as closed.
    pub fn is_closed(&self) -> bool {
        self.index.streams.iter().all(|stream| stream.closed)
    }

    /// Size of the source in bytes.
    pub fn size(&self) -> u64 {
        self.source.size()
    }

    /// The events that a filter lets through, in an order.
    pub fn events(&self, order: Order, filter: &Filter) -> Events<'_> {
        Events::new(self, order, filter)
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.index.segments
    }

    pub(crate) fn segment(&self, place: u32) -> Option<&Segment> {
        self.index.segments.get(place as usize)
    }

    /// Streams whose ticks compare are of one era (`.time.order`).
    pub(crate) fn era(&self, stream: u16) -> u16 {
        self.eras.get(usize::from(stream)).copied().unwrap_or(stream)
    }

    /// Reads a segment and decodes it.
    pub(crate) fn decode(
        &self,
        segment: &Segment,
        registry: &Registry,
        decoded: &mut Decoded,
        faults: &mut Faults,
    ) {
        decoded.clear();
        let left = self.source.size().saturating_sub(segment.offset);
        let size = u64::from(segment.size).min(left) as usize;
        decoded.bytes.resize(size, 0);
        match self.source.read_at(segment.offset, &mut decoded.bytes) {
            Ok(size) => {
                decoded.bytes.truncate(size);
                (self.index.decode)(segment, registry, decoded, faults);
            }
            Err(error) => {
                decoded.bytes.clear();
                faults.push(segment.offset, FaultKind::Io { message: error.to_string() });
            }
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("format", &self.format()).finish_non_exhaustive()
    }
}

/// Recognises the format, and lets it index the source.
fn index(source: &dyn Source, head: &[u8], options: &Options) -> Result<Index, OpenError> {
    if stream::recognise(head) {
        return stream::index(source);
    }
    mps::index(source, options)
}

/// The era of each stream: the first one with the same boot and clock.
fn eras(streams: &[Stream]) -> Vec<u16> {
    let mut eras = HashMap::new();
    let mut era = |(index, stream): (usize, &Stream)| {
        let index = index as u16;
        if stream.boot_id == [0; 16] {
            return index;
        }
        *eras.entry((stream.boot_id, stream.clock_source)).or_insert(index)
    };
    streams.iter().enumerate().map(&mut era).collect()
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
    /// Ticks per second where the platform states it; 0 unknown.
    pub clock_rate: u64,
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
