//! Logs made of logs: the remains of one, a selection of one, several as one.
//!
//! ```text
//!  Log ─┬─ write_all, or add: event by event ─▶ runs of numbers ─▶ blocks, parts
//!       └─ header, registries, store, syncs, accounts ─────────────▶
//! ```
//!
//! Events keep their identity: stream, buffer and number (`.event.identity`). A raw MPS stream
//! becomes a stream in our format with its registry. Rules: section 11 of `design/format.md`.

mod convert;
mod encode;

use super::out::Out;
use super::pack::{Counts, MEMORY_MAX, Packer, Place};
use crate::format::STREAM_CUT;
use crate::reader::entry::flags_of;
use crate::reader::label;
use crate::reader::segment::{Decoded, Segment};
use crate::reader::{Account, Event, Faults, Format, Labels, Log, Registry};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::ops::Range;

/// The purpose of a log that is made of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// All readable events. Events that the other log had lost count as refused by the host.
    Whole,
    /// Some events. Missing numbers were left out (`.cut.flag`).
    Cut,
}

/// The result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Events, including those of the store.
    pub event_count: u64,
    /// Size in bytes.
    pub size: u64,
    /// Events that the other log had lost, including events that are too short.
    pub lost_count: u64,
    /// Events that were left out because they lack parameters (`.cut.short`).
    pub short_count: u64,
}

/// Makes a log of another log.
pub struct Writer<'l, 'o> {
    log: &'l Log,
    /// The segments, stream by stream, each in the order of the file.
    places: Vec<u32>,
    purpose: Purpose,
    out: Out<'o>,
    /// The stream that is being written.
    current: Option<Current>,
    /// Streams whose store was written.
    begun: BTreeSet<u16>,
    /// The UUIDs of the streams, after the first stream began.
    uuids: Vec<[u8; 16]>,
    decoded: Decoded,
    bytes: Vec<u8>,
    faults: Faults,
    written: Written,
}

/// The stream that is being written.
struct Current {
    index: u16,
    packer: Packer,
    /// The number of its first event in an MPS log.
    first: u64,
    /// Events of each buffer that are in the index, but missing or too short.
    missing: HashMap<u32, u64>,
}

opaque_debug!(Writer<'_, '_>);

impl<'l, 'o> Writer<'l, 'o> {
    /// Returns a writer that writes to `out`.
    pub fn new(log: &'l Log, purpose: Purpose, out: &'o mut dyn Write) -> Writer<'l, 'o> {
        let mut places: Vec<u32> = (0..log.segments().len() as u32).collect();
        places.sort_by_key(|place| log.segment(*place).map(|segment| segment.stream));
        Writer {
            log,
            places,
            purpose,
            out: Out::new(out),
            current: None,
            begun: BTreeSet::new(),
            uuids: Vec::new(),
            decoded: Decoded::default(),
            bytes: Vec::new(),
            faults: Faults::default(),
            written: Written::default(),
        }
    }

