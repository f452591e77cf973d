//! Threads and interrupts that had a processor while a woken thread waited for it.
//!
//! ```text
//!  A  wait ── woken ├ no processor ┤ run        B ran on that processor meanwhile
//!  B  ├───────────── run ──────────┤
//! ```
//!
//! Design: `.waits.answer` in `design/waits.md`.

use crate::waits::model::{Interrupter, Interrupts, Model, Stretch, What, partition_near};
use crate::waits::parts::{ranges, side_by_side};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// A thread, as the caller numbers it.
    Thread(u32),
    /// An interrupt.
    Interrupt(Interrupter),
}

/// Stretches whose runs a worker looks at in one piece.
const CHUNK: usize = 1 << 16;

/// Those that were ready for one processor.
#[derive(Debug, Default)]
struct Queue {
    /// In order.
    ready: Vec<Ready>,
    /// The latest end of all up to each: what begins later may end earlier.
    latest: Vec<u64>,
}

/// The sums of some holders, by what the caller adds them to.
type Sums = HashMap<(usize, Holder), u64, RandomState>;

/// Returns how long each holder had the processor meanwhile, in ns: for each number that the caller
/// gave, which is less than `count`. `who` gives the number of a thread at the time of a run. One
/// pass over all stretches.
pub fn holders(
    model: &Model,
    ready: Vec<Ready>,
    count: usize,
    who: impl Fn(u32, u64) -> u32 + Sync,
) -> Vec<BTreeMap<Holder, u64>> {
    let mut found = vec![BTreeMap::new(); count];
    if ready.is_empty() {
        return found;
    }
    let mut by_cpu: HashMap<u32, Vec<Ready>, RandomState> = HashMap::default();
    for own in ready.into_iter().filter(|own| own.of < count) {
        by_cpu.entry(own.cpu).or_default().push(own);
    }
    let (cpus, by_cpu): (Vec<u32>, Vec<_>) =
        by_cpu.into_iter().map(|(cpu, own)| (cpu, Mutex::new(own))).unzip();
    let (sums, queues) = side_by_side(
        cpus.len(),
        || (Sums::default(), model.interrupts()),
        |(sums, interrupts), at| {
            let own = by_cpu.get(at).and_then(|own| own.lock().ok());
            queue(own.map_or_else(Vec::new, |mut own| std::mem::take(&mut *own)), sums, interrupts)
        },
    );
    let places = cpus.into_iter().zip(0..).collect();
    let chunks = ranges(model.stretches.len(), CHUNK);
    let (of_threads, _) = side_by_side(
        chunks.len(),
        || (Sums::default(), Search::new(model, &queues, &places)),
        |(sums, search), at| {
            let chunk = chunks.get(at).and_then(|chunk| model.stretches.get(chunk.clone()));
            let runs = chunk.unwrap_or_default().iter().filter(|own| own.what == What::Run);
            runs.for_each(|run| search.add(run, sums, &who));
        },
    );
    let of_threads = of_threads.into_iter().map(|(sums, _)| sums);
    for ((of, holder), ns) in sums.into_iter().map(|(sums, _)| sums).chain(of_threads).flatten() {
        if let Some(sums) = found.get_mut(of) {
            *sums.entry(holder).or_insert(0u64) += ns;
        }
    }
    found
}

/// Puts those that were ready for a processor in order, and adds what interrupts took from them.
fn queue(mut ready: Vec<Ready>, sums: &mut Sums, interrupts: &mut Interrupts<'_>) -> Queue {
    ready.sort_unstable();
    let mut latest = 0;
    let latest = ready.iter().map(|own| {
        for (by, ns) in interrupts.within(own.cpu, own.from, own.to) {
            *sums.entry((own.of, Holder::Interrupt(by))).or_insert(0u64) += ns;
        }
        latest = own.to.max(latest);
        latest
    });
    let latest = latest.collect();
    Queue { ready, latest }
}

/// Finds those that were ready while a thread ran.
struct Search<'m> {
    interrupts: Interrupts<'m>,
    queues: &'m [Queue],
    /// The index of the queue of each processor.
    places: &'m HashMap<u32, usize, RandomState>,
    /// Of each queue: where the last search ended.
    near: Vec<usize>,
}

impl<'m> Search<'m> {
    fn new(
        model: &'m Model,
        queues: &'m [Queue],
        places: &'m HashMap<u32, usize, RandomState>,
    ) -> Search<'m> {
        Search { interrupts: model.interrupts(), queues, places, near: vec![0; queues.len()] }
    }

    /// Adds the time that a run had the processor of those that were ready for it.
    fn add(&mut self, run: &Stretch, sums: &mut Sums, who: &impl Fn(u32, u64) -> u32) {
        let Some(place) = self.places.get(&run.cpu).copied() else { return };
        let (Some(queue), Some(near)) = (self.queues.get(place), self.near.get_mut(place)) else {
            return;
        };
        let is_before = |at: usize| queue.ready.get(at).is_some_and(|own| own.from < run.end);
        *near = partition_near(queue.ready.len(), *near, is_before);
        let (Some(ready), Some(latest)) = (queue.ready.get(..*near), queue.latest.get(..*near))
        else {
            return;
        };
        let is_interrupted = self.interrupts.within(run.cpu, run.begin, run.end).next().is_some();
        for (own, latest) in ready.iter().zip(latest).rev() {
            if *latest <= run.begin {
                break;
            }
            if own.life == run.life {
                continue;
            }
            let (from, to) = (own.from.max(run.begin), own.to.min(run.end));
            let taken = match is_interrupted {
                true => self.interrupts.within(own.cpu, from, to).map(|(_, ns)| ns).sum(),
                false => 0,
            };
            let ns = to.saturating_sub(from).saturating_sub(taken);
            if ns > 0 {
                *sums.entry((own.of, Holder::Thread(who(run.life, from)))).or_insert(0) += ns;
            }
        }
    }
}
