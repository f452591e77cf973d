//! Whether a workload can be played: what the loop takes for granted is looked at once, before.
//!
//! ```text
//!  each thread in turn, until it waits ──▶ slot: empty │ full, as what ──▶ Plan │ Misfit
//! ```
//!
//! Design: `.rep.workload.sound` in `design/replay.md`.

use super::image::Left;
use crate::heap::Request;
use crate::workload::{LIVE_STEP, Op, OpKind, Thread, Workload};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;

/// Why a workload cannot be played: an op that cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Whose list it is in.
    pub thread: usize,
    /// Where.
    pub index: usize,
    /// What is wrong.
    pub what: &'static str,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Misfit { thread, index, what } = self;
        write!(f, "the workload cannot be played: thread {thread}, op {index}: {what}")
    }
}

/// What is known of a workload that can be played.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// For each thread: the operations before each op whose index is a multiple of [`LIVE_STEP`],
    /// and in all.
    pub(crate) done: Vec<Vec<u64>>,
    /// For each thread: what it frees at the end.
    pub(crate) left: Vec<Vec<Left>>,
}

/// One thread, as far as it got.
struct Course<'a> {
    thread: &'a Thread,
    at: usize,
    count: u64,
    posted: u32,
    done: Vec<u64>,
}

/// Of each slot what is in it.
#[derive(Default)]
struct Slots {
    slots: Vec<Option<Request>>,
    /// Of each pool, up to the last that was used, how many slots are full of what is in it: many
    /// pools may end.
    full: Vec<u32>,
}

const NEVER: &str = "it waits for what never comes";

/// Looks at each op, in one of the orders in which they may be done.
pub(crate) fn check(workload: &Workload) -> Result<Plan, Misfit> {
    let mut slots = Slots { slots: vec![None; workload.slot_count as usize], ..Slots::default() };
    let mut courses: Vec<Course> = workload.threads.iter().map(Course::new).collect();
    // Of each thread those that wait for what it posts, the first least; and those that go on.
    let mut waiting: Vec<BinaryHeap<Reverse<(u32, usize)>>> =
        vec![BinaryHeap::new(); courses.len()];
    let mut ready: VecDeque<usize> = (0..courses.len()).collect();
    while let Some(index) = ready.pop_front() {
        let misfit = |at, what| Misfit { thread: index, index: at, what };
        loop {
            let posted = |thread: usize| courses.get(thread).map(|course| course.posted);
            let Some(course) = courses.get(index) else { break };
            let Some(&op) = course.thread.ops.get(course.at) else { break };
            if op.kind() == OpKind::Wait {
                let posted = posted(op.slot() as usize);
                let posted = posted.ok_or_else(|| misfit(course.at, "there is no such thread"))?;
                if posted < op.size() {
                    waiting[op.slot() as usize].push(Reverse((op.size(), index)));
                    break;
                }
            }
            let Some(course) = courses.get_mut(index) else { break };
            course.step(op, workload, &mut slots).map_err(|what| misfit(course.at, what))?;
        }
        let posted = courses.get(index).map_or(0, |course| course.posted);
        while waiting[index].peek().is_some_and(|Reverse((least, _))| *least <= posted) {
            ready.extend(waiting[index].pop().map(|Reverse((_, waiter))| waiter));
        }
    }
    finish(courses, slots)
}

fn finish(courses: Vec<Course>, mut slots: Slots) -> Result<Plan, Misfit> {
    let mut plan = Plan::default();
    for (index, mut course) in courses.into_iter().enumerate() {
        let misfit = |what| Misfit { thread: index, index: course.at, what };
        let Thread { ops, times, live, left } = course.thread;
        if course.at < ops.len() {
            return Err(misfit(NEVER));
        }
        if !times.is_empty() && times.len() != ops.len() {
            return Err(misfit("there are not as many times as ops"));
        }
        if live.len() != ops.len().div_ceil(LIVE_STEP) + 1 {
            return Err(misfit("there are not as many live bytes as there should be"));
        }
        course.done.push(course.count);
        let mut all = Vec::with_capacity(left.len());
        for (slot, size) in left {
            let was = slots.take(*slot).map_err(misfit)?;
            if was.size as u64 != *size {
                return Err(misfit("what is left has another size"));
            }
            all.push(Left::new(*slot, was));
        }
        plan.left.push(all);
        plan.done.push(course.done);
    }
    Ok(plan)
}

