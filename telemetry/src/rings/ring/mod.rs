//! A ring: the blocks of one thread and kind.
//!
//! ```text
//!            done                 head
//!   0 … ──────┼── sealed, waiting ──┼── being filled ──  (sequence of blocks)
//!   given up  │ for output, or as   │                    sequence modulo count is the
//!             │ history             │                    place in memory
//! ```
//!
//! The ring's thread fills the block `head` without a lock. Everything else needs the ring's lock,
//! which gives the right to a block (`own.rs`): writing a block, copying published events, giving
//! up a block so that its place is reused. Design: `.sol.buffer`, `.sol.block` in
//! `design/telemetry.md`; `.write`, `.part.events` in `design/format.md`.

use crate::block::clock::{self, Halves, OwnTicks};
use crate::block::memory::{self, Block, Blocks, BlocksLink, OwnBlock};
use crate::block::{identity, losses::Counts, root};
use crate::os::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::os::{entry::Entry, sync::Locked};
use crate::os::{link::Link, pages, sys};
use crate::stream::outlet::{Outlet, Progress, Sent};
use crate::stream::{self, Standing, writer};
use crate::{
    offered::BLOCK_COUNT_MAX, offered::Policy, plinth::region, registry::policy, store::intern,
};
use eventdef::Control;
use eventlog::format::{BlockHeader, BlockType, ClockSource};

mod mapped;
mod observe;
mod own;
mod refused;
pub(crate) mod shares;

pub(crate) use own::{Own, Slot};

/// The longest time that a thread waits for another user of its ring, to overwrite a block, in ns.
const LOCK_WAIT_MAX: u64 = 200_000;
/// The pause between two checks of an awaited block, in ns.
const NAP: u64 = 20_000;

/// The identity of a buffer: the constant fields of its block headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) registry: u16,
    pub(crate) kind: u8,
    pub(crate) buffer: u32,
}

/// The state that only the holder of a ring's lock may use.
struct HandOver {
    progress: &'static mut [Progress; BLOCK_COUNT_MAX],
    /// The sum of the counts that the stream got last.
    told: u64,
}

/// The blocks of one thread and kind.
#[repr(C)]
pub(crate) struct Ring {
    /// R2: the base in force at *last* of `block`, as the counter has it, and as ticks.
    counter_base: OwnTicks,
    base: AtomicU64,
    /// R1: the block `head`: only the thread in `owner` records into it, after it took the ring out
    /// of its slot.
    block: memory::BlockLink,
    /// The clock of the ticks in `base`.
    clock: ClockSource,
    pub(crate) counts: Counts,
    pub(crate) control: &'static Control,
    identity: Identity,
    /// R4: changes only in a forked child, while this is the only thread.
    blocks: BlocksLink,
    /// Events that the parent recorded, in a forked child that is about to start again.
    parents: AtomicU64,
    /// R3: done ≤ head + 1, and head < done + count. Only the owner moves `head`, and only the
    /// lock's holder moves `done`.
    head: AtomicU64,
    done: AtomicU64,
    /// The index of the thread that has it; 0: it is free.
    owner: AtomicU32,
    /// The place of its newest block, if in a mapped file.
    place: shares::Place,
    next: Link<Ring>,
    hand_over: Locked<HandOver>,
    /// The number up to which a signal handler has output its events.
    pub(crate) saved: AtomicU64,
    /// The entry about its blocks for readers of memory.
    extent: Link<root::Extent>,
}

