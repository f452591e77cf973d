//! A log: the index of a source, in either format.
//!
//! ```text
//!  recognise ──▶ index (stream.rs, mps/) ──▶ Index ──▶ Log
//! ```
//!
//! Design: `eventlog::reader` in `ARCHITECTURE.md`.

pub(crate) mod clock;
pub(crate) mod history;
mod rate;

use crate::reader::core::{self, Core};
use crate::reader::fault::kind::{FaultKind, OpenError};
use crate::reader::fault::list::Faults;
use crate::reader::index::align::{self, Line};
use crate::reader::index::segment::{Decoded, Segment};
use crate::reader::index::{Account, Format, Index, Options};
use crate::reader::model::event::Event;
use crate::reader::model::label::Labels;
use crate::reader::model::registry::Registry;
use crate::reader::model::stream::Stream;
use crate::reader::mps::{self, Increments};
use crate::reader::source::bytes::{FileSource, Source};
use crate::reader::source::directory::Directory;
use crate::reader::source::ring;
use crate::reader::stream::{head, indexer};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

/// Bytes at the beginning by which the reader recognises the format: enough to hold the first part
/// of a stream whose header is damaged.
const HEAD_SIZE: usize = 1 << 20;

/// How much of a raw log of the MPS, which has no index, is read before its events are given. For
/// `eventcnv` (see [`Log::with_source_by_increment`]).
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Increment {
    /// A whole stream: for order of time, or for labels.
    Stream,
    /// A stretch: for order of the file, without labels.
    Stretch,
}

/// A log: streams in our format, or raw streams of the MPS.
pub struct Log {
    source: Box<dyn Source + Send + Sync>,
    index: Index,
    eras: Vec<u16>,
    /// The line of time of each stream, if the streams are of several eras.
    lines: Option<Vec<Line>>,
    /// The rest of a log that is read by increments.
    unread: Option<Box<Increments>>,
    /// Whether the source has the memory of all processes that wrote the log.
    has_memory: bool,
}

impl Log {
    /// Opens a log file, or the directory of a log in several files (`.directory.names`).
    pub fn open(path: impl AsRef<Path>) -> Result<Log, OpenError> {
        Log::open_with(path, &Options::default())
    }

    /// Opens a log file, with facts that the log does not state.
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Log, OpenError> {
        let file = File::open(&path)?;
        if file.metadata()?.is_dir() {
            let joined = Directory::read(path.as_ref())?.open()?;
            return match joined.size() > 0 {
                true => Log::with_source(Box::new(joined), options),
                false => Err(OpenError::Directory),
            };
        }
        Log::with_source(Box::new(FileSource::new(file)?), options)
    }

    /// Reads the log in a source.
    pub fn from_source(source: impl Source + Send + Sync + 'static) -> Result<Log, OpenError> {
        Log::with_source(Box::new(source), &Options::default())
    }

    /// Reads the log in a source, with facts that the log does not state.
    pub fn with_source(
        source: Box<dyn Source + Send + Sync>,
        options: &Options,
    ) -> Result<Log, OpenError> {
        Log::begin(source, options, None)
    }

    /// Reads the log in a source an increment at a time: its streams, registries, faults and
    /// events are those of an increment, until [`Log::next_increment`] has gone on to the next.
    /// A log that has a header and an index is one increment. For `eventcnv`, which begins to print
    /// a raw log of the MPS before it has read all of it.
    #[doc(hidden)]
    pub fn with_source_by_increment(
        source: Box<dyn Source + Send + Sync>,
        options: &Options,
        increment: Increment,
    ) -> Result<Log, OpenError> {
        Log::begin(source, options, Some(increment))
    }

    fn begin(
        source: Box<dyn Source + Send + Sync>,
        options: &Options,
        increment: Option<Increment>,
    ) -> Result<Log, OpenError> {
        if source.size() == 0 {
            return Err(OpenError::Empty);
        }
        let head = head::read_some(&*source, 0, HEAD_SIZE)?;
        if core::is_elf(&head) {
            let core = Core::open(source)?;
            let mut log = Log::with_source(Box::new(core.log()), options)?;
            for fault in core.faults() {
                log.index.faults.push(0, FaultKind::Core(fault.clone()));
            }
            return Ok(log);
        }
        // `.ring.read`
        let (is_moving, source) = match ring::copy(&*source, 0)? {
            Some(copy) => (copy.is_moving, copy.log_of(source)),
            None => (source.copied() == Some(true), source),
        };
        let is_stream = head::is_stream(&head) || head::first_block(&*source)?.is_some();
        if let Some(increment) = increment
            && !is_stream
        {
            let mut unread = Increments::begin(&*source, options, increment == Increment::Stream)?;
            if unread.is_described()
                && let Some(index) = unread.next(&*source)
            {
                return Ok(Log { unread: Some(Box::new(unread)), ..Log::of(source, index) });
            }
        }
        let mut index = index(&*source, is_stream, options, is_moving)?;
        if let Some(rate) = options.clock_rate {
            index.streams.iter_mut().for_each(|stream| stream.set_clock_rate(rate));
        }
        let mut log = Log::of(source, index);
        log.measure_clocks();
        Ok(log)
    }

