//! An MPS stream that is walked as far as its reader needs.
//!
//! ```text
//!  │ stretch │ stretch                │ stretch …            each four times as long: the first
//!    4 MiB     16 MiB                   64 MiB               events come early, and there are
//!    given ──▶ walked, then given ───▶                       few stretches
//! ```
//!
//! Consecutive streams have separate clocks, and follow each other in order of time
//! (`.time.order`). So a stream whose end is known can be given before the next one is read. In
//! order of the file, any stretch can be given. Design: `.cnv.speed` in `design/eventcnv.md`.

use super::ahead::Division;
use super::index::{CELL_SIZE, Indexer, first};
use super::window::Window;
use crate::reader::fault::kind::OpenError;
use crate::reader::index::{Index, Options};
use crate::reader::source::bytes::Source;

const SIZE_FIRST: u64 = 4 << 20;
/// Growth of each further stretch.
const GROWTH: u64 = 4;
const SIZE_MAX: u64 = 1 << 30;

/// The rest of a stream that was not given yet.
pub(crate) struct Increments {
    indexer: Indexer,
    /// Where the walk goes on.
    offset: u64,
    /// Size of the next stretch.
    size: u64,
    /// Whether streams are given whole.
    by_stream: bool,
    division: Division,
    is_walked: bool,
}

impl Increments {
    pub(crate) fn begin(
        source: &(dyn Source + Sync),
        options: &Options,
        by_stream: bool,
    ) -> Result<Increments, OpenError> {
        let (indexer, offset) = first(&mut Window::new(source), options)?;
        let division = Division::for_all_processors();
        let size = SIZE_FIRST;
        Ok(Increments { indexer, offset, size, by_stream, division, is_walked: false })
    }

    /// The same with another division.
    #[cfg(test)]
    pub(super) fn with(self, size: u64, division: Division) -> Increments {
        Increments { size, division, ..self }
    }

    /// Returns whether the registry describes the first stream, and so the next ones too.
    pub(crate) fn is_described(&self) -> bool {
        self.indexer.is_registry_right
    }

    /// Returns the next increment: all streams, registries and faults so far, and the segments that
    /// were not given yet. `None` at the end.
    pub(crate) fn next(&mut self, source: &(dyn Source + Sync)) -> Option<Index> {
        let mut given = Vec::new();
        while given.is_empty() && !self.is_walked {
            let end = self.offset.saturating_add(self.size);
            let end = end.checked_next_multiple_of(CELL_SIZE).unwrap_or(u64::MAX);
            self.size = (self.size * GROWTH).min(SIZE_MAX);
            let mut window = Window::new(source);
            window.go_to(self.offset);
            self.is_walked = !self.indexer.walk(source, &mut window, self.division, end);
            self.offset = window.offset();
            // The next stretch begins in another cell.
            self.indexer.cut();
            given = self.indexer.take_segments(self.by_stream && !self.is_walked);
        }
        (!given.is_empty()).then(|| self.indexer.index(given))
    }

    /// Returns the result for the whole log, without segments.
    pub(crate) fn end(&self) -> Index {
        self.indexer.index(Vec::new())
    }
}
