//! The walk: from the letters of each run to the path of the program.
//!
//! ```text
//!  collections ─ next letter of each ─┐
//!  point ─ one way: go; fork: the way whose first letters hold the next one ─▶ point
//!          a witness: its letter is the next one, and is used up ──▶ steps before it are sure
//!          else: where the runs differ, with both stacks; of one run the walk goes on behind it
//! ```
//!
//! A step is given out when a later letter confirms it. So what a crash or an unwinding left out is
//! unknown, and counted, and is never given out as the path. Design: `.paths.walk` in
//! `design/paths.md`.

mod course;
mod table;
pub mod text;

use crate::condition::{Clash, clashes};
use crate::first::TooLarge;
use crate::graph::{BlockId, EdgeId, Element, ElementId, FunctionId, Program};
use crate::points::Points;
use crate::profile::{Profile, UNWOUND};
use core::fmt;
use course::Walk;
use table::Table;

/// The letters of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// The letters, in order.
    pub letters: Vec<u32>,
    /// Whether it begins with the run. A ring that was overwritten does not.
    pub begins: bool,
    /// Whether it ends with the run. That of a killed program does not.
    pub ends: bool,
}

impl Collection {
    /// Returns the collection of a whole run.
    pub fn whole(letters: Vec<u32>) -> Collection {
        Collection { letters, begins: true, ends: true }
    }
}

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A function begins.
    Enter(FunctionId),
    /// A block runs.
    Block(FunctionId, BlockId),
    /// A function returns.
    Leave(FunctionId),
    /// A function ends without a return: by unwinding, a jump, or where the path is unknown.
    Unwound(FunctionId),
    /// Part of the path is unknown.
    Unknown(Cause),
}

/// The elements of a path, from its steps.
#[derive(Debug)]
pub struct Elements<'p> {
    program: &'p Program,
    open: Vec<Option<BlockId>>,
    found: Vec<ElementId>,
}

impl<'p> Elements<'p> {
    /// Begins a path of a program.
    pub fn new(program: &'p Program) -> Elements<'p> {
        Elements { program, open: Vec::new(), found: Vec::new() }
    }

    /// Adds the elements of a step: of a block also the edge to it.
    pub fn add(&mut self, step: Step) {
        match step {
            Step::Enter(function) => {
                self.open.push(None);
                self.found.extend(self.program.id(Element::Enter(function)));
            }
            Step::Block(function, block) => {
                let Some(before) = self.open.last_mut() else { return };
                if let (Some(from), Some(own)) =
                    (before.replace(block), self.program.function(function))
                {
                    let edges = own.range(from).zip(own.leaving(from));
                    let edge = edges.into_iter().find(|(_, edge)| edge.to == block);
                    let edge = edge.map(|(at, _)| Element::Edge(function, EdgeId(at as u32)));
                    self.found.extend(edge.and_then(|edge| self.program.id(edge)));
                }
                self.found.extend(self.program.id(Element::Block(function, block)));
            }
            Step::Leave(function) => {
                self.open.pop();
                self.found.extend(self.program.id(Element::Leave(function)));
            }
            Step::Unwound(_) => {
                self.open.pop();
            }
            Step::Unknown(_) => {}
        }
    }

    /// Returns the elements, for [`crate::Weights::counted`].
    pub fn finish(self) -> Vec<ElementId> {
        self.found
    }
}

/// Why part of a path is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The collection begins midway.
    Begin,
    /// The collection ends before the run.
    Cut,
    /// The letters are not those of a path of the graph: unwinding, a jump, a lost event.
    Other,
    /// Several callers can come next.
    Caller,
    /// A call ended by unwinding: how far its functions had come is not known.
    Unwinding,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Begin => "the events begin midway",
            Cause::Cut => "the events end before the run",
            Cause::Other => "the events are not those of a path of the graph",
            Cause::Caller => "several callers can come next",
            Cause::Unwinding => "a call ended by unwinding",
        })
    }
}

/// A place where a run does not go on as the others do, or as the graph allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The run, by its index.
    pub run: usize,
    /// How many of its letters agree.
    pub agreed: usize,
    /// Its next letter; none at its end.
    pub found: Option<u32>,
    /// The element where it differs.
    pub at: ElementId,
    /// The open calls there, the outermost first; at most the 64 innermost.
    pub stack: Vec<ElementId>,
    /// The open calls at its last letter that agrees.
    pub agreed_stack: Vec<ElementId>,
}

