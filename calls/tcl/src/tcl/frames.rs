//! Where Tcl is: its frames, and the calls of procedures.
//!
//! ```text
//!  info frame ─▶ file, line, text of the command that begins      info level ─▶ the call it is in
//! ```
//!
//! The numbered conditions are those of [`tcl`](super).
#![expect(unsafe_code, reason = "the C functions of Tcl")]

use super::{CommandId, CommandProc, Interp, NAMESPACE_ONLY, OK, Object, Tcl, Token};
use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use std::ffi::CString;

/// The beginning of what Tcl tells of a command, and room for the rest.
#[repr(C)]
pub(super) struct CommandFacts {
    has_objects: c_int,
    run: Option<CommandProc>,
    data: *mut c_void,
    proc_and_data: [usize; 2],
    on_deletion: usize,
    rest: [usize; 10],
}

/// The commands `info frame` and `info level` of an interpreter.
pub(crate) struct Frames {
    tcl: &'static Tcl,
    frame: CommandProc,
    level: CommandProc,
    /// What Tcl calls when a coroutine is deleted; 0: unknown.
    coroutine_end: usize,
    /// A name, which does not matter, and `0`.
    words: [*mut Object; 2],
}

impl Interp<'_> {
    /// Returns the commands that tell where Tcl is; `None` if the program has replaced them.
    pub(crate) fn frames(&self) -> Option<Frames> {
        let facts = |name: &CStr| {
            let name = name.as_ptr();
            // SAFETY: T1, T2.
            let token =
                unsafe { (self.tcl.find_command)(self.raw, name, ptr::null_mut(), NAMESPACE_ONLY) };
            (!token.is_null()).then(|| self.facts(token)).flatten()
        };
        let run = |name| {
            let facts = facts(name).filter(|facts| facts.has_objects == 1)?;
            facts.run.filter(|_| facts.data.is_null())
        };
        self.ask(c"::coroutine ::turtles::waiting ::yield");
        let coroutine_end = facts(c"::turtles::waiting").map_or(0, |facts| facts.on_deletion);
        self.ask(c"::rename ::turtles::waiting {}");
        let (frame, level) = (run(c"::tcl::info::frame")?, run(c"::tcl::info::level")?);
        let words = [b"info", &b"0"[..]].map(|word| self.object(word));
        // SAFETY: T1, T8.
        words.iter().for_each(|word| unsafe { (self.tcl.retain)(*word, ptr::null(), 0) });
        Some(Frames { tcl: self.tcl, frame, level, coroutine_end, words })
    }

    /// Returns what Tcl tells of a live command.
    fn facts(&self, token: Token) -> Option<CommandFacts> {
        // SAFETY: numbers and null pointers.
        let mut facts: CommandFacts = unsafe { core::mem::zeroed() };
        // SAFETY: T1; the facts have room.
        let is_known = unsafe { (self.tcl.command_facts)(token, &mut facts) } != 0;
        is_known.then_some(facts)
    }

    /// Returns the full name of a command that begins, if it is a coroutine.
    pub(crate) fn coroutine(&self, frames: &Frames, command: CommandId) -> Option<CString> {
        let token = ptr::without_provenance_mut(command);
        let facts = self.facts(token)?;
        if frames.coroutine_end == 0 || facts.on_deletion != frames.coroutine_end {
            return None;
        }
        self.full_name(token)
    }

    /// Runs a command of `Frames` with one word or two; `None` if it fails. Then its result is that
    /// of the interpreter.
    fn answer(&self, frames: &Frames, run: CommandProc, count: c_int) -> Option<*mut Object> {
        // SAFETY: T1, T2, T8.
        unsafe {
            let is_ok = run(ptr::null_mut(), self.raw, count, frames.words.as_ptr()) == OK;
            is_ok.then(|| (self.tcl.result)(self.raw))
        }
    }

    fn number(&self, object: *mut Object) -> Option<i64> {
        let mut number = 0;
        // SAFETY: T1; each object of a call is live.
        let code = unsafe { (self.tcl.number)(ptr::null_mut(), object, &mut number) };
        (code == OK).then_some(number)
    }

    /// Returns the number of the frame that Tcl is in: T9. Call this and what follows while a
    /// command begins: they change the result of the interpreter.
    #[inline]
    pub(crate) fn level(&self, frames: &Frames) -> Option<i64> {
        self.number(self.answer(frames, frames.frame, 1)?)
    }

    /// Returns the same; `None` if Tcl is in no frame, where `info frame` fails. The question has a
    /// frame of its own.
    pub(crate) fn level_if_any(&self) -> Option<i64> {
        let answer = self.ask(c"::tcl::info::frame")?;
        let level: i64 = str::from_utf8(&answer).ok()?.parse().ok()?;
        Some(level - 1).filter(|level| *level > 0)
    }

    /// Returns the number of the procedure's call that Tcl is in; 0: none.
    pub(crate) fn call_level(&self, frames: &Frames) -> Option<i64> {
        self.number(self.answer(frames, frames.level, 1)?)
    }

    /// Returns the words of the call that Tcl is in.
    pub(crate) fn call(&self, frames: &Frames) -> Option<Vec<Vec<u8>>> {
        self.elements(self.answer(frames, frames.level, 2)?)
    }

    /// Returns what Tcl tells of the frame that it is in: names and values in turn.
    pub(crate) fn frame(&self, frames: &Frames) -> Option<Vec<Vec<u8>>> {
        self.elements(self.answer(frames, frames.frame, 2)?)
    }

    /// Returns the elements of a list that is the result.
    fn elements(&self, list: *mut Object) -> Option<Vec<Vec<u8>>> {
        let mut words = Vec::new();
        // SAFETY: T1, T2, T3; the list is live until the result changes.
        unsafe {
            loop {
                let mut word = ptr::null_mut();
                let index = words.len() as isize;
                if (self.tcl.list_index)(ptr::null_mut(), list, index, &mut word) != OK {
                    return None;
                }
                if word.is_null() {
                    (self.tcl.reset_result)(self.raw);
                    return Some(words);
                }
                words.push(self.text(word));
            }
        }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // SAFETY: T1, T8: it owns a count of each.
        self.words.iter().for_each(|word| unsafe { (self.tcl.release)(*word, ptr::null(), 0) });
    }
}
