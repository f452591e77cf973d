//! Batches to calls: the stacks of calls of all threads, coroutines and tasks.
//!
//! ```text
//!  thread 1:  main ── sell ── hash     Enter db, caller sell: hash has ended, its end is missing
//!  thread 2:  main ── (serve) ── get   Enter get, caller serve: the beginning of serve is missing
//!  coroutine: step
//! ```
//!
//! `slices::Pairing` pairs, and finds gaps. A beginning states its caller, which repairs the stack.
//! Design: `.calls.lens`, `.calls.repair` in `design/calls.md`.

mod frames;
mod repair;

use crate::calls::functions::Functions;
use crate::calls::model::{Call, Counts, Function, NONE, OpenCall, OpenStack, Told, UNSELECTED};
use crate::calls::source::{Aside, Batch, PROFILE, Sense, UNSTATED, Word, senses};
use crate::calls::tree::{NODE_COUNT_MAX, Tree};
use crate::slices::{Edge, Holes, Limits, Numbers, Pairing, Slot, Step, Track, Turn, Verdict};
use eventlog::reader::marks::Marks;
use eventlog::reader::{Clock, Log};
use frames::{Frame, Frames, NO_FRAME, task_of, told};
use std::collections::BTreeMap;

/// Calls on a stack in which a caller is searched, at most.
const SEARCH_COUNT_MAX: usize = 1 << 12;

/// Makes calls of batches, which come in order of time.
#[derive(Clone, Debug)]
pub struct Calls {
    senses: Vec<Sense>,
    pairs: Vec<Box<str>>,
    /// The function of each pair of another registry.
    pair_functions: Vec<Option<Function>>,
    numbers: Numbers,
    /// Gaps in the numbers of buffers.
    gap_count: u64,
    pairing: Pairing,
    frames: Frames,
    muted: BTreeMap<(Function, u16), u64>,
}

impl Calls {
    /// Returns a lens for a log and its marks, those of [`crate::calls::marks`].
    pub fn new(log: &Log, marks: &Marks) -> Calls {
        Calls::with_limits(log, marks, Limits::default(), NODE_COUNT_MAX)
    }

    /// As [`Calls::new`], with limits for open calls and for the nodes of the tree.
    pub fn with_limits(log: &Log, marks: &Marks, limits: Limits, node_count_max: usize) -> Calls {
        Calls {
            senses: senses(log, marks),
            pairs: marks.pairs.iter().map(|pair| pair.name.clone()).collect(),
            pair_functions: vec![None; marks.pairs.len()],
            numbers: Numbers::new(log),
            gap_count: 0,
            pairing: Pairing::new(limits).with_holes(Holes::new(log, marks)),
            frames: Frames::new(Functions::new(log), Tree::new(node_count_max)),
            muted: BTreeMap::new(),
        }
    }

