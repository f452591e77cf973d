//! The coroutine that each thread is in.
//!
//! ```text
//!  Switch: thread 3 goes on in 0x7f10 ──▶ the calls of thread 3 lie on the stack of 0x7f10
//! ```
//!
//! Design: `.calls.lens` in `design/calls.md`.

use foldhash::fast::RandomState;
use slices::Track;
use std::collections::HashMap;

/// Coroutines, at most; further ones count as stacks of their threads.
const CONTEXT_COUNT_MAX: usize = 1 << 20;
/// In the stream of a track: it is that of a coroutine. A log has at most 2^12 streams, but a
/// thread of a damaged log may have any number.
const CONTEXT: u16 = 1 << 15;

/// The coroutines that threads are in.
#[derive(Clone, Debug, Default)]
pub(super) struct Contexts {
    /// The coroutine of each thread that is in one.
    current: HashMap<Track, (u64, Track), RandomState>,
    tracks: HashMap<(u16, u64), Track, RandomState>,
}

impl Contexts {
    #[inline]
    pub(super) fn of(&self, thread: Track) -> (u64, Track) {
        if self.current.is_empty() {
            return (0, thread);
        }
        self.current.get(&thread).copied().unwrap_or((0, thread))
    }

    pub(super) fn switch(&mut self, thread: Track, context: u64) {
        let count = self.tracks.len();
        let place = (thread.0, context);
        if context == 0 || count >= CONTEXT_COUNT_MAX && !self.tracks.contains_key(&place) {
            self.current.remove(&thread);
            return;
        }
        let track = *self.tracks.entry(place).or_insert((thread.0 | CONTEXT, count as u32));
        self.current.insert(thread, (context, track));
    }
}
