//! The parts of an ELF file that its control flow needs: code, data, functions, imports.
//!
//! ```text
//!  bytes ─▶ sections ─▶ code(address), data(address)
//!       ├─▶ symbols, .eh_frame ─▶ where functions begin and end
//!       └─▶ relocations ─▶ slot ─▶ name of an import │ an address of the image itself
//! ```
//!
//! Addresses are those of the file: where the image lies in memory is added elsewhere.

use super::error::BinaryError;
use super::landing;
use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, Pointer, UnwindSection};
use object::elf::{R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_RELATIVE};
use object::read::elf::ElfFile64;
use object::{
    Architecture, LittleEndian as Little, Object, ObjectKind, ObjectSection, ObjectSymbol,
    ObjectSymbolTable, RelocationFlags, RelocationTarget, SectionFlags, SymbolKind,
};
use std::collections::{BTreeMap, BTreeSet};

/// The most functions that an image may have.
const FUNCTIONS_MAX: usize = 1 << 20;

/// A function of an image: where it begins and ends, and its name if the image has symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The address of its first instruction.
    pub(super) start: u64,
    /// The address after its last instruction.
    pub(super) end: u64,
    /// Its symbol, mangled, or `fn_` and its address in hexadecimal.
    pub(super) name: String,
}

/// A part of the file that is loaded into memory.
#[derive(Clone, Copy, Debug)]
struct Area<'a> {
    start: u64,
    bytes: &'a [u8],
    is_code: bool,
    is_stubs: bool,
    is_slots: bool,
}

/// An ELF image for x86-64.
#[derive(Debug)]
pub(super) struct Image<'a> {
    areas: Vec<Area<'a>>,
    /// Slots that the loader fills with the address of an import.
    imports: BTreeMap<u64, String>,
    /// Slots that the loader fills with an address of the image.
    relative: BTreeMap<u64, u64>,
    /// Where the program goes on when a callee throws, each with the code of its function.
    pub(super) landings: BTreeMap<u64, (u64, u64)>,
    /// By their beginnings.
    pub(super) extents: BTreeMap<u64, Extent>,
    /// Beginnings of code that is part of another function.
    pub(super) parts: BTreeSet<u64>,
    /// Addresses of data that some code names.
    pub(super) named: BTreeSet<u64>,
    pub(super) entry: u64,
    /// Whether it lies at the addresses of the file: each word may be an address.
    pub(super) is_fixed: bool,
}

