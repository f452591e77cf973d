//! The first pass over a raw MPS stream: walks from event to event, and cuts segments.
//!
//! ```text
//!  │ event │ event │ … │ event │ ???????????? │ event │ event │ …
//!  └─ segment: of one cell ────┘ └─ skipped ─┘ └──── segment ───
//!     of 64 KiB of the source     Fault: what, where, how much; on to the next chain of events
//! ```
//!
//! Segments end at cells, not at sizes, so that workers can cut parts independently. Design:
//! `eventlog::reader` in `ARCHITECTURE.md`; `.req.robust` in `design/telemetry.md`.

use super::ahead::Division;
use super::plain::{Plain, Run, decode};
use super::platform::{Head, PLATFORMS, Shapes, name, of_version};
use super::recognise::{PREFIX_SIZE, Recognised, mps_stream, recognise, version_of};
use super::window::Window;
use crate::reader::fault::kind::is_decoded_by;
use crate::reader::fault::kind::{FaultKind, OpenError};
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::{KIND_MIXED, Segment};
use crate::reader::index::{Format, Index, Options};
use crate::reader::model::registry::{Platform, Registry};
use crate::reader::model::stream::Stream;
use crate::reader::source::bytes::Source;
use eventdef::Version;

/// Size of a cell: the events of a segment begin in one cell of the source.
pub(super) const CELL_SIZE: u64 = 1 << 16;
/// Bytes that a decision may need: a chain of events of at most 64 KiB each.
pub(super) const LOOKAHEAD_SIZE: usize = 1 << 18;
/// Places that are tried as the beginning of a stream of another platform or version.
pub(super) const TRY_COUNT_MAX: usize = 256;
/// Events that must fit if only sizes and clocks can be judged, without a registry.
pub(super) const LOOSE_CHAIN_COUNT: usize = 16;
/// Distance of clocks of events that only their clocks make plausible, at most: weeks.
pub(super) const CLOCK_DISTANCE_MAX: u64 = 1 << 52;
/// Streams that are distinguished in one log. Later ones count as part of the last.
pub(super) const STREAM_COUNT_MAX: usize = 4096;

const HEAD_DAMAGE: &str = "the stream of the Memory Pool System does not begin with an event";

/// Indexes a raw MPS stream. Fails with [`OpenError::NotALog`] if the source is none.
pub(crate) fn index(source: &(dyn Source + Sync), options: &Options) -> Result<Index, OpenError> {
    index_divided(source, options, Division::for_all_processors())
}

/// Returns whether a source that begins with these bytes is a raw MPS stream.
pub(crate) fn is_stream(bytes: &[u8], options: &Options) -> bool {
    let prefix = bytes.get(..PREFIX_SIZE).unwrap_or(bytes);
    recognise(prefix, bytes.len() < PREFIX_SIZE, &known(options)).is_some()
}

/// Returns the registry to read with.
fn known(options: &Options) -> Registry {
    match &options.mps_registry {
        Some(registry) => registry.clone(),
        None => Registry::new(&eventdef::mps::REGISTRY, PLATFORMS[0]),
    }
}

/// Indexes a raw MPS stream in parts of a given division.
pub(super) fn index_divided(
    source: &(dyn Source + Sync),
    options: &Options,
    division: Division,
) -> Result<Index, OpenError> {
    let mut window = Window::new(source);
    let (mut indexer, start) = first(&mut window, options)?;
    window.go_to(start);
    indexer.walk(source, &mut window, division, u64::MAX);
    let segments = indexer.take_segments(false);
    Ok(indexer.index(segments))
}

/// Recognises the stream, and returns the offset of the first event.
pub(super) fn first(
    window: &mut Window<'_>,
    options: &Options,
) -> Result<(Indexer, u64), OpenError> {
    window.need(PREFIX_SIZE);
    let prefix = window.rest();
    let prefix = prefix.get(..PREFIX_SIZE).unwrap_or(prefix);
    let known = known(options);
    let is_all = window.source_size <= prefix.len() as u64;
    let found = recognise(prefix, is_all, &known).ok_or(OpenError::NotALog)?;
    Ok((Indexer::new(known, &found), found.offset as u64))
}

