//! The tree of frames, as three tables: addresses; frames in the order in which they were found;
//! and callees of frames that call many others.
//!
//! ```text
//!  address ─ hash ─▶ ADDRESSES[at]: it, its rule
//!  FRAMES[parent] ─ first ─▶ FRAMES[frame]: at ─ next ─▶ FRAMES[frame]: at ─ next ─▶ …
//!  (parent, at) ─ hash ─▶ MORE: frame                          the callees beyond the first few
//! ```
//!
//! Frames that are found one after another are often needed together, and so lie in few lines of
//! the cache. One atomic operation takes a place, or puts a frame first: no thread locks or waits.
//! All tables are mapped at their first use, and zero at first, so that only used pages take
//! memory. Design: `.rep.stack` in `design/replay.md`.
#![expect(unsafe_code, reason = "tables of zeros")]

use crate::events::Frame;
use crate::mapped::{Mapped, Table};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use telemetry::__private::before;

const ADDRESS_COUNT_LOG2: u32 = 18;
/// Places of addresses.
pub(crate) const ADDRESS_COUNT: usize = 1 << ADDRESS_COUNT_LOG2;
const FRAME_COUNT_LOG2: u32 = 21;
const FRAME_COUNT_MAX: usize = 1 << FRAME_COUNT_LOG2;
/// Words lie among these first places, on few pages, as long as room is left.
const NEAR_ADDRESS_COUNT_LOG2: u32 = 12;
const NEAR_MORE_COUNT_LOG2: u32 = 15;
/// The maximum number of callees that are searched one by one; the others are in a table.
const NEXT_COUNT_MAX: usize = 8;
/// The maximum number of places that are searched for a word near the beginning.
const NEAR_STEP_COUNT_MAX: usize = 8;
/// The maximum number of places that are searched in the whole table: beyond, it counts as full.
const STEP_COUNT_MAX: usize = 128;
/// A factor that spreads words over a table.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// An address, and its rule: how the caller of its function is found (`unwind.rs`).
#[repr(C, align(16))]
struct Known {
    address: AtomicU64,
    rule: AtomicU64,
}

// SAFETY: zeros are numbers, in all three tables.
static ADDRESSES: Table<Known, ADDRESS_COUNT> = unsafe { Table::new() };
/// The frames by number; frame 0 calls the outermost ones.
// SAFETY: as above.
static FRAMES: Table<AtomicU64, FRAME_COUNT_MAX> = unsafe { Table::new() };
static FRAME_COUNT: AtomicU32 = AtomicU32::new(0);
// SAFETY: as above.
static MORE: Table<AtomicU64, FRAME_COUNT_MAX> = unsafe { Table::new() };
/// Whether any place beyond the first ones is taken.
static IS_FAR_USED: AtomicBool = AtomicBool::new(false);

