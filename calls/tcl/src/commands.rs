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
use crate::statements::{Begun, Region, Stack, Statements};
use crate::system;
use crate::tcl::{CommandId, Interp, Timer, Trace};
use calls::profile::{self, Mode};
use calls::{Call, Current, Function};
use core::cell::{Cell, RefCell};
use core::ffi::{CStr, c_int};
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use foldhash::{HashMap, HashSet};
use std::ffi::CString;
use std::io::Write;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

/// How much deeper commands may be in each other while statements are profiled.
const DEPTH_FACTOR: u32 = 3;

thread_local! {
    /// The coroutine that this thread runs: its address; 0: none.
    static CONTEXT: Cell<usize> = const { Cell::new(0) };
}

/// A command with a meaning.
enum Command {
    Procedure {
        function: Function,
        region: Option<Region>,
    },
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
    stack: Rc<Stack>,
    /// It runs, or has resumed another one that does.
    is_running: Cell<bool>,
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
    statements: Statements,
    /// Whether the recorder itself runs commands.
    is_quiet: Cell<bool>,
    /// The depth of commands that the program allows, and the one while statements are profiled.
    depths: Cell<Option<(u32, u32)>>,
}

/// What the end of a command needs of its beginning.
pub(crate) struct Leave {
    statement: Option<Begun>,
    meaning: Option<Meaning>,
}

