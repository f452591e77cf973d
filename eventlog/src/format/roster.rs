//! The roster of a recording: a file in which each of its processes reports about itself.
//!
//! ```text
//!  │ count: 8 │ 0: 24 │ process: 4 │ what: 4 │ number: 8 │ name: 16 │ process … │
//!  0                  32                                             64
//! ```
//!
//! A process takes the next place by counting up, and writes `what` last. A place without `what`
//! belongs to a process that was killed meanwhile. All numbers are little-endian. Design:
//! `.rep.record.roster` in `design/replay.md`.

use bytemuck::CheckedBitPattern;

/// Size of the file in bytes; less where files may not be that large. Reports beyond it are only
/// counted.
pub const ROSTER_SIZE: usize = 1 << 21;
/// Size of an entry, and offset of the first entry.
pub const ROSTER_ENTRY_SIZE: usize = 32;
/// Size of the smallest file.
pub const ROSTER_SIZE_MIN: usize = 1 << 12;
/// Offset of the report's type in an entry.
pub const ROSTER_WHAT: usize = 4;
/// Offset of the number in an entry.
pub const ROSTER_NUMBER: usize = 8;
/// Offset of the name in an entry.
pub const ROSTER_NAME: usize = 16;

/// What a process reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum Presence {
    /// It began as a program. The number is 1 if the program has a function of its own in place of
    /// the one that records: malloc, or the hook of instrumented functions.
    Loaded = 1,
    /// It was forked.
    Forked = 2,
    /// It made a call that is recorded.
    Recorded = 3,
    /// It ended normally. The number counts the events that it lost.
    Ended = 4,
    /// It is about to execute another program. The name is that program. The number is the cause
    /// if that starts without the library that records ([`Unloadable`]).
    Executes = 5,
    /// It was started with a program; name and number as before.
    Spawned = 6,
    /// It had no memory for what finds calling stacks. The number counts the calls without one.
    Stackless = 7,
    /// It loads a library whose calls are not recorded. The name is that library. The number is 1
    /// for RTLD_DEEPBIND, and 2 for a namespace of its own (dlmopen).
    Unreached = 8,
}

/// Why a program starts without the library that records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
pub enum Unloadable {
    /// It has another C library.
    Linker = 1,
    /// It is of another processor, or has words of another size.
    Machine = 2,
    /// A compiler built it with a sanitizer, which needs a malloc of its own.
    Sanitizer = 3,
    /// It is statically linked.
    Static = 4,
}

impl Unloadable {
    /// Returns the cause with a number.
    pub fn of(number: u64) -> Option<Unloadable> {
        use Unloadable::{Linker, Machine, Sanitizer, Static};
        [Linker, Machine, Sanitizer, Static].into_iter().find(|cause| *cause as u64 == number)
    }
}

/// Sanitizers that have a malloc of their own: the function that each defines, the beginning of the
/// name of its library, its name, and the option of compilers.
pub const SANITIZERS: [(&str, &str, &str, &str); 5] = [
    ("__asan_init", "libasan", "AddressSanitizer", "address"),
    ("__hwasan_init", "libhwasan", "HWAddressSanitizer", "hwaddress"),
    ("__tsan_init", "libtsan", "ThreadSanitizer", "thread"),
    ("__msan_init", "libmsan", "MemorySanitizer", "memory"),
    ("__lsan_init", "liblsan", "LeakSanitizer", "leak"),
];

/// A report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RosterEntry<'a> {
    /// The process.
    pub process: u32,
    /// The report's type.
    pub what: Presence,
    /// The number, whose meaning [`Presence`] states; otherwise 0.
    pub number: u64,
    /// The name; its end is cut if it is long.
    pub name: &'a [u8],
}

/// Returns the reports in order, and how many did not fit into the file.
pub fn roster(bytes: &[u8]) -> (impl Iterator<Item = RosterEntry<'_>>, u64) {
    let count = bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    let room = (bytes.len() / ROSTER_ENTRY_SIZE).saturating_sub(1);
    let beyond = count.saturating_sub(room as u64);
    let present = usize::try_from(count - beyond).unwrap_or(room);
    let entries = bytes.chunks_exact(ROSTER_ENTRY_SIZE).skip(1).take(present);
    (entries.filter_map(entry), beyond)
}

fn entry(bytes: &[u8]) -> Option<RosterEntry<'_>> {
    let word = |at: usize| bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word));
    let what = word(ROSTER_WHAT)?;
    let number = bytes.get(ROSTER_NUMBER..)?.first_chunk().map(|word| u64::from_le_bytes(*word))?;
    let name = bytes.get(ROSTER_NAME..)?.split(|byte| *byte == 0).next()?;
    let what = bytemuck::checked::try_cast(what).ok()?;
    Some(RosterEntry { process: word(0)?, what, number, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.rep.record.roster`
    #[test]
    fn a_roster_with_a_false_count_is_read_to_its_end() {
        let mut bytes = vec![0; 8 * ROSTER_ENTRY_SIZE];
        bytes[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        bytes[32..36].copy_from_slice(&4711u32.to_le_bytes());
        bytes[36] = Presence::Ended as u8;
        bytes[40] = 9;
        bytes[48..50].copy_from_slice(b"sh");
        bytes[64 + 4] = 200;
        let (entries, beyond) = roster(&bytes);
        let ended = RosterEntry { process: 4711, what: Presence::Ended, number: 9, name: b"sh" };
        assert_eq!(entries.collect::<Vec<_>>(), [ended]);
        assert_eq!(beyond, u64::MAX - 7);
        assert_eq!(roster(&bytes[..40]).0.count(), 0);
        assert_eq!(roster(&[]).0.count(), 0);
    }
}
