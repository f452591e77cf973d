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

mod contexts;
mod frames;

use crate::functions::Functions;
use crate::model::{Call, Counts, Function, NONE, OpenCall, OpenStack, Told, UNSELECTED};
use crate::source::{Aside, Batch, Sense, UNSTATED, Word, senses};
use crate::tree::{NODE_COUNT_MAX, Tree};
use contexts::Contexts;
use eventlog::reader::marks::Marks;
use eventlog::reader::{Clock, Log};
use frames::{Frame, NO_FRAME, above, close, functions_on, task_of, told};
use slices::{Edge, Limits, Numbers, Pairing, Slot, Step, Track, Turn, Verdict};
use std::collections::BTreeMap;

/// Calls on a stack in which a caller is searched, at most.
const SEARCH_COUNT_MAX: usize = 1 << 12;
/// Makes calls of batches, which come in order of time.
#[derive(Clone, Debug)]
pub struct Calls {
    functions: Functions,
    senses: Vec<Sense>,
    pairs: Vec<Box<str>>,
    /// The function of each pair of another registry.
    pair_functions: Vec<Option<Function>>,
    numbers: Numbers,
    pairing: Pairing,
    frames: Vec<Frame>,
    contexts: Contexts,
    tree: Tree,
    alone: BTreeMap<Function, u64>,
    muted: BTreeMap<(Function, u16), u64>,
}

impl Calls {
    /// Returns a lens for a log and its marks, those of [`crate::marks`].
    pub fn new(log: &Log, marks: &Marks) -> Calls {
        Calls::with_limits(log, marks, Limits::default(), NODE_COUNT_MAX)
    }

    /// As [`Calls::new`], with limits for open calls and for the nodes of the tree.
    pub fn with_limits(log: &Log, marks: &Marks, limits: Limits, node_count_max: usize) -> Calls {
        Calls {
            functions: Functions::new(log),
            senses: senses(log, marks),
            pairs: marks.pairs.iter().map(|pair| pair.name.clone()).collect(),
            pair_functions: vec![None; marks.pairs.len()],
            numbers: Numbers::new(log),
            pairing: Pairing::new(limits),
            frames: Vec::new(),
            contexts: Contexts::default(),
            tree: Tree::new(node_count_max),
            alone: BTreeMap::new(),
            muted: BTreeMap::new(),
        }
    }

