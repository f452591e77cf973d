//! Checks whether a workload can be played: the loop itself then checks nothing.
//!
//! ```text
//!  each thread in turn, until it waits ──▶ slots: empty │ full ──▶ Plan │ InvalidWorkload
//! ```
//!
//! Design: `.rep.workload.sound` in `design/replay.md`.

use super::image::Left;
use crate::heap::Request;
use crate::workload::{LIVE_STEP, Op, OpKind, Thread, Workload};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;

/// The error of a workload that cannot be played: an invalid op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidWorkload {
    /// The thread of the op.
    pub thread: usize,
    /// The index of the op.
    pub index: usize,
    /// The cause.
    pub cause: &'static str,
}

impl fmt::Display for InvalidWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InvalidWorkload { thread, index, cause } = self;
        write!(f, "the workload cannot be played: thread {thread}, op {index}: {cause}")
    }
}

/// The results for a workload that can be played.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// For each thread: the number of operations before each op whose index is a multiple of
    /// [`LIVE_STEP`], and of all.
    pub(crate) done: Vec<Vec<u64>>,
    /// For each thread: the objects that it frees at the end.
    pub(crate) left: Vec<Vec<Left>>,
}

struct Cursor<'a> {
    thread: &'a Thread,
    at: usize,
    count: u64,
    posted: u32,
    done: Vec<u64>,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Option<Request>>,
    /// The number of full slots of each pool, up to the last one used: many pools may end.
    full: Vec<u32>,
}

const NEVER: &str = "waits for an op that never comes";

/// Checks each op, in one of the orders in which the threads may do them.
pub(crate) fn check(workload: &Workload) -> Result<Plan, InvalidWorkload> {
    let mut slots = Slots { slots: vec![None; workload.slot_count as usize], ..Slots::default() };
    let mut cursors: Vec<Cursor> = workload.threads.iter().map(Cursor::new).collect();
    // The threads that wait for posts of each thread, least count first; and the threads that can
    // go on.
    let mut waiting: Vec<BinaryHeap<Reverse<(u32, usize)>>> =
        vec![BinaryHeap::new(); cursors.len()];
    let mut ready: VecDeque<usize> = (0..cursors.len()).collect();
    while let Some(index) = ready.pop_front() {
        let invalid = |at, cause| InvalidWorkload { thread: index, index: at, cause };
        loop {
            let posted = |thread: usize| cursors.get(thread).map(|cursor| cursor.posted);
            let Some(cursor) = cursors.get(index) else { break };
            let Some(&op) = cursor.thread.ops.get(cursor.at) else { break };
            if op.kind() == OpKind::Wait {
                let posted = posted(op.slot() as usize);
                let posted = posted.ok_or_else(|| invalid(cursor.at, "unknown thread"))?;
                if posted < op.size() {
                    waiting[op.slot() as usize].push(Reverse((op.size(), index)));
                    break;
                }
            }
            let Some(cursor) = cursors.get_mut(index) else { break };
            cursor.step(op, workload, &mut slots).map_err(|cause| invalid(cursor.at, cause))?;
        }
        let posted = cursors.get(index).map_or(0, |cursor| cursor.posted);
        while waiting[index].peek().is_some_and(|Reverse((least, _))| *least <= posted) {
            ready.extend(waiting[index].pop().map(|Reverse((_, waiter))| waiter));
        }
    }
    finish(cursors, slots)
}

fn finish(cursors: Vec<Cursor>, mut slots: Slots) -> Result<Plan, InvalidWorkload> {
    let mut plan = Plan::default();
    for (index, mut cursor) in cursors.into_iter().enumerate() {
        let invalid = |cause| InvalidWorkload { thread: index, index: cursor.at, cause };
        let Thread { ops, times, live, left } = cursor.thread;
        if cursor.at < ops.len() {
            return Err(invalid(NEVER));
        }
        if !times.is_empty() && times.len() != ops.len() {
            return Err(invalid("the numbers of times and ops differ"));
        }
        if live.len() != ops.len().div_ceil(LIVE_STEP) + 1 {
            return Err(invalid("the number of entries of live bytes is wrong"));
        }
        cursor.done.push(cursor.count);
        let mut all = Vec::with_capacity(left.len());
        for (slot, size) in left {
            let was = slots.take(*slot).map_err(invalid)?;
            if was.size as u64 != *size {
                return Err(invalid("a remaining object has another size"));
            }
            all.push(Left::new(*slot, was));
        }
        plan.left.push(all);
        plan.done.push(cursor.done);
    }
    Ok(plan)
}

