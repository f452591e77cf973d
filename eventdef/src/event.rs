//! What the struct of an event type can do: describe itself, and encode itself.
//!
//! ```text
//!  PoolAlloc { pool, addr, size } ── encode ──▶ ParamSink: (offset, value) × parameters
//! ```
//!
//! Layout: `.event.params`, `.event.string` in `design/format.md`.

use crate::{Control, EventType, Kind};

/// An event type as a Rust type. `events!` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be annotated: it is not an event type, or its row is retired",
    label = "not an event type that is recorded",
    note = "a retired row keeps its name and code, for old streams; the program does not record it"
)]
pub trait Event: Copy {
    /// The row of the registry.
    const TYPE: &'static EventType;
    /// The code of the event type.
    const CODE: u16 = Self::TYPE.code;
    /// The index of its kind.
    const KIND: u8 = Self::TYPE.kind;
    /// The kinds of its registry, in ascending order of index.
    const KINDS: &'static [Kind];
    /// The position of its kind in `KINDS`.
    const KIND_PLACE: u8 = kind_place(Self::KINDS, Self::KIND);
    /// Whether it is in the hot variety.
    const ALWAYS: bool = Self::TYPE.always;
    /// The size of the header and the parameters without a string, in bytes. If there is no string,
    /// it is rounded up to a multiple of 8.
    const FIXED_SIZE: usize;

    /// Returns the masks of its registry.
    fn control() -> &'static Control;

    /// Returns the size of this event in bytes, a multiple of 8. The runtime records no event of
    /// more than 65528 bytes.
    fn size(&self) -> usize;

    /// Puts each parameter, and a string's padding, at its offset from the start of the event.
    fn encode(&self, sink: &mut impl ParamSink);
}

/// Returns the position of a kind; the number of kinds if the kind does not exist.
const fn kind_place(kinds: &[Kind], index: u8) -> u8 {
    let mut place = 0;
    while place < kinds.len() && kinds[place].index != index {
        place += 1;
    }
    place as u8
}

/// The destination of the parameters of an event. Integers are in the platform's byte order. A
/// later value replaces an earlier one: the padding of a string may come before the string, and
/// overlap it.
pub trait ParamSink {
    /// Puts a byte at `offset`.
    #[inline(always)]
    fn put_u8(&mut self, offset: usize, value: u8) {
        self.put_bytes(offset, &value.to_ne_bytes());
    }
    /// Puts four bytes at `offset`, a multiple of 4.
    #[inline(always)]
    fn put_u32(&mut self, offset: usize, value: u32) {
        self.put_bytes(offset, &value.to_ne_bytes());
    }
    /// Puts eight bytes at `offset`, a multiple of 8.
    #[inline(always)]
    fn put_u64(&mut self, offset: usize, value: u64) {
        self.put_bytes(offset, &value.to_ne_bytes());
    }
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
