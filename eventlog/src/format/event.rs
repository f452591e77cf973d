//! An event: its header, its parameters, and the base record.
//!
//! ```text
//!  0       2       4       8
//!  │ code  │ size  │ delta │ parameters at their natural alignment │ padding to 8 │
//!  └─ in the writer's byte order ─────────────────────────────────────────────────┘
//! ```
//!
//! Layout: section 3.2 of `design/format.md`.

use bytemuck::{Pod, Zeroable};

/// Size of an event's code, size and delta, in bytes.
pub const EVENT_HEADER_SIZE: usize = size_of::<EventHeader>();
/// Size limit of an event in bytes (`.event.size`). A small block holds less.
pub const EVENT_SIZE_MAX: usize = 65528;
/// The code of a base record (`.event.base`).
pub const BASE_RECORD_CODE: u16 = 0;
/// Size of a base record.
pub const BASE_RECORD_SIZE: usize = size_of::<BaseRecord>();

const _: () = assert!(EVENT_HEADER_SIZE == eventdef::EVENT_HEADER_SIZE);
const _: () = assert!(BASE_RECORD_SIZE == 24);

/// The first eight bytes of an event, in this platform's byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(8))]
pub struct EventHeader {
    /// The event type in the registry of the block (`.event.code`).
    pub code: u16,
    /// Size of the event in bytes, a multiple of 8 (`.event.size`).
    pub size: u16,
    /// Ticks since the base in force (`.event.delta`).
    pub delta: u32,
}

/// A base record (`.event.base`), in this platform's byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BaseRecord {
    /// Code 0, size 24, delta 0.
    pub header: EventHeader,
    /// The base of newer events.
    pub base: u64,
    /// The base of older events.
    pub base_before: u64,
}

impl BaseRecord {
    /// Returns the record that changes the base.
    pub const fn new(base: u64, base_before: u64) -> BaseRecord {
        let header =
            EventHeader { code: BASE_RECORD_CODE, size: BASE_RECORD_SIZE as u16, delta: 0 };
        BaseRecord { header, base, base_before }
    }
}

/// Returns the word that publishes an event: *last* in the low half, *count* in the high half. The
/// writer stores it as one little-endian u64 (`.write.publish`).
#[inline(always)]
pub const fn block_state(last: u32, count: u32) -> u64 {
    last as u64 | (count as u64) << 32
}

/// Returns the number to add to the word when an event of `size` bytes is published: one more
/// event, `size` bytes lower.
#[inline(always)]
pub const fn block_state_step(size: u32) -> u64 {
    (1 << 32) - size as u64
}
