//! The roster: notes of each process of a recording, in a file that all processes share.
//!
//! ```text
//!  loaded │ forked │ asked for memory │ executes … │ ended ─▶ the next entry of the mapped file
//! ```
//!
//! So `replay record` can compare the logs with the processes that existed. A child keeps the
//! mapping, whatever becomes of its rights, its root directory and its file descriptors. Design:
//! `.rep.record.roster` in `design/replay.md`.
#![expect(unsafe_code, reason = "a file that is mapped, and names of functions and programs")]

// P1: the mapping has SIZE bytes, and stays as long as the process. The thread that counted an
// entry writes it; the count changes by atomic operations.

use crate::thread::{self, Activity};
use crate::{functions, real};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use eventlog::format::{
    Presence, ROSTER_ENTRY_SIZE, ROSTER_NAME, ROSTER_NUMBER, ROSTER_SIZE, ROSTER_SIZE_MIN,
    ROSTER_WHAT,
};

/// The environment variable with the path of the roster.
const VARIABLE: &CStr = c"TELEMETRY_ROSTER";
const NAME_SIZE: usize = ROSTER_ENTRY_SIZE - ROSTER_NAME;

/// Asks `dladdr1` for the symbol.
const RTLD_DL_SYMENT: c_int = 1;

/// The mapping; null without a roster.
static ROSTER: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static SIZE: AtomicUsize = AtomicUsize::new(0);

/// Maps the roster, if the environment names one, and notes that this process was loaded.
pub(crate) fn begin() {
    // SAFETY: the names end with a NUL; the value is read at once. The kernel chooses a free place
    // for the mapping.
    unsafe {
        let path = libc::getenv(VARIABLE.as_ptr());
        if path.is_null() {
            return;
        }
        let file = libc::open(path, libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW);
        if file < 0 {
            return;
        }
        let mut data = MaybeUninit::<libc::stat>::zeroed();
        let is_known = libc::fstat(file, data.as_mut_ptr()) == 0;
        let size = usize::try_from(data.assume_init().st_size).unwrap_or(0);
        if is_known && (ROSTER_SIZE_MIN..=ROSTER_SIZE).contains(&size) {
            let way = libc::PROT_READ | libc::PROT_WRITE;
            let memory = libc::mmap(null_mut(), size, way, libc::MAP_SHARED, file, 0);
            if memory != libc::MAP_FAILED {
                SIZE.store(size, Ordering::Relaxed);
                ROSTER.store(memory.cast(), Ordering::Release);
            }
        }
        libc::close(file);
    }
    note(Presence::Loaded, u64::from(is_hidden()));
}

/// Returns whether the program defines its own malloc, or hook, which hides the one here, or other
/// code has its place, as under valgrind. A program that is not position-independent may have a
/// stub for the one here, whose address all libraries use: its symbol is undefined.
fn is_hidden() -> bool {
    let file_of = |address: *const c_void| {
        let (mut found, mut symbol) = (MaybeUninit::<libc::Dl_info>::zeroed(), null_mut());
        // SAFETY: any address may be asked for; zeros are the result for an unknown address, and
        // the symbol is in a table of that file.
        unsafe {
            libc::dladdr1(address, found.as_mut_ptr(), &mut symbol, RTLD_DL_SYMENT);
            let symbol = symbol.cast::<libc::Elf64_Sym>().as_ref();
            (found.assume_init().dli_fbase, symbol.is_some_and(|symbol| symbol.st_shndx == 0))
        }
    };
    let name = if functions::is_on() { c"__cyg_profile_func_enter" } else { c"malloc" };
    // SAFETY: the name ends with a NUL.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let (file, is_stub) = file_of(function);
    let is_others = !is_stub && file != file_of((&raw const ROSTER).cast()).0;
    !function.is_null() && (is_others || !(functions::is_on() || comes_here(function)))
}

/// Returns whether a call of malloc by its name comes here.
fn comes_here(malloc: *mut c_void) -> bool {
    thread::with(|local| {
        // Calls during a recording are kept.
        let activity = local.activity.replace(Activity::Recording);
        // SAFETY: the function is malloc, and takes any size; the name ends with a NUL, and the
        // function of that name takes what malloc returned.
        unsafe {
            let ask = core::mem::transmute::<*mut c_void, real::OfSize>(malloc);
            let memory = ask(1);
            let free = libc::dlsym(libc::RTLD_DEFAULT, c"free".as_ptr());
            if !free.is_null() {
                core::mem::transmute::<*mut c_void, real::OfMemory<()>>(free)(memory);
            }
        }
        let has_come = local.has_kept();
        local.drain_kept(|_| ());
        local.activity.set(activity);
        has_come
    })
}

/// Passes on where the roster is mapped.
pub(crate) fn each_mapped(each: &mut dyn FnMut(usize, usize)) {
    each(ROSTER.load(Ordering::Acquire).addr(), ROSTER_SIZE);
}

pub(crate) fn note(what: Presence, number: u64) {
    let mut name = [0u8; NAME_SIZE];
    // SAFETY: the call writes at most 16 bytes, with a NUL.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    // SAFETY: the call touches no memory.
    add(unsafe { libc::getpid() }, what, number, name);
}

/// Notes something about this process, with the last part of a path.
///
/// # Safety
///
/// The path is null, or ends with a NUL.
pub(crate) unsafe fn note_path(what: Presence, number: u64, path: *const c_char) {
    // SAFETY: the call touches no memory; the caller's promise.
    add(unsafe { libc::getpid() }, what, number, unsafe { short_name(path) });
}

/// Notes that a process was started with a program.
///
/// # Safety
///
/// The path is null, or ends with a NUL.
pub(crate) unsafe fn note_spawned(process: libc::pid_t, number: u64, path: *const c_char) {
    // SAFETY: the caller's promise.
    add(process, Presence::Spawned, number, unsafe { short_name(path) });
}

/// Returns the last part of a path, or its first bytes.
///
/// # Safety
///
/// The path is null, or ends with a NUL.
unsafe fn short_name(path: *const c_char) -> [u8; NAME_SIZE] {
    let mut name = [0; NAME_SIZE];
    if !path.is_null() {
        // SAFETY: the caller's promise.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        name.iter_mut().zip(last).for_each(|(to, from)| *to = *from);
    }
    name
}

fn add(process: libc::pid_t, what: Presence, number: u64, name: [u8; NAME_SIZE]) {
    let roster = ROSTER.load(Ordering::Acquire);
    if roster.is_null() {
        return;
    }
    // SAFETY: P1: the first eight bytes are the count; this thread alone has the entry, whose words
    // are at multiples of their sizes.
    unsafe {
        let count = &*roster.cast::<AtomicU64>();
        let index = count.fetch_add(1, Ordering::AcqRel) as usize;
        if index >= SIZE.load(Ordering::Relaxed) / ROSTER_ENTRY_SIZE - 1 {
            return;
        }
        let entry = roster.add((index + 1) * ROSTER_ENTRY_SIZE);
        entry.cast::<u32>().write((process as u32).to_le());
        entry.add(ROSTER_NUMBER).cast::<u64>().write(number.to_le());
        entry.add(ROSTER_NAME).copy_from_nonoverlapping(name.as_ptr(), NAME_SIZE);
        let place = &*entry.add(ROSTER_WHAT).cast::<AtomicU32>();
        place.store((what as u32).to_le(), Ordering::Release);
    }
}
