//! The commands of an interpreter that are recorded: which one begins, and what its end means.
//!
//! ```text
//!  a command begins ─▶ its address ─▶ a procedure ─▶ a call, until its end
//!                                     proc ────────▶ at its end a new procedure is known
//!                                     coroutine ───▶ another stack, until it yields or ends
//! ```
//!
//! A command is known by its address. Tcl tells when one gets another name or is deleted, so an
//! address never stands for two. Design: `.calls.tcl.commands` in `design/calls.md`.

use crate::recording;
use crate::system;
use crate::tcl::{CommandId, Interp, Timer, Trace};
use calls::{Call, Current, Function};
use core::cell::{Cell, RefCell};
use core::ffi::{CStr, c_int};
use core::ptr;
use foldhash::{HashMap, HashSet};
use std::ffi::CString;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

thread_local! {
    /// The coroutine that this thread runs: its address; 0: none.
    static CONTEXT: Cell<usize> = const { Cell::new(0) };
}

/// A command with a meaning.
enum Command {
    Procedure(Function),
    /// `proc`.
    Proc,
    /// `coroutine`.
    Maker,
    /// `namespace import`.
    Import,
    Coroutine(Rc<Coroutine>),
}

/// A coroutine. Its address stands for it.
#[derive(Default)]
pub(crate) struct Coroutine {
    /// Where it waits.
    current: Cell<Current>,
}

/// The recorded commands of one interpreter.
#[derive(Default)]
pub(crate) struct Commands {
    known: RefCell<HashMap<CommandId, Command>>,
    trace: Cell<Option<Trace>>,
    timer: RefCell<Option<Timer>>,
    /// The procedures whose calls Tcl would compile to nothing.
    empty: RefCell<HashSet<CommandId>>,
    /// A coroutine that has begun, before its first command.
    new: Cell<Option<Rc<Coroutine>>>,
}

/// What the end of a command needs of its beginning.
pub(crate) enum Leave {
    Call { call: Call, context: usize },
    Proc { name: CString, is_empty: bool },
    Import,
    Coroutine { coroutine: Rc<Coroutine>, before: usize, current: Current },
}

impl Commands {
    /// Begins to record an interpreter.
    pub(crate) fn begin_trace(self: &Rc<Self>, interp: &Interp<'_>, timer: Option<Timer>) {
        for (name, command) in [
            (c"::proc", Command::Proc),
            (c"::coroutine", Command::Maker),
            (c"::tcl::namespace::import", Command::Import),
        ] {
            if let Some((id, name)) = interp.command(name, true) {
                self.know(interp, id, &name, command, false);
            }
        }
        *self.timer.borrow_mut() = timer;
        self.trace.set(interp.trace(self));
    }

    /// Ends it. Returns whether it was recorded.
    pub(crate) fn end_trace(&self, interp: &Interp<'_>) -> bool {
        let trace = self.trace.take();
        if let Some(trace) = trace {
            interp.end_trace(trace);
            *self.timer.borrow_mut() = None;
            self.known.borrow_mut().clear();
            self.empty.borrow_mut().clear();
        }
        trace.is_some()
    }

    pub(crate) fn is_traced(&self) -> bool {
        self.trace.get().is_some()
    }

    fn know(
        &self,
        interp: &Interp<'_>,
        id: CommandId,
        name: &CStr,
        command: Command,
        is_empty: bool,
    ) {
        interp.watch(name, id, is_empty);
        if is_empty {
            self.empty.borrow_mut().insert(id);
        }
        self.known.borrow_mut().insert(id, command);
    }

    /// Begins a command. `word` gives its words, empty ones after the last.
    pub(crate) fn begin(
        &self,
        interp: &Interp<'_>,
        id: CommandId,
        word: impl Fn(c_int) -> CString,
    ) -> Option<Leave> {
        if let Some(coroutine) = self.new.take() {
            self.keep(interp, coroutine);
        }
        let coroutine = match self.known.borrow().get(&id)? {
            Command::Procedure(function) => {
                if system::is_forked() {
                    recording::go_on();
                }
                return Some(Leave::Call { call: function.call(), context: CONTEXT.get() });
            }
            Command::Proc => {
                let is_empty = word(3).as_bytes().trim_ascii().is_empty();
                return Some(Leave::Proc { name: word(1), is_empty });
            }
            // Without words it only answers.
            Command::Import if word(1).is_empty() || self.empty.borrow().is_empty() => return None,
            Command::Import => return Some(Leave::Import),
            Command::Maker => {
                let coroutine = Rc::<Coroutine>::default();
                self.new.set(Some(coroutine.clone()));
                coroutine
            }
            Command::Coroutine(coroutine) => coroutine.clone(),
        };
        let before = CONTEXT.replace(Rc::as_ptr(&coroutine).addr());
        let current = calls::switch(Rc::as_ptr(&coroutine), coroutine.current.get());
        Some(Leave::Coroutine { coroutine, before, current })
    }

