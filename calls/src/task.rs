//! Futures: a task's life, and each of its polls.
//!
//! ```text
//!  TaskStart ─ PollEnter ─ calls ─ PollLeave ─ … ─ PollEnter ─ PollLeave ─ TaskFinish ready
//!  └ first poll                                                            └ or dropped before
//! ```
//!
//! The function's body runs within polls alone, so the function of a call in it is the task's. The
//! filter selects whole tasks. Design: `.calls.task` in `design/calls.md`.

use crate::decision::word;
use crate::events::{PollEnter, TaskFinish, TaskStart};
use crate::guard::{self, Frame};
use crate::site::Site;
use core::panic::UnwindSafe;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use telemetry::__private::is_recorded;
use telemetry::event;

static NEXT: AtomicUsize = AtomicUsize::new(1);

/// The future of a traced function: polls the function's body.
#[derive(Debug)]
pub struct Task<'a, F> {
    site: &'static Site,
    life: Life,
    future: Pin<&'a mut F>,
}

/// The body is a part of the same future: what a panic leaves in it, nothing else sees.
impl<F: UnwindSafe> UnwindSafe for Task<'_, F> {}

/// How a task is recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Life {
    /// No poll was recorded so far.
    New,
    /// The task has this number.
    Recorded(usize),
    /// The filter selected another task.
    Muted,
    Finished,
}

/// Makes the task of a function's body.
pub fn task<'a, F: Future>(site: &'static Site, future: Pin<&'a mut F>) -> Task<'a, F> {
    Task { site, life: Life::New, future }
}

impl<F: Future> Future for Task<'_, F> {
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let task = &mut *self;
        if !is_recorded::<PollEnter>() {
            return task.future.as_mut().poll(context);
        }
        let polling = task.begin_poll();
        let poll = task.future.as_mut().poll(context);
        drop(polling);
        if poll.is_ready() {
            task.finish(true);
        }
        poll
    }
}

impl<F> Task<'_, F> {
    #[cold]
    #[inline(never)]
    fn begin_poll(&mut self) -> Polling {
        let site = self.site;
        let decided = guard::decided(site).unwrap_or(word::NONE);
        let choice = decided & word::CHOICE;
        if self.life == Life::New && matches!(choice, word::ALL | word::SOME) {
            let is_all = choice == word::ALL;
            self.life = if !guard::is_muted() && (is_all || guard::is_selected(site, decided)) {
                let task = NEXT.fetch_add(1, Ordering::Relaxed);
                event!(TaskStart { task: task, function: site.pointer() });
                Life::Recorded(task)
            } else {
                site.count_muted();
                Life::Muted
            };
        }
        let (frame, task) = match self.life {
            Life::Muted => (guard::mute(), 0),
            Life::Recorded(task) => (guard::begin_poll(site, task), task),
            // Its polls are not recorded, or each alone: those that took long.
            Life::New | Life::Finished => (guard::begin_poll(site, 0), 0),
        };
        Polling { site, frame, task }
    }

    fn finish(&mut self, ready: bool) {
        if let Life::Recorded(task) = self.life {
            event!(TaskFinish { task: task, ready: ready });
            self.life = Life::Finished;
        }
    }
}

impl<F> Drop for Task<'_, F> {
    #[inline]
    fn drop(&mut self) {
        self.finish(false);
    }
}

/// A poll in progress. Its drop ends it.
struct Polling {
    site: &'static Site,
    frame: Frame,
    task: usize,
}

impl Drop for Polling {
    fn drop(&mut self) {
        guard::end_poll(self.site, self.frame, self.task);
    }
}
