//! Checks whether a program can be recorded: whether the dynamic linker preloads libraries for it.
//!
//! ```text
//!  #!/bin/sh ─▶ its interpreter ─▶ ELF of 64 bits ─▶ PT_INTERP? ─▶ not setuid, no capabilities
//! ```
//!
//! Design: `.rep.record.refused` in `design/replay.md`.

use crate::what::What;
use eventlog::format::SANITIZERS;
use object::read::ReadCache;
use object::read::elf::{Dyn, ElfFile64, ElfSymbol64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, elf};
use rustix::fs::getxattr;
use rustix::process::{getegid, geteuid};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The size of the part of a program that is read: it has all headers.
const BEGINNING_SIZE: u64 = 1 << 20;
/// The maximum number of nested interpreters of scripts.
const SCRIPT_DEPTH_MAX: usize = 4;
const ROOT: u32 = 0;
const SETUID: u32 = 0o4000;
const SETGID: u32 = 0o2000;
/// A file with the setgid bit but without this bit is locked, and does not run as its group.
const GROUP_MAY_RUN: u32 = 0o010;

/// Why a program is not recorded.
pub(crate) struct Refusal {
    pub(crate) why: String,
    /// Whether it still runs with the recording library.
    pub(crate) is_loadable: bool,
}

impl From<String> for Refusal {
    fn from(why: String) -> Refusal {
        Refusal { why, is_loadable: true }
    }
}

/// Returns the refusal of a program that does not run with the recording library.
fn unloadable(why: &str) -> Refusal {
    Refusal { why: why.to_owned(), is_loadable: false }
}

/// Checks a program. Returns a warning if only parts of it can be recorded.
pub(crate) fn check(path: &Path, what: What) -> Result<Option<String>, Refusal> {
    let asked = path;
    if what == What::Malloc && path.file_name() == Some(OsStr::new(VALGRIND)) {
        let why = "puts a malloc of its own in place of the recorded one; record its program alone";
        return Err(why.to_owned().into());
    }
    let mut path = path.to_owned();
    for _ in 0..SCRIPT_DEPTH_MAX {
        let bytes = beginning(&path)?;
        match interpreter(&bytes) {
            Some(next) => path = next,
            None => {
                let named = |why: String| match path == asked {
                    true => why,
                    false => format!("its interpreter {} {why}", path.display()),
                };
                let checked = check_program(&bytes).and_then(|()| Ok(check_rights(&path)?));
                let checked = checked.and_then(|()| hidden(&path, what));
                return checked
                    .map(|why| why.map(named))
                    .map_err(|refusal| Refusal { why: named(refusal.why), ..refusal });
            }
        }
    }
    Ok(None)
}

fn beginning(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGINNING_SIZE).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

