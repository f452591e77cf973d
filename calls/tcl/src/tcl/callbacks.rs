//! The C functions that Tcl calls, and how it gets them: with the commands that they act on.
//!
//! ```text
//!  load ─▶ Turtles_Init      a command begins ─▶ on_command ─▶ Commands ─▶ its end ─▶ on_leave
//! ```
//!
//! The numbered conditions are those of [`tcl`](super).
#![expect(unsafe_code, reason = "functions that Tcl calls")]

use super::{
    ALLOW_INLINE_COMPILATION, BEGUN, CommandId, DATA, DELETED, ERROR, Interp, MAGICS, OK, Objects,
    RENAMED, Raw, TCL, Tcl, Token, Trace,
};
use crate::commands::{Commands, Leave};
use crate::{package, recording, system};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{self, NonNull};
use std::ffi::CString;
use std::rc::Rc;
use std::sync::OnceLock;

impl Interp<'_> {
    /// Has `Commands` told when a command gets another name, or is deleted. Tcl compiles the call
    /// of a procedure that does nothing to nothing, unless `is_called`.
    pub(crate) fn watch(&self, name: &CStr, command: CommandId, is_called: bool) {
        let data = ptr::without_provenance_mut(command);
        let flags = |is_called| RENAMED | DELETED | if is_called { BEGUN } else { 0 };
        // SAFETY: T1, T2; the data is a number. Tcl tells a change twice if it is asked twice.
        unsafe {
            for flags in [flags(false), flags(true)] {
                (self.tcl.unwatch)(self.raw, name.as_ptr(), flags, on_change, data);
            }
            (self.tcl.watch)(self.raw, name.as_ptr(), flags(is_called), on_change, data);
        }
    }

    /// Returns the commands of this interpreter that are recorded.
    pub(crate) fn commands(&self) -> Option<Rc<Commands>> {
        // SAFETY: T1, T2, T4: the data owns a count, and the result gets one of its own.
        unsafe {
            let data = (self.tcl.data)(self.raw, DATA.as_ptr(), ptr::null_mut());
            let data = data.cast::<Commands>().cast_const();
            (!data.is_null()).then(|| {
                Rc::increment_strong_count(data);
                Rc::from_raw(data)
            })
        }
    }

    /// Gives this interpreter its commands, once.
    pub(crate) fn set_commands(&self, commands: &Rc<Commands>) {
        let data = Rc::into_raw(commands.clone()).cast_mut().cast();
        // SAFETY: T1, T2, T4.
        unsafe { (self.tcl.set_data)(self.raw, DATA.as_ptr(), on_deletion, data) }
    }

    /// Calls these commands with each command of the interpreter that begins. `is_complete`: also
    /// with those that Tcl would compile inline.
    pub(crate) fn trace(&self, commands: &Rc<Commands>, is_complete: bool) -> Option<Trace> {
        let data = Rc::into_raw(commands.clone()).cast_mut().cast();
        let flags = if is_complete { 0 } else { ALLOW_INLINE_COMPILATION };
        // SAFETY: T1, T2, T4. Level 0: at all levels.
        NonNull::new(unsafe {
            (self.tcl.create_trace)(self.raw, 0, flags, on_command, data, on_trace_end)
        })
        .map(Trace)
    }
}

/// A command begins.
extern "C" fn on_command(
    data: *mut c_void,
    raw: *mut Raw,
    _level: c_int,
    text: *const c_char,
    token: Token,
    count: c_int,
    objects: Objects,
) -> c_int {
    // SAFETY: T4.
    let commands = unsafe { &*data.cast::<Commands>() };
    // SAFETY: T2.
    let Some(interp) = (unsafe { Interp::of(raw) }) else { return OK };
    // SAFETY: T2: the words of the command.
    let word = |index| unsafe { word(&interp, count, objects, index) };
    // SAFETY: T6: a string of Tcl, in this call.
    let text = unsafe { CStr::from_ptr(text) };
    if let Some(leave) = commands.begin(&interp, token.addr(), text, word) {
        let data = Box::into_raw(Box::new(leave)).cast();
        let none = ptr::null_mut();
        // SAFETY: T1, T2, T5.
        unsafe { (interp.tcl.add_callback)(raw, on_leave, data, none, none, none) }
    }
    OK
}

/// A command ended with a result.
extern "C" fn on_leave(data: *const *mut c_void, raw: *mut Raw, result: c_int) -> c_int {
    // SAFETY: T5: the box that `on_command` made.
    let leave = unsafe { Box::from_raw((*data).cast::<Leave>()) };
    // SAFETY: T2.
    if let Some(interp) = unsafe { Interp::of(raw) } {
        leave.run(&interp, result == OK);
    }
    result
}

extern "C" fn on_trace_end(data: *mut c_void) {
    // SAFETY: T4: the count of the trace.
    drop(unsafe { Rc::from_raw(data.cast::<Commands>()) });
}

