//! The store of a forked child: it records the contents of its parent's store again.
//!
//! ```text
//!  parent   │ Intern │ Thread │ Label │ Discarded │ Label │     also in the child's memory
//!  child    │ Intern │ Thread │ Label │ Label │ …             ticks of the fork; its own thread
//! ```
//!
//! The blocks stay unchanged until all of them are recorded again, so that a child forked meanwhile
//! inherits them too. Then they are reused.
//!
//! Design: `.sol.fork` in `design/telemetry.md`; `.store` in `design/format.md`.

use super::{SHARED, STORE, STORE_BLOCK_COUNT_MAX, Store, kept, own};
use crate::block::losses::Cause;
use crate::block::memory::{self, Block, Blocks, Claim};
use crate::block::{chain, clock, root};
use crate::os::atomic::Ordering;
use crate::os::entry::Entry;
use crate::os::pages::Temporary;
use crate::os::sys;
use crate::plinth::region;
use crate::stream::outlet::Progress;
use eventdef::{Event, ParamSink, store};
use eventlog::format::EVENT_HEADER_SIZE;

/// Empties the store of a forked child, whose one thread has this index. The child records the
/// contents of the parent's store again before its next output or record, as of the fork's ticks.
pub(crate) fn restart(thread: u32, ticks: u64) {
    let (mut store, _) = STORE.take_over();
    store.inherit(thread);
    store.inherited.ticks = ticks;
    SHARED.inherits.store(true, Ordering::Relaxed);
    SHARED.counts.forgive_parent();
    SHARED.has_news.store(true, Ordering::Relaxed);
}

/// Resets the counts, and copies blocks in a mapped file into private memory. A forked child calls
/// it before it leaves the file; it waits for no lock.
pub(crate) fn leave_parent() {
    SHARED.counts.reset();
    // A missing thread may hold the lock. Published blocks exist all the same, and no thread adds
    // to them.
    for (sequence, block) in kept().filter(|(_, block)| region::has(*block)) {
        if let Some(blocks) = Blocks::map(1) {
            // The child uses the rest of this block.
            root::add_store(&blocks, &SHARED.counts);
            let copy = blocks.get(0);
            let size = memory::block_size() as u32;
            let mut own = own::new_block(copy);
            own.take_over(block, block.state().0, size);
            own.put_header(&block.header());
            SHARED.blocks[sequence as usize].set(copy);
        }
    }
    if let Some(mut store) = STORE.try_lock() {
        store.take_shared();
        store.mapped_count = 0;
    }
}

/// Has a forked child's store record what it inherited, if it did not yet: readers of its memory
/// need it too.
pub(crate) fn tell_inherited(entry: &Entry) {
    if SHARED.inherits.load(Ordering::Relaxed)
        && !entry.is_nested()
        && let Some(mut store) = STORE.lock(entry)
    {
        store.tell_inherited(entry);
    }
}

/// Has a forked child's store record what it inherited, in a signal handler. Does nothing if the
/// signal interrupted work on the store.
pub(crate) fn tell_inherited_in_signal() {
    let entry = Entry::new();
    if let Some(mut store) = STORE.try_lock() {
        store.tell_inherited(&entry);
    }
}

impl Store {
    /// Makes the published blocks the store's, in a forked child. Returns their number.
    pub(super) fn take_shared(&mut self) -> usize {
        let count = SHARED.count.load(Ordering::Acquire).min(self.block_count);
        for (place, shared) in self.blocks[..count].iter_mut().zip(&SHARED.blocks) {
            *place = shared.find();
        }
        count
    }

    /// Empties the store of a forked child, and notes its parent's blocks.
    pub(super) fn inherit(&mut self, thread: u32) {
        let count = self.take_shared();
        self.inherited.take(&mut self.blocks[..count], thread);
        // The next block may be half added, by a missing thread: it is dropped.
        self.blocks.iter_mut().skip(count).take(2).for_each(|next| *next = None);
        SHARED.count.store(0, Ordering::Relaxed);
        SHARED.done.store(0, Ordering::Relaxed);
        self.block_count = 0;
        self.done = 0;
        self.progress = Progress::NONE;
        self.volume = 0;
        self.told = 0;
        self.mapped_count = 0;
        self.left_out = 0;
    }

