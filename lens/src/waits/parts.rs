//! Windows in parts, and work on them side by side.
//!
//! ```text
//!  time of a thread    … ┤ wait ┤ run │ run of another part …      nothing after the cut tells on
//!  parts, the last first    part 2    │ part 1 ─┐                  what is before it
//!  processors                         └ next ───┴─▶ worker ──▶ results in the order of the parts
//! ```
//!
//! A cut lies behind a run that follows a wait which no timer ended: no group of waits reaches
//! over it (`.waits.stack`). So the parts tell what the whole tells.
//!
//! Design: `.waits.speed` in `design/waits.md`.

use crate::waits::model::{Cause, Model, NONE, Stretch, What};
use std::cmp::Reverse;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Workers, at most.
const WORKER_COUNT_MAX: usize = 16;
/// Stretches of all threads between two cuts, about.
pub const STEP: usize = 1 << 14;
/// Stretches that are looked at to find a cut, at most; and cuts that are not found in a window.
const LOOK_MAX: usize = 1 << 9;
const MISS_MAX: usize = 4;
/// More windows than these are not cut.
const WINDOW_COUNT_MAX: usize = 1 << 10;

/// A part of the time of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The life.
    pub life: u32,
    /// From this time on, in ns.
    pub from: u64,
    /// Until this time, in ns.
    pub to: u64,
}

/// A part of a window.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The index of the window.
    pub window: usize,
    /// The stretch with which the part ends.
    pub(crate) place: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Part {
    /// Returns the stretches of a part with their places, the last one first.
    pub(crate) fn backwards<'m>(
        &self,
        model: &'m Model,
    ) -> impl Iterator<Item = (u32, &'m Stretch)> {
        let (from, to) = (self.from, self.to);
        let all = model.backwards_from(self.place);
        all.skip_while(move |(_, own)| own.begin >= to).take_while(move |(_, own)| own.end > from)
    }
}

/// Returns the parts of windows, of about `step` stretches of all threads, the last ones first. So
/// parts of one time follow each other: their stretches lie near each other, and a processor reads
/// them into its cache once.
pub fn parts(model: &Model, windows: &[Window], step: usize) -> Vec<Part> {
    let mut parts = Vec::with_capacity(windows.len());
    for (window, own) in windows.iter().enumerate() {
        let place = model.life(own.life).map_or(NONE, |life| life.last);
        let mut part = Part { window, place, from: own.from, to: own.to };
        if windows.len() <= WINDOW_COUNT_MAX {
            for (place, at) in cuts(model, own, step) {
                if at < part.to {
                    parts.push(Part { from: at, ..part });
                    (part.place, part.to) = (place, at);
                }
            }
        }
        parts.push(part);
    }
    parts.sort_by_key(|part| Reverse(if part.place == NONE { 0 } else { part.place }));
    parts
}

/// Returns the cuts of a window, the last one first: the run before each, and its end.
fn cuts(model: &Model, own: &Window, step: usize) -> Vec<(u32, u64)> {
    let all = &model.stretches;
    // Stretches follow each other about as they begin.
    let place = |ns: u64| all.partition_point(|stretch| stretch.begin < ns);
    let (mut at, first, mut missed) = (place(own.to), place(own.from), 0);
    let mut cuts = Vec::new();
    while at.saturating_sub(first) > step && missed < MISS_MAX {
        at -= step;
        let near = (at.saturating_sub(LOOK_MAX)..at).rev();
        match near.clone().find_map(|place| cut(model, own, place)) {
            Some(cut) => cuts.push(cut),
            None => missed += 1,
        }
    }
    cuts
}

/// Returns the cut before the stretch at a place, if it is of the window, and a cut may lie there.
fn cut(model: &Model, window: &Window, place: usize) -> Option<(u32, u64)> {
    let own = model.stretches.get(place).filter(|own| own.life == window.life)?;
    let run = model.stretch(own.before).filter(|run| run.what == What::Run)?;
    let wait = model.stretch(run.before).filter(|wait| wait.what == What::Wait)?;
    let is_in_order = (own.before as usize) < place && run.before < own.before;
    let has_time = own.begin < own.end && run.begin < run.end && run.end == own.begin;
    let is_alone =
        wait.cause != Cause::TimedOut && window.from < run.begin && own.begin < window.to;
    (is_in_order && has_time && is_alone).then_some((own.before, own.begin))
}

/// Returns the ranges of this size that make `0..count`.
pub fn ranges(count: usize, size: usize) -> Vec<Range<usize>> {
    (0..count).step_by(size).map(|from| from..count.min(from + size)).collect()
}

/// Does `count` pieces of work on all processors. Each worker has a state of its own. Returns the
/// states, and the results in the order of the work.
pub fn side_by_side<S: Send, R: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> R + Sync,
) -> (Vec<S>, Vec<R>) {
    let worker_count = thread::available_parallelism().map_or(1, NonZero::get);
    let worker_count = worker_count.min(WORKER_COUNT_MAX).min(count);
    of_workers(worker_count, count, &state, &work)
}

fn of_workers<S: Send, R: Send>(
    worker_count: usize,
    count: usize,
    state: &(impl Fn() -> S + Sync),
    work: &(impl Fn(&mut S, usize) -> R + Sync),
) -> (Vec<S>, Vec<R>) {
    let next = AtomicUsize::new(0);
    let worker = || {
        let (mut own, mut done) = (state(), Vec::new());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return (own, done);
            }
            done.push((at, work(&mut own, at)));
        }
    };
    let all = thread::scope(|scope| {
        // Where the system refuses threads, there are fewer.
        let other = |_| thread::Builder::new().spawn_scoped(scope, worker).ok();
        let others: Vec<_> = (1..worker_count).map_while(other).collect();
        let mut all = vec![worker()];
        for other in others {
            all.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    let (states, done): (Vec<S>, Vec<_>) = all.into_iter().unzip();
    let mut done: Vec<(usize, R)> = done.into_iter().flatten().collect();
    done.sort_unstable_by_key(|(at, _)| *at);
    (states, done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_work() {
        for worker_count in [1, 2, 7] {
            let (states, done) = of_workers(worker_count, 1000, &|| 0, &|own, at| {
                *own += 1;
                at * 3
            });
            assert_eq!(states.iter().sum::<u32>(), 1000);
            assert!(done.iter().enumerate().all(|(at, own)| *own == at * 3), "{worker_count}");
        }
        assert_eq!(ranges(5, 2), [0..2, 2..4, 4..5]);
    }
}
