//! The hooks of `-finstrument-functions`: a C or C++ compiler calls them at the beginning and at
//! the end of each function.
//!
//! ```text
//!  __cyg_profile_func_enter ─▶ labelled? ─ frames: the caller ─▶ CallEnter function, caller
//!                                 └ no ─▶ names ─▶ Label        exit ─▶ CallLeave function
//! ```
//!
//! The library does this instead of recording malloc: the environment says which. Design:
//! `.calls.instrumented` in `design/calls.md`.
#![expect(unsafe_code, reason = "symbols that compilers call; a variable of the C library")]

// F1: the compiler calls a function of this name with the address of a function and its return
//     address; no other symbol of this library has the name.

use crate::chosen::{self, CHOSEN};
use crate::frames::{self, Frame, PLAIN, Top};
use crate::thread::{self, Activity};
use crate::tree::{self, Place};
use crate::{events, names, roster};
use calls::events::{CallEnter, CallLeave};
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use eventdef::field::P;
use eventlog::format::Presence;
use telemetry::__private::{discard, is_recorded, record_here, rename_variables, with_environment};

/// The variables of a program are its own: this library has others.
static VARIABLES: &[(&CStr, &CStr)] = &[
    (telemetry::control::FILENAME_VARIABLE, c"TELEMETRY_FILENAME"),
    (telemetry::control::CONTROL_VARIABLE, c"TELEMETRY_CONTROL"),
];

/// The state of `MODE`: the environment was not read yet.
const UNKNOWN: u8 = 0;
/// Calls of malloc are recorded.
const MALLOC: u8 = 1;
/// Calls of functions are recorded.
const CALLS: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);
/// Whether the process has noted that it records.
static IS_NOTED: AtomicBool = AtomicBool::new(false);
/// Whether invalid patterns of the filter were reported.
static IS_REPORTED: AtomicBool = AtomicBool::new(false);
/// Libraries that were unloaded so far.
static GENERATION: AtomicUsize = AtomicUsize::new(0);

/// Tells functions from return addresses, in the table of addresses: no program has this bit.
pub(crate) const FUNCTION: usize = 1 << (usize::BITS - 1);
/// The bits of an address; those above have the generation, modulo 2^15.
const ADDRESS_BITS: u32 = 48;
pub(crate) const ADDRESS: usize = (1 << ADDRESS_BITS) - 1;
const GENERATION_MAX: usize = (1 << 15) - 1;

/// Returns whether functions are recorded, and not malloc.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    match MODE.load(Ordering::Relaxed) {
        MALLOC => false,
        CALLS => true,
        _ => read_mode(),
    }
}

/// Does the same, for the hooks: where functions are recorded it takes one test.
#[inline(always)]
fn is_on_for_hooks() -> bool {
    match MODE.load(Ordering::Relaxed) {
        CALLS => true,
        mode => mode == UNKNOWN && read_mode(),
    }
}

#[cold]
#[inline(never)]
fn read_mode() -> bool {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    rename_variables(&VARIABLES);
    // SAFETY: the C library's variable; it is null until the C library has begun.
    if unsafe { (&raw const environ).read_volatile() }.is_null() {
        return false;
    }
    let is_on = with_environment(c"TELEMETRY_CALLS", |value| value.is_some_and(|it| it == b"1"));
    MODE.store(if is_on { CALLS } else { MALLOC }, Ordering::Relaxed);
    is_on
}

// The hooks pass on where the stack of their callers ends.
macro_rules! hooks {
    ($($name:ident => $hook:ident;)*) => {$(
        // SAFETY: F1. The arguments stay in their registers.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!("mov rdx, rsp", "jmp {hook}", hook = sym $hook)
        }

        // SAFETY: F1. The arguments stay in their registers.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!("mov x2, sp", "b {hook}", hook = sym $hook)
        }
    )*};
}

hooks! {
    __cyg_profile_func_enter => enter;
    __cyg_profile_func_exit => exit;
}

