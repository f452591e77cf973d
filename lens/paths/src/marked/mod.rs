//! Logs of functions with `#[path]`: their graphs, their calls by thread, and the path of each.
//!
//! ```text
//!  strings of the store ─▶ graphs, plans ─┐
//!  Witness, Unwound of a thread ─▶ calls ─┴─ each call walked alone ─▶ steps of all, nested
//! ```
//!
//! Design: `.paths.marked` in `design/paths.md`.

mod calls;
mod graphs;

pub use calls::Thread;
use calls::{Call, End};
pub use graphs::MarkedError;
use graphs::Own;

use crate::graph::{FunctionId, Program};
use crate::walk::{Cause, Collection, Divergence, Step, Walked, Walker};
use eventlog::reader::Log;
use std::collections::{BTreeSet, VecDeque};

/// The functions with `#[path]` of a log, and their calls.
#[derive(Debug)]
pub struct Marked {
    program: Program,
    functions: Vec<Own>,
    threads: Vec<Thread>,
    strays: u64,
}

/// What the walk of a thread found.
#[derive(Clone, Debug, Default)]
pub struct ThreadWalked {
    /// Blocks, letters, what is unknown, and whether the path is whole.
    pub walked: Walked,
    /// Calls.
    pub calls: u64,
    /// The first places where letters do not go on, in words.
    pub differences: Vec<String>,
}

/// Differences of a thread that are kept, at most.
const DIFFERENCE_COUNT_MAX: usize = 16;

impl Marked {
    /// Reads the functions and their calls.
    ///
    /// # Errors
    ///
    /// Fails if the log has no such function, or a graph cannot be read.
    pub fn read(log: &Log) -> Result<Marked, MarkedError> {
        let (program, functions, numbers) = graphs::read(log)?;
        let (threads, strays) = calls::read(log, &functions, &numbers);
        Ok(Marked { program, functions, threads, strays })
    }

    /// Returns all functions, as those of one program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the threads that called them.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Returns the number of events of functions whose graph the log lacks.
    pub fn strays(&self) -> u64 {
        self.strays
    }

    /// Walks the calls of a thread. `each` gets the steps, in order, of the functions of
    /// [`Marked::program`].
    pub fn walk(&self, thread: &Thread, each: &mut dyn FnMut(Step)) -> ThreadWalked {
        let called: BTreeSet<usize> = thread.calls.iter().map(|call| call.function).collect();
        let walkers = self.functions.iter().enumerate().map(|(at, own)| {
            let profiles = core::slice::from_ref(&own.profile);
            called.contains(&at).then(|| Walker::new(&own.program, profiles).ok())?
        });
        let walkers: Vec<Option<Walker<'_>>> = walkers.collect();
        let mut found = ThreadWalked::default();
        found.walked.is_whole = true;
        let mut open: Vec<Steps> = Vec::new();
        for root in &thread.roots {
            open.push(self.steps(&walkers, thread, *root, &mut found));
            while let Some(last) = open.last_mut() {
                match last.next() {
                    Some(Part::Step(step)) => each(step),
                    Some(Part::Call(call)) => {
                        open.push(self.steps(&walkers, thread, call, &mut found));
                    }
                    None => {
                        open.pop();
                    }
                }
            }
        }
        found
    }

    /// Walks one call. Returns its steps and the calls between them.
    fn steps(
        &self,
        walkers: &[Option<Walker<'_>>],
        thread: &Thread,
        at: usize,
        found: &mut ThreadWalked,
    ) -> Steps {
        let mut steps = Steps::default();
        let Some(call) = thread.calls.get(at) else { return steps };
        found.calls += 1;
        let (Some(own), Some(Some(walker))) =
            (self.functions.get(call.function), walkers.get(call.function))
        else {
            return steps;
        };
        let collection = [Collection {
            letters: call.letters.clone(),
            begins: call.begins,
            ends: call.end == End::Returned,
        }];
        let mut children = call.calls.iter().peekable();
        let is_unwound = call.end == End::Unwound;
        let mut is_left = false;
        let walked = walker.walk_with_letters(&collection, &mut |step, used| {
            // A call comes right after the letter before it.
            let is_late = matches!(step, Step::Unknown(Cause::Cut));
            let is_before = |(letters, _): &&(usize, usize)| *letters < used + usize::from(is_late);
            while let Some((_, child)) = children.next_if(is_before) {
                steps.parts.push_back(Part::Call(*child));
            }
            is_left |= matches!(step, Step::Leave(_));
            steps.parts.push_back(Part::Step(of(step, call, is_unwound)));
            if step == Step::Unknown(Cause::Begin) {
                steps.parts.push_back(Part::Step(Step::Enter(call.id())));
            }
        });
        steps.parts.extend(children.map(|(_, child)| Part::Call(*child)));
        if !is_left {
            steps.parts.push_back(Part::Step(Step::Unwound(call.id())));
        }
        if let Ok(walked) = walked {
            found.add(&own.program, &walked);
        }
        steps
    }
}

impl ThreadWalked {
    fn add(&mut self, program: &Program, walked: &Walked) {
        let sum = &mut self.walked;
        sum.blocks += walked.blocks;
        sum.letters += walked.letters;
        sum.unknown += walked.unknown;
        sum.passed_over += walked.passed_over;
        sum.is_whole &= walked.is_whole;
        let room = DIFFERENCE_COUNT_MAX.saturating_sub(self.differences.len());
        let said = walked.divergences.iter().take(room);
        self.differences.extend(said.map(|own| said_of(program, own)));
    }
}

/// Returns where the letters of a call do not go on, in words.
fn said_of(program: &Program, divergence: &Divergence) -> String {
    let title = |id| program.element(id).map_or("?".into(), |own| program.title(own));
    let found = match divergence.found {
        Some(letter) => title(crate::graph::ElementId(letter)),
        None => "the end".to_owned(),
    };
    format!(
        "after {} events of a call, at {}: the next event is {found}; a macro may hide a jump, or \
         events are lost",
        divergence.agreed,
        title(divergence.at)
    )
}

/// Returns a step of the function's own program as one of the program of all.
fn of(step: Step, call: &Call, is_unwound: bool) -> Step {
    match step {
        Step::Enter(_) => Step::Enter(call.id()),
        Step::Block(_, block) => Step::Block(call.id(), block),
        Step::Leave(_) => Step::Leave(call.id()),
        Step::Unwound(_) => Step::Unwound(call.id()),
        Step::Unknown(Cause::Cut) if is_unwound => Step::Unknown(Cause::Unwinding),
        Step::Unknown(cause) => Step::Unknown(cause),
    }
}

impl Call {
    fn id(&self) -> FunctionId {
        FunctionId(self.function as u32)
    }
}

/// A step of a call, or a call in it.
#[derive(Clone, Copy, Debug)]
enum Part {
    Step(Step),
    Call(usize),
}

/// The steps of a call that are still to give.
#[derive(Debug, Default)]
struct Steps {
    parts: VecDeque<Part>,
}

impl Iterator for Steps {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        self.parts.pop_front()
    }
}
