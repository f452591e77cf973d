//! A ring whose kind is output into a mapped file: its newest block is a block of the file.
//!
//! ```text
//!  private blocks ── output is switched on: what they hold is copied ──▶ blocks of the file
//!        ▲                                                                │ full: the next one
//!        └────────────── output is switched off, fork ────────────────────┘ sealed where it lies
//! ```
//!
//! The order of what is done to the file is such that the process may be killed between any two
//! instructions: `.ring.death` in `design/format.md`. Design: `.sol.mapped` in
//! `design/telemetry.md`.

use super::shares::{self, GONE, PRIVATE, State};
use super::{HandOver, Own, Ring, own};
use crate::block::losses::Cause;
use crate::block::memory::{Block, OwnBlock};
use crate::block::{clock, root};
use crate::os::atomic::Ordering;
use crate::os::{entry::Entry, sync::Guard};
use crate::plinth::{self, region};
use crate::store::intern;
use crate::stream::{self, Standing, outlet};
use eventlog::format::{BLOCK_MAGIC, BlockHeader};

/// Buffers that leave the file while one block is taken, at most: more are not told of.
const TELL_COUNT_MAX: usize = 8;

impl Ring {
    /// Whose blocks it takes.
    pub(crate) fn pool_owner(&self) -> (u16, u8) {
        (self.identity.registry, self.identity.kind)
    }

    /// Whether its newest block is one of the file (or was).
    pub(crate) fn is_in_file(&self) -> bool {
        self.place.get() != PRIVATE
    }

    fn file_place(&self) -> Option<u32> {
        Some(self.place.get()).filter(|place| *place != PRIVATE && *place != GONE)
    }

    /// Events recorded so far, if its newest block is one of the file (or was): looked at again
    /// where the block was given up meanwhile.
    pub(super) fn recorded_in_file(&self) -> Option<u64> {
        loop {
            let place = self.place.get();
            if place == PRIVATE {
                return None;
            }
            let recorded = self.recorded_with_lock();
            if self.place.get() == place {
                return Some(recorded);
            }
        }
    }

    /// Its counts, if its newest block is one of the file.
    pub(crate) fn account_in_file(&self, entry: &Entry) -> Option<BlockHeader> {
        // With the lock held, the block is not given to another ring meanwhile.
        let _state = shares::lock(entry)?;
        self.file_place().and_then(|_| self.any_account())
    }

    /// What [`Ring::flush`] does where there is a file: of what is private a copy goes there.
    /// False: there is none.
    pub(super) fn flush_to_file(&'static self, entry: &Entry) -> bool {
        if !region::is_open() {
            return false;
        }
        if let Some(mut hand_over) = self.hand_over.lock(entry)
            && !self.is_in_file()
        {
            self.copy_all_to_file(entry, &mut hand_over);
        }
        true
    }

    /// Copies what of its private blocks is not in the file, after what events need. False: that
    /// must wait.
    pub(super) fn copy_all_to_file(&'static self, entry: &Entry, hand_over: &mut HandOver) -> bool {
        self.precede(entry) && self.copy_to_file(entry, hand_over)
    }

    /// Sees to it that labels and the registry are in the file before events are.
    fn precede(&self, entry: &Entry) -> bool {
        intern::bring_news(entry);
        stream::has_registry(entry, self.identity.registry)
    }

