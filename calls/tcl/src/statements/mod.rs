//! The statements of an interpreter: which one begins, and which ones are open.
//!
//! ```text
//!  a command begins ─ its text, in the region of the open one ─ known? ─▶ a statement
//!                       └ no: where is Tcl? file, line ─▶ places ──────────┘
//!  puts "[f]"     f begins: `puts`, which waits for its words, and `f` in it
//! ```
//!
//! A region is a text that an open statement runs: a procedure's, or its own. Design:
//! `.statements.tcl` in `design/statements.md`.

mod stack;

pub(crate) use stack::{Begun, Stack};

use crate::places;
use crate::script::Script;
use crate::tcl::{CommandId, Frames, Interp};
use calls::{Statement, profile};
use core::cell::{Cell, RefCell};
use core::hash::BuildHasher;
use foldhash::HashMap;
use foldhash::fast::RandomState;
use stack::{Open, enclose};
use std::ffi::CString;
use std::rc::Rc;
use std::sync::Arc;

/// Statements that are found without a question, at most.
const KNOWN_COUNT_MAX: usize = 1 << 16;

/// The function of a text without a place that no procedure runs.
const GLOBAL: &[u8] = b"::";

/// A statement in a file.
#[derive(Clone)]
struct Place {
    script: Arc<Script>,
    command: u32,
}

impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        Arc::ptr_eq(&self.script, &other.script) && self.command == other.command
    }
}

impl Place {
    /// Returns the command whose text has this one.
    fn owner(&self) -> Option<Place> {
        let command = self.script.command(self.command).owner?;
        Some(Place { script: self.script.clone(), command })
    }
}

/// A statement.
struct Found {
    function: Rc<[u8]>,
    statement: Option<Statement>,
    place: Option<Place>,
    /// The region of its own text.
    region: Region,
    /// The statements whose brackets are around it, the outermost first.
    enclosing: Box<[Rc<Found>]>,
}

impl Found {
    fn unplaced(function: &[u8], statement: Option<Statement>) -> Rc<Found> {
        let (function, enclosing) = (function.into(), Box::default());
        Rc::new(Found { function, statement, place: None, region: 0, enclosing })
    }
}

/// A text that commands run: its number in `Statements::regions`, from 1; 0: it is not known.
pub(crate) type Region = u32;

/// The statements of an interpreter.
#[derive(Default)]
pub(crate) struct Statements {
    /// There while statements are profiled.
    frames: RefCell<Option<Frames>>,
    known: RefCell<HashMap<(Region, u64), Rc<Found>>>,
    regions: RefCell<Vec<Place>>,
    by_place: RefCell<HashMap<(usize, u32), Region>>,
    stack: RefCell<Rc<Stack>>,
    /// The frame of the last command.
    level: Cell<Option<i64>>,
    hasher: RandomState,
    /// Stands for all statements while the recorder is measured.
    measured: Cell<Option<Statement>>,
}

impl Statements {
    /// Begins. Returns whether that is possible.
    pub(crate) fn start(&self, interp: &Interp<'_>) -> bool {
        places::prepare();
        *self.frames.borrow_mut() = interp.frames();
        self.frames.borrow().is_some()
    }

    pub(crate) fn stop(&self) {
        *self.frames.borrow_mut() = None;
    }

    /// Returns the name of a command that begins, if it is a coroutine.
    pub(crate) fn coroutine(&self, interp: &Interp<'_>, id: CommandId) -> Option<CString> {
        interp.coroutine(self.frames.borrow().as_ref()?, id)
    }

    pub(crate) fn measure(&self, statement: Option<Statement>) {
        self.measured.set(statement);
    }

    /// A command with this text begins; `procedure` is what it runs if it is one, 0 if unknown.
    pub(crate) fn begin(
        &self,
        interp: &Interp<'_>,
        text: &[u8],
        procedure: Option<Region>,
        is_procedure: impl Fn(&[u8]) -> bool,
    ) -> Option<Begun> {
        let frames = self.frames.borrow();
        let frames = frames.as_ref()?;
        let stack = self.stack.borrow().clone();
        let mut opens = stack.opens.borrow_mut();
        let measured = self.measured.get();
        // Tcl may fail to tell that there is no frame: a command of another interpreter began.
        let has_frame = opens.iter().rev().any(|open| open.found.is_some());
        let level = match stack.is_coroutine.get() {
            true => stack.base.get().and_then(|_| interp.level(frames)),
            false if has_frame || measured.is_some() => interp.level(frames),
            false => interp.level_if_any(),
        };
        self.level.set(level);
        let has_frame = level.is_some();
        let level = level.unwrap_or(0) - stack.base.get().unwrap_or(0);
        let running = opens.iter().rposition(|open| !open.is_pending);
        let region = running.map_or(stack.region.get(), |at| opens[at].region);
        let key = (region, self.hasher.hash_one(text));
        let known = self.known.borrow().get(&key).cloned();
        let found = known.or_else(|| {
            let is_here = opens.last().is_some_and(|top| !top.is_pending && top.level == level);
            // So is the first command of a coroutine.
            let is_first = opens.is_empty() && stack.is_coroutine.get() && !stack.is_adopted;
            if is_here || is_first || !has_frame || measured.is_some() {
                return None;
            }
            self.ask(interp, frames, text, (key, running), &mut opens, &is_procedure)
        });
        let mut statement = measured;
        if let Some(found) = &found {
            if let Some(place) = &found.place
                && let Some(at) = running
            {
                opens[at].last = Some(place.script.command(place.command).end);
            }
            if let Some(depth) = enclose(&mut opens, found) {
                let open = &mut opens[depth];
                open.is_pending = false;
                (open.level, open.region) = (level, procedure.unwrap_or(found.region));
                open.is_procedure = procedure.is_some();
                drop(opens);
                return Some(Begun { stack, depth });
            }
            statement = found.statement;
        }
        let depth = opens.len();
        // A command without a text of its own runs what the open one does.
        let own = found.as_ref().map_or(region, |found| found.region);
        let region = procedure.unwrap_or(own);
        let (block, is_procedure) = (None, procedure.is_some());
        let open = Open { block, level, region, is_procedure, ..Open::new(found) };
        opens.push(open);
        opens[depth].block = statement.map(Statement::begin);
        drop(opens);
        Some(Begun { stack, depth })
    }

