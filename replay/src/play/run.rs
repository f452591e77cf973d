//! The loop: plays the ops of one thread against a heap.
//!
//! ```text
//!  ops: │ allocate 5 │ prefix │ allocate 6 │ post │ free 5 │ …       slots: │ … │ *5 │ *6 │ …
//!         └▶ heap ──▶ slot            every LIVE_STEP ops: progress, live bytes ──▶ Line
//! ```
//!
//! Design: `.rep.loop` in `design/replay.md`.
#![expect(unsafe_code, reason = "memory of heaps is written and freed")]

use super::image::Lists;
use super::latency::Timer;
use super::pace::Pacer;
use super::shared::Line;
use super::usage;
use crate::facts::Parts;
use crate::heap::{Heap, Request};
use crate::workload::{LIVE_STEP, ORDER_COUNT, Op, OpKind, STRIDE};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Writes nothing to new memory.
pub(crate) const TOUCH_NONE: u8 = 0;
/// Writes a byte of each cache line, of larger blocks as far as was sampled.
pub(crate) const TOUCH_SAMPLED: u8 = 1;
pub(crate) const TOUCH_ALL: u8 = 2;

const CACHE_LINE: usize = 64;
const FILLING: u8 = 0xA5;

pub(crate) struct Player<'a, H, W> {
    pub(crate) heap: &'a H,
    pub(crate) lists: Lists<'a>,
    pub(crate) slots: &'a [AtomicPtr<u8>],
    pub(crate) lines: &'a [Line],
    /// 1 once all threads have met at the peak of live bytes.
    pub(crate) met: &'a AtomicU32,
    /// The written parts of larger blocks.
    pub(crate) parts: &'a Parts,
    pub(crate) thread: usize,
    pub(crate) pacer: Pacer,
    pub(crate) timer: W,
    pub(crate) counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Allocations and reallocations that returned null.
    pub(crate) failures: u64,
    /// Operations on objects that therefore do not exist.
    pub(crate) skipped: u64,
    /// Processor time spent waiting for other threads.
    pub(crate) waited_ns: u64,
}

