//! The pieces of a log, and whether it is sound: every checksum, count, chain, number, sequence and
//! clock sync.
//!
//! ```text
//!  index (was read) ─ numbers, registries, holes, end ────────────────┐
//!  survey ─ headers: sequences, syncs, what is where ─────────────────┼─▶ Faults, by offset
//!  segments, 64 at a time, on all cores ─ checksum, chain, parameters ┘
//! ```
//!
//! A survey passes each block and part as the first pass meets it. It keeps nothing: a log of any
//! size needs little memory. Layout: sections 2 to 4 of `design/format.md`.
//!
//! The same code decodes the events here as in a reading, so this finds the same faults. Design:
//! `.cnv.verify` in `design/eventcnv.md`; rules: 3.3 of `design/format.md`.

use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::index::Format;
use crate::reader::index::segment::{Decoded, KIND_MIXED, Segment};
use crate::reader::log::Log;
use crate::reader::model::registry::Registry;
use crate::reader::model::stream::{SYNC_COUNT_MAX, Stream};
use crate::reader::source::ahead::Ahead;
use crate::reader::stream::block;
use crate::reader::stream::entry::Grid;
use crate::reader::stream::entry::segment;
use crate::reader::stream::indexer::Indexer;
use crate::reader::stream::piece::{Piece, What};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZero;
use std::thread;

/// Segments that one thread decodes in one step.
const BATCH: usize = 64;
const THREAD_COUNT_MAX: usize = 64;

/// The result of a verification.
#[derive(Debug, Default)]
pub struct Verified {
    /// Faults beyond those of [`Log::faults`], by offset.
    pub faults: Faults,
    /// Events of the log, each once.
    pub event_count: u64,
    /// Number and bytes of the pieces of each type; parts separately.
    pub pieces: BTreeMap<(What, bool), (u64, u64)>,
}

impl Log {
    /// Passes each piece of the log to `visit`, in file order.
    pub fn survey(&self, visit: &mut dyn FnMut(&Piece)) {
        if self.format() == Format::Mps {
            return self.survey_mps(visit);
        }
        let mut indexer = Indexer::new(self.source());
        indexer.visitor = Some(visit);
        // The log was opened, so a stream begins it. Opening it reported all faults.
        let _ = indexer.walk();
    }

    /// Returns the streams whose events each registry declares, by index. Several raw streams of
    /// the MPS may share a registry.
    pub fn streams_of_registries(&self) -> Vec<BTreeSet<u16>> {
        let own = |registry: &Registry| BTreeSet::from([registry.stream]);
        let mut streams: Vec<BTreeSet<u16>> = self.registries().iter().map(own).collect();
        for segment in self.segments() {
            if let Some(streams) = streams.get_mut(segment.registry as usize) {
                streams.insert(segment.stream);
            }
        }
        streams
    }

    fn survey_mps(&self, visit: &mut dyn FnMut(&Piece)) {
        for segment in self.segments() {
            let end = segment.offset.saturating_add(u64::from(segment.size));
            let mut piece = Piece::gap(What::Events, segment.offset, end, segment.stream);
            let header = &mut piece.header;
            let registry = self.registries().get(segment.registry as usize);
            header.registry = registry.map_or(0, |registry| registry.index).into();
            header.kind = if segment.kind == KIND_MIXED { u8::MAX } else { segment.kind };
            header.first = segment.first.into();
            header.count = segment.count.into();
            header.base = segment.ticks_min.into();
            header.base_last = segment.ticks_max.into();
            visit(&piece);
        }
    }

    /// Reads the whole log on this number of threads (`None`: one for each processor), and checks
    /// everything.
    pub fn verify(&self, thread_count: Option<NonZero<usize>>) -> Verified {
        let mut verified = Verified::default();
        let mut checks = HeaderChecks { log: self, last: HashMap::new(), more: Vec::new() };
        self.survey(&mut |piece| {
            let (count, size) = verified.pieces.entry((piece.what, piece.is_part)).or_default();
            *count += 1;
            *size += piece.size;
            checks.piece(piece, &mut verified.faults);
        });
        for stream in self.streams() {
            check_syncs(stream, &mut verified.faults);
        }
        let more = checks.more;
        let cores = || thread::available_parallelism().ok();
        let threads = thread_count.or_else(cores).map_or(1, NonZero::get).min(THREAD_COUNT_MAX);
        // Only the events of the log's own segments count.
        let own = self.segments().iter().map(|segment| (1, segment));
        let all: Vec<(u64, &Segment)> = own.chain(more.iter().map(|other| (0, other))).collect();
        let batches: &Vec<_> = &all.chunks(BATCH).collect();
        thread::scope(|scope| {
            let mut ahead = Ahead::begin(scope, threads, 0..batches.len() as u64, || {
                let mut decoded = Decoded::default();
                move |batch| {
                    let (mut events, mut faults) = (0, Faults::default());
                    for (count, segment) in batches.get(batch as usize).copied().unwrap_or(&[]) {
                        events += count * self.check(segment, &mut decoded, &mut faults);
                    }
                    (events, faults)
                }
            });
            for (events, faults) in (0..).map_while(|batch| ahead.take(batch)) {
                verified.event_count += events;
                verified.faults.append(&faults);
            }
        });
        verified.faults.settle(self.faults());
        verified
    }

