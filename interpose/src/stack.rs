//! Calling stacks: each is a number, because all of them form one tree of frames.
//!
//! ```text
//!  main ─ load ─┬─ parse ─ malloc         Frame 1 parent 0  Frame 2 parent 1  Frame 3 parent 2
//!               └─ malloc                 the first stack is 3, the second one 2
//! ```
//!
//! Design: `.rep.stack` in `design/replay.md`.
#![expect(unsafe_code, reason = "the unwinder, and a variable of the environment")]

use crate::events::Stackless;
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
use crate::own_stack;
use crate::real::Function;
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
use crate::unwind::{self, NoRule, State, registers};
use crate::{functions, mappings, roster, tree};
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use eventlog::format::Presence;
use telemetry::__private::before;

/// The environment variable with the minimum number of recorded frames.
const VARIABLE: &CStr = c"TELEMETRY_STACKS";
/// The greatest value of that variable.
const DEPTH_MAX: usize = 64;
/// The value of `DEPTH` before the environment was read.
const UNKNOWN: u8 = u8::MAX;
/// Makes the unwinder go on to the next frame.
const CONTINUE: c_int = 0;
/// Makes the unwinder end the walk.
const ENOUGH: c_int = 5;

/// The minimum number of recorded frames; 0: stacks are not recorded.
static DEPTH: AtomicU8 = AtomicU8::new(UNKNOWN);
/// Calls whose stack is not recorded for want of memory, and that were not told yet.
static MISSING: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    fn _Unwind_Backtrace(
        call: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
}

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

/// Returns the number of the stack that called this library; 0: none. The compiler inlines this
/// function, so that the walk begins in the caller's frame.
#[inline(always)]
pub(crate) fn current() -> u32 {
    of_caller(registers())
}

#[inline(never)]
fn of_caller(start: State) -> u32 {
    match usize::from(depth()) {
        0 => 0,
        depth => walk(start, depth).unwrap_or_else(|| {
            MISSING.fetch_add(1, Ordering::Relaxed);
            0
        }),
    }
}

/// Walks the stack by rules and by the last walk, or by the unwinder if it has a frame without a
/// rule. `None`: no memory for the walk.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[inline(always)]
fn walk(start: State, depth: usize) -> Option<u32> {
    own_stack::run(|walk| match walk.stack(start, depth, mappings::is_own, record) {
        Ok(stack) => stack,
        Err(NoRule) => by_unwinder(depth),
    })
}

/// Other processors have no rules, and need no registers.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
type State = ();
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
fn registers() -> State {}
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
fn walk(_: State, depth: usize) -> Option<u32> {
    tree::has_memory().then(|| by_unwinder(depth))
}

/// Walks any stack by the unwinder.
#[cold]
#[inline(never)]
fn by_unwinder(count_max: usize) -> u32 {
    let mut frames = Frames { addresses: [0; DEPTH_MAX], count: 0, count_max };
    // SAFETY: `note_frame` uses the argument as `Frames`, which exist during the call.
    unsafe { _Unwind_Backtrace(note_frame, (&raw mut frames).cast()) };
    let mut parent = 0;
    for address in frames.addresses.iter().take(frames.count).rev() {
        let found = tree::place(*address).and_then(|place| tree::frame(parent, place));
        // The tree is full: the number stands for the outer frames only.
        let Some((frame, is_new)) = found else { break };
        if is_new {
            record(frame, parent, *address);
        }
        parent = frame;
    }
    parent
}

/// Records a new frame, and the mapping of its address.
#[cold]
fn record(frame: u32, parent: u32, address: usize) {
    mappings::note(address);
    tree::record(frame, parent, address);
}

extern "C" fn note_frame(frame: *mut c_void, frames: *mut c_void) -> c_int {
    // SAFETY: the unwinder calls this with a frame, and with the argument of `by_unwinder`, which
    // nothing else uses meanwhile.
    let (address, frames) = unsafe { (_Unwind_GetIP(frame), &mut *frames.cast::<Frames>()) };
    if address == 0 || frames.count == frames.count_max {
        return ENOUGH;
    }
    // Frames of this library itself are left out.
    if frames.count != 0 || !mappings::is_own(address) {
        frames.addresses[frames.count] = address;
        frames.count += 1;
    }
    CONTINUE
}

/// Returns the minimum number of recorded frames, from the environment.
fn depth() -> u8 {
    match DEPTH.load(Ordering::Relaxed) {
        UNKNOWN => {
            // SAFETY: the name ends with a NUL, and so does the value, which is read at once; the
            // other call touches no memory.
            let depth = unsafe {
                let value = libc::getenv(VARIABLE.as_ptr());
                // A program with more rights than its user ignores the environment.
                let is_asked = !value.is_null() && libc::getauxval(libc::AT_SECURE) == 0;
                let text = is_asked.then(|| CStr::from_ptr(value).to_bytes());
                text.and_then(|text| core::str::from_utf8(text).ok()?.parse::<u8>().ok())
            };
            let depth = depth.unwrap_or(0).min(DEPTH_MAX as u8);
            DEPTH.store(depth, Ordering::Relaxed);
            // The process has just asked for memory for the first time.
            roster::note(Presence::Recorded, 0);
            depth
        }
        depth => depth,
    }
}

/// Records how many calls have no stack for want of memory, and notes it in the roster.
pub(crate) fn tell_missing() {
    let count = MISSING.swap(0, Ordering::Relaxed);
    if count != 0 {
        roster::note(Presence::Stackless, count as u64);
        before(|| Stackless::new(count));
    }
}

/// Begins again in a forked child: its own log must have all frames that its parent's log has.
pub(crate) fn after_fork() {
    if !matches!(DEPTH.swap(UNKNOWN, Ordering::Relaxed), 0 | UNKNOWN) {
        tree::clear();
        forget_files();
    }
}

/// Forgets mappings and rules: their files may no longer be mapped.
fn forget_files() {
    mappings::clear();
    forget_code();
}

/// What was known of code counts no more.
fn forget_code() {
    #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
    unwind::invalidate();
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
pub(crate) static CLOSE: Function<Close> = Function::new(c"dlclose");

/// Implements dlclose: another library may be mapped at the same place later.
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
    functions::after_dlclose();
    result
}
