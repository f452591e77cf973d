//! The distribution of a mapped ring's blocks among kinds: only the arithmetic, without memory or
//! file.
//!
//! ```text
//!  fresh ──take──▶ open (a thread fills it) ──close──▶ pool of its kind: oldest … newest
//!                     ▲                                  │
//!                     └──────────── take ────────────────┘  its own oldest, or that of a pool
//!                                                           with more than its share
//! ```
//!
//! A pool is the blocks of one kind of one registry, of all its threads. A kind takes fresh blocks
//! as long as some are left. Then a pool with its full share reuses its own blocks, and a pool with
//! less takes from the largest one: so no kind loses its last share to another. Design:
//! `.sol.mapped` in `design/telemetry.md`.

use bytemuck::Zeroable;

/// Pools, at most: as many as a process has kinds.
pub(crate) const POOL_COUNT_MAX: usize = crate::registry::registration::SLOT_COUNT;

/// Whose a pool is: the index of a registry, and a kind.
pub(crate) type Owner = (u16, u8);

/// What is known of a block. Places count from 1: 0 is none.
#[derive(Clone, Copy, Debug, Zeroable)]
pub(crate) struct Slot {
    /// The block that was closed next in its pool.
    next: u32,
    pool: u16,
    is_closed: u16,
}

/// The blocks of one kind.
#[derive(Clone, Copy, Debug, Zeroable)]
pub(crate) struct Pool {
    registry: u16,
    kind: u16,
    oldest: u32,
    newest: u32,
    /// Blocks, open ones included.
    count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) place: u32,
    /// Nobody had it before.
    pub(crate) is_fresh: bool,
}

pub(crate) struct Pools {
    slots: &'static mut [Slot],
    pools: &'static mut [Pool],
    pool_count: usize,
    /// Blocks from here on were never taken.
    fresh: u32,
    /// Blocks that there are for pools.
    count: u32,
}

impl Pools {
    /// Pools of the blocks from `first` on, as many as there are slots from there.
    pub(crate) fn new(slots: &'static mut [Slot], pools: &'static mut [Pool], first: u32) -> Pools {
        let count = (slots.len() as u32).saturating_sub(first);
        Pools { slots, pools, pool_count: 0, fresh: first, count }
    }

    /// The block that a kind is to fill next, which is open from now on. `own` is the one that the
    /// same thread fills so far: if there is no other way it is given again. `None`: every block
    /// that it could have is being filled.
    pub(crate) fn take(&mut self, owner: Owner, own: Option<u32>) -> Option<Taken> {
        let pool = self.pool(owner)?;
        let is_fresh = (self.fresh as usize) < self.slots.len();
        let place = match self.giver(pool).filter(|_| !is_fresh) {
            Some(from) => self.remove_oldest(from),
            None if is_fresh => self.fresh,
            None => return own.map(|place| Taken { place, is_fresh }),
        };
        self.fresh += u32::from(is_fresh);
        self.pools[pool].count += 1;
        self.slots[place as usize] = Slot { next: 0, pool: pool as u16, is_closed: 0 };
        Some(Taken { place, is_fresh })
    }

    /// The block that would be taken from a pool, by [`Pools::take`].
    pub(crate) fn victim(&mut self, owner: Owner) -> Option<u32> {
        let pool = self.pool(owner)?;
        let is_fresh = (self.fresh as usize) < self.slots.len();
        let from = self.giver(pool).filter(|_| !is_fresh)?;
        Some(self.pools[from].oldest)
    }

    /// The pool that gives up its oldest block, where none is fresh.
    fn giver(&self, pool: usize) -> Option<usize> {
        let share = self.share();
        let from_itself = self.pools[pool].oldest != 0;
        if from_itself && self.pools[pool].count >= share {
            return Some(pool);
        }
        self.richest(share).or(from_itself.then_some(pool))
    }

    /// Nothing more is recorded into a block: it is the newest of its pool.
    pub(crate) fn close(&mut self, place: u32) {
        let slot = &mut self.slots[place as usize];
        if core::mem::replace(&mut slot.is_closed, 1) != 0 {
            return;
        }
        let pool = &mut self.pools[usize::from(slot.pool)];
        match core::mem::replace(&mut pool.newest, place) {
            0 => pool.oldest = place,
            before => self.slots[before as usize].next = place,
        }
    }

    pub(crate) fn is_open(&self, place: u32) -> bool {
        self.slots[place as usize].is_closed == 0
    }

    /// The blocks that each pool may keep (`.ring.share`).
    fn share(&self) -> u32 {
        (self.count / self.pool_count.max(1) as u32).max(1)
    }

    /// The pool with the most blocks, if those are more than a share and one is closed.
    fn richest(&self, share: u32) -> Option<usize> {
        let pools = self.pools[..self.pool_count].iter().enumerate();
        pools
            .filter(|(_, pool)| pool.count > share && pool.oldest != 0)
            .max_by_key(|(_, pool)| pool.count)
            .map(|(index, _)| index)
    }