impl Ring {
    /// Creates a ring for a thread, with its first block begun at these ticks.
    pub(crate) fn create(
        control: &'static Control,
        identity: Identity,
        thread: u32,
        block_count: usize,
        ticks: u64,
    ) -> Option<Own> {
        let blocks = Blocks::map_lazily(block_count.clamp(2, BLOCK_COUNT_MAX))?;
        if writer::is_on() {
            blocks.get(0).populate();
        }
        let ring = pages::place_with(|progress: &'static mut [Progress; BLOCK_COUNT_MAX]| Ring {
            counter_base: OwnTicks::zero(),
            base: AtomicU64::new(0),
            block: memory::BlockLink::new(blocks.get(0)),
            clock: clock::source(),
            counts: Counts::new(),
            control,
            identity,
            blocks: BlocksLink::new(blocks),
            parents: AtomicU64::new(0),
            head: AtomicU64::new(0),
            done: AtomicU64::new(0),
            owner: AtomicU32::new(thread),
            place: shares::Place::new(),
            next: Link::none(),
            hand_over: Locked::new(HandOver { progress, told: 0 }),
            saved: AtomicU64::new(0),
            extent: Link::none(),
        })?;
        let own = Own::of_new(ring);
        own.begin(0, 0, ticks, thread);
        let extent = root::add_ring(&blocks, ring.pool_owner(), identity.buffer, &ring.counts);
        ring.extent.set(extent);
        Some(own)
    }

    #[inline(always)]
    pub(crate) fn block(&self) -> Block {
        self.block.get()
    }

    /// Returns the ticks from the base in force to a value of the counter, and whether the counter
    /// is the clock and they fit (`.event.delta`).
    #[inline(always)]
    pub(crate) fn delta(&self, counter: Halves) -> (u32, bool) {
        clock::since(counter, &self.counter_base)
    }

    /// Returns the same if the system's clock is the clock.
    pub(crate) fn delta_by_system(&self) -> Option<u32> {
        let ticks = clock::system_ticks(self.clock)?;
        u32::try_from(ticks.wrapping_sub(self.base())).ok()
    }

    pub(crate) fn base(&self) -> u64 {
        self.base.load(Ordering::Relaxed)
    }

    pub(crate) fn set_base(&self, base: u64) {
        self.base.store(base, Ordering::Relaxed);
        self.counter_base.set(clock::counter_base(base));
    }

    pub(crate) fn next(&self) -> &Link<Ring> {
        &self.next
    }

    pub(crate) fn release(&self) {
        self.owner.store(0, Ordering::Release);
    }

    /// Returns the number of events recorded so far, for the owner.
    fn recorded(&self) -> u64 {
        self.block().event_end()
    }

    pub(crate) fn is_output(&self) -> bool {
        let mask = self.control.output().load(Ordering::Relaxed);
        mask & 1 << self.identity.kind != 0 && stream::standing() != Standing::Left
    }

    /// Returns whether the place of the block after `head` was given up.
    fn is_next_free(&self, head: u64) -> bool {
        head + 1 < self.done.load(Ordering::Acquire) + self.blocks.count() as u64
    }

    /// Sends the blocks up to `head`, or with a writer thread as many as make room. If the kind is
    /// not output, gives up the oldest if necessary.
    fn make_way(&'static self, entry: &Entry, head: u64) {
        // Once a block is free, the thread does not wait for another one that flushes or writes.
        let hand_over = self.hand_over.lock_while(entry, || !self.is_next_free(head));
        let Some(mut hand_over) = hand_over else { return };
        if region::is_open() && self.is_output() {
            // The file was mapped after `advance_in_file` checked: the next block is in the file.
            self.copy_all_to_file(entry, &mut hand_over);
        } else if self.is_output() {
            let enough = || writer::is_on() && self.is_next_free(head);
            while !enough() && self.done.load(Ordering::Relaxed) <= head {
                if !self.send_oldest(entry, &mut hand_over) {
                    return;
                }
            }
        } else if !self.is_next_free(head) {
            self.give_up_oldest(&mut hand_over);
        }
    }

    /// Makes room by a policy other than [`Policy::Write`].
    fn make_way_by_policy(&self, entry: &Entry, head: u64, policy: Policy) {
        let limit = match policy {
            Policy::Wait(limit) if !entry.is_nested() => limit.as_nanos() as u64,
            Policy::Overwrite => LOCK_WAIT_MAX,
            _ => 0,
        };
        let begin = clock::monotonic();
        while !self.is_next_free(head) {
            if policy == Policy::Overwrite
                && let Some(mut hand_over) = self.hand_over.try_lock()
            {
                if !self.is_next_free(head) {
                    self.give_up_oldest(&mut hand_over);
                }
                return;
            }
            if entry.is_nested() || clock::monotonic().saturating_sub(begin) >= limit {
                return;
            }
            sys::nap(NAP);
        }
    }

    fn give_up_oldest(&self, hand_over: &mut HandOver) {
        let oldest = self.done.load(Ordering::Relaxed);
        let missing = hand_over.progress(self, oldest).missing_of(self.blocks.get(oldest));
        self.counts.overwrite(u64::from(missing));
        self.forgive(hand_over.progress(self, oldest));
        self.done.store(oldest + 1, Ordering::Release);
    }

    /// Sends the oldest held block; returns false if it must wait.
    fn send_oldest(&self, entry: &Entry, hand_over: &mut HandOver) -> bool {
        let oldest = self.done.load(Ordering::Relaxed);
        let mut progress = *hand_over.progress(self, oldest);
        let outlet = self.outlet(entry);
        let told = self.counts.sum();
        if progress.missing_of(self.blocks.get(oldest)) != 0 {
            // Before the store's news, which go to an existing stream.
            let _ = stream::ensure(entry);
        }
        intern::bring_news(entry);
        if !outlet.send(hand_over.oldest(self), &mut progress) {
            return false;
        }
        hand_over.told = told;
        self.forgive(&mut progress);
        *hand_over.progress(self, oldest) = progress;
        self.done.store(oldest + 1, Ordering::Release);
        true
    }

    /// Returns the outlet for its blocks. A block that the host refuses makes room all the same.
    fn outlet<'a>(&'a self, entry: &'a Entry) -> Outlet<'a> {
        Outlet { entry, counts: &self.counts, news: Some(intern::ALL_NEWS) }
    }

    /// Sends the waiting blocks, for the writer thread; returns false if none waited.
    pub(crate) fn send_waiting(&self, entry: &Entry) -> bool {
        let waits = || self.done.load(Ordering::Acquire) < self.head.load(Ordering::Acquire);
        let mut sent = false;
        while !region::is_open() && waits() && self.is_output() {
            let Some(mut hand_over) = self.hand_over.lock(entry) else { break };
            // Checked again, and last: the block may be from the time when the kind was output.
            if !(waits() && self.is_output() && self.send_oldest(entry, &mut hand_over)) {
                break;
            }
            sent = true;
        }
        sent
    }

    /// Sends all published events, if the kind is output: waiting blocks, then what is new in the
    /// last one.
    pub(crate) fn flush(&'static self, entry: &Entry) {
        if !self.is_output() {
            return;
        }
        if self.flush_to_file(entry) {
            return;
        }
        let Some(mut hand_over) = self.hand_over.lock(entry) else { return };
        let head = self.head.load(Ordering::Acquire);
        if !self.is_output() {
            return;
        }
        // A stream begins with its first output: a forked child without any makes no file.
        let is_idle = self.done.load(Ordering::Relaxed) >= head
            && self.counts.sum() == hand_over.told
            && hand_over.progress(self, head).missing_of(self.blocks.get(head)) == 0;
        let standing = if is_idle { None } else { stream::ensure(entry) };
        if standing == Some(Standing::Failed) {
            self.note_refused(&mut hand_over);
        }
        if standing != Some(Standing::Open) {
            return;
        }
        // The stream that just began may be a mapped file.
        if region::is_open() {
            drop(hand_over);
            self.flush_to_file(entry);
            return;
        }
        while self.done.load(Ordering::Relaxed) < head {
            if !self.send_oldest(entry, &mut hand_over) {
                return;
            }
        }
        // With done = head + 1 the block was output, and its owner is about to begin the next.
        if self.done.load(Ordering::Relaxed) != head {
            return;
        }
        let block = self.blocks.get(head);
        let mut progress = *hand_over.progress(self, head);
        let told = self.counts.sum();
        if progress.missing_of(block) == 0 && told == hand_over.told {
            return;
        }
        let outlet = self.outlet(entry);
        match outlet.send_part(block, &mut progress) {
            Sent::Yes => {
                self.forgive(&mut progress);
                *hand_over.progress(self, head) = progress;
                hand_over.told = told;
            }
            Sent::Refused => self.note_refused(&mut hand_over),
            Sent::Later => {}
        }
    }

    /// Waits for a thread that is writing its blocks.
    pub(crate) fn wait(&self, entry: &Entry) {
        drop(self.hand_over.lock(entry));
    }
}

