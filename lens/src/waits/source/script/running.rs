//! The processor of an event, where the text does not print it: that of the running thread.
//!
//! ```text
//!  switch 7 ──▶ 8         the processor that ran 7 runs 8 from now on
//!  switch 7 ──▶ swapper/1     … and that is processor 1
//! ```
//!
//! Design: `.waits.script` in `design/waits.md`.

use super::header::number;
use crate::waits::output::CPU_COUNT_MAX;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Threads whose place is kept, at most.
const THREAD_COUNT_MAX: usize = 1 << 20;

/// Threads of one processor, by the beginnings of their names; its number follows.
const BOUND: [&[u8]; 5] = [b"swapper/", b"migration/", b"ksoftirqd/", b"cpuhp/", b"kworker/"];

/// The threads that run, by processor.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// By processor; `None` before its first event.
    threads: Vec<Option<u32>>,
    /// When each processor had its last event, in events.
    turns: Vec<u64>,
    turn: u64,
    /// The processor of each thread that runs or was woken.
    places: HashMap<u32, u32, RandomState>,
    /// The processor of the last event of an idle thread.
    idle: u32,
}

impl Running {
    /// Returns the threads of this number of processors.
    pub(super) fn new(cpu_count: u32) -> Running {
        let count = cpu_count.min(CPU_COUNT_MAX) as usize;
        Running { threads: vec![None; count], turns: vec![0; count], ..Running::default() }
    }

    /// Returns the processor of an event that a thread caused, or interrupted.
    pub(super) fn of(&mut self, thread: u32) -> u32 {
        let known = match thread {
            0 => Some(self.idle),
            _ => self.places.get(&thread).copied(),
        };
        let cpu = known.filter(|cpu| self.runs(*cpu, thread));
        let cpu = cpu.unwrap_or_else(|| self.free(known.filter(|_| thread != 0)));
        self.set(cpu, thread);
        cpu
    }

    /// Returns the processor of a switch, and notes the thread that runs from now on.
    pub(super) fn switch(&mut self, prev: (&[u8], u32), next: (&[u8], u32)) -> u32 {
        let runs = |thread: u32| {
            let cpu = self.places.get(&thread).copied();
            cpu.filter(|cpu| thread != 0 && self.runs(*cpu, thread))
        };
        let cpu = bound(prev).or_else(|| bound(next)).or_else(|| runs(prev.1));
        // A thread mostly runs where it was woken.
        let woken = || self.places.get(&next.1).copied().filter(|_| next.1 != 0);
        let cpu = cpu.or_else(|| woken().filter(|cpu| prev.1 != 0 || self.runs(*cpu, 0)));
        let cpu = cpu.unwrap_or_else(|| self.of(prev.1));
        self.set(cpu, next.1);
        cpu
    }

    /// Notes the processor in whose queue a thread stands.
    pub(super) fn woken(&mut self, thread: u32, cpu: u32) {
        if thread != 0 && cpu < CPU_COUNT_MAX {
            self.place(thread, cpu);
        }
    }

    fn runs(&self, cpu: u32, thread: u32) -> bool {
        self.threads.get(cpu as usize) == Some(&Some(thread))
    }

    /// Returns a processor for a thread that none is known to run: the one where it was woken, one
    /// without an event so far, an idle one, else the one without an event for the longest time.
    fn free(&self, wish: Option<u32>) -> u32 {
        let is_free = |cpu: u32| !matches!(self.threads.get(cpu as usize), Some(Some(1..)));
        if let Some(cpu) = wish.filter(|cpu| is_free(*cpu)) {
            return cpu;
        }
        let find = |of: Option<u32>| self.threads.iter().position(|thread| *thread == of);
        let oldest = || self.turns.iter().enumerate().min_by_key(|(_, turn)| **turn);
        let found = find(None).or_else(|| find(Some(0)));
        found.or_else(|| oldest().map(|(cpu, _)| cpu)).unwrap_or(0) as u32
    }

    fn set(&mut self, cpu: u32, thread: u32) {
        let at = cpu as usize;
        if self.threads.len() <= at {
            self.threads.resize(at + 1, None);
            self.turns.resize(at + 1, 0);
        }
        self.turn += 1;
        if let (Some(place), Some(turn)) = (self.threads.get_mut(at), self.turns.get_mut(at)) {
            (*place, *turn) = (Some(thread), self.turn);
        }
        match thread {
            0 => self.idle = cpu,
            _ => self.place(thread, cpu),
        }
    }

    fn place(&mut self, thread: u32, cpu: u32) {
        if self.places.len() < THREAD_COUNT_MAX || self.places.contains_key(&thread) {
            self.places.insert(thread, cpu);
        }
    }
}

/// Returns the processor of a thread that runs on one alone, as its name tells.
fn bound((name, thread): (&[u8], u32)) -> Option<u32> {
    let rest = BOUND.iter().find_map(|begin| name.strip_prefix(*begin))?;
    let (cpu, rest) = number(rest)?;
    let is_worker = name.starts_with(b"kworker/");
    let is_bound = if is_worker { rest.starts_with(b":") } else { rest.is_empty() };
    let cpu = u32::try_from(cpu).ok().filter(|cpu| *cpu < CPU_COUNT_MAX)?;
    (is_bound && (thread == 0 || !name.starts_with(b"swapper/"))).then_some(cpu)
}

#[cfg(test)]
mod tests {
    use super::Running;

    #[test]
    fn the_names_of_idle_threads_tell_processors() {
        let mut running = Running::default();
        assert_eq!(running.switch((b"a", 7), (b"swapper/3", 0)), 3);
        assert_eq!(running.switch((b"b", 8), (b"swapper/1", 0)), 1);
        assert_eq!(running.of(0), 1, "the processor that became idle last");
        assert_eq!(running.switch((b"swapper/3", 0), (b"a", 7)), 3);
        assert_eq!(running.of(7), 3);
        assert_eq!(running.switch((b"a", 7), (b"c", 9)), 3, "the processor that ran a");
        assert_eq!(running.of(9), 3);
    }

    #[test]
    fn a_thread_that_moved_is_where_it_was_woken() {
        let mut running = Running::default();
        running.switch((b"swapper/0", 0), (b"a", 7));
        running.switch((b"a", 7), (b"swapper/0", 0));
        running.switch((b"b", 8), (b"swapper/1", 0));
        running.woken(7, 1);
        assert_eq!(running.of(7), 1);
    }

    #[test]
    fn threads_of_one_processor_tell_it() {
        let mut running = Running::new(4);
        assert_eq!(running.switch((b"a", 7), (b"ksoftirqd/2", 9)), 2);
        assert_eq!(running.switch((b"b", 8), (b"kworker/3:1H", 10)), 3);
        assert_eq!(super::bound((b"kworker/u4:1", 10)), None);
        assert_eq!(super::bound((b"swapper/1", 10)), None, "a program");
    }

    #[test]
    fn two_threads_never_run_on_one_processor() {
        let mut running = Running::default();
        running.switch((b"a", 1), (b"swapper/0", 0));
        running.switch((b"b", 2), (b"swapper/1", 0));
        let (one, other) = (running.of(3), running.of(4));
        assert_ne!(one, other);
        assert_eq!((running.of(3), running.of(4)), (one, other));
    }
}
