//! Memory that loom watches: blocks of three small events, in cells that report a race.
//!
//! ```text
//!  words   │ state, first: loom's │ others: plain, set before any thread has the block │
//!  cells   │ 2 for each event: one thread writes, others read, or loom fails the model │
//! ```
//!
//! Replaces `src/block/memory/mod.rs`: the same interface, and the same protocol of
//! `src/block/header_words.rs`. Design: `.sol.ordering` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "references for as long as an execution; cells that loom watches")]

use crate::block::header_words::{self, HEADER_WORD_COUNT, STATE_WORD, Words};
use crate::block::losses::Counts;
use crate::os::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::rings::ring::{Own, Ring};
use bytemuck::Zeroable;
use eventdef::ParamSink;
use eventlog::format::{
    BLOCK_HEADER_SIZE, BlockHeader, ClockSync, EventHeader, SEALED, block_state_step,
};
use loom::cell::UnsafeCell;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ops::Deref;

/// The size of every event, in bytes: a header and a word.
pub(crate) const EVENT_SIZE: usize = 16;
/// The events in a block. A block more than a quarter full is written whole.
pub(crate) const EVENTS_PER_BLOCK: usize = 3;
const CELL_COUNT: usize = EVENTS_PER_BLOCK * EVENT_SIZE / 8;
const FIRST_WORD: usize = offset_of!(BlockHeader, first) / 8;
const OVERWRITTEN_WORD: usize = offset_of!(BlockHeader, overwritten) / 8;

pub(crate) fn block_size() -> usize {
    BLOCK_HEADER_SIZE + CELL_COUNT * 8
}

pub(crate) fn block_size_log2() -> u8 {
    12
}

