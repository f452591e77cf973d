//! Programs that cannot load this library. They are started without it: in an environment whose
//! `LD_PRELOAD` does not name it.
//!
//! ```text
//!  execve(path, …) ─▶ #!, ELF ─ its dynamic linker, its processor, a sanitizer ─▶ a cause, or none
//!  environment ─ a copy of the list ─▶ LD_PRELOAD=other.so ─▶ the real execve
//! ```
//!
//! A child made by vfork runs this on its parent's stack: nothing is allocated. Design:
//! `.rep.record.unloadable` in `design/replay.md`.
#![expect(unsafe_code, reason = "paths, lists of strings, and a header that callers point to")]

// X1: a path or a string of the environment ends with a NUL; the list of the environment ends with
//     a null pointer. The caller keeps these promises, which the C library asks of it.

use crate::mapped::Mapped;
use core::ffi::{CStr, c_char, c_int, c_ulong};
use core::mem::MaybeUninit;
use core::ptr::null;
use eventlog::format::{SANITIZERS, Unloadable};
use object::NativeEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use std::io::Write;
use std::sync::OnceLock;
use telemetry::__private::uncancelled;

type Text = *const c_char;
type Strings = *const Text;

const PATH_SIZE_MAX: usize = 1024;
/// The number of an open file has at most as many digits.
const NUMBER_SIZE: usize = 16;
/// The maximum number of nested interpreters of scripts.
const SCRIPT_DEPTH_MAX: usize = 4;
/// The maximum number of variables: a larger environment stays as it is.
const VARIABLE_COUNT_MAX: usize = 1024;
const PRELOAD: &[u8] = b"LD_PRELOAD=";
const PRELOAD_SIZE_MAX: usize = 4096;
/// The part of the header of an ELF file that says for which machines it is.
const KIND: [core::ops::Range<usize>; 2] = [0..6, 18..20];

/// The program that a process is about to execute.
#[derive(Clone, Copy)]
pub(crate) enum Program {
    Path(Text),
    /// A name that is looked up in the folders of PATH.
    Named(Text),
    /// An open file, and a path from there; null: the file itself.
    Open(c_int, Text),
}

/// Returns why a program does not load this library; `None`: it can, or that is not known.
///
/// # Safety
///
/// X1: the path.
pub(crate) unsafe fn cause(program: Program) -> Option<Unloadable> {
    // SAFETY: the caller's promise.
    uncancelled(|| unsafe { find_cause(program) })
}

/// Does the work of [`cause`].
///
/// # Safety
///
/// X1: the path.
unsafe fn find_cause(program: Program) -> Option<Unloadable> {
    let mut path = [0; PATH_SIZE_MAX];
    // SAFETY: the caller's promise.
    let mut is_found = unsafe {
        match program {
            Program::Path(text) => put(&mut path, &[bytes(text)]),
            Program::Named(text) => find(bytes(text), &mut path),
            Program::Open(file, text) => open(file, bytes(text), &mut path),
        }
    };
    for _ in 0..SCRIPT_DEPTH_MAX {
        let mut file = is_found.then(|| map(&path)).flatten()?;
        let next = file.bytes().strip_prefix(b"#!").and_then(interpreter);
        is_found = next.is_some_and(|next| put(&mut path, &[next]));
        let cause = if next.is_none() { cause_of(file.bytes()) } else { None };
        file.clear();
        if !is_found {
            return cause;
        }
    }
    None
}

/// Maps a regular file: another one may make the caller wait.
fn map(path: &[u8; PATH_SIZE_MAX]) -> Option<Mapped> {
    let mut data = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `put` ended the path with a NUL; the structure is this function's.
    let is_regular = unsafe {
        libc::stat(path.as_ptr().cast(), data.as_mut_ptr()) == 0
            && data.assume_init().st_mode & libc::S_IFMT == libc::S_IFREG
    };
    let end = path.iter().position(|byte| *byte == 0)?;
    is_regular.then(|| Mapped::file(path.get(..=end)?)).flatten()
}

/// Returns the bytes of a string; none for null.
///
/// # Safety
///
/// X1: the string, if it is not null.
unsafe fn bytes<'a>(text: Text) -> &'a [u8] {
    // SAFETY: the caller's promise.
    if text.is_null() { &[] } else { unsafe { CStr::from_ptr(text) }.to_bytes() }
}

