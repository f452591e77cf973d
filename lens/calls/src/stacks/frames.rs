//! Open calls, and how they end.
//!
//! ```text
//!  a slice of the pairing ── its place ──▶ Frame: function, node, time of the calls in it
//!                     └ its end ──▶ Told, the sum of its node, the frame around it
//! ```
//!
//! Design: `.calls.lens` in `design/calls.md`.

use super::SEARCH_COUNT_MAX;
use crate::functions::Functions;
use crate::model::{Call, Function, NONE, Task, Told, UNSELECTED};
use crate::source::Sense;
use crate::tree::{Above, Tree};
use slices::{Edge, Pairing, Slice, Slot, Track, Verdict};
use std::collections::BTreeMap;

/// What is known of an open slice, at its place in the pairing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) sense: Sense,
    pub(super) function: Function,
    pub(super) node: u32,
    pub(super) parent: Option<Slot>,
    pub(super) depth: u32,
    pub(super) context: u64,
    /// The time of the calls in it.
    pub(super) inner_ns: u64,
    pub(super) is_unwound: bool,
    /// Whether the log lacks its beginning.
    pub(super) is_assumed: bool,
}

impl Frame {
    /// Returns whether it is that of a call whose beginning is in the log, or of a slice.
    fn is_call(&self) -> bool {
        !self.is_assumed && self.sense != Sense::Task
    }
}

pub(super) const NO_FRAME: Frame = Frame {
    sense: Sense::Nothing,
    function: NONE,
    node: Tree::ROOT,
    parent: None,
    depth: 0,
    context: 0,
    inner_ns: 0,
    is_unwound: false,
    is_assumed: false,
};

/// Returns the task of a poll.
pub(super) fn task_of(begin: &Edge) -> u64 {
    begin.key.get(1).copied().unwrap_or(0)
}

/// Returns what of a new call occurs on its stack, whose innermost calls are given first.
pub(super) fn above(
    around: impl Iterator<Item = Function>,
    function: Function,
    caller: Function,
) -> Above {
    let (mut found, mut is_it) = (Above::default(), false);
    for outer in around.take(SEARCH_COUNT_MAX) {
        found.edge |= is_it && outer == caller;
        is_it = outer == function;
        found.function |= is_it;
        if found.edge {
            return found;
        }
    }
    found.edge |= is_it && caller == NONE;
    found
}

/// Returns the functions on a stack, the innermost first.
pub(super) fn functions_on<'a>(
    pairing: &'a Pairing,
    frames: &'a [Frame],
    track: Track,
) -> impl Iterator<Item = Function> + 'a {
    let function = |(slot, _): (Slot, _)| frames.get(slot as usize).map_or(NONE, |f| f.function);
    pairing.stack(track).map(function)
}

/// Tells that a slice ended, or never will.
#[expect(clippy::too_many_arguments, reason = "the parts of `Calls` that a pairing does not hold")]
pub(super) fn close(
    frames: &mut [Frame],
    tree: &mut Tree,
    functions: &Functions,
    alone: &mut BTreeMap<Function, u64>,
    slice: &Slice<'_>,
    extra: u64,
    verdict: Verdict,
    each: &mut dyn FnMut(&Functions, Told<'_>),
) {
    let Some(frame) = frames.get(slice.slot as usize).copied() else { return };
    if frame.is_assumed && slice.end.is_some() {
        *alone.entry(frame.function).or_default() += 1;
    }
    // A call that crosses left its caller before it ended.
    let parent = frame.parent.filter(|_| verdict == Verdict::Whole && frame.is_call());
    if let Some(outer) = parent.and_then(|parent| frames.get_mut(parent as usize)) {
        outer.inner_ns = outer.inner_ns.saturating_add(slice.duration().unwrap_or(0));
    }
    let Some(told) = told(&frame, tree, slice, extra, verdict) else { return };
    if let Told::Call(call) = &told {
        tree.count(call.node, verdict, call.duration.zip(call.own), call.is_unwound);
    }
    each(functions, told);
}

/// Returns what to tell of a slice with this frame, which ended, never will, or is open; `None` if
/// its beginning is missing or not selected.
pub(super) fn told<'a>(
    frame: &Frame,
    tree: &Tree,
    slice: &Slice<'a>,
    extra: u64,
    verdict: Verdict,
) -> Option<Told<'a>> {
    if frame.is_assumed || slice.begin.tag & UNSELECTED != 0 {
        return None;
    }
    if frame.sense == Sense::Task {
        return Some(Told::Task(Task {
            number: slice.begin.key.first().copied().unwrap_or(0),
            function: frame.function,
            begin: slice.begin,
            end: slice.end,
            verdict,
            is_ready: slice.end.is_some() && extra != 0,
        }));
    }
    let duration = slice.duration();
    let own = duration.map(|ns| ns.saturating_sub(frame.inner_ns));
    let node = tree.nodes().get(frame.node as usize);
    let edge = node.map_or(0, |node| node.edge);
    Some(Told::Call(Call {
        function: frame.function,
        caller: tree.edges().get(edge as usize).map_or(NONE, |(caller, _)| *caller),
        edge,
        node: frame.node,
        depth: frame.depth,
        context: frame.context,
        task: (frame.sense == Sense::Poll).then(|| task_of(slice.begin)),
        is_unwound: frame.is_unwound,
        begin: slice.begin,
        end: slice.end,
        verdict,
        duration,
        own,
    }))
}