impl<'a> Course<'a> {
    fn new(thread: &'a Thread) -> Course<'a> {
        let done = Vec::with_capacity(thread.ops.len() / LIVE_STEP + 2);
        Course { thread, at: 0, count: 0, posted: 0, done }
    }

    /// Does one op, with what belongs to it.
    fn step(&mut self, op: Op, workload: &Workload, slots: &mut Slots) -> Result<(), &'static str> {
        while self.done.len() * LIVE_STEP <= self.at {
            self.done.push(self.count);
        }
        let (mut op, mut length) = (op, 1);
        let (mut high, mut alignment, mut pool) = (0, 1, 0);
        if op.kind() == OpKind::Prefix {
            let (log2, of_pool) = op.alignment_and_pool();
            (high, alignment, pool) = (u64::from(op.size()) << 32, 1 << log2, of_pool);
            op = *self.thread.ops.get(self.at + 1).ok_or("a prefix of nothing")?;
            length = 2;
        }
        let request = |size: u64| -> Result<Request, &'static str> {
            let size = usize::try_from(size).map_err(|_| "a size that no memory has")?;
            Ok(Request { size, alignment, pool })
        };
        let size = high | u64::from(op.size());
        match op.kind() {
            OpKind::Allocate | OpKind::AllocateZeroed => slots.put(op.slot(), request(size)?)?,
            OpKind::Free => slots.take_as(op.slot(), request(size)?)?,
            OpKind::Reallocate => {
                let new = self.thread.ops.get(self.at + length).ok_or("a new size is missing")?;
                slots.take_as(op.slot(), request(size)?)?;
                let new_size = request(new.as_new_size())?;
                let alignment = if new.is_unaligned() { 1 } else { alignment };
                slots.put(op.slot(), Request { alignment, ..new_size })?;
                length += 1;
            }
            OpKind::Post if op.is_met() => {}
            OpKind::Post if op.size() > self.posted => self.posted = op.size(),
            OpKind::Post => return Err("what is posted is no more than before"),
            OpKind::EndPool if op.slot() < workload.pool_count => slots.end_pool(op.slot())?,
            OpKind::EndPool => return Err("there is no such pool"),
            OpKind::Wait => {}
            OpKind::Prefix => return Err("a prefix of a prefix"),
        }
        if pool >= workload.pool_count.max(1) {
            return Err("there is no such pool");
        }
        use OpKind::{EndPool, Post, Prefix, Wait};
        let is_operation = !matches!(op.kind(), EndPool | Post | Prefix | Wait);
        if length > 1 && !is_operation {
            return Err("a prefix of what needs none");
        }
        self.count += u64::from(is_operation);
        self.at += length;
        Ok(())
    }
}

