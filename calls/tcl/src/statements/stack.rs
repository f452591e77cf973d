//! The open statements of a coroutine, or of an interpreter itself: those that run, and those that
//! wait for the results of commands in their words.

use super::{Found, Place, Region};
use calls::{Block, Statement};
use core::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// A statement in progress.
pub(super) struct Open {
    /// `None`: a procedure that Tcl runs without a text of its own.
    pub(super) found: Option<Rc<Found>>,
    /// Its drop ends it.
    pub(super) block: Option<Block>,
    /// The frame that has it.
    pub(super) level: i64,
    /// What it runs.
    pub(super) region: Region,
    /// Its command has not begun: it waits for the results of commands in its words.
    pub(super) is_pending: bool,
    /// Where the last statement in it ends.
    pub(super) last: Option<u32>,
    /// The number of a call that began in it, of a lambda or a method.
    pub(super) call: Option<i64>,
    /// The name of that call.
    pub(super) function: Option<Rc<[u8]>>,
    pub(super) is_procedure: bool,
}

impl Open {
    pub(super) fn new(found: Option<Rc<Found>>) -> Open {
        Open {
            found,
            block: None,
            level: 0,
            region: 0,
            is_pending: false,
            last: None,
            call: None,
            function: None,
            is_procedure: false,
        }
    }

    /// Whether it runs the next method of a class, which no statement of has begun.
    pub(super) fn is_next(&self) -> bool {
        let place = self.found.as_ref().and_then(|found| found.place.as_ref());
        self.call.is_none() && place.is_some_and(|place| place.script.is_next(place.command))
    }

    /// Whether it runs a procedure, a lambda or a method.
    pub(super) fn is_call(&self) -> bool {
        self.is_procedure || self.call.is_some()
    }

    pub(super) fn command(&self) -> Option<u32> {
        Some(self.found.as_ref()?.place.as_ref()?.command)
    }
}

/// The open statements of a coroutine, or of the interpreter itself.
#[derive(Default)]
pub(crate) struct Stack {
    pub(super) opens: RefCell<Vec<Open>>,
    pub(super) is_coroutine: Cell<bool>,
    /// The frame of the command that resumed it, if that has one.
    pub(super) base: Cell<Option<i64>>,
    is_suspended: Cell<bool>,
    /// Whether its first command was not seen.
    pub(super) is_adopted: bool,
    /// What the command that made it runs.
    pub(super) region: Cell<Region>,
}

impl Stack {
    /// Returns that of a coroutine that has begun before.
    pub(crate) fn adopted() -> Rc<Stack> {
        Rc::new(Stack { is_adopted: true, ..Stack::default() })
    }

    /// Suspends the statements, or resumes them: a coroutine's are not timed while it waits.
    pub(super) fn suspend(&self, is_suspended: bool) {
        if self.is_suspended.replace(is_suspended) != is_suspended {
            let mut opens = self.opens.borrow_mut();
            opens.iter_mut().filter_map(|open| open.block.as_mut()).for_each(Block::turn);
        }
    }
}

/// What the end of a statement needs.
pub(crate) struct Begun {
    pub(super) stack: Rc<Stack>,
    pub(super) depth: usize,
}

/// Ends the statements that wait and do not enclose this one, and begins those that do. Returns
/// the place of this one if it waited.
pub(super) fn enclose(opens: &mut Vec<Open>, found: &Rc<Found>) -> Option<usize> {
    while let Some(open) = opens.last()
        && open.is_pending
        && let Some(outer) = open.found.as_ref().and_then(|outer| outer.place.as_ref())
    {
        if found.place.as_ref() == Some(outer) {
            return Some(opens.len() - 1);
        }
        let is_in = |place: &Place| {
            Arc::ptr_eq(&place.script, &outer.script)
                && place.script.is_within(place.command, outer.command)
        };
        if found.place.as_ref().is_some_and(is_in) {
            break;
        }
        opens.pop();
    }
    let waiting = opens.iter().rev().take_while(|open| open.is_pending);
    let begun = waiting.filter_map(|open| open.found.as_ref()?.place.clone()).collect::<Vec<_>>();
    for outer in &found.enclosing {
        if outer.place.as_ref().is_some_and(|place| begun.contains(place)) {
            continue;
        }
        let block = outer.statement.map(Statement::begin);
        opens.push(Open { block, is_pending: true, ..Open::new(Some(outer.clone())) });
    }
    None
}

impl Begun {
    /// The statement ends, and those that wait in it. A failure also ends those that waited for it.
    pub(crate) fn end(self, is_ok: bool) {
        // Tcl ends the commands of a coroutine that is deleted while it waits.
        self.stack.suspend(false);
        let mut opens = self.stack.opens.borrow_mut();
        while opens.len() > self.depth {
            opens.pop();
        }
        while !is_ok && opens.last().is_some_and(|open| open.is_pending) {
            opens.pop();
        }
    }
}
