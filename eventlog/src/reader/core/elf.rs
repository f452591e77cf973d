//! An ELF core file: its headers, and the places of memory and notes in it.
//!
//! ```text
//!  │ ELF header │ program headers … │ notes │ memory … │ memory … │ (section 0: how many headers)
//!       └──▶ Elf { loads: [address, size, offset], notes: [offset, size] }
//! ```
//!
//! The reader takes a few headers at a time by positioned reads. Of a file that was cut, it uses
//! what remains. Design: `.debug.core` in `design/telemetry.md`.

use crate::reader::fault::core::CoreError;
use crate::reader::fault::kind::OpenError;
use crate::reader::source::bytes::Source;
use byteorder::{BigEndian, ByteOrder, LittleEndian};
use object::elf::{self, FileHeader32, FileHeader64};
use object::endian::Endianness;
use object::pod;
use object::read::elf::{FileHeader, NoteHeader, ProgramHeader, SectionHeader};

/// Program headers that are read, at most: more than the mappings of any process.
const HEADER_COUNT_MAX: u32 = 1 << 20;
/// Program headers that are read in one step.
const HEADER_COUNT_ONCE: u32 = 512;
/// The largest header that is read on its own.
const HEADER_SIZE_MAX: usize = 64;

/// A stretch of a process's memory that was dumped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) address: u64,
    /// Size in the file, as its header states.
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) is_writable: bool,
}

/// The facts of the headers.
#[derive(Debug)]
pub(super) struct Elf {
    pub(super) big_endian: bool,
    pub(super) word_size: u8,
    pub(super) machine: u16,
    pub(super) loads: Vec<Load>,
    /// Offset and size of each segment of notes.
    pub(super) notes: Vec<(u64, u64)>,
    /// Size of the whole file, as the headers state.
    pub(super) end: u64,
    pub(super) headers_missing: u32,
}

/// Returns whether a file that begins with these bytes is an ELF file: it may be a
/// [`Core`](super::Core).
pub fn is_elf(head: &[u8]) -> bool {
    head.starts_with(&elf::ELFMAG)
}

/// Reads the headers of a core.
pub(super) fn read(source: &dyn Source) -> Result<Elf, OpenError> {
    let mut head = [0; HEADER_SIZE_MAX];
    let size = source.read_at(0, &mut head)?;
    let head = head.get(..size).unwrap_or_default();
    if let Ok(header) = FileHeader64::<Endianness>::parse(head) {
        return headers(source, header);
    }
    match FileHeader32::<Endianness>::parse(head) {
        Ok(header) => headers(source, header),
        Err(_) => Err(CoreError::Header.into()),
    }
}

fn headers<E: FileHeader<Endian = Endianness>>(
    source: &dyn Source,
    header: &E,
) -> Result<Elf, OpenError> {
    let endian = header.endian().map_err(|_| CoreError::Header)?;
    match header.e_type(endian) {
        elf::ET_CORE => {}
        elf::ET_EXEC | elf::ET_DYN => return Err(CoreError::Program.into()),
        _ => return Err(CoreError::Object.into()),
    }
    let mut found = Elf {
        big_endian: header.is_big_endian(),
        word_size: if header.is_class_64() { 8 } else { 4 },
        machine: header.e_machine(endian).0,
        loads: Vec::new(),
        notes: Vec::new(),
        end: 0,
        headers_missing: 0,
    };
    let count = header_count(source, header, endian)?;
    let size = u64::from(header.e_phentsize(endian));
    if size < size_of::<E::ProgramHeader>() as u64 {
        return Err(CoreError::Header.into());
    }
    let start: u64 = header.e_phoff(endian).into();
    found.end = start.saturating_add(size.saturating_mul(u64::from(count)));
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < count {
        let some = (count - at).min(HEADER_COUNT_ONCE);
        bytes.resize(some as usize * size as usize, 0);
        let present = source.read_at(start.saturating_add(u64::from(at) * size), &mut bytes)?;
        let whole = bytes.get(..present).unwrap_or_default().chunks_exact(size as usize);
        at += whole.len() as u32;
        for header in whole.filter_map(|bytes| pod::from_bytes::<E::ProgramHeader>(bytes).ok()) {
            found.add(header.0, endian);
        }
        if present < bytes.len() {
            break;
        }
    }
    found.headers_missing = count - at;
    Ok(found)
}

/// Returns the number of program headers. Section 0 states a number above 65534.
fn header_count<E: FileHeader<Endian = Endianness>>(
    source: &dyn Source,
    header: &E,
    endian: Endianness,
) -> Result<u32, OpenError> {
    let count = header.e_phnum(endian);
    if count != elf::PN_XNUM {
        return Ok(count.into());
    }
    let mut bytes = [0; HEADER_SIZE_MAX];
    let present = source.read_at(header.e_shoff(endian).into(), &mut bytes)?;
    let section = bytes.get(..present).and_then(|b| pod::from_bytes::<E::SectionHeader>(b).ok());
    // If section 0 was cut away, this many headers exist at least.
    let stated = section.map_or(u32::from(count), |(section, _)| section.sh_info(endian));
    Ok(stated.min(HEADER_COUNT_MAX))
}

impl Elf {
    fn add<P: ProgramHeader<Endian = Endianness>>(&mut self, header: &P, endian: Endianness) {
        let offset: u64 = header.p_offset(endian).into();
        let size: u64 = header.p_filesz(endian).into();
        match header.p_type(endian) {
            elf::PT_NOTE => self.notes.push((offset, size)),
            elf::PT_LOAD if size > 0 => self.loads.push(Load {
                address: header.p_vaddr(endian).into(),
                size,
                offset,
                is_writable: header.p_flags(endian).0 & elf::PF_W.0 != 0,
            }),
            _ => return,
        }
        self.end = self.end.max(offset.saturating_add(size));
    }

    /// Returns an unsigned number of 1 to 8 bytes.
    pub(super) fn number(&self, bytes: &[u8]) -> u64 {
        let size = bytes.len();
        if self.big_endian {
            BigEndian::read_uint(bytes, size)
        } else {
            LittleEndian::read_uint(bytes, size)
        }
    }

    /// Returns type, size of the name and size of the contents of the note at the start of these
    /// bytes.
    pub(super) fn note(&self, bytes: &[u8]) -> Option<(u32, u64, u64)> {
        let (header, _) = pod::from_bytes::<elf::NoteHeader32<Endianness>>(bytes).ok()?;
        let endian = if self.big_endian { Endianness::Big } else { Endianness::Little };
        let (name, size) = (header.n_namesz(endian), header.n_descsz(endian));
        Some((header.n_type(endian).0, name.into(), size.into()))
    }
}
