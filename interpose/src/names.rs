//! The names of functions, from the symbols of the files that are mapped as code.
//!
//! ```text
//!  address ─ /proc/self/maps ─▶ file, place in it ─▶ symbol: "load", of two: "load (b.c)"
//!                                                └─▶ none: "server+0x1a40"
//! ```
//!
//! The log has the name that the file has: tools make names of C++ and Rust readable. A file stays
//! mapped, with its symbols in the order of their addresses, until its code is unloaded. Nothing is
//! allocated, and only system calls are made, because a signal handler may call a function for the
//! first time. Design: `.calls.instrumented.names` in `design/calls.md`.
#![expect(unsafe_code, reason = "a state behind a lock")]

// N1: one thread has the lock, with its signals blocked, and it alone uses the state.

use crate::mapped::Mapped;
use crate::{mappings, symbol};
use calls::__private::{word, word_of};
use core::cell::UnsafeCell;
use core::fmt::{self, Write};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use object::NativeEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, Sym, SymbolTable};
use telemetry::__private::{uncancelled, without_signals};
use telemetry::StringId;

/// Files whose symbols stay mapped, at most; then those of the oldest file give way.
const FILE_COUNT_MAX: usize = 256;
/// A longer name is that of no function that a person wrote.
const NAME_SIZE_MAX: usize = 4096;
const FILE_NAME_SIZE: usize = 64;
/// A line of `/proc/self/maps`, and the name of a function.
const TEXT_SIZE: usize = NAME_SIZE_MAX + 128;

/// A file that is mapped as code.
struct Code {
    addresses: Range<usize>,
    /// Its offset in the file.
    offset: usize,
    file: Mapped,
    /// The numbers of the symbols of functions, by their addresses.
    order: Mapped,
    /// The last part of its path.
    name: [u8; FILE_NAME_SIZE],
    is_mapped: bool,
}

struct State {
    files: [Code; FILE_COUNT_MAX],
    count: usize,
    /// The file that gives way next.
    oldest: usize,
    text: [u8; TEXT_SIZE],
}

struct Locked {
    is_locked: AtomicBool,
    state: UnsafeCell<State>,
}

// SAFETY: N1.
unsafe impl Sync for Locked {}

static LOCKED: Locked = Locked {
    is_locked: AtomicBool::new(false),
    state: UnsafeCell::new(State {
        files: [const { Code::NONE }; FILE_COUNT_MAX],
        count: 0,
        oldest: 0,
        text: [0; TEXT_SIZE],
    }),
};

fn locked<T>(work: impl FnOnce(&mut State) -> T) -> T {
    without_signals(|| {
        while LOCKED.is_locked.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
        // SAFETY: N1.
        let result = uncancelled(|| work(unsafe { &mut *LOCKED.state.get() }));
        LOCKED.is_locked.store(false, Ordering::Release);
        result
    })
}

/// A forked child may lack the thread that had the lock.
pub(crate) fn after_fork() {
    LOCKED.is_locked.store(false, Ordering::Release);
}

/// Labels `function`, which stands for the function at an address, unless the filter excludes it.
/// Returns the filter's decision; `None`: that must wait.
pub(crate) fn label(address: usize, function: usize) -> Option<usize> {
    locked(|state| {
        let index = state.find(address).or_else(|| state.add(address));
        let State { files, text, .. } = state;
        let mut buffer = Text { bytes: text, size: 0 };
        let Some(code) = index.and_then(|index| files.get(index)) else {
            // No file is mapped there: the address is its name.
            return Some(word_of(&[]));
        };
        let name = code.name(address, &mut buffer);
        let decided = symbol::decide(name);
        if decided & word::CHOICE == word::NONE {
            return Some(decided);
        }
        let id = telemetry::add_string(name);
        (id != StringId::NONE).then(|| {
            telemetry::label_address(function, id);
            decided
        })
    })
}

