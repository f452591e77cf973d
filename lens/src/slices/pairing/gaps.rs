//! Where events are missing, and which slices that makes doubtful.
//!
//! ```text
//!  a slice:  a gap in the buffer of its beginning or of its end, in between
//!  a span:   a gap in any buffer of its stream with events of the kinds of both, in between
//! ```
//!
//! Design: `.slice.gap` in `design/slices.md`.

use crate::slices::model::{Edge, Gap};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// The time of the last gap of each buffer, and of each kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    /// By stream and buffer.
    buffers: HashMap<(u16, u32), u64, RandomState>,
    /// By stream, registry and kind; `None` is the kind of buffers that have several.
    kinds: HashMap<(u16, u16, Option<u8>), u64, RandomState>,
}

impl Gaps {
    pub(super) fn note(&mut self, gap: &Gap, now: u64) {
        self.buffers.insert((gap.stream, gap.buffer), now);
        self.kinds.insert((gap.stream, gap.registry, gap.kind), now);
    }

    /// Returns whether events of the types of a slice may be missing between its beginning, which
    /// was at `since`, and now.
    #[inline]
    pub(super) fn is_between(&self, begin: &Edge, end: &Edge, since: u64) -> bool {
        if self.buffers.is_empty() {
            return false;
        }
        let last = |edge: &Edge| {
            let (stream, registry) = (edge.id.stream, edge.registry);
            let of_kind = |kind| self.kinds.get(&(stream, registry, kind));
            if edge.is_span {
                of_kind(Some(edge.kind)).max(of_kind(None)).copied()
            } else {
                self.buffers.get(&(stream, edge.id.buffer)).copied()
            }
        };
        last(begin).max(last(end)).is_some_and(|last| last > since)
    }
}