    fn remove_oldest(&mut self, pool: usize) -> u32 {
        let pool = &mut self.pools[pool];
        let place = pool.oldest;
        pool.oldest = self.slots[place as usize].next;
        if pool.oldest == 0 {
            pool.newest = 0;
        }
        pool.count -= 1;
        place
    }

    /// The pool of a kind, made if there is none.
    fn pool(&mut self, (registry, kind): Owner) -> Option<usize> {
        let kind = u16::from(kind);
        let is_its = |pool: &Pool| (pool.registry, pool.kind) == (registry, kind);
        if let Some(found) = self.pools[..self.pool_count].iter().position(is_its) {
            return Some(found);
        }
        let new = self.pools.get_mut(self.pool_count)?;
        *new = Pool { registry, kind, ..Pool::zeroed() };
        self.pool_count += 1;
        Some(self.pool_count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn pools(block_count: usize) -> Pools {
        let slots = vec![Slot::zeroed(); block_count + 1].leak();
        Pools::new(slots, vec![Pool::zeroed(); POOL_COUNT_MAX].leak(), 1)
    }

    /// The naive twin: a list of places by kind, oldest first, and the places that are open.
    #[derive(Default)]
    struct Twin {
        closed: BTreeMap<Owner, Vec<u32>>,
        open: BTreeMap<u32, Owner>,
    }

    impl Twin {
        fn count(&self, owner: Owner) -> usize {
            let open = self.open.values().filter(|of| **of == owner).count();
            self.closed.get(&owner).map_or(0, Vec::len) + open
        }

        fn owners(&self) -> Vec<Owner> {
            self.closed.keys().copied().collect()
        }

        /// Whether it may take this block, in view of what everybody has; and takes it.
        fn take(&mut self, owner: Owner, own: Option<u32>, taken: Option<Taken>, count: usize) {
            self.closed.entry(owner).or_default();
            let share = (count / self.owners().len()).max(1);
            let used = self.owners().iter().map(|owner| self.count(*owner)).sum::<usize>();
            let Some(taken) = taken else {
                let others = self
                    .owners()
                    .into_iter()
                    .any(|of| self.count(of) > share && !self.closed[&of].is_empty());
                assert!(used == count && !others && self.closed[&owner].is_empty());
                assert_eq!(own, None);
                return;
            };
            assert_eq!(taken.is_fresh, used < count, "fresh ones first");
            if !taken.is_fresh && own != Some(taken.place) {
                let oldest_of = |of: &Owner| self.closed[of].first() == Some(&taken.place);
                let from = self.owners().into_iter().find(oldest_of).expect("an oldest block");
                assert!(from == owner || self.count(from) > share, "{from:?} keeps its share");
                assert!(
                    from != owner || self.count(owner) >= share || {
                        self.owners().into_iter().all(|of| {
                            of == owner || self.count(of) <= share || self.closed[&of].is_empty()
                        })
                    }
                );
                self.closed.get_mut(&from).unwrap().remove(0);
            }
            self.open.insert(taken.place, owner);
        }
    }

    proptest! {
        /// `.sol.mapped`: no kind loses its share, a block has one owner, and the oldest goes.
        #[test]
        fn a_pool_gives_up_its_oldest_block_and_keeps_each_share(
            count in 1usize..24,
            steps in prop::collection::vec((0u16..5, any::<prop::sample::Index>(), 0u8..3), 1..200),
        ) {
            let mut pools = pools(count);
            let mut twin = Twin::default();
            for (kind, which, what) in steps {
                let owner = (kind, 0);
                let open: Vec<u32> = twin.open.keys().copied().collect();
                match (what, open.is_empty()) {
                    (0, false) => {
                        let place = open[which.index(open.len())];
                        prop_assert!(pools.is_open(place));
                        pools.close(place);
                        pools.close(place);
                        let owner = twin.open.remove(&place).unwrap();
                        twin.closed.get_mut(&owner).unwrap().push(place);
                    }
                    // A thread goes on from the block that it has.
                    (1, false) => {
                        let own = open[which.index(open.len())];
                        let owner = twin.open[&own];
                        let taken = pools.take(owner, Some(own));
                        twin.take(owner, Some(own), taken, count);
                        if taken.is_some_and(|taken| taken.place != own) {
                            pools.close(own);
                            twin.open.remove(&own);
                            twin.closed.get_mut(&owner).unwrap().push(own);
                        }
                    }
                    _ => {
                        let victim = pools.victim(owner);
                        let taken = pools.take(owner, None);
                        let old = taken.filter(|taken| !taken.is_fresh);
                        prop_assert_eq!(victim, old.map(|taken| taken.place));
                        twin.take(owner, None, taken, count);
                    }
                }
            }
        }
    }
}