impl Own {
    /// Begins a block (`.write.begin`, `.block.first`, `.block.base`), for the owner. Its base is
    /// `ticks`, those of the next event.
    fn begin(&self, sequence: u64, first: u64, ticks: u64, thread: u32) {
        self.begin_at(self.next_block(sequence), sequence, first, ticks, thread);
    }

    /// Begins a given block: its own, or one of a mapped file.
    fn begin_at(&self, mut block: OwnBlock, sequence: u64, first: u64, ticks: u64, thread: u32) {
        let mut header = BlockHeader::native(BlockType::Events, memory::block_size_log2());
        header.registry = self.identity.registry.into();
        header.kind = self.identity.kind;
        header.stream = identity::id();
        header.buffer = self.identity.buffer.into();
        header.sequence = sequence.into();
        header.first = first.into();
        header.base = ticks.into();
        header.base_last = ticks.into();
        header.thread = thread.into();
        self.counts.put(&mut header);
        block.begin(&header);
        self.set_base(ticks);
        self.block.set(*block);
        self.head.store(sequence, Ordering::Release);
    }

    /// Ends the block that is being filled and begins the next one, for the owner. Returns false if
    /// no block is available.
    pub(crate) fn advance(&self, entry: &Entry, ticks: u64, thread: u32) -> bool {
        if let Some(advanced) = self.advance_in_file(entry, ticks, thread) {
            return advanced;
        }
        let head = self.head.load(Ordering::Relaxed);
        let block = Ring::block(self);
        let policy = policy::of(self.identity.registry, self.identity.kind);
        // The writer thread reads the clocks for its blocks (`.block.sync`).
        let has_writer = writer::is_on() && self.is_output();
        if !has_writer {
            self.block().put_sync(root::sync());
        }
        match policy {
            Policy::Write if writer::is_on() && self.is_next_free(head) => {}
            policy if policy != Policy::Write && self.is_output() => {
                self.make_way_by_policy(entry, head, policy);
            }
            _ => self.ring().make_way(entry, head),
        }
        if !self.is_next_free(head) {
            return false;
        }
        self.begin(head + 1, block.event_end(), ticks, thread);
        if has_writer {
            writer::wake();
        }
        self.blocks.get(head + 2).prefetch();
        true
    }
}

impl HandOver {
    fn progress(&mut self, ring: &Ring, sequence: u64) -> &mut Progress {
        &mut self.progress[(sequence % ring.blocks.count() as u64) as usize]
    }
}
