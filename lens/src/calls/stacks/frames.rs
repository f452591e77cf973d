//! Open calls, and how they end.
//!
//! ```text
//!  a slice of the pairing ── its place ──▶ Frame: function, node, time of the calls in it
//!                     └ its end ──▶ Told, the sum of its node, the frame around it
//! ```
//!
//! Design: `.calls.lens` in `design/calls.md`.

use super::SEARCH_COUNT_MAX;
use crate::calls::clocks::Clocks;
use crate::calls::functions::Functions;
use crate::calls::model::{Call, Function, NONE, Task, Told, UNSELECTED};
use crate::calls::source::Sense;
use crate::calls::tree::{Above, Tree};
use crate::slices::{Edge, Pairing, Slice, Slot, Track, Verdict};
use std::collections::BTreeMap;

/// What is known of an open slice, at its place in the pairing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) sense: Sense,
    pub(super) function: Function,
    pub(super) node: u32,
    /// The node, or the innermost one around it that is not shared.
    pub(super) home: u32,
    /// The pair of caller and function of the node.
    pub(super) edge: u32,
    pub(super) caller: Function,
    pub(super) parent: Option<Slot>,
    pub(super) depth: u32,
    pub(super) context: u64,
    /// The time of the calls in it.
    pub(super) inner_ns: u64,
    /// How long the clock of its stack had stood when it began.
    pub(super) stood_ns: u64,
    pub(super) is_unwound: bool,
    /// Whether the log lacks its beginning.
    pub(super) is_assumed: bool,
}

pub(super) const NO_FRAME: Frame = Frame {
    sense: Sense::Nothing,
    function: NONE,
    node: Tree::ROOT,
    home: Tree::ROOT,
    edge: 0,
    caller: NONE,
    parent: None,
    depth: 0,
    context: 0,
    inner_ns: 0,
    stood_ns: 0,
    is_unwound: false,
    is_assumed: false,
};

/// Returns the task of a poll.
pub(super) fn task_of(begin: &Edge) -> u64 {
    begin.key.get(1).copied().unwrap_or(0)
}

/// Returns what of a new call occurs on its stack, whose innermost calls are given first. Without a
/// caller, it is known that the edge does not.
pub(super) fn above(
    around: impl Iterator<Item = Function>,
    function: Function,
    caller: Option<Function>,
) -> Above {
    let (mut found, mut is_it) = (Above::default(), false);
    for outer in around.take(SEARCH_COUNT_MAX) {
        found.edge |= is_it && caller == Some(outer);
        is_it = outer == function;
        found.function |= is_it;
        if found.edge || found.function && caller.is_none() {
            return found;
        }
    }
    found.edge |= is_it && caller == Some(NONE);
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

/// What is known of the open slices, and what they leave behind.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    pub(super) all: Vec<Frame>,
    /// By edge: how many open calls have it, on any stack.
    open_counts: Vec<u32>,
    /// Whether any call was assumed. An assumed call that leaves its stack leaves edges there that
    /// no call has.
    has_assumed: bool,
    /// Open calls whose beginning the log lacks.
    pub(super) assumed_count: usize,
    pub(super) functions: Functions,
    pub(super) tree: Tree,
    pub(super) clocks: Clocks,
    /// Ends of calls whose beginning the log lacks.
    pub(super) alone: BTreeMap<Function, u64>,
}

impl Frames {
    pub(super) fn new(functions: Functions, tree: Tree) -> Frames {
        Frames {
            all: Vec::new(),
            open_counts: vec![0],
            has_assumed: false,
            assumed_count: 0,
            functions,
            tree,
            clocks: Clocks::default(),
            alone: BTreeMap::new(),
        }
    }

    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<&Frame> {
        self.all.get(slot as usize)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut Frame> {
        self.all.get_mut(slot as usize)
    }

    pub(super) fn set(&mut self, slot: Slot, frame: Frame) {
        if self.all.len() <= slot as usize {
            self.all.resize(slot as usize + 1, NO_FRAME);
        }
        self.assumed_count += usize::from(frame.is_assumed);
        self.has_assumed |= frame.is_assumed;
        if let Some(count) = self.open_counts.get_mut(frame.edge as usize) {
            *count += 1;
        }
        if let Some(place) = self.get_mut(slot) {
            *place = frame;
        }
    }

    /// Returns the node of a call of a function in a call of the node `parent`. The stack has
    /// `count` calls more than those around it.
    #[inline]
    pub(super) fn node(
        &mut self,
        pairing: &Pairing,
        track: Track,
        parent: u32,
        function: Function,
        count: usize,
    ) -> u32 {
        let Frames { all, tree, open_counts, has_assumed, .. } = self;
        tree.child(parent, function, |edge, caller| {
            let around = || functions_on(pairing, all, track).skip(count);
            if open_counts.len() <= edge as usize {
                open_counts.resize(edge as usize + 1, 0);
            }
            let is_open = *has_assumed || open_counts.get(edge as usize).is_some_and(|n| *n > 0);
            above(around(), function, Some(caller).filter(|_| is_open))
        })
    }

    /// Returns the time of a slice by the clock of its stack.
    #[inline]
    fn duration(&self, frame: &Frame, slice: &Slice<'_>) -> Option<u64> {
        let (duration, end) = (slice.duration()?, slice.end?);
        let stood = self.clocks.stood(end.track, end.ns).saturating_sub(frame.stood_ns);
        Some(duration.saturating_sub(stood))
    }

    /// Tells that a slice ended, or never will.
    #[inline]
    pub(super) fn close(
        &mut self,
        slice: &Slice<'_>,
        extra: u64,
        verdict: Verdict,
        each: &mut dyn FnMut(&Functions, Told<'_>),
    ) {
        let Some(frame) = self.get(slice.slot).copied() else { return };
        if let Some(count) = self.open_counts.get_mut(frame.edge as usize) {
            *count = count.saturating_sub(1);
        }
        let duration = self.duration(&frame, slice).filter(|_| !frame.is_assumed);
        // A call that crosses left its caller before it ended. One that is doubtful without an end
        // was taken off its stack.
        let has_parent = frame.sense != Sense::Task
            && (verdict == Verdict::Whole || verdict == Verdict::Doubtful && slice.end.is_none());
        if let Some(parent) = frame.parent.filter(|_| has_parent)
            && let Some(outer) = self.get_mut(parent)
        {
            // Without a time of its own, the times of the calls in it are known.
            outer.inner_ns = outer.inner_ns.saturating_add(duration.unwrap_or(frame.inner_ns));
        }
        if frame.is_assumed {
            self.assumed_count = self.assumed_count.saturating_sub(1);
            if slice.end.is_some() {
                *self.alone.entry(frame.function).or_default() += 1;
            }
            return;
        }
        let Some(told) = told(&frame, slice, duration, extra, verdict) else { return };
        if let Told::Call(call) = &told {
            let times = call.duration.zip(call.own);
            self.tree.count(call.node, frame.home, verdict, times, call.is_unwound);
        }
        each(&self.functions, told);
    }
}

/// Returns what to tell of a slice with this frame, which ended, never will, or is open; `None` if
/// its beginning is missing or not selected.
pub(super) fn told<'a>(
    frame: &Frame,
    slice: &Slice<'a>,
    duration: Option<u64>,
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
    let own = duration.map(|ns| ns.saturating_sub(frame.inner_ns));
    Some(Told::Call(Call {
        function: frame.function,
        caller: frame.caller,
        edge: frame.edge,
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
