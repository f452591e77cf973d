//! Events that were requested and are not in a log: one answer for all tools.
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

/// The event type of the store that counts events without a buffer.
const DISCARDED: &str = "Discarded";
/// Its code (`.store.discarded`).
const DISCARDED_CODE: u16 = 0xFF04;

/// Why events are not in a log, in the order of [`Losses::causes`].
pub const CAUSES: [&str; 6] = ["full", "nested", "large", "io", "lost", "overwritten"];

/// Events that were requested and are not in a log, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The buffer was full.
    pub full: u64,
    /// A signal handler requested them while the thread recorded another event of the kind.
    pub nested: u64,
    /// Larger than a block holds.
    pub large: u64,
    /// The host failed to write them.
    pub io: u64,
    /// Recorded, but neither in the log nor accounted for.
    pub lost: u64,
    /// Overwritten in memory or in a ring, as intended.
    pub overwritten: u64,
}

impl Losses {
    /// Returns the counts of a buffer.
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

    /// Returns the counts in the order of [`CAUSES`].
    pub fn causes(&self) -> [u64; 6] {
        [self.full, self.nested, self.large, self.io, self.lost, self.overwritten]
    }

    /// Returns the number of lost events. Overwritten events are not lost.
    pub fn total(&self) -> u64 {
        let counts = [self.full, self.nested, self.large, self.io, self.lost];
        counts.into_iter().fold(0, u64::saturating_add)
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Losses) {
        for (sum, count) in self.counts().into_iter().zip(other.causes()) {
            *sum = sum.saturating_add(count);
        }
    }

    fn counts(&mut self) -> [&mut u64; 6] {
        let Losses { full, nested, large, io, lost, overwritten } = self;
        [full, nested, large, io, lost, overwritten]
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
    /// Returns all losses of the log. `faults` are those of a reading of all its events. This reads
    /// the store; and the whole log if blocks are damaged.
    pub fn losses(&self, faults: &Faults) -> Losses {
        let mut sum = Losses::default();
        self.losses_by_kind(faults).values().for_each(|losses| sum.add(losses));
        sum
    }

    /// Returns the losses by stream, registry (index in the stream; `u16::MAX`: unknown) and kind.
    pub fn losses_by_kind(&self, faults: &Faults) -> BTreeMap<(u16, u16, u8), Losses> {
        let mut by_kind: BTreeMap<_, Losses> = BTreeMap::new();
        let given = (faults.loss_count() > 0).then(|| self.count_by_buffer());
        for account in self.accounts() {
            let registry = self.registries().get(account.registry as usize);
            let registry = registry.map_or(u16::MAX, |registry| registry.index);
            let key = (account.stream, registry, account.kind);
            let mut losses = Losses::of(account);
            if let Some(given) = &given {
                // The events of damaged blocks are missing, too.
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

    /// Counts the readable events by stream and buffer.
    fn count_by_buffer(&self) -> HashMap<(u16, u32), u64> {
        let mut counts = HashMap::new();
        let mut events = self.events(Order::File, &Filter::default());
        while let Some(event) = events.next() {
            *counts.entry((event.stream, event.buffer)).or_default() += 1;
        }
        counts
    }

    /// Returns the events that no buffer could count, by stream, registry and kind. This reads the
    /// store, and reports no faults.
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
            // Each event states the total so far, of one of the first four causes.
            let totals = losses.counts().into_iter().take(4).zip(0..);
            for (total, _) in totals.filter(|(_, place)| *place == cause) {
                *total = count.max(*total);
            }
        }
        let of = |((stream, registry, kind), losses)| Unhoused { stream, registry, kind, losses };
        totals.into_iter().map(of).collect()
    }
}
