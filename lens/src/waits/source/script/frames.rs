//! The frames of a stack in text, to addresses and the names of their functions.
//!
//! ```text
//!  "\tffffffff821facd8 __schedule+0x618 ([kernel.kallsyms])" ──▶ ffffffff821facd8, "__schedule"
//!  "\t           ee137 poll+0x7 (/usr/lib/libc.so.6)"        ──▶ 0001_0000_000e_e137, "poll"
//! ```
//!
//! The text gives offsets in the files of a program, and two files have the same offsets. The upper
//! 16 bits of such an address number the file.
//!
//! Design: `.waits.script` in `design/waits.md`.

use super::payload::hex;
use foldhash::fast::RandomState;
use memchr::memmem;
use std::collections::HashMap;

/// Frames of a stack, at most.
const FRAME_COUNT_MAX: usize = 1024;
/// Lines whose meaning is kept, at most.
const LINE_COUNT_MAX: usize = 1 << 16;
/// Files that are numbered, at most.
const FILE_COUNT_MAX: usize = 1 << 14;
/// Bytes of a line that is kept, at most.
const LINE_SIZE_MAX: usize = 512;
/// The upper bits of an address number its file.
const FILE_SHIFT: u32 = 48;

/// The frames of an event, and what was learnt of earlier ones.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The addresses, the innermost first.
    addresses: Vec<u64>,
    /// Functions that were not named before: their addresses and names.
    named: Vec<(u64, Box<[u8]>)>,
    lines: HashMap<Box<[u8]>, Option<u64>, RandomState>,
    files: HashMap<Box<[u8]>, u64, RandomState>,
}

impl Frames {
    /// Takes a line. A line without an address is left out.
    #[inline]
    pub(super) fn push(&mut self, line: &[u8]) {
        if self.addresses.len() >= FRAME_COUNT_MAX {
            return;
        }
        let address = match self.lines.get(line) {
            Some(address) => *address,
            None => self.learn(line),
        };
        self.addresses.extend(address);
    }

    #[cold]
    fn learn(&mut self, line: &[u8]) -> Option<u64> {
        let address = self.read(line);
        if self.lines.len() < LINE_COUNT_MAX && line.len() <= LINE_SIZE_MAX {
            self.lines.insert(line.into(), address);
        }
        address
    }

    fn read(&mut self, line: &[u8]) -> Option<u64> {
        let (address, rest) = hex(line.trim_ascii())?;
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        let (name, file) = match memmem::rfind(rest, b" (") {
            Some(at) => (rest.get(..at)?, rest.get(at + 2..)?.strip_suffix(b")")?),
            None => (rest, &b""[..]),
        };
        // A function that the compiler put into another has no frame of its own.
        if file == b"inlined" {
            return None;
        }
        let address = if address >> 32 == 0 && !file.starts_with(b"[") && !file.is_empty() {
            address | self.file(file) << FILE_SHIFT
        } else {
            address
        };
        let name = without_offset(name);
        if name != b"[unknown]" && !name.is_empty() {
            self.named.push((address, name.into()));
        }
        Some(address)
    }

    /// Returns the number of a file, from 1; 0 of further files.
    fn file(&mut self, path: &[u8]) -> u64 {
        if let Some(number) = self.files.get(path) {
            return *number;
        }
        if self.files.len() >= FILE_COUNT_MAX {
            return 0;
        }
        let number = self.files.len() as u64 + 1;
        self.files.insert(path.into(), number);
        number
    }

    /// Returns the addresses, the innermost frame first.
    pub(super) fn addresses(&self) -> &[u64] {
        &self.addresses
    }

    /// Takes the functions that were not named before.
    pub(super) fn take_named(&mut self) -> Vec<(u64, Box<[u8]>)> {
        std::mem::take(&mut self.named)
    }

    /// Forgets the frames of the event.
    pub(super) fn clear(&mut self) {
        self.addresses.clear();
    }
}

/// Returns the name of a function without the offset after it.
fn without_offset(name: &[u8]) -> &[u8] {
    let Some(at) = memmem::rfind(name, b"+0x") else { return name };
    match name.get(at + 3..).and_then(hex) {
        Some((_, [])) => name.get(..at).unwrap_or(name),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(frames: &mut Frames) -> Vec<(u64, String)> {
        let named = frames.take_named().into_iter();
        named.map(|(at, name)| (at, String::from_utf8_lossy(&name).into_owned())).collect()
    }

    #[test]
    fn a_frame_has_an_address_and_a_function() {
        let mut frames = Frames::default();
        frames.push(b"\tffffffff821facd8 __schedule+0x618 ([kernel.kallsyms])");
        frames.push(b"\t          517510 lld::elf::operator+0x (int)+0x70 (/bin/a b (deleted))");
        frames.push(b"\t    55fa432307f0 [unknown] ([unknown])");
        assert_eq!(
            frames.addresses(),
            [0xFFFF_FFFF_821F_ACD8, 1 << 48 | 0x517510, 0x55FA_4323_07F0]
        );
        let named = names(&mut frames);
        assert_eq!(named[0], (0xFFFF_FFFF_821F_ACD8, "__schedule".into()));
        assert_eq!(named.len(), 2);
    }

    #[test]
    fn one_offset_in_two_files_is_two_addresses() {
        let mut frames = Frames::default();
        frames.push(b"\t ee137 poll+0x7 (/lib/a.so)");
        frames.push(b"\t ee137 read+0x7 (/lib/b.so)");
        frames.push(b"\t ee137 poll+0x7 (/lib/a.so)");
        assert_eq!(frames.addresses(), [1 << 48 | 0xEE137, 2 << 48 | 0xEE137, 1 << 48 | 0xEE137]);
        assert_eq!(names(&mut frames).len(), 2, "each is named once");
    }

    #[test]
    fn lines_without_an_address_and_inlined_functions_are_left_out() {
        let mut frames = Frames::default();
        frames.push(b"\tnothing here");
        frames.push(b"\t ee137 poll (inlined)");
        frames.push(b"\t");
        frames.push(b"\t 11112222333344445 a (b)");
        assert!(frames.addresses().is_empty());
    }
}
