//! The tree of a program's own slices: a path is the names of the slices that lie in each other.
//!
//! ```text
//!  begin: slot, the slot around it, a number of its name ──▶ a node below that around it
//!  end:   duration ──▶ total; without the durations of the slices in it ──▶ own
//! ```
//!
//! Slices without a number lie in the tree as if they were not there. Design: `.calls.nesting` in
//! `design/calls.md`.

use crate::calls::model::Function;
use crate::calls::tree::{Above, Tree};
use crate::slices::{Slice, Slot, Verdict};

/// What is known of an open slice, at its place in the pairing.
#[derive(Clone, Copy, Debug)]
struct Frame {
    node: u32,
    /// The node, or the innermost one around it that is not shared.
    home: u32,
    within: Option<Slot>,
    /// The time of the slices in it.
    inner_ns: u64,
    is_counted: bool,
}

const NO_FRAME: Frame =
    Frame { node: Tree::ROOT, home: Tree::ROOT, within: None, inner_ns: 0, is_counted: false };

/// Makes the tree of slices, which begin and end in order of time.
#[derive(Clone, Debug)]
pub struct Nesting {
    tree: Tree,
    frames: Vec<Frame>,
}

impl Nesting {
    /// Returns a tree without slices, with a limit for its nodes.
    pub fn new(node_count_max: usize) -> Nesting {
        Nesting { tree: Tree::new(node_count_max), frames: Vec::new() }
    }

    /// Returns the tree; its functions are the numbers of the names.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Takes a slice that begins in the slice `within`, by its place in the pairing.
    pub fn begin(&mut self, slot: Slot, within: Option<Slot>, name: Option<Function>) {
        let outer = within.and_then(|slot| self.frames.get(slot as usize)).copied();
        let Frame { node, home, .. } = outer.unwrap_or(NO_FRAME);
        let mut frame = Frame { node, home, within, inner_ns: 0, is_counted: name.is_some() };
        if let Some(name) = name {
            let parent = if self.tree.is_shared(node) { home } else { node };
            frame.node = self.tree.child(parent, name, |_, _| Above::default());
            frame.home = if self.tree.is_shared(frame.node) { parent } else { frame.node };
        }
        if self.frames.len() <= slot as usize {
            self.frames.resize(slot as usize + 1, NO_FRAME);
        }
        if let Some(place) = self.frames.get_mut(slot as usize) {
            *place = frame;
        }
    }

    /// Takes a slice that ended, or never will.
    pub fn end(&mut self, slice: &Slice<'_>) {
        let Some(frame) = self.frames.get(slice.slot as usize).copied() else { return };
        let duration = slice.duration().filter(|_| frame.is_counted);
        // A slice that crosses left the one around it before it ended.
        let has_outer = slice.verdict == Verdict::Whole
            || slice.verdict == Verdict::Doubtful && slice.end.is_none();
        if let Some(outer) = frame.within.filter(|_| has_outer)
            && let Some(outer) = self.frames.get_mut(outer as usize)
        {
            let inner = duration.unwrap_or(frame.inner_ns);
            outer.inner_ns = outer.inner_ns.saturating_add(inner);
        }
        if frame.is_counted {
            let times = duration.map(|ns| (ns, ns.saturating_sub(frame.inner_ns)));
            self.tree.count(frame.node, frame.home, slice.verdict, times, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slices::Edge;

    /// Ends a slice that began at 0.
    fn end(nesting: &mut Nesting, slot: Slot, ns: u64, verdict: Verdict) {
        let (begin, end) = (Edge::default(), Edge { ns, ..Edge::default() });
        nesting.end(&Slice { slot, depth: 0, begin: &begin, end: Some(&end), verdict });
    }

    /// Returns name, parent, count, total and own time of each node below the root.
    fn nodes(nesting: &Nesting) -> Vec<(Function, u32, u64, u64, u64)> {
        let nodes = nesting.tree().nodes().iter().skip(1);
        nodes.map(|of| (of.function, of.parent, of.sum.count, of.sum.total, of.sum.own)).collect()
    }

    /// `.calls.nesting`
    #[test]
    fn a_slice_without_a_name_takes_no_place_in_the_tree() {
        let mut nesting = Nesting::new(100);
        nesting.begin(0, None, Some(7));
        nesting.begin(1, Some(0), None);
        nesting.begin(2, Some(1), Some(8));
        end(&mut nesting, 2, 10, Verdict::Whole);
        end(&mut nesting, 1, 30, Verdict::Whole);
        end(&mut nesting, 0, 100, Verdict::Whole);
        assert_eq!(nodes(&nesting), [(7, 0, 1, 100, 90), (8, 1, 1, 10, 10)]);
    }

    /// `.calls.nesting`
    #[test]
    fn a_crossing_slice_takes_no_time_from_the_slice_around_it() {
        let mut nesting = Nesting::new(100);
        nesting.begin(0, None, Some(7));
        nesting.begin(1, Some(0), Some(8));
        end(&mut nesting, 0, 100, Verdict::Whole);
        end(&mut nesting, 1, 150, Verdict::Crossing);
        nesting.begin(0, None, Some(7));
        end(&mut nesting, 0, 5, Verdict::Doubtful);
        assert_eq!(nodes(&nesting), [(7, 0, 2, 100, 100), (8, 1, 1, 150, 150)]);
    }
}
