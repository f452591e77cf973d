//! A function while its code is being found, and what may be incomplete in it.

use iced_x86::Instruction;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Why the edges of a function may be incomplete.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// A jump through a register, whose targets no table tells.
    Jump(u64),
    /// A jump into another function, past its beginning.
    Middle(u64),
    /// Bytes that are not an instruction, or control that runs out of the code.
    NotCode(u64),
    /// Two instructions that share bytes.
    Overlap(u64),
    /// A label in the function whose address code or data has: a jump from anywhere may lead there.
    Label(u64),
    /// A transaction, which may begin again.
    Transaction(u64),
    /// The program has more instructions than the limit.
    TooLarge,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Jump(at) => write!(f, "no table tells where the jump at {at:#x} goes"),
            Trouble::Middle(at) => write!(f, "{at:#x} jumps into the middle of a function"),
            Trouble::NotCode(at) => write!(f, "no instruction is at {at:#x}"),
            Trouble::Overlap(at) => write!(f, "two instructions share the byte at {at:#x}"),
            Trouble::Label(at) => write!(f, "a jump through a pointer may lead to {at:#x}"),
            Trouble::Transaction(at) => write!(f, "the transaction at {at:#x} may begin again"),
            Trouble::TooLarge => f.write_str("the program has too many instructions"),
        }
    }
}

/// A function while its code is being found.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) start: u64,
    /// The ranges of its code: its own, and those of its cold parts.
    pub(super) ranges: Vec<(u64, u64)>,
    pub(super) instructions: BTreeMap<u64, Instruction>,
    pub(super) leaders: BTreeSet<u64>,
    /// Calls whose callee is not known to return, and the address after each.
    pub(super) waiting: Vec<(u64, u64)>,
    /// Targets of the jumps through tables.
    pub(super) tables: BTreeMap<u64, Vec<u64>>,
    /// Jumps through a pointer: tail calls.
    pub(super) pointers: BTreeSet<u64>,
    pub(super) troubles: BTreeSet<Trouble>,
    /// Functions of the image that return in its place.
    pub(super) tails: BTreeSet<u64>,
    /// Whether it may return to its caller.
    pub(super) returns: bool,
    /// Whether it jumps past the beginning of code that is not a cold part.
    pub(super) jumps_into_others: bool,
}

impl Draft {
    pub(super) fn new(start: u64, end: u64) -> Draft {
        Draft {
            start,
            ranges: vec![(start, end)],
            instructions: BTreeMap::new(),
            leaders: BTreeSet::from([start]),
            waiting: Vec::new(),
            tables: BTreeMap::new(),
            pointers: BTreeSet::new(),
            troubles: BTreeSet::new(),
            tails: BTreeSet::new(),
            returns: false,
            jumps_into_others: false,
        }
    }

    /// Returns whether the code at an address is reached only once a callee is known to return.
    pub(super) fn waits_at(&self, address: u64) -> bool {
        self.waiting.iter().any(|(_, back)| *back == address)
    }

    /// Returns a label of the function that is none of the targets of its tables.
    pub(super) fn label(&self, labels: &BTreeSet<u64>) -> Option<u64> {
        let is_target = |at: &u64| self.tables.values().any(|own| own.contains(at));
        let own = self.ranges.iter().flat_map(|(start, end)| labels.range(*start..*end.max(start)));
        own.copied().find(|at| !is_target(at))
    }

    pub(super) fn has(&self, address: u64) -> bool {
        self.ranges.iter().any(|(start, end)| (*start..*end).contains(&address))
    }
}
