//! Tcl's C functions.
//!
//! ```text
//!  Tcl_Interp: result │ freeProc │ errorLine │ stubTable ─▶ magic │ hooks │ function 0 │ 1 │ …
//! ```
//!
//! An extension finds Tcl's functions by their numbers in the stub table, which each interpreter
//! points to. The numbers never change. So the same library works with all versions, whether Tcl is
//! a shared library or a part of the program, and nothing of Tcl is needed to build it.
//!
//! - T1: `Tcl` has functions that the stub table has under these numbers, with these types.
//! - T2: An `Interp` is a live interpreter of this thread. It lasts for one call by Tcl.
//! - T3: A size is a register: a function of Tcl 8, which expects an int, reads the low half.
//! - T4: The trace of an interpreter and its associated data each own one count of its `Commands`.
//!   Tcl calls back with either only until it calls the function that gives the count back.
//! - T5: Tcl runs a callback of `Tcl_NRAddCallback` once.
//! - T6: The strings of an object stay as they are while no code of Tcl runs.
//! - T7: Tcl calls `on_time` with the facts of a `Timer` until the timer's drop deletes it.
//! - T8: The functions of `Frames` are Tcl's own, which need no data of their own. Their arguments
//!   are live objects of this interpreter's thread, as long as `Frames` owns a count of them.
//! - T9: `info frame` is asked where Tcl is in a frame: a statement of the interpreter is open, or
//!   the question has a frame.
//!
//! Design: `.calls.tcl.stubs` in `design/calls.md`.
#![expect(unsafe_code, reason = "the C functions of Tcl")]

mod callbacks;
mod frames;

pub(crate) use frames::Frames;

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use core::time::Duration;
use std::ffi::CString;
use std::sync::OnceLock;

const OK: c_int = 0;
const ERROR: c_int = 1;
/// Flags: of variables and commands, of traces.
const NAMESPACE_ONLY: c_int = 0x2;
const LEAVE_ERROR: c_int = 0x200;
const RENAMED: c_int = 0x2000;
const DELETED: c_int = 0x4000;
/// A command that is watched at its begin is never compiled inline.
const BEGUN: c_int = 0x1;
const ALLOW_INLINE_COMPILATION: c_int = 0x20000;
/// The first word of a stub table: of Tcl 8, and of Tcl 9.
const MAGICS: [u32; 2] = [0xFCA3_BACF, 0xFCA3_BACB + size_of::<usize>() as u32];
/// The name of the associated data.
const DATA: &CStr = c"turtles";

/// The beginning of an interpreter.
#[repr(C)]
struct Raw {
    result: *mut c_char,
    free: *mut c_void,
    error_line: c_int,
    stubs: *const *const c_void,
}
/// A value of Tcl.
enum Object {}
type Objects = *const *mut Object;
type Token = *mut c_void;
type CommandProc = extern "C" fn(*mut c_void, *mut Raw, c_int, Objects) -> c_int;
type TraceProc =
    extern "C" fn(*mut c_void, *mut Raw, c_int, *const c_char, Token, c_int, Objects) -> c_int;
type WatchProc = extern "C" fn(*mut c_void, *mut Raw, *const c_char, *const c_char, c_int);
type LeaveProc = extern "C" fn(*const *mut c_void, *mut Raw, c_int) -> c_int;

