//! One block of statements: they begin and end.
//!
//! ```text
//!  { let mut block = block(&STATEMENTS, 0); first; block.at(1); second }   drop: ends the second
//!    │ off: load, test, branch              │ off: test, branch
//!    └ on ── count: the row ── time: one reading of the clock ends a statement and begins the next
//! ```
//!
//! A block keeps what its statement began with, and no pointer to a table: its thread may be
//! another one at the end. Design: `.statements.rewrite`, `.statements.async` in
//! `design/statements.md`.

mod costs;

pub(crate) use costs::{calibrate, calibrate_by};

use crate::events::{StatementEnter, StatementLeave};
use crate::statement::{Place, Statements};
use crate::switch;
use crate::table::{self, Begin, Here, mode};
use core::num::NonZeroUsize;
use telemetry::event;

/// A block in progress. Its drop ends its last statement.
#[derive(Debug)]
#[must_use]
pub struct Block {
    /// `None`: nothing is recorded of this block, which is one word of zero.
    on: Option<On>,
}

/// A block whose statements are recorded.
#[derive(Debug)]
struct On {
    /// The word of the mode.
    word: NonZeroUsize,
    statements: &'static Statements,
    statement: u32,
    /// The one that [`Block::at`] begins: an argument fewer, and so fewer registers to save.
    next: u32,
    /// What the statement began with, if it is timed.
    begin: Begin,
}

/// A block moves with the future that it is in.
const _: fn() = || {
    fn moves<T: Send + Sync + Unpin + core::panic::UnwindSafe>() {}
    moves::<Block>();
};

/// Begins a block with its first statement. If statements are not profiled, this costs a load, a
/// test and a branch.
#[inline(always)]
pub fn block(statements: &'static Statements, statement: usize) -> Block {
    if switch::is_on() { begin_block(statements, statement) } else { Block { on: None } }
}

impl Block {
    /// Ends the statement that runs, and begins another one.
    #[inline(always)]
    pub fn at(&mut self, statement: usize) {
        if let Some(on) = &mut self.on {
            unlikely();
            if !on.count(statement) {
                on.next = statement as u32;
                pass_otherwise(self);
            }
        }
    }

    /// Suspends the statement that runs, or resumes it: its times lack what is between. With
    /// [`switch`](crate::switch) the statements of a coroutine that waits need no such call, unless
    /// they end on another stack, as those of a coroutine that is deleted while it waits: suspend
    /// them before the thread leaves the coroutine. A statement that ends suspended, or is resumed
    /// by another thread, is not timed.
    ///
    /// ```
    /// # let sell = calls::Statement::new("sell", "shop.tcl", [7, 5, 120, 11]).expect("room");
    /// let mut open = sell.begin();
    /// open.turn();
    /// // Other coroutines run.
    /// open.turn();
    /// ```
    pub fn turn(&mut self) {
        if let Some(on) = &mut self.on
            && on.is_timed()
            && let Some(here) = Here::ready(on.word.get())
        {
            here.turn(&mut on.begin);
        }
    }
}

impl Block {
    /// Returns the word of the mode; 0 if nothing is recorded of this block.
    fn word(&self) -> usize {
        self.on.as_ref().map_or(mode::OFF, |on| on.word.get())
    }
}

impl On {
    fn new(
        word: usize,
        statements: &'static Statements,
        statement: u32,
        begin: Begin,
    ) -> Option<On> {
        Some(On { word: NonZeroUsize::new(word)?, statements, statement, next: 0, begin })
    }

    #[inline(always)]
    fn is_timed(&self) -> bool {
        self.word.get() & mode::TIME != 0
    }

    /// Counts a statement, unless more than that is due; returns whether it did. Here: a call
    /// would cost as much again.
    #[inline(always)]
    fn count(&self, statement: usize) -> bool {
        if !self.is_timed()
            && let Some(here) = Here::ready(self.word.get())
            && let Some(is_over) = here.count(self.statements.row(statement))
        {
            drop(here);
            if is_over {
                table::count_again();
            }
            return true;
        }
        false
    }

    fn place(&self) -> Option<&'static Place> {
        self.statements.place(self.statement as usize)
    }

    fn waits(&self) -> bool {
        self.place().is_some_and(Place::waits)
    }

    /// Ends the statement that runs.
    #[inline(always)]
    fn end(&self, here: &Here, now: usize) {
        let row = self.statements.row(self.statement as usize);
        if self.waits() {
            here.end_waiting(row, &self.begin);
        } else {
            here.end(row, &self.begin, now);
        }
    }
}

impl Drop for Block {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(on) = &mut self.on
            && on.is_timed()
        {
            end_block(on);
        }
    }
}

/// Cold for the code of the function, which is laid out for statements that are not profiled.
#[cold]
#[inline(never)]
fn begin_block(statements: &'static Statements, statement: usize) -> Block {
    let word = table::word();
    if word & mode::TIME != 0 {
        return begin_timed(word, statements, statement);
    }
    if let Some(here) = Here::ready(word)
        && let Some(is_over) = here.count_first(statements.row(statement))
    {
        drop(here);
        if is_over {
            table::count_again();
        }
        return Block { on: On::new(word, statements, statement as u32, Begin::NONE) };
    }
    begin_slowly(statements, statement)
}

