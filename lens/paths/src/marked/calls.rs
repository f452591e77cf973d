//! The calls of functions with `#[path]`, from the events of each thread: they nest as brackets do.
//!
//! ```text
//!  enter f │ witnesses of f │ enter g … leave g │ witnesses of f │ leave f, or unwound
//! ```
//!
//! Design: `.paths.marked` in `design/paths.md`.

use super::graphs::{Numbers, Own};
use eventlog::reader::{Filter, Log, Order};
use std::collections::BTreeMap;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It returned.
    Returned,
    /// It unwound.
    Unwound,
    /// It is open at the end of the events, or events are lost.
    Cut,
}

/// A call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) function: usize,
    /// Its letters: the numbers of elements in the program of its function.
    pub(super) letters: Vec<u32>,
    /// Whether its begin is known.
    pub(super) begins: bool,
    pub(super) end: End,
    /// The calls in it, with the number of its letters before each.
    pub(super) calls: Vec<(usize, usize)>,
}

/// A thread, and its calls.
#[derive(Debug, Default)]
pub struct Thread {
    /// Its stream.
    pub stream: u16,
    /// Its number in the stream, from 1; 0 unknown.
    pub number: u32,
    pub(super) calls: Vec<Call>,
    /// The calls in no other.
    pub(super) roots: Vec<usize>,
    /// The open calls, the outermost first.
    open: Vec<usize>,
    /// The number of the next event, if none is lost.
    next: u64,
}

/// A letter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Letter {
    Enter,
    Leave,
    Unwound,
    Other(u32),
}

/// Reads the calls. Returns the threads, and the number of events without a function.
pub(super) fn read(log: &Log, functions: &[Own], numbers: &Numbers) -> (Vec<Thread>, u64) {
    let mut threads: BTreeMap<(u16, u32, u32), Thread> = BTreeMap::new();
    let mut strays = 0;
    log.events(Order::Time, &Filter::new().events(["Witness", "Unwound"])).each(|event| {
        let number = event.param("element").and_then(|own| own.as_u64());
        let Some(number) = number.filter(|_| &*event.registry.name == "path") else { return };
        let place = (event.stream, event.thread, event.buffer);
        let thread = threads.entry(place).or_insert_with(|| {
            let (stream, number) = (event.stream, event.thread);
            Thread { stream, number, next: event.number, ..Thread::default() }
        });
        if event.number != thread.next {
            thread.lose();
        }
        thread.next = event.number + 1;
        let own = numbers.range(..=(event.stream, number)).next_back();
        let own = own.filter(|((stream, _), _)| *stream == event.stream);
        let found = own.and_then(|((_, first), function)| {
            let local = u32::try_from(number - first).ok()?;
            let count = functions.get(*function)?.program.element_count();
            ((local as usize) < count).then_some((*function, local))
        });
        let Some((function, local)) = found else {
            strays += 1;
            return;
        };
        let letter = match local {
            0 if event.name() == "Unwound" => Letter::Unwound,
            0 => Letter::Enter,
            1 => Letter::Leave,
            other => Letter::Other(other),
        };
        thread.add(function, letter);
    });
    (threads.into_values().collect(), strays)
}

impl Thread {
    /// Adds a letter.
    fn add(&mut self, function: usize, letter: Letter) {
        if letter == Letter::Enter {
            self.begin(function, true);
            return self.note(0);
        }
        let is_own = |at: &usize| self.calls.get(*at).is_some_and(|own| own.function == function);
        match self.open.iter().rposition(is_own) {
            // The calls in it ended without a letter: by a jump out of them.
            Some(at) => self.open.truncate(at + 1),
            None => {
                self.open.clear();
                self.begin(function, false);
            }
        }
        match letter {
            Letter::Enter | Letter::Unwound => {}
            Letter::Leave => self.note(1),
            Letter::Other(number) => self.note(number),
        }
        let end = match letter {
            Letter::Leave => End::Returned,
            Letter::Unwound => End::Unwound,
            _ => return,
        };
        if let Some(call) = self.open.pop().and_then(|at| self.calls.get_mut(at)) {
            call.end = end;
        }
    }

    /// Begins a call: in the innermost open one, if there is one.
    fn begin(&mut self, function: usize, begins: bool) {
        let at = self.calls.len();
        let (letters, calls) = (Vec::new(), Vec::new());
        self.calls.push(Call { function, letters, begins, end: End::Cut, calls });
        let outer = self.open.last().and_then(|outer| self.calls.get_mut(*outer));
        match outer {
            Some(outer) => outer.calls.push((outer.letters.len(), at)),
            None => self.roots.push(at),
        }
        self.open.push(at);
    }

    /// Adds a letter to the innermost open call.
    fn note(&mut self, number: u32) {
        if let Some(call) = self.open.last().and_then(|at| self.calls.get_mut(*at)) {
            call.letters.push(number);
        }
    }

    /// Events are lost: nothing is known of the open calls.
    fn lose(&mut self) {
        self.open.clear();
    }
}