thread_local! {
    /// Frees the values of `keep` when the next execution begins.
    static KEPT: RefCell<Vec<Box<dyn FnOnce()>>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a value until the next execution of the model.
pub(crate) fn keep<T: 'static>(value: T) -> &'static mut T {
    let value = Box::into_raw(Box::new(value));
    // SAFETY: the value comes from the box above, and nothing of an execution outlives it.
    KEPT.with_borrow_mut(|kept| kept.push(Box::new(move || drop(unsafe { Box::from_raw(value) }))));
    // SAFETY: the value is new, and no other code has it.
    unsafe { &mut *value }
}

/// Frees the values that the last execution kept.
pub(crate) fn forget() {
    KEPT.take().into_iter().for_each(|end| end());
}

pub(crate) fn place<T: 'static>(value: T) -> Option<&'static T> {
    Some(keep(value))
}

pub(crate) fn map_slice<T: Zeroable + 'static>(count: usize) -> Option<&'static mut [T]> {
    Some(keep((0..count).map(|_| T::zeroed()).collect::<Vec<T>>()))
}

pub(crate) fn place_with<T: 'static, Z: Zeroable + 'static>(
    value: impl FnOnce(&'static mut Z) -> T,
) -> Option<&'static T> {
    Some(keep(value(keep(Z::zeroed()))))
}

/// Changes a cell, and returns the new value.
pub(crate) fn change(cell: &UnsafeCell<u64>, change: impl FnOnce(u64) -> u64) -> u64 {
    // SAFETY: loom reports another thread that reads or writes at the same time.
    cell.with_mut(|cell| unsafe {
        *cell = change(*cell);
        *cell
    })
}

/// Returns the value of a cell.
pub(crate) fn look(cell: &UnsafeCell<u64>) -> u64 {
    // SAFETY: loom reports another thread that writes at the same time.
    cell.with(|cell| unsafe { *cell })
}

struct Place {
    words: Words,
    cells: [UnsafeCell<u64>; CELL_COUNT],
}

#[derive(Clone, Copy)]
pub(crate) struct Block(&'static Place);

// SAFETY: loom reports cells that two threads use at once.
unsafe impl Send for Block {}
// SAFETY: loom reports cells that two threads use at once.
unsafe impl Sync for Block {}

#[derive(Clone, Copy)]
pub(crate) struct Blocks(&'static Vec<Block>);

impl Blocks {
    pub(crate) fn map(count: usize) -> Option<Blocks> {
        let place = || Place {
            words: std::array::from_fn(|word| match word {
                STATE_WORD | FIRST_WORD => AtomicU64::new(0),
                _ => AtomicU64::quiet(0),
            }),
            cells: std::array::from_fn(|_| UnsafeCell::new(0)),
        };
        let blocks: Vec<Block> = (0..count).map(|_| Block(keep(place()))).collect();
        // This thread makes the first use, before the others begin.
        assert!(blocks.iter().all(|block| block.header().first.get() == 0));
        Some(Blocks(keep(blocks)))
    }

    pub(crate) fn map_lazily(count: usize) -> Option<Blocks> {
        Blocks::map(count)
    }

    /// Ignores the file: the models have the same words and cells.
    pub(crate) fn map_file(_: core::ffi::c_int, count: usize) -> Option<Blocks> {
        Blocks::map(count)
    }

    pub(crate) fn map_file_again(&self, _: core::ffi::c_int) {}

    pub(crate) fn has(&self, block: Block) -> bool {
        self.0.iter().any(|own| core::ptr::eq(own.0, block.0))
    }

    pub(crate) fn leave_file(&self) {
        unreachable!("no model forks");
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, sequence: u64) -> Block {
        self.0[(sequence % self.0.len() as u64) as usize]
    }
}

impl Block {
    pub(crate) fn populate(self) {}

    /// # Safety
    ///
    /// None: loom reports two threads that store to the block.
    pub(crate) unsafe fn own(self) -> OwnBlock {
        OwnBlock { block: self, here: PhantomData }
    }

    pub(crate) fn header(self) -> BlockHeader {
        header_words::get(&self.0.words)
    }

    pub(crate) fn event_end(self) -> u64 {
        self.header().first.get() + u64::from(self.state().1)
    }

    pub(crate) fn state(self) -> (u32, u32) {
        header_words::state(&self.0.words)
    }

    pub(crate) fn prefetch(self) {}

    pub(crate) fn touch(self) {}

    pub(crate) fn put_bytes(self, _: usize, _: &[u8]) {
        unreachable!("parts go to `stream`");
    }

    pub(crate) fn put_overwritten(self, count: u64) {
        let mut word = self.0.words[0].load(Ordering::Relaxed).to_ne_bytes();
        word[offset_of!(BlockHeader, flags)] &= !SEALED;
        self.0.words[0].store(u64::from_ne_bytes(word), Ordering::Relaxed);
        self.0.words[OVERWRITTEN_WORD].store(count.to_le(), Ordering::Relaxed);
    }

    pub(crate) fn put_discarded(self, counts: &Counts) {
        let mut header = self.header();
        counts.put(&mut header);
        let words: [u64; HEADER_WORD_COUNT] = bytemuck::cast(header);
        for (index, word) in words.iter().enumerate().skip(OVERWRITTEN_WORD + 1) {
            self.0.words[index].store(*word, Ordering::Relaxed);
        }
    }

    pub(crate) fn copy(self, from: usize, to: usize, out: &mut [u8]) {
        let (last, _) = self.state();
        assert!(last as usize <= from && from <= to && to <= block_size());
        assert_eq!(out.len(), to - from);
        for (at, word) in (from..to).step_by(8).zip(out.chunks_mut(8)) {
            word.copy_from_slice(&self.read(at).to_ne_bytes());
        }
    }

    pub(crate) fn write(self, at: usize, value: u64) {
        change(&self.0.cells[(at - BLOCK_HEADER_SIZE) / 8], |_| value);
    }

    pub(crate) fn read(self, at: usize) -> u64 {
        look(&self.0.cells[(at - BLOCK_HEADER_SIZE) / 8])
    }
}

pub(crate) struct OwnBlock {
    block: Block,
    here: PhantomData<*const ()>,
}

impl Deref for OwnBlock {
    type Target = Block;

    fn deref(&self) -> &Block {
        &self.block
    }
}

impl OwnBlock {
    pub(crate) fn begin(&mut self, header: &BlockHeader) {
        let mut header = *header;
        header.last = (block_size() as u32).into();
        header.top = header.last;
        header.count = 0.into();
        header_words::begin(&self.block.0.words, &header);
    }

    pub(crate) fn put_header(&mut self, header: &BlockHeader) {
        header_words::put(&self.block.0.words, header);
    }

    pub(crate) fn put_sync(&mut self, sync: ClockSync) {
        let mut header = self.header();
        header.set_sync(sync);
        self.put_header(&header);
    }

    pub(crate) fn claim(&mut self, size: usize) -> Option<Claim> {
        let state = header_words::own_state(&self.block.0.words);
        let at = (state as u32 as usize).checked_sub(size)?;
        (at >= BLOCK_HEADER_SIZE).then_some(Claim { at, size, block: self.block, state })
    }

    pub(crate) fn take_over(&mut self, other: Block, last: u32, top: u32) -> u32 {
        assert!(other.state().0 <= last && last <= top);
        let new_last = block_size() as u32 - (top - last);
        self.block.0.words[0].store(0, Ordering::Relaxed);
        for at in (0..(top - last) as usize).step_by(8) {
            self.write(new_last as usize + at, other.read(last as usize + at));
        }
        new_last
    }

    /// Reads words and cells as plain memory: loom reports another thread that writes.
    pub(crate) fn with_bytes<T>(&self, give: impl FnOnce(&[u8]) -> T) -> T {
        let header: [u64; HEADER_WORD_COUNT] = self.block.0.words.each_ref().map(|word| {
            // SAFETY: a plain read, which loom watches.
            let unsync = |model: &loom::sync::atomic::AtomicU64| unsafe { model.unsync_load() };
            word.model().map_or_else(|| word.load(Ordering::Relaxed), |model| unsync(&model.value))
        });
        let mut bytes = bytemuck::cast_slice(&header).to_vec();
        let cells = (BLOCK_HEADER_SIZE..block_size()).step_by(8);
        cells.for_each(|at| bytes.extend_from_slice(&self.read(at).to_ne_bytes()));
        give(&bytes)
    }
}

/// Returns the right to record into a block, in a model.
pub(crate) fn own_block(block: Block) -> OwnBlock {
    // SAFETY: loom reports two threads that store to the block.
    unsafe { block.own() }
}

/// Returns the right to record into a ring, for the thread that has it in a model.
pub(crate) fn own(ring: &'static Ring) -> Own {
    // SAFETY: loom reports two threads that record into the ring.
    unsafe { Own::new(ring) }
}

pub(crate) struct BlockLink(AtomicPtr<Place>);

impl BlockLink {
    pub(crate) fn new(block: Block) -> BlockLink {
        BlockLink(AtomicPtr::new(core::ptr::from_ref(block.0).cast_mut()))
    }

    pub(crate) fn get(&self) -> Block {
        // SAFETY: the pointer comes from a reference to a kept value.
        Block(unsafe { &*self.0.load(Ordering::Relaxed) })
    }

    pub(crate) fn set(&self, block: Block) {
        self.0.store(core::ptr::from_ref(block.0).cast_mut(), Ordering::Relaxed);
    }
}

pub(crate) struct BlocksLink(AtomicPtr<Vec<Block>>);

impl BlocksLink {
    pub(crate) fn new(blocks: Blocks) -> BlocksLink {
        // It changes only in a forked child.
        BlocksLink(AtomicPtr::quiet(core::ptr::from_ref(blocks.0).cast_mut()))
    }

    fn blocks(&self) -> Blocks {
        // SAFETY: the pointer comes from a reference to a kept value.
        Blocks(unsafe { &*self.0.load(Ordering::Relaxed) })
    }

    pub(crate) fn count(&self) -> usize {
        self.blocks().count()
    }

    pub(crate) fn get(&self, sequence: u64) -> Block {
        self.blocks().get(sequence)
    }

    pub(crate) fn set(&self, blocks: Blocks) {
        self.0.store(core::ptr::from_ref(blocks.0).cast_mut(), Ordering::Relaxed);
    }
}

pub(crate) struct Claim {
    at: usize,
    size: usize,
    block: Block,
    state: u64,
}

impl Claim {
    pub(crate) fn put_header(&mut self, code: u16, delta: u32) {
        let header = EventHeader { code, size: self.size as u16, delta };
        self.put_u64(0, bytemuck::cast(header));
    }

    pub(crate) fn publish(self) {
        let state = self.state.wrapping_add(block_state_step(self.size as u32));
        header_words::publish(&self.block.0.words, state);
    }
}

impl ParamSink for Claim {
    fn put_u8(&mut self, _: usize, _: u8) {
        unreachable!("events of the models have words");
    }

    fn put_u32(&mut self, _: usize, _: u32) {
        unreachable!("events of the models have words");
    }

    fn put_u64(&mut self, offset: usize, value: u64) {
        self.block.write(self.at + offset, value);
    }

    fn put_bytes(&mut self, _: usize, _: &[u8]) {
        unreachable!("events of the models have words");
    }
}
