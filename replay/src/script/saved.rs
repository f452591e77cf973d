//! Reads saved operations, as far as the file is undamaged.
//!
//! ```text
//!  header ─▶ Counts        section ─ checksum ─▶ operations, one at a time
//!                             └─ wrong, cut, impossible ─▶ a fault, and the end
//! ```
//!
//! Layout: `.rep.file.*` in `design/replay.md`. Writing: `file.rs`.

use super::file::{self, Counts, HEADER_SIZE, SECTION_HEADER_SIZE, SECTION_SIZE_MAX, fact, kind};
use crate::facts::{Facts, Program};
use crate::operation::{Action, Operation};
use std::fmt;
use std::io::{self, ErrorKind, Read};

/// The error of a file without readable operations.
#[derive(Debug)]
pub enum SavedError {
    /// The file cannot be read.
    Io(io::Error),
    /// The file has something else.
    Other,
    /// The header is damaged.
    Header,
    /// The file has a later major version.
    Major(u16),
}

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SavedError::Io(error) => write!(f, "{error}"),
            SavedError::Other => write!(f, "has no saved operations"),
            SavedError::Header => write!(
                f,
                "the header of the saved operations is damaged (wrong checksum); make the file \
                 again with `replay compile`"
            ),
            SavedError::Major(found) => write!(
                f,
                "the saved operations have version {found} of the layout, and this replay knows \
                 {}; use a newer replay",
                file::MAJOR
            ),
        }
    }
}

/// Returns whether a file begins like saved operations.
pub fn is_saved(head: &[u8]) -> bool {
    head.starts_with(&file::MAGIC)
}

/// The operations in a file.
#[derive(Debug)]
pub struct Saved<R> {
    from: R,
    counts: Counts,
    section: Vec<u8>,
    place: usize,
    /// The remaining operations of the section.
    left: u32,
    index: u32,
    /// The offsets of this section and of the next one.
    offset: u64,
    next_offset: u64,
    returned: u64,
    objects: u32,
    threads: u32,
    pools: u32,
    thread: u32,
    time: u64,
    facts: Facts,
    fault: Option<String>,
}

impl<R: Read> Saved<R> {
    /// Reads the header.
    pub fn new(mut from: R) -> Result<Saved<R>, SavedError> {
        let mut header = [0; HEADER_SIZE];
        let size = fill(&mut from, &mut header).map_err(SavedError::Io)?;
        if !is_saved(&header) {
            return Err(SavedError::Other);
        }
        let field = |at: usize| u64_at(&header, at);
        let checksum = u32::from_le_bytes(array(&header, HEADER_SIZE - 4));
        let major = u16::from_le_bytes(array(&header, 8));
        let checked = header.get(..HEADER_SIZE - 4).unwrap_or_default();
        if size < HEADER_SIZE || crc32c::crc32c(checked) != checksum {
            return Err(SavedError::Header);
        }
        if major > file::MAJOR {
            return Err(SavedError::Major(major));
        }
        let counts = Counts {
            operations: field(16),
            objects: field(24),
            threads: field(32) as u32,
            pools: (field(32) >> 32) as u32,
            duration: field(40),
        };
        Ok(Saved {
            from,
            counts,
            section: Vec::new(),
            place: 0,
            left: 0,
            index: 0,
            offset: HEADER_SIZE as u64,
            next_offset: HEADER_SIZE as u64,
            returned: 0,
            objects: 0,
            threads: 0,
            pools: 0,
            thread: 0,
            time: 0,
            facts: Facts::default(),
            fault: None,
        })
    }

