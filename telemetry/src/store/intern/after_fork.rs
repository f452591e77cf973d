//! The store of a forked child: what its parent's had, told again.
//!
//! ```text
//!  parent's blocks ─ Intern, Label, the one thread's Thread ─▶ recorded again, in their order
//! ```
//!
//! Design: `.sol.fork` in `design/telemetry.md`.

use super::observe::kept;
use super::{COUNTS, NEWS, SHARED, SHARED_COUNT, SHARED_DONE, STORE, Store, own};
use crate::block::losses::Cause;
use crate::block::memory::{self, Blocks, Claim};
use crate::block::{chain, root};
use crate::os::atomic::{AtomicBool, Ordering};
use crate::os::sync::Entry;
use crate::os::sys;
use crate::plinth::region;
use crate::stream::outlet::Progress;
use crate::stream::volume;
use eventdef::{Event, ParamSink, store};
use eventlog::format::EVENT_HEADER_SIZE;

/// In a forked child: what was counted so far is the parent's.
pub(crate) fn leave_parent() {
    COUNTS.reset();
}

/// The store of a forked child, for whose one thread this is the index. What is in the parent's is
/// told again when something is to go out, or comes to it.
pub(crate) fn restart(thread: u32) {
    let (mut store, is_broken) = STORE.take_over();
    store.inherit(thread, is_broken);
    INHERITED.store(true, Ordering::Relaxed);
    COUNTS.forgive_parent();
    volume::set_with_store(0);
    NEWS.store(true, Ordering::Relaxed);
}

/// What is in a mapped file goes into private memory. For a forked child, before that leaves the
/// file: without waiting for a lock.
pub(crate) fn leave_file_at_fork() {
    // Somebody who is not there may have the lock: what is published is there all the same, and
    // nobody adds to it.
    for (sequence, block) in kept().filter(|(_, block)| region::has(*block)) {
        if let Some(blocks) = Blocks::map(1) {
            // It will be room for more.
            root::add_store(&blocks, &COUNTS);
            let copy = blocks.get(0);
            let size = memory::block_size() as u32;
            let mut own = own::new_block(copy);
            own.take_over(block, block.state().0, size);
            own.put_header(&block.header());
            SHARED[sequence as usize].set(copy);
        }
    }
    if let Some(mut store) = STORE.try_lock() {
        store.take_shared();
        store.mapped_count = 0;
    }
}

/// Whether there is something to be told again.
static INHERITED: AtomicBool = AtomicBool::new(false);

/// Has a forked child's store tell what it inherited, if it did not yet: so it is in memory, too,
/// for whoever looks there.
pub(crate) fn tell_inherited(entry: &Entry) {
    if INHERITED.load(Ordering::Relaxed)
        && !entry.is_nested()
        && let Some(mut store) = STORE.lock(entry)
    {
        store.tell_inherited(entry);
    }
}

/// Has a forked child's store tell what it inherited, for a signal handler: unless that interrupted
/// somebody who is at work on it.
pub(crate) fn tell_inherited_in_signal() {
    let entry = Entry::new();
    if let Some(mut store) = STORE.try_lock() {
        store.tell_inherited(&entry);
    }
}

impl Store {
    /// Has the blocks be those that are known without the lock, in a forked child. Gives how many.
    pub(super) fn take_shared(&mut self) -> usize {
        let count = SHARED_COUNT.load(Ordering::Acquire).min(self.block_count);
        for (place, shared) in self.blocks[..count].iter_mut().zip(&SHARED) {
            *place = shared.find();
        }
        count
    }

    /// A forked child's: empty, and with all that the parent's had to be told again. `is_broken`: a
    /// thread that is not there was at work on it.
    pub(super) fn inherit(&mut self, thread: u32, is_broken: bool) {
        let count = self.take_shared();
        self.inherited.take(&mut self.blocks[..count], thread, is_broken);
        // A block that was just being put there, and perhaps counted, is none.
        self.blocks.iter_mut().skip(count).take(2).for_each(|next| *next = None);
        SHARED_COUNT.store(0, Ordering::Relaxed);
        SHARED_DONE.store(0, Ordering::Relaxed);
        self.block_count = 0;
        self.done = 0;
        self.progress = Progress::NONE;
        self.volume = 0;
        self.told = 0;
        self.mapped_count = 0;
        self.left_out = 0;
    }

    /// Records what was inherited, as of now, and in its order: strings, labels, and the name of
    /// the one thread.
    pub(super) fn tell_inherited(&mut self, entry: &Entry) {
        let Some(copy) = self.inherited.begin() else { return };
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
        self.inherited.finish(copy);
        INHERITED.store(false, Ordering::Relaxed);
    }

    fn tell_again(&mut self, entry: &Entry, code: u16, event: &[u8]) {
        if matches!(code, store::Intern::CODE | store::Label::CODE) {
            let parameters = &event[EVENT_HEADER_SIZE..];
            let copy = |claim: &mut Claim| claim.put_bytes(EVENT_HEADER_SIZE, parameters);
            self.put_anywhere(entry, code, event.len(), &copy);
        }
        if let Some(name) = self.inherited.name_of_thread(code, event) {
            let thread = self.inherited.thread();
            // The one thread of a forked process has the number of the process, where the system
            // numbers threads so.
            let number = sys::process_ids().0 as usize;
            let event = store::Thread::new(thread, number, name);
            self.put_anywhere(entry, code, event.size(), &|claim| event.encode(claim));
        }
    }

    fn put_anywhere(&mut self, entry: &Entry, code: u16, size: usize, encode: &dyn Fn(&mut Claim)) {
        let put = self.put(code, size, encode) || self.begin(entry) && self.put(code, size, encode);
        if !put {
            COUNTS.discard(Cause::Full, 1);
        }
    }
}