/// Puts parts of a path together, with a NUL. Returns false if the path is too long.
fn put(path: &mut [u8; PATH_SIZE_MAX], parts: &[&[u8]]) -> bool {
    let mut rest = &mut path[..];
    parts.iter().chain(&[&b"\0"[..]]).all(|part| rest.write_all(part).is_ok())
}

/// Finds a program as `execvp` does. Returns whether that was found.
fn find(name: &[u8], path: &mut [u8; PATH_SIZE_MAX]) -> bool {
    if name.contains(&b'/') {
        return put(path, &[name]);
    }
    // SAFETY: the name ends with a NUL, and so does the value, which is read at once.
    let folders = unsafe { bytes(libc::getenv(c"PATH".as_ptr())) };
    folders.split(|byte| *byte == b':').any(|folder| {
        let folder = if folder.is_empty() { b"." } else { folder };
        // SAFETY: `put` ended the path with a NUL.
        put(path, &[folder, b"/", name])
            && unsafe { libc::access(path.as_ptr().cast(), libc::X_OK) } == 0
    })
}

fn open(file: c_int, way: &[u8], path: &mut [u8; PATH_SIZE_MAX]) -> bool {
    if way.starts_with(b"/") || (file == libc::AT_FDCWD && !way.is_empty()) {
        return put(path, &[way]);
    }
    let mut number = [0; NUMBER_SIZE];
    let mut rest = &mut number[..];
    let is_written = write!(rest, "{file}").is_ok();
    let size = NUMBER_SIZE - rest.len();
    let slash: &[u8] = if way.is_empty() { b"" } else { b"/" };
    is_written && put(path, &[b"/proc/self/fd/", &number[..size], slash, way])
}

/// Returns the interpreter in the first line of a script.
fn interpreter(rest: &[u8]) -> Option<&[u8]> {
    let line = rest.get(..rest.len().min(PATH_SIZE_MAX))?.split(|byte| *byte == b'\n').next()?;
    line.trim_ascii().split(u8::is_ascii_whitespace).next()
}

fn cause_of(file: &[u8]) -> Option<Unloadable> {
    let own = OWN.get()?;
    let is_elf = file.starts_with(&elf::ELFMAG);
    if is_elf && KIND.into_iter().any(|part| file.get(part.clone()) != own.header.get(part)) {
        return Some(Unloadable::Machine);
    }
    let header = FileHeader64::<NativeEndian>::parse(file).ok()?;
    let parts = header.program_headers(NativeEndian, file).ok()?;
    let linker = parts.iter().find(|part| part.p_type(NativeEndian) == elf::PT_INTERP);
    let Some(linker) = linker else {
        // The dynamic linker itself has none, too, and may be executed.
        let is_linker = header.e_type(NativeEndian) == elf::ET_DYN;
        return (!is_linker).then_some(Unloadable::Static);
    };
    let linker = linker.data(NativeEndian, file).ok()?.split(|byte| *byte == 0).next()?;
    let linker = last(linker);
    // The standard base for Linux has a name of its own for that of the GNU C library.
    if own.linker.is_some_and(|own| own != linker) && !linker.starts_with(b"ld-lsb") {
        return Some(Unloadable::Linker);
    }
    has_sanitizer(file, header).unwrap_or(false).then_some(Unloadable::Sanitizer)
}

fn has_sanitizer(file: &[u8], header: &FileHeader64<NativeEndian>) -> Option<bool> {
    let sections = header.sections(NativeEndian, file).ok()?;
    let (entries, strings) = sections.dynamic(NativeEndian, file).ok()??;
    let strings = sections.strings(NativeEndian, file, strings).ok()?;
    let needed = entries.iter().filter(|entry| entry.tag(NativeEndian) == elf::DT_NEEDED);
    let mut needed = needed.filter_map(|entry| entry.string(NativeEndian, strings).ok());
    let is_library = |name: &[u8]| SANITIZERS.iter().any(|of| name.starts_with(of.1.as_bytes()));
    if needed.any(is_library) {
        return Some(true);
    }
    let symbols = sections.symbols(NativeEndian, file, elf::SHT_DYNSYM).ok()?;
    let mut defined = symbols.iter().filter(|symbol| !symbol.is_undefined(NativeEndian));
    let is_init = |name: &[u8]| SANITIZERS.iter().any(|of| name == of.0.as_bytes());
    Some(defined.any(|symbol| symbols.symbol_name(NativeEndian, symbol).is_ok_and(is_init)))
}

fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// This library, as the dynamic linker loaded it.
struct Own {
    header: &'static [u8],
    path: &'static [u8],
    /// The name of the dynamic linker.
    linker: Option<&'static [u8]>,
}

static OWN: OnceLock<Own> = OnceLock::new();

/// Finds out how this library was loaded. The forked child of a process with several threads must
/// not ask the dynamic linker.
pub(crate) fn prepare() {
    if let Some(own) = Own::find() {
        let _ = OWN.set(own);
    }
}

impl Own {
    fn find() -> Option<Own> {
        static PLACE: u8 = 0;
        let of = |address: usize| {
            let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
            // SAFETY: any address may be asked for; zeros are the result for an unknown one. A name
            // ends with a NUL, and stays as long as its library, which is never unloaded.
            unsafe {
                let address = core::ptr::without_provenance(address);
                libc::dladdr(address, found.as_mut_ptr());
                let found = found.assume_init();
                (found.dli_fbase.cast::<u8>().cast_const(), bytes(found.dli_fname))
            }
        };
        let (begin, path) = of((&raw const PLACE).addr());
        // SAFETY: the call touches no memory.
        let linker = unsafe { libc::getauxval(libc::AT_BASE as c_ulong) } as usize;
        let linker = (linker != 0).then(|| last(of(linker).1)).filter(|name| !name.is_empty());
        // SAFETY: a library is mapped from its header on, and never unmapped.
        let header = (!begin.is_null()).then(|| unsafe { core::slice::from_raw_parts(begin, 20) });
        Some(Own { header: header?, path, linker })
    }
}

/// Passes on the environment without this library in `LD_PRELOAD`.
///
/// # Safety
///
/// X1: the environment.
#[cold]
#[inline(never)]
pub(crate) unsafe fn without_this<T>(environment: Strings, start: impl FnOnce(Strings) -> T) -> T {
    let (mut list, mut preload) = ([null(); VARIABLE_COUNT_MAX + 1], [0; PRELOAD_SIZE_MAX]);
    // SAFETY: the caller's promise.
    match unsafe { copy(environment, &mut list, &mut preload) } {
        Some(()) => start(list.as_ptr()),
        None => start(environment),
    }
}

/// Copies the list of an environment; `None`: it has too many variables, or too long ones.
///
/// # Safety
///
/// X1: the environment, or null.
unsafe fn copy(
    environment: Strings,
    list: &mut [Text; VARIABLE_COUNT_MAX + 1],
    preload: &mut [u8; PRELOAD_SIZE_MAX],
) -> Option<()> {
    let own = OWN.get()?.path;
    let (mut at, mut count) = (environment, 0);
    // SAFETY: the caller's promise: the list ends with null.
    while let Some(text) = unsafe { at.as_ref() }.filter(|text| !text.is_null()) {
        // SAFETY: the caller's promise: the next pointer, or null, follows.
        at = unsafe { at.add(1) };
        let mut kept = Some(*text);
        // SAFETY: the caller's promise: the string ends with a NUL.
        if let Some(value) = unsafe { bytes(*text) }.strip_prefix(PRELOAD) {
            let others = value.split(|byte| b" :".contains(byte));
            let mut rest = &mut preload[..];
            rest.write_all(PRELOAD).ok()?;
            let mut other_count = 0;
            for other in others.filter(|other| *other != own && !other.is_empty()) {
                rest.write_all(if other_count == 0 { b"" } else { b":" }).ok()?;
                rest.write_all(other).ok()?;
                other_count += 1;
            }
            rest.write_all(b"\0").ok()?;
            kept = (other_count > 0).then_some(preload.as_ptr().cast());
        }
        if let Some(kept) = kept {
            *list.get_mut(count).filter(|_| count < VARIABLE_COUNT_MAX)? = kept;
            count += 1;
        }
    }
    Some(())
}
