//! Pauses: the time for which the clocks of threads stand still.
//!
//! ```text
//!  PauseEnter ──────── PauseLeave        a call around it has its own time without that in between
//! ```
//!
//! Design: `.statements.pause` in `design/statements.md`.

use foldhash::fast::RandomState;
use slices::{Gap, Track};
use std::collections::HashMap;

/// The pauses of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Paused {
    /// Pauses in one another.
    depth: u32,
    /// The beginning of the outermost one.
    since: u64,
    /// The length of those that ended.
    total: u64,
}

/// The pauses of all threads, in ns or in ticks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pauses(HashMap<Track, Paused, RandomState>);

impl Pauses {
    /// Begins or ends a pause of a thread.
    pub(crate) fn take(&mut self, thread: Track, is_end: bool, at: u64) {
        let paused = self.0.entry(thread).or_default();
        if !is_end {
            paused.depth = paused.depth.saturating_add(1);
            if paused.depth == 1 {
                paused.since = at;
            }
        } else if paused.depth > 0 {
            paused.depth -= 1;
            if paused.depth == 0 {
                paused.total = paused.total.saturating_add(at.saturating_sub(paused.since));
            }
        }
    }

    /// Returns how long a thread paused up to a time.
    #[inline]
    pub(crate) fn until(&self, thread: Track, at: u64) -> u64 {
        if self.0.is_empty() {
            return 0;
        }
        let Some(paused) = self.0.get(&thread) else { return 0 };
        let open = if paused.depth > 0 { at.saturating_sub(paused.since) } else { 0 };
        paused.total.saturating_add(open)
    }

    /// Forgets the pauses in progress of a stream, if an end may be missing.
    pub(crate) fn gap(&mut self, gap: &Gap, kind: Option<u8>) {
        if gap.kind.is_none() || gap.kind == kind {
            let of_stream = |(thread, _): &(&Track, &mut Paused)| thread.0 == gap.stream;
            self.0.iter_mut().filter(of_stream).for_each(|(_, paused)| paused.depth = 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_pause_counts_once() {
        let (mut pauses, one) = (Pauses::default(), (0, 1));
        assert_eq!(pauses.until(one, 5), 0);
        for (is_end, at) in [(true, 3), (false, 10), (false, 12), (true, 15), (true, 20)] {
            pauses.take(one, is_end, at);
        }
        assert_eq!(pauses.until(one, 30), 10);
        pauses.take(one, false, 40);
        assert_eq!([pauses.until(one, 45), pauses.until((0, 2), 45)], [15, 0]);
        // The end of a pause may be missing.
        let gap = |kind| Gap { stream: 0, buffer: 1, registry: 1, kind };
        pauses.gap(&gap(Some(1)), Some(2));
        assert_eq!(pauses.until(one, 45), 15);
        pauses.gap(&gap(Some(2)), Some(2));
        assert_eq!(pauses.until(one, 45), 10);
    }
}