/// Forgets the files that are mapped no more, and passes on where each was. The loader is not
/// asked: another thread may wait here with the loader's lock.
pub(crate) fn forget_unloaded(mut each: impl FnMut(Range<usize>)) {
    locked(|state| {
        let State { files, text, count, .. } = state;
        let (known, _) = files.split_at_mut(*count);
        known.iter_mut().for_each(|code| code.is_mapped = false);
        mappings::each(text, |line| {
            let Some((start, size, _, path)) = mappings::parse(line) else { return };
            let is_it = |code: &&mut Code| {
                code.addresses == (start..start + size) && code.name == name_of(path)
            };
            known.iter_mut().filter(is_it).for_each(|code| code.is_mapped = true);
        });
        let mut index = 0;
        while let Some(code) = files.get_mut(index).filter(|_| index < *count) {
            if code.is_mapped {
                index += 1;
                continue;
            }
            each(code.addresses.clone());
            code.clear();
            *count -= 1;
            files.swap(index, *count);
        }
    });
}

/// Returns the last part of a path, or its beginning.
fn name_of(path: &[u8]) -> [u8; FILE_NAME_SIZE] {
    let mut name = [0; FILE_NAME_SIZE];
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.iter_mut().zip(last).for_each(|(to, from)| *to = *from);
    name
}

impl State {
    fn find(&self, address: usize) -> Option<usize> {
        let files = self.files.iter().take(self.count);
        files.into_iter().position(|code| code.addresses.contains(&address))
    }

    /// Maps the file that has an address as code.
    fn add(&mut self, address: usize) -> Option<usize> {
        let State { files, text, count, oldest } = self;
        let index = if *count < FILE_COUNT_MAX { *count } else { *oldest };
        let code = files.get_mut(index)?;
        let mut is_found = false;
        mappings::each(text, |line| {
            let Some((start, size, offset, path)) = mappings::parse(line) else { return };
            if (start..start + size).contains(&address) && path.starts_with(b"/") {
                code.clear();
                *code = Code::new(start..start + size, offset, path);
                is_found = true;
            }
        });
        if !is_found {
            return None;
        }
        *oldest = (index + 1) % FILE_COUNT_MAX;
        *count = (*count).max(index + 1);
        Some(index)
    }
}

impl Code {
    const NONE: Code = Code {
        addresses: 0..0,
        offset: 0,
        file: Mapped::NONE,
        order: Mapped::NONE,
        name: [0; FILE_NAME_SIZE],
        is_mapped: true,
    };

    fn new(addresses: Range<usize>, offset: usize, path: &[u8]) -> Code {
        let mut code = Code { addresses, offset, name: name_of(path), ..Code::NONE };
        code.file = Mapped::file(path).unwrap_or(Mapped::NONE);
        code.order = code.ordered().unwrap_or(Mapped::NONE);
        code
    }

    fn clear(&mut self) {
        self.file.clear();
        self.order.clear();
        *self = Code::NONE;
    }

    /// Returns the numbers of the symbols of functions, by their addresses.
    fn ordered(&self) -> Option<Mapped> {
        let symbols = symbols(self.file.bytes())?;
        let is_function =
            |(number, symbol): (usize, &Symbol)| is_function(symbol).then_some(number as u32);
        let numbers = || symbols.iter().enumerate().filter_map(is_function);
        let mut order = Mapped::memory(numbers().count() * size_of::<u32>())?;
        order.words_mut().iter_mut().zip(numbers()).for_each(|(to, number)| *to = number);
        // Of several at one address, the one that other files see comes first.
        let key = |number: &u32| {
            let symbol = symbols.symbol(object::SymbolIndex(*number as usize));
            symbol.map_or((0, 0), |symbol| (symbol.st_value(NativeEndian), rank(symbol)))
        };
        order.words_mut().sort_unstable_by_key(key);
        Some(order)
    }

