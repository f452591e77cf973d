//! The faults of a log: the first ones are kept, all are counted.
//!
//! ```text
//!  push, push_once ──▶ kept, up to FAULT_COUNT_MAX │ counted: all, and those that are losses
//! ```
//!
//! Design: `.read.*` in `design/format.md`.

use super::kind::{Fault, FaultKind};
use std::collections::HashSet;

/// Faults that are kept, at most. Further faults are only counted.
pub const FAULT_COUNT_MAX: usize = 1000;

/// Codes and block types that are remembered, to report each only once.
const ONCE_COUNT_MAX: usize = 1 << 12;

/// Faults: the first [`FAULT_COUNT_MAX`], and how many there are.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    kept: Vec<Fault>,
    /// Registry and code, or block type, of the faults that are reported only once.
    once: HashSet<(u32, u16)>,
    count: u64,
    loss_count: u64,
}

impl Faults {
    pub(crate) fn push(&mut self, offset: u64, kind: FaultKind) {
        let fault = Fault { offset, kind };
        self.count = self.count.saturating_add(1);
        self.loss_count = self.loss_count.saturating_add(u64::from(!fault.is_warning()));
        if self.kept.len() < FAULT_COUNT_MAX {
            self.kept.push(fault);
        }
    }

    /// Adds a fault, unless the list has one of its block type or code (`.block.unknown`,
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
        // Beyond the limit, a new code is reported each time.
        if self.once.len() < ONCE_COUNT_MAX {
            self.once.insert(key);
        }
        self.push(offset, kind);
    }

    /// Adds the faults that another reading of the log found, in their order. What is reported only
    /// once stays so.
    pub fn append(&mut self, other: &Faults) {
        for fault in other {
            self.push_once(fault.offset, fault.kind.clone());
        }
        let more = other.count.saturating_sub(other.kept.len() as u64);
        self.count = self.count.saturating_add(more);
        let more = other.loss_count.saturating_sub(losses_in(&other.kept));
        self.loss_count = self.loss_count.saturating_add(more);
    }

    /// Drops the faults that are in `known` too, and puts the rest in the order of the source.
    pub(crate) fn settle(&mut self, known: &Faults) {
        self.retain(|fault| !known.kept.contains(fault));
        self.kept.sort_by_key(|fault| fault.offset);
    }

    pub(crate) fn drop_holes(&mut self) {
        self.retain(|fault| !matches!(fault.kind, FaultKind::BlockHole { .. }));
    }

    fn retain(&mut self, keep: impl FnMut(&Fault) -> bool) {
        let before = (self.kept.len() as u64, losses_in(&self.kept));
        self.kept.retain(keep);
        self.count = self.count.saturating_sub(before.0 - self.kept.len() as u64);
        self.loss_count = self.loss_count.saturating_sub(before.1 - losses_in(&self.kept));
    }

    /// Returns the faults that were kept, in the order in which they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Fault> {
        self.kept.iter()
    }

    /// Returns the number of all faults, warnings included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of faults that are not warnings.
    pub fn loss_count(&self) -> u64 {
        self.loss_count
    }

    /// Returns whether the log has no fault.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

fn losses_in(faults: &[Fault]) -> u64 {
    faults.iter().filter(|fault| !fault.is_warning()).count() as u64
}

impl<'a> IntoIterator for &'a Faults {
    type Item = &'a Fault;
    type IntoIter = std::slice::Iter<'a, Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
