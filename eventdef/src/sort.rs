//! Sorts: the types of an event's parameters.
//!
//! ```text
//!  P pointer   A address   W word      U unsigned   D double   B Boolean   S string, last
//!  4 or 8      4 or 8      4 or 8      4            8          1           any
//! ```
//!
//! Design: `.reg.param.sort` in `design/telemetry.md`; layout: `.event.params` in
//! `design/format.md`.

/// The sort of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Sort {
    /// A pointer to a structure of the program.
    P = b'P',
    /// An address in memory that the program manages.
    A = b'A',
    /// A word: a size, a count, an index.
    W = b'W',
    /// An unsigned integer of 32 bits.
    U = b'U',
    /// A string, always the last parameter.
    S = b'S',
    /// A double-precision floating-point number.
    D = b'D',
    /// A Boolean.
    B = b'B',
}

impl Sort {
    /// Returns the sort with this letter.
    #[must_use]
    pub const fn from_letter(letter: u8) -> Option<Sort> {
        Some(match letter {
            b'P' => Sort::P,
            b'A' => Sort::A,
            b'W' => Sort::W,
            b'U' => Sort::U,
            b'S' => Sort::S,
            b'D' => Sort::D,
            b'B' => Sort::B,
            _ => return None,
        })
    }

    /// Returns the letter of the sort.
    #[must_use]
    pub const fn letter(self) -> char {
        self as u8 as char
    }

    /// Returns whether its values count something.
    #[must_use]
    pub const fn is_number(self) -> bool {
        matches!(self, Sort::W | Sort::U | Sort::D)
    }

    /// Returns the size and alignment in bytes, on a platform whose words have `word_size` bytes. A
    /// string has size 0 here, and alignment 1.
    #[must_use]
    pub const fn size(self, word_size: usize) -> usize {
        match self {
            Sort::P | Sort::A | Sort::W => word_size,
            Sort::U => 4,
            Sort::D => 8,
            Sort::B => 1,
            Sort::S => 0,
        }
    }

    /// Returns the offset of a parameter of this sort that follows `end` bytes of the event.
    #[must_use]
    pub const fn offset_after(self, end: usize, word_size: usize) -> usize {
        let size = self.size(word_size);
        if size <= 1 { end } else { end.next_multiple_of(size) }
    }
}
