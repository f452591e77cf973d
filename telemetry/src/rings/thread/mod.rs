//! A thread's slots and rings, and the end of a thread.
//!
//! ```text
//!  thread-local ─▶ slots [ – – … │ ring │ – │ ring │ … ]   by registry and kind; empty while an
//!   a pointer                                              event is recorded
//!                  rings [ … the same, never emptied … ]   so that "empty" and "taken" differ
//! ```
//!
//! Thread-local storage comes out of each thread's stack, which may be small. It has no destructor,
//! so using it never allocates. A POSIX key reports the end of the thread. `after_fork.rs`:
//! in a forked child. Design: `.sol.thread`, `.sol.nested`, `.sol.fork` in `design/telemetry.md`.

mod after_fork;

pub(crate) use after_fork::{leave_parent, restart};

use crate::block::clock::{self, Halves, OwnTicks};
use crate::block::losses::Cause;
use crate::offered::Moment;
use crate::os::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::os::entry::{Entry, without_unwinding};
use crate::os::link::{Link, OwnRef};
use crate::os::stack::SpareStack;
use crate::os::sys::{self, ThreadEnd};
use crate::os::{exit, observers, pages};
use crate::plinth::region;
use crate::registry::registration::{self, Registered, SLOT_COUNT, SLOT_FIRST};
use crate::registry::unhoused;
use crate::rings::config;
use crate::rings::ring::{Identity, Own, Ring, Slot};
use crate::store::intern;
use crate::stream::{self, writer};
use bytemuck::Zeroable;
use core::ffi::c_void;
use eventdef::KIND_COUNT_MAX;

struct Local {
    tables: OwnRef<Tables>,
    /// Its index in the stream; 0 until it records.
    index: AtomicU32,
    /// The ticks that it read last for an event; a signal handler's may be later.
    last_read: OwnTicks,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            tables: OwnRef::new(&NO_TABLES),
            index: AtomicU32::new(0),
            last_read: OwnTicks::zero(),
        }
    };
}

/// The rings of a thread, by slot.
#[derive(Zeroable)]
#[repr(C)]
pub(crate) struct Tables {
    /// T1: a ring of the one thread that has these tables; none while it records an event.
    slots: [Slot; SLOT_COUNT + KIND_COUNT_MAX],
    rings: [Link<Ring>; SLOT_COUNT],
    thread: Link<Thread>,
}

/// The tables of no thread: they stay empty.
static NO_TABLES: Tables = Tables {
    slots: [const { Slot::new() }; SLOT_COUNT + KIND_COUNT_MAX],
    rings: [const { Link::none() }; SLOT_COUNT],
    thread: Link::none(),
};

pub(crate) struct Thread {
    tables: &'static Tables,
    /// T2: the operating system's number of the thread that has it; 0: none has. A thread gets it
    /// by changing the number to its own, from 0 or from that of a thread that ended.
    user: AtomicUsize,
    /// A stack for its signal handlers.
    stack: SpareStack,
    next: Link<Thread>,
}

/// The rings of all threads in a slot: free ones are reused, and none is ever unmapped.
struct Rings {
    newest: Link<Ring>,
    free_count: AtomicU32,
}

static RINGS: [Rings; SLOT_COUNT] =
    [const { Rings { newest: Link::none(), free_count: AtomicU32::new(0) } }; SLOT_COUNT];
/// Buffer 0 belongs to the store.
static BUFFER: AtomicU32 = AtomicU32::new(1);

struct Threads {
    newest: Link<Thread>,
    index: AtomicU32,
    /// The process of these thread numbers.
    process: AtomicU64,
    /// The place where the next search for ended threads begins.
    search: Link<Thread>,
}

static THREADS: Threads = Threads {
    newest: Link::none(),
    index: AtomicU32::new(1),
    process: AtomicU64::new(0),
    search: Link::none(),
};
static END: ThreadEnd = ThreadEnd::new();
const SEARCH_COUNT_MAX: usize = 16;

/// Returns a slot of this thread: for a thread that has not recorded, one that stays empty.
#[inline(always)]
pub(crate) fn slot(slot: usize) -> &'static Slot {
    tables().slot(slot, 0)
}

/// Returns the tables of this thread: those of no thread, if it has not recorded.
#[inline(always)]
pub(crate) fn tables() -> &'static Tables {
    LOCAL.with(|local| local.tables.now()).get()
}

impl Tables {
    /// Returns the slot `place` slots after another one. Slots beyond the last one stay empty, so
    /// that a constant `place` takes no instruction.
    #[inline(always)]
    pub(crate) fn slot(&self, first: usize, place: u8) -> &Slot {
        &self.slots[first % SLOT_COUNT + usize::from(place) % KIND_COUNT_MAX]
    }
}

/// Reads the counter, whichever clock is in use, for an event of this thread.
#[inline(always)]
pub(crate) fn read_counter() -> Halves {
    let counter = clock::read_counter();
    LOCAL.with(|local| local.last_read.set(counter));
    counter
}

/// Returns what this thread read last (`.sol.coarse`).
#[inline(always)]
pub(crate) fn last_read() -> Halves {
    LOCAL.with(|local| local.last_read.get())
}

