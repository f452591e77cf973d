//! Names and lines of offsets in ELF files.
//!
//! ```text
//!  path ─▶ segments: place in the file ─▶ address ─┬─ DWARF: functions, made a part of others too,
//!                                                  │         with file and line
//!                                                  └─ otherwise the symbol that it is in
//! ```
//!
//! Design: `.rep.show.stack` in `design/replay.md`.

use addr2line::{Loader, demangle_auto};
use eventlog::format::text::OneLine;
use object::Endianness;
use object::elf::FileHeader64;
use object::read::ReadCache;
use object::read::elf::ElfFile;
use object::{Object, ObjectSegment};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Size of a file whose symbols are read, at most.
const FILE_SIZE_MAX: u64 = 4 << 30;
const INLINED_COUNT_MAX: usize = 16;

/// A function of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The readable name.
    pub name: String,
    /// Source file, without folders, and line, if the program has line information.
    pub line: Option<(String, u32)>,
}

/// Prints a function: `name source.rs:12`.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.line {
            Some((file, line)) => write!(f, " {file}:{line}"),
            None => Ok(()),
        }
    }
}

/// The symbols of files that were read so far.
#[derive(Debug, Default)]
pub struct Symbols {
    files: HashMap<PathBuf, Option<Table>>,
}

struct Table {
    /// Offset in the file, size and address of each segment.
    segments: Vec<(u64, u64, u64)>,
    loader: Loader,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("segments", &self.segments).finish_non_exhaustive()
    }
}

impl Symbols {
    /// Returns the functions at an offset of a file, the innermost first: the last one is called,
    /// the others are inlined into it. Returns none if the file cannot be read, is not ELF, or has
    /// no symbol there.
    pub fn functions(&mut self, path: &Path, place: u64) -> Vec<Function> {
        if !self.files.contains_key(path) {
            self.files.insert(path.to_owned(), Table::new(path));
        }
        let table = self.files.get(path).and_then(Option::as_ref);
        table.and_then(|table| table.functions(place)).unwrap_or_default()
    }
}

impl Table {
    fn new(path: &Path) -> Option<Table> {
        let metadata = fs::metadata(path).ok()?;
        if !metadata.is_file() || metadata.len() > FILE_SIZE_MAX {
            return None;
        }
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = ElfFile::<FileHeader64<Endianness>, _>::parse(&cache).ok()?;
        let segments = file.segments().map(|segment| {
            let (place, size) = segment.file_range();
            (place, size, segment.address())
        });
        let segments = segments.collect();
        Some(Table { segments, loader: Loader::new(path).ok()? })
    }

    fn functions(&self, place: u64) -> Option<Vec<Function>> {
        let within = |&&(begin, size, _): &&(u64, u64, u64)| {
            place.checked_sub(begin).is_some_and(|way| way < size)
        };
        let &(begin, _, address) = self.segments.iter().find(within)?;
        let address = address.checked_add(place - begin)?;
        let found = self.of_lines(address).filter(|functions| !functions.is_empty());
        found.or_else(|| {
            let name = readable(self.loader.find_symbol(address)?);
            Some(vec![Function { name, line: None }])
        })
    }

    /// Returns the functions by line information, if the file has any.
    fn of_lines(&self, address: u64) -> Option<Vec<Function>> {
        let mut frames = self.loader.find_frames(address).ok()?;
        let mut functions = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            if functions.len() == INLINED_COUNT_MAX {
                break;
            }
            let function = frame.function.as_ref().and_then(|function| {
                let name = function.raw_name().ok()?;
                Some(demangle_auto(name, function.language).into_owned())
            });
            let symbol = || self.loader.find_symbol(address).map(str::to_owned);
            let Some(name) = function.or_else(symbol) else { continue };
            let line = frame.location.and_then(|location| {
                let file = location.file?.rsplit('/').next()?;
                Some((OneLine(file.as_bytes()).to_string(), location.line?))
            });
            functions.push(Function { name: readable(&name), line });
        }
        // Where a file has line tables alone, a function that others are inlined into has the last
        // part of its name there.
        if functions.len() < INLINED_COUNT_MAX
            && let Some(outermost) = functions.last_mut()
            && let Some(symbol) = self.loader.find_symbol(address).map(readable)
            && !outermost.name.contains("::")
            && symbol.split("::").any(|part| bare(part) == bare(&outermost.name))
        {
            outermost.name = symbol;
        }
        Some(functions)
    }
}

/// Returns a part of a name without its parameters.
fn bare(part: &str) -> &str {
    part.split(['<', '(']).next().unwrap_or_default()
}

/// Returns a readable name without characters that steer a terminal.
fn readable(name: &str) -> String {
    // The name of a function of C may be the code of a type: `f` is that of float.
    let is_mangled = name.starts_with('_');
    let name = Cow::Borrowed(name);
    let name = if is_mangled { demangle_auto(name, None) } else { name };
    // Rust appends a hash, which differs between builds.
    let name = match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            path
        }
        _ => &name,
    };
    OneLine(name.as_bytes()).to_string()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Returns the offset in the mapped file of an address, and the file.
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
    fn an_offset_has_the_name_and_line_of_its_function() {
        // `.rep.show.stack`
        let function: fn(&Table, u64) -> Option<Vec<Function>> = Table::functions;
        let (place, path) = mapped(function as usize as u64 + 1);
        let mut symbols = Symbols::default();
        let functions = symbols.functions(&path, place);
        let text = functions.last().unwrap().to_string();
        assert!(text.contains("Table") && text.contains("functions"), "{text}");
        assert!(text.contains(" symbols.rs:"), "{text}");
        assert_eq!(symbols.functions(&path, u64::MAX), []);
        assert_eq!(symbols.functions(Path::new("/no/such/file"), place), []);
        assert_eq!(symbols.functions(Path::new("/proc/self/maps"), place), [], "not an ELF file");
    }

    #[inline(always)]
    fn inlined(path: &Path) -> bool {
        path.file_name().is_some_and(|name| !name.is_empty())
    }

    #[inline(never)]
    fn around_inlined(path: &Path) -> bool {
        inlined(path)
    }

    #[test]
    fn a_function_around_an_inlined_one_has_its_whole_name() {
        let function: fn(&Path) -> bool = around_inlined;
        let (place, path) = mapped(function as usize as u64 + 1);
        assert!(around_inlined(&path));
        let functions = Symbols::default().functions(&path, place);
        let text = functions.last().unwrap().to_string();
        assert!(text.contains("symbols::tests::around_inlined symbols.rs:"), "{text}");
    }

    #[test]
    fn names_of_every_language_are_readable_and_safe() {
        assert_eq!(readable("_ZN3app7BuilderI4NodeE5buildEi"), "app::Builder<Node>::build(int)");
        assert_eq!(readable("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
        assert_eq!(readable("main"), "main");
        assert_eq!(readable("a\u{1b}[2J\u{202e}b\nc"), "a\u{fffd}[2J\u{fffd}b c");
    }

    #[test]
    fn a_short_name_of_c_is_not_the_code_of_a_type() {
        assert_eq!(["f", "a", "i", "_"].map(readable), ["f", "a", "i", "_"]);
        assert_eq!(readable("_Z4leapi"), "leap(int)");
    }
}
