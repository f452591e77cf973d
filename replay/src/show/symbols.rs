//! Names of places in ELF files.
//!
//! ```text
//!  path ─▶ segments: place in the file ─▶ address      symbols, in order ─▶ the one it is in
//! ```
//!
//! Design: `.rep.show.stack` in `design/replay.md`.

use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// No file is larger whose symbols are read.
const FILE_SIZE_MAX: u64 = 1 << 30;

/// The symbols of the files that were asked for so far.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    files: HashMap<PathBuf, Option<Table>>,
}

/// What is where in a file.
#[derive(Debug)]
struct Table {
    /// Place in the file, size, and address of each segment.
    segments: Vec<(u64, u64, u64)>,
    /// Address, size and name of each function, by address.
    functions: Vec<(u64, u64, String)>,
}

impl Symbols {
    /// The name of the function that has this place of a file.
    pub(super) fn name(&mut self, path: &Path, place: u64) -> Option<String> {
        if !self.files.contains_key(path) {
            self.files.insert(path.to_owned(), Table::new(path));
        }
        self.files.get(path)?.as_ref()?.name(place)
    }
}

impl Table {
    fn new(path: &Path) -> Option<Table> {
        let metadata = fs::metadata(path).ok()?;
        if !metadata.is_file() || metadata.len() > FILE_SIZE_MAX {
            return None;
        }
        let bytes = fs::read(path).ok()?;
        let file = ElfFile::<FileHeader64<Endianness>>::parse(&*bytes).ok()?;
        let segment = |segment: object::read::elf::ElfSegment<'_, '_, FileHeader64<Endianness>>| {
            let (place, size) = segment.file_range();
            (place, size, segment.address())
        };
        let segments = file.segments().map(segment).collect();
        let is_function = |symbol: &object::read::elf::ElfSymbol<'_, '_, _>| {
            symbol.kind() == SymbolKind::Text && symbol.is_definition()
        };
        let symbols = file.symbols().chain(file.dynamic_symbols()).filter(is_function);
        let named = symbols.filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            Some((symbol.address(), symbol.size(), name.to_owned()))
        });
        let mut functions: Vec<(u64, u64, String)> = named.collect();
        functions.sort();
        Some(Table { segments, functions })
    }

    fn name(&self, place: u64) -> Option<String> {
        let within = |&&(begin, size, _): &&(u64, u64, u64)| {
            place.checked_sub(begin).is_some_and(|way| way < size)
        };
        let &(begin, _, address) = self.segments.iter().find(within)?;
        let address = address.checked_add(place - begin)?;
        let after = self.functions.partition_point(|(begin, _, _)| *begin <= address);
        let (begin, size, name) = self.functions.get(after.checked_sub(1)?)?;
        let is_in_it = address - begin < *size;
        is_in_it.then(|| format!("{:#}", rustc_demangle::demangle(name)))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// What is mapped where an address is: the place in the file, and the file.
    fn mapped(address: u64) -> (u64, PathBuf) {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let found = maps.lines().find_map(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
            let (from, to) = columns[0].split_once('-').unwrap();
            let is_it = (hex(from)..hex(to)).contains(&address);
            is_it.then(|| (address - hex(from) + hex(columns[2]), columns[5].into()))
        });
        found.unwrap()
    }

    #[test]
    fn a_place_in_a_program_has_the_name_of_its_function() {
        // `.rep.show.stack`
        let function: fn(&Table, u64) -> Option<String> = Table::name;
        let (place, path) = mapped(function as usize as u64 + 1);
        let mut symbols = Symbols::default();
        let name = symbols.name(&path, place).unwrap();
        assert!(name.ends_with("symbols::Table>::name") || name.contains("Table::name"), "{name}");
        assert_eq!(symbols.name(&path, u64::MAX), None);
        assert_eq!(symbols.name(Path::new("/no/such/file"), place), None);
        assert_eq!(symbols.name(Path::new("/proc/self/maps"), place), None, "is no ELF file");
    }
}
