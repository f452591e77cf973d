//! An MPS stream of which only so much is walked as was asked for.
//!
//! ```text
//!  │ stretch │ stretch                │ stretch …            each four times as long, so that what
//!    4 MiB     16 MiB                   64 MiB               is there first does not wait for the
//!    given ──▶ walked, then given ───▶                       rest, and the rest is not cut up
//! ```
//!
//! Streams that follow one another have clocks of their own, and in order of time come one after
//! the other (`.time.order`): one of which the end is known can be given before the next is read.
//! In order of the file any stretch can. Design: `.cnv.speed` in `design/eventcnv.md`.

use super::ahead::Division;
use super::index::{CELL_SIZE, Indexer, first};
use super::window::Window;
use crate::reader::fault::kind::OpenError;
use crate::reader::index::{Index, Options};
use crate::reader::source::bytes::Source;

/// How much is walked at first.
const SIZE_FIRST: u64 = 4 << 20;
/// By how much more each time.
const GROWTH: u64 = 4;
/// Up to this: then a stretch is no more than a pause.
const SIZE_MAX: u64 = 1 << 30;

/// What of a stream is not given yet.
pub(crate) struct Unread {
    indexer: Indexer,
    /// Where the walk goes on.
    offset: u64,
    /// How much is walked next.
    size: u64,
    /// Whether streams are given whole.
    by_stream: bool,
    division: Division,
    is_walked: bool,
}

impl Unread {
    /// Nothing is given yet.
    pub(crate) fn begin(
        source: &(dyn Source + Sync),
        options: &Options,
        by_stream: bool,
    ) -> Result<Unread, OpenError> {
        let (indexer, offset) = first(&mut Window::new(source), options)?;
        let division = Division::for_all_processors();
        let size = SIZE_FIRST;
        Ok(Unread { indexer, offset, size, by_stream, division, is_walked: false })
    }

    /// The same with other stretches.
    #[cfg(test)]
    pub(super) fn with(self, size: u64, division: Division) -> Unread {
        Unread { size, division, ..self }
    }

    /// Whether a registry describes what comes first: then those of what follows name nothing
    /// else.
    pub(crate) fn is_described(&self) -> bool {
        self.indexer.is_registry_right
    }

    /// What comes next: streams, registries and faults from the beginning, segments that were not
    /// given. None if all was.
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
            // What follows is of another cell.
            self.indexer.cut();
            given = self.indexer.take_segments(self.by_stream && !self.is_walked);
        }
        (!given.is_empty()).then(|| self.indexer.index(given))
    }

    /// What was found of the whole, without segments.
    pub(crate) fn end(&self) -> Index {
        self.indexer.index(Vec::new())
    }
}