/// A command gets another name, or is deleted.
extern "C" fn on_change(
    data: *mut c_void,
    raw: *mut Raw,
    _name: *const c_char,
    new_name: *const c_char,
    flags: c_int,
) {
    // SAFETY: T2.
    let Some(interp) = (unsafe { Interp::of(raw) }) else { return };
    let Some(commands) = interp.commands() else { return };
    if flags & RENAMED != 0 && !new_name.is_null() {
        // SAFETY: T6: a string of Tcl, in this call.
        let name = unsafe { CStr::from_ptr(new_name) };
        commands.rename(data.addr(), name);
    } else {
        commands.forget(data.addr());
    }
}

extern "C" fn on_deletion(data: *mut c_void, raw: *mut Raw) {
    // SAFETY: T4: the count of the associated data.
    let commands = unsafe { Rc::from_raw(data.cast::<Commands>()) };
    // SAFETY: T2.
    if let Some(interp) = unsafe { Interp::of(raw) } {
        package::end(&interp, &commands);
    }
}

/// Returns a word of a command.
///
/// # Safety
///
/// The objects are as many live ones.
unsafe fn word(interp: &Interp<'_>, count: c_int, objects: Objects, index: c_int) -> CString {
    let text = if index < count {
        // SAFETY: the caller's.
        interp.text(unsafe { *objects.add(index as usize) })
    } else {
        Vec::new()
    };
    // A string of Tcl has no zero in it.
    CString::new(text).unwrap_or_default()
}

/// Runs a command of the package, which takes the name of a variable, or nothing.
extern "C" fn on_package_command(
    data: *mut c_void,
    raw: *mut Raw,
    count: c_int,
    objects: Objects,
) -> c_int {
    // SAFETY: T2.
    let Some(interp) = (unsafe { Interp::of(raw) }) else { return ERROR };
    let Some(command) = package::COMMANDS.get(data.addr()) else { return ERROR };
    let names: &CStr = if command.takes_variable { c"argvRef" } else { c"" };
    if count != 1 + c_int::from(command.takes_variable) {
        // SAFETY: T1, T2: the words of the command.
        unsafe { (interp.tcl.wrong_arguments)(raw, 1, objects, names.as_ptr()) };
        return ERROR;
    }
    // SAFETY: T2: the words of the command.
    let variable = unsafe { word(&interp, count, objects, 1) };
    if (command.run)(&interp, &variable).is_some() { OK } else { ERROR }
}

extern "C" fn before_fork() {
    recording::flush();
}

/// Makes the package known to an interpreter: Tcl's `load` calls it.
// SAFETY: no other symbol of the library has this name.
#[unsafe(no_mangle)]
extern "C" fn Turtles_Init(raw: *mut Raw) -> c_int {
    if TCL.get().is_none() {
        // SAFETY: T2: a live interpreter. The table of another Tcl has another magic number.
        let Some(tcl) = (unsafe { stubs_of(raw) }) else { return ERROR };
        let _ = TCL.set(tcl);
    }
    // SAFETY: T2.
    let Some(interp) = (unsafe { Interp::of(raw) }) else { return ERROR };
    static FORKS: OnceLock<()> = OnceLock::new();
    FORKS.get_or_init(|| {
        // SAFETY: one function writes the log in the process that forks, as any code may; the other
        // stores a flag, as any code may do in a forked child.
        unsafe { libc::pthread_atfork(Some(before_fork), None, Some(system::on_fork)) };
    });
    // SAFETY: T1, T2.
    if unsafe { (interp.tcl.evaluate)(raw, package::SETUP.as_ptr(), -1, 0) } != OK {
        return ERROR;
    }
    for (index, command) in package::COMMANDS.iter().enumerate() {
        let data = ptr::without_provenance_mut(index);
        let none = ptr::null_mut();
        // SAFETY: T1, T2: the data is a number.
        unsafe {
            (interp.tcl.create_command)(raw, command.name.as_ptr(), on_package_command, data, none)
        };
    }
    // SAFETY: T1, T2.
    unsafe { (interp.tcl.provide)(raw, c"turtles".as_ptr(), c"0.1".as_ptr(), ptr::null()) }
}

/// Finds Tcl's functions; `None` with an error in the result, if there is a table.
///
/// # Safety
///
/// T2.
unsafe fn stubs_of(raw: *mut Raw) -> Option<Tcl> {
    // SAFETY: T2. Tcl's own way to find them: a magic number at the address in the fourth field.
    unsafe {
        let table = (*raw).stubs;
        if table.is_null() || !MAGICS.contains(&*table.cast::<u32>()) {
            return None;
        }
        let tcl = Tcl::new(table)?;
        let version = (tcl.require)(raw, c"Tcl".as_ptr(), c"8.6-".as_ptr(), 0, ptr::null_mut());
        (!version.is_null()).then_some(tcl)
    }
}
