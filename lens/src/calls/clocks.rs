//! The clock of each stack: it runs while a thread is in the stack, and does not pause.
//!
//! ```text
//!  thread 3:   own stack ─ Switch ─▶ 0x7f10 ─ Switch ─▶ own stack ─ PauseEnter, PauseLeave ─
//!  own stack:  ───────────┤         stands            ├───────────┤        stands          ├─
//!  0x7f10:       stands   ├─────────────────────────┤                stands
//! ```
//!
//! So the own times of the calls of a thread never add up to more than the thread ran. Design:
//! `.calls.lens.clock` in `design/calls.md`.

use crate::slices::{Gap, Track};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Coroutines, at most; further ones count as stacks of their threads.
const COROUTINE_COUNT_MAX: usize = 1 << 20;
/// In the stream of a track: it is that of a coroutine. A log has at most 2^12 streams, but a
/// thread of a damaged log may have any number.
const COROUTINE: u16 = 1 << 15;

/// A thread that has paused, or was in a coroutine.
#[derive(Clone, Copy, Debug)]
struct Thread {
    /// The coroutine that it is in; 0: its own stack.
    context: u64,
    stack: Track,
    /// Pauses in one another, and the stream of the last one: a thread goes on in a forked child.
    pause_depth: u32,
    pause_stream: u16,
}

/// The clock of a stack.
#[derive(Clone, Copy, Debug)]
struct Stack {
    /// The last thread that went on in it.
    thread: Track,
    /// How long it stood until it began to run.
    stood: u64,
    /// Since when it stands.
    since: Option<u64>,
}

/// The clocks of all stacks, in ns or in ticks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clocks {
    threads: HashMap<Track, Thread, RandomState>,
    /// Stacks that have stood, by their tracks: a thread's own stack has that of the thread.
    stacks: HashMap<Track, Stack, RandomState>,
    /// By stream and context.
    coroutines: HashMap<(u16, u64), Track, RandomState>,
}

impl Clocks {
    /// Returns the coroutine that a thread is in, and the track of its stack.
    #[inline]
    pub(crate) fn of(&self, thread: Track) -> (u64, Track) {
        if self.threads.is_empty() {
            return (0, thread);
        }
        self.threads.get(&thread).map_or((0, thread), |found| (found.context, found.stack))
    }

    /// Returns how long the clock of a stack stood up to a time.
    #[inline]
    pub(crate) fn stood(&self, stack: Track, at: u64) -> u64 {
        if self.stacks.is_empty() {
            return 0;
        }
        let Some(stack) = self.stacks.get(&stack) else { return 0 };
        let open = stack.since.map_or(0, |since| at.saturating_sub(since));
        stack.stood.saturating_add(open)
    }

    /// A thread goes on in a coroutine; 0: in its own stack.
    pub(crate) fn switch(&mut self, thread: Track, context: u64, at: u64) {
        let stack = self.track(thread, context);
        let before = self.thread(thread).stack;
        if stack != before {
            self.run(thread, before, false, at);
        }
        let found = self.thread(thread);
        (found.context, found.stack) = (if stack == thread { 0 } else { context }, stack);
        let is_running = found.pause_depth == 0;
        self.stack(stack, thread).thread = thread;
        self.run(thread, stack, is_running, at);
    }

    /// Begins or ends a pause of a thread, by an event of a stream.
    pub(crate) fn pause(&mut self, thread: Track, stream: u16, is_end: bool, at: u64) {
        let found = self.thread(thread);
        let depth = found.pause_depth;
        found.pause_stream = stream;
        found.pause_depth = if is_end { depth.saturating_sub(1) } else { depth.saturating_add(1) };
        let (stack, is_running) = (found.stack, found.pause_depth == 0);
        self.run(thread, stack, is_running, at);
    }

    /// Forgets the pauses in progress of a stream, if an end may be missing.
    pub(crate) fn gap(&mut self, gap: &Gap, kind: Option<u8>) {
        if gap.kind.is_some() && gap.kind != kind {
            return;
        }
        let is_paused =
            |found: &&mut Thread| found.pause_depth > 0 && found.pause_stream == gap.stream;
        for found in self.threads.values_mut().filter(is_paused) {
            found.pause_depth = 0;
            if let Some(stack) = self.stacks.get_mut(&found.stack) {
                stack.since = None;
            }
        }
    }

