//! The tree of frames: a table of addresses, one of frames in the order in which they were found,
//! and one of what is called from a frame that calls much.
//!
//! ```text
//!  address ─ hash ─▶ ADDRESSES[at]: it, its rule
//!  FRAMES[parent] ─ first ─▶ FRAMES[frame]: at ─ next ─▶ FRAMES[frame]: at ─ next ─▶ …
//!  (parent, at) ─ hash ─▶ MORE: frame                          what comes after so many
//! ```
//!
//! Frames that are found after each other are often needed after each other: so they are in few
//! lines of the cache. A place is taken, and a frame put first, by one atomic operation: no lock,
//! and nobody waits. All tables are zero at first, so that only pages that are used are memory.
//! Design: `.rep.stack` in `design/replay.md`.

use crate::events::Frame;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use telemetry::__private::before;

const ADDRESS_COUNT_LOG2: u32 = 18;
const FRAME_COUNT_LOG2: u32 = 21;
/// Words have their places among so many at first, which are few pages, as long as there is room.
const NEAR_ADDRESS_COUNT_LOG2: u32 = 12;
const NEAR_MORE_COUNT_LOG2: u32 = 15;
/// Frames called from one that are looked at in turn; others are in a table.
const NEXT_COUNT_MAX: usize = 8;
/// Places that are looked at for a word near the beginning, at most.
const NEAR_LOOK_COUNT_MAX: usize = 8;
/// Places that are looked at in the whole table, at most: then it is as good as full.
const LOOK_COUNT_MAX: usize = 128;
/// Spreads words over a table.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// An address, and how the caller of its function is found (`unwind.rs`).
#[repr(C, align(16))]
struct Known {
    address: AtomicU64,
    rule: AtomicU64,
}

static ADDRESSES: [Known; 1 << ADDRESS_COUNT_LOG2] =
    [const { Known { address: AtomicU64::new(0), rule: AtomicU64::new(0) } };
        1 << ADDRESS_COUNT_LOG2];
/// Frames by number; that of number 0 calls the outermost.
static FRAMES: [AtomicU64; 1 << FRAME_COUNT_LOG2] =
    [const { AtomicU64::new(0) }; 1 << FRAME_COUNT_LOG2];
/// How many frames have a number.
static FRAME_COUNT: AtomicU32 = AtomicU32::new(0);
static MORE: [AtomicU64; 1 << FRAME_COUNT_LOG2] =
    [const { AtomicU64::new(0) }; 1 << FRAME_COUNT_LOG2];
/// Whether any place is taken that is not near the beginning.
static IS_FAR_USED: AtomicBool = AtomicBool::new(false);

/// What of a word of MORE is the frame that calls, and the address.
const PAIR: u64 = (1 << (FRAME_COUNT_LOG2 + ADDRESS_COUNT_LOG2)) - 1;
// A word has a pair and a frame, and one of FRAMES two frames and an address.
const _: () = assert!(2 * FRAME_COUNT_LOG2 + ADDRESS_COUNT_LOG2 < u64::BITS);

/// Where an address is in the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    /// That of no address.
    pub(crate) const NONE: Place = Place(0);

    /// The rule that was set for the address; 0: none.
    #[inline(always)]
    pub(crate) fn rule(self) -> u64 {
        ADDRESSES[self.0 as usize].rule.load(Ordering::Relaxed)
    }

    /// Sets the rule for the address.
    pub(crate) fn set_rule(self, rule: u64) {
        ADDRESSES[self.0 as usize].rule.store(rule, Ordering::Relaxed);
    }
}

/// Where an address is; `None`: there is no room for it.
#[inline(always)]
pub(crate) fn place(address: usize) -> Option<Place> {
    const SIZES: [u32; 2] = [NEAR_ADDRESS_COUNT_LOG2, ADDRESS_COUNT_LOG2];
    let word = address as u64;
    let (at, _) = find(word, u64::MAX, SIZES, |at| &ADDRESSES[at].address, || Some(word))?;
    Some(Place(at as u32))
}

/// A frame as a word: where its address is, which is called next from what called it (0: none), and
/// which is the first that is called from it. Only the first ever changes.
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