pub(super) fn cell_end(offset: u64) -> u64 {
    (offset / CELL_SIZE + 1).saturating_mul(CELL_SIZE)
}

pub(super) struct Indexer {
    pub(super) known: Registry,
    pub(super) shapes: Shapes,
    /// The plain events. A version that the registry does not describe has none.
    pub(super) plain: Plain,
    /// The code of EventInit, with which a stream begins in file order.
    pub(super) init_code: Option<u16>,
    pub(super) is_registry_right: bool,
    pub(super) clock: u64,
    segment: Segment,
    /// Streams of another platform or version that were tried.
    pub(super) tries: usize,
    event_count: u64,
    /// The stream's version, if it is a later minor version than the registry's and was not
    /// reported yet.
    later: Option<Version>,
    /// A bit for each unknown code that was reported.
    reported: Box<[u64; 1024]>,
    pub(super) streams: Vec<Stream>,
    pub(super) registries: Vec<Registry>,
    pub(super) segments: Vec<Segment>,
    pub(super) faults: Faults,
}

impl Indexer {
    fn new(known: Registry, found: &Recognised) -> Indexer {
        let shapes = Shapes::new(&known);
        let mut indexer = Indexer {
            plain: Plain::new(&known, &shapes, None),
            shapes,
            known,
            init_code: None,
            is_registry_right: true,
            clock: 0,
            segment: Segment::default(),
            tries: 0,
            event_count: 0,
            later: None,
            reported: Box::new([0; 1024]),
            streams: Vec::new(),
            registries: Vec::new(),
            segments: Vec::new(),
            faults: Faults::default(),
        };
        if found.offset > 0 {
            let size = found.offset as u64;
            indexer.faults.push(0, FaultKind::Mps { what: HEAD_DAMAGE, size });
        }
        indexer.begin_platform(found.offset as u64, found);
        indexer
    }

    /// Begins a stream of another platform or version.
    pub(super) fn begin_platform(&mut self, offset: u64, found: &Recognised) {
        let mut registry = self.known.clone();
        registry.stream = self.streams.len() as u16;
        registry.index = 1;
        self.is_registry_right = found.is_registry_right;
        self.later = found.version.filter(|&version| version > self.known.version);
        if !found.is_registry_right {
            let known = self.known.version;
            self.faults.push(offset, FaultKind::MpsVersion { found: found.version, known });
            registry.version = found.version.unwrap_or(known);
            registry.doc = Box::default();
            registry.kinds.clear();
            registry.event_types.clear();
        }
        if !found.alternatives.is_empty() {
            let used = name(found.platform);
            let others = found.alternatives.iter().map(|&other| name(other)).collect();
            self.faults.push(offset, FaultKind::MpsPlatform { used, others });
        }
        registry.lay_out(found.platform);
        self.shapes = Shapes::new(&registry);
        self.init_code = registry.event_type_named("EventInit").map(|row| row.code);
        self.plain = Plain::new(&registry, &self.shapes, self.init_code);
        self.registries.push(registry);
        self.begin_stream(offset, found.platform, found.version);
    }

    fn begin_stream(&mut self, offset: u64, platform: Platform, version: Option<Version>) {
        if self.streams.len() < STREAM_COUNT_MAX {
            let version = version.unwrap_or(self.known.version);
            self.streams.push(mps_stream(offset, platform, version));
        }
    }

    /// Adds an event that is not plain.
    #[inline]
    pub(super) fn add(&mut self, offset: u64, event: Head, bytes: &[u8]) {
        let may_begin = Some(event.code) == self.init_code || !self.is_registry_right;
        let is_later = |stream: &Stream| self.event_count > 0 && stream.offset < offset;
        if may_begin && self.streams.last().is_some_and(is_later) {
            self.init(offset, event, bytes);
        }
        let row = self.registries.last().and_then(|registry| registry.event_type(event.code));
        let kind = row.map_or(KIND_MIXED, |row| row.kind);
        if kind == KIND_MIXED {
            self.report_unknown(offset, event.code);
        }
        self.add_run(offset, event.size as u32, &Run::of_one(event, kind));
    }