    /// Returns the index of the registry of a block, laid out for its platform.
    fn registry_of(&self, piece: &Piece) -> Option<u32> {
        let key = (piece.header.registry.get(), block::platform(&piece.header));
        let is_match = |registry: &Registry| {
            registry.stream == piece.stream && (registry.index, registry.platform) == key
        };
        self.registries().iter().position(is_match).map(|place| place as u32)
    }
}

struct HeaderChecks<'l> {
    log: &'l Log,
    /// First number and sequence of the last block of each buffer.
    last: HashMap<(u16, u32), (u64, u64)>,
    /// Segments that the log does not read: other segments give their events, or they have none.
    more: Vec<Segment>,
}

impl HeaderChecks<'_> {
    fn piece(&mut self, piece: &Piece, faults: &mut Faults) {
        if piece.what != What::Events || piece.header.magic == [0; 4] {
            return;
        }
        let header = &piece.header;
        let (first, sequence) = (header.first.get(), header.sequence.get());
        let is_read =
            self.log.segments().binary_search_by_key(&piece.offset, |at| at.offset).is_ok();
        // The order of a damaged block means nothing.
        if is_read || piece.is_part {
            let key = (piece.stream, header.buffer.get());
            let before = self.last.insert(key, (first, sequence));
            let is_against = |(first_before, before): &(u64, u64)| {
                let numbers = first.cmp(first_before);
                numbers.is_ne() && sequence.cmp(before) == numbers.reverse()
            };
            if let Some((_, before)) = before.filter(is_against) {
                let buffer = header.buffer.get();
                let kind = FaultKind::BlockSequence { buffer, found: sequence, before };
                faults.push(piece.offset, kind);
            }
        }
        let is_extra = if piece.is_part { !piece.is_right } else { !is_read };
        if is_extra {
            let block_size = self.log.streams().get(usize::from(piece.stream));
            let block_size = block_size.map_or(0, |stream| u64::from(stream.block_size));
            let grid = Grid {
                stream: piece.stream,
                block_size_log2: header.block_size_log2,
                block_size,
                flags: None,
                is_ring: false,
            };
            let flags = if piece.is_part { block::PART } else { 0 };
            let mut segment = segment(grid, piece.offset, piece.size as u32, flags, header);
            segment.registry = self.log.registry_of(piece).unwrap_or(u32::MAX);
            self.more.push(segment);
        }
    }
}

/// Checks that the clocks of a stream go forward (`.time.sync`), as far as the syncs tell.
fn check_syncs(stream: &Stream, faults: &mut Faults) {
    // Of too many syncs, every second one was dropped.
    debug_assert!(stream.syncs.len() <= SYNC_COUNT_MAX);
    for (before, sync) in stream.syncs.iter().zip(stream.syncs.iter().skip(1)) {
        let ticks = sync.ticks;
        let slack = u64::from(before.uncertainty) + u64::from(sync.uncertainty);
        let by = before.monotonic.saturating_sub(sync.monotonic);
        if by > slack && sync.monotonic != 0 {
            faults.push(stream.offset, FaultKind::SyncBack { ticks, by });
        }
        let by = before.realtime.saturating_sub(sync.realtime);
        if by > slack && sync.realtime != 0 {
            faults.push(stream.offset, FaultKind::SyncSet { ticks, by });
        }
    }
}

impl Log {
    /// Decodes a segment, checks its times, and returns the number of its events.
    fn check(&self, segment: &Segment, decoded: &mut Decoded, faults: &mut Faults) -> u64 {
        let unknown;
        let registry = match self.registries().get(segment.registry as usize) {
            Some(registry) => registry,
            None => {
                let stream = self.streams().get(usize::from(segment.stream));
                let Some(stream) = stream else { return 0 };
                unknown = Registry::unknown(segment.stream, 0, stream.platform);
                &unknown
            }
        };
        self.decode(segment, registry, decoded, faults);
        let latest = decoded.located.iter().map(|located| located.ticks).max().unwrap_or(0);
        if latest > segment.ticks_max {
            let kind = FaultKind::EventLate { ticks: latest, sync: segment.ticks_max };
            faults.push(segment.offset, kind);
        }
        decoded.located.len() as u64
    }
}
