//! What a thread has: its slots, its rings, and what happens when it ends.
//!
//! ```text
//!  thread-local  slots   [ – – … │ ring │ – │ ring │ … ]   by registry and kind; empty while an
//!                                                          event is recorded
//!  in memory     rings   [ … the same, never emptied … ]   so that "empty" and "taken" differ
//! ```
//!
//! Thread-local storage is zero at first and has no destructor, so that using it never allocates;
//! the end of the thread is learned from a POSIX key. Design: `.sol.thread`, `.sol.nested` in
//! `design/telemetry.md`.

use crate::link::{Link, OwnLink};
use crate::losses::{self, Cause};
use crate::ring::{Identity, Ring};
use crate::sync::Entry;
use crate::sys::{self, ThreadEnd};
use crate::{clock, config, flush, intern, memory, registration, writer};
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};

/// Slots for rings in each thread: one for each registry and kind. A power of two.
pub const SLOT_COUNT: usize = 512;
/// Slots that stay empty for ever: those of a registry that is not registered, whose slot is 0.
pub(crate) const SLOT_FIRST: usize = eventdef::KIND_COUNT_MAX;
const _: () = assert!(SLOT_COUNT.is_power_of_two() && SLOT_FIRST < SLOT_COUNT);

/// What is thread-local.
struct Local {
    /// T1: a ring of this thread, or none; none while an event is being recorded into the ring.
    slots: [OwnLink<Ring>; SLOT_COUNT],
    thread: OwnLink<Thread>,
    /// Its index in the stream; 0 until it records.
    index: AtomicU32,
    /// Entries that it is in.
    depth: AtomicU32,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            slots: [const { OwnLink::none() }; SLOT_COUNT],
            thread: OwnLink::none(),
            index: AtomicU32::new(0),
            depth: AtomicU32::new(0),
        }
    };
}

/// A thread that records.
pub(crate) struct Thread {
    /// Its rings, by slot.
    rings: &'static [Link<Ring>; SLOT_COUNT],
    /// Whether a thread has it.
    used: AtomicBool,
    next: Link<Thread>,
}

/// All rings, by slot: free ones are used again, and none is ever given back.
static RINGS: [Link<Ring>; SLOT_COUNT] = [const { Link::none() }; SLOT_COUNT];
/// How many of them are free.
static FREE: [AtomicU32; SLOT_COUNT] = [const { AtomicU32::new(0) }; SLOT_COUNT];
static THREADS: Link<Thread> = Link::none();
static THREAD_INDEX: AtomicU32 = AtomicU32::new(1);
/// Buffer 0 is the store's.
static BUFFER: AtomicU32 = AtomicU32::new(1);
static END: ThreadEnd = ThreadEnd::new();

/// Counts an entry of this thread; true if it was in one already.
pub(crate) fn deepen() -> bool {
    LOCAL.with(|local| {
        let depth = local.depth.load(Ordering::Relaxed);
        local.depth.store(depth + 1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        depth != 0
    })
}

/// The opposite.
pub(crate) fn rise() {
    LOCAL.with(|local| {
        compiler_fence(Ordering::SeqCst);
        let depth = local.depth.load(Ordering::Relaxed);
        local.depth.store(depth - 1, Ordering::Relaxed);
    });
}

/// Takes the ring out of a slot of this thread. A signal handler that comes from now on finds it
/// empty.
#[inline(always)]
pub(crate) fn take(slot: usize) -> Option<&'static Ring> {
    LOCAL.with(|local| {
        let place = &local.slots[slot % SLOT_COUNT];
        let ring = place.get()?;
        place.set(None);
        // What a handler changed in the ring until just now is read after this.
        compiler_fence(Ordering::SeqCst);
        Some(ring)
    })
}

/// Puts the ring back.
#[inline(always)]
pub(crate) fn put(slot: usize, ring: &'static Ring) {
    LOCAL.with(|local| {
        compiler_fence(Ordering::SeqCst);
        local.slots[slot % SLOT_COUNT].set(Some(ring));
    });
}

/// Arranges to be told of the ends of threads. Once in the process.
pub(crate) fn prepare() {
    END.arrange(end);
}

/// The index of this thread in the stream; 0 if it has none yet.
pub(crate) fn index() -> u32 {
    LOCAL.with(|local| local.index.load(Ordering::Relaxed))
}