    /// Returns the counts in the header.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the facts: complete at the end of the file.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns why reading ended early: the offset, the cause, and the loss.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    fn stop(&mut self, cause: &str) {
        let lost = self.counts.operations.saturating_sub(self.returned);
        self.fault = Some(format!(
            "offset {:#X}: {cause}: the last {lost} of {} operations are lost",
            self.offset, self.counts.operations
        ));
    }

    /// Reads the next section. Returns whether the file has one.
    fn section(&mut self) -> bool {
        self.offset = self.next_offset;
        let mut header = [0; SECTION_HEADER_SIZE];
        match fill(&mut self.from, &mut header) {
            Ok(0) => {
                if self.returned < self.counts.operations {
                    self.stop("the file ends here");
                }
                return false;
            }
            Ok(SECTION_HEADER_SIZE) => {}
            Ok(_) => return self.give_up("the file ends in the header of a section"),
            Err(error) => return self.give_up(&error.to_string()),
        }
        let field = |at: usize| u32::from_le_bytes(array(&header, at));
        let size = field(0) as usize;
        if size > SECTION_SIZE_MAX || field(8) != self.index {
            return self.give_up("no section begins here");
        }
        self.section.resize(size, 0);
        match fill(&mut self.from, &mut self.section) {
            Ok(read) if read == size => {}
            Ok(_) => return self.give_up("the file ends within this section"),
            Err(error) => return self.give_up(&error.to_string()),
        }
        let stated = header.get(..SECTION_HEADER_SIZE - 4).unwrap_or_default();
        if crc32c::crc32c_append(crc32c::crc32c(stated), &self.section) != field(12) {
            return self.give_up("the checksum of this section is wrong");
        }
        self.next_offset += (SECTION_HEADER_SIZE + size) as u64;
        (self.left, self.place) = (field(4), 0);
        self.index = self.index.wrapping_add(1);
        if self.left == 0 {
            self.take_facts();
        }
        true
    }

    /// Reads the facts of a section without operations (`.rep.file.facts`); unknown facts are
    /// skipped.
    fn take_facts(&mut self) {
        while let (Some(what), Some(size)) = (self.byte(), self.varint()) {
            let end = self.place.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
            let mut number = || self.varint().unwrap_or(0);
            let numbers = [number(), number(), number()];
            match (what, numbers) {
                (fact::TOUCHED | fact::TOUCHED_ZEROED, [class, looked, touched]) => {
                    let is_zeroed = what == fact::TOUCHED_ZEROED;
                    self.facts.touched.add_class(is_zeroed, class as u8, looked, touched);
                }
                (fact::PROGRAM, [resident_peak, user_ns, system_ns]) => {
                    self.facts.take(0, Program { resident_peak, user_ns, system_ns });
                }
                _ => {}
            }
            self.place = end;
        }
    }

    fn give_up(&mut self, cause: &str) -> bool {
        self.stop(cause);
        self.left = 0;
        false
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.section.get(self.place)?;
        self.place += 1;
        Some(byte)
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Reads the number of a thread or pool: a known one, or the next.
    fn number(&mut self, count: fn(&mut Self) -> &mut u32) -> Option<u32> {
        let number = u32::try_from(self.varint()?).ok()?;
        let count = count(self);
        if number == *count {
            *count = count.checked_add(1)?;
        }
        (number < *count).then_some(number)
    }

    /// Reads an object, by its age.
    #[inline]
    fn object(&mut self) -> Option<u32> {
        let age = u32::try_from(self.varint()?).ok()?;
        self.objects.checked_sub(1)?.checked_sub(age)
    }

    /// Reads the next operation of the section.
    #[inline]
    fn operation(&mut self) -> Option<Operation> {
        let first = self.byte()?;
        if first & file::THREAD_BIT != 0 {
            self.thread = self.number(|saved| &mut saved.threads)?;
        } else if self.threads == 0 {
            self.threads = 1;
        }
        let mut since = u64::from(first >> file::TIME_SHIFT & ((1 << file::TIME_BITS) - 1));
        if first & file::TIME_MORE != 0 {
            since |= self.varint()?.checked_mul(1 << file::TIME_BITS)?;
        }
        self.time = self.time.checked_add(since)?;
        let action = match first & 7 {
            what @ (kind::ALLOCATE | kind::ALLOCATE_ZEROED | kind::ALLOCATE_IN) => {
                let (mut how, mut pool) = (file::ZEROED_BIT * what, 0);
                if what == kind::ALLOCATE_IN {
                    how = self.byte()?;
                    pool = self.number(|saved| &mut saved.pools)?;
                } else {
                    self.pools = self.pools.max(1);
                }
                let object = self.objects;
                self.objects = object.checked_add(1)?;
                Action::Allocate {
                    object,
                    size: self.varint()?,
                    alignment: 1 << (how & file::ALIGNMENT_MASK),
                    is_zeroed: how & file::ZEROED_BIT != 0,
                    pool,
                }
            }
            what @ (kind::REALLOCATE | kind::REALLOCATE_UNALIGNED) => {
                let is_unaligned = what == kind::REALLOCATE_UNALIGNED;
                Action::Reallocate { object: self.object()?, size: self.varint()?, is_unaligned }
            }
            kind::FREE => Action::Free { object: self.object()? },
            kind::END_POOL => Action::EndPool { pool: self.number(|saved| &mut saved.pools)? },
            _ => return None,
        };
        Some(Operation { time: self.time, thread: self.thread, action })
    }
}

impl<R: Read> Iterator for Saved<R> {
    type Item = Operation;

    #[inline]
    fn next(&mut self) -> Option<Operation> {
        while self.left == 0 {
            if self.fault.is_some() || !self.section() {
                return None;
            }
        }
        self.left -= 1;
        let operation = self.operation();
        match operation {
            Some(_) => self.returned += 1,
            None => drop(self.give_up("an operation of this section is invalid")),
        }
        operation
    }
}

/// Fills a buffer, or as much of it as the input has.
fn fill(from: &mut impl Read, buf: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(size) => done += size,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk().copied()).unwrap_or([0; N])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}