enum Meaning {
    Call { call: Call, context: usize },
    Proc { name: CString, is_empty: bool },
    Import,
    Coroutine { coroutine: Rc<Coroutine>, before: usize, current: Current, stack: Rc<Stack> },
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
        let is_profiled = profile::mode() != Mode::Off && self.begin_statements(interp);
        self.trace.set(interp.trace(self, is_profiled));
    }

    /// Begins to profile statements. Tcl compiles nothing inline then, so commands are deeper in
    /// each other.
    fn begin_statements(self: &Rc<Self>, interp: &Interp<'_>) -> bool {
        if !self.statements.start(interp) {
            tell("statements are not profiled, since `info frame` is not Tcl's own");
            return false;
        }
        let before = interp.recursion_limit(0);
        let more = before.saturating_mul(DEPTH_FACTOR).min(i32::MAX as u32);
        interp.recursion_limit(more);
        self.depths.set(Some((before, more)));
        static IS_MEASURED: AtomicBool = AtomicBool::new(false);
        if !IS_MEASURED.swap(true, Ordering::Relaxed) {
            // As many commands that do nothing.
            let run = || drop(interp.ask(c"list;list;list;list;list;list;list;list;list;list"));
            profile::calibrate(run, |empty| {
                self.statements.measure(Some(empty));
                let trace = interp.trace(self, true);
                run();
                self.statements.measure(None);
                trace.into_iter().for_each(|trace| interp.end_trace(trace));
            });
        }
        true
    }

    /// Ends it. Returns whether it was recorded.
    pub(crate) fn end_trace(&self, interp: &Interp<'_>) -> bool {
        let trace = self.trace.take();
        if let Some(trace) = trace {
            interp.end_trace(trace);
            self.statements.stop();
            // A program that has set the limit itself keeps it.
            if let Some((before, more)) = self.depths.take()
                && interp.recursion_limit(0) == more
            {
                interp.recursion_limit(before);
            }
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

    /// Begins a command. `text` is its text in the script, `word` gives its words, empty ones after
    /// the last.
    pub(crate) fn begin(
        &self,
        interp: &Interp<'_>,
        id: CommandId,
        text: &CStr,
        word: impl Fn(c_int) -> CString,
    ) -> Option<Leave> {
        if self.is_quiet.get() {
            return None;
        }
        if let Some(coroutine) = self.new.take() {
            self.keep(interp, coroutine);
        }
        if !self.known.borrow().contains_key(&id)
            && let Some(name) = self.statements.coroutine(interp, id)
        {
            // It began before this did.
            let coroutine = Coroutine { stack: Stack::adopted(), ..Coroutine::default() };
            self.know(interp, id, &name, Command::Coroutine(Rc::new(coroutine)), false);
        }
        let known = self.known.borrow();
        let command = known.get(&id);
        let region = match command {
            Some(Command::Procedure { region, .. }) => Some(region.unwrap_or(0)),
            _ => None,
        };
        let is_procedure = |name: &[u8]| {
            let name = CString::new(name).ok();
            let found = name.and_then(|name| interp.command(&name, true));
            let command = found.and_then(|(id, _)| known.get(&id));
            matches!(command, Some(Command::Procedure { .. }))
        };
        let statement = self.statements.begin(interp, text.to_bytes(), region, is_procedure);
        if (statement.is_some() || matches!(command, Some(Command::Procedure { .. })))
            && system::is_forked()
        {
            recording::go_on();
        }
        let meaning = command.and_then(|command| self.meaning(command, word));
        (statement.is_some() || meaning.is_some()).then_some(Leave { statement, meaning })
    }

    fn meaning(&self, command: &Command, word: impl Fn(c_int) -> CString) -> Option<Meaning> {
        let coroutine = match command {
            Command::Procedure { function, .. } => {
                return Some(Meaning::Call { call: function.call(), context: CONTEXT.get() });
            }
            Command::Proc => {
                let is_empty = word(3).as_bytes().trim_ascii().is_empty();
                return Some(Meaning::Proc { name: word(1), is_empty });
            }
            // Without words it only answers.
            Command::Import if word(1).is_empty() || self.empty.borrow().is_empty() => return None,
            Command::Import => return Some(Meaning::Import),
            Command::Maker => {
                let coroutine = Rc::<Coroutine>::default();
                self.new.set(Some(coroutine.clone()));
                coroutine
            }
            Command::Coroutine(coroutine) => coroutine.clone(),
        };
        // Tcl refuses to go on in a coroutine that runs, or that waits for one that it resumed.
        if coroutine.is_running.replace(true) {
            return None;
        }
        let before = CONTEXT.replace(Rc::as_ptr(&coroutine).addr());
        let current = calls::switch(Rc::as_ptr(&coroutine), coroutine.current.get());
        let stack = self.statements.enter(&coroutine.stack);
        Some(Meaning::Coroutine { coroutine, before, current, stack })
    }

    /// Returns the result of a script of the recorder itself.
    fn ask(&self, interp: &Interp<'_>, script: &CStr) -> Option<Vec<u8>> {
        let before = self.is_quiet.replace(true);
        let answer = interp.ask(script);
        self.is_quiet.set(before);
        answer
    }

    /// A command got another name.
    pub(crate) fn rename(&self, id: CommandId, name: &CStr) {
        if let Some(Command::Procedure { function, .. }) = self.known.borrow_mut().get_mut(&id) {
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
        if let Some(function) = function_named(&name, self.place(interp)) {
            let region = self.statements.here();
            self.know(interp, id, &name, Command::Procedure { function, region }, is_empty);
        }
    }

    /// Procedures were imported. Those that do nothing are watched under their new names, too.
    fn watch_imports(&self, interp: &Interp<'_>) {
        let answer = self.ask(
            interp,
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
        let name = self.ask(interp, c"::info coroutine").and_then(|name| CString::new(name).ok());
        let Some((id, name)) = name.and_then(|name| interp.command(&name, true)) else { return };
        self.know(interp, id, &name, Command::Coroutine(coroutine), false);
    }

    /// Returns the file and the line of the command that is running.
    fn place(&self, interp: &Interp<'_>) -> Option<(String, u32)> {
        // Its frame is the one that encloses the question. A script has no name, unless it is a
        // file.
        let answer = self.ask(interp, c"::dict filter [::info frame -1] key file line")?;
        let words = interp.words(&answer)?;
        let fact = |name: &[u8]| {
            let pair = words.chunks_exact(2).find(|pair| pair[0] == name)?;
            Some(String::from_utf8_lossy(&pair[1]).into_owned())
        };
        Some((fact(b"file")?, fact(b"line")?.parse().ok()?))
    }
}

impl Leave {
    /// The command ended.
    pub(crate) fn run(self, interp: &Interp<'_>, is_ok: bool) {
        if let Some(meaning) = self.meaning {
            meaning.end(interp, is_ok);
        }
        if let Some(statement) = self.statement {
            statement.end(is_ok);
        }
    }
}

impl Meaning {
    fn end(self, interp: &Interp<'_>, is_ok: bool) {
        match self {
            Meaning::Call { call, context } => {
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
            Meaning::Proc { name, is_empty } => {
                if is_ok && let Some(commands) = interp.commands().filter(|all| all.is_traced()) {
                    commands.define(interp, &name, is_empty);
                }
            }
            Meaning::Import => {
                if is_ok && let Some(commands) = interp.commands().filter(|all| all.is_traced()) {
                    commands.watch_imports(interp);
                }
            }
            Meaning::Coroutine { coroutine, before, current, stack } => {
                CONTEXT.set(before);
                if let Some(commands) = interp.commands() {
                    commands.statements.leave(stack);
                    // One that could not begin has no command.
                    commands.new.take();
                }
                coroutine.current.set(switch(before, current));
                coroutine.is_running.set(false);
            }
        }
    }
}

fn tell(what: &str) {
    // A program without standard error goes on.
    let _ = writeln!(std::io::stderr(), "turtles: {what}");
}

fn switch(context: usize, current: Current) -> Current {
    calls::switch(ptr::without_provenance::<Coroutine>(context), current)
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