    /// Returns the name of the function at an address.
    fn name<'t>(&'t self, address: usize, text: &'t mut Text<'_>) -> &'t [u8] {
        let place = address - self.addresses.start + self.offset;
        if let Some((name, file)) = self.symbol(place as u64) {
            let Some(file) = file else { return name };
            if text.write(&[name, b" (", file, b")"]).is_some() {
                return text.written();
            }
        }
        let end = self.name.iter().position(|byte| *byte == 0).unwrap_or(self.name.len());
        let _ = text.write(&[&self.name[..end]]);
        let _ = write!(text, "+{place:#x}");
        text.written()
    }

    /// Returns the name of the function that has a place of the file, and the source file if
    /// functions of several files have the name.
    fn symbol(&self, place: u64) -> Option<(&[u8], Option<&[u8]>)> {
        let bytes = self.file.bytes();
        let (symbols, address) = (symbols(bytes)?, address_of(bytes, place)?);
        let order = self.order.words();
        let symbol = |number: u32| symbols.symbol(object::SymbolIndex(number as usize)).ok();
        let begin = |number: &u32| symbol(*number).map_or(0, |it| it.st_value(NativeEndian));
        let after = order.partition_point(|number| begin(number) <= address);
        let last = *order.get(after.checked_sub(1)?)?;
        let first = order.partition_point(|number| begin(number) < begin(&last));
        let number = *order.get(first)?;
        let found = symbol(number)?;
        let way = address - found.st_value(NativeEndian);
        if way != 0 && way >= found.st_size(NativeEndian) {
            return None;
        }
        let name = symbols.symbol_name(NativeEndian, found).ok().filter(|name| !name.is_empty())?;
        let is_double = |other: &u32| {
            let is_same = |it: &Symbol| it.st_name(NativeEndian) == found.st_name(NativeEndian);
            *other != number && symbol(*other).is_some_and(is_same)
        };
        let is_local = found.st_bind() == elf::STB_LOCAL;
        let file = (is_local && order.iter().any(is_double)).then(|| {
            // The symbol of a source file comes before those of its local functions.
            let before = (0..number).rev().filter_map(symbol);
            let file = before.into_iter().find(|it| it.st_type() == elf::STT_FILE)?;
            symbols.symbol_name(NativeEndian, file).ok()
        });
        (name.len() <= NAME_SIZE_MAX).then_some((name, file.flatten()))
    }
}

type Symbol = elf::Sym64<NativeEndian>;

/// Returns the symbols of a file: all of them, or if it is stripped those that other files see.
fn symbols(bytes: &[u8]) -> Option<SymbolTable<'_, FileHeader64<NativeEndian>>> {
    let header = FileHeader64::<NativeEndian>::parse(bytes).ok()?;
    let sections = header.sections(NativeEndian, bytes).ok()?;
    let of = |kind| sections.symbols(NativeEndian, bytes, kind).ok();
    of(elf::SHT_SYMTAB).filter(|all| !all.is_empty()).or_else(|| of(elf::SHT_DYNSYM))
}

/// Returns the address that a place in a file has for its symbols.
fn address_of(bytes: &[u8], place: u64) -> Option<u64> {
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
fn is_function(symbol: &Symbol) -> bool {
    let kinds = [elf::STT_FUNC, elf::STT_GNU_IFUNC, elf::STT_NOTYPE];
    kinds.contains(&symbol.st_type()) && symbol.st_value(NativeEndian) != 0
}

fn rank(symbol: &Symbol) -> u8 {
    match (symbol.st_type(), symbol.st_bind()) {
        (elf::STT_NOTYPE, _) => 3,
        (_, elf::STB_GLOBAL) => 0,
        (_, elf::STB_WEAK) => 1,
        _ => 2,
    }
}

/// Text that is put together in memory that exists.
struct Text<'b> {
    bytes: &'b mut [u8],
    size: usize,
}

impl Text<'_> {
    /// Puts parts; `None`: they have no room.
    fn write(&mut self, parts: &[&[u8]]) -> Option<()> {
        let start = self.size;
        for part in parts {
            let Some(room) = self.bytes.get_mut(self.size..self.size + part.len()) else {
                self.size = start;
                return None;
            };
            room.copy_from_slice(part);
            self.size += part.len();
        }
        Some(())
    }

    fn written(&self) -> &[u8] {
        self.bytes.get(..self.size).unwrap_or_default()
    }
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(&[text.as_bytes()]).ok_or(fmt::Error)
    }
}
