//! Who called: stacks, of which each is a number, as all of them are one tree of frames.
//!
//! ```text
//!  main ─ load ─┬─ parse ─ malloc         Frame 1 parent 0  Frame 2 parent 1  Frame 3 parent 2
//!               └─ malloc                 the stack of the first is 3, that of the other 2
//! ```
//!
//! Design: `.rep.stack` in `design/replay.md`.
#![expect(unsafe_code, reason = "the unwinder, and a variable of the environment")]

use crate::real::Function;
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
use crate::unwind::{self, State, here};
use crate::{mappings, roster, tree};
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicU8, Ordering};
use eventlog::format::Presence;

/// The variable that asks for stacks: the number of frames that are recorded, at least.
const VARIABLE: &CStr = c"TELEMETRY_STACKS";
/// Frames of a stack that can be asked for, at most.
const DEPTH_MAX: usize = 64;
/// What `DEPTH` is before the environment was asked.
const UNKNOWN: u8 = u8::MAX;
/// Goes on to the next frame.
const CONTINUE: c_int = 0;
/// Any other ends the walk.
const ENOUGH: c_int = 5;

/// Frames of a stack that are recorded; 0: stacks are not.
static DEPTH: AtomicU8 = AtomicU8::new(UNKNOWN);

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
}

/// Whether stacks are recorded.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    DEPTH.load(Ordering::Relaxed) != 0
}

/// Where the unwinder is.
pub(crate) fn unwinder() -> usize {
    _Unwind_Backtrace as *const () as usize
}

/// The frames of a stack, innermost first.
struct Frames {
    addresses: [usize; DEPTH_MAX],
    count: usize,
    count_max: usize,
}

/// The number of the stack of whoever called this library, of which this is made a part; 0: there
/// is none.
#[inline(always)]
pub(crate) fn current() -> u32 {
    of_caller(here())
}

#[inline(never)]
fn of_caller(start: State) -> u32 {
    match usize::from(depth()) {
        0 => 0,
        depth => by_rules(start, depth).unwrap_or_else(|| by_unwinder(depth)),
    }
}

/// The same by what is known of addresses and of the stack before; `None`: that does not do.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[inline(always)]
fn by_rules(start: State, depth: usize) -> Option<u32> {
    unwind::stack(start, depth, mappings::is_own, tell).ok()
}

/// There are no rules for other processors, and nothing that they begin with.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
type State = ();
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
fn here() -> State {}
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
fn by_rules(_: State, _: usize) -> Option<u32> {
    None
}

/// The same by the unwinder, for any stack.
#[cold]
#[inline(never)]
fn by_unwinder(count_max: usize) -> u32 {
    let mut frames = Frames { addresses: [0; DEPTH_MAX], count: 0, count_max };
    // SAFETY: `note_frame` takes the argument for what it is, and it lives through the call.
    unsafe { _Unwind_Backtrace(note_frame, (&raw mut frames).cast()) };
    let mut parent = 0;
    for address in frames.addresses.iter().take(frames.count).rev() {
        let found = tree::place(*address).and_then(|place| tree::frame(parent, place));
        // The tree is full: the stack is that of the outer frames.
        let Some((frame, is_new)) = found else { break };
        if is_new {
            tell(frame, parent, *address);
        }
        parent = frame;
    }
    parent
}

/// Records a frame that is new, and what is mapped there.
#[cold]
fn tell(frame: u32, parent: u32, address: usize) {
    mappings::note(address);
    tree::tell(frame, parent, address);
}

extern "C" fn note_frame(frame: *mut c_void, frames: *mut c_void) -> c_int {
    // SAFETY: the unwinder calls this with a frame, and what `current` gave it, which nobody else
    // uses meanwhile.
    let (address, frames) = unsafe { (_Unwind_GetIP(frame), &mut *frames.cast::<Frames>()) };
    if address == 0 || frames.count == frames.count_max {
        return ENOUGH;
    }
    // Whoever called: not this library itself.
    if frames.count != 0 || !mappings::is_own(address) {
        frames.addresses[frames.count] = address;
        frames.count += 1;
    }
    CONTINUE
}

/// How many frames are recorded, by the environment.
fn depth() -> u8 {
    match DEPTH.load(Ordering::Relaxed) {
        UNKNOWN => {
            // SAFETY: the name ends with a NUL, and so does what is found, which is read at once;
            // the other call touches no memory.
            let depth = unsafe {
                let value = libc::getenv(VARIABLE.as_ptr());
                // Who starts a program that has more rights does not say what it does.
                let is_asked = !value.is_null() && libc::getauxval(libc::AT_SECURE) == 0;
                let text = is_asked.then(|| CStr::from_ptr(value).to_bytes());
                text.and_then(|text| core::str::from_utf8(text).ok()?.parse::<u8>().ok())
            };
            let depth = depth.unwrap_or(0).min(DEPTH_MAX as u8);
            DEPTH.store(depth, Ordering::Relaxed);
            // What asks for the first time has asked for memory for the first time.
            roster::note(Presence::Recorded, 0);
            depth
        }
        depth => depth,
    }
}

/// In a forked child, which has a log of its own: what is in its parent's is told again.
pub(crate) fn begin_anew() {
    if !matches!(DEPTH.swap(UNKNOWN, Ordering::Relaxed), 0 | UNKNOWN) {
        tree::clear();
        forget_files();
    }
}

/// What was known of files that were mapped counts no more.
fn forget_files() {
    mappings::clear();
    forget_code();
}

/// What was known of code counts no more.
fn forget_code() {
    #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
    unwind::forget();
}

type Table = unsafe extern "C" fn(*mut c_void);
static REGISTER: Function<Table> = Function::new(c"__register_frame");
static DEREGISTER: Function<Table> = Function::new(c"__deregister_frame");

/// As __register_frame: a compiler wrote code where there may have been other code.
// SAFETY: S1, as below.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __register_frame(table: *mut c_void) {
    if let Some(register) = REGISTER.get() {
        // SAFETY: S1.
        unsafe { register(table) };
    }
    forget_code();
}

/// As __deregister_frame.
// SAFETY: S1, as below.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __deregister_frame(table: *mut c_void) {
    if let Some(deregister) = DEREGISTER.get() {
        // SAFETY: S1.
        unsafe { deregister(table) };
    }
    forget_code();
}

type Close = unsafe extern "C" fn(*mut c_void) -> c_int;
static CLOSE: Function<Close> = Function::new(c"dlclose");

/// As dlclose: another library may be mapped where this one was.
// SAFETY: S1: the caller keeps the promises that the C library asks of it for dlclose; no other
// symbol of this library has the name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlclose(library: *mut c_void) -> c_int {
    // SAFETY: S1: the caller keeps the promises that the C library asks for dlclose, and they are
    // passed on.
    let result = CLOSE.get().map_or(-1, |close| unsafe { close(library) });
    if is_on() {
        forget_files();
    }
    result
}