/// The frame that was called by `parent` (0: it is the outermost) and goes on at this address, and
/// whether it was not there before; `None`: there is no room for it.
#[inline(always)]
pub(crate) fn frame(parent: u32, place: Place) -> Option<(u32, bool)> {
    loop {
        // What this frame's word says of others was there before that was stored.
        let caller = Node(FRAMES[parent as usize].load(Ordering::Acquire));
        let mut frame = caller.first();
        let mut count = 0;
        while frame != 0 && count < NEXT_COUNT_MAX {
            let node = Node(FRAMES[frame as usize].load(Ordering::Relaxed));
            if node.place() == place {
                return Some((frame, false));
            }
            frame = node.next();
            count += 1;
        }
        if count == NEXT_COUNT_MAX {
            return more(parent, place);
        }
        if let Some(frame) = put_first(parent, caller, place)? {
            return Some((frame, true));
        }
    }
}

/// Puts a frame before those that are called by `parent`: `Some(None)` if another thread has just
/// done so with one.
#[cold]
#[inline(never)]
fn put_first(parent: u32, caller: Node, place: Place) -> Option<Option<u32>> {
    let frame = number()?;
    FRAMES[frame as usize].store(Node::new(place, caller.first()).0, Ordering::Relaxed);
    let (old, new) = (caller.0, caller.with_first(frame).0);
    let is_put =
        FRAMES[parent as usize].compare_exchange(old, new, Ordering::Release, Ordering::Relaxed);
    // A number that was in vain is no frame's.
    Some(is_put.is_ok().then_some(frame))
}

/// The same of a frame that calls much.
#[inline(never)]
fn more(parent: u32, place: Place) -> Option<(u32, bool)> {
    const SIZES: [u32; 2] = [NEAR_MORE_COUNT_LOG2, FRAME_COUNT_LOG2];
    let pair = u64::from(parent) << ADDRESS_COUNT_LOG2 | u64::from(place.0);
    let mut mine = None;
    let word = || {
        mine = mine.or_else(number);
        Some(u64::from(mine?) << PAIR.count_ones() | pair)
    };
    let (index, is_new) = find(pair, PAIR, SIZES, |at| &MORE[at], word)?;
    let frame = MORE[index].load(Ordering::Relaxed) >> PAIR.count_ones();
    Some((frame as u32, is_new))
}

/// A number for a frame; `None`: there are no more.
fn number() -> Option<u32> {
    let next = |count: u32| (count + 1 < 1 << FRAME_COUNT_LOG2).then_some(count + 1);
    let count = FRAME_COUNT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    count.ok().map(|count| count + 1)
}

/// Where a word is in a table of which these bits are `key`, and whether it was not there before:
/// then it is what `word` says. No place is ever given up: where none near the beginning was left
/// for a word, none will be.
#[inline(always)]
fn find(
    key: u64,
    bits: u64,
    [near_log2, count_log2]: [u32; 2],
    table: impl Fn(usize) -> &'static AtomicU64,
    mut word: impl FnMut() -> Option<u64>,
) -> Option<(usize, bool)> {
    let spread = key.wrapping_mul(SPREAD);
    let mut look = |log2: u32, look: usize| {
        let index = ((spread >> (u64::BITS - log2)) as usize + look) % (1 << log2);
        let there = match table(index).load(Ordering::Relaxed) {
            0 => {
                let place = table(index);
                place.compare_exchange(0, word()?, Ordering::Relaxed, Ordering::Relaxed)
            }
            there => Err(there),
        };
        match there {
            Ok(_) => Some((index, true)),
            Err(there) => (there & bits == key).then_some((index, false)),
        }
    };
    let near = (0..NEAR_LOOK_COUNT_MAX).find_map(|at| look(near_log2, at));
    near.or_else(|| {
        IS_FAR_USED.store(true, Ordering::Relaxed);
        (0..LOOK_COUNT_MAX).find_map(|at| look(count_log2, at))
    })
}

/// Records what a frame is.
pub(crate) fn tell(frame: u32, parent: u32, address: usize) {
    before(|| Frame::new(frame, parent, address));
}

/// Forgets all, in a forked child.
pub(crate) fn clear() {
    let is_far_used = IS_FAR_USED.swap(false, Ordering::Relaxed);
    let part = |near: u32, all: u32| if is_far_used { 1 << all } else { 1 << near };
    for known in ADDRESSES.iter().take(part(NEAR_ADDRESS_COUNT_LOG2, ADDRESS_COUNT_LOG2)) {
        known.address.store(0, Ordering::Relaxed);
        known.rule.store(0, Ordering::Relaxed);
    }
    let frame_count = FRAME_COUNT.swap(0, Ordering::Relaxed) as usize;
    let more = MORE.iter().take(part(NEAR_MORE_COUNT_LOG2, FRAME_COUNT_LOG2));
    let words = FRAMES.iter().take(frame_count + 1).chain(more);
    words.for_each(|word| word.store(0, Ordering::Relaxed));
}