fn interpreter(bytes: &[u8]) -> Option<PathBuf> {
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let name = line.trim_ascii().split(u8::is_ascii_whitespace).next()?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

fn check_program(bytes: &[u8]) -> Result<(), Refusal> {
    if elf::FileHeader32::<Endianness>::parse(bytes).is_ok() {
        return Err(unloadable("is a 32-bit program, and the recording library has 64 bits"));
    }
    let header = elf::FileHeader64::<Endianness>::parse(bytes).map_err(|_| {
        "is neither an ELF program nor a script with #! in its first line".to_owned()
    })?;
    let damaged = |_| "is a damaged program".to_owned();
    let endian = header.endian().map_err(damaged)?;
    let parts = header.program_headers(endian, bytes).map_err(damaged)?;
    let Some(part) = parts.iter().find(|part| part.p_type(endian) == elf::PT_INTERP) else {
        return Err("is statically linked, so that no library can be preloaded".to_owned().into());
    };
    let linker = part.data(endian, bytes).unwrap_or_default();
    match cfg!(target_env = "gnu") && linker.windows(MUSL.len()).any(|name| name == MUSL) {
        true => {
            Err(unloadable("is linked with musl, and the recording library with the GNU C library"))
        }
        false => Ok(()),
    }
}

/// The program that puts a malloc of its own in place of any other.
const VALGRIND: &str = "valgrind";
/// The beginning of the name of musl's dynamic linker.
const MUSL: &[u8] = b"/ld-musl-";
/// The section with the build information of a Go program.
const GO: &str = ".go.buildinfo";
/// Symbols of allocators, and their names.
const ALLOCATORS: [(&str, &str); 7] = [
    ("_rjem_malloc", "jemalloc"),
    ("je_malloc", "jemalloc"),
    ("mi_malloc", "mimalloc"),
    ("tc_malloc", "tcmalloc"),
    ("TCMallocInternalMalloc", "tcmalloc"),
    ("sn_rust_alloc", "snmalloc"),
    ("rpmalloc", "rpmalloc"),
];
/// The maximum size of a program whose symbols are searched.
const FILE_SIZE_MAX: u64 = 2 << 30;

/// Checks the functions that are linked into a program, as far as its symbols tell. Returns a
/// warning about an allocator whose calls are not recorded.
///
/// # Errors
///
/// The program does not call the recording library at all.
fn hidden(path: &Path, what: What) -> Result<Option<String>, Refusal> {
    let size = fs::metadata(path).map_or(0, |data| data.len());
    let Some(bytes) = (size <= FILE_SIZE_MAX).then(|| File::open(path).ok()).flatten() else {
        return Ok(None);
    };
    let cache = ReadCache::new(bytes);
    let Ok(file) = ElfFile64::<Endianness, _>::parse(&cache) else { return Ok(None) };
    if let Some((_, _, name, option)) = sanitizer(&file) {
        return Err(unloadable(&format!(
            "is built with {name}, which has a malloc of its own; build it without \
             -fsanitize={option}"
        )));
    }
    if what == What::Functions {
        let mut symbols = file.symbols().chain(file.dynamic_symbols());
        let is_own = symbols.any(|it| it.is_definition() && it.name() == Ok(what.symbol()));
        let own = || format!("defines {} itself, which hides the recording library", what.symbol());
        return if is_own { Err(own().into()) } else { Ok(None) };
    }
    if file.section_by_name(GO).is_some() {
        return Err(format!("is a Go program (section {GO}), which does not call malloc").into());
    }
    let known = |name: &str| ALLOCATORS.into_iter().find(|(symbol, _)| *symbol == name);
    let defined = |symbol: &ElfSymbol64<'_, '_, Endianness, _>| symbol.is_definition();
    let mut symbols = file.symbols().chain(file.dynamic_symbols()).filter(defined);
    let linked = symbols.find_map(|symbol| known(symbol.name().ok()?));
    // The linker prefers symbols that the program exports to preloaded ones.
    if file.dynamic_symbols().filter(defined).any(|symbol| symbol.name() == Ok("malloc")) {
        let whose = linked.map_or(String::new(), |(symbol, name)| format!(", {name}'s ({symbol})"));
        return Err(format!(
            "defines malloc itself (symbol malloc{whose}), which hides the recording library"
        )
        .into());
    }
    Ok(linked.map(|(symbol, name)| {
        format!(
            "has {name} linked in (symbol {symbol}): calls of that are not recorded, only calls \
             of malloc"
        )
    }))
}

/// Returns the sanitizer that a program was built with: linked in, or as a library.
fn sanitizer<'d>(
    file: &ElfFile64<'d, Endianness, &'d ReadCache<File>>,
) -> Option<(&'static str, &'static str, &'static str, &'static str)> {
    let (endian, data) = (file.endian(), file.data());
    let sections = file.elf_section_table();
    let needed = sections.dynamic(endian, data).ok().flatten().and_then(|(entries, strings)| {
        let strings = sections.strings(endian, data, strings).ok()?;
        let is_needed = |entry: &&elf::Dyn64<Endianness>| entry.tag(endian) == elf::DT_NEEDED;
        let mut names = entries.iter().filter(is_needed);
        names.find_map(|entry| {
            let name = entry.string(endian, strings).ok()?;
            SANITIZERS.into_iter().find(|of| name.starts_with(of.1.as_bytes()))
        })
    });
    let symbols = || file.symbols().chain(file.dynamic_symbols());
    needed.or_else(|| {
        symbols().filter(|symbol| symbol.is_definition()).find_map(|symbol| {
            let name = symbol.name().ok()?;
            SANITIZERS.into_iter().find(|of| name == of.0)
        })
    })
}

/// The rights that a file may give to a process.
struct Rights {
    mode: u32,
    user: u32,
    group: u32,
    has_capabilities: bool,
}

fn check_rights(path: &Path) -> Result<(), String> {
    let Ok(data) = fs::metadata(path) else { return Ok(()) };
    // A value that does not fit exists, too.
    let capabilities = getxattr(path, "security.capability", &mut [0u8; 64]);
    let has_capabilities = matches!(capabilities, Ok(1..) | Err(rustix::io::Errno::RANGE));
    let (mode, user, group) = (data.mode(), data.uid(), data.gid());
    let rights = Rights { mode, user, group, has_capabilities };
    rights.check(geteuid().as_raw(), getegid().as_raw())
}

impl Rights {
    /// The dynamic linker preloads nothing for a program with more rights than its user.
    fn check(&self, user: u32, group: u32) -> Result<(), String> {
        let is_setgid = self.mode & SETGID != 0 && self.mode & GROUP_MAY_RUN != 0;
        let what = if self.mode & SETUID != 0 && self.user != user {
            "is setuid"
        } else if is_setgid && self.group != group {
            "is setgid"
        } else if self.has_capabilities && user != ROOT {
            // Root has all capabilities anyway.
            "has capabilities (getcap)"
        } else {
            return Ok(());
        };
        Err(format!("{what}, so that the system preloads nothing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.rep.record.refused`
    #[test]
    fn a_program_with_more_rights_than_its_user_is_refused() {
        let of = |mode, user, group, has_capabilities| {
            Rights { mode, user, group, has_capabilities }.check(1000, 1000)
        };
        assert_eq!(of(0o755, 0, 0, false), Ok(()));
        assert!(of(0o4755, 0, 0, false).unwrap_err().starts_with("is setuid"));
        assert_eq!(of(0o4755, 1000, 0, false), Ok(()));
        assert!(of(0o2755, 0, 0, false).unwrap_err().starts_with("is setgid"));
        assert_eq!(of(0o2755, 0, 1000, false), Ok(()));
        assert_eq!(of(0o2745, 0, 0, false), Ok(()), "a lock, not a right");
        assert!(of(0o755, 0, 0, true).unwrap_err().starts_with("has capabilities"));
        let capable = Rights { mode: 0o755, user: 0, group: 0, has_capabilities: true };
        assert_eq!(capable.check(ROOT, 0), Ok(()));
    }
}