    /// Adds events of one cell to the open segment, or begins a segment for them.
    pub(super) fn add_run(&mut self, offset: u64, size: u32, run: &Run) {
        let kind = run.kind();
        if self.segment.count > 0 && offset >= cell_end(self.segment.offset) {
            self.cut();
        }
        if self.segment.count == 0 {
            self.segment = Segment {
                offset,
                ticks_min: run.ticks_min,
                first: self.event_count,
                stream: (self.streams.len() - 1) as u16,
                registry: (self.registries.len() - 1) as u32,
                kind,
                ..Segment::default()
            };
        }
        let segment = &mut self.segment;
        segment.ticks_min = segment.ticks_min.min(run.ticks_min);
        segment.ticks_max = segment.ticks_max.max(run.ticks_max);
        segment.count += run.count;
        segment.size += size;
        segment.kind = if segment.kind == kind { kind } else { KIND_MIXED };
        self.event_count += u64::from(run.count);
        self.clock = run.clock;
    }

    /// Begins another stream at its EventInit, which may have another version.
    fn init(&mut self, offset: u64, event: Head, bytes: &[u8]) {
        let platform = self.shapes.platform;
        let version = version_of(platform, event, bytes);
        if version.is_none() && !self.is_registry_right {
            return;
        }
        self.cut();
        let is_right = version.map(|found| is_decoded_by(found, self.known.version));
        // Each change costs a registry: a log full of changes must not cost unlimited memory.
        let is_late = is_right == Some(true) && self.tries >= TRY_COUNT_MAX;
        if is_late || is_right.is_none_or(|is_right| is_right == self.is_registry_right) {
            self.later = version.filter(|&version| version > self.known.version);
            self.begin_stream(offset, platform, version);
            return;
        }
        self.tries += 1;
        let found = Recognised {
            // Booleans are as in the registry.
            platform: of_version(platform, self.known.version),
            alternatives: Vec::new(),
            version,
            is_registry_right: is_right == Some(true),
            offset: 0,
        };
        self.begin_platform(offset, &found);
    }

    fn report_unknown(&mut self, offset: u64, code: u16) {
        // All codes of another version are unknown, which was reported.
        let Some(bits) = self.reported.get_mut(usize::from(code / 64)) else { return };
        let bit = 1 << (code % 64);
        if *bits & bit == 0 && self.is_registry_right {
            *bits |= bit;
            if let Some(found) = self.later.take() {
                let known = self.known.version;
                self.faults.push(offset, FaultKind::MpsMinor { found, known });
            }
            self.faults.push(offset, FaultKind::EventUnknown { registry: 1, code });
        }
    }

    /// Ends the open segment.
    pub(super) fn cut(&mut self) {
        if self.segment.count > 0 {
            self.segments.push(self.segment);
            self.segment = Segment::default();
        }
    }

    /// Takes the segments that were cut. `but_last_stream` keeps those of the last stream.
    pub(super) fn take_segments(&mut self, but_last_stream: bool) -> Vec<Segment> {
        let last = self.streams.len().saturating_sub(1);
        let is_taken = |at: &Segment| !but_last_stream || usize::from(at.stream) < last;
        let kept = self.segments.split_off(self.segments.partition_point(is_taken));
        std::mem::replace(&mut self.segments, kept)
    }

    pub(super) fn index(&self, segments: Vec<Segment>) -> Index {
        Index {
            chosen: Default::default(),
            format: Format::Mps,
            decode,
            streams: self.streams.clone(),
            registries: self.registries.clone(),
            segments,
            accounts: Vec::new(),
            faults: self.faults.clone(),
        }
    }
}