    /// Returns the format of a log that begins with these bytes; `None` if it is not a log.
    pub fn format_of(head: &[u8], options: &Options) -> Option<Format> {
        if head::is_stream(head) {
            return Some(Format::Stream);
        }
        mps::is_stream(head, options).then_some(Format::Mps)
    }

    fn of(source: Box<dyn Source + Send + Sync>, index: Index) -> Log {
        let eras = eras(&index.streams);
        let lines = align::lines(&index.streams, &eras);
        Log { source, index, eras, lines, unread: None, has_memory: false }
    }

    /// Goes on to the next increment. Returns false if there is none. Streams and faults include
    /// those of earlier increments.
    pub fn next_increment(&mut self) -> bool {
        let next = self.unread.as_mut().and_then(|unread| unread.next(&*self.source));
        if let Some(index) = next {
            self.eras = eras(&index.streams);
            self.lines = align::lines(&index.streams, &self.eras);
            self.index = index;
            return true;
        }
        // Bytes without events may still have had faults.
        if let Some(unread) = self.unread.take() {
            self.index = unread.end();
        }
        false
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        self.index.format
    }

    /// Returns the streams in file order: one, unless logs were concatenated.
    pub fn streams(&self) -> &[Stream] {
        &self.index.streams
    }

    /// Returns the registries of all streams, by stream and index.
    pub fn registries(&self) -> &[Registry] {
        &self.index.registries
    }

    /// Returns the faults of the first pass. [`Events::faults`](crate::reader::Events::faults) has
    /// those of a reading.
    pub fn faults(&self) -> &Faults {
        &self.index.faults
    }

    /// States that the source has the memory of all processes of the log. For `eventcnv`, which
    /// reads a log together with cores: a core has the blocks that were not written, and the
    /// numbers of events show what is missing. So this drops the faults that are holes
    /// (`.stream.hole`).
    #[doc(hidden)]
    pub fn note_memory(&mut self) {
        self.has_memory = true;
        self.index.faults.drop_holes();
    }

    /// Returns whether a stream may lack its last blocks, those of each thread and kind: it was not
    /// closed (`.read.end`), and neither a ring nor a core has them.
    #[must_use]
    pub fn is_open_ended(&self, stream: u16) -> bool {
        let is_open = |of: &Stream| !of.closed && of.next_volume.is_none() && !of.is_ring;
        let has_blocks = self.format() == Format::Stream && !self.has_memory;
        has_blocks && self.streams().get(usize::from(stream)).is_some_and(is_open)
    }

    /// Returns the counts of each buffer, by stream and buffer. An MPS log has none.
    pub fn accounts(&self) -> &[Account] {
        &self.index.accounts
    }

    /// Returns whether every stream was closed (`.read.end`). An MPS log does not state it, and
    /// counts as closed.
    pub fn is_closed(&self) -> bool {
        self.index.streams.iter().all(|stream| stream.closed)
    }

    /// Returns the size of the source in bytes.
    pub fn size(&self) -> u64 {
        self.source.size()
    }

    /// Returns ticks between which a stream's events lie; `None` if the stream has no event. Blocks
    /// tell when they were sealed: [`Log::history`] tells when the last event was.
    #[must_use]
    pub fn span(&self, stream: u16) -> Option<(u64, u64)> {
        let segments = self.index.segments.iter().filter(|segment| segment.stream == stream);
        let mut decoded = Decoded::default();
        segments.filter_map(|segment| self.span_of(segment, &mut decoded)).reduce(widest)
    }