    /// A command got another name.
    pub(crate) fn rename(&self, id: CommandId, name: &CStr) {
        if let Some(Command::Procedure(function)) = self.known.borrow_mut().get_mut(&id) {
            *function = function_named(name, None).unwrap_or(*function);
        }
    }

    /// A command is deleted.
    pub(crate) fn forget(&self, id: CommandId) {
        self.known.borrow_mut().remove(&id);
        self.empty.borrow_mut().remove(&id);
    }

    /// The command `proc` defined a procedure.
    fn define(&self, interp: &Interp<'_>, name: &CStr, is_empty: bool) {
        let Some((id, name)) = interp.command(name, false) else { return };
        if let Some(function) = function_named(&name, place(interp)) {
            self.know(interp, id, &name, Command::Procedure(function), is_empty);
        }
    }

    /// Procedures were imported. Those that do nothing are watched under their new names, too.
    fn watch_imports(&self, interp: &Interp<'_>) {
        let answer = interp.ask(
            c"::apply [::list {} {
                ::set pairs {}
                ::foreach name [::namespace import] {
                    ::lappend pairs $name [::namespace origin $name]
                }
                ::set pairs
            } [::namespace current]]",
        );
        let names = answer.and_then(|pairs| interp.words(&pairs)).unwrap_or_default();
        for pair in names.chunks_exact(2) {
            let [Ok(name), Ok(origin)] = [0, 1].map(|at| CString::new(&*pair[at])) else {
                continue;
            };
            let origin = interp.command(&origin, true);
            if origin.is_some_and(|(id, _)| self.empty.borrow().contains(&id))
                && let Some((id, name)) = interp.command(&name, false)
            {
                interp.watch(&name, id, true);
            }
        }
    }

    /// A coroutine begins its first command, before it may rename itself. Its command exists.
    fn keep(&self, interp: &Interp<'_>, coroutine: Rc<Coroutine>) {
        let name = interp.ask(c"::info coroutine").and_then(|name| CString::new(name).ok());
        let Some((id, name)) = name.and_then(|name| interp.command(&name, true)) else { return };
        self.know(interp, id, &name, Command::Coroutine(coroutine), false);
    }
}

impl Leave {
    /// The command ended.
    pub(crate) fn run(self, interp: &Interp<'_>, is_ok: bool) {
        match self {
            Leave::Call { call, context } => {
                let here = CONTEXT.get();
                if context == here {
                    drop(call);
                } else {
                    // Tcl ends the calls of a coroutine that is deleted while it waits.
                    let current = switch(context, Current::default());
                    drop(call);
                    switch(here, current);
                }
            }
            Leave::Proc { name, is_empty } => {
                if is_ok && let Some(commands) = interp.commands().filter(|all| all.is_traced()) {
                    commands.define(interp, &name, is_empty);
                }
            }
            Leave::Import => {
                if is_ok && let Some(commands) = interp.commands().filter(|all| all.is_traced()) {
                    commands.watch_imports(interp);
                }
            }
            Leave::Coroutine { coroutine, before, current } => {
                CONTEXT.set(before);
                coroutine.current.set(switch(before, current));
                // One that could not begin has no command.
                if let Some(commands) = interp.commands() {
                    commands.new.take();
                }
            }
        }
    }
}

fn switch(context: usize, current: Current) -> Current {
    calls::switch(ptr::without_provenance::<Coroutine>(context), current)
}

/// Returns the file and the line of the command that is running.
fn place(interp: &Interp<'_>) -> Option<(String, u32)> {
    // Its frame is the one that encloses the question. A script has no name, unless it is a file.
    let answer = interp.ask(c"::dict filter [::info frame -1] key file line")?;
    let words = interp.words(&answer)?;
    let fact = |name: &[u8]| {
        let pair = words.chunks_exact(2).find(|pair| pair[0] == name)?;
        Some(String::from_utf8_lossy(&pair[1]).into_owned())
    };
    Some((fact(b"file")?, fact(b"line")?.parse().ok()?))
}

/// The names of functions, at most: a program may make names without end, and each takes memory.
const FUNCTION_COUNT_MAX: usize = 1 << 20;

/// Returns the function with this name, which all interpreters share.
fn function_named(name: &CStr, place: Option<(String, u32)>) -> Option<Function> {
    static FUNCTIONS: Mutex<Option<HashMap<String, Function>>> = Mutex::new(None);
    let mut functions = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let functions = functions.get_or_insert_default();
    let name = name.to_string_lossy();
    if let Some(function) = functions.get(&*name) {
        return Some(*function);
    }
    if functions.len() >= FUNCTION_COUNT_MAX {
        return None;
    }
    let place = place.as_ref().map(|(file, line)| (&**file, *line));
    let function = Function::new(&name, place);
    functions.insert(name.into_owned(), function);
    Some(function)
}
