//! What each event type's struct can do: say what it is, and lay itself out.
//!
//! ```text
//!  PoolAlloc { pool, addr, size } ── encode ──▶ ParamSink: (offset, value) × parameters
//! ```
//!
//! Layout: `.event.params`, `.event.string` in `design/format.md`.

use crate::{Control, EventType, Kind};

/// An event type as a Rust type. Implemented by `events!`, and by nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be annotated: it is not an event type, or its row is retired",
    label = "not an event type that is recorded",
    note = "a retired row keeps its name and code, for old streams; it is no longer recorded"
)]
pub trait Event: Copy {
    /// The row of the registry.
    const TYPE: &'static EventType;
    /// The code of the event type.
    const CODE: u16 = Self::TYPE.code;
    /// The index of its kind.
    const KIND: u8 = Self::TYPE.kind;
    /// The kinds of its registry, ascending by index.
    const KINDS: &'static [Kind];
    /// The place of its kind among them.
    const KIND_PLACE: u8 = kind_place(Self::KINDS, Self::KIND);
    /// Whether it is in the hot variety.
    const ALWAYS: bool = Self::TYPE.always;
    /// Size of the header and the parameters but for a string, in bytes; without a string, rounded
    /// up to a multiple of 8.
    const FIXED_SIZE: usize;

    /// The masks of its registry.
    fn control() -> &'static Control;

    /// Size of this event, in bytes: a multiple of 8. Beyond 65528 it cannot be recorded.
    fn size(&self) -> usize;

    /// Puts every parameter (and a string's padding) at its offset from the start of the event.
    fn encode(&self, sink: &mut impl ParamSink);
}

/// The place of a kind among those of its registry; that of none, where there is none.
const fn kind_place(kinds: &[Kind], index: u8) -> u8 {
    let mut place = 0;
    while place < kinds.len() && kinds[place].index != index {
        place += 1;
    }
    place as u8
}

/// Where the parameters of an event are put. All integers are in the platform's byte order. What is
/// put later holds: the padding of a string may be put before the string, over a longer stretch.
pub trait ParamSink {
    /// Puts a byte at `offset`.
    fn put_u8(&mut self, offset: usize, value: u8);
    /// Puts four bytes at `offset`, a multiple of 4.
    fn put_u32(&mut self, offset: usize, value: u32);
    /// Puts eight bytes at `offset`, a multiple of 8.
    fn put_u64(&mut self, offset: usize, value: u64);
    /// Puts bytes at `offset`.
    fn put_bytes(&mut self, offset: usize, value: &[u8]);

    /// Puts a word of the platform at `offset`, a multiple of its size.
    #[inline(always)]
    fn put_word(&mut self, offset: usize, value: usize) {
        #[cfg(target_pointer_width = "64")]
        self.put_u64(offset, value as u64);
        #[cfg(not(target_pointer_width = "64"))]
        self.put_u32(offset, value as u32);
    }
}
