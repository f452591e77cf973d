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

macro_rules! addresses {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    )*};
}

addresses! {
    /// Sort P: a pointer to a structure of the program. A number, which nobody dereferences.
    P;
    /// Sort A: an address in memory that the program manages. A number, which nobody dereferences.
    A;
}

/// Sort W: a word, such as a size, a count or an index.
pub type W = usize;

/// Sort U: an unsigned integer of 32 bits.
pub type U = u32;

/// Sort D: a double-precision floating-point number.
pub type D = f64;

/// Sort B: a Boolean.
pub type B = bool;

/// Sort S: a string, usually UTF-8. Nothing checks its encoding.
pub type S<'a> = &'a [u8];

/// How a field is encoded into an event. For the code that `events!` makes.
#[doc(hidden)]
pub trait Field: Copy {
    /// Puts the value at `offset`.
    fn put(self, offset: usize, sink: &mut impl ParamSink);

    /// Returns the size of an event whose parameters up to this one have `size` bytes. Only a
    /// string adds to it.
    #[inline(always)]
    fn size_after(self, size: usize) -> usize {
        size
    }
}

macro_rules! fields {
    ($($type:ident $put:ident $field:ident => $value:expr;)*) => {$(
        impl Field for $type {
            #[inline(always)]
            fn put(self, offset: usize, sink: &mut impl ParamSink) {
                let $field = self;
                sink.$put(offset, $value);
            }
        }
    )*};
}

fields! {
    P put_word pointer => pointer.0;
    A put_word address => address.0;
    W put_word word => word;
    U put_u32 number => number;
    D put_u64 number => number.to_bits();
    B put_u8 truth => u8::from(truth);
}

impl Field for S<'_> {
    /// Puts the string over its padding, which lies within the last eight bytes of the event. If
    /// these hold nothing else, one store puts them: no loop, and no call of `memset`.
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

    /// Adds the string with one to eight bytes of padding.
    #[inline(always)]
    fn size_after(self, size: usize) -> usize {
        (size + self.len() + 1).next_multiple_of(8)
    }
}
