//! Writes operations to a file, and counts them.
//!
//! ```text
//!  │ header, 64 bytes │ section: its header, 16 bytes; operations │ section … │
//!                       └─ kind, thread?, time │ operands ─┘ 1 to about 6 bytes each
//! ```
//!
//! Layout: `.rep.file.*` in `design/replay.md`. Reading: `saved.rs`.

use super::renumber::Renumber;
use crate::facts::Facts;
use crate::operation::{Action, Operation};
use std::io::{self, Seek, SeekFrom, Write};

/// The first bytes of a file: they are not text, and conversions of text damage them.
pub(crate) const MAGIC: [u8; 8] = *b"\x89OPS\r\n\x1A\n";
/// The version of the layout.
pub(crate) const MAJOR: u16 = 1;
pub(crate) const MINOR: u16 = 2;
pub(crate) const HEADER_SIZE: usize = 64;
pub(crate) const SECTION_HEADER_SIZE: usize = 16;
/// The maximum size of the operations in a section.
pub(crate) const SECTION_SIZE_MAX: usize = 1 << 16;
pub(crate) const OPERATION_SIZE_MAX: usize = 64;

/// The action of an operation, in the low three bits of its first byte.
pub(crate) mod kind {
    pub(crate) const ALLOCATE: u8 = 0;
    pub(crate) const ALLOCATE_ZEROED: u8 = 1;
    /// With alignment, pool and whether it is zeroed.
    pub(crate) const ALLOCATE_IN: u8 = 2;
    pub(crate) const REALLOCATE: u8 = 3;
    pub(crate) const FREE: u8 = 4;
    pub(crate) const END_POOL: u8 = 5;
    /// The object need no longer be aligned as before.
    pub(crate) const REALLOCATE_UNALIGNED: u8 = 6;
}
/// The thread differs from that of the operation before.
pub(crate) const THREAD_BIT: u8 = 0x08;
/// The place of the low bits of the time since the operation before, and their number.
pub(crate) const TIME_SHIFT: u32 = 4;
pub(crate) const TIME_BITS: u32 = 3;
/// More of the time follows.
pub(crate) const TIME_MORE: u8 = 0x80;
/// The memory is filled with zeros.
pub(crate) const ZEROED_BIT: u8 = 0x20;
/// The logarithm of the alignment.
pub(crate) const ALIGNMENT_MASK: u8 = 0x1F;

/// The counts in the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations, of any kind.
    pub operations: u64,
    /// Objects.
    pub objects: u64,
    /// Threads.
    pub threads: u32,
    /// Pools.
    pub pools: u32,
    /// The time of the last operation, in ns.
    pub duration: u64,
}

/// Writes operations, and returns their counts.
pub fn write(
    operations: impl IntoIterator<Item = Operation>,
    out: &mut (impl Write + Seek),
) -> io::Result<Counts> {
    write_with(operations, |_| Facts::default(), out)
}

/// Writes operations and the facts of the recording, which `facts` returns after the last
/// operation.
pub(crate) fn write_with<I: IntoIterator<Item = Operation>>(
    operations: I,
    facts: impl FnOnce(&I::IntoIter) -> Facts,
    out: &mut (impl Write + Seek),
) -> io::Result<Counts> {
    out.write_all(&[0; HEADER_SIZE])?;
    let mut section = Section::default();
    let mut renumber = Renumber::default();
    let mut counts = Counts::default();
    let mut operations = operations.into_iter();
    for operation in operations.by_ref() {
        if section.bytes.len() + OPERATION_SIZE_MAX > SECTION_SIZE_MAX {
            section.write(out)?;
        }
        let operation = renumber.apply(operation);
        section.add(&operation, counts.objects);
        counts.take(&operation);
    }
    section.write(out)?;
    section.bytes = fact_bytes(&facts(&operations));
    section.write(out)?;
    out.seek(SeekFrom::Start(0))?;
    out.write_all(&counts.header())?;
    out.seek(SeekFrom::End(0))?;
    out.flush()?;
    Ok(counts)
}

impl Counts {
    fn take(&mut self, operation: &Operation) {
        self.operations += 1;
        self.duration = self.duration.max(operation.time);
        self.threads = self.threads.max(operation.thread + 1);
        match operation.action {
            Action::Allocate { object, pool, .. } => {
                self.objects = self.objects.max(u64::from(object) + 1);
                self.pools = self.pools.max(pool + 1);
            }
            Action::EndPool { pool } => self.pools = self.pools.max(pool + 1),
            Action::Reallocate { .. } | Action::Free { .. } => {}
        }
    }

