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
use telemetry::event;

/// A block in progress. Its drop ends its last statement.
#[derive(Debug)]
#[must_use]
pub struct Block {
    /// The word of the mode; 0: nothing is recorded of this block.
    word: usize,
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
    if switch::is_on() { begin_block(statements, statement) } else { Block::off(statements) }
}

impl Block {
    #[inline(always)]
    const fn off(statements: &'static Statements) -> Block {
        Block::with(mode::OFF, statements, 0, Begin::NONE)
    }

    #[inline(always)]
    const fn with(
        word: usize,
        statements: &'static Statements,
        statement: usize,
        begin: Begin,
    ) -> Block {
        Block { word, statements, statement: statement as u32, next: 0, begin }
    }

    /// Ends the statement that runs, and begins another one.
    #[inline(always)]
    pub fn at(&mut self, statement: usize) {
        if self.word != mode::OFF {
            unlikely();
            self.pass(statement);
        }
    }

    /// Counts here: a call would cost as much again. All else is elsewhere.
    #[inline(always)]
    fn pass(&mut self, statement: usize) {
        if self.word & mode::TIME == 0
            && let Some(here) = Here::ready(self.word)
            && let Some(is_over) = here.count(self.statements.row(statement))
        {
            drop(here);
            if is_over {
                table::count_again();
            }
        } else {
            self.next = statement as u32;
            pass_otherwise(self);
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
        if self.word & mode::TIME != 0
            && let Some(here) = Here::ready(self.word)
        {
            here.turn(&mut self.begin);
        }
    }

    fn place(&self) -> Option<&'static Place> {
        self.statements.place(self.statement as usize)
    }

    fn waits(&self) -> bool {
        self.place().is_some_and(Place::waits)
    }
}

impl Drop for Block {
    #[inline(always)]
    fn drop(&mut self) {
        if self.word & mode::TIME != 0 {
            end_block(self);
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
        return Block::with(word, statements, statement, Begin::NONE);
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
            return Block::with(word, statements, statement, begin);
        }
    }
    begin_slowly(statements, statement)
}

#[cold]
#[inline(never)]
fn begin_slowly(statements: &'static Statements, statement: usize) -> Block {
    let mut block = Block::off(statements);
    begin_anew(&mut block, statement as u32);
    block
}

/// Has the compiler lay the code of the function out for statements that are not profiled.
#[cold]
#[inline(always)]
fn unlikely() {}

#[cold]
#[inline(never)]
fn pass_otherwise(block: &mut Block) {
    if block.word & mode::TIME != 0 { pass_timed(block) } else { begin_anew(block, block.next) }
}

/// Passes a boundary where times are measured: one reading of the clock ends the statement that
/// runs, and begins the next one.
#[inline(always)]
fn pass_timed(block: &mut Block) {
    let (word, next) = (block.word, block.next);
    let Some(here) = Here::ready(word) else { return pass_slowly(block, Some(next)) };
    let (now, ended) = (here.now(), block.statement);
    end(block, &here, now);
    let Some(begin) = begin_at(&here, block.statements, next as usize, now) else {
        drop(here);
        return begin_anew(block, next);
    };
    block.begin = begin;
    block.statement = next;
    let is_due = here.is_due(now);
    drop(here);
    after(word, block.statements, Some(ended), Some(next), is_due);
}

#[cold]
#[inline(never)]
fn end_block(block: &mut Block) {
    let word = block.word;
    let Some(here) = Here::ready(word) else { return pass_slowly(block, None) };
    let now = here.now();
    end(block, &here, now);
    if !block.waits() {
        here.end_block();
    }
    let is_due = here.is_due(now);
    drop(here);
    after(word, block.statements, Some(block.statement), None, is_due);
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

/// Ends the statement that runs, and the block if nothing follows.
#[inline(always)]
fn end(block: &Block, here: &Here, now: usize) {
    let row = block.statements.row(block.statement as usize);
    if block.waits() {
        here.end_waiting(row, &block.begin);
    } else {
        here.end(row, &block.begin, now);
    }
}

/// Passes a boundary where the mode was switched, or this thread's table is not ready: the thread
/// may be another one than before.
#[cold]
#[inline(never)]
fn pass_slowly(block: &mut Block, next: Option<u32>) {
    let word = block.word;
    if word == table::word() {
        match Here::prepared(word) {
            Some(here) => end(block, &here, here.now()),
            None => table::drop_one(),
        }
        after(word, block.statements, Some(block.statement), None, false);
    }
    if let Some(next) = next {
        begin_anew(block, next);
    }
}

/// Begins a statement in a thread, a mode or a function that may be new. Nothing is recorded of the
/// rest of the block if profiling is off, if the filter excludes the function, or if this code
/// interrupts the recorder.
#[cold]
#[inline(never)]
fn begin_anew(block: &mut Block, next: u32) {
    let statement = next as usize;
    block.word = mode::OFF;
    begin();
    let word = table::word();
    match word & mode::BITS {
        mode::NEW => return switch::note_early(),
        mode::OFF => return,
        _ if !block.statements.decide() => return,
        _ => {}
    }
    let Some(here) = Here::prepared(word) else { return table::drop_one() };
    block.statement = next;
    let row = block.statements.row(statement);
    let is_over = if word & mode::TIME == 0 {
        here.count(row)
    } else {
        begin_at(&here, block.statements, statement, here.now()).map(|begin| {
            block.begin = begin;
            false
        })
    };
    drop(here);
    let Some(is_over) = is_over else { return table::drop_one() };
    block.word = word;
    after(word, block.statements, None, Some(next), false);
    if is_over {
        table::count_again();
    }
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
