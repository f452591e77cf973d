//! Gives the events of segments of an arriving stream: registries, labels, and each event once.
//!
//! Rules: `.event.identity`, `.store` in `design/format.md`.

use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::{Decoded, Segment};
use crate::reader::model::event::Event;
use crate::reader::model::label::{self, LABEL_MEMORY_MAX, Labels};
use crate::reader::model::registry::Registry;
use crate::reader::model::stream::Stream;
use crate::reader::stream::entry::{flags_of, platform_of, registry_key};
use crate::reader::stream::indexer::Indexer;
use crate::reader::stream::number_set::NumberSet;
use crate::reader::stream::{block, encoding};
use std::collections::{BTreeMap, HashMap};

/// Buffers whose numbers are remembered, at most.
const BUFFER_COUNT_MAX: usize = 1 << 16;
/// Ranges of numbers that are remembered of a buffer, at most. A later event in a closed gap is not
/// given.
const RANGE_COUNT_MAX: usize = 16;

/// The state between blocks.
pub(super) struct Events {
    /// By index and platform: see [`registry_key`].
    registries: BTreeMap<u32, Registry>,
    /// Memory that is left for registries.
    registry_room: usize,
    labels: Labels,
    label_room: usize,
    no_labels: Labels,
    /// The numbers of the events that were given, by buffer.
    given: HashMap<u32, NumberSet>,
    decoded: Decoded,
}

impl Events {
    pub(super) fn new() -> Events {
        Events {
            registries: BTreeMap::new(),
            registry_room: encoding::REGISTRY_MEMORY_MAX,
            labels: Labels::default(),
            label_room: LABEL_MEMORY_MAX,
            no_labels: Labels::default(),
            given: HashMap::new(),
            decoded: Decoded::default(),
        }
    }

    /// Returns the registries that have arrived.
    pub(super) fn registries(&self) -> impl Iterator<Item = &Registry> {
        self.registries.values()
    }

    /// Returns the memory of registries and labels in bytes, about.
    pub(super) fn memory(&self) -> usize {
        encoding::REGISTRY_MEMORY_MAX + LABEL_MEMORY_MAX - self.registry_room - self.label_room
    }

    /// Frees the memory of a large block.
    pub(super) fn shrink(&mut self) {
        self.decoded.shrink();
    }

    /// Forgets everything: another stream begins.
    pub(super) fn forget(&mut self) {
        self.registries.clear();
        self.registry_room = encoding::REGISTRY_MEMORY_MAX;
        self.labels = Labels::default();
        self.label_room = LABEL_MEMORY_MAX;
        self.given.clear();
    }

    /// Takes the registries whose pieces have all arrived.
    pub(super) fn take_registries(&mut self, indexer: &mut Indexer<'static>) {
        let Some(platform) = indexer.streams.first().map(|stream| stream.platform) else { return };
        let key = |index| registry_key(index, flags_of(platform));
        let registries = &mut self.registries;
        let is_known = |index| registries.contains_key(&key(index));
        let room = &mut self.registry_room;
        for mut registry in indexer.pieces.take_whole(is_known, room, &mut indexer.faults) {
            registry.lay_out(platform);
            registries.insert(key(registry.index), registry);
        }
    }

    /// Lays the registry of a block out for the block's platform, if the registry is known.
    fn prepare(&mut self, key: u32) {
        if self.registries.contains_key(&key) {
            return;
        }
        let is_match = |other: &&Registry| u32::from(other.index) == key & 0xFFFF;
        let known = self.registries.values().find(is_match);
        if let Some(known) = known
            && let Some(room) = self.registry_room.checked_sub(encoding::memory(known))
        {
            let mut registry = known.clone();
            self.registry_room = room;
            registry.lay_out(platform_of(key));
            self.registries.insert(key, registry);
        }
    }

    /// Gives the events of a segment with these bytes that were not given before
    /// (`.event.identity`).
    pub(super) fn give(
        &mut self,
        segment: &Segment,
        bytes: &[u8],
        origin: Option<&Stream>,
        faults: &mut Faults,
        give: &mut dyn FnMut(&Event<'_, '_>),
    ) {
        self.prepare(segment.registry);
        let unknown;
        let registry = match self.registries.get(&segment.registry) {
            Some(registry) => registry,
            None => {
                let key = segment.registry;
                unknown = Registry::unknown(segment.stream, key as u16, platform_of(key));
                &unknown
            }
        };
        let decoded = &mut self.decoded;
        decoded.fill(bytes);
        block::decode(segment, registry, decoded, faults);
        for (number, located) in (0..).map_while(|n| decoded.get(n)) {
            // Of buffers beyond the limit, an event may be given twice.
            let is_remembered = self.given.len() < BUFFER_COUNT_MAX;
            if (is_remembered || self.given.contains_key(&segment.buffer))
                && !self.given.entry(segment.buffer).or_default().insert(number, RANGE_COUNT_MAX)
            {
                continue;
            }
            let at = (number, located);
            let event = segment.event(registry, origin, decoded, at, &self.no_labels);
            let event = Event { registry_index: u32::MAX, ..event };
            if let Some(role) = event.event_type.and_then(|row| label::role_in(registry, row))
                && !self.labels.feed(role, &event, &mut self.label_room)
            {
                faults.push_once(event.offset, FaultKind::LabelLimit);
            }
            give(&Event { labels: &self.labels, ..event });
        }
    }
}
