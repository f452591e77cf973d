//! The faults of a log: a bounded number of them, the rest counted.
//!
//! ```text
//!  push, push_once ──▶ kept, up to FAULT_COUNT_MAX │ counted: all, and those that are losses
//! ```
//!
//! Design: `.read.*` in `design/format.md`.

use super::kind::{Fault, FaultKind};
use std::collections::HashSet;

/// Faults that are kept one by one; those beyond are counted.
pub const FAULT_COUNT_MAX: usize = 1000;

/// Codes and types that are remembered so as to be reported once.
const ONCE_COUNT_MAX: usize = 1 << 12;

/// Faults, of which no more than [`FAULT_COUNT_MAX`] are kept.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    kept: Vec<Fault>,
    /// Registry and code, or block type, of what is reported only once.
    once: HashSet<(u32, u16)>,
    count: u64,
    loss_count: u64,
}

impl Faults {
    /// Adds one.
    pub(crate) fn push(&mut self, offset: u64, kind: FaultKind) {
        let fault = Fault { offset, kind };
        self.count = self.count.saturating_add(1);
        self.loss_count = self.loss_count.saturating_add(u64::from(!fault.is_warning()));
        if self.kept.len() < FAULT_COUNT_MAX {
            self.kept.push(fault);
        }
    }

    /// Adds one, unless one of its type or code was added before (`.block.unknown`,
    /// `.event.unknown`).
    pub(crate) fn push_once(&mut self, offset: u64, kind: FaultKind) {
        let key = match kind {
            FaultKind::EventUnknown { registry, code } => (u32::from(registry), code),
            FaultKind::BlockType { found } => (u32::MAX, u16::from(found)),
            FaultKind::LabelLimit => (u32::MAX, u16::MAX),
            _ => return self.push(offset, kind),
        };
        if self.once.contains(&key) {
            return;
        }
        // Once too many are remembered, what is new is counted each time.
        if self.once.len() < ONCE_COUNT_MAX {
            self.once.insert(key);
        }
        self.push(offset, kind);
    }

    /// Adds those that another reading of the same log found, in their order; what is reported only
    /// once stays so.
    pub fn append(&mut self, other: &Faults) {
        for fault in other {
            self.push_once(fault.offset, fault.kind.clone());
        }
        let untold = |count: u64, of_kept: usize| count.saturating_sub(of_kept as u64);
        let losses = other.kept.iter().filter(|fault| !fault.is_warning()).count();
        self.count = self.count.saturating_add(untold(other.count, other.kept.len()));
        self.loss_count = self.loss_count.saturating_add(untold(other.loss_count, losses));
    }

    /// Adds those of another stretch of the log.
    pub(crate) fn absorb(&mut self, other: Faults) {
        let kept = other.kept.len() as u64;
        let losses = other.kept.iter().filter(|fault| !fault.is_warning()).count() as u64;
        self.count = self.count.saturating_add(other.count.saturating_sub(kept));
        let more = other.loss_count.saturating_sub(losses);
        self.loss_count = self.loss_count.saturating_add(more);
        for fault in other.kept {
            self.push_once(fault.offset, fault.kind);
        }
    }

    /// Drops those that are found in `known` too, and puts the rest in the order of the source.
    pub(crate) fn settle(&mut self, known: &Faults) {
        let losses = |kept: &[Fault]| kept.iter().filter(|fault| !fault.is_warning()).count();
        let (before, losses_before) = (self.kept.len(), losses(&self.kept));
        self.kept.retain(|fault| !known.kept.contains(fault));
        let dropped = losses_before - losses(&self.kept);
        self.count = self.count.saturating_sub((before - self.kept.len()) as u64);
        self.loss_count = self.loss_count.saturating_sub(dropped as u64);
        self.kept.sort_by_key(|fault| fault.offset);
    }

    /// Drops those that are holes.
    pub(crate) fn drop_holes(&mut self) {
        let before = self.kept.len();
        self.kept.retain(|fault| !matches!(fault.kind, FaultKind::BlockHole { .. }));
        let dropped = (before - self.kept.len()) as u64;
        self.count = self.count.saturating_sub(dropped);
        self.loss_count = self.loss_count.saturating_sub(dropped);
    }

    /// Those that were kept, in the order in which they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Fault> {
        self.kept.iter()
    }

    /// How many there were, kept or not, warnings included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many of them were more than a warning.
    pub fn loss_count(&self) -> u64 {
        self.loss_count
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<'a> IntoIterator for &'a Faults {
    type Item = &'a Fault;
    type IntoIter = std::slice::Iter<'a, Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
