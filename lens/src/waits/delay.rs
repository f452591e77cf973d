//! Threads and interrupts that had a processor while a woken thread waited for it, or ran.
//!
//! ```text
//!  A  wait ── woken ├ no processor ┤ run        B ran on that processor meanwhile
//!  B  ├───────────── run ──────────┤
//! ```
//!
//! Design: `.waits.answer` in `design/waits.md`.

use crate::waits::account::Window;
use crate::waits::model::{Interrupter, Model, What};
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

/// What had a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// A thread, as the caller numbers it.
    Thread(u32),
    /// An interrupt.
    Interrupt(Interrupter),
}

/// Returns how long each holder had the processor meanwhile, in ns: for each number that the caller
/// gave, which is less than `count`. `who` gives the number of a thread at the time of a run. One
/// pass over all stretches.
pub fn holders(
    model: &Model,
    mut ready: Vec<Ready>,
    count: usize,
    who: impl Fn(u32, u64) -> u32,
) -> Vec<BTreeMap<Holder, u64>> {
    let mut found = vec![BTreeMap::new(); count];
    if ready.is_empty() {
        return found;
    }
    ready.sort_unstable();
    for own in &ready {
        let Some(sums) = found.get_mut(own.of) else { continue };
        for (by, ns) in interrupts(model, own.cpu, own.from, own.to) {
            *sums.entry(Holder::Interrupt(by)).or_insert(0u64) += ns;
        }
    }
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
            let (from, to) = (own.from.max(run.begin), own.to.min(run.end));
            let taken = interrupts(model, own.cpu, from, to).map(|(_, ns)| ns).sum();
            let ns = to.saturating_sub(from).saturating_sub(taken);
            if ns > 0
                && own.life != run.life
                && let Some(sums) = found.get_mut(own.of)
            {
                *sums.entry(Holder::Thread(who(run.life, from))).or_insert(0u64) += ns;
            }
        }
    }
    found
}

/// Returns how long interrupts had a processor between two times, in ns.
fn interrupts(
    model: &Model,
    cpu: u32,
    from: u64,
    to: u64,
) -> impl Iterator<Item = (Interrupter, u64)> {
    let within = move |begin: u64, end: u64| end.min(to).saturating_sub(begin.max(from));
    model.interrupts_in(cpu, from, to).map(move |own| (own.by, within(own.from, own.to)))
}

/// Returns how long threads ran in windows, in ns, and the part of it that interrupts took.
pub fn interrupted(model: &Model, windows: &[Window]) -> (u64, BTreeMap<Interrupter, u64>) {
    let (mut ran, mut found) = (0u64, BTreeMap::new());
    for window in windows {
        let own = model.backwards(window.life).map(|(_, stretch)| stretch);
        let own = own.skip_while(|stretch| stretch.begin >= window.to);
        let own = own.take_while(|stretch| stretch.end > window.from);
        for run in own.filter(|stretch| stretch.what == What::Run) {
            let (from, to) = (run.begin.max(window.from), run.end.min(window.to));
            ran = ran.saturating_add(to.saturating_sub(from));
            for (by, ns) in interrupts(model, run.cpu, from, to) {
                *found.entry(by).or_insert(0u64) += ns;
            }
        }
    }
    (ran, found)
}