/// # Safety of playing
///
/// 14. `check.rs` checked the workload: every slot of an op is in the table, every thread in the
///     lines. An op frees or reallocates an object only while the object exists, and by the request
///     that it was allocated with. Post and Wait order the ops of different threads on one object.
impl<'a, H: Heap, W: Timer> Player<'a, H, W> {
    #[inline(always)]
    fn line(&self) -> Option<&'a Line> {
        self.lines.get(self.thread)
    }

    #[inline(always)]
    fn publish(&self, at: usize, live: Option<&i64>) {
        if let (Some(line), Some(live)) = (self.line(), live) {
            line.publish(at, *live);
        }
    }

    /// # Safety
    ///
    /// 14.
    #[inline(never)]
    pub(crate) unsafe fn play<const TOUCH: u8, const PACED: bool>(&mut self) {
        let Lists { ops, live, .. } = self.lists;
        let mut at = 0;
        while at < ops.len() {
            let step = at / LIVE_STEP;
            let end = ((step + 1) * LIVE_STEP).min(ops.len());
            if !PACED {
                self.publish(at, live.get(step));
            }
            while at < end {
                if PACED {
                    self.pace(at);
                } else if !W::IS_ON {
                    // SAFETY: 14, and `end` is at most the length.
                    at = unsafe { self.strides::<TOUCH>(at, end) };
                    if at == end {
                        break;
                    }
                }
                // SAFETY: 14: the workload was checked, and `at` is less than the length.
                at += unsafe { self.step::<TOUCH>(*ops.get_unchecked(at), at) };
            }
            self.timer.flush();
        }
        self.publish(at, live.last());
    }

    /// Does plain ops, as long as the next STRIDE ops are plain. Returns the index of the next op.
    ///
    /// # Safety
    ///
    /// 14, and `end` is at most the length.
    #[inline(always)]
    unsafe fn strides<const TOUCH: u8>(&mut self, mut at: usize, end: usize) -> usize {
        let ops = self.lists.ops.as_ptr();
        // SAFETY: STRIDE ops follow from `at` on.
        let read = |at: usize| unsafe { ops.add(at).cast::<[Op; STRIDE]>().read() };
        let order = |at: usize| match end - at >= STRIDE {
            true => Op::order(read(at)),
            false => ORDER_COUNT,
        };
        let mut next = order(at);
        while next != ORDER_COUNT {
            let (now, ops) = (next, read(at));
            at += STRIDE;
            // The next order is known before the branch: a processor that guessed wrong then goes
            // on at once.
            next = order(at);
            // SAFETY: 14: the workload was checked: these ops are the next ones of its thread.
            unsafe { self.stride::<TOUCH>(ops, now) };
        }
        at
    }

    /// Does plain ops by code for just their order of allocations and frees. So a branch that no
    /// processor can predict comes once in STRIDE ops, not with each.
    ///
    /// # Safety
    ///
    /// 14.
    #[inline(always)]
    unsafe fn stride<const TOUCH: u8>(&mut self, ops: [Op; STRIDE], order: usize) {
        macro_rules! one_of {
            ($($order:literal)*) => {
                match order {
                    // SAFETY: 14: the workload was checked: these ops are the next ones of its
                    // thread.
                    $($order => unsafe { self.in_order::<TOUCH, $order>(ops) },)*
                    _ => {}
                }
            };
        }
        const { assert!(ORDER_COUNT == 16) };
        one_of!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    }

    /// Does plain ops; those with a 1 in FREES are frees.
    ///
    /// # Safety
    ///
    /// 14.
    #[inline(always)]
    unsafe fn in_order<const TOUCH: u8, const FREES: usize>(&mut self, ops: [Op; STRIDE]) {
        for (index, op) in ops.into_iter().enumerate() {
            let request = Request { size: op.size() as usize, alignment: 1, pool: 0 };
            // SAFETY: 14: the workload was checked: the object of the op exists, as handed out.
            unsafe {
                match FREES >> index & 1 {
                    0 => self.allocate::<TOUCH, false>(op, request),
                    _ => self.free(op, request),
                }
            }
        }
    }

    /// Does an op. Returns its number of words.
    ///
    /// # Safety
    ///
    /// 14.
    #[inline(always)]
    unsafe fn step<const TOUCH: u8>(&mut self, op: Op, at: usize) -> usize {
        let request = Request { size: op.size() as usize, alignment: 1, pool: 0 };
        // SAFETY: 14: the workload was checked: the object of the op exists, as handed out.
        unsafe {
            match op.kind() {
                OpKind::Allocate => self.allocate::<TOUCH, false>(op, request),
                OpKind::Free => self.free(op, request),
                _ => return self.rare::<TOUCH>(op, at),
            }
        }
        1
    }

    /// Does an op that is neither a plain allocation nor a plain free. Returns its number of words.
    ///
    /// # Safety
    ///
    /// 14.
    #[inline(never)]
    unsafe fn rare<const TOUCH: u8>(&mut self, op: Op, at: usize) -> usize {
        let (mut op, mut length) = (op, 1);
        let mut request = Request { size: 0, alignment: 1, pool: 0 };
        if op.kind() == OpKind::Prefix {
            let (log2, pool) = op.alignment_and_pool();
            let size = (u64::from(op.size()) << 32) as usize;
            request = Request { size, alignment: 1 << log2, pool };
            op = self.word(at + 1);
            length = 2;
        }
        request.size |= op.size() as usize;
        // SAFETY: 14: the workload was checked: the object of the op exists, as handed out.
        unsafe {
            match op.kind() {
                OpKind::Allocate => self.allocate::<TOUCH, false>(op, request),
                OpKind::AllocateZeroed => self.allocate::<TOUCH, true>(op, request),
                OpKind::Free => self.free(op, request),
                OpKind::Reallocate => {
                    let new = self.word(at + length);
                    let size = new.as_new_size() as usize;
                    let alignment = if new.is_unaligned() { 1 } else { request.alignment };
                    self.reallocate::<TOUCH>(op, request, Request { size, alignment, ..request });
                    length += 1;
                }
                OpKind::Wait => self.wait(op),
                OpKind::Post if op.is_met() => self.met.store(1, Ordering::Relaxed),
                OpKind::Post => self.post(op),
                OpKind::EndPool => self.heap.end_pool(op.slot()),
                OpKind::Prefix => {}
            }
        }
        length
    }

    /// Returns a word that belongs to the op before it; the list always has it.
    fn word(&self, at: usize) -> Op {
        self.lists.ops.get(at).copied().unwrap_or(Op::post(0))
    }

    /// # Safety
    ///
    /// 14.
    #[inline(always)]
    unsafe fn allocate<const TOUCH: u8, const ZEROED: bool>(&mut self, op: Op, request: Request) {
        let before = self.timer.before();
        let memory = match ZEROED {
            true => self.heap.allocate_zeroed(request),
            false => self.heap.allocate(request),
        };
        self.timer.after(before, OpKind::Allocate, request.size);
        // SAFETY: 14: the slot is in the table.
        unsafe { self.slots.get_unchecked(op.slot() as usize) }.store(memory, Ordering::Relaxed);
        if memory.is_null() {
            self.fail();
        } else {
            // SAFETY: heap 1: the memory has this size, and is this thread's.
            unsafe { self.touch::<TOUCH>(memory, 0, request.size, ZEROED) };
        }
    }

    /// # Safety
    ///
    /// 14.
    #[inline(always)]
    unsafe fn free(&mut self, op: Op, was: Request) {
        // SAFETY: 14: the workload was checked: every slot that an op names is in the table.
        let slot = unsafe { self.slots.get_unchecked(op.slot() as usize) };
        let memory = slot.load(Ordering::Relaxed);
        if memory.is_null() {
            return self.skip();
        }
        let before = self.timer.before();
        // SAFETY: 14: heap 4.
        unsafe { self.heap.free(memory, was) };
        self.timer.after(before, OpKind::Free, was.size);
    }

    /// Reallocates an object, and frees it if the heap has no memory of the new size.
    ///
    /// # Safety
    ///
    /// 14.
    unsafe fn reallocate<const TOUCH: u8>(&mut self, op: Op, was: Request, request: Request) {
        // SAFETY: 14: the workload was checked: every slot that an op names is in the table.
        let slot = unsafe { self.slots.get_unchecked(op.slot() as usize) };
        let old = slot.load(Ordering::Relaxed);
        if old.is_null() {
            return self.skip();
        }
        let before = self.timer.before();
        // SAFETY: 14: heap 3.
        let memory = unsafe { self.heap.reallocate(old, was, request) };
        self.timer.after(before, OpKind::Reallocate, request.size);
        slot.store(memory, Ordering::Relaxed);
        if memory.is_null() {
            // SAFETY: 14: heap 4: `old` is unchanged.
            unsafe { self.heap.free(old, was) };
            return self.fail();
        }
        // SAFETY: heap 1: the memory has this size, and is this thread's.
        unsafe { self.touch::<TOUCH>(memory, was.size, request.size, false) };
    }

    /// # Safety
    ///
    /// 15.
    #[inline(always)]
    unsafe fn touch<const TOUCH: u8>(
        &self,
        memory: *mut u8,
        from: usize,
        to: usize,
        is_zeroed: bool,
    ) {
        let to = match TOUCH == TOUCH_SAMPLED {
            true => from + self.parts.more(from, to, is_zeroed),
            false => to,
        };
        // SAFETY: 15: there are `to` bytes at `memory`, and they are the caller's.
        unsafe { touch::<H, TOUCH>(memory, from, to) };
    }

    /// Frees the objects that remain after the last op. Each slot is in the table, and its object
    /// is the one in the list.
    ///
    /// # Safety
    ///
    /// 14, and all threads have played.
    pub(crate) unsafe fn free_left(&mut self) {
        for left in self.lists.left {
            let op = Op::of_slot(OpKind::Free, left.slot(), 0);
            // SAFETY: 14: what the workload leaves is in the table, and as handed out.
            unsafe { self.free(op, left.was()) };
        }
    }

    #[cold]
    fn fail(&mut self) {
        self.counts.failures += 1;
    }

    #[cold]
    fn skip(&mut self) {
        self.counts.skipped += 1;
    }

    #[inline(always)]
    fn post(&self, op: Op) {
        if let Some(line) = self.line() {
            line.post(op.size());
        }
    }

    #[cold]
    fn wait(&mut self, op: Op) {
        let Some(line) = self.lines.get(op.slot() as usize) else { return };
        if !line.has_posted(op.size()) {
            let before = usage::processor_of_thread();
            line.wait(op.size());
            self.counts.waited_ns += usage::processor_of_thread().saturating_sub(before);
        }
    }

    /// Waits until the next op is due, and publishes the progress before.
    fn pace(&self, at: usize) {
        let time = self.lists.times.get(at).copied().unwrap_or_default();
        if !self.pacer.is_due(time) {
            self.publish(at, self.lists.live.get(at / LIVE_STEP));
            self.pacer.wait(time);
        }
    }
}

/// Writes to memory as a program would that uses it.
///
/// # Safety
///
/// 15. `memory` has `to` bytes, and they are the caller's.
#[inline(always)]
unsafe fn touch<H: Heap, const TOUCH: u8>(memory: *mut u8, from: usize, to: usize) {
    if !H::HAS_MEMORY || TOUCH == TOUCH_NONE || from >= to {
        return;
    }
    if TOUCH == TOUCH_ALL {
        // SAFETY: 15: there are `to` bytes at `memory`, and they are the caller's. `from` is less
        // than `to`.
        return unsafe { memory.add(from).write_bytes(FILLING, to - from) };
    }
    let mut at = from;
    while at < to {
        // SAFETY: 15: `at` is less than `to`. The write is volatile, because nothing reads it.
        unsafe { memory.add(at).write_volatile(FILLING) };
        at += CACHE_LINE - (memory.addr() + at) % CACHE_LINE;
    }
}
