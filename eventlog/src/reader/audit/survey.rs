//! The pieces of a log: each block and part, as the first pass meets it.
//!
//! ```text
//!  Log ── survey ──▶ the walk of the index once more ──▶ Piece, Piece, Piece … in file order
//! ```
//!
//! A survey keeps nothing: a log of any size needs little memory. Layout: sections 2 to 4 of
//! `design/format.md`.

use crate::reader::index::Format;
use crate::reader::index::segment::KIND_MIXED;
use crate::reader::log::Log;
use crate::reader::model::registry::Registry;
use crate::reader::stream::indexer::Indexer;
use crate::reader::stream::piece::{Piece, What};
use std::collections::BTreeSet;

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
}