    /// Takes the next batch. Passes calls and tasks that end to `each`.
    pub fn take(&mut self, batch: &Batch, each: &mut dyn FnMut(&Functions, Told<'_>)) {
        let mut asides = batch.asides.iter().peekable();
        let mut extras = batch.extras.iter().zip(0u32..);
        for step in batch.edges.steps() {
            match step {
                Step::Jump(jump) => {
                    if let Some(gap) = self.numbers.gap(jump) {
                        self.pairing.gap(&gap);
                    }
                }
                Step::Edge(edge) => {
                    let Some((extra, at)) = extras.next() else { continue };
                    while let Some((_, aside)) = asides.next_if(|(before, _)| *before <= at) {
                        self.aside(aside, each);
                    }
                    self.edge(edge, *extra, each);
                }
            }
        }
        asides.for_each(|(_, aside)| self.aside(aside, each));
        self.numbers.follow(&batch.edges);
    }

    /// Goes on with a log that has grown, and its clock. Learns the functions that its store has in
    /// addition to the `known` events of each buffer.
    pub fn go_on(&mut self, log: &Log, clock: &Clock, known: &BTreeMap<(u16, u32), u64>) {
        self.functions.learn(log, known);
        self.pairing.set_times(|stream, ticks| clock.ns(stream, ticks));
    }

    /// Passes the calls and tasks in progress to `each`, in the order of their beginnings. They
    /// stay open.
    pub fn in_progress(&self, each: &mut dyn FnMut(&Functions, Told<'_>)) {
        self.pairing.finish(|slice| {
            let frame = self.frames.get(slice.slot as usize);
            let told = frame.and_then(|frame| told(frame, &self.tree, &slice, 0, slice.verdict));
            told.into_iter().for_each(|told| each(&self.functions, told));
        });
    }

    /// Ends the log: passes the calls and tasks in progress to `each`, in the order of their
    /// beginnings. Returns the stacks of calls in progress, in order of threads.
    pub fn finish(&mut self, each: &mut dyn FnMut(&Functions, Told<'_>)) -> Vec<OpenStack> {
        let mut tracks: BTreeMap<Track, (u32, u64)> = BTreeMap::new();
        let Calls { pairing, frames, tree, functions, alone, .. } = self;
        pairing.finish(|slice| {
            let context = frames.get(slice.slot as usize).map_or(0, |frame| frame.context);
            if !slice.begin.is_span {
                tracks.insert(slice.begin.track, (slice.begin.thread, context));
            }
            close(frames, tree, functions, alone, &slice, 0, slice.verdict, each);
        });
        let open = |(track, (thread, context)): (Track, (u32, u64))| {
            let call = |(slot, edge): (Slot, &Edge)| {
                let frame = self.frames.get(slot as usize)?;
                let task = (frame.sense == Sense::Poll).then(|| task_of(edge));
                let begin = (!frame.is_assumed).then_some(*edge);
                Some(OpenCall { function: frame.function, begin, task })
            };
            let mut calls: Vec<OpenCall> = self.pairing.stack(track).filter_map(call).collect();
            calls.reverse();
            OpenStack { stream: track.0, thread, context, calls }
        };
        let stacks = tracks.into_iter().map(open);
        let mut stacks: Vec<OpenStack> = stacks.filter(|stack| !stack.calls.is_empty()).collect();
        stacks.sort_by_key(|stack| (stack.stream, stack.thread, stack.context));
        stacks
    }

    /// Returns the functions.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Returns the calling-context tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the counts of what made no call.
    pub fn counts(&self) -> Counts {
        let slices::Counts { full, gaps, .. } = self.pairing.counts();
        Counts { alone: self.alone.values().sum(), full, gaps }
    }

    /// Returns how many ends of calls of a function have no beginning in the log.
    pub fn alone(&self, function: Function) -> u64 {
        self.alone.get(&function).copied().unwrap_or(0)
    }

    /// Returns how many calls of a function were not recorded, because the filter selects some of
    /// many.
    pub fn muted(&self, function: Function) -> u64 {
        self.muted.range((function, 0)..=(function, u16::MAX)).map(|(_, count)| count).sum()
    }

    #[inline]
    fn edge(&mut self, edge: &Edge, extra: u64, each: &mut dyn FnMut(&Functions, Told<'_>)) {
        let sense = self.senses.get(edge.pair as usize).copied().unwrap_or(Sense::Nothing);
        let mut edge = *edge;
        let mut context = 0;
        if !edge.is_span {
            (context, edge.track) = self.contexts.of(edge.track);
        }
        let stream = edge.id.stream;
        let address = match sense {
            Sense::Nothing => return,
            Sense::Task => extra,
            _ => edge.key.first().copied().unwrap_or(0),
        };
        if edge.is_end {
            let ready = if extra == UNSTATED { 0 } else { extra };
            if self.close(&edge, ready, each) == Turn::Alone && sense != Sense::Task {
                let function = self.function(sense, stream, address, edge.pair);
                *self.alone.entry(function).or_default() += 1;
            }
            return;
        }
        let function = self.function(sense, stream, address, edge.pair);
        if extra != UNSTATED && sense != Sense::Task {
            let caller = self.functions.number(stream, extra);
            self.repair(&edge, caller, extra, context, each);
        }
        self.begin(&edge, sense, function, context, false, each);
    }

    fn function(&mut self, sense: Sense, stream: u16, address: u64, pair: u32) -> Function {
        if sense != Sense::Slice {
            return self.functions.number(stream, address);
        }
        let Some(place) = self.pair_functions.get_mut(pair as usize) else { return NONE };
        let name = self.pairs.get(pair as usize).map_or("?", |name| name);
        *place.get_or_insert_with(|| self.functions.named(name))
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
        let Calls { pairing, frames, tree, functions, alone, .. } = self;
        let turn = pairing.take(edge, |slice| {
            close(frames, tree, functions, alone, &slice, 0, slice.verdict, each);
        });
        let Turn::Begun { slot, within } = turn else { return };
        let parent = within.and_then(|parent| frames.get(parent as usize)).copied();
        let node = if sense == Sense::Task {
            Tree::ROOT
        } else {
            let above =
                |caller| above(functions_on(pairing, frames, edge.track).skip(1), function, caller);
            tree.child(parent.map_or(Tree::ROOT, |frame| frame.node), function, above)
        };
        let depth = parent.map_or(0, |frame| frame.depth + 1);
        let frame =
            Frame { sense, function, node, parent: within, depth, context, is_assumed, ..NO_FRAME };
        if frames.len() <= slot as usize {
            frames.resize(slot as usize + 1, NO_FRAME);
        }
        if let Some(place) = frames.get_mut(slot as usize) {
            *place = frame;
        }
    }

    fn close(
        &mut self,
        edge: &Edge,
        extra: u64,
        each: &mut dyn FnMut(&Functions, Told<'_>),
    ) -> Turn {
        let Calls { pairing, frames, tree, functions, alone, .. } = self;
        pairing.take(edge, |slice| {
            close(frames, tree, functions, alone, &slice, extra, slice.verdict, each);
        })
    }

    /// Makes the stack of an edge such that `caller` is its innermost call.
    #[inline]
    fn repair(
        &mut self,
        edge: &Edge,
        caller: Function,
        address: u64,
        context: u64,
        each: &mut dyn FnMut(&Functions, Told<'_>),
    ) {
        let found = {
            let mut stack = functions_on(&self.pairing, &self.frames, edge.track);
            if stack.next().unwrap_or(NONE) == caller {
                return;
            }
            let below = || stack.take(SEARCH_COUNT_MAX).position(|function| function == caller);
            if caller == NONE { Some(usize::MAX) } else { below().map(|below| below + 1) }
        };
        self.drop_calls(edge.track, found.unwrap_or(0), each);
        if found.is_none() {
            // Its pair is that of a call, whatever it is: only its end would tell.
            let call = self.senses.iter().position(|sense| *sense == Sense::Call);
            let Some(pair) = call else { return };
            let assumed = Edge { pair: pair as u32, key: [address, 0, 0, 0], ..*edge };
            self.begin(&assumed, Sense::Call, caller, context, true, each);
        }
    }

    /// Takes the innermost calls off a stack: their ends are missing.
    #[cold]
    fn drop_calls(
        &mut self,
        track: Track,
        count: usize,
        each: &mut dyn FnMut(&Functions, Told<'_>),
    ) {
        for _ in 0..count {
            let Calls { pairing, frames, tree, functions, alone, .. } = self;
            let Some((slot, _)) = pairing.stack(track).next() else { break };
            pairing.give_up(slot, |slice| {
                close(frames, tree, functions, alone, &slice, 0, Verdict::Doubtful, each);
            });
        }
    }

    #[cold]
    fn aside(&mut self, aside: &Aside, each: &mut dyn FnMut(&Functions, Told<'_>)) {
        let Aside { word, values: [first, second, third], edge } = aside;
        let stream = edge.id.stream;
        match word {
            Word::Switch => self.contexts.switch(edge.track, *first),
            Word::Muted => {
                let function = self.functions.number(stream, *first);
                let count = self.muted.entry((function, stream)).or_default();
                *count = (*count).max(*second);
            }
            Word::Unwind => {
                let function = self.functions.number(stream, *first);
                let (_, track) = self.contexts.of(edge.track);
                let top = self.pairing.stack(track).next().map(|(slot, _)| slot as usize);
                let frame = top.and_then(|top| self.frames.get_mut(top));
                if let Some(frame) = frame.filter(|frame| frame.function == function) {
                    frame.is_unwound = true;
                }
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
        let (context, track) = self.contexts.of(edge.track);
        let function = self.functions.number(stream, address);
        let from = self.functions.number(stream, caller);
        let top = |calls: &Calls| {
            let (slot, _) = calls.pairing.stack(track).next()?;
            calls.frames.get(slot as usize).filter(|frame| frame.is_assumed).copied()
        };
        let mut inner_ns = 0;
        if let Some(assumed) = top(self).filter(|frame| frame.function == function) {
            inner_ns = assumed.inner_ns;
            self.drop_calls(track, 1, each);
        }
        let begin = Edge {
            ns: edge.ns.saturating_sub(elapsed),
            track,
            is_end: false,
            key: [address, 0, 0, 0],
            ..*edge
        };
        self.repair(&begin, from, caller, context, each);
        let parent = self.pairing.stack(track).next().map(|(slot, _)| slot);
        let Calls { pairing, frames, tree, functions, .. } = self;
        let around = parent.and_then(|parent| frames.get(parent as usize)).copied();
        let above = |caller| above(functions_on(pairing, frames, track), function, caller);
        let node = tree.child(around.map_or(Tree::ROOT, |frame| frame.node), function, above);
        if let Some(frame) = parent.and_then(|parent| frames.get_mut(parent as usize)) {
            frame.inner_ns = frame.inner_ns.saturating_add(elapsed);
        }
        let own = elapsed.saturating_sub(inner_ns);
        if edge.tag & UNSELECTED != 0 {
            return;
        }
        tree.count(node, Verdict::Whole, Some((elapsed, own)), false);
        let call = Call {
            function,
            caller: from,
            edge: tree.nodes().get(node as usize).map_or(0, |node| node.edge),
            node,
            depth: around.map_or(0, |frame| frame.depth + 1),
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
