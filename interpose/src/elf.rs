//! The symbols of functions in a file of code.
//!
//! ```text
//!  file ─▶ symbols ─▶ functions, by address        place in the file ─▶ address that symbols have
//! ```
//!
//! Design: `.calls.instrumented.names` in `design/calls.md`.

use object::NativeEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, Sym, SymbolTable};

pub(crate) type Symbol = elf::Sym64<NativeEndian>;
pub(crate) type Symbols<'b> = SymbolTable<'b, FileHeader64<NativeEndian>>;

/// Returns the symbols of a file: all of them, or if it is stripped those that other files see.
pub(crate) fn symbols(bytes: &[u8]) -> Option<Symbols<'_>> {
    let header = FileHeader64::<NativeEndian>::parse(bytes).ok()?;
    let sections = header.sections(NativeEndian, bytes).ok()?;
    let of = |kind| sections.symbols(NativeEndian, bytes, kind).ok();
    of(elf::SHT_SYMTAB).filter(|all| !all.is_empty()).or_else(|| of(elf::SHT_DYNSYM))
}

/// Returns the address that a place in a file has for its symbols.
pub(crate) fn address_of(bytes: &[u8], place: u64) -> Option<u64> {
    let header = FileHeader64::<NativeEndian>::parse(bytes).ok()?;
    let parts = header.program_headers(NativeEndian, bytes).ok()?;
    let loaded = parts.iter().filter(|part| part.p_type(NativeEndian) == elf::PT_LOAD);
    let address = |part: &elf::ProgramHeader64<NativeEndian>| {
        let way = place.checked_sub(part.p_offset(NativeEndian))?;
        (way < part.p_filesz(NativeEndian)).then(|| part.p_vaddr(NativeEndian).wrapping_add(way))
    };
    loaded.into_iter().find_map(address)
}

/// The stub for a function of another file is a symbol without a section, which has an address.
pub(crate) fn is_function(symbol: &Symbol) -> bool {
    let kinds = [elf::STT_FUNC, elf::STT_GNU_IFUNC, elf::STT_NOTYPE];
    kinds.contains(&symbol.st_type()) && symbol.st_value(NativeEndian) != 0
}

/// Returns which of several symbols at one address counts: the one of the least rank.
pub(crate) fn rank(symbol: &Symbol) -> u8 {
    match (symbol.st_type(), symbol.st_bind()) {
        (elf::STT_NOTYPE, _) => 3,
        (_, elf::STB_GLOBAL) => 0,
        (_, elf::STB_WEAK) => 1,
        _ => 2,
    }
}
