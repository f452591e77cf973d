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
    /// Of each thread, how many of its ops are known to be done.
    counts: Vec<u32>,
    /// How that came about: of each thread, from which op on how many.
    history: Vec<Vec<(u32, u32)>>,
    /// What it waits for, in order.
    waits: Vec<Wait>,
}

/// What all threads know.
#[derive(Debug, Default)]
pub(crate) struct Order {
    threads: Vec<Known>,
}

impl Order {
    /// Whether a thread knows that an op of another is done.
    #[inline]
    pub(crate) fn knows(&self, thread: u32, other: u32, op: u32) -> bool {
        let known = self.threads.get(thread as usize);
        known.and_then(|known| known.counts.get(other as usize)).is_some_and(|&count| count > op)
    }

    /// An op of a thread, not done yet, comes after an op of another one: waits for it unless that
    /// follows.
    pub(crate) fn after(&mut self, thread: u32, op: u32, other: u32, done: u32) {
        if self.knows(thread, other, done) {
            return;
        }
        let count = self.threads.len().max(thread.max(other) as usize + 1);
        self.threads.resize_with(count, Known::default);
        let mut news = vec![(other as usize, done + 1)];
        if let Some(other) = self.threads.get(other as usize) {
            for (index, history) in other.history.iter().enumerate().take(PASSED_ON_MAX) {
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
    /// From an op on so many ops of a thread are known to be done.
    fn learn(&mut self, thread: usize, op: u32, count: u32) {
        if thread >= self.counts.len() {
            self.counts.resize(thread + 1, 0);
            self.history.resize_with(thread + 1, Vec::new);
        }
        let (Some(known), Some(history)) =
            (self.counts.get_mut(thread), self.history.get_mut(thread))
        else {
            return;
        };
        if *known >= count {
            return;
        }
        *known = count;
        match history.last_mut() {
            Some(last) if last.0 == op => last.1 = count,
            _ => history.push((op, count)),
        }
    }
}