    /// Lets the clock of a stack run or stand, unless another thread went on in it: the event that
    /// took this one out of it is missing.
    fn run(&mut self, thread: Track, stack: Track, is_running: bool, at: u64) {
        let stack = self.stack(stack, thread);
        if stack.thread != thread {
            return;
        }
        if !is_running {
            stack.since = stack.since.or(Some(at));
        } else if let Some(since) = stack.since.take() {
            stack.stood = stack.stood.saturating_add(at.saturating_sub(since));
        }
    }

    fn track(&mut self, thread: Track, context: u64) -> Track {
        let count = self.coroutines.len();
        let place = (thread.0, context);
        if context == 0 || count >= COROUTINE_COUNT_MAX && !self.coroutines.contains_key(&place) {
            return thread;
        }
        *self.coroutines.entry(place).or_insert((thread.0 | COROUTINE, count as u32))
    }

    fn thread(&mut self, thread: Track) -> &mut Thread {
        let new = Thread { context: 0, stack: thread, pause_depth: 0, pause_stream: thread.0 };
        self.threads.entry(thread).or_insert(new)
    }

    fn stack(&mut self, stack: Track, thread: Track) -> &mut Stack {
        self.stacks.entry(stack).or_insert(Stack { thread, stood: 0, since: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Track = (0, 1);

    #[test]
    fn the_outermost_pause_counts_once() {
        let mut clocks = Clocks::default();
        assert_eq!(clocks.stood(OWN, 5), 0);
        for (is_end, at) in [(true, 3), (false, 10), (false, 12), (true, 15), (true, 20)] {
            clocks.pause(OWN, 0, is_end, at);
        }
        assert_eq!(clocks.stood(OWN, 30), 10);
        clocks.pause(OWN, 0, false, 40);
        assert_eq!([clocks.stood(OWN, 45), clocks.stood((0, 2), 45)], [15, 0]);
        // The end of a pause may be missing.
        let gap = |kind| Gap { stream: 0, buffer: 1, registry: 1, kind };
        clocks.gap(&gap(Some(1)), Some(2));
        assert_eq!(clocks.stood(OWN, 45), 15);
        clocks.gap(&gap(Some(2)), Some(2));
        assert_eq!(clocks.stood(OWN, 45), 10);
    }

    #[test]
    fn one_stack_of_a_thread_runs_at_a_time() {
        let mut clocks = Clocks::default();
        clocks.switch(OWN, 7, 10);
        let (context, seven) = clocks.of(OWN);
        assert_eq!((context, clocks.of((0, 2))), (7, (0, (0, 2))));
        // A pause in the coroutine is one of its stack alone, and counts once when it waits.
        clocks.pause(OWN, 0, false, 12);
        clocks.switch(OWN, 0, 13);
        assert_eq!([clocks.stood(OWN, 13), clocks.stood(seven, 13)], [3, 1]);
        clocks.pause(OWN, 0, true, 15);
        assert_eq!([clocks.stood(OWN, 20), clocks.stood(seven, 20)], [5, 8]);
        clocks.switch(OWN, 7, 20);
        clocks.switch(OWN, 7, 22);
        assert_eq!([clocks.stood(OWN, 30), clocks.stood(seven, 30)], [15, 8]);
    }

    /// The event that took a thread out of a coroutine may be missing.
    #[test]
    fn a_coroutine_runs_on_the_thread_that_entered_last() {
        let (mut clocks, other) = (Clocks::default(), (0, 2));
        clocks.switch(OWN, 7, 10);
        clocks.switch(other, 7, 20);
        clocks.switch(OWN, 8, 30);
        let (_, seven) = clocks.of(other);
        assert_eq!(clocks.stood(seven, 40), 0);
        clocks.switch(other, 0, 50);
        assert_eq!(clocks.stood(seven, 60), 10);
    }
}