    /// Asks which statement begins, in a region, or in the text of the open ones.
    fn ask(
        &self,
        interp: &Interp<'_>,
        frames: &Frames,
        text: &[u8],
        (key, running): ((Region, u64), Option<usize>),
        opens: &mut [Open],
        is_procedure: &impl Fn(&[u8]) -> bool,
    ) -> Option<Rc<Found>> {
        let region = key.0;
        let _work = profile::exclude();
        let waiting = opens.last().filter(|top| top.is_pending).and_then(Open::command);
        let next = Next { waiting, last: running.and_then(|at| opens[at].last) };
        // Tcl may fail to tell the frame of a lambda or a method that has called itself. So
        // their first statements alone are asked for, before that.
        let call = interp.call_level(frames)?;
        let is_next = running.is_some_and(|at| opens[at].is_next());
        let running_call = opens.iter().rev().find(|open| open.is_call());
        if let Some(open) = running_call.filter(|_| !is_next)
            && open.call.is_some_and(|own| call <= own)
        {
            let function = open.function.as_deref().unwrap_or(GLOBAL);
            return Some(self.find_in(&[region, open.region], function, text, next));
        }
        let is_plain = call == 0
            || !is_next
                && interp
                    .call(frames)
                    .is_some_and(|words| words.first().is_some_and(|name| is_procedure(name)));
        let found = self.find(interp, frames, text, key, next);
        if !is_plain
            && let Some(found) = &found
            && let Some(at) = running
        {
            opens[at].call = Some(call);
            opens[at].function = Some(found.function.clone());
            let owner = found.place.as_ref().and_then(Place::owner);
            opens[at].region = owner.map_or(0, |owner| self.region(&owner));
        }
        found
    }

    /// Asks Tcl which statement begins. `None`: Tcl runs a command without a text of its own, for
    /// the one that is open.
    fn find(
        &self,
        interp: &Interp<'_>,
        frames: &Frames,
        text: &[u8],
        key: (Region, u64),
        next: Next,
    ) -> Option<Rc<Found>> {
        let frame = interp.frame(frames)?;
        let fact = |name: &[u8]| Some(&*frame.chunks_exact(2).find(|pair| pair[0] == name)?[1]);
        if fact(b"cmd")? != text {
            return None;
        }
        let file = fact(b"file");
        let function = match (fact(b"proc"), fact(b"class").or(fact(b"object")), file) {
            (Some(procedure), ..) => procedure.to_vec(),
            (_, Some(class), _) => {
                let method = fact(b"method").or(fact(b"constructor").map(|_| &b"constructor"[..]));
                [class, b"::", method.unwrap_or(b"destructor")].concat()
            }
            _ if fact(b"lambda").is_some() => b"apply".to_vec(),
            (.., Some(file)) => places::name_of(file).to_vec(),
            _ => GLOBAL.to_vec(),
        };
        let line = fact(b"line").and_then(|line| str::from_utf8(line).ok()?.parse().ok());
        let (region, line) = (self.place_of(key.0), line.unwrap_or(0));
        let place = match file {
            Some(file) => in_file(file, line, text, next),
            None => region.as_ref().and_then(|region| {
                let all = region.script.with_text_in(region.command, text);
                let command = next.of(&region.script, &all)?;
                Some(Place { script: region.script.clone(), command })
            }),
        };
        let found = match (place, file) {
            (Some(place), None) if function == GLOBAL => {
                let script = place.script.clone();
                self.placed(places::name_of(script.path()), place, false)
            }
            (Some(place), _) => self.placed(&function, place, file.is_some()),
            (None, Some(file)) => {
                // A script that is a word without braces, or a file that is not as it was.
                let script = places::script(file, false);
                let word = script.and_then(|script| script.word(line, text));
                let place = word.unwrap_or([line, 1, 0, 0]);
                Found::unplaced(&function, places::at(&function, file, place))
            }
            (None, None) => Found::unplaced(&function, places::with_text(&function, text)),
        };
        if let Some(place) = &found.place {
            self.know(key, text, place, &found);
        }
        Some(found)
    }

