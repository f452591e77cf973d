//! Calls by thread, and polls by task.
//!
//! ```text
//!  Call ─┬─ own time ──▶ the busy time of its thread
//!        └─ poll ──────▶ the busy time of its task
//! ```
//!
//! Design: `.calls.lens` in `design/calls.md`.

use crate::calls::model::{Call, Function, Task, Told};
use std::collections::BTreeMap;

/// Tasks that have a sum of their own, at most; further ones of a function share one.
const TASK_COUNT_MAX: usize = 1 << 16;

/// The calls of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSum {
    /// Calls that began in it.
    pub count: u64,
    /// Those that were open at the end of the log.
    pub unfinished: u64,
    /// The own times in ns of its calls.
    pub busy: u64,
    /// The greatest number of calls in one another.
    pub depth: u32,
}

/// A task, or the tasks of a function beyond the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskSum {
    /// Its function.
    pub function: Function,
    /// Tasks: 1, except for those beyond the limit.
    pub tasks: u64,
    /// Polls.
    pub polls: u64,
    /// The time in ns in its polls.
    pub busy: u64,
    /// The time in ns from its first poll to its end, if it ended.
    pub life: u64,
    /// Tasks that ended.
    pub ended: u64,
    /// Tasks that were ready at their end.
    pub ready: u64,
}

/// The number of a task, by stream; `None` stands for those of a function beyond the limit.
pub type TaskPlace = (u16, Option<u64>, Function);

/// Sums of threads and tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    threads: BTreeMap<(u16, u32), ThreadSum>,
    tasks: BTreeMap<TaskPlace, TaskSum>,
}

impl Owners {
    /// Adds a call or a task.
    pub fn add(&mut self, told: &Told<'_>) {
        match told {
            Told::Call(call) => self.call(call),
            Told::Task(task) => self.task(task),
        }
    }

    fn call(&mut self, call: &Call<'_>) {
        let stream = call.begin.id.stream;
        let thread = self.threads.entry((stream, call.begin.thread)).or_default();
        thread.count += 1;
        thread.unfinished += u64::from(call.verdict == crate::slices::Verdict::Unfinished);
        thread.depth = thread.depth.max(call.depth + 1);
        let duration = call.duration.unwrap_or(0);
        // Own times: the outermost call may be in progress.
        thread.busy = thread.busy.saturating_add(call.own.unwrap_or(0));
        if let Some(number) = call.task {
            let task = self.place(stream, number, call.function);
            task.polls += 1;
            task.busy = task.busy.saturating_add(duration);
        }
    }

    fn task(&mut self, task: &Task<'_>) {
        let sum = self.place(task.begin.id.stream, task.number, task.function);
        sum.tasks += 1;
        sum.ready += u64::from(task.is_ready);
        if let Some(end) = task.end {
            sum.ended += 1;
            sum.life = sum.life.saturating_add(end.ns.saturating_sub(task.begin.ns));
        }
    }

    fn place(&mut self, stream: u16, number: u64, function: Function) -> &mut TaskSum {
        let own = (stream, Some(number), function);
        let is_own = self.tasks.len() < TASK_COUNT_MAX || self.tasks.contains_key(&own);
        let place = if is_own { own } else { (stream, None, function) };
        let sum = self.tasks.entry(place).or_default();
        sum.function = function;
        sum
    }

    /// Returns the threads, by stream and index.
    pub fn threads(&self) -> &BTreeMap<(u16, u32), ThreadSum> {
        &self.threads
    }

    /// Returns the tasks.
    pub fn tasks(&self) -> &BTreeMap<TaskPlace, TaskSum> {
        &self.tasks
    }
}
