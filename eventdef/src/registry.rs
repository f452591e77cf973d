//! The registry as data, which `events!` makes from its list.
//!
//! ```text
//!  Registry ── kinds: [Kind]
//!           └─ event_types: [EventType] ── params: [Param]
//! ```
//!
//! Design: `.reg`, `.sol.relation`, `.sol.version` in `design/telemetry.md`.

use crate::Sort;

/// The maximum number of kinds of a registry.
pub const KIND_COUNT_MAX: usize = 64;
/// The highest code of a program's registry. The higher codes belong to the runtime's registry.
pub const CODE_MAX: u16 = 0xFEFF;
/// The size of an event's header (code, size and ticks) in bytes.
pub const EVENT_HEADER_SIZE: usize = 8;
/// The maximum size of the fixed part of an event, header included, in bytes: it fits a block of
/// any size.
pub const EVENT_FIXED_SIZE_MAX: usize = 3968;

/// A three-part version (`.sol.version`, `.version.parts`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Changes with the format of everything.
    pub major: u16,
    /// Changes when an event type changes its form or meaning.
    pub median: u16,
    /// Changes when an event type is added.
    pub minor: u16,
}

impl core::fmt::Display for Version {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.median, self.minor)
    }
}

/// A list of event types, and their kinds.
#[derive(Debug)]
pub struct Registry {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: Version,
    /// Its documentation.
    pub doc: &'static str,
    /// Its kinds, in ascending order of index.
    pub kinds: &'static [Kind],
    /// Its event types, retired ones included, in ascending order of code.
    pub event_types: &'static [EventType],
}

/// A coarse group of event types, which are switched on and off together (`.sol.kind`).
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its bit in the masks: 0 to 63.
    pub index: u8,
    /// Its name.
    pub name: &'static str,
    /// Its documentation.
    pub doc: &'static str,
}

/// A row of the registry: one type of event.
#[derive(Clone, Copy, Debug)]
pub struct EventType {
    /// Its name.
    pub name: &'static str,
    /// Its code, which no other event type of the registry ever has.
    pub code: u16,
    /// The index of its kind.
    pub kind: u8,
    /// Whether the hot variety records it too (`.reg.always`).
    pub always: bool,
    /// Whether the program has stopped recording it; the row keeps its code.
    pub retired: bool,
    /// Whether its events may repeat the time that their thread read last (`.sol.coarse`).
    pub coarse: bool,
    /// Its documentation.
    pub doc: &'static str,
    /// Its parameters, in order.
    pub params: &'static [Param],
}

/// A parameter of an event type.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its sort.
    pub sort: Sort,
    /// Its name.
    pub name: &'static str,
    /// Its documentation.
    pub doc: &'static str,
}

// The standard kinds: coarse groups of events, by how often they happen (`.reg.kind`).
crate::__kinds! {
    /// Per arena, or global: what happens a few times in the life of a program.
    Arena = 0,
    /// Per pool: pools and what belongs to them, made and unmade.
    Pool = 1,
    /// Per trace, that is, per collection.
    Trace = 2,
    /// Per segment: what happens to a piece of memory as a whole.
    Seg = 3,
    /// Per reference, the most frequent of all.
    Ref = 4,
    /// Per object: allocation and its like.
    Object = 5,
    /// Whatever the user of the library asks for, such as labels.
    User = 6,
}