    /// Finds the statement in regions, without asking Tcl.
    fn find_in(&self, regions: &[Region], function: &[u8], text: &[u8], next: Next) -> Rc<Found> {
        for region in regions {
            let Some(place) = self.place_of(*region) else { continue };
            let all = place.script.with_text_in(place.command, text);
            if let Some(command) = next.of(&place.script, &all) {
                let outer = place.script.enclosing(command).last();
                let is_script = outer.is_none_or(|outer| place.script.is_named(outer));
                let found = Place { command, script: place.script.clone() };
                let found = self.placed(function, found, is_script);
                let key = (*region, self.hasher.hash_one(text));
                if let Some(place) = &found.place {
                    self.know(key, text, place, &found);
                }
                return found;
            }
        }
        Found::unplaced(function, places::with_text(function, text))
    }

    /// Remembers a statement, if its region has no other one with this text.
    fn know(&self, key: (Region, u64), text: &[u8], place: &Place, found: &Rc<Found>) {
        if let Some(region) = self.place_of(key.0)
            && region.script.command(region.command).is_literal
            && Arc::ptr_eq(&region.script, &place.script)
            // Tcl tells of the first statement of a lambda.
            && (region.script.command(place.command).owner == Some(region.command)
                || region.script.is_switch(region.command))
            && region.script.with_text_in(region.command, text) == [place.command]
        {
            let mut known = self.known.borrow_mut();
            if known.len() >= KNOWN_COUNT_MAX {
                known.clear();
            }
            known.insert(key, found.clone());
        }
    }

    /// Returns the statement at a place. `is_script`: the brackets around it are those of commands.
    fn placed(&self, function: &[u8], place: Place, is_script: bool) -> Rc<Found> {
        let Place { script, command } = &place;
        let statement = places::at(function, script.path(), script.place(*command));
        let outer = place.script.enclosing(place.command).filter(|_| is_script);
        let outer: Vec<u32> = outer.collect();
        let enclosing = outer
            .into_iter()
            .rev()
            .map(|command| self.placed(function, Place { command, ..place.clone() }, false));
        let (enclosing, region) = (enclosing.collect(), self.region(&place));
        let function = function.into();
        Rc::new(Found { function, statement, place: Some(place), region, enclosing })
    }

    fn region(&self, place: &Place) -> Region {
        let mut regions = self.regions.borrow_mut();
        let key = (Arc::as_ptr(&place.script).addr(), place.command);
        *self.by_place.borrow_mut().entry(key).or_insert_with(|| {
            regions.push(place.clone());
            regions.len() as Region
        })
    }

    fn place_of(&self, region: Region) -> Option<Place> {
        self.regions.borrow().get((region as usize).checked_sub(1)?).cloned()
    }

    /// Returns the region of the statement that runs: of a command `proc`, the procedure's.
    pub(crate) fn here(&self) -> Option<Region> {
        let stack = self.stack.borrow();
        let opens = stack.opens.borrow();
        opens.last().map(|open| open.region).filter(|region| *region > 0)
    }

    /// Goes on with the statements of a coroutine; returns those before.
    pub(crate) fn enter(&self, coroutine: &Rc<Stack>) -> Rc<Stack> {
        coroutine.is_coroutine.set(true);
        coroutine.base.set(self.level.get());
        if coroutine.region.get() == 0 {
            coroutine.region.set(self.here().unwrap_or(0));
        }
        coroutine.suspend(false);
        self.stack.replace(coroutine.clone())
    }

    /// Goes on with the statements before a coroutine's.
    pub(crate) fn leave(&self, before: Rc<Stack>) {
        self.stack.replace(before).suspend(true);
    }
}

/// Returns the command with a text at a line of a file.
fn in_file(file: &[u8], line: u32, text: &[u8], next: Next) -> Option<Place> {
    [false, true].into_iter().find_map(|is_stale| {
        let script = places::script(file, is_stale)?;
        let all = script.with_text(text);
        let in_line: Vec<u32> =
            all.iter().copied().filter(|each| script.command(*each).line == line).collect();
        // Tcl's lines are wrong after some ends of lines with a backslash.
        let all = if in_line.is_empty() && all.len() == 1 { all } else { &in_line };
        let command = next.of(&script, all)?;
        Some(Place { script, command })
    })
}

/// Which of several commands with one text begins.
#[derive(Clone, Copy)]
struct Next {
    /// The one that waits for its words.
    waiting: Option<u32>,
    /// Where the last one ends: they run one after the other.
    last: Option<u32>,
}

impl Next {
    fn of(self, script: &Script, all: &[u32]) -> Option<u32> {
        let is_next =
            |each: &&u32| self.last.is_none_or(|last| script.command(**each).begin >= last);
        let waiting = self.waiting.filter(|waiting| all.contains(waiting));
        waiting.or_else(|| all.iter().find(is_next).or(all.first()).copied())
    }
}