    /// Returns the same of each stream, in one pass.
    #[must_use]
    pub fn spans(&self) -> Vec<Option<(u64, u64)>> {
        let (mut spans, mut decoded) = (vec![None; self.streams().len()], Decoded::default());
        for segment in &self.index.segments {
            if let Some(span) = spans.get_mut(usize::from(segment.stream)) {
                let own = self.span_of(segment, &mut decoded);
                *span = [*span, own].into_iter().flatten().reduce(widest);
            }
        }
        spans
    }

    /// Returns ticks between which the events of a segment lie.
    fn span_of(&self, segment: &Segment, decoded: &mut Decoded) -> Option<(u64, u64)> {
        if segment.ticks_max < u64::MAX {
            return Some((segment.ticks_min, segment.ticks_max));
        }
        // The last ticks of an open block are unknown before decoding.
        self.ticks_of(segment, decoded)
    }

    /// Returns the ticks of the first and the last event of a segment: it decodes the segment.
    fn ticks_of(&self, segment: &Segment, decoded: &mut Decoded) -> Option<(u64, u64)> {
        let registry = self.registries().get(segment.registry as usize)?;
        self.decode(segment, registry, decoded, &mut Faults::default());
        let ticks = || decoded.located.iter().map(|located| located.ticks);
        Some((ticks().min()?, ticks().max()?))
    }

    /// Returns whether ticks order the events of two streams (`.time.order`).
    pub fn is_comparable(&self, one: u16, other: u16) -> bool {
        self.era(one) == self.era(other)
    }

    /// Returns whether a stream was made without all events of another log (`.cut.flag`).
    pub(crate) fn is_cut(&self, stream: u16) -> bool {
        self.index.streams.get(usize::from(stream)).is_some_and(|stream| stream.is_cut)
    }

    /// Returns the n-th event, in file order, of a segment that was decoded and not sorted.
    pub(crate) fn event<'a>(
        &'a self,
        segment: &Segment,
        registry: &'a Registry,
        decoded: &'a Decoded,
        n: usize,
        labels: &'a Labels,
    ) -> Option<Event<'a, 'a>> {
        let origin = self.streams().get(usize::from(segment.stream));
        Some(segment.event(registry, origin, decoded, decoded.get(n)?, labels))
    }

    pub(crate) fn source(&self) -> &(dyn Source + Sync) {
        &*self.source
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.index.segments
    }

    pub(crate) fn segment(&self, place: u32) -> Option<&Segment> {
        self.index.segments.get(place as usize)
    }

    /// Returns the line of time of a stream, if several eras are aligned (`.time.align`).
    pub(crate) fn line(&self, stream: u16) -> Option<&Line> {
        self.lines.as_ref()?.get(usize::from(stream))
    }

    /// Returns whether the streams have separate clocks, aligned by CLOCK_MONOTONIC or the time of
    /// day (`.time.align`).
    pub fn is_aligned(&self) -> bool {
        self.lines.is_some()
    }

    /// Returns the position of a segment in order of time: its group of streams, and its least
    /// time. Aligned streams form one group.
    pub(crate) fn place(&self, segment: &Segment) -> (u16, u64) {
        match self.line(segment.stream) {
            Some(line) => (0, line.at(segment.ticks_min)),
            None => (self.era(segment.stream), segment.ticks_min),
        }
    }

    /// Returns the era of a stream: streams whose ticks compare have one era (`.time.order`).
    fn era(&self, stream: u16) -> u16 {
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
        // The bytes there are overwritten: clearing them first would cost time.
        decoded.bytes.resize(size, 0);
        match self.source.read_at(segment.offset, &mut decoded.bytes) {
            Ok(size) => {
                decoded.bytes.truncate(size);
                (self.index.decode)(segment, registry, decoded, faults);
                if let Some(ranges) = self.index.chosen.get(&segment.offset) {
                    decoded.choose(ranges);
                }
            }
            Err(error) => {
                decoded.bytes.clear();
                faults.push(segment.offset, FaultKind::Io { message: error.to_string() });
            }
        }
    }
}

opaque_debug!(Log);

/// Recognises the format, and indexes the source.
fn index(
    source: &(dyn Source + Sync),
    is_stream: bool,
    options: &Options,
    is_moving: bool,
) -> Result<Index, OpenError> {
    if is_stream {
        return indexer::index(source, is_moving);
    }
    mps::index(source, options)
}

/// Returns the span of two spans.
fn widest((a, b): (u64, u64), (first, last): (u64, u64)) -> (u64, u64) {
    (a.min(first), b.max(last))
}

/// Returns the era of each stream: the first stream with the same boot and clock.
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
