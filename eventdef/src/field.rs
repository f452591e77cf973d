//! The fields of an event's struct: one type for each sort.
//!
//! ```text
//!  row       pool: P    addr: A    size: W    rank: U    spare: D    high: B    string: S
//!  field     P(usize)   A(usize)   usize      u32        f64         bool       &'a [u8]
//!  in bytes  word       word       word       u32        u64         u8         bytes, padding
//! ```
//!
//! Layout: `.event.params`, `.event.string` in `design/format.md`.

use crate::ParamSink;

/// Sort P: a pointer to a structure of the program. A number, which is never followed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct P(pub usize);

/// Sort A: an address in memory that the program manages. A number, which is never followed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct A(pub usize);

/// Sort W: a word, such as a size, a count or an index.
pub type W = usize;

/// Sort U: an unsigned integer of 32 bits.
pub type U = u32;

/// Sort D: a double-precision floating-point number.
pub type D = f64;

/// Sort B: a Boolean.
pub type B = bool;

/// Sort S: a string. Usually UTF-8, which nobody checks.
pub type S<'a> = &'a [u8];

impl core::fmt::Debug for P {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl core::fmt::Debug for A {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// How a field is laid into an event. For the code that `events!` makes.
#[doc(hidden)]
pub trait Field: Copy {
    /// Puts the value at `offset`.
    fn put(self, offset: usize, sink: &mut impl ParamSink);

    /// The size of an event whose parameters up to this one have `size` bytes. Only a string adds
    /// to it.
    #[inline(always)]
    fn size_after(self, size: usize) -> usize {
        size
    }
}

impl Field for P {
    #[inline(always)]
    fn put(self, offset: usize, sink: &mut impl ParamSink) {
        sink.put_word(offset, self.0);
    }
}

impl Field for A {
    #[inline(always)]
    fn put(self, offset: usize, sink: &mut impl ParamSink) {
        sink.put_word(offset, self.0);
    }
}

impl Field for W {
    #[inline(always)]
    fn put(self, offset: usize, sink: &mut impl ParamSink) {
        sink.put_word(offset, self);
    }
}

impl Field for U {
    #[inline(always)]
    fn put(self, offset: usize, sink: &mut impl ParamSink) {
        sink.put_u32(offset, self);
    }
}

impl Field for D {
    #[inline(always)]
    fn put(self, offset: usize, sink: &mut impl ParamSink) {
        sink.put_u64(offset, self.to_bits());
    }
}

impl Field for B {
    #[inline(always)]
    fn put(self, offset: usize, sink: &mut impl ParamSink) {
        sink.put_u8(offset, u8::from(self));
    }
}

impl Field for S<'_> {
    /// The padding lies within the last eight bytes of the event. Where these hold nothing else
    /// than string, they are put as one, and the string over them: no loop, and no call of
    /// `memset`.
    #[inline(always)]
    fn put(self, offset: usize, sink: &mut impl ParamSink) {
        let size = self.size_after(offset);
        let padding_size = size - (offset + self.len());
        let mut last = [0; 8];
        last[7] = (padding_size - 1) as u8;
        if offset.is_multiple_of(8) {
            sink.put_u64(size - 8, u64::from_ne_bytes(last));
        } else {
            sink.put_bytes(size - padding_size, last.split_at(8 - padding_size).1);
        }
        sink.put_bytes(offset, self);
    }

    /// At least one byte of padding, at most eight.
    #[inline(always)]
    fn size_after(self, size: usize) -> usize {
        (size + self.len() + 1).next_multiple_of(8)
    }
}
