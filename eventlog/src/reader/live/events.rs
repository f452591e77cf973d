//! Segments of a stream that arrives to events: registries, labels, and what was given already.
//!
//! Rules: `.event.identity`, `.store` in `design/format.md`.

use super::given::Given;
use crate::reader::fault::kind::FaultKind;
use crate::reader::fault::list::Faults;
use crate::reader::index::segment::{Decoded, Segment};
use crate::reader::model::event::Event;
use crate::reader::model::label::{self, LABEL_MEMORY_MAX, Labels};
use crate::reader::model::registry::Registry;
use crate::reader::model::stream::Stream;
use crate::reader::stream::entry::{flags_of, platform_of, registry_key};
use crate::reader::stream::indexer::Indexer;
use crate::reader::stream::{block, encoding};
use std::collections::BTreeMap;

/// What it takes to make events of segments.
pub(super) struct Events {
    /// By index and platform, as [`registry_key`] has them.
    registries: BTreeMap<u32, Registry>,
    /// Memory that is left for them.
    registry_room: usize,
    labels: Labels,
    label_room: usize,
    no_labels: Labels,
    given: Given,
    decoded: Decoded,
}

impl Events {
    /// Of a stream of which nothing has arrived.
    pub(super) fn new() -> Events {
        Events {
            registries: BTreeMap::new(),
            registry_room: encoding::REGISTRY_MEMORY_MAX,
            labels: Labels::default(),
            label_room: LABEL_MEMORY_MAX,
            no_labels: Labels::default(),
            given: Given::default(),
            decoded: Decoded::default(),
        }
    }

    /// Those that have arrived.
    pub(super) fn registries(&self) -> impl Iterator<Item = &Registry> {
        self.registries.values()
    }

    /// Memory that registries and labels take, in bytes, about.
    pub(super) fn memory(&self) -> usize {
        encoding::REGISTRY_MEMORY_MAX + LABEL_MEMORY_MAX - self.registry_room - self.label_room
    }

    /// Gives the memory of a large block back.
    pub(super) fn shrink(&mut self) {
        self.decoded.shrink();
    }

    /// Another stream begins.
    pub(super) fn forget(&mut self) {
        self.registries.clear();
        self.registry_room = encoding::REGISTRY_MEMORY_MAX;
        self.labels = Labels::default();
        self.label_room = LABEL_MEMORY_MAX;
        self.given.clear();
    }

    /// Takes the registries that have arrived whole.
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

    /// Sees to it that the registry of a block is laid out for the platform of the block, if it is
    /// known.
    fn prepare(&mut self, key: u32) {
        if self.registries.contains_key(&key) {
            return;
        }
        let is_it = |other: &&Registry| u32::from(other.index) == key & 0xFFFF;
        let known = self.registries.values().find(is_it);
        if let Some(known) = known
            && let Some(room) = self.registry_room.checked_sub(encoding::memory(known))
        {
            let mut registry = known.clone();
            self.registry_room = room;
            registry.lay_out(platform_of(key));
            self.registries.insert(key, registry);
        }
    }

    /// Gives the events of a segment, whose bytes these are, that were not given before
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
            if !self.given.add(segment.buffer, number) {
                continue;
            }
            let event_type = registry.event_types.get(usize::from(located.row));
            let event = Event {
                origin,
                ticks: located.ticks,
                registry,
                event_type,
                bytes: decoded.event(located),
                labels: &self.no_labels,
                offset: segment.offset.saturating_add(u64::from(located.offset)),
                number,
                buffer: segment.buffer,
                thread: segment.thread,
                registry_index: u32::MAX,
                event_type_index: located.row,
                stream: segment.stream,
                kind: segment.kind,
            };
            // `.store`: registry 0 alone labels.
            let role = event_type
                .filter(|_| registry.index == 0 || label::is_mps(registry))
                .and_then(label::role);
            if let Some(role) = role
                && !self.labels.feed(role, &event, &mut self.label_room)
            {
                faults.push_once(event.offset, FaultKind::LabelLimit);
            }
            give(&Event { labels: &self.labels, ..event });
        }
    }
}