/// Reads the clock, for an event of this thread.
pub(crate) fn read_clock() -> u64 {
    let ticks = clock::ticks();
    LOCAL.with(|local| local.last_read.set(clock::halves(ticks)));
    ticks
}

/// Arranges for calls at the ends of threads. Once in the process.
pub(crate) fn prepare() {
    THREADS.process.store(sys::process_ids().0, Ordering::Relaxed);
    END.arrange(end);
}

/// Returns the number of threads that recorded so far.
pub(crate) fn count() -> u32 {
    THREADS.index.load(Ordering::Relaxed) - 1
}

/// Returns the index of this thread in the stream; 0 if it has none yet.
pub(crate) fn index() -> u32 {
    LOCAL.with(|local| local.index.load(Ordering::Relaxed))
}

/// Takes or makes the ring of this thread for an empty slot. An existing ring means that the event
/// is nested in the recording of another. Returns `None` if the event was counted as discarded.
pub(crate) fn find_or_make(entry: &Entry, slot: usize) -> Option<Own> {
    let thread = match current() {
        Some(thread) => Some(thread),
        // The outer entry may be registering the thread just now.
        None if entry.is_nested() => None,
        None => enrol(entry),
    };
    if let Some(ring) = thread.and_then(|thread| thread.tables.rings[slot].get()) {
        ring.discard(Cause::Nested);
        return None;
    }
    // The thread may have waited.
    if thread.is_some() && END.may_allocate() {
        expect_end(entry);
    }
    let made = thread.filter(|_| !entry.is_nested()).and_then(|thread| {
        let ring = match adopt(entry, slot) {
            Adopted::Ring(ring) => Some(ring),
            Adopted::None => make(entry, slot),
            Adopted::Refused => None,
        }?;
        thread.tables.rings[slot].set(Some(ring.ring()));
        Some(ring)
    });
    if made.is_none() {
        let cause = if entry.is_nested() { Cause::Nested } else { Cause::Full };
        unhoused::discard_unhoused(slot, cause, 1);
    }
    made
}

fn current() -> Option<&'static Thread> {
    tables().thread.get()
}

/// Returns all threads, the newest first.
fn threads() -> impl Iterator<Item = &'static Thread> {
    core::iter::successors(THREADS.newest.get(), |thread| thread.next.get())
}

/// Registers this thread, unless it is registered or that must wait.
pub(crate) fn make_known(entry: &Entry) {
    if !entry.is_nested() && current().is_none() {
        // Memory that is missing now may be available at its first event.
        let _ = enrol(entry);
    }
}

/// Returns whether this thread is registered now.
pub(crate) fn is_known() -> bool {
    current().is_some()
}

/// Gives this thread's signal handlers a stack, if it is registered.
pub(crate) fn equip() {
    current().inspect(|thread| thread.stack.give());
}

/// Returns whether this stack is one that we gave this thread's signal handlers.
pub(crate) fn has_stack(start: *mut c_void) -> bool {
    current().is_some_and(|thread| thread.stack.begins_at(start))
}

/// Requests a call at this thread's end, if that may be done now. A thread without the request may
/// end unnoticed (`.sol.thread`).
pub(crate) fn expect_end(entry: &Entry) {
    if current().is_some() && (!END.may_allocate() || entry.is_ordinary()) {
        END.expect();
    }
}

fn enrol(entry: &Entry) -> Option<&'static Thread> {
    let thread = reuse().or_else(|| succeed(entry)).or_else(make_thread)?;
    let new = LOCAL.with(|local| {
        local.tables.set(thread.tables);
        let new = local.index.load(Ordering::Relaxed) == 0;
        if new {
            local.index.store(THREADS.index.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        }
        new
    });
    expect_end(entry);
    thread.stack.give();
    exit::expect_again(entry);
    if new {
        let mut name = [0; 64];
        let name = sys::thread_name(&mut name);
        intern::record_thread(entry, index(), sys::thread_number(), name);
    }
    Some(thread)
}

fn reuse() -> Option<&'static Thread> {
    threads().find(|found| found.user.load(Ordering::Relaxed) == 0 && found.pass_on(0))
}

/// What a thread has that is gone without a word: it recorded in the last round of destructors of
/// its end, or left by a system call. Looked for where there is none that is free, and so seldom.
fn succeed(entry: &Entry) -> Option<&'static Thread> {
    // In a forked child the numbers are those of the parent's threads.
    if THREADS.process.load(Ordering::Relaxed) != sys::process_ids().0 {
        return None;
    }
    for _ in 0..SEARCH_COUNT_MAX {
        let thread = THREADS.search.get().or_else(|| THREADS.newest.get())?;
        THREADS.search.set(thread.next.get());
        let user = thread.user.load(Ordering::Acquire);
        if user != 0 && !sys::is_thread(user) && thread.pass_on(user) {
            give_up_rings(entry, thread);
            return Some(thread);
        }
    }
    None
}

