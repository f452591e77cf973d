//! What was requested and is not in a log: the one answer, in events, that all tools give.
//!
//! ```text
//!  counts of the buffers (Account) ─────────────┐
//!  counts of events that no buffer could count ─┴─▶ Losses of each kind, by cause ──▶ their sum
//! ```
//!
//! Design: `.cnv.losses` in `design/eventcnv.md`; rules: `.block.discarded`, `.store.discarded`,
//! `.read.loss` in `design/format.md`.

use crate::reader::fault::list::Faults;
use crate::reader::index::{Account, Format};
use crate::reader::log::Log;
use crate::reader::order::filter::Order;
use crate::reader::order::filter::{Filter, Pick};
use std::collections::{BTreeMap, HashMap};

/// The event type of the store that has the counts of what no buffer could count.
const DISCARDED: &str = "Discarded";
/// Its code, by which it is found (`.store.discarded`).
const DISCARDED_CODE: u16 = 0xFF04;

/// Why events are not in a log, in the order of [`Losses::causes`].
pub const CAUSES: [&str; 6] = ["full", "nested", "large", "io", "lost", "overwritten"];

/// Events that were requested and are not in a log, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// There was no room.
    pub full: u64,
    /// A signal handler requested them in the middle of recording another of their kind.
    pub nested: u64,
    /// Larger than a block holds.
    pub large: u64,
    /// The host did not take them.
    pub io: u64,
    /// Recorded, neither found nor accounted for.
    pub lost: u64,
    /// Overwritten in memory, or in a ring: history that gave way as it was meant to.
    pub overwritten: u64,
}

impl Losses {
    /// What a buffer counted.
    pub fn of(account: &Account) -> Losses {
        Losses {
            full: account.discarded_full.into(),
            nested: account.discarded_nested.into(),
            large: account.discarded_large.into(),
            io: account.discarded_io.into(),
            lost: account.lost,
            overwritten: account.overwritten,
        }
    }

    /// The counts in the order of [`CAUSES`].
    pub fn causes(&self) -> [u64; 6] {
        [self.full, self.nested, self.large, self.io, self.lost, self.overwritten]
    }

    /// How many were lost, whatever the cause. What was overwritten is no loss.
    pub fn total(&self) -> u64 {
        let counts = [self.full, self.nested, self.large, self.io, self.lost];
        counts.into_iter().fold(0, u64::saturating_add)
    }

    /// Adds others.
    pub fn add(&mut self, other: &Losses) {
        let sums = [
            (&mut self.full, other.full),
            (&mut self.nested, other.nested),
            (&mut self.large, other.large),
            (&mut self.io, other.io),
            (&mut self.lost, other.lost),
            (&mut self.overwritten, other.overwritten),
        ];
        for (sum, count) in sums {
            *sum = sum.saturating_add(count);
        }
    }
}

/// Events that no buffer could count (`.store.discarded`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unhoused {
    /// The stream, by its index in the log.
    pub stream: u16,
    /// The registry, by its index in the stream.
    pub registry: u16,
    /// The kind of the events.
    pub kind: u8,
    /// How many, by cause.
    pub losses: Losses,
}

impl Log {
    /// What was requested and is not in the log, in all, where these faults were met as its events
    /// were read. Reads the store; and all, where blocks are damaged.
    pub fn losses(&self, faults: &Faults) -> Losses {
        let mut sum = Losses::default();
        self.losses_by_kind(faults).values().for_each(|losses| sum.add(losses));
        sum
    }

    /// The same by stream, registry (its index in the stream; `u16::MAX`: unknown) and kind.
    pub fn losses_by_kind(&self, faults: &Faults) -> BTreeMap<(u16, u16, u8), Losses> {
        let mut by_kind: BTreeMap<_, Losses> = BTreeMap::new();
        let given = (faults.loss_count() > 0).then(|| self.count_by_buffer());
        for account in self.accounts() {
            let registry = self.registries().get(account.registry as usize);
            let registry = registry.map_or(u16::MAX, |registry| registry.index);
            let key = (account.stream, registry, account.kind);
            let mut losses = Losses::of(account);
            if let Some(given) = &given {
                // What damaged blocks held is missing, too.
                let count = given.get(&(account.stream, account.buffer)).copied().unwrap_or(0);
                losses.lost = losses.lost.saturating_add(account.found.saturating_sub(count));
            }
            by_kind.entry(key).or_default().add(&losses);
        }
        for Unhoused { stream, registry, kind, losses } in self.unhoused() {
            by_kind.entry((stream, registry, kind)).or_default().add(&losses);
        }
        by_kind
    }

    /// How many events can be read, by stream and buffer.
    fn count_by_buffer(&self) -> HashMap<(u16, u32), u64> {
        let mut counts = HashMap::new();
        let mut events = self.events(Order::File, &Filter::default());
        while let Some(event) = events.next() {
            *counts.entry((event.stream, event.buffer)).or_default() += 1;
        }
        counts
    }

    /// The events that no buffer could count, by stream, registry and kind. Reads the store: what
    /// is wrong with its blocks is told where the log is read.
    pub fn unhoused(&self) -> Vec<Unhoused> {
        if self.format() != Format::Stream {
            return Vec::new();
        }
        let mut totals: BTreeMap<(u16, u16, u8), Losses> = BTreeMap::new();
        let event_types = vec![Pick::NumberIn(0, DISCARDED_CODE)];
        let mut events = self.events(Order::File, &Filter { event_types, ..Filter::default() });
        while let Some(event) = events.next() {
            let number = |name| event.param(name).and_then(|value| value.as_u64());
            let of = (number("registry"), number("kind"), number("cause"), number("count"));
            let (Some(registry), Some(kind), Some(cause), Some(count)) = of else { continue };
            let (Ok(registry), Ok(kind)) = (u16::try_from(registry), u8::try_from(kind)) else {
                continue;
            };
            if event.name() != DISCARDED {
                continue;
            }
            let losses = totals.entry((event.stream, registry, kind)).or_default();
            // Each is the total so far.
            let total = match cause {
                0 => &mut losses.full,
                1 => &mut losses.nested,
                2 => &mut losses.large,
                3 => &mut losses.io,
                _ => continue,
            };
            *total = count.max(*total);
        }
        let of = |((stream, registry, kind), losses)| Unhoused { stream, registry, kind, losses };
        totals.into_iter().map(of).collect()
    }
}
