//! Which ring has which block of the mapped file.
//!
//! ```text
//!  ring ─▶ lock ─▶ take: fresh, or the oldest of a pool ─▶ filled ─▶ close ─▶ taken by another one
//! ```
//!
//! What only one thread may do at a time (who has which block, which is the newest of a buffer) is
//! behind one lock, which is held for as long as it takes to begin a block. Design: `.sol.mapped`
//! in `design/telemetry.md`; section 8 of `design/format.md`.

use super::Ring;
use crate::block::memory::{Block, Blocks};
use crate::os::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::os::entry::Entry;
use crate::os::link::Link;
use crate::os::sync::{Guard, Locked};
use crate::os::{pages, report};
use crate::plinth::region::{self, Region};
use crate::rings::pools::{POOL_COUNT_MAX, Pools};

struct Shares {
    file: &'static Region,
    state: Locked<State>,
}

/// The owners of blocks.
pub(crate) struct State {
    blocks: Blocks,
    pools: Pools,
    /// The ring that each block is of.
    rings: &'static mut [Link<Ring>],
    exhaustion_told: bool,
}

/// Those in the file at hand, or in one before it: a forked child has a file of its own.
static SHARES: Link<Shares> = Link::none();

/// Takes the lock of it; `None` where there is no file, no memory, or that must wait.
pub(crate) fn lock(entry: &Entry) -> Option<Guard<'static, State>> {
    let file = region::open_one()?;
    let known = SHARES.get();
    let is_of_file = |shares: &&'static Shares| core::ptr::eq(shares.file, file);
    match known.filter(is_of_file) {
        Some(shares) => shares.state.lock(entry),
        None => {
            let new = make(file)?;
            // Of several threads that come to it at once, the first one's is theirs all.
            SHARES.replace(known, Some(new));
            SHARES.get().filter(is_of_file)?.state.lock(entry)
        }
    }
}

fn make(file: &'static Region) -> Option<&'static Shares> {
    let block_count = file.blocks.count();
    let slots = pages::map_slice(block_count)?;
    let rings = pages::map_slice(block_count)?;
    let pools = Pools::new(slots, pages::map_slice(POOL_COUNT_MAX)?, file.permanent_end);
    let state = State { blocks: file.blocks, pools, rings, exhaustion_told: false };
    pages::place(Shares { file, state: Locked::new(state) })
}

/// A block that a ring was given, which is not begun yet.
pub(crate) struct Taken {
    pub(crate) place: u32,
    pub(crate) block: Block,
}

impl State {
    pub(crate) fn block(&self, place: u32) -> Block {
        self.blocks.get(u64::from(place))
    }

    /// Gives a ring its next block to fill. The block's former ring counts its events as
    /// overwritten. `own`: the block that the ring fills so far, which it gets again if no other is
    /// available. Returns `None`, which is reported once, if no block is available (`.ring.full`).
    pub(crate) fn take(&mut self, ring: &'static Ring, own: Option<u32>) -> Option<Taken> {
        let Some(taken) = self.pools.take(ring.pool_owner(), own) else {
            if !core::mem::replace(&mut self.exhaustion_told, true) {
                let count = self.blocks.count();
                report::say(format_args!(
                    "more threads record a kind than the ring of {count} blocks has room for; \
                     their events are counted as `full`, the program goes on"
                ));
            }
            return None;
        };
        let block = self.block(taken.place);
        if taken.is_fresh {
            block.touch();
        } else if let Some(before) = self.rings[taken.place as usize].get() {
            before.give_up_block(self, taken.place);
        }
        self.rings[taken.place as usize].set(Some(ring));
        Some(Taken { place: taken.place, block })
    }

    /// Returns the block that will start again, and its ring.
    pub(crate) fn victim(&mut self, ring: &Ring) -> Option<(&'static Ring, u32)> {
        let place = self.pools.victim(ring.pool_owner())?;
        Some((self.rings[place as usize].get()?, place))
    }

    /// Nothing more is recorded into a block: it may be given up.
    pub(crate) fn close(&mut self, place: u32) {
        self.pools.close(place);
    }

    /// The events of a block are behind the ring, too: nothing is lost when it is given up.
    pub(crate) fn forget_ring(&mut self, place: u32) {
        self.rings[place as usize].set(None);
    }

    pub(crate) fn is_filled(&self, place: u32) -> bool {
        self.pools.is_open(place)
    }
}

/// Of a ring whose newest block is private.
pub(super) const PRIVATE: u32 = 0;
/// Of a ring whose newest block, which was in the file, was given up when the ring was free.
pub(super) const GONE: u32 = u32::MAX;

/// Where the newest block of a ring is.
pub(super) struct Place {
    /// M1: `PRIVATE`, `GONE`, or the place of the block in the file. Changed with the lock of the
    ///     shares held, to a block of the file or from it.
    pub(super) place: AtomicU32,
    /// Events recorded so far, where it is `GONE`.
    pub(super) recorded: AtomicU64,
    /// M2: the number of the first event of its newest block in the file. The header says it, too,
    ///     but not where somebody has cut the file. It never grows before `place` changes.
    pub(super) first: AtomicU64,
    /// The same as it was when the file was last told that the buffer goes.
    pub(super) told: AtomicU64,
}

impl Place {
    pub(super) fn new() -> Place {
        Place {
            place: AtomicU32::new(PRIVATE),
            recorded: AtomicU64::new(0),
            first: AtomicU64::new(0),
            told: AtomicU64::new(0),
        }
    }

    /// In a forked child, of a ring that left the file: nothing was told of it.
    pub(super) fn restart(&self) {
        self.told.store(0, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u32 {
        self.place.load(Ordering::Acquire)
    }

    pub(super) fn set(&self, place: u32) {
        self.place.store(place, Ordering::Release);
    }

    /// The same, with the number of the first event of the block there.
    pub(super) fn set_with(&self, place: u32, first: u64) {
        self.set(place);
        self.first.store(first, Ordering::Release);
    }
}