/// A function begins: its address, its return address, and where the stack ends.
extern "C" fn enter(address: usize, site: usize, stack: usize) {
    if !is_recorded::<CallEnter>() || !is_on_for_hooks() {
        return;
    }
    let place = tree::place(address | FUNCTION);
    let rule = match place.map_or(0, Place::rule) as usize {
        0 => match meet(address, place) {
            Some(rule) => rule,
            None => return,
        },
        rule => rule,
    };
    if rule & CHOSEN != 0 {
        return chosen::enter(rule, place, site, stack);
    }
    let around = frames::around(rule, site, stack);
    if around.how != PLAIN {
        return chosen::enter(rule, place, site, stack);
    }
    match frames::push(Frame { function: rule, site, stack, how: PLAIN }) {
        true => record_here(CallEnter { function: P(rule), caller: P(around.function) }),
        false => discard::<CallEnter>(),
    }
}

/// A function ends.
extern "C" fn exit(address: usize, site: usize) {
    if !is_recorded::<CallLeave>() || !is_on_for_hooks() {
        return;
    }
    match frames::plain_top(site, |function| function & ADDRESS == address) {
        Some(function) => {
            record_here(CallLeave { function: P(function) });
            frames::pop();
        }
        None => exit_rare(address, site),
    }
}

/// Ends a call that is not plain, or one whose frame is not the last.
#[cold]
#[inline(never)]
fn exit_rare(address: usize, site: usize) {
    // A function that the filter excludes has no frame.
    if chosen::is_excluded(address) {
        return;
    }
    match frames::find(site, |function| function & ADDRESS == address) {
        Top::Is(frame) => {
            chosen::exit(&frame);
            frames::pop();
        }
        // Its beginning was not recorded.
        Top::Unknown => record_here(CallLeave { function: P(address) }),
        Top::Beyond => discard::<CallLeave>(),
    }
}

/// Labels a function that is called for the first time, if the filter does not exclude it. Returns
/// its rule: the word that stands for it in the log, next to a bit of the filter. The word is its
/// address; and the generation, because its library may have the place of one that was unloaded.
/// `None`: calls are not recorded.
#[cold]
#[inline(never)]
fn meet(address: usize, place: Option<Place>) -> Option<usize> {
    if calls::__private::register() {
        if !is_recorded::<CallEnter>() {
            return None;
        }
        if !IS_NOTED.swap(true, Ordering::Relaxed) {
            // This registry tells the logs of this library from those of programs.
            telemetry::control::of(&events::CONTROL).record_while_output(events::Kinds::all());
            roster::note(Presence::Recorded, 0);
            calls::__private::tell_filter();
            if !IS_REPORTED.swap(true, Ordering::Relaxed) {
                calls::__private::report_invalid();
            }
        }
    }
    let generation = (GENERATION.load(Ordering::Relaxed) & GENERATION_MAX) << ADDRESS_BITS;
    let mut rule = address | generation;
    // A function that the labelling itself calls, in an allocator, is labelled by its next call.
    thread::with(|local| {
        if let Some(place) = place
            && local.activity.get() != Activity::Recording
        {
            let before = local.activity.replace(Activity::Recording);
            let error = thread::errno();
            if let Some((function, decided)) = names::label(address, generation) {
                rule = chosen::decide(place, function, decided);
            }
            thread::set_errno(error);
            local.activity.set(before);
        }
    });
    Some(rule)
}

/// A library was unloaded: another one may take its place.
pub(crate) fn after_dlclose() {
    if MODE.load(Ordering::Relaxed) == CALLS {
        names::forget_unloaded(|code| {
            GENERATION.fetch_add(1, Ordering::Relaxed);
            tree::forget(code.start | FUNCTION..code.end | FUNCTION, chosen::forget);
        });
    }
}

/// Begins again in a forked child.
pub(crate) fn after_fork() {
    IS_NOTED.store(false, Ordering::Relaxed);
    names::after_fork();
}