impl<'a> Cursor<'a> {
    fn new(thread: &'a Thread) -> Cursor<'a> {
        let done = Vec::with_capacity(thread.ops.len() / LIVE_STEP + 2);
        Cursor { thread, at: 0, count: 0, posted: 0, done }
    }

    /// Checks one op, with its prefix and new size.
    fn step(&mut self, op: Op, workload: &Workload, slots: &mut Slots) -> Result<(), &'static str> {
        while self.done.len() * LIVE_STEP <= self.at {
            self.done.push(self.count);
        }
        let (mut op, mut length) = (op, 1);
        let (mut high, mut alignment, mut pool) = (0, 1, 0);
        if op.kind() == OpKind::Prefix {
            let (log2, of_pool) = op.alignment_and_pool();
            (high, alignment, pool) = (u64::from(op.size()) << 32, 1 << log2, of_pool);
            op = *self.thread.ops.get(self.at + 1).ok_or("a prefix without an op")?;
            length = 2;
        }
        let request = |size: u64| -> Result<Request, &'static str> {
            let size = usize::try_from(size).map_err(|_| "a size beyond any memory")?;
            Ok(Request { size, alignment, pool })
        };
        let size = high | u64::from(op.size());
        match op.kind() {
            OpKind::Allocate | OpKind::AllocateZeroed => slots.put(op.slot(), request(size)?)?,
            OpKind::Free => slots.take_as(op.slot(), request(size)?)?,
            OpKind::Reallocate => {
                let new = self.thread.ops.get(self.at + length).ok_or("its new size is missing")?;
                slots.take_as(op.slot(), request(size)?)?;
                let new_size = request(new.as_new_size())?;
                let alignment = if new.is_unaligned() { 1 } else { alignment };
                slots.put(op.slot(), Request { alignment, ..new_size })?;
                length += 1;
            }
            OpKind::Post if op.is_met() => {}
            OpKind::Post if op.size() > self.posted => self.posted = op.size(),
            OpKind::Post => return Err("a post of no more than before"),
            OpKind::EndPool if op.slot() < workload.pool_count => slots.end_pool(op.slot())?,
            OpKind::EndPool => return Err("unknown pool"),
            OpKind::Wait => {}
            OpKind::Prefix => return Err("a prefix of a prefix"),
        }
        if pool >= workload.pool_count.max(1) {
            return Err("unknown pool");
        }
        use OpKind::{EndPool, Post, Prefix, Wait};
        let is_operation = !matches!(op.kind(), EndPool | Post | Prefix | Wait);
        if length > 1 && !is_operation {
            return Err("a prefix of an op without operands");
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
            None => return Err("unknown slot"),
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
        let place = self.slots.get_mut(slot as usize).ok_or("unknown slot")?;
        let was = place.take().ok_or("its slot is empty")?;
        if let Some(count) = self.full.get_mut(was.pool as usize) {
            *count -= 1;
        }
        Ok(was)
    }

    fn take_as(&mut self, slot: u32, request: Request) -> Result<(), &'static str> {
        match self.take(slot)? == request {
            true => Ok(()),
            false => Err("the object in its slot has another size, alignment or pool"),
        }
    }

    fn end_pool(&self, pool: u32) -> Result<(), &'static str> {
        match self.full.get(pool as usize) {
            Some(1..) => Err("the pool that ends is not empty"),
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
        let invalid = check(&of_threads(threads)).expect_err("the workload is accepted");
        (invalid.thread, invalid.index, invalid.cause)
    }

    fn allocate(slot: u32, size: u64) -> Op {
        Op::of_slot(OpKind::Allocate, slot, size)
    }

    fn free(slot: u32, size: u64) -> Op {
        Op::of_slot(OpKind::Free, slot, size)
    }

    /// `.rep.workload.sound`
    #[test]
    fn an_invalid_op_is_found_before_play() {
        assert_eq!(wrong(&[&[free(0, 1)]]), (0, 0, "its slot is empty"));
        assert_eq!(wrong(&[&[allocate(2, 1)]]), (0, 0, "unknown slot"));
        assert_eq!(wrong(&[&[allocate(0, 1), allocate(0, 1)]]), (0, 1, "its slot is full"));
        let other = "the object in its slot has another size, alignment or pool";
        assert_eq!(wrong(&[&[allocate(0, 1), free(0, 2)]]), (0, 1, other));
        let prefixed = [Op::prefix(4, 1, 0), allocate(0, 1), free(0, 1)];
        assert_eq!(wrong(&[&prefixed]), (0, 2, other));
        assert_eq!(wrong(&[&[Op::prefix(0, 2, 0), allocate(0, 1)]]).2, "unknown pool");
        assert_eq!(wrong(&[&[Op::prefix(0, 0, 0)]]).2, "a prefix without an op");
        let reallocate = Op::of_slot(OpKind::Reallocate, 0, 1);
        assert_eq!(wrong(&[&[allocate(0, 1), reallocate]]).2, "its new size is missing");
        let ended = [Op::prefix(0, 1, 0), allocate(0, 1), Op::end_pool(1)];
        assert_eq!(wrong(&[&ended]).2, "the pool that ends is not empty");
    }

    #[test]
    fn threads_that_wait_for_each_other_are_refused() {
        let (a, b) = ([Op::wait(1, 1), Op::post(1)], [Op::wait(0, 1), Op::post(1)]);
        assert_eq!(wrong(&[&a, &b]), (0, 0, NEVER));
        assert_eq!(wrong(&[&[Op::wait(3, 1)]]).2, "unknown thread");
        let (a, b) = ([allocate(0, 9), Op::post(1)], [Op::wait(1, 1), free(0, 9)]);
        let plan = check(&of_threads(&[&b, &a])).expect("one follows the other");
        assert_eq!(plan.done, [[0, 1], [0, 1]]);
    }

    /// `.rep.workload.sound`
    #[test]
    fn thousands_of_waiting_threads_are_checked_once() {
        // Each thread goes on after the next thread: only the last one can begin.
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
    fn remaining_objects_keep_their_requests() {
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
