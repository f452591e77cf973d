//! What each thread knows of the others: which of their ops are done when an op of its own begins.
//!
//! ```text
//!  thread 0: │ 0 │ 1 │ 2 │ 3 │            2 waits for op 1 of thread 1, which waited for op 2 of
//!  thread 1: │ 0 │ 1 ◀─────── waits       thread 0: that it would wait for it too follows
//!  thread 2:       │ 0 ◀ waits
//! ```
//!
//! Vector clocks, whose history is kept, so that what a thread knew when it did an op can be asked
//! later. Design: `.rep.edge` in `design/replay.md`.

use std::collections::HashMap;

/// Threads of which a thread passes on what it knows; of those beyond, a wait too many does no
/// harm.
const PASSED_ON_MAX: usize = 64;

/// An op that must wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Before which op of its thread.
    pub(crate) before: u32,
    /// For which thread.
    pub(crate) thread: u32,
    /// To have done which op.
    pub(crate) done: u32,
}

/// What a thread knows.
#[derive(Debug, Default)]
struct Known {
    /// Of each of the first threads, how many of its ops are known to be done.
    counts: Vec<u32>,
    /// How that came about, which is passed on: of each of them, from which op on how many.
    history: Vec<Vec<(u32, u32)>>,
    /// How many of the ops of others are known to be done: few of thousands.
    beyond: HashMap<u32, u32>,
    /// What it waits for, in order.
    waits: Vec<Wait>,
}

/// What all threads know.
#[derive(Debug, Default)]
pub(crate) struct Order {
    threads: Vec<Known>,
    /// Of each thread, how many of its ops are done before whatever op begins from now on.
    all_know: Vec<u32>,
}

impl Order {
    /// Whether a thread knows that an op of another is done.
    #[inline]
    pub(crate) fn knows(&self, thread: u32, other: u32, op: u32) -> bool {
        self.all_know.get(other as usize).is_some_and(|count| *count > op)
            || self.threads.get(thread as usize).is_some_and(|known| known.count(other) > op)
    }

    /// Each op that begins from now on, of any thread, comes after these, however that came about.
    pub(crate) fn all_know(&mut self, done: &[(u32, u32)]) {
        for &(thread, op) in done {
            let count = self.all_know.len().max(thread as usize + 1);
            self.all_know.resize(count, 0);
            if let Some(count) = self.all_know.get_mut(thread as usize) {
                *count = op + 1;
            }
        }
    }

    /// An op of a thread, not done yet, comes after an op of another one: waits for it unless that
    /// follows.
    pub(crate) fn after(&mut self, thread: u32, op: u32, other: u32, done: u32) {
        if self.knows(thread, other, done) {
            return;
        }
        let count = self.threads.len().max(thread.max(other) as usize + 1);
        self.threads.resize_with(count, Known::default);
        let mut news = vec![(other, done + 1)];
        if let Some(other) = self.threads.get(other as usize) {
            for (index, history) in (0..).zip(&other.history) {
                let passed = history.partition_point(|(from, _)| *from <= done);
                if let Some((_, count)) = passed.checked_sub(1).and_then(|last| history.get(last)) {
                    news.push((index, *count));
                }
            }
        }
        let Some(known) = self.threads.get_mut(thread as usize) else { return };
        known.waits.push(Wait { before: op, thread: other, done });
        for (index, count) in news {
            known.learn(index, op, count);
        }
    }

    /// Has an op of a thread wait, whatever follows from other waits. Nothing is learnt from it.
    pub(crate) fn add(&mut self, thread: u32, wait: Wait) {
        let count = self.threads.len().max(thread as usize + 1);
        self.threads.resize_with(count, Known::default);
        if let Some(known) = self.threads.get_mut(thread as usize) {
            let place = known.waits.partition_point(|other| other.before <= wait.before);
            known.waits.insert(place, wait);
        }
    }

    /// What a thread waits for, in order.
    pub(crate) fn waits(&self, thread: usize) -> &[Wait] {
        self.threads.get(thread).map_or(&[], |known| &known.waits)
    }

    /// Of each thread the ops that others wait for, in order, each once.
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
    /// How many ops of a thread are known to be done.
    #[inline]
    fn count(&self, thread: u32) -> u32 {
        match (thread as usize) < PASSED_ON_MAX {
            true => self.counts.get(thread as usize).copied().unwrap_or(0),
            false => self.beyond.get(&thread).copied().unwrap_or(0),
        }
    }

    /// From an op on so many ops of a thread are known to be done.
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

    /// What is known of thousands of threads takes memory for those that are waited for.
    #[test]
    fn a_thread_of_thousands_knows_only_those_that_it_waits_for() {
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