/// The ring of this thread for a slot that is empty, taken: an existing one means that the event is
/// nested in the recording of another. `None`: the event was counted as discarded.
pub(crate) fn find_or_make(entry: &Entry, slot: usize) -> Option<&'static Ring> {
    let thread = match LOCAL.with(|local| local.thread.get()) {
        Some(thread) => thread,
        // The entry that this one is nested in may be making the thread known just now.
        None if entry.is_nested() => {
            losses::discard_unhoused(slot, Cause::Nested, 1);
            return None;
        }
        None => match enrol(entry) {
            Some(thread) => thread,
            None => {
                losses::discard_unhoused(slot, Cause::Full, 1);
                return None;
            }
        },
    };
    if let Some(ring) = thread.rings[slot].get() {
        ring.counts.discard(Cause::Nested, 1);
        return None;
    }
    if entry.is_nested() {
        losses::discard_unhoused(slot, Cause::Nested, 1);
        return None;
    }
    let ring = adopt(entry, slot).or_else(|| make(slot));
    match ring {
        Some(ring) => thread.rings[slot].set(Some(ring)),
        None => losses::discard_unhoused(slot, Cause::Full, 1),
    }
    ring
}

/// Makes this thread known, unless it is or that must wait.
pub(crate) fn make_known(entry: &Entry) {
    if !entry.is_nested() && LOCAL.with(|local| local.thread.get().is_none()) {
        // Where there is no memory now there may be some at its first event.
        let _ = enrol(entry);
    }
}

/// Makes this thread known.
fn enrol(entry: &Entry) -> Option<&'static Thread> {
    let thread = reuse().or_else(make_thread)?;
    let new = LOCAL.with(|local| {
        local.thread.set(Some(thread));
        let new = local.index.load(Ordering::Relaxed) == 0;
        if new {
            local.index.store(THREAD_INDEX.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        }
        new
    });
    END.expect();
    flush::expect_exit_again();
    if new {
        let mut name = [0; 64];
        let name = sys::thread_name(&mut name);
        intern::record_thread(entry, index(), sys::thread_number(), name);
    }
    Some(thread)
}

fn reuse() -> Option<&'static Thread> {
    let mut thread = THREADS.get();
    while let Some(found) = thread {
        if !found.used.load(Ordering::Relaxed) && !found.used.swap(true, Ordering::Acquire) {
            return Some(found);
        }
        thread = found.next.get();
    }
    None
}

fn make_thread() -> Option<&'static Thread> {
    let thread = memory::place_with(|rings: &'static mut [Link<Ring>; SLOT_COUNT]| Thread {
        rings,
        used: AtomicBool::new(true),
        next: Link::none(),
    })?;
    push(&THREADS, &thread.next, thread);
    Some(thread)
}

/// Puts a new one before the first of a list that only grows.
fn push<T: Sync>(first: &Link<T>, next: &Link<T>, new: &'static T) {
    loop {
        let old = first.get();
        next.set(old);
        if first.replace(old, Some(new)) {
            return;
        }
    }
}

/// A ring that a thread left, with a new block begun.
fn adopt(entry: &Entry, slot: usize) -> Option<&'static Ring> {
    if FREE[slot].load(Ordering::Relaxed) == 0 {
        return None;
    }
    let ring = each_ring(slot, |ring| ring.adopt(index()))?;
    FREE[slot].fetch_sub(1, Ordering::Relaxed);
    if ring.advance(entry, clock::ticks(), index()) {
        return Some(ring);
    }
    free(slot, ring);
    None
}

fn free(slot: usize, ring: &Ring) {
    ring.release();
    FREE[slot].fetch_add(1, Ordering::Relaxed);
}

fn make(slot: usize) -> Option<&'static Ring> {
    let (registered, kind) = registration::owner(slot)?;
    let buffer = BUFFER.fetch_add(1, Ordering::Relaxed);
    let identity = Identity { registry: registered.index, kind, buffer };
    let block_count = config::block_count(writer::is_on());
    let ring = Ring::create(registered.control, identity, index(), block_count, clock::ticks())?;
    push(&RINGS[slot], ring.next(), ring);
    Some(ring)
}

/// The first ring of a slot, of whatever thread, for which `wanted` says true.
pub(crate) fn each_ring(
    slot: usize,
    mut wanted: impl FnMut(&'static Ring) -> bool,
) -> Option<&'static Ring> {
    let mut ring = RINGS.get(slot)?.get();
    while let Some(found) = ring {
        if wanted(found) {
            return Some(found);
        }
        ring = found.next().get();
    }
    None
}

/// The end of this thread.
extern "C" fn end(_: *mut c_void) {
    leave(&Entry::new());
}

/// What this thread recorded goes out, and its rings are free for others. If it records again (in a
/// later destructor, or a function called at exit), it is made known anew, with the same index.
pub(crate) fn leave(entry: &Entry) {
    let Some(thread) = LOCAL.with(|local| local.thread.get()) else { return };
    for (slot, link) in thread.rings.iter().enumerate().skip(SLOT_FIRST) {
        let Some(ring) = link.get() else { continue };
        LOCAL.with(|local| local.slots[slot].set(None));
        ring.flush(entry);
        link.set(None);
        free(slot, ring);
    }
    LOCAL.with(|local| local.thread.set(None));
    thread.used.store(false, Ordering::Release);
    intern::flush(entry);
    flush::write_parts(entry);
}