/// The bits of a word of MORE that hold the calling frame and the address.
const PAIR: u64 = (1 << (FRAME_COUNT_LOG2 + ADDRESS_COUNT_LOG2)) - 1;
// A word of MORE has a pair and a frame, and a word of FRAMES two frames and an address.
const _: () = assert!(2 * FRAME_COUNT_LOG2 + ADDRESS_COUNT_LOG2 < u64::BITS);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    /// Returns the rule for the address; 0: none.
    #[inline(always)]
    pub(crate) fn rule(self) -> u64 {
        self.known().map_or(0, |known| known.rule.load(Ordering::Relaxed))
    }

    pub(crate) fn set_rule(self, rule: u64) {
        if let Some(known) = self.known() {
            known.rule.store(rule, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn known(self) -> Option<&'static Known> {
        ADDRESSES.get()?.get(self.0 as usize)
    }

    /// Returns the number of the place, below [`ADDRESS_COUNT`].
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Returns whether the system has memory for all tables. Where it lacks some, it maps none, and the
/// program has the rest.
#[cold]
pub(crate) fn has_memory() -> bool {
    const SIZE: usize = ADDRESS_COUNT * size_of::<Known>() + 2 * FRAME_COUNT_MAX * size_of::<u64>();
    let is_first = FRAMES.used().is_empty();
    if is_first && Mapped::memory(SIZE).map(|mut all| all.clear()).is_none() {
        return false;
    }
    ADDRESSES.get().is_some() && FRAMES.get().is_some() && MORE.get().is_some()
}

/// Returns the place of an address; `None`: the table is full, or has no memory.
#[inline(always)]
pub(crate) fn place(address: usize) -> Option<Place> {
    const SIZES: [u32; 2] = [NEAR_ADDRESS_COUNT_LOG2, ADDRESS_COUNT_LOG2];
    let word = address as u64;
    let addresses = ADDRESSES.get()?;
    let (at, _) = find(word, u64::MAX, SIZES, |at| &addresses[at].address, || Some(word))?;
    Some(Place(at as u32))
}

/// A frame as a word: the place of its address, the next callee of its caller (0: none), and its
/// own first callee. Only the first callee ever changes.
///
/// ```text
///  │ 0 │ address: 18 │ next: 21 │ first: 21 │
/// ```
#[derive(Clone, Copy)]
struct Node(u64);

impl Node {
    const NUMBER: u64 = (1 << FRAME_COUNT_LOG2) - 1;

    fn new(place: Place, next: u32) -> Node {
        Node(u64::from(place.0) << (2 * FRAME_COUNT_LOG2) | u64::from(next) << FRAME_COUNT_LOG2)
    }

    #[inline(always)]
    fn place(self) -> Place {
        Place((self.0 >> (2 * FRAME_COUNT_LOG2)) as u32)
    }

    #[inline(always)]
    fn next(self) -> u32 {
        (self.0 >> FRAME_COUNT_LOG2 & Node::NUMBER) as u32
    }

    #[inline(always)]
    fn first(self) -> u32 {
        (self.0 & Node::NUMBER) as u32
    }

    fn with_first(self, first: u32) -> Node {
        Node(self.0 & !Node::NUMBER | u64::from(first))
    }
}

/// Returns the frame at this address that `parent` called (0: the outermost frame), and whether the
/// frame is new; `None`: the table is full.
#[inline(always)]
pub(crate) fn frame(parent: u32, place: Place) -> Option<(u32, bool)> {
    let frames = FRAMES.get()?;
    loop {
        // Frames that this word names were stored before the word.
        let caller = Node(frames[parent as usize].load(Ordering::Acquire));
        let mut frame = caller.first();
        let mut count = 0;
        while frame != 0 && count < NEXT_COUNT_MAX {
            let node = Node(frames[frame as usize].load(Ordering::Relaxed));
            if node.place() == place {
                return Some((frame, false));
            }
            frame = node.next();
            count += 1;
        }
        if count == NEXT_COUNT_MAX {
            return more(parent, place);
        }
        if let Some(frame) = put_first(frames, parent, caller, place)? {
            return Some((frame, true));
        }
    }
}

/// Puts a new frame before the other callees of `parent`. Returns `Some(None)` if another thread
/// has just put one there.
#[cold]
#[inline(never)]
fn put_first(
    frames: &[AtomicU64; FRAME_COUNT_MAX],
    parent: u32,
    caller: Node,
    place: Place,
) -> Option<Option<u32>> {
    let frame = number()?;
    frames[frame as usize].store(Node::new(place, caller.first()).0, Ordering::Relaxed);
    let (old, new) = (caller.0, caller.with_first(frame).0);
    let is_put =
        frames[parent as usize].compare_exchange(old, new, Ordering::Release, Ordering::Relaxed);
    // A number that is lost here stays unused.
    Some(is_put.is_ok().then_some(frame))
}

/// Does the same for a frame with many callees.
#[inline(never)]
fn more(parent: u32, place: Place) -> Option<(u32, bool)> {
    const SIZES: [u32; 2] = [NEAR_MORE_COUNT_LOG2, FRAME_COUNT_LOG2];
    let pair = u64::from(parent) << ADDRESS_COUNT_LOG2 | u64::from(place.0);
    let table = MORE.get()?;
    let mut mine = None;
    let word = || {
        mine = mine.or_else(number);
        Some(u64::from(mine?) << PAIR.count_ones() | pair)
    };
    let (index, is_new) = find(pair, PAIR, SIZES, |at| &table[at], word)?;
    let frame = table[index].load(Ordering::Relaxed) >> PAIR.count_ones();
    Some((frame as u32, is_new))
}

/// Returns a new number for a frame; `None`: all are taken.
fn number() -> Option<u32> {
    let next = |count: u32| (count + 1 < FRAME_COUNT_MAX as u32).then_some(count + 1);
    let count = FRAME_COUNT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    count.ok().map(|count| count + 1)
}

/// Returns the place of a word in a table, found by its bits `key`, and whether the word is new:
/// then `word` makes it. No place is ever given up. So a word that found no room near the beginning
/// will not find any later.
#[inline(always)]
fn find(
    key: u64,
    bits: u64,
    [near_log2, count_log2]: [u32; 2],
    table: impl Fn(usize) -> &'static AtomicU64,
    mut word: impl FnMut() -> Option<u64>,
) -> Option<(usize, bool)> {
    let spread = key.wrapping_mul(SPREAD);
    let mut search = |log2: u32, step: usize| {
        let index = ((spread >> (u64::BITS - log2)) as usize + step) % (1 << log2);
        let found = match table(index).load(Ordering::Relaxed) {
            0 => {
                let place = table(index);
                place.compare_exchange(0, word()?, Ordering::Relaxed, Ordering::Relaxed)
            }
            found => Err(found),
        };
        match found {
            Ok(_) => Some((index, true)),
            Err(found) => (found & bits == key).then_some((index, false)),
        }
    };
    let near = (0..NEAR_STEP_COUNT_MAX).find_map(|at| search(near_log2, at));
    near.or_else(|| {
        IS_FAR_USED.store(true, Ordering::Relaxed);
        (0..STEP_COUNT_MAX).find_map(|at| search(count_log2, at))
    })
}

pub(crate) fn record(frame: u32, parent: u32, address: usize) {
    before(|| Frame::new(frame, parent, address));
}

/// Passes on each place with a rule, and the rule.
pub(crate) fn each_rule(mut each: impl FnMut(Place, u64)) {
    for (at, known) in ADDRESSES.used().iter().enumerate() {
        let rule = known.rule.load(Ordering::Relaxed);
        if rule != 0 {
            each(Place(at as u32), rule);
        }
    }
}

/// Takes the rules of addresses away, and passes on their places.
pub(crate) fn forget(addresses: Range<usize>, mut each: impl FnMut(Place)) {
    for (at, known) in ADDRESSES.used().iter().enumerate() {
        if addresses.contains(&(known.address.load(Ordering::Relaxed) as usize)) {
            each(Place(at as u32));
            known.rule.store(0, Ordering::Relaxed);
        }
    }
}

/// Passes on the start and the size of each table that is in use.
pub(crate) fn each_mapped(each: &mut dyn FnMut(usize, usize)) {
    for (start, size) in [ADDRESSES.range(), FRAMES.range(), MORE.range()] {
        each(start, size);
    }
}

pub(crate) fn clear() {
    let is_far_used = IS_FAR_USED.swap(false, Ordering::Relaxed);
    let searched = |near: u32, all: u32| if is_far_used { 1 << all } else { 1 << near };
    for known in ADDRESSES.used().iter().take(searched(NEAR_ADDRESS_COUNT_LOG2, ADDRESS_COUNT_LOG2))
    {
        known.address.store(0, Ordering::Relaxed);
        known.rule.store(0, Ordering::Relaxed);
    }
    let frame_count = FRAME_COUNT.swap(0, Ordering::Relaxed) as usize;
    let more = MORE.used().iter().take(searched(NEAR_MORE_COUNT_LOG2, FRAME_COUNT_LOG2));
    let words = FRAMES.used().iter().take(frame_count + 1).chain(more);
    words.for_each(|word| word.store(0, Ordering::Relaxed));
}