impl Thread {
    /// Makes it this thread's, if `user` still has it.
    fn pass_on(&self, user: usize) -> bool {
        let me = sys::thread_number();
        self.user.compare_exchange(user, me, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

fn make_thread() -> Option<&'static Thread> {
    let thread = pages::place_with(|tables: &'static mut Tables| Thread {
        tables,
        user: AtomicUsize::new(sys::thread_number()),
        stack: SpareStack::none(),
        next: Link::none(),
    })?;
    thread.tables.thread.set(Some(thread));
    THREADS.newest.push(&thread.next, thread);
    Some(thread)
}

/// What became of the wish for a ring that a thread left.
enum Adopted {
    Ring(Own),
    None,
    /// There is one, but no block of the mapped file for it; another ring would have none either.
    Refused,
}

/// A ring that a thread left, with a new block begun.
fn adopt(entry: &Entry, slot: usize) -> Adopted {
    if RINGS[slot].free_count.load(Ordering::Relaxed) == 0 {
        return Adopted::None;
    }
    let adopted = rings_of(slot).find_map(|ring| ring.adopt(index()));
    let Some(ring) = adopted else { return Adopted::None };
    RINGS[slot].free_count.fetch_sub(1, Ordering::Relaxed);
    if ring.advance(entry, clock::ticks(), index()) {
        return Adopted::Ring(ring);
    }
    free(slot, &ring);
    if region::is_open() { Adopted::Refused } else { Adopted::None }
}

/// Has a ring of a slot count the nested events that no ring could count when they came: so the log
/// has them among what that ring counts. In a mapped file only the owner of a ring may do that.
pub(crate) fn house_nested(slot: usize) {
    if let Some(ring) = rings_of(slot).find(|ring| !ring.is_in_file()) {
        ring.count_nested(unhoused::take_nested(slot));
    }
}

fn free(slot: usize, ring: &Ring) {
    ring.release();
    RINGS[slot].free_count.fetch_add(1, Ordering::Relaxed);
}

fn make(entry: &Entry, slot: usize) -> Option<Own> {
    let (registered, kind) = registration::owner(slot)?;
    let buffer = BUFFER.fetch_add(1, Ordering::Relaxed);
    let identity = Identity { registry: registered.index, kind, buffer };
    let block_count = config::block_count(writer::is_on());
    let ring = Ring::create(registered.control, identity, index(), block_count, clock::ticks())?;
    RINGS[slot].newest.push(ring.ring().next(), ring.ring());
    // Its events may go into the file, which may have no block for it.
    if ring.advance_in_file(entry, clock::ticks(), index()).unwrap_or(true) {
        if !ring.is_in_file() {
            unhoused::expect_house(slot);
            stream::expect_buffer(entry);
        }
        return Some(ring);
    }
    free(slot, &ring);
    None
}

pub(crate) fn rings_of(slot: usize) -> impl Iterator<Item = &'static Ring> {
    core::iter::successors(RINGS.get(slot).and_then(|rings| rings.newest.get()), |ring| {
        ring.next().get()
    })
}

pub(crate) fn rings() -> impl Iterator<Item = &'static Ring> {
    (SLOT_FIRST..SLOT_COUNT).flat_map(rings_of)
}

/// Sends the events in the rings of these slots, as far as they are output.
pub(crate) fn flush_slots(entry: &Entry, slots: impl Iterator<Item = usize>) {
    for slot in slots {
        house_nested(slot);
        rings_of(slot).for_each(|ring| ring.flush(entry));
    }
}

/// Outputs the events that were recorded so far of these kinds of a registry, if they are output.
pub(crate) fn flush_kinds(entry: &Entry, registered: &Registered, kinds: u64) {
    if registered.control.output().load(Ordering::Relaxed) & kinds == 0 {
        return;
    }
    flush_slots(entry, registered.slots_of(kinds));
    intern::flush(entry);
    stream::write_out(entry);
}

pub(crate) fn wait_for_kinds(entry: &Entry, registered: &Registered, kinds: u64) {
    let rings = registered.slots_of(kinds).flat_map(rings_of);
    rings.for_each(|ring| ring.wait(entry));
}

extern "C" fn end(_: *mut c_void) {
    without_unwinding(|| {
        observers::tell(Moment::ThreadEnd);
        leave(&Entry::new());
    });
}

/// Outputs the events of this thread, and frees its rings for others. If the thread records again
/// (in a later destructor, or an exit function), it registers again, with the same index.
pub(crate) fn leave(entry: &Entry) {
    let Some(thread) = current() else { return };
    give_up_rings(entry, thread);
    LOCAL.with(|local| local.tables.set(&NO_TABLES));
    thread.stack.take_away();
    thread.user.store(0, Ordering::Release);
    intern::flush(entry);
    stream::write_out(entry);
}

/// What is in the rings goes out, and they are free, and in no slot.
fn give_up_rings(entry: &Entry, thread: &Thread) {
    thread.tables.slots.iter().for_each(Slot::clear);
    for (slot, link) in thread.tables.rings.iter().enumerate().skip(SLOT_FIRST) {
        let Some(ring) = link.get() else { continue };
        house_nested(slot);
        ring.flush(entry);
        link.set(None);
        ring.release_block(entry);
        free(slot, ring);
    }
}