impl<'a> Image<'a> {
    /// Reads an image.
    ///
    /// # Errors
    ///
    /// The bytes are not an executable or a shared object of ELF for x86-64.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Image<'a>, BinaryError> {
        let file = ElfFile64::<Little>::parse(bytes)
            .map_err(|error| BinaryError::NotElf(error.to_string()))?;
        if file.architecture() != Architecture::X86_64 {
            return Err(BinaryError::OtherMachine);
        }
        let mut image = Image {
            areas: Vec::new(),
            imports: BTreeMap::new(),
            relative: BTreeMap::new(),
            landings: BTreeMap::new(),
            extents: BTreeMap::new(),
            parts: BTreeSet::new(),
            named: BTreeSet::new(),
            entry: file.entry(),
            is_fixed: file.kind() == ObjectKind::Executable,
        };
        image.read_areas(&file);
        image.read_relocations(&file);
        image.read_packed(&file);
        image.read_symbols(&file);
        image.read_frames(&file);
        if image.extents.is_empty() {
            return Err(BinaryError::NoFunctions);
        }
        Ok(image)
    }

    fn read_areas(&mut self, file: &ElfFile64<'a, Little>) {
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            let is_loaded = sh_flags.contains(object::elf::SHF_ALLOC);
            let Ok(bytes) = section.data() else { continue };
            if !is_loaded || bytes.is_empty() {
                continue;
            }
            let name = section.name().unwrap_or_default();
            self.areas.push(Area {
                start: section.address(),
                bytes,
                is_code: sh_flags.contains(object::elf::SHF_EXECINSTR),
                is_stubs: name == ".plt" || name.starts_with(".plt."),
                is_slots: name == ".got" || name.starts_with(".got."),
            });
        }
        self.areas.sort_by_key(|area| area.start);
    }

    fn read_relocations(&mut self, file: &ElfFile64<'a, Little>) {
        let Some(relocations) = file.dynamic_relocations() else { return };
        let symbols = file.dynamic_symbol_table();
        for (slot, relocation) in relocations {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            match (r_type, relocation.target()) {
                (R_X86_64_RELATIVE, _) => {
                    self.relative.insert(slot, relocation.addend() as u64);
                }
                (R_X86_64_GLOB_DAT | R_X86_64_JUMP_SLOT, RelocationTarget::Symbol(index)) => {
                    let Some(symbol) = symbols.as_ref().and_then(|t| t.symbol_by_index(index).ok())
                    else {
                        continue;
                    };
                    if symbol.is_definition() {
                        self.relative.insert(slot, symbol.address());
                    } else {
                        self.imports.insert(slot, symbol.name().unwrap_or_default().to_owned());
                    }
                }
                _ => {}
            }
        }
    }

    fn read_symbols(&mut self, file: &ElfFile64<'a, Little>) {
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let (start, size) = (symbol.address(), symbol.size());
            let Some(end) = start.checked_add(size) else { continue };
            let is_function = symbol.kind() == SymbolKind::Text && symbol.is_definition();
            if !is_function || size == 0 || self.extents.len() >= FUNCTIONS_MAX {
                continue;
            }
            let name = symbol.name().unwrap_or_default().to_owned();
            if name.is_empty() || self.code(start).is_none() || self.is_stub(start) {
                continue;
            }
            let known = self.extents.get(&start);
            // Of several names the global one, then the first by alphabet: always the same.
            let rank = |is_local: bool, name: &str| (is_local, name.to_owned());
            let is_better = known.is_none_or(|known| {
                end > known.end
                    || end == known.end && rank(symbol.is_local(), &name) < rank(true, &known.name)
            });
            if is_better {
                self.extents.insert(start, Extent { start, end, name });
            }
        }
    }

    /// Adds the functions that `.eh_frame` knows and the symbols do not.
    fn read_frames(&mut self, file: &ElfFile64<'a, Little>) {
        let Some(section) = file.section_by_name(".eh_frame") else { return };
        let Ok(bytes) = section.data() else { return };
        let text = file.section_by_name(".text").map_or(0, |text| text.address());
        let bases = BaseAddresses::default().set_eh_frame(section.address()).set_text(text);
        let frames = EhFrame::new(bytes, LittleEndian);
        let mut entries = frames.entries(&bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else { continue };
            let (start, size) = (fde.initial_address(), fde.len());
            let Some(end) = start.checked_add(size) else { continue };
            if let Some(Pointer::Direct(table)) = fde.lsda() {
                let pads = landing::pads(self.rest(table).unwrap_or_default(), table, start);
                self.landings.extend(pads.into_iter().map(|pad| (pad, (start, end))));
            }
            let is_inside = self.extent_at(start).is_some();
            let is_code = self.code(start).is_some() && !self.is_stub(start);
            if size > 0 && is_code && !is_inside && self.extents.len() < FUNCTIONS_MAX {
                let name = format!("fn_{start:x}");
                self.extents.insert(start, Extent { start, end, name });
            }
        }
    }

    fn area(&self, address: u64) -> Option<&Area<'a>> {
        let at = self.areas.partition_point(|area| area.start <= address);
        let area = self.areas.get(at.checked_sub(1)?)?;
        (address - area.start < area.bytes.len() as u64).then_some(area)
    }

    /// Returns the code from an address to the end of its section.
    pub(super) fn code(&self, address: u64) -> Option<&'a [u8]> {
        let area = self.area(address).filter(|area| area.is_code)?;
        area.bytes.get(usize::try_from(address - area.start).ok()?..)
    }

    /// Returns the bytes from an address to the end of its section.
    fn rest(&self, address: u64) -> Option<&'a [u8]> {
        let area = self.area(address)?;
        area.bytes.get(usize::try_from(address - area.start).ok()?..)
    }

    /// Returns some bytes of any section.
    pub(super) fn data(&self, address: u64, size: usize) -> Option<&'a [u8]> {
        let area = self.area(address)?;
        let at = usize::try_from(address - area.start).ok()?;
        area.bytes.get(at..at.checked_add(size)?)
    }

    /// Returns whether an address lies in a stub that jumps to an import.
    pub(super) fn is_stub(&self, address: u64) -> bool {
        self.area(address).is_some_and(|area| area.is_stubs)
    }

    /// Returns the word at an address, as the loader leaves it.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        if let Some(value) = self.relative.get(&address) {
            return Some(*value);
        }
        let bytes = self.data(address, 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Returns the import whose address the loader writes to a slot.
    pub(super) fn import(&self, slot: u64) -> Option<&str> {
        self.imports.get(&slot).map(String::as_str)
    }

    /// Returns the address of the image that the loader writes to a slot of the global offset
    /// table, which the program does not change.
    pub(super) fn own(&self, slot: u64) -> Option<u64> {
        self.relative.get(&slot).copied().filter(|_| self.area(slot).is_some_and(|a| a.is_slots))
    }

    /// Returns the function whose code has an address.
    pub(super) fn extent_at(&self, address: u64) -> Option<&Extent> {
        let (_, extent) = self.extents.range(..=address).next_back()?;
        (address < extent.end).then_some(extent)
    }

    /// Returns whether a function is the cold part of another one: code that only jumps reach.
    pub(super) fn is_part(&self, extent: &Extent) -> bool {
        let name = &extent.name;
        name.ends_with(".cold") || name.contains(".cold.") || self.parts.contains(&extent.start)
    }

    /// Returns the addresses inside of functions that data names: labels.
    pub(super) fn labels_in_data(&self) -> BTreeSet<u64> {
        let fixed = self.is_fixed.then(|| self.words_of_data()).into_iter().flatten();
        self.relative.values().copied().chain(fixed).filter(|at| self.is_label(*at)).collect()
    }

    /// Returns whether an address lies inside of a function, and is not a beginning.
    pub(super) fn is_label(&self, address: u64) -> bool {
        self.extent_at(address).is_some_and(|own| own.start != address)
    }

    /// Returns the beginnings of functions that data names: in tables, vtables, slots.
    pub(super) fn named_in_data(&self) -> BTreeSet<u64> {
        let mut found: BTreeSet<u64> =
            self.relative.values().copied().filter(|at| self.extents.contains_key(at)).collect();
        // Any aligned word may be an address: in an image at a fixed place, in packed relocations,
        // in the relocations of resolvers, in the table of exported symbols.
        found.extend(self.words_of_data().filter(|own| self.extents.contains_key(own)));
        found
    }

    /// Returns the aligned words of data.
    fn words_of_data(&self) -> impl Iterator<Item = u64> {
        self.areas.iter().filter(|area| !area.is_code).flat_map(|area| {
            let skip = (area.start.wrapping_neg() % 8) as usize;
            let words = area.bytes.get(skip..).unwrap_or_default().chunks_exact(8);
            words.map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
        })
    }

    /// Reads the relocations that are packed: the addresses of words, and bits for those after.
    fn read_packed(&mut self, file: &ElfFile64<'a, Little>) {
        let Some(section) = file.section_by_name(".relr.dyn") else { return };
        let mut slot = 0u64;
        for entry in section.data().unwrap_or_default().chunks_exact(8) {
            let entry = u64::from_le_bytes(entry.try_into().unwrap_or_default());
            let (from, bits) = if entry & 1 == 0 { (entry, 1) } else { (slot, entry >> 1) };
            for at in (0..63).filter(|at| bits >> at & 1 == 1) {
                let own = from.wrapping_add(8 * at);
                if let Some(value) = self.word(own) {
                    self.relative.insert(own, value);
                }
            }
            slot = from.wrapping_add(8 * if entry & 1 == 0 { 1 } else { 63 });
        }
    }
}