    /// The header (`.rep.file.header`).
    fn header(&self) -> [u8; HEADER_SIZE] {
        let mut header = Vec::with_capacity(HEADER_SIZE);
        header.extend(MAGIC);
        header.extend(MAJOR.to_le_bytes());
        header.extend(MINOR.to_le_bytes());
        header.extend([0; 4]);
        header.extend(self.operations.to_le_bytes());
        header.extend(self.objects.to_le_bytes());
        header.extend(self.threads.to_le_bytes());
        header.extend(self.pools.to_le_bytes());
        header.extend(self.duration.to_le_bytes());
        header.resize(HEADER_SIZE - 4, 0);
        header.extend(crc32c::crc32c(&header).to_le_bytes());
        let mut bytes = [0; HEADER_SIZE];
        bytes.iter_mut().zip(header).for_each(|(to, from)| *to = from);
        bytes
    }
}

/// A section that is being filled.
#[derive(Debug, Default)]
struct Section {
    index: u32,
    count: u32,
    bytes: Vec<u8>,
    thread: u32,
    time: u64,
}

impl Section {
    /// Adds an operation (`.rep.file.operation`); `next` is the number of the next object.
    #[inline]
    fn add(&mut self, operation: &Operation, next: u64) {
        let since = operation.time.saturating_sub(self.time);
        let time_low = (since as u8 & ((1 << TIME_BITS) - 1)) << TIME_SHIFT;
        let more = if since >> TIME_BITS > 0 { TIME_MORE } else { 0 };
        let thread = if operation.thread == self.thread { 0 } else { THREAD_BIT };
        let kind = match operation.action {
            Action::Allocate { alignment: 1, is_zeroed: false, pool: 0, .. } => kind::ALLOCATE,
            Action::Allocate { alignment: 1, pool: 0, .. } => kind::ALLOCATE_ZEROED,
            Action::Allocate { .. } => kind::ALLOCATE_IN,
            Action::Reallocate { is_unaligned: false, .. } => kind::REALLOCATE,
            Action::Reallocate { .. } => kind::REALLOCATE_UNALIGNED,
            Action::Free { .. } => kind::FREE,
            Action::EndPool { .. } => kind::END_POOL,
        };
        self.bytes.push(kind | thread | time_low | more);
        if thread != 0 {
            varint(&mut self.bytes, u64::from(operation.thread));
        }
        if more != 0 {
            varint(&mut self.bytes, since >> TIME_BITS);
        }
        // The age of an object is a smaller number than the object.
        let age = |object: u32| next.saturating_sub(u64::from(object) + 1);
        match operation.action {
            Action::Allocate { size, alignment, is_zeroed, pool, .. } => {
                if kind == kind::ALLOCATE_IN {
                    let zeroed = if is_zeroed { ZEROED_BIT } else { 0 };
                    self.bytes.push(alignment.max(1).ilog2().min(31) as u8 | zeroed);
                    varint(&mut self.bytes, u64::from(pool));
                }
                varint(&mut self.bytes, size);
            }
            Action::Reallocate { object, size, .. } => {
                varint(&mut self.bytes, age(object));
                varint(&mut self.bytes, size);
            }
            Action::Free { object } => varint(&mut self.bytes, age(object)),
            Action::EndPool { pool } => varint(&mut self.bytes, u64::from(pool)),
        }
        (self.time, self.thread) = (self.time.max(operation.time), operation.thread);
        self.count += 1;
    }

    /// Writes the section (`.rep.file.section`), and begins the next one.
    fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let mut header = Vec::with_capacity(SECTION_HEADER_SIZE);
        header.extend((self.bytes.len() as u32).to_le_bytes());
        header.extend(self.count.to_le_bytes());
        header.extend(self.index.to_le_bytes());
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&header), &self.bytes);
        header.extend(checksum.to_le_bytes());
        out.write_all(&header)?;
        out.write_all(&self.bytes)?;
        self.bytes.clear();
        (self.index, self.count) = (self.index.wrapping_add(1), 0);
        Ok(())
    }
}

pub(crate) mod fact {
    pub(crate) const TOUCHED: u8 = 0;
    pub(crate) const TOUCHED_ZEROED: u8 = 1;
    pub(crate) const PROGRAM: u8 = 2;
}

/// Facts (`.rep.file.facts`).
fn fact_bytes(facts: &Facts) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut add = |kind: u8, numbers: [u64; 3]| {
        let mut body = Vec::new();
        numbers.into_iter().for_each(|number| varint(&mut body, number));
        bytes.push(kind);
        varint(&mut bytes, body.len() as u64);
        bytes.extend(body);
    };
    for (is_zeroed, class, looked, touched) in facts.touched.rows() {
        let kind = if is_zeroed { fact::TOUCHED_ZEROED } else { fact::TOUCHED };
        add(kind, [class.into(), looked, touched]);
    }
    if let Some(program) = facts.program() {
        add(fact::PROGRAM, [program.resident_peak, program.user_ns, program.system_ns]);
    }
    bytes
}

/// Writes seven bits a byte, the low ones first; the top bit says that more bytes follow.
fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
