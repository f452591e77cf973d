//! What each thread knows about the others: which of their ops are done when one of its own ops
//! begins.
//!
//! ```text
//!  thread 0: │ 0 │ 1 │ 2 │ 3 │            thread 2 waits for op 1 of thread 1, which waited for
//!  thread 1: │ 0 │ 1 ◀─────── waits       op 2 of thread 0: so thread 2 need not wait for that
//!  thread 2:       │ 0 ◀ waits
//! ```
//!
//! These are vector clocks with their history, so that the knowledge of a thread at an earlier op
//! can be looked up. Design: `.rep.edge` in `design/replay.md`.

use std::collections::HashMap;

/// The maximum number of threads about which knowledge is passed on. About further threads an
/// unneeded wait does no harm.
const PASSED_ON_MAX: usize = 64;

/// A wait of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The op of its own thread that must wait.
    pub(crate) before: u32,
    pub(crate) thread: u32,
    /// The op that this thread must have done.
    pub(crate) done: u32,
}

/// The knowledge of a thread.
#[derive(Debug, Default)]
struct Known {
    /// The number of ops of each of the first threads that are known to be done.
    counts: Vec<u32>,
    /// The history of these counts, which is passed on: from which op on each count holds.
    history: Vec<Vec<(u32, u32)>>,
    /// The same for further threads: few of thousands.
    beyond: HashMap<u32, u32>,
    waits: Vec<Wait>,
}

/// The knowledge of all threads.
#[derive(Debug, Default)]
pub(crate) struct Order {
    threads: Vec<Known>,
    /// The number of ops of each thread that are done before any op that begins from now on.
    all_know: Vec<u32>,
}

impl Order {
    /// Returns whether a thread knows that an op of another thread is done.
    #[inline]
    pub(crate) fn knows(&self, thread: u32, other: u32, op: u32) -> bool {
        self.all_know.get(other as usize).is_some_and(|count| *count > op)
            || self.threads.get(thread as usize).is_some_and(|known| known.count(other) > op)
    }

    /// Notes that each op of any thread that begins from now on comes after these ops.
    pub(crate) fn all_know(&mut self, done: &[(u32, u32)]) {
        for &(thread, op) in done {
            let count = self.all_know.len().max(thread as usize + 1);
            self.all_know.resize(count, 0);
            if let Some(count) = self.all_know.get_mut(thread as usize) {
                *count = op + 1;
            }
        }
    }

    /// Orders an op of a thread after an op of another thread: adds a wait unless the order already
    /// follows.
    pub(crate) fn after(&mut self, thread: u32, op: u32, other: u32, done: u32) {
        if self.knows(thread, other, done) {
            return;
        }
        let count = self.threads.len().max(thread.max(other) as usize + 1);
        self.threads.resize_with(count, Known::default);
        let mut learned = vec![(other, done + 1)];
        if let Some(other) = self.threads.get(other as usize) {
            for (index, history) in (0..).zip(&other.history) {
                let passed = history.partition_point(|(from, _)| *from <= done);
                if let Some((_, count)) = passed.checked_sub(1).and_then(|last| history.get(last)) {
                    learned.push((index, *count));
                }
            }
        }
        let Some(known) = self.threads.get_mut(thread as usize) else { return };
        known.waits.push(Wait { before: op, thread: other, done });
        for (index, count) in learned {
            known.learn(index, op, count);
        }
    }

    /// Adds a wait in any case. No thread learns from it.
    pub(crate) fn add(&mut self, thread: u32, wait: Wait) {
        let count = self.threads.len().max(thread as usize + 1);
        self.threads.resize_with(count, Known::default);
        if let Some(known) = self.threads.get_mut(thread as usize) {
            let place = known.waits.partition_point(|other| other.before <= wait.before);
            known.waits.insert(place, wait);
        }
    }

    pub(crate) fn waits(&self, thread: usize) -> &[Wait] {
        self.threads.get(thread).map_or(&[], |known| &known.waits)
    }

    /// Returns the ops of each thread that others wait for, in order, each once.
    pub(crate) fn posts(&self, thread_count: usize) -> Vec<Vec<u32>> {
        let mut posts = vec![Vec::new(); thread_count];
        for wait in self.threads.iter().flat_map(|known| &known.waits) {
            if let Some(posts) = posts.get_mut(wait.thread as usize) {
                posts.push(wait.done);
            }
        }
        for posts in &mut posts {
            posts.sort_unstable();
            posts.dedup();
        }
        posts
    }
}

impl Known {
    /// Returns the number of ops of a thread that are known to be done.
    #[inline]
    fn count(&self, thread: u32) -> u32 {
        match (thread as usize) < PASSED_ON_MAX {
            true => self.counts.get(thread as usize).copied().unwrap_or(0),
            false => self.beyond.get(&thread).copied().unwrap_or(0),
        }
    }

    /// Notes that from an op on this number of ops of a thread are known to be done.
    fn learn(&mut self, thread: u32, op: u32, count: u32) {
        if self.count(thread) >= count {
            return;
        }
        let index = thread as usize;
        if index >= PASSED_ON_MAX {
            self.beyond.insert(thread, count);
            return;
        }
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
            self.history.resize_with(index + 1, Vec::new);
        }
        let (Some(known), Some(history)) =
            (self.counts.get_mut(index), self.history.get_mut(index))
        else {
            return;
        };
        *known = count;
        match history.last_mut() {
            Some(last) if last.0 == op => last.1 = count,
            _ => history.push((op, count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knowledge about thousands of threads takes memory only for threads with waits.
    #[test]
    fn a_thread_of_thousands_knows_only_those_it_waits_for() {
        const COUNT: u32 = 10_000;
        let mut order = Order::default();
        (1..COUNT).for_each(|thread| order.after(thread, 0, thread - 1, 0));
        for thread in 1..COUNT {
            assert!(order.knows(thread, thread - 1, 0) && !order.knows(thread, thread - 1, 1));
        }
        assert!(order.knows(PASSED_ON_MAX as u32, 0, 0), "passed on");
        let of = |known: &Known| known.counts.capacity().max(known.history.capacity());
        assert!(order.threads.iter().all(|known| of(known) <= 2 * PASSED_ON_MAX));
        assert!(order.threads.iter().all(|known| known.beyond.len() <= 1));
    }
}
