//! Numbers and strings, one after another, in the byte order of their machine.
//!
//! ```text
//!  Cursor { rest } ── u32 ──▶ Some(number), and the rest is 4 bytes shorter; None at the end
//! ```

use super::format::Machine;

/// The bytes that were not read yet.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'b> {
    /// The byte order of the numbers.
    pub machine: Machine,
    /// The bytes, from the next one on.
    pub rest: &'b [u8],
}

impl<'b> Cursor<'b> {
    /// Begins at the first byte.
    pub fn new(machine: Machine, rest: &'b [u8]) -> Cursor<'b> {
        Cursor { machine, rest }
    }

    /// Takes bytes; `None`, and nothing is taken, if fewer are left.
    #[inline]
    pub fn take(&mut self, size: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Takes as many bytes as a number states.
    pub fn take_u64(&mut self, size: u64) -> Option<&'b [u8]> {
        self.take(usize::try_from(size).ok()?)
    }

    /// Takes a number of 8 bits; `None` if the bytes end before it.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// Takes a number of 16 bits; `None` if the bytes end before it.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.machine.number(self.take(2)?).map(|number| number as u16)
    }

    /// Takes a number of 32 bits; `None` if the bytes end before it.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.machine.number(self.take(4)?).map(|number| number as u32)
    }

    /// Takes a number of 64 bits; `None` if the bytes end before it.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.machine.number(self.take(8)?)
    }

    /// Takes bytes up to a zero byte, and that byte.
    pub fn string(&mut self) -> Option<&'b [u8]> {
        let end = memchr::memchr(0, self.rest)?;
        let string = self.take(end)?;
        self.take(1)?;
        Some(string)
    }
}

/// Returns bytes up to their first zero byte.
pub fn until_zero(bytes: &[u8]) -> &[u8] {
    memchr::memchr(0, bytes).and_then(|end| bytes.get(..end)).unwrap_or(bytes)
}