    /// Returns the faults of the reading.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Writes all readable events, stream by stream, in the order of the file.
    pub fn write_all(&mut self) -> io::Result<()> {
        for index in 0..self.log.streams().len() as u16 {
            self.begin(index)?;
            for place in self.places_of(index) {
                if let Some(segment) = self.segment_at(place) {
                    self.segment(segment, false)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the range in `places` of the segments of a stream.
    fn places_of(&self, index: u16) -> Range<usize> {
        let stream = |place: &u32| self.log.segment(*place).map(|segment| segment.stream);
        let end = |from: Option<u16>| self.places.partition_point(|place| stream(place) < from);
        end(Some(index))..index.checked_add(1).map_or(self.places.len(), |next| end(Some(next)))
    }

    fn segment_at(&self, place: usize) -> Option<&'l Segment> {
        self.log.segment(*self.places.get(place)?)
    }

    /// Writes an event of the log. Streams may alternate, but each change costs a header. The store
    /// is written before the first event of its stream.
    pub fn add(&mut self, event: &Event<'_, '_>) -> io::Result<()> {
        if self.current.as_ref().is_none_or(|current| current.index != event.stream) {
            self.begin(event.stream)?;
        }
        if is_store(self.log, event) {
            return Ok(());
        }
        self.event(event)
    }

    /// Ends the log.
    pub fn finish(mut self) -> io::Result<(Written, Faults)> {
        // A log without events needs a header too.
        if self.begun.is_empty() && !self.log.streams().is_empty() {
            self.begin(0)?;
        }
        self.end()?;
        self.written.size = self.out.finish()?;
        Ok((self.written, self.faults))
    }

    /// Begins a stream, and writes its store the first time.
    fn begin(&mut self, index: u16) -> io::Result<()> {
        self.end()?;
        let log = self.log;
        let Some(stream) = log.streams().get(usize::from(index)) else { return Ok(()) };
        let is_first = self.begun.insert(index);
        let places = self.places_of(index);
        let of_stream = self.places.get(places.clone()).unwrap_or_default();
        let of_stream = of_stream.iter().filter_map(|&place| log.segment(place));
        let log2 = encode::block_size_log2(log, stream, of_stream.clone());
        let first = of_stream.clone().map(|segment| segment.first).min().unwrap_or(0);
        if self.uuids.is_empty() {
            let first = |index| self.segment_at(self.places_of(index).next()?);
            self.uuids = encode::uuids(log, first);
        }
        let uuid = self.uuids.get(usize::from(index)).copied().unwrap_or_default();
        let mut header = encode::header(log, uuid, stream, log2);
        if self.purpose == Purpose::Cut || log.is_cut(index) {
            header.flags = (header.flags.get() | STREAM_CUT).into(); // `.cut.flag`
        }
        header.seal();
        let uuid = header.uuid;
        self.out.begin(&header, log2)?;
        let mut registries: BTreeMap<u16, &Registry> = BTreeMap::new();
        let used: BTreeSet<u32> = of_stream.map(|segment| segment.registry).collect();
        let own = log.registries().iter().filter(|registry| registry.stream == index);
        let used = used.iter().filter_map(|&place| log.registries().get(place as usize));
        for registry in own.chain(used).filter(|registry| encode::is_known(registry)) {
            registries.entry(registry.index).or_insert(registry);
        }
        let flags = flags_of(stream.platform);
        for (index, registry) in registries {
            self.out.registry(flags, index, &encode::registry(registry))?;
        }
        let packer = Packer::new(&uuid, log2, flags, stream.syncs.clone());
        self.current = Some(Current { index, packer, first, missing: HashMap::new() });
        if is_first {
            for place in places {
                let Some(segment) = self.segment_at(place) else { continue };
                let registry = log.registries().get(segment.registry as usize);
                if registry.is_some_and(|registry| may_store(log, registry)) {
                    self.segment(segment, true)?;
                }
            }
            if let Some(current) = &mut self.current {
                current.packer.flush_all(&mut self.out)?;
            }
            // `.store.before`: names precede the events that use them.
            self.out.flush_parts()?;
        }
        Ok(())
    }

    /// Writes the events of a segment: those of the store, or all others.
    fn segment(&mut self, segment: &Segment, is_for_store: bool) -> io::Result<()> {
        let log = self.log;
        let Some(registry) = log.registries().get(segment.registry as usize) else {
            return Ok(());
        };
        // In our format, a segment is of the store or not.
        let is_mixed = log.format() == Format::Mps;
        if !is_mixed && may_store(log, registry) != is_for_store {
            return Ok(());
        }
        let mut decoded = std::mem::take(&mut self.decoded);
        let mut muted = Faults::default();
        let faults = if is_mixed && is_for_store { &mut muted } else { &mut self.faults };
        log.decode(segment, registry, &mut decoded, faults);
        let missing = u64::from(segment.count).saturating_sub(decoded.located.len() as u64);
        if let Some(current) = self.current.as_mut().filter(|_| missing > 0) {
            *current.missing.entry(segment.buffer).or_default() += missing;
        }
        let (mut result, no_labels) = (Ok(()), Labels::default());
        for n in 0..decoded.located.len() {
            let event = log.event(segment, registry, &decoded, n, &no_labels);
            let Some(event) = event else { break };
            if is_store(log, &event) == is_for_store {
                result = self.event(&event);
            }
            if result.is_err() {
                break;
            }
        }
        self.decoded = decoded;
        result
    }

    /// Writes an event of the current stream.
    fn event(&mut self, event: &Event<'_, '_>) -> io::Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let size_min = event.event_type.map_or(0, |event_type| event_type.size_min as usize);
        if event.bytes.len() < size_min {
            // `.cut.short`
            self.written.short_count += 1;
            *current.missing.entry(event.buffer).or_default() += 1;
            return Ok(());
        }
        self.written.event_count += 1;
        let mut place = Place {
            flags: flags_of(event.registry.platform),
            registry: event.registry.index,
            kind: event.kind,
            thread: event.thread,
            buffer: event.buffer,
            number: event.number,
        };
        let mut bytes = event.bytes;
        if self.log.format() == Format::Mps {
            convert::event(event, &mut self.bytes);
            bytes = &self.bytes;
            let kind = if event.event_type.is_some() { event.kind } else { convert::KIND_UNKNOWN };
            let number = event.number.wrapping_sub(current.first);
            place = Place { kind, thread: 0, buffer: convert::BUFFER, number, ..place };
        }
        if let Some(full) = current.packer.add(&place, event.ticks, bytes) {
            current.packer.emit(&full, &mut self.out)?;
        }
        if current.packer.memory() > MEMORY_MAX {
            current.packer.shrink(MEMORY_MAX / 2, &mut self.out)?;
        }
        Ok(())
    }

    /// Ends the current stream.
    fn end(&mut self) -> io::Result<()> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        let log = self.log;
        let Some(stream) = log.streams().get(usize::from(current.index)) else { return Ok(()) };
        current.packer.flush_all(&mut self.out)?;
        let syncs_of_events = current.packer.syncs_of_events();
        current.packer.write_syncs(syncs_of_events, &mut self.out)?;
        let accounts = log.accounts();
        let begin = accounts.partition_point(|account| account.stream < current.index);
        let accounts = accounts.get(begin..).unwrap_or_default().iter();
        for account in accounts.take_while(|account| account.stream == current.index) {
            let registry = log.registries().get(account.registry as usize);
            let is_present = current.packer.has(account.buffer);
            if self.purpose == Purpose::Cut && !is_present {
                continue;
            }
            let missing = current.missing.get(&account.buffer).copied().unwrap_or(0);
            let lost = account.lost.saturating_add(missing);
            self.written.lost_count += lost;
            if let Some(registry) = registry {
                let place = Place {
                    flags: flags_of(registry.platform),
                    registry: registry.index,
                    kind: account.kind,
                    thread: account.thread,
                    buffer: account.buffer,
                    number: account.recorded,
                };
                current.packer.write_account(&place, &counts(account, lost), &mut self.out)?;
            }
        }
        if stream.closed || stream.next_volume.is_some() {
            let next = stream.next_volume.filter(|_| !stream.closed).unwrap_or(0);
            current.packer.write_end(next, &mut self.out)?;
        }
        Ok(())
    }
}

/// Returns the counts of a buffer. Lost events count as refused by the host (`.cut.account`), so
/// they are accounted for.
fn counts(account: &Account, lost: u64) -> Counts {
    Counts {
        full: account.discarded_full.into(),
        nested: account.discarded_nested.into(),
        large: account.discarded_large.into(),
        io: u64::from(account.discarded_io).saturating_add(lost),
        overwritten: account.overwritten,
    }
}

/// Returns whether events of a registry may be of the store.
fn may_store(log: &Log, registry: &Registry) -> bool {
    registry.index == 0 || log.format() == Format::Mps
}

/// Returns whether an event is of the store: of registry 0, or an event of the MPS that names
/// things.
fn is_store(log: &Log, event: &Event<'_, '_>) -> bool {
    match log.format() {
        Format::Stream => event.registry.index == 0,
        Format::Mps => event.event_type.and_then(label::role).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{Filter, Order};

    /// `.cnv.memory`
    #[test]
    fn runs_that_are_written_early_have_all_events() {
        let events = |log: &Log| {
            let mut found = Vec::new();
            let mut events = log.events(Order::Time, &Filter::default());
            while let Some(event) = events.next() {
                // All except the delta, which counts from another base.
                let params = event.bytes.get(8..).map(<[u8]>::to_vec);
                found.push((event.ticks, event.buffer, event.number, event.code(), params));
            }
            found
        };
        let bytes = include_bytes!("../../../tests/golden/log/heap-2.log").to_vec();
        let log = Log::from_source(bytes).unwrap();
        let mut made = Vec::new();
        let mut writer = Writer::new(&log, Purpose::Whole, &mut made);
        // In order of time, buffers alternate.
        let mut in_turns = log.events(Order::Time, &Filter::default());
        while let Some(event) = in_turns.next() {
            writer.add(&event).unwrap();
        }
        drop(in_turns);
        writer.finish().unwrap();
        let made = Log::from_source(made).unwrap();
        assert!(made.segments().len() > log.segments().len(), "{}", made.segments().len());
        assert!(made.segments().iter().all(|segment| segment.size < 1 << 13));
        assert_eq!(events(&made), events(&log));
    }

    /// `.cut.numbers`: a block with few events may have a high number.
    #[test]
    fn a_filter_of_known_events_skips_no_new_event_of_a_cut() {
        let bytes = include_bytes!("../../../tests/golden/log/heap-2.log").to_vec();
        let log = Log::from_source(bytes).unwrap();
        let mut made = Vec::new();
        let mut writer = Writer::new(&log, Purpose::Cut, &mut made);
        let (mut count, mut last) = (0, BTreeMap::new());
        let mut events = log.events(Order::File, &Filter::default());
        while let Some(event) = events.next() {
            count += 1;
            if count % 2 == 0 {
                writer.add(&event).unwrap();
                let last: &mut u64 = last.entry((event.stream, event.buffer)).or_default();
                *last = event.number.max(*last);
            }
        }
        drop(events);
        writer.finish().unwrap();
        let made = Log::from_source(made).unwrap();
        let filter = Filter::new().known(last.clone());
        let mut found = BTreeMap::new();
        let mut events = made.events(Order::File, &filter);
        while let Some(event) = events.next() {
            let found: &mut u64 = found.entry((event.stream, event.buffer)).or_default();
            *found = event.number.max(*found);
        }
        last.retain(|(_, buffer), _| *buffer != 0);
        found.retain(|(_, buffer), _| *buffer != 0);
        assert_eq!(found, last);
    }
}