impl Slots {
    fn put(&mut self, slot: u32, request: Request) -> Result<(), &'static str> {
        match self.slots.get_mut(slot as usize) {
            Some(place @ None) => *place = Some(request),
            Some(Some(_)) => return Err("its slot is full"),
            None => return Err("there is no such slot"),
        }
        // An op has 24 bits for a pool.
        let pool = request.pool as usize;
        if pool >= self.full.len() {
            self.full.resize(pool + 1, 0);
        }
        if let Some(count) = self.full.get_mut(pool) {
            *count += 1;
        }
        Ok(())
    }

    fn take(&mut self, slot: u32) -> Result<Request, &'static str> {
        let place = self.slots.get_mut(slot as usize).ok_or("there is no such slot")?;
        let was = place.take().ok_or("its slot is empty")?;
        if let Some(count) = self.full.get_mut(was.pool as usize) {
            *count -= 1;
        }
        Ok(was)
    }

    fn take_as(&mut self, slot: u32, request: Request) -> Result<(), &'static str> {
        match self.take(slot)? == request {
            true => Ok(()),
            false => Err("what is in its slot has another size, alignment or pool"),
        }
    }

    fn end_pool(&self, pool: u32) -> Result<(), &'static str> {
        match self.full.get(pool as usize) {
            Some(1..) => Err("something is left in the pool that ends"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_threads(threads: &[&[Op]]) -> Workload {
        let thread =
            |ops: &&[Op]| Thread { ops: ops.to_vec(), live: vec![0; 2], ..Thread::default() };
        let threads = threads.iter().map(thread).collect();
        Workload { threads, slot_count: 2, pool_count: 2, ..Workload::default() }
    }

    fn wrong(threads: &[&[Op]]) -> (usize, usize, &'static str) {
        let misfit = check(&of_threads(threads)).expect_err("it was let through");
        (misfit.thread, misfit.index, misfit.what)
    }

    fn allocate(slot: u32, size: u64) -> Op {
        Op::of_slot(OpKind::Allocate, slot, size)
    }

    fn free(slot: u32, size: u64) -> Op {
        Op::of_slot(OpKind::Free, slot, size)
    }

    /// `.rep.workload.sound`
    #[test]
    fn an_op_that_cannot_be_done_is_found_before_anything_is_played() {
        assert_eq!(wrong(&[&[free(0, 1)]]), (0, 0, "its slot is empty"));
        assert_eq!(wrong(&[&[allocate(2, 1)]]), (0, 0, "there is no such slot"));
        assert_eq!(wrong(&[&[allocate(0, 1), allocate(0, 1)]]), (0, 1, "its slot is full"));
        let other = "what is in its slot has another size, alignment or pool";
        assert_eq!(wrong(&[&[allocate(0, 1), free(0, 2)]]), (0, 1, other));
        let prefixed = [Op::prefix(4, 1, 0), allocate(0, 1), free(0, 1)];
        assert_eq!(wrong(&[&prefixed]), (0, 2, other));
        assert_eq!(wrong(&[&[Op::prefix(0, 2, 0), allocate(0, 1)]]).2, "there is no such pool");
        assert_eq!(wrong(&[&[Op::prefix(0, 0, 0)]]).2, "a prefix of nothing");
        let reallocate = Op::of_slot(OpKind::Reallocate, 0, 1);
        assert_eq!(wrong(&[&[allocate(0, 1), reallocate]]).2, "a new size is missing");
        let ended = [Op::prefix(0, 1, 0), allocate(0, 1), Op::end_pool(1)];
        assert_eq!(wrong(&[&ended]).2, "something is left in the pool that ends");
    }

    #[test]
    fn threads_that_wait_for_each_other_are_found() {
        let (a, b) = ([Op::wait(1, 1), Op::post(1)], [Op::wait(0, 1), Op::post(1)]);
        assert_eq!(wrong(&[&a, &b]), (0, 0, NEVER));
        assert_eq!(wrong(&[&[Op::wait(3, 1)]]).2, "there is no such thread");
        let (a, b) = ([allocate(0, 9), Op::post(1)], [Op::wait(1, 1), free(0, 9)]);
        let plan = check(&of_threads(&[&b, &a])).expect("one follows the other");
        assert_eq!(plan.done, [[0, 1], [0, 1]]);
    }

    /// `.rep.workload.sound`
    #[test]
    fn thousands_of_threads_that_wait_for_each_other_are_looked_at_once() {
        // Each goes on when the one after it has: the first of all that can is the last.
        let count = 20_000;
        let waits = |thread: u32| match thread + 1 < count {
            true => vec![Op::wait(thread + 1, 1), Op::post(1)],
            false => vec![Op::post(1)],
        };
        let threads: Vec<_> = (0..count).map(waits).collect();
        let threads: Vec<&[Op]> = threads.iter().map(Vec::as_slice).collect();
        let begin = std::time::Instant::now();
        assert!(check(&of_threads(&threads)).is_ok());
        assert!(begin.elapsed().as_secs() < 2, "{:?}", begin.elapsed());
    }

    #[test]
    fn what_is_left_is_known_as_what_it_was_handed_out() {
        let ops = [Op::prefix(6, 1, 3 << 32), allocate(1, 7)];
        let mut workload = of_threads(&[&ops]);
        workload.threads[0].left = vec![(1, 3 << 32 | 7)];
        let plan = check(&workload).expect("it is sound");
        let was = Request { size: 3 << 32 | 7, alignment: 64, pool: 1 };
        assert_eq!(plan.left[0], [Left::new(1, was)]);
        workload.threads[0].left = vec![(1, 8)];
        assert!(check(&workload).is_err());
    }
}
