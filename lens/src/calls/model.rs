//! Functions, calls and tasks: what the events of the registry `calls` mean.
//!
//! ```text
//!  events ──▶ Call { function, caller, begin, end, verdict, own, … }
//!         └─▶ Task { number, function, begin, end, ready }
//! ```
//!
//! Design: `.calls.lens` in `design/calls.md`.

use crate::slices::{Edge, Verdict};

/// A function, by its number in [`crate::calls::Functions`].
pub type Function = u32;

/// No function: the caller of a call that no recorded function made.
pub const NONE: Function = 0;

/// In the tag of an edge: the caller's selection lacks the event.
pub const UNSELECTED: u32 = 1 << 31;

/// A call, or a poll of a task, that ended or never will.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The function.
    pub function: Function,
    /// The function that called it.
    pub caller: Function,
    /// The pair of both, by its number in [`crate::calls::Tree::edges`].
    pub edge: u32,
    /// The path of calls, by its number in [`crate::calls::Tree::nodes`].
    pub node: u32,
    /// The number of calls around it on its stack.
    pub depth: u32,
    /// The coroutine in which it began; 0: the thread's own stack.
    pub context: u64,
    /// The task, if it is a poll.
    pub task: Option<u64>,
    /// Whether a panic ended it.
    pub is_unwound: bool,
    /// Its beginning. For a call that states its time alone, the time is computed from the end.
    pub begin: &'a Edge,
    /// Its end.
    pub end: Option<&'a Edge>,
    /// What became of it. A call whose end is missing, as its caller went on without it, is
    /// doubtful.
    pub verdict: Verdict,
    /// Its time in ns, with that of the calls in it.
    pub duration: Option<u64>,
    /// Its time in ns, without that of the calls in it.
    pub own: Option<u64>,
}

/// A task that ended or never will.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Its number in the process.
    pub number: u64,
    /// Its function.
    pub function: Function,
    /// The event that began it.
    pub begin: &'a Edge,
    /// The event that ended it.
    pub end: Option<&'a Edge>,
    /// What became of it.
    pub verdict: Verdict,
    /// Whether it was ready; false: it was dropped before, or has no end.
    pub is_ready: bool,
}

/// What events meant.
#[derive(Clone, Copy, Debug)]
pub enum Told<'a> {
    /// A call ended, or never will.
    Call(Call<'a>),
    /// A task ended, or never will.
    Task(Task<'a>),
}

/// A call in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The function.
    pub function: Function,
    /// Its beginning; `None` if the log lacks it, and calls in it name it as their caller.
    pub begin: Option<Edge>,
    /// The task, if it is a poll.
    pub task: Option<u64>,
}

/// The calls in progress on a stack, the outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenStack {
    /// The stream, by its index in the log.
    pub stream: u16,
    /// The thread of the innermost call, by its index in the stream.
    pub thread: u32,
    /// The coroutine; 0: the thread's own stack.
    pub context: u64,
    /// The calls.
    pub calls: Vec<OpenCall>,
}

/// Counts of what made no call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ends whose beginning is not in the log.
    pub alone: u64,
    /// Calls that began while too many were open.
    pub full: u64,
    /// Gaps in the numbers of buffers.
    pub gaps: u64,
}