    /// Takes the lock of the shares, to take a block. Where that is the last one in the file of a
    /// buffer, the file is told before what that counted (`.ring.gone`).
    fn lock_to_take(&'static self, entry: &Entry) -> Option<Guard<'static, State>> {
        for _ in 0..TELL_COUNT_MAX {
            let mut state = shares::lock(entry)?;
            let victim = state.victim(self).filter(|(ring, place)| {
                !core::ptr::eq(*ring, self) && ring.file_place() == Some(*place)
            });
            let Some((ring, place)) = victim.filter(|_| region::has_room_to_tell()) else {
                return Some(state);
            };
            let mut header = state.block(place).header();
            let recorded = ring.recorded_in(state.block(place));
            // Cut off, it says nothing.
            let is_cut = header.magic != BLOCK_MAGIC;
            if is_cut || ring.place.told.load(Ordering::Relaxed) == recorded {
                return Some(state);
            }
            drop(state);
            ring.counts.put(&mut header);
            let in_block = header.count.get();
            header.overwritten = (header.overwritten.get() + u64::from(in_block)).into();
            header.first = recorded.into();
            header.count = 0.into();
            header.last = header.top;
            header.base = header.base_last;
            header.set_sync(root::sync());
            let Some(mut parts) = stream::parts(entry) else { break };
            if !(parts.push_events(header, |_, _| {}) && parts.deliver()) {
                break;
            }
            drop(parts);
            ring.place.told.store(recorded, Ordering::Relaxed);
        }
        shares::lock(entry)
    }

    /// Copies what of its private blocks is not in the file: each into a block there
    /// (`.ring.history`). False: that must wait.
    fn copy_to_file(&'static self, entry: &Entry, hand_over: &mut HandOver) -> bool {
        let head = self.head.load(Ordering::Acquire);
        while self.done.load(Ordering::Relaxed) < head {
            let oldest = self.done.load(Ordering::Relaxed);
            if !self.copy_block(entry, hand_over, oldest) {
                return false;
            }
            self.done.store(oldest + 1, Ordering::Release);
        }
        self.done.load(Ordering::Relaxed) != head || self.copy_block(entry, hand_over, head)
    }

    /// Copies what of one block is not in the file.
    fn copy_block(&'static self, entry: &Entry, hand_over: &mut HandOver, sequence: u64) -> bool {
        let block = self.blocks.get(sequence);
        let mut progress = *hand_over.progress(self, sequence);
        if progress.missing_of(block) == 0 {
            return true;
        }
        let Some(mut state) = self.lock_to_take(entry) else { return false };
        let Some(mut taken) = state.take(self, None) else { return false };
        let mut to = own::taken_block(&mut taken);
        outlet::copy_new(block, &mut to, &self.counts, &mut progress);
        state.close(taken.place);
        *hand_over.progress(self, sequence) = progress;
        true
    }

    /// The ring is free: the block that it fills may be given up.
    pub(crate) fn release_block(&self, entry: &Entry) {
        let Some(mut state) = shares::lock(entry) else { return };
        // With the lock held, for another thread may say in it what was overwritten.
        if let Some(place) = self.file_place().filter(|place| state.is_filled(*place)) {
            self.seal(own::filled_block(state.block(place)));
            state.close(place);
        }
    }

    /// Counts an event that its own thread discards; the file is told at once.
    pub(crate) fn discard(&self, cause: Cause) {
        self.counts.discard(cause, 1);
        if self.file_place().is_some() {
            self.block().put_discarded(&self.counts);
        }
    }

    /// Counts the events of one of its blocks in the file that is about to start again, unless it
    /// is kept (`.ring.kept`). Its newest block gets the count before that (`.ring.overwritten`).
    pub(crate) fn give_up_block(&self, state: &State, place: u32) {
        let block = state.block(place);
        let recorded = self.recorded_in(block);
        if !stream::is_file_lost() && !keep(&own::filled_block(block)) {
            self.counts.overwrite(u64::from(block.state().1));
        }
        match self.file_place() {
            Some(newest) if newest == place => {
                self.place.recorded.store(recorded, Ordering::Relaxed);
                self.place.set(GONE);
            }
            Some(newest) => state.block(newest).put_overwritten(self.counts.overwritten()),
            // Copies of private blocks: the count goes with the first block in the file.
            None => {}
        }
    }

    /// Events recorded so far, where that is its newest block in the file (M2).
    fn recorded_in(&self, block: Block) -> u64 {
        let count = block.state().1;
        let first = self.place.first.load(Ordering::Acquire);
        block.event_end().max(first + u64::from(count))
    }

    /// Events recorded so far, with the lock of the shares held, or where no other thread is.
    fn recorded_with_lock(&self) -> u64 {
        match self.place.get() {
            GONE => self.place.recorded.load(Ordering::Relaxed),
            PRIVATE => Ring::block(self).event_end(),
            _ => self.recorded_in(Ring::block(self)),
        }
    }

    /// Seals a block where it lies (`.write.seal`).
    fn seal(&self, mut block: OwnBlock) {
        let mut header = block.header();
        header.set_sync(root::sync());
        outlet::seal(&mut block, &mut header, &self.counts);
    }
}

/// Returns whether a block, which gets no more events, is kept behind the ring (`.ring.kept`).
fn keep(block: &OwnBlock) -> bool {
    plinth::keep(block).unwrap_or_else(|error| {
        stream::tell(&error);
        false
    })
}

impl Ring {
    /// Goes on in private blocks in a forked child, which has one thread: without locks, as their
    /// holders may be gone.
    pub(crate) fn leave_file_at_fork(&'static self) {
        if self.is_in_file() {
            let owner = self.owner.load(Ordering::Relaxed);
            self.own_after_fork().begin_privately(self.recorded_with_lock(), clock::ticks(), owner);
        }
    }
}

impl Own {
    /// What [`Own::advance`] does where the file comes into it: `None` where it does not.
    pub(crate) fn advance_in_file(&self, entry: &Entry, ticks: u64, thread: u32) -> Option<bool> {
        if region::is_expected() && stream::standing() == Standing::None && self.is_output() {
            let _ = stream::ensure(entry);
        }
        let goes_there = region::is_open() && self.is_output();
        match (self.is_in_file(), goes_there) {
            (false, false) => None,
            (false, true) => Some(self.enter_file(entry, ticks, thread)),
            (true, true) => Some(self.go_on_in_file(entry, ticks, thread)),
            (true, false) => Some(self.leave_file(entry, ticks, thread)),
        }
    }

