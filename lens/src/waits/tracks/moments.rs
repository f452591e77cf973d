//! When the threads of programs recorded events.
//!
//! ```text
//!  thread 1 ── Thread { osThread } ──▶ its number      its events ── 64, all over the time ──▶ ns
//! ```
//!
//! Design: `.waits.same` in `design/waits.md`.

use super::Track;
use crate::waits::model::Model;
use eventlog::reader::{Clock, Filter, Log, Order};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Threads of programs, at most.
const THREAD_COUNT_MAX: usize = 1 << 20;
/// Events of a thread that are compared, at most.
const MOMENT_COUNT: usize = 64;
/// Events that are compared, at most.
const MOMENT_COUNT_MAX: usize = 1 << 21;
/// The registry of threads, strings and labels in each stream.
const STORE: u16 = 0;

/// A thread of a program's log, and when it recorded events.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) track: Track,
    /// Its number in its own log.
    pub(super) number: u32,
    /// When it recorded some of its events, in ns.
    pub(super) moments: Vec<u64>,
    /// The least time between two moments.
    gap: u64,
}

impl Thread {
    /// Keeps moments all over the time.
    fn take(&mut self, ns: u64) {
        if self.moments.last().is_some_and(|last| ns <= last.saturating_add(self.gap)) {
            return;
        }
        if self.moments.len() >= MOMENT_COUNT {
            let mut is_kept = false;
            self.moments.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            let first = self.moments.first().copied().unwrap_or(ns);
            self.gap = ns.saturating_sub(first) / (MOMENT_COUNT as u64 / 2);
        }
        self.moments.push(ns);
    }
}

/// Returns the threads of the programs, and moments at which they recorded events.
pub(super) fn threads(log: &Log, clock: &Clock, kernel: u16, model: &Model) -> Vec<Thread> {
    let mut threads: Vec<Thread> = Vec::new();
    let mut places: HashMap<Track, usize, RandomState> = HashMap::default();
    let mut events = log.events(Order::Time, &Filter::new().event("Thread"));
    while let Some(event) = events.next() {
        let number = |name| event.param(name).and_then(|value| value.as_u64());
        let is_row = event.registry.index == STORE && event.stream != kernel;
        if let (true, Some(index), Some(number)) = (is_row, number("thread"), number("osThread"))
            && let (Ok(index), Ok(number)) = (u32::try_from(index), u32::try_from(number))
            && threads.len() < THREAD_COUNT_MAX
        {
            let track = (event.stream, index);
            places.entry(track).or_insert(threads.len());
            if places.len() > threads.len() {
                threads.push(Thread { track, number, moments: Vec::new(), gap: 0 });
            }
        }
    }
    let mut filter = Filter::new();
    let times = |stream: u16| match stream == kernel {
        true => (1, 0),
        false => (clock.ticks(stream, model.begin), clock.ticks(stream, model.end)),
    };
    let all = (0..log.streams().len() as u16).map(times);
    filter.times = all.map(|(from, to)| from..=to).collect();
    let mut near = vec![0; log.streams().len()];
    let mut count = 0;
    log.events(Order::Time, &filter).each(|event| {
        let Some(near) = near.get_mut(usize::from(event.stream)) else { return };
        let at = places.get(&(event.stream, event.thread));
        let thread = at.and_then(|at| threads.get_mut(*at));
        if let Some(thread) = thread.filter(|_| event.registry.index != STORE)
            && count < MOMENT_COUNT_MAX
        {
            let before = thread.moments.len();
            thread.take(clock.ns_near(event.stream, event.ticks, near));
            count = (count + thread.moments.len()).saturating_sub(before);
        }
    });
    threads
}
