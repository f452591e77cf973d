//! The registry as data: what `events!` makes of its list.
//!
//! ```text
//!  Registry ── kinds: [Kind]
//!           └─ event_types: [EventType] ── params: [Param]
//! ```
//!
//! Design: `.reg`, `.sol.relation`, `.sol.version` in `design/telemetry.md`.

use crate::Sort;

/// Kinds of a registry, at most.
pub const KIND_COUNT_MAX: usize = 64;
/// The highest code that a program's registry may use; those above belong to the runtime's own.
pub const CODE_MAX: u16 = 0xFEFF;
/// Size of the code, size and ticks that every event begins with, in bytes.
pub const EVENT_HEADER_SIZE: usize = 8;
/// The most that the fixed part of an event may have, header included, in bytes, so that it fits a
/// block of any size.
pub const EVENT_FIXED_SIZE_MAX: usize = 3968;

/// A three-part version (`.sol.version`, `.version.parts`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Incremented when the format of everything changes.
    pub major: u16,
    /// Incremented when an event type changes its form or meaning.
    pub median: u16,
    /// Incremented when an event type is added.
    pub minor: u16,
}

impl core::fmt::Display for Version {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.median, self.minor)
    }
}

/// A list of event types, and the kinds that they fall into.
#[derive(Debug)]
pub struct Registry {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: Version,
    /// What it is about.
    pub doc: &'static str,
    /// Kinds, in ascending order of index.
    pub kinds: &'static [Kind],
    /// Event types, retired ones included, in ascending order of code.
    pub event_types: &'static [EventType],
}

/// A coarse group of event types, which is switched on and off as one (`.sol.kind`).
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its bit in the masks: 0 to 63.
    pub index: u8,
    /// Its name.
    pub name: &'static str,
    /// What falls into it.
    pub doc: &'static str,
}

/// A row of the registry: one type of event.
#[derive(Clone, Copy, Debug)]
pub struct EventType {
    /// Its name.
    pub name: &'static str,
    /// Its code, which is never used again for another.
    pub code: u16,
    /// The index of its kind.
    pub kind: u8,
    /// Whether it is compiled into the hot variety too (`.reg.always`).
    pub always: bool,
    /// Whether it is no longer recorded, and only keeps its code.
    pub retired: bool,
    /// What it says.
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
    /// What it says.
    pub doc: &'static str,
}