macro_rules! stubs {
    ($($number:literal $name:ident($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions of Tcl.
        struct Tcl {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Tcl {
            /// Takes the functions from a stub table; `None` if it lacks one.
            ///
            /// # Safety
            ///
            /// It is a stub table of Tcl 8.6 or newer.
            unsafe fn new(table: *const *const c_void) -> Option<Tcl> {
                // SAFETY: T1: the functions follow the magic number and the hooks.
                unsafe {
                    $(let $name = *table.add(2 + $number);)*
                    if [$($name),*].iter().any(|function| function.is_null()) {
                        return None;
                    }
                    Some(Tcl { $($name: core::mem::transmute::<
                        *const c_void,
                        unsafe extern "C" fn($($argument),*) -> $result,
                    >($name),)* })
                }
            }
        }
    };
}

stubs! {
    0 provide(*mut Raw, *const c_char, *const c_char, *const c_void) -> c_int;
    1 require(*mut Raw, *const c_char, *const c_char, c_int, *mut c_void) -> *const c_char;
    19 release(*mut Object, *const c_char, c_int) -> ();
    20 retain(*mut Object, *const c_char, c_int) -> ();
    46 list_index(*mut Raw, *mut Object, isize, *mut *mut Object) -> c_int;
    56 new_string(*const c_char, isize) -> *mut Object;
    96 create_command(*mut Raw, *const c_char, CommandProc, *mut c_void, *mut c_void) -> Token;
    98 create_timer(c_int, extern "C" fn(*mut c_void), *mut c_void) -> *mut c_void;
    112 delete_timer(*mut c_void) -> ();
    113 delete_trace(*mut Raw, *mut c_void) -> ();
    150 data(*mut Raw, *const c_char, *mut *mut c_void) -> *mut c_void;
    166 result(*mut Raw) -> *mut Object;
    217 reset_result(*mut Raw) -> ();
    223 set_data(*mut Raw, *const c_char, extern "C" fn(*mut c_void, *mut Raw), *mut c_void) -> ();
    231 recursion_limit(*mut Raw, isize) -> isize;
    235 set_result(*mut Raw, *mut Object) -> ();
    264 wrong_arguments(*mut Raw, c_int, Objects, *const c_char) -> ();
    291 evaluate(*mut Raw, *const c_char, isize, c_int) -> c_int;
    306 variable(*mut Raw, *const c_char, *const c_char, c_int) -> *mut Object;
    317 set_variable(*mut Raw, *const c_char, *const c_char, *mut Object, c_int) -> *mut Object;
    340 string(*mut Object) -> *const c_char;
    426 watch(*mut Raw, *const c_char, c_int, WatchProc, *mut c_void) -> c_int;
    427 unwatch(*mut Raw, *const c_char, c_int, WatchProc, *mut c_void) -> ();
    483 create_trace(*mut Raw, c_int, c_int, TraceProc, *mut c_void, extern "C" fn(*mut c_void))
        -> *mut c_void;
    484 command_facts(Token, *mut frames::CommandFacts) -> c_int;
    487 number(*mut Raw, *mut Object, *mut i64) -> c_int;
    494 dict_put(*mut Raw, *mut Object, *mut Object, *mut Object) -> c_int;
    503 new_dict() -> *mut Object;
    515 find_command(*mut Raw, *const c_char, *mut c_void, c_int) -> Token;
    517 full_name(*mut Raw, Token, *mut Object) -> ();
    535 save_state(*mut Raw, c_int) -> *mut c_void;
    536 restore_state(*mut Raw, *mut c_void) -> c_int;
    587 add_callback(*mut Raw, LeaveProc, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> ();
}

static TCL: OnceLock<Tcl> = OnceLock::new();

/// A command of an interpreter, for comparison: an address.
pub(crate) type CommandId = usize;

/// An interpreter, during one call by Tcl.
pub(crate) struct Interp<'c> {
    raw: *mut Raw,
    tcl: &'static Tcl,
    call: PhantomData<&'c mut Raw>,
}

/// A trace of all commands of an interpreter.
#[derive(Clone, Copy)]
pub(crate) struct Trace(NonNull<c_void>);

/// A timer of this thread. Its drop ends it.
pub(crate) struct Timer(Box<TimerFacts>);

struct TimerFacts {
    tcl: &'static Tcl,
    interval: c_int,
    call: fn(),
    token: Cell<*mut c_void>,
}

impl<'c> Interp<'c> {
    /// Wraps the interpreter of a call by Tcl.
    ///
    /// # Safety
    ///
    /// T2; `TCL` is set.
    unsafe fn of(raw: *mut Raw) -> Option<Interp<'c>> {
        Some(Interp { raw, tcl: TCL.get()?, call: PhantomData })
    }

    fn text(&self, object: *mut Object) -> Vec<u8> {
        // SAFETY: T1; each object of a call is live; T6.
        unsafe { CStr::from_ptr((self.tcl.string)(object)) }.to_bytes().to_vec()
    }

    fn object(&self, text: &[u8]) -> *mut Object {
        // SAFETY: T1, T3: it copies the text.
        unsafe { (self.tcl.new_string)(text.as_ptr().cast(), text.len() as isize) }
    }

    /// Returns the value of a variable of the caller; `None` with an error in the result.
    pub(crate) fn variable(&self, name: &CStr) -> Option<Vec<u8>> {
        // SAFETY: T1, T2.
        let value =
            unsafe { (self.tcl.variable)(self.raw, name.as_ptr(), ptr::null(), LEAVE_ERROR) };
        (!value.is_null()).then(|| self.text(value))
    }

    /// Sets a variable of the caller; `None` with an error in the result.
    pub(crate) fn set_variable(&self, name: &CStr, value: &[u8]) -> Option<()> {
        let value = self.object(value);
        // SAFETY: T1, T2; Tcl owns the new object.
        let value = unsafe {
            (self.tcl.set_variable)(self.raw, name.as_ptr(), ptr::null(), value, LEAVE_ERROR)
        };
        (!value.is_null()).then_some(())
    }

    pub(crate) fn set_result(&self, text: &[u8]) {
        // SAFETY: T1, T2; Tcl owns the new object.
        unsafe { (self.tcl.set_result)(self.raw, self.object(text)) }
    }

    /// Makes a dictionary the result.
    pub(crate) fn set_result_pairs<'p>(&self, pairs: impl Iterator<Item = (&'p str, &'p [u8])>) {
        // SAFETY: T1, T2; Tcl owns the new objects.
        unsafe {
            let dict = (self.tcl.new_dict)();
            for (name, value) in pairs {
                let [name, value] = [name.as_bytes(), value].map(|text| self.object(text));
                (self.tcl.dict_put)(ptr::null_mut(), dict, name, value);
            }
            (self.tcl.set_result)(self.raw, dict);
        }
    }

    /// Returns the words of a list; `None` with an error in the result if it is none.
    pub(crate) fn words(&self, list: &[u8]) -> Option<Vec<Vec<u8>>> {
        let list = self.object(list);
        let mut words = Vec::new();
        // SAFETY: T1, T2, T3; the list is live until it is released.
        unsafe {
            (self.tcl.retain)(list, ptr::null(), 0);
            let is_list = loop {
                let mut word = ptr::null_mut();
                let index = words.len() as isize;
                if (self.tcl.list_index)(self.raw, list, index, &mut word) != OK {
                    break false;
                }
                if word.is_null() {
                    break true;
                }
                words.push(self.text(word));
            };
            (self.tcl.release)(list, ptr::null(), 0);
            is_list.then_some(words)
        }
    }

    fn full_name(&self, token: Token) -> Option<CString> {
        let object = self.object(b"");
        // SAFETY: T1, T2; the command is live.
        unsafe {
            (self.tcl.retain)(object, ptr::null(), 0);
            (self.tcl.full_name)(self.raw, token, object);
            let name = self.text(object);
            (self.tcl.release)(object, ptr::null(), 0);
            CString::new(name).ok()
        }
    }

    /// Returns a command that a name finds in the current namespace, or globally too, and its full
    /// name.
    pub(crate) fn command(&self, name: &CStr, is_global: bool) -> Option<(CommandId, CString)> {
        let flags = if is_global { 0 } else { NAMESPACE_ONLY };
        // SAFETY: T1, T2; the command is live: it was found just now.
        unsafe {
            let token = (self.tcl.find_command)(self.raw, name.as_ptr(), ptr::null_mut(), flags);
            if token.is_null() {
                return None;
            }
            Some((token.addr(), self.full_name(token)?))
        }
    }

    /// Returns the result of a script, and leaves the interpreter as it was.
    pub(crate) fn ask(&self, script: &CStr) -> Option<Vec<u8>> {
        // SAFETY: T1, T2; the state is restored once.
        unsafe {
            let state = (self.tcl.save_state)(self.raw, OK);
            let is_ok = (self.tcl.evaluate)(self.raw, script.as_ptr(), -1, 0) == OK;
            let answer = is_ok.then(|| self.text((self.tcl.result)(self.raw)));
            (self.tcl.restore_state)(self.raw, state);
            answer
        }
    }

    /// Ends a trace of this interpreter.
    pub(crate) fn end_trace(&self, trace: Trace) {
        // SAFETY: T1, T2; Tcl searches for the trace among those of the interpreter.
        unsafe { (self.tcl.delete_trace)(self.raw, trace.0.as_ptr()) }
    }

    /// Sets how deep commands may be in each other, and returns how deep before; 0 asks.
    pub(crate) fn recursion_limit(&self, limit: u32) -> u32 {
        // SAFETY: T1, T2, T3. Tcl 8 returns an int, in the low half.
        unsafe { (self.tcl.recursion_limit)(self.raw, limit as isize) as u32 }
    }

    /// Calls a function again and again in Tcl's event loop.
    pub(crate) fn timer(&self, interval: Duration, call: fn()) -> Timer {
        let interval = c_int::try_from(interval.as_millis()).unwrap_or(c_int::MAX);
        let token = Cell::new(ptr::null_mut());
        let timer = Timer(Box::new(TimerFacts { tcl: self.tcl, interval, call, token }));
        timer.0.start();
        timer
    }
}

impl TimerFacts {
    fn start(&self) {
        let data = ptr::from_ref(self).cast_mut().cast();
        // SAFETY: T1, T7.
        self.token.set(unsafe { (self.tcl.create_timer)(self.interval, on_time, data) });
    }
}

extern "C" fn on_time(data: *mut c_void) {
    // SAFETY: T7.
    let facts = unsafe { &*data.cast::<TimerFacts>() };
    let call = facts.call;
    facts.start();
    call();
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: T1, T7: after this Tcl does not call with the facts.
        unsafe { (self.0.tcl.delete_timer)(self.0.token.get()) }
    }
}