impl Divergence {
    /// Returns the divergence in words: where, and both stacks.
    pub fn say(&self, program: &Program) -> String {
        let say = |id: &ElementId| program.element(*id).map_or("?".into(), |own| program.say(own));
        let stack = |stack: &[ElementId]| match stack {
            [] => "none".to_owned(),
            calls => calls.iter().map(say).collect::<Vec<_>>().join("; "),
        };
        let found = match self.found {
            None => "the end".to_owned(),
            Some(UNWOUND) => "an unwinding, or a jump out of several calls".to_owned(),
            Some(letter) => match program.element(ElementId(letter)) {
                Some(element) => format!("letter {letter} ({})", program.say(element)),
                None => format!("letter {letter}"),
            },
        };
        let Divergence { run, agreed, .. } = self;
        let (at, open) = (say(&self.at), stack(&self.stack));
        let before = stack(&self.agreed_stack);
        format!(
            "run {run} differs after {agreed} letters, at {at}: its next is {found}; open calls \
             there: {open}; open calls at its last letter: {before}"
        )
    }
}

/// What a walk found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Blocks of the path.
    pub blocks: u64,
    /// Letters that were used.
    pub letters: u64,
    /// Stretches that are unknown.
    pub unknown: u64,
    /// Letters that were passed over in unknown stretches.
    pub passed_over: u64,
    /// The first places where the letters do not go on, at most [`DIVERGENCE_COUNT_MAX`].
    pub divergences: Vec<Divergence>,
    /// Whether the path is whole: from the begin of the program to its end, nothing unknown.
    pub is_whole: bool,
}

/// Divergences of a walk that are kept, at most.
pub const DIVERGENCE_COUNT_MAX: usize = 16;

/// Why a walk cannot begin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WalkError {
    /// The profiles do not tell these ways apart.
    Open(Vec<Clash>),
    /// The number of collections is not that of the profiles.
    Count {
        /// profiles
        profiles: usize,
        /// collections
        collections: usize,
    },
    /// One of several collections begins midway: nothing lays it next to the others.
    Midway(usize),
    /// The first letters are too many.
    TooLarge(TooLarge),
}

impl fmt::Display for WalkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WalkError::Open(clashes) => {
                write!(f, "the profiles do not tell {} pairs of ways apart", clashes.len())
            }
            WalkError::Count { profiles, collections } => {
                write!(f, "{profiles} profiles, and {collections} collections")
            }
            WalkError::Midway(run) => {
                write!(f, "run {run} begins midway, and is one of several: walk it alone")
            }
            WalkError::TooLarge(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for WalkError {}

impl From<TooLarge> for WalkError {
    fn from(error: TooLarge) -> WalkError {
        WalkError::TooLarge(error)
    }
}

/// Finds paths of a program from the letters of some profiles.
#[derive(Debug)]
pub struct Walker<'p> {
    profile_count: usize,
    table: Table<'p>,
}

impl<'p> Walker<'p> {
    /// Prepares walks.
    ///
    /// # Errors
    ///
    /// Fails if the profiles do not keep the condition, or the program is too large.
    pub fn new(program: &'p Program, profiles: &[Profile]) -> Result<Walker<'p>, WalkError> {
        let open = clashes(program, profiles)?;
        if !open.is_empty() {
            return Err(WalkError::Open(open));
        }
        let table = Table::new(Points::new(program), profiles)?;
        Ok(Walker { profile_count: profiles.len(), table })
    }

    /// Walks. `each` gets the steps, in order.
    ///
    /// # Errors
    ///
    /// Fails if the number of collections is not that of the profiles, or one of several begins
    /// midway.
    pub fn walk(
        &self,
        collections: &[Collection],
        each: &mut dyn FnMut(Step),
    ) -> Result<Walked, WalkError> {
        self.walk_with_letters(collections, &mut |step, _| each(step))
    }

    /// Walks. `each` gets the steps, in order, and how many letters of the first run are used.
    ///
    /// # Errors
    ///
    /// Fails as [`Walker::walk`] does.
    pub fn walk_with_letters(
        &self,
        collections: &[Collection],
        each: &mut dyn FnMut(Step, usize),
    ) -> Result<Walked, WalkError> {
        if collections.len() != self.profile_count {
            let (profiles, collections) = (self.profile_count, collections.len());
            return Err(WalkError::Count { profiles, collections });
        }
        let midway = collections.iter().position(|own| !own.begins);
        if let Some(run) = midway.filter(|_| collections.len() > 1) {
            return Err(WalkError::Midway(run));
        }
        let mut walk = Walk::new(self, collections, each);
        walk.run();
        let mut walked = walk.walked;
        for at in 0..walked.divergences.len() {
            let Divergence { run, agreed, .. } = walked.divergences[at];
            let mut ignored = |_, _| {};
            let mut again = Walk::new(self, collections, &mut ignored);
            again.look_at = Some((run, agreed));
            again.run();
            walked.divergences[at].agreed_stack = again.seen;
        }
        Ok(walked)
    }
}
