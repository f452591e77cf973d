//! Compiles operations to a workload: everything is looked up here, so that playing looks nothing
//! up.
//!
//! ```text
//!  operation ─▶ object ─▶ slot ─▶ op of its thread   first pass: lists, waits between threads
//!  lists + waits + posts ─▶ Workload                 second pass: a list for each thread
//! ```
//!
//! Design: `.rep.workload`, `.rep.edge`, `.rep.slot` in `design/replay.md`.

mod together;

use super::live::{Live, Window};
use super::order::{Order, Wait};
use super::slots::{Slot, Slots};
use crate::facts::Touched;
use crate::operation::{Action, Operation};
use crate::workload::{NEW_SIZE_MAX, Op, OpKind, SLOT_COUNT_MAX, Thread, Workload};

/// Stands for an object without a slot.
const NO_SLOT: u32 = u32::MAX;
/// The logarithm of the alignment of every allocation.
const ALIGNMENT_LOG2_USUAL: u8 = 4;
/// The number of pools that an op can name.
const POOL_COUNT_MAX: u32 = 1 << 24;

/// The options of compiling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// Whether all ops are in one list, in order of time.
    pub is_single: bool,
    /// Whether each op has its time.
    pub has_times: bool,
    /// The number of operations by which threads may be apart, about, in the recorded order; none:
    /// a thread waits only for objects of others.
    pub skew: Option<u32>,
}

/// Compiles operations to a workload. Operations on objects that do not exist, or exist twice, are
/// left out: sources and files have none.
pub fn compile(operations: impl IntoIterator<Item = Operation>, mode: Mode) -> Workload {
    let mut compiler = Compiler { mode, ..Compiler::default() };
    for operation in operations {
        compiler.take(operation);
    }
    compiler.finish()
}

/// The ops of a thread in the first pass.
#[derive(Debug, Default)]
struct List {
    ops: Vec<Op>,
    times: Vec<u64>,
    /// The number of its ops at a peak of live bytes, and the operation of that peak.
    at_peak: (u32, u64),
}

#[derive(Debug, Default)]
struct Compiler {
    mode: Mode,
    lists: Vec<List>,
    slot_of: Vec<u32>,
    slots: Slots,
    order: Order,
    /// The threads that used each pool, and the last op of each that did.
    pools: Vec<Vec<(u32, u32)>>,
    operation_count: u64,
    window: Window,
    live: u64,
    live_peak: u64,
    /// The meeting of all threads: a thread, and its op after that.
    meeting: Option<(u32, u32)>,
    /// The operation at the peak of live bytes so far.
    peak: u64,
    /// The thread of the operation after the peak, and its first op.
    after_peak: Option<(u32, u32)>,
    last: u64,
}

impl Compiler {
    fn take(&mut self, operation: Operation) {
        let thread = if self.mode.is_single { 0 } else { operation.thread };
        if thread as usize >= self.lists.len() {
            self.lists.resize_with(thread as usize + 1, List::default);
        }
        self.last = operation.time;
        match operation.action {
            Action::Allocate { object, size, alignment, is_zeroed, pool } => {
                let pool = pool.min(POOL_COUNT_MAX - 1);
                let alignment_log2 = alignment.max(1).ilog2().min(31) as u8;
                let content = Slot { size, alignment_log2, pool, thread, op: 0, is_full: true };
                self.allocate(object, content, is_zeroed, operation.time);
            }
            Action::Reallocate { object, size, is_unaligned } => {
                let Some(slot) = self.slot(object) else { return };
                let Some(before) = self.slots.slots.get(slot as usize).copied() else { return };
                let size = size.min(NEW_SIZE_MAX);
                let alignment_log2 = if is_unaligned { 0 } else { before.alignment_log2 };
                let content = Slot { size, alignment_log2, thread, ..before };
                self.push(OpKind::Reallocate, slot, content, Some(before), operation.time);
                self.set_live(before.size, size);
            }
            Action::Free { object } => {
                let Some(slot) = self.slot(object) else { return };
                let Some(before) = self.slots.slots.get(slot as usize).copied() else { return };
                let content = Slot { thread, is_full: false, ..before };
                let op = self.push(OpKind::Free, slot, content, Some(before), operation.time);
                self.slots.put_back(slot, thread, op);
                if let Some(place) = self.slot_of.get_mut(object as usize) {
                    *place = NO_SLOT;
                }
                self.set_live(before.size, 0);
            }
            Action::EndPool { pool } => self.end_pool(pool, thread, operation.time),
        }
    }

    #[inline]
    fn slot(&self, object: u32) -> Option<u32> {
        self.slot_of.get(object as usize).copied().filter(|slot| *slot != NO_SLOT)
    }

    #[inline]
    fn list(&mut self, thread: u32, work: impl FnOnce(&mut List)) {
        if let Some(list) = self.lists.get_mut(thread as usize) {
            work(list);
        }
    }

    fn allocate(&mut self, object: u32, content: Slot, is_zeroed: bool, time: u64) {
        if self.slot(object).is_some() {
            return;
        }
        let (slot, wait) = self.slots.take(content.thread, &self.order);
        if slot >= SLOT_COUNT_MAX {
            return;
        }
        if object as usize >= self.slot_of.len() {
            self.slot_of.resize(object as usize + 1, NO_SLOT);
        }
        if let Some(place) = self.slot_of.get_mut(object as usize) {
            *place = slot;
        }
        if let Some((other, done)) = wait {
            self.order.after(content.thread, self.next(content.thread), other, done);
        }
        let kind = if is_zeroed { OpKind::AllocateZeroed } else { OpKind::Allocate };
        self.push(kind, slot, content, None, time);
        self.set_live(0, content.size);
    }

