//! The processor of an event, where the text does not print it: that of the running thread.
//!
//! ```text
//!  switch 7 ──▶ 8         the processor that ran 7 runs 8 from now on
//!  switch 7 ──▶ swapper/1     … and that is processor 1
//! ```
//!
//! Design: `.waits.script` in `design/waits.md`.

use crate::output::CPU_COUNT_MAX;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Threads whose place is kept, at most.
const THREAD_COUNT_MAX: usize = 1 << 20;

/// The threads that run, by processor.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// By processor; `None` before its first event.
    threads: Vec<Option<u32>>,
    /// The processor of each thread that runs or was woken.
    places: HashMap<u32, u32, RandomState>,
    /// The processor of the last event of an idle thread.
    idle: u32,
}

impl Running {
    /// Returns the processor of an event that a thread caused, or interrupted.
    pub(super) fn of(&mut self, thread: u32) -> u32 {
        if thread != 0 {
            if let Some(cpu) = self.places.get(&thread).filter(|cpu| self.runs(**cpu, thread)) {
                return *cpu;
            }
            let cpu = self.free(self.places.get(&thread).copied());
            self.set(cpu, thread);
            return cpu;
        }
        if !self.runs(self.idle, 0) {
            self.idle = self.free(None);
            self.set(self.idle, 0);
        }
        self.idle
    }

    /// Returns the processor of a switch, and notes the thread that runs from now on. The names of
    /// idle threads tell their processor.
    pub(super) fn switch(&mut self, prev: (&[u8], u32), next: (&[u8], u32)) -> u32 {
        let named = |(name, thread): (&[u8], u32)| {
            let digits = (thread == 0).then(|| name.strip_prefix(b"swapper/"))??;
            let cpu = str::from_utf8(digits).ok()?.parse().ok();
            cpu.filter(|cpu| *cpu < CPU_COUNT_MAX)
        };
        let named = named(prev).or_else(|| named(next));
        let cpu = named.unwrap_or_else(|| self.of(prev.1));
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

    /// Returns a processor for a thread of which none is known to run it: one without an event so
    /// far, else an idle one, else the first.
    fn free(&self, wish: Option<u32>) -> u32 {
        let is_free = |cpu: u32| !matches!(self.threads.get(cpu as usize), Some(Some(1..)));
        if let Some(cpu) = wish.filter(|cpu| is_free(*cpu)) {
            return cpu;
        }
        let find = |of: Option<u32>| self.threads.iter().position(|thread| *thread == of);
        find(None).or_else(|| find(Some(0))).unwrap_or(0) as u32
    }

    fn set(&mut self, cpu: u32, thread: u32) {
        let at = cpu as usize;
        if self.threads.len() <= at {
            self.threads.resize(at + 1, None);
        }
        if let Some(place) = self.threads.get_mut(at) {
            *place = Some(thread);
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
    fn two_threads_never_run_on_one_processor() {
        let mut running = Running::default();
        running.switch((b"a", 1), (b"swapper/0", 0));
        running.switch((b"b", 2), (b"swapper/1", 0));
        let (one, other) = (running.of(3), running.of(4));
        assert_ne!(one, other);
        assert_eq!((running.of(3), running.of(4)), (one, other));
    }
}
