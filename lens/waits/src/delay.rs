//! The threads that had a processor while a woken thread waited for it.
//!
//! ```text
//!  A  wait ── woken ├ no processor ┤ run        B ran on that processor meanwhile
//!  B  ├───────────── run ──────────┤
//! ```
//!
//! Design: `.waits.answer` in `design/waits.md`.

use crate::model::{Model, What};
use std::collections::BTreeMap;

/// A time in which a thread could run, and had no processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ready {
    /// The processor on which it then ran.
    pub cpu: u32,
    /// From this time on, in ns.
    pub from: u64,
    /// Until this time, in ns.
    pub to: u64,
    /// The life that waited.
    pub life: u32,
    /// What the caller adds the time to.
    pub of: usize,
}

/// Returns how long each thread had the processor meanwhile, in ns: for each number that the caller
/// gave, which is less than `count`. `who` gives the number of a thread at the time of a run. One
/// pass over all stretches.
pub fn holders(
    model: &Model,
    mut ready: Vec<Ready>,
    count: usize,
    who: impl Fn(u32, u64) -> u32,
) -> Vec<BTreeMap<u32, u64>> {
    let mut found = vec![BTreeMap::new(); count];
    if ready.is_empty() {
        return found;
    }
    ready.sort_unstable();
    // The latest end of all on this processor so far: what begins later may end earlier.
    let mut latest: Vec<u64> = Vec::with_capacity(ready.len());
    for (at, own) in ready.iter().enumerate() {
        let before =
            at.checked_sub(1).filter(|at| ready.get(*at).is_some_and(|b| b.cpu == own.cpu));
        let before = before.and_then(|at| latest.get(at)).copied().unwrap_or(0);
        latest.push(before.max(own.to));
    }
    for run in model.stretches.iter().filter(|own| own.what == What::Run) {
        let after = ready.partition_point(|own| (own.cpu, own.from) < (run.cpu, run.end));
        for at in (0..after).rev() {
            let (Some(own), Some(latest)) = (ready.get(at), latest.get(at)) else { break };
            if own.cpu != run.cpu || *latest <= run.begin {
                break;
            }
            let ns = own.to.min(run.end).saturating_sub(own.from.max(run.begin));
            if ns > 0
                && own.life != run.life
                && let Some(sums) = found.get_mut(own.of)
            {
                *sums.entry(who(run.life, own.from.max(run.begin))).or_insert(0u64) += ns;
            }
        }
    }
    found
}