    /// Returns the index of the next op of a thread.
    #[inline]
    fn next(&self, thread: u32) -> u32 {
        self.lists.get(thread as usize).map_or(0, |list| list.ops.len() as u32)
    }

    /// Adds an op that changes the content of a slot. Returns the index of the op.
    #[inline]
    fn push(
        &mut self,
        kind: OpKind,
        slot: u32,
        content: Slot,
        before: Option<Slot>,
        time: u64,
    ) -> u32 {
        let thread = content.thread;
        self.begin(thread);
        if let Some(before) = before
            && before.thread != thread
        {
            self.order.after(thread, self.next(thread), before.thread, before.op);
        }
        // An op on an existing object has the size and alignment of that object.
        let Slot { size, alignment_log2, .. } = before.unwrap_or(content);
        if alignment_log2 > ALIGNMENT_LOG2_USUAL || content.pool != 0 || size >> 32 != 0 {
            let prefix = Op::prefix(u32::from(alignment_log2), content.pool, size);
            self.add(thread, prefix, time);
        }
        let mut op = self.add(thread, Op::of_slot(kind, slot, size), time);
        if kind == OpKind::Reallocate {
            op = self.add(
                thread,
                Op::new_size(content.size, content.alignment_log2 < alignment_log2),
                time,
            );
        }
        if let Some(place) = self.slots.slots.get_mut(slot as usize) {
            *place = Slot { op, ..content };
        }
        self.operation_count += 1;
        self.note_pool(content.pool, thread, op);
        op
    }

    #[inline]
    fn add(&mut self, thread: u32, op: Op, time: u64) -> u32 {
        let index = self.next(thread);
        let has_times = self.mode.has_times;
        self.list(thread, |list| {
            list.ops.push(op);
            if has_times {
                list.times.push(time);
            }
        });
        index
    }

    #[inline]
    fn note_pool(&mut self, pool: u32, thread: u32, op: u32) {
        if pool as usize >= self.pools.len() {
            self.pools.resize_with(pool as usize + 1, Vec::new);
        }
        let Some(users) = self.pools.get_mut(pool as usize) else { return };
        match users.iter_mut().find(|user| user.0 == thread) {
            Some(user) => user.1 = op,
            None => users.push((thread, op)),
        }
    }

    /// Ends a pool, after all ops that used it.
    fn end_pool(&mut self, pool: u32, thread: u32, time: u64) {
        if pool >= POOL_COUNT_MAX {
            return;
        }
        self.begin(thread);
        let op = self.next(thread);
        for (user, last) in
            self.pools.get_mut(pool as usize).map(std::mem::take).unwrap_or_default()
        {
            if user != thread {
                self.order.after(thread, op, user, last);
            }
        }
        self.add(thread, Op::end_pool(pool), time);
        self.note_pool(pool, thread, op);
    }

    #[inline]
    fn set_live(&mut self, before: u64, now: u64) {
        self.live = self.live.saturating_sub(before).saturating_add(now);
        if self.live > self.live_peak {
            self.live_peak = self.live;
            (self.peak, self.after_peak) = (self.operation_count, None);
        }
    }

    /// Runs the second pass.
    fn finish(mut self) -> Workload {
        self.meet();
        let posts = self.order.posts(self.lists.len());
        let mut threads: Vec<Thread> = Vec::with_capacity(self.lists.len());
        for (index, list) in self.lists.into_iter().enumerate() {
            let own = posts.get(index).map_or(&[][..], Vec::as_slice);
            let meeting = self.meeting.filter(|(thread, _)| *thread as usize == index);
            let waits = self.order.waits(index);
            threads.push(join(list, own, waits, &posts, meeting.map(|(_, op)| op)));
        }
        for (index, slot) in self.slots.slots.iter().enumerate().filter(|(_, slot)| slot.is_full) {
            if let Some(thread) = threads.get_mut(slot.thread as usize) {
                thread.left.push((index as u32, slot.size));
            }
        }
        Workload {
            threads,
            slot_count: self.slots.slots.len() as u32,
            pool_count: self.pools.len().max(1) as u32,
            operation_count: self.operation_count,
            live_peak: self.live_peak,
            touched: Touched::default(),
            duration: self.last,
        }
    }
}

/// Joins the ops of a thread with its waits and posts.
fn join(
    list: List,
    posts: &[u32],
    waits: &[Wait],
    all_posts: &[Vec<u32>],
    meeting: Option<u32>,
) -> Thread {
    let mut thread = Thread::default();
    let mut live = Live::default();
    if posts.is_empty() && waits.is_empty() {
        list.ops.iter().for_each(|op| live.take(*op));
        (thread.ops, thread.times) = (list.ops, list.times);
        thread.live = live.finish();
        return thread;
    }
    thread.ops.reserve(list.ops.len() + posts.len() + waits.len());
    let (mut waits, mut posted) = (waits.iter().peekable(), posts.iter().enumerate().peekable());
    for (index, op) in list.ops.iter().enumerate() {
        let time = list.times.get(index).copied();
        let mut add = |op: Op| {
            live.take(op);
            thread.ops.push(op);
            thread.times.extend(time);
        };
        while let Some(wait) = waits.next_if(|wait| wait.before as usize == index) {
            let posts = all_posts.get(wait.thread as usize).map_or(&[][..], Vec::as_slice);
            let count = posts.partition_point(|post| *post < wait.done) as u32 + 1;
            add(Op::wait(wait.thread, count));
        }
        if meeting == Some(index as u32) {
            add(Op::met());
        }
        add(*op);
        while let Some((place, _)) = posted.next_if(|(_, op)| **op as usize == index) {
            add(Op::post(place as u32 + 1));
        }
    }
    thread.live = live.finish();
    thread
}
