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

use crate::elf::{Symbol, Symbols, address_of, is_function, rank, symbols};
use crate::hook::Hook;
use crate::mapped::Mapped;
use crate::{mappings, symbol};
use calls::__private::{word, word_of};
use core::cell::UnsafeCell;
use core::fmt::{self, Write};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use object::NativeEndian;
use object::elf;
use object::read::elf::Sym;
use telemetry::__private::{uncancelled, without_signals};
use telemetry::{Source, StringId};

/// Files whose symbols stay mapped, at most; then those of the oldest file give way.
const FILE_COUNT_MAX: usize = 256;
/// A longer name is that of no function that a person wrote.
const NAME_SIZE_MAX: usize = 4096;
const FILE_NAME_SIZE: usize = 64;
/// A file with more symbols has labels only for functions that are called.
const LABELLED_COUNT_MAX: usize = 1 << 17;
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
    /// The same, by their names.
    by_name: Mapped,
    hook: Hook,
    /// Whether all its instrumented functions have labels.
    is_told: bool,
    /// The bits above an address that stand for a function of the file.
    generation: usize,
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

/// Labels the function at an address, unless the filter excludes it. Returns what stands for it in
/// the log: its address, and the generation, that of its file if this is known; and the filter's
/// decision. `None`: that must wait.
pub(crate) fn label(address: usize, generation: usize) -> Option<(usize, usize)> {
    locked(|state| {
        let known = state.find(address);
        let index = known.or_else(|| state.add(address, generation));
        let State { files, text, .. } = state;
        let Some(code) = index.and_then(|index| files.get_mut(index)) else {
            // No file is mapped there: the address is its name.
            return Some((address | generation, word_of(&[])));
        };
        if known.is_none() {
            code.label_all(text);
        }
        let decided = code.label(address, text)?;
        Some((address | code.generation, decided))
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
    fn add(&mut self, address: usize, generation: usize) -> Option<usize> {
        let State { files, text, count, oldest } = self;
        let index = if *count < FILE_COUNT_MAX { *count } else { *oldest };
        let code = files.get_mut(index)?;
        let mut is_found = false;
        mappings::each(text, |line| {
            let Some((start, size, offset, path)) = mappings::parse(line) else { return };
            if (start..start + size).contains(&address) && path.starts_with(b"/") {
                code.clear();
                *code = Code::new(start..start + size, offset, path, generation);
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
        by_name: Mapped::NONE,
        hook: Hook::NONE,
        is_told: false,
        generation: 0,
        name: [0; FILE_NAME_SIZE],
        is_mapped: true,
    };

    fn new(addresses: Range<usize>, offset: usize, path: &[u8], generation: usize) -> Code {
        let mut code = Code { addresses, offset, generation, name: name_of(path), ..Code::NONE };
        code.file = Mapped::file(path).unwrap_or(Mapped::NONE);
        // Of several at one address, the one that other files see comes first.
        let place = |symbol: &Symbol| (symbol.st_value(NativeEndian), rank(symbol));
        code.order = code.ordered(place).unwrap_or(Mapped::NONE);
        code.by_name = code.ordered(|symbol| symbol.st_name(NativeEndian)).unwrap_or(Mapped::NONE);
        code.hook = Hook::of(code.file.bytes());
        code
    }

    fn clear(&mut self) {
        self.file.clear();
        self.order.clear();
        self.by_name.clear();
        *self = Code::NONE;
    }

    /// Returns the numbers of the symbols of functions, ordered by a key.
    fn ordered<K: Ord>(&self, key: impl Fn(&Symbol) -> K) -> Option<Mapped> {
        let symbols = symbols(self.file.bytes())?;
        let is_function =
            |(number, symbol): (usize, &Symbol)| is_function(symbol).then_some(number as u32);
        let numbers = || symbols.iter().enumerate().filter_map(is_function);
        let mut order = Mapped::memory(numbers().count() * size_of::<u32>())?;
        order.words_mut().iter_mut().zip(numbers()).for_each(|(to, number)| *to = number);
        let symbol = |number: &u32| symbols.symbol(object::SymbolIndex(*number as usize)).ok();
        order.words_mut().sort_unstable_by_key(|number| symbol(number).map(&key));
        Some(order)
    }

    /// Labels all functions of the file that have hooks: so the log knows those that are never
    /// called.
    fn label_all(&mut self, text: &mut [u8; TEXT_SIZE]) {
        let Some(symbols) = symbols(self.file.bytes()) else { return };
        let order = self.order.words();
        if order.len() > LABELLED_COUNT_MAX {
            return;
        }
        let mut before = None;
        self.is_told = order.iter().all(|number| {
            let hooked = self.hooked(&symbols, *number);
            // Several symbols may have one address.
            if hooked.is_none() || core::mem::replace(&mut before, hooked) == hooked {
                return true;
            }
            let address = hooked.unwrap_or_default();
            let decided = self.label(address, text);
            if decided.is_some_and(|decided| decided & word::CHOICE != word::NONE) {
                let function = core::ptr::without_provenance::<()>(address | self.generation);
                let file = core::str::from_utf8(self.file_name()).unwrap_or_default();
                telemetry::source(function, Source { file, ..Source::default() });
            }
            decided.is_some()
        });
    }

    /// Labels the function at an address. Returns the filter's decision; `None`: that must wait.
    fn label(&self, address: usize, text: &mut [u8; TEXT_SIZE]) -> Option<usize> {
        let mut buffer = Text { bytes: text, size: 0 };
        let name = self.name(address, &mut buffer);
        let decided = symbol::decide(name);
        if decided & word::CHOICE != word::NONE && !self.is_labelled(address) {
            let id = telemetry::add_string(name);
            if id == StringId::NONE {
                return None;
            }
            telemetry::label_address(address | self.generation, id);
        }
        Some(decided)
    }

    fn is_labelled(&self, address: usize) -> bool {
        let symbols = symbols(self.file.bytes()).filter(|_| self.is_told);
        symbols.is_some_and(|symbols| {
            let number = self.number(&symbols, self.place(address));
            number.is_some_and(|number| self.hooked(&symbols, number) == Some(address))
        })
    }

    /// Returns the address of the function with this symbol, if it calls the hook. A part of a
    /// function that the compiler made a function may do so, too, and has a dot in its name.
    fn hooked(&self, symbols: &Symbols<'_>, number: u32) -> Option<usize> {
        let bytes = self.file.bytes();
        let symbol = symbols.symbol(object::SymbolIndex(number as usize)).ok()?;
        let name = symbols.symbol_name(NativeEndian, symbol).ok()?;
        let begin = address_of(bytes, self.offset as u64)?;
        let way = usize::try_from(symbol.st_value(NativeEndian).checked_sub(begin)?).ok()?;
        let size = usize::try_from(symbol.st_size(NativeEndian)).ok()?;
        let code = bytes.get(self.offset..)?;
        let code = code.get(..self.addresses.len()).unwrap_or(code);
        let is_hooked = !name.contains(&b'.') && self.hook.is_called(code, begin, way, size);
        is_hooked.then_some(self.addresses.start + way)
    }

    fn place(&self, address: usize) -> u64 {
        (address - self.addresses.start + self.offset) as u64
    }

    fn file_name(&self) -> &[u8] {
        let end = self.name.iter().position(|byte| *byte == 0).unwrap_or(self.name.len());
        &self.name[..end]
    }

    /// Returns the name of the function at an address.
    fn name<'t>(&'t self, address: usize, text: &'t mut Text<'_>) -> &'t [u8] {
        let place = self.place(address);
        if let Some((name, file)) = self.symbol(place) {
            let Some(file) = file else { return name };
            if text.write(&[name, b" (", file, b")"]).is_some() {
                return text.written();
            }
        }
        let _ = text.write(&[self.file_name()]);
        let _ = write!(text, "+{place:#x}");
        text.written()
    }

    /// Returns the name of the function that has a place of the file, and the source file if
    /// functions of several files have the name.
    fn symbol(&self, place: u64) -> Option<(&[u8], Option<&[u8]>)> {
        let symbols = symbols(self.file.bytes())?;
        let number = self.number(&symbols, place)?;
        let symbol = |number: u32| symbols.symbol(object::SymbolIndex(number as usize)).ok();
        let found = symbol(number)?;
        let name = symbols.symbol_name(NativeEndian, found).ok().filter(|name| !name.is_empty())?;
        let key = |number: &u32| symbol(*number).map_or(0, |it| it.st_name(NativeEndian));
        let by_name = self.by_name.words();
        let first = by_name.partition_point(|other| key(other) < key(&number));
        let is_double = by_name.get(first + 1).is_some_and(|next| key(next) == key(&number));
        let is_local = found.st_bind() == elf::STB_LOCAL;
        let file = (is_local && is_double).then(|| {
            // The symbol of a source file comes before those of its local functions.
            let before = (0..number).rev().filter_map(symbol);
            let file = before.into_iter().find(|it| it.st_type() == elf::STT_FILE)?;
            symbols.symbol_name(NativeEndian, file).ok()
        });
        (name.len() <= NAME_SIZE_MAX).then_some((name, file.flatten()))
    }

    /// Returns the number of the symbol of the function that has a place of the file.
    fn number(&self, symbols: &Symbols<'_>, place: u64) -> Option<u32> {
        let address = address_of(self.file.bytes(), place)?;
        let order = self.order.words();
        let symbol = |number: u32| symbols.symbol(object::SymbolIndex(number as usize)).ok();
        let begin = |number: &u32| symbol(*number).map_or(0, |it| it.st_value(NativeEndian));
        let after = order.partition_point(|number| begin(number) <= address);
        let last = *order.get(after.checked_sub(1)?)?;
        let first = order.partition_point(|number| begin(number) < begin(&last));
        let number = *order.get(first)?;
        let found = symbol(number)?;
        let way = address - found.st_value(NativeEndian);
        (way == 0 || way < found.st_size(NativeEndian)).then_some(number)
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