    /// Records the inherited strings, labels and sources, and the name of the one thread, as of the
    /// fork and in their order. So the first ticks of the stream are those of the fork.
    pub(super) fn tell_inherited(&mut self, entry: &Entry) {
        if self.inherited.count == 0 {
            return;
        }
        let Some(mut copy) = Temporary::<u8>::map(memory::block_size()) else { return };
        while let Some(block) = self.inherited.next() {
            let last = block.state().0 as usize;
            let events = &mut copy[last..];
            block.copy(last, memory::block_size(), events);
            let mut at = chain::turn_around(events);
            while let Some((code, event, newer)) = at.and_then(|at| chain::turned(events, at)) {
                self.tell_again(entry, code, event);
                at = newer;
            }
        }
        self.inherited.finish();
        SHARED.inherits.store(false, Ordering::Relaxed);
    }

    fn tell_again(&mut self, entry: &Entry, code: u16, event: &[u8]) {
        const TOLD_AGAIN: [u16; 3] = [store::Intern::CODE, store::Label::CODE, store::Source::CODE];
        if TOLD_AGAIN.contains(&code) {
            let parameters = &event[EVENT_HEADER_SIZE..];
            let copy = |claim: &mut Claim| claim.put_bytes(EVENT_HEADER_SIZE, parameters);
            self.put_anywhere(entry, code, event.len(), &copy);
        }
        if let Some(name) = self.inherited.name_of_thread(code, event) {
            let thread = self.inherited.thread;
            // Where the system numbers threads like processes, the one thread of a forked process
            // has the number of the process.
            let number = sys::process_ids().0 as usize;
            let event = store::Thread::new(thread, number, name);
            self.put_anywhere(entry, code, event.size(), &|claim| event.encode(claim));
        }
    }

    fn put_anywhere(&mut self, entry: &Entry, code: u16, size: usize, encode: &dyn Fn(&mut Claim)) {
        let put = self.put(code, size, encode) || self.begin(entry) && self.put(code, size, encode);
        if !put {
            SHARED.counts.discard(Cause::Full, 1);
        }
    }
}

pub(super) struct Inherited {
    blocks: [Option<Block>; STORE_BLOCK_COUNT_MAX],
    /// The number of blocks to record again.
    count: usize,
    /// The number of blocks recorded again so far.
    told: usize,
    /// The number of blocks free for reuse: those with lower indexes. Only once none is left to
    /// record.
    spare_count: usize,
    /// The index of the one thread that the child has.
    thread: u32,
    /// The ticks of the fork.
    ticks: u64,
}

impl Inherited {
    pub(super) const NONE: Inherited = Inherited {
        blocks: [None; STORE_BLOCK_COUNT_MAX],
        count: 0,
        told: 0,
        spare_count: 0,
        thread: 0,
        ticks: 0,
    };

    /// Returns the ticks of an event that is recorded now.
    pub(super) fn now(&self) -> u64 {
        if self.count > 0 { self.ticks } else { clock::ticks() }
    }

    /// Takes the blocks of the parent's store. If the parent had not finished its own inheritance,
    /// takes the blocks of the parent's parent instead, which contain all of it.
    fn take(&mut self, blocks: &mut [Option<Block>], thread: u32) {
        self.thread = thread;
        self.told = 0;
        if self.count == 0 {
            for (place, block) in self.blocks.iter_mut().zip(&mut *blocks) {
                *place = block.take();
            }
            self.count = blocks.len();
            self.spare_count = 0;
        } else {
            blocks.fill(None);
        }
    }

    fn next(&mut self) -> Option<Block> {
        let block = *self.blocks.get(self.told).filter(|_| self.told < self.count)?;
        self.told += 1;
        block
    }

    /// Notes that all blocks are recorded again.
    fn finish(&mut self) {
        self.spare_count = core::mem::take(&mut self.count);
        self.told = 0;
    }

    pub(super) fn take_spare(&mut self) -> Option<Block> {
        self.spare_count = self.spare_count.checked_sub(1)?;
        self.blocks[self.spare_count].take()
    }

    /// Returns the name in an event, if the event names the one thread.
    fn name_of_thread<'a>(&self, code: u16, event: &'a [u8]) -> Option<&'a [u8]> {
        let (thread, rest) = event.get(EVENT_HEADER_SIZE..)?.split_at_checked(WORD)?;
        let is_mine = code == store::Thread::CODE
            && usize::from_ne_bytes(thread.try_into().ok()?) == self.thread as usize;
        // `.event.string`: the last byte is the number of bytes of padding before it.
        let padding = usize::from(*rest.last()?) + 1;
        rest.get(WORD..rest.len().checked_sub(padding)?).filter(|_| is_mine)
    }
}

const WORD: usize = size_of::<usize>();