    /// Takes the next batch. Passes calls and tasks that end to `each`.
    pub fn take(&mut self, batch: &Batch, each: &mut dyn FnMut(&Functions, Told<'_>)) {
        let mut asides = batch.asides.iter().peekable();
        let next_of = |aside: Option<&&(u32, Aside)>| aside.map_or(u32::MAX, |(before, _)| *before);
        let mut next = next_of(asides.peek());
        let mut extras = batch.extras.iter().zip(0u32..);
        for step in batch.edges.steps() {
            match step {
                Step::Jump(jump) => {
                    if let Some(gap) = self.numbers.gap(jump) {
                        self.gap_count += 1;
                        self.frames.clocks.gap(&gap, Some(PROFILE));
                    }
                }
                Step::Edge(edge) => {
                    let Some((extra, at)) = extras.next() else { continue };
                    while next <= at {
                        asides.next().into_iter().for_each(|(_, aside)| self.aside(aside, each));
                        next = next_of(asides.peek());
                    }
                    self.edge(edge, *extra, each);
                }
            }
        }
        asides.for_each(|(_, aside)| self.aside(aside, each));
        self.numbers.follow(&batch.edges);
    }

    /// Goes on with a log that has grown, its clock and its marks. Learns the functions that its
    /// store has in addition to the `known` events of each buffer.
    pub fn go_on(
        &mut self,
        log: &Log,
        (clock, marks): (&Clock, &Marks),
        known: &BTreeMap<(u16, u32), u64>,
    ) {
        self.pairing.holes().go_on(log, marks, known, false);
        self.frames.functions.learn(log, known);
        self.pairing.set_times(|stream, ticks| clock.ns(stream, ticks));
    }

    /// Passes the calls and tasks in progress to `each`, in the order of their beginnings. They
    /// stay open.
    pub fn in_progress(&self, each: &mut dyn FnMut(&Functions, Told<'_>)) {
        self.pairing.finish(|slice| {
            let frame = self.frames.get(slice.slot);
            let told = frame.and_then(|frame| told(frame, &slice, None, 0, slice.verdict));
            told.into_iter().for_each(|told| each(&self.frames.functions, told));
        });
    }

    /// Ends the log: passes the calls and tasks in progress to `each`, in the order of their
    /// beginnings. Returns the stacks of calls in progress, in order of threads.
    pub fn finish(&mut self, each: &mut dyn FnMut(&Functions, Told<'_>)) -> Vec<OpenStack> {
        let mut tracks: BTreeMap<Track, (u16, u32, u64)> = BTreeMap::new();
        let Calls { pairing, frames, .. } = self;
        pairing.finish(|slice| {
            let context = frames.get(slice.slot).map_or(0, |frame| frame.context);
            if !slice.begin.is_span {
                let Edge { id, thread, track, .. } = *slice.begin;
                tracks.insert(track, (id.stream, thread, context));
            }
            frames.close(&slice, 0, slice.verdict, each);
        });
        let open = |(track, (stream, thread, context)): (Track, (u16, u32, u64))| {
            let call = |(slot, edge): (Slot, &Edge)| {
                let frame = self.frames.get(slot)?;
                let task = (frame.sense == Sense::Poll).then(|| task_of(edge));
                let begin = (!frame.is_assumed).then_some(*edge);
                Some(OpenCall { function: frame.function, begin, task })
            };
            let mut calls: Vec<OpenCall> = self.pairing.stack(track).filter_map(call).collect();
            calls.reverse();
            OpenStack { stream, thread, context, calls }
        };
        let stacks = tracks.into_iter().map(open);
        let mut stacks: Vec<OpenStack> = stacks.filter(|stack| !stack.calls.is_empty()).collect();
        stacks.sort_by_key(|stack| (stack.stream, stack.thread, stack.context));
        stacks
    }

    /// Returns the functions.
    pub fn functions(&self) -> &Functions {
        &self.frames.functions
    }

    /// Returns the calling-context tree.
    pub fn tree(&self) -> &Tree {
        &self.frames.tree
    }

    /// Returns the counts of what made no call.
    pub fn counts(&self) -> Counts {
        let full = self.pairing.counts().full;
        Counts { alone: self.frames.alone.values().sum(), full, gaps: self.gap_count }
    }

    /// Returns how many ends of calls of a function have no beginning in the log.
    pub fn alone(&self, function: Function) -> u64 {
        self.frames.alone.get(&function).copied().unwrap_or(0)
    }

    /// Returns how many calls of a function were not recorded, because the filter selects some of
    /// many.
    pub fn muted(&self, function: Function) -> u64 {
        let counts = self.muted.range((function, 0)..=(function, u16::MAX));
        counts.fold(0, |sum, (_, count)| count.saturating_add(sum))
    }

    #[inline]
    fn edge(&mut self, edge: &Edge, extra: u64, each: &mut dyn FnMut(&Functions, Told<'_>)) {
        let sense = self.senses.get(edge.pair as usize).copied().unwrap_or(Sense::Nothing);
        let (context, track) =
            if edge.is_span { (0, edge.track) } else { self.frames.clocks.of(edge.track) };
        let moved;
        let edge = if track == edge.track {
            edge
        } else {
            moved = Edge { track, ..*edge };
            &moved
        };
        let stream = edge.id.stream;
        let address = match sense {
            Sense::Nothing => return,
            Sense::Task => extra,
            _ => edge.key.first().copied().unwrap_or(0),
        };
        if edge.is_end {
            let ready = if extra == UNSTATED { 0 } else { extra };
            if self.frames.assumed_count > 0 && !edge.is_span {
                self.forget_assumed(edge, each);
            }
            let Calls { pairing, frames, .. } = self;
            let turn = pairing.take(edge, |slice| frames.close(&slice, ready, slice.verdict, each));
            if turn == Turn::Alone && sense != Sense::Task {
                let function = self.function(sense, stream, address, edge.pair);
                self.end_assumed(edge.track, function, each);
                *self.frames.alone.entry(function).or_default() += 1;
            }
            return;
        }
        let function = self.function(sense, stream, address, edge.pair);
        if extra != UNSTATED && sense != Sense::Task {
            self.repair(edge, extra, context, each);
        }
        self.begin(edge, sense, function, context, false, each);
    }

    fn function(&mut self, sense: Sense, stream: u16, address: u64, pair: u32) -> Function {
        if sense != Sense::Slice {
            return self.frames.functions.number(stream, address);
        }
        let Some(place) = self.pair_functions.get_mut(pair as usize) else { return NONE };
        let name = self.pairs.get(pair as usize).map_or("?", |name| name);
        *place.get_or_insert_with(|| self.frames.functions.named(name))
    }

    fn begin(
        &mut self,
        edge: &Edge,
        sense: Sense,
        function: Function,
        context: u64,
        is_assumed: bool,
        each: &mut dyn FnMut(&Functions, Told<'_>),
    ) {
        let Calls { pairing, frames, .. } = self;
        let turn = pairing.take(edge, |slice| frames.close(&slice, 0, slice.verdict, each));
        let Turn::Begun { slot, within } = turn else { return };
        let parent = within.and_then(|parent| frames.get(parent));
        let (above, around, depth) = parent.map_or((Tree::ROOT, Tree::ROOT, 0), |parent| {
            (parent.node, parent.home, parent.depth + 1)
        });
        let node = if sense == Sense::Task {
            Tree::ROOT
        } else {
            frames.node(pairing, edge.track, above, function, 1)
        };
        let home = if frames.tree.is_shared(node) { around } else { node };
        // This asks the memory for the node early, which the end of the call changes.
        let (edge_number, caller) = frames.tree.edge_of(node);
        let stood_ns = frames.clocks.stood(edge.track, edge.ns);
        frames.set(
            slot,
            Frame {
                sense,
                function,
                node,
                home,
                edge: edge_number,
                caller,
                parent: within,
                depth,
                context,
                stood_ns,
                is_assumed,
                ..NO_FRAME
            },
        );
    }

    #[cold]
    fn aside(&mut self, aside: &Aside, each: &mut dyn FnMut(&Functions, Told<'_>)) {
        let Aside { word, values: [first, second, third], edge } = aside;
        let stream = edge.id.stream;
        match word {
            Word::Switch => self.frames.clocks.switch(edge.track, *first, edge.ns),
            Word::Muted => {
                let function = self.frames.functions.number(stream, *first);
                let count = self.muted.entry((function, edge.track.0)).or_default();
                *count = (*count).max(*second);
            }
            Word::Unwind => {
                let function = self.frames.functions.number(stream, *first);
                let (_, track) = self.frames.clocks.of(edge.track);
                let top = self.pairing.stack(track).next().map(|(slot, _)| slot);
                let frame = top.and_then(|top| self.frames.get_mut(top));
                if let Some(frame) = frame.filter(|frame| frame.function == function) {
                    frame.is_unwound = true;
                }
            }
            Word::Pause | Word::Resume => {
                let is_end = *word == Word::Resume;
                self.frames.clocks.pause(edge.track, stream, is_end, edge.ns);
            }
            Word::Slow => self.slow(edge, [*first, *second, *third], each),
        }
    }

    /// Takes a call that states its time at its end. Calls in it named it as their caller.
    fn slow(
        &mut self,
        edge: &Edge,
        [address, caller, elapsed]: [u64; 3],
        each: &mut dyn FnMut(&Functions, Told<'_>),
    ) {
        let stream = edge.id.stream;
        let (context, track) = self.frames.clocks.of(edge.track);
        let function = self.frames.functions.number(stream, address);
        let from = self.frames.functions.number(stream, caller);
        let mut inner_ns = 0;
        let innermost = self.pairing.stack(track).next().map(|(slot, _)| slot);
        if let Some(slot) = innermost
            && let Some(frame) = self.frames.get_mut(slot)
            && frame.is_assumed
            && frame.function == function
        {
            inner_ns = std::mem::take(&mut frame.inner_ns);
            self.give_up(slot, each);
        }
        let begin = Edge {
            ns: edge.ns.saturating_sub(elapsed),
            track,
            is_end: false,
            key: [address, 0, 0, 0],
            ..*edge
        };
        self.repair(&begin, caller, context, each);
        let parent = self.pairing.stack(track).next().map(|(slot, _)| slot);
        let Calls { pairing, frames, .. } = self;
        let around = parent.and_then(|parent| frames.get(parent));
        let (above, home, depth) = around.map_or((Tree::ROOT, Tree::ROOT, 0), |around| {
            (around.node, around.home, around.depth + 1)
        });
        let node = frames.node(pairing, track, above, function, 0);
        if let Some(frame) = parent.and_then(|parent| frames.get_mut(parent)) {
            frame.inner_ns = frame.inner_ns.saturating_add(elapsed);
        }
        let own = elapsed.saturating_sub(inner_ns);
        if edge.tag & UNSELECTED != 0 {
            return;
        }
        let Frames { tree, functions, .. } = frames;
        tree.count(node, home, Verdict::Whole, Some((elapsed, own)), false);
        let call = Call {
            function,
            caller: from,
            edge: tree.edge_of(node).0,
            node,
            depth,
            context,
            task: None,
            is_unwound: false,
            begin: &begin,
            end: Some(edge),
            verdict: Verdict::Whole,
            duration: Some(elapsed),
            own: Some(own),
        };
        each(functions, Told::Call(call));
    }
}
