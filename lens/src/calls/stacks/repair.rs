//! Stacks after missing events: calls that have ended, and calls that must have begun.
//!
//! ```text
//!  Enter db, caller sell:    main ── sell ── hash     hash has ended, its end is missing
//!  Enter get, caller serve:  main ── (serve)          the beginning of serve is missing: assumed
//! ```
//!
//! Design: `.calls.repair` in `design/calls.md`.

use super::{Calls, SEARCH_COUNT_MAX};
use crate::calls::functions::Functions;
use crate::calls::model::Function;
use crate::calls::model::{NONE, Told};
use crate::calls::source::Sense;
use crate::slices::{Edge, Slot, Track, Verdict};

impl Calls {
    /// Makes the stack of an edge such that the caller at `address` is its innermost call.
    #[inline]
    pub(super) fn repair(
        &mut self,
        edge: &Edge,
        address: u64,
        context: u64,
        each: &mut dyn FnMut(&Functions, Told<'_>),
    ) {
        let is_right = match self.pairing.stack(edge.track).next() {
            None => address == 0,
            Some((slot, begin)) => {
                let frame = self.frames.get(slot).filter(|frame| frame.sense != Sense::Slice);
                frame.is_some() && begin.key.first() == Some(&address)
            }
        };
        if !is_right {
            self.search(edge, address, context, each);
        }
    }

    #[cold]
    fn search(
        &mut self,
        edge: &Edge,
        address: u64,
        context: u64,
        each: &mut dyn FnMut(&Functions, Told<'_>),
    ) {
        let caller = self.frames.functions.number(edge.id.stream, address);
        let call = |(at, (slot, _)): (usize, (Slot, _))| {
            let frame = self.frames.get(slot).filter(|frame| frame.sense != Sense::Slice)?;
            Some((at, frame.function))
        };
        let mut calls = self.pairing.stack(edge.track).enumerate().filter_map(call);
        let innermost = calls.next();
        if innermost.map_or(NONE, |(_, function)| function) == caller {
            return;
        }
        let found = if caller == NONE {
            calls.last().or(innermost).map(|(at, _)| at + 1)
        } else {
            let mut calls = calls.take(SEARCH_COUNT_MAX);
            calls.find(|(_, function)| *function == caller).map(|(at, _)| at)
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

    /// Forgets the assumed calls in the call that an edge ends: no other end would.
    pub(super) fn forget_assumed(
        &mut self,
        end: &Edge,
        each: &mut dyn FnMut(&Functions, Told<'_>),
    ) {
        let mut assumed = Vec::new();
        let is_own = |edge: &Edge| (edge.pair, edge.key) == (end.pair, end.key);
        let mut stack = self.pairing.stack(end.track).take(SEARCH_COUNT_MAX);
        let is_found = stack.any(|(slot, edge)| {
            let is_own = is_own(edge);
            if !is_own && self.frames.get(slot).is_some_and(|frame| frame.is_assumed) {
                assumed.push(slot);
            }
            is_own
        });
        drop(stack);
        if is_found {
            assumed.into_iter().for_each(|slot| self.give_up(slot, each));
        }
    }

    /// Ends an assumed call of a function whose end has another pair: that of a poll, or of
    /// another stream.
    #[cold]
    pub(super) fn end_assumed(
        &mut self,
        track: Track,
        function: Function,
        each: &mut dyn FnMut(&Functions, Told<'_>),
    ) {
        let mut frames = self.pairing.stack(track).take(SEARCH_COUNT_MAX);
        let found = frames.position(|(slot, _)| {
            let frame = self.frames.get(slot);
            frame.is_some_and(|frame| frame.is_assumed && frame.function == function)
        });
        drop(frames);
        self.drop_calls(track, found.map_or(0, |below| below + 1), each);
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
            let Some((slot, _)) = self.pairing.stack(track).next() else { break };
            self.give_up(slot, each);
        }
    }

    pub(super) fn give_up(&mut self, slot: Slot, each: &mut dyn FnMut(&Functions, Told<'_>)) {
        let Calls { pairing, frames, .. } = self;
        pairing.give_up(slot, |slice| frames.close(&slice, 0, Verdict::Doubtful, each));
    }
}