    /// Ends its block in the file and begins the next one there, first (`.ring.newest`).
    fn go_on_in_file(&self, entry: &Entry, ticks: u64, thread: u32) -> bool {
        if !self.precede(entry) {
            return false;
        }
        let Some(mut state) = self.ring().lock_to_take(entry) else { return false };
        let old = self.file_place();
        let is_filled = old.is_some_and(|place| state.is_filled(place));
        let first = self.recorded_with_lock();
        let Some(mut taken) = state.take(self.ring(), old.filter(|_| is_filled)) else {
            return false;
        };
        let head = self.head.load(Ordering::Relaxed);
        self.begin_at(own::taken_block(&mut taken), head + 1, first, ticks, thread);
        self.place.set_with(taken.place, first);
        let Some(old) = old.filter(|old| is_filled && *old != taken.place) else { return true };
        if entry.is_nested() {
            // The lock, now had, may be had by another thread later.
            state.close(old);
            return true;
        }
        let block = state.block(old);
        drop(state);
        let is_lost = stream::is_file_lost();
        if is_lost {
            // No reader finds it. When the block starts again, it is not counted as overwritten
            // too.
            self.counts.discard(Cause::Io, block.state().1.into());
        }
        self.seal(own::filled_block(block));
        // Without the lock: other threads go on meanwhile.
        let is_kept = !is_lost && keep(&own::filled_block(block));
        if let Some(mut state) = shares::lock(entry) {
            if is_kept {
                state.forget_ring(old);
            }
            state.close(old);
        }
        true
    }

    /// Copies what its private blocks hold into the file, and begins its next block there.
    fn enter_file(&self, entry: &Entry, ticks: u64, thread: u32) -> bool {
        let Some(mut hand_over) = self.hand_over.lock(entry) else { return false };
        if !self.ring().copy_all_to_file(entry, &mut hand_over) {
            return false;
        }
        let Some(mut state) = self.ring().lock_to_take(entry) else { return false };
        let first = Ring::block(self).event_end();
        let Some(mut taken) = state.take(self.ring(), None) else { return false };
        // A block that nothing was recorded into was never there.
        let is_used = self.block().state().1 != 0;
        let sequence = self.head.load(Ordering::Relaxed) + u64::from(is_used);
        self.begin_at(own::taken_block(&mut taken), sequence, first, ticks, thread);
        self.done.store(sequence, Ordering::Release);
        self.place.set_with(taken.place, first);
        true
    }

    /// Ends its block in the file, and goes on in private ones.
    fn leave_file(&self, entry: &Entry, ticks: u64, thread: u32) -> bool {
        let Some(_hand_over) = self.hand_over.lock(entry) else { return false };
        let state = shares::lock(entry);
        if state.is_none() && region::is_open() {
            return false;
        }
        let old = self.file_place();
        self.begin_privately(self.recorded_with_lock(), ticks, thread);
        if let (Some(mut state), Some(old)) = (state, old)
            && state.is_filled(old)
        {
            self.seal(own::filled_block(state.block(old)));
            state.close(old);
        }
        true
    }

    fn begin_privately(&self, first: u64, ticks: u64, thread: u32) {
        let head = self.head.load(Ordering::Relaxed) + 1;
        self.done.store(head, Ordering::Release);
        self.begin(head, first, ticks, thread);
        self.place.set(PRIVATE);
    }
}
