//! The collector: copies the letters that entries refer to into new segments, and gives the old
//! ones back.
//!
//! ```text
//!  entries ──▶ │ live │ dead │ dead │ live │ …       condemned
//!     └──────▶ │ live │ live │                       new
//! ```

use crate::arena::{Arena, Place};
use crate::events::{TraceEnd, TraceFix, TraceStart};
use crate::pool::Pool;
use telemetry::event;

/// A pool smaller than this, in bytes, is not collected.
const COLLECTED_SIZE_MIN: usize = 1 << 17;

/// Says when it is time, and how often it was.
pub(crate) struct Collector {
    trace: usize,
    /// Size of the pool at which the next collection begins.
    threshold: usize,
}

impl Collector {
    pub(crate) fn new() -> Collector {
        Collector { trace: 0, threshold: COLLECTED_SIZE_MIN }
    }

    /// Whether the pool has grown enough.
    pub(crate) fn is_time(&self, pool: &Pool) -> bool {
        pool.size() >= self.threshold
    }

    /// Moves everything that `roots` refer to.
    pub(crate) fn collect<'a>(
        &mut self,
        arena: &mut Arena,
        pool: &mut Pool,
        roots: impl Iterator<Item = &'a mut Place>,
    ) {
        let trace = self.trace;
        let condemned_size = pool.size();
        event!(TraceStart, trace, &*pool, condemned_size);
        let condemned = pool.condemn();
        let mut live = 0;
        for (rank, root) in (0u32..).zip(roots) {
            let from = *root;
            *root = pool.allocate(arena, from.size as usize);
            arena.copy(from, *root);
            live += from.size as usize;
            event!(TraceFix, trace, arena.address(from), arena.address(*root), rank);
        }
        pool.release(arena, condemned);
        event!(TraceEnd, trace, live, live as f64 / condemned_size as f64);
        self.trace += 1;
        self.threshold = (pool.size() * 2).max(COLLECTED_SIZE_MIN);
    }
}