/// Each block is made where it stays: a copy would wait for the stores before it.
#[inline(never)]
fn begin_timed(word: usize, statements: &'static Statements, statement: usize) -> Block {
    if let Some(here) = Here::ready(word) {
        let now = here.now();
        if let Some(begin) = begin_at(&here, statements, statement, now) {
            let is_due = here.is_due(now);
            drop(here);
            after(word, statements, None, Some(statement as u32), is_due);
            return Block { on: On::new(word, statements, statement as u32, begin) };
        }
    }
    begin_slowly(statements, statement)
}

#[cold]
#[inline(never)]
fn begin_slowly(statements: &'static Statements, statement: usize) -> Block {
    Block { on: begin_anew(statements, statement as u32) }
}

/// Has the compiler lay the code of the function out for statements that are not profiled.
#[cold]
#[inline(always)]
fn unlikely() {}

#[cold]
#[inline(never)]
fn pass_otherwise(block: &mut Block) {
    let Some(on) = &mut block.on else { return };
    if !(on.is_timed() && pass_timed(on)) {
        block.on = begin_anew(on.statements, on.next);
    }
}

/// Passes a boundary where times are measured: one reading of the clock ends the statement that
/// runs, and begins the next one. Returns false if the next one is still to begin.
#[inline(always)]
fn pass_timed(on: &mut On) -> bool {
    let (word, next) = (on.word.get(), on.next);
    let Some(here) = Here::ready(word) else {
        end_slowly(on);
        return false;
    };
    let (now, ended) = (here.now(), on.statement);
    on.end(&here, now);
    let Some(begin) = begin_at(&here, on.statements, next as usize, now) else {
        return false;
    };
    on.begin = begin;
    on.statement = next;
    let is_due = here.is_due(now);
    drop(here);
    after(word, on.statements, Some(ended), Some(next), is_due);
    true
}

#[cold]
#[inline(never)]
fn end_block(on: &mut On) {
    let word = on.word.get();
    let Some(here) = Here::ready(word) else { return end_slowly(on) };
    let now = here.now();
    on.end(&here, now);
    if !on.waits() {
        here.end_block();
    }
    let is_due = here.is_due(now);
    drop(here);
    after(word, on.statements, Some(on.statement), None, is_due);
}

/// Begins a statement; `None`: it has no row.
#[inline(always)]
fn begin_at(
    here: &Here,
    statements: &'static Statements,
    statement: usize,
    now: usize,
) -> Option<Begin> {
    let row = statements.row(statement);
    let waits = statements.place(statement).is_some_and(Place::waits);
    if waits { here.begin_waiting(row) } else { here.begin(row, now) }
}

/// Does what follows a boundary, now and then: nothing that is measured waits for it.
#[inline(always)]
fn after(
    word: usize,
    statements: &'static Statements,
    ended: Option<u32>,
    begun: Option<u32>,
    is_due: bool,
) {
    if word & mode::BITS == mode::TRACE {
        trace(statements, ended, begun);
    }
    if is_due {
        table::look();
    }
}

/// Ends a statement where the mode was switched, or this thread's table is not ready: the thread
/// may be another one than before.
#[cold]
#[inline(never)]
fn end_slowly(on: &On) {
    let word = on.word.get();
    if word == table::word() {
        match Here::prepared(word) {
            Some(here) => on.end(&here, here.now()),
            None => table::drop_one(),
        }
        after(word, on.statements, Some(on.statement), None, false);
    }
}

/// Begins a statement in a thread, a mode or a function that may be new. Nothing is recorded of the
/// rest of the block if profiling is off, if the filter excludes the function, or if this code
/// interrupts the recorder.
#[cold]
#[inline(never)]
fn begin_anew(statements: &'static Statements, statement: u32) -> Option<On> {
    begin();
    let word = table::word();
    match word & mode::BITS {
        mode::NEW => switch::note_early(),
        mode::OFF => {}
        _ if !statements.decide() => {}
        _ => return begin_prepared(word, statements, statement),
    }
    None
}

fn begin_prepared(word: usize, statements: &'static Statements, statement: u32) -> Option<On> {
    let begun = Here::prepared(word).and_then(|here| {
        if word & mode::TIME == 0 {
            let is_over = here.count(statements.row(statement as usize))?;
            return Some((Begin::NONE, is_over));
        }
        Some((begin_at(&here, statements, statement as usize, here.now())?, false))
    });
    let Some((begin, is_over)) = begun else {
        table::drop_one();
        return None;
    };
    after(word, statements, None, Some(statement), false);
    if is_over {
        table::count_again();
    }
    On::new(word, statements, statement, begin)
}

/// Records the end of a statement and the beginning of another one, unless they wait.
#[cold]
#[inline(never)]
fn trace(statements: &Statements, ended: Option<u32>, begun: Option<u32>) {
    let place =
        |statement: Option<u32>| statements.place(statement? as usize).filter(|p| !p.waits());
    let [ended, begun] = [ended, begun].map(place);
    if statements.is_own() {
        // The log has no statement of the recorder: these events cost as much.
        return [ended, begun].into_iter().flatten().for_each(|_| table::tell_costs());
    }
    if !statements.label() {
        // This code interrupts the runtime, which would count the events as nested.
        return [ended, begun].into_iter().flatten().for_each(|_| table::drop_one());
    }
    if let Some(place) = ended {
        event!(StatementLeave { statement: place.pointer() });
    }
    if let Some(place) = begun {
        event!(StatementEnter { statement: place.pointer() });
    }
}

/// Switches as the environment tells, at the first block.
pub(crate) fn begin() {
    if switch::begin() {
        calibrate();
    }
}
