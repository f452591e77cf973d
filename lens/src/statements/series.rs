//! A trace's executions, one at a time: sums and percentiles.
//!
//! ```text
//!  Enter a ── Enter b ── Leave b ── Enter c ── Leave c ── Leave a
//!             └ beneath a: 2; one block, if c is further down in the function of b
//! ```
//!
//! A trace has no blocks. In a statement, one that is further down than the one before it, in the
//! same function, is taken for the next one of its block. Design: `.statements.lens` in
//! `design/statements.md`.

use super::correct::Method;
use super::model::{Statement, Sum};
use crate::calls::clocks::Clocks;
use crate::calls::model::{Function, UNSELECTED};
use crate::slices::{Durations, Edge, Gap, Holes, Limits, Pairing, Slice, Slot, Turn, Verdict};
use std::collections::BTreeMap;

/// The function of a statement, and its offset.
type Place = (Function, u32);

/// What is known of an execution in progress, at its place in the pairing.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    statement: Statement,
    place: Place,
    within: Option<Slot>,
    /// Ticks of the statements in it.
    inner: u64,
    beneath: u64,
    blocks: u64,
    direct: u64,
    /// The last statement in it.
    last: Option<Place>,
    /// Ticks of the innermost statements in it.
    leaves: u64,
    /// How long the clock of its stack had stood when it began.
    stood: u64,
}

/// The sums of a statement in a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traced {
    pub(super) sum: Sum,
    /// By the method of leaves.
    pub(super) leaves: Sum,
}

/// The trace of a log.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    pairing: Pairing,
    frames: Vec<Frame>,
    pub(super) sums: BTreeMap<(Statement, u16), Traced>,
    pub(super) durations: Durations,
    pub(super) clocks: Clocks,
}

impl Trace {
    pub(super) fn new(limits: Limits, holes: Holes) -> Trace {
        Trace {
            pairing: Pairing::new(limits).with_holes(holes),
            frames: Vec::new(),
            sums: BTreeMap::new(),
            durations: Durations::new(limits),
            clocks: Clocks::default(),
        }
    }

    pub(super) fn gap(&mut self, gap: &Gap, kind: u8) {
        self.clocks.gap(gap, Some(kind));
    }

    /// Returns how many ends have no beginning in the log, and how many beginnings found no room.
    pub(super) fn counts(&self) -> (u64, u64) {
        let crate::slices::Counts { alone, full, .. } = self.pairing.counts();
        (alone, full)
    }

    /// Takes the next edge, of a statement that is known.
    #[inline]
    pub(super) fn take(
        &mut self,
        edge: &Edge,
        statement: Statement,
        place: Place,
        scale: (Method, f64),
    ) {
        let (_, track) = self.clocks.of(edge.track);
        let (edge, stood) = (&Edge { track, ..*edge }, self.clocks.stood(track, edge.ticks));
        let Trace { pairing, frames, sums, durations, .. } = self;
        let turn = pairing.take(edge, |slice| {
            close(frames, sums, durations, &slice, stood, scale);
        });
        if let Turn::Begun { slot, within } = turn {
            if frames.len() <= slot as usize {
                frames.resize(slot as usize + 1, Frame::default());
            }
            if let Some(frame) = frames.get_mut(slot as usize) {
                *frame = Frame { statement, place, within, stood, ..Frame::default() };
            }
            if edge.tag & UNSELECTED == 0 {
                let Sum { count, .. } =
                    &mut sums.entry((statement, edge.id.stream)).or_default().sum;
                *count = count.saturating_add(1);
            }
        }
    }
}

/// Ends an execution, or gives it up: it has no time then.
fn close(
    frames: &mut [Frame],
    sums: &mut BTreeMap<(Statement, u16), Traced>,
    durations: &mut Durations,
    slice: &Slice<'_>,
    stood: u64,
    (method, ns): (Method, f64),
) {
    let Some(frame) = frames.get(slice.slot as usize).copied() else { return };
    let is_timed = matches!(slice.verdict, Verdict::Whole | Verdict::Crossing);
    let Some(end) = slice.end.filter(|_| is_timed) else { return };
    let stood = stood.saturating_sub(frame.stood);
    let ticks = end.ticks.saturating_sub(slice.begin.ticks).saturating_sub(stood);
    let is_leaf = frame.beneath == 0;
    let leaves = if is_leaf { ticks } else { frame.leaves };
    // One that crosses has left the statement around it.
    if let Some(around) = frame.within.filter(|_| slice.verdict == Verdict::Whole)
        && let Some(around) = frames.get_mut(around as usize)
    {
        let is_next = |(function, offset)| function == frame.place.0 && offset < frame.place.1;
        let is_block = !around.last.is_some_and(is_next);
        around.last = Some(frame.place);
        around.inner = around.inner.saturating_add(ticks);
        around.leaves = around.leaves.saturating_add(leaves);
        around.beneath += 1 + frame.beneath;
        around.blocks += u64::from(is_block) + frame.blocks;
        around.direct += u64::from(is_block);
    }
    if slice.begin.tag & UNSELECTED != 0 {
        return;
    }
    let traced = sums.entry((frame.statement, slice.begin.id.stream)).or_default();
    traced.sum.add_time(ticks, ticks.saturating_sub(frame.inner));
    let Frame { beneath, blocks, direct, .. } = frame;
    traced.sum.add(&Sum { beneath, blocks, direct, ..Sum::default() });
    traced.leaves.add_time(leaves, if is_leaf { ticks } else { 0 });
    let ticks = if method == Method::Leaves { leaves } else { ticks };
    durations.add(frame.statement as usize, (ticks as f64 * ns).round() as u64);
}
