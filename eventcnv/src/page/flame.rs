//! Pseudo-stacks of waits: a tree of frames with times, and pieces in order of time, in bounded
//! memory.
//!
//! ```text
//!  rows "Stack" ──┬─▶ tree: frames below frames, times by kind of path ── the largest are kept
//!                 └─▶ pieces: row, time, node ── short ones become one, stretch by stretch
//! ```
//!
//! Design: `.cnv.report.flame` in `design/eventcnv.md`.

use foldhash::fast::RandomState;
use std::cmp::Reverse;
use std::collections::HashMap;

/// A place without anything.
pub(crate) const NONE: u32 = u32::MAX;
/// Kinds of control paths: of the target, other work, work that nothing waited for.
pub(crate) const KIND_COUNT: usize = 3;

/// The greatest sizes of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Frames of the tree while it grows, and those that are kept.
    pub(crate) tree_size: usize,
    pub(crate) node_count: usize,
    /// Bytes of all names.
    pub(crate) names_size: usize,
    pub(crate) piece_count: usize,
    pub(crate) path_count: usize,
    pub(crate) row_count: usize,
    /// Frames of a stack.
    pub(crate) depth: usize,
}

impl Default for Limits {
    /// Returns the limits of `.cnv.report.flame`.
    fn default() -> Limits {
        Limits {
            tree_size: 1 << 18,
            node_count: 15_000,
            names_size: 600_000,
            piece_count: 30_000,
            path_count: 2000,
            row_count: 400,
            depth: 256,
        }
    }
}

/// A frame above certain frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// The frame below it; [`NONE`] at the bottom.
    pub(crate) parent: u32,
    pub(crate) name: u32,
    /// A bit for each kind that it has.
    pub(crate) kinds: u32,
    /// The time in ns for which it is the top, by kind of path.
    pub(crate) owns: [u64; KIND_COUNT],
    /// Stacks with it as their top.
    pub(crate) count: u64,
}

/// A pseudo-stack for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The row: a thread of a stream.
    pub(crate) row: u32,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) node: u32,
    pub(crate) path: u32,
    pub(crate) share: u32,
    pub(crate) thread: u32,
    pub(crate) waker: u32,
    pub(crate) other: u32,
    /// Stacks that are merged here. The other fields are those of the longest, of this length.
    pub(crate) count: u32,
    longest: u64,
}

/// A control path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ControlPath {
    pub(crate) row: u32,
    pub(crate) kind: u32,
    pub(crate) thread: u32,
    pub(crate) parent: u32,
    pub(crate) waker: u32,
    pub(crate) begin: u64,
    pub(crate) length: u64,
    pub(crate) name: String,
}

/// A row "Stack" of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack<'e> {
    pub(crate) begin: u64,
    pub(crate) ns: u64,
    pub(crate) path: u32,
    pub(crate) kind: u32,
    pub(crate) share: u32,
    pub(crate) thread: u32,
    pub(crate) waker: u32,
    pub(crate) other: u32,
    pub(crate) frames: &'e str,
}

/// The pseudo-stacks of a log.
pub(crate) struct Flame {
    limits: Limits,
    pub(crate) names: Vec<String>,
    name_places: HashMap<Box<str>, u32, RandomState>,
    names_size: usize,
    pub(crate) nodes: Vec<Node>,
    children: HashMap<(u32, u32), u32, RandomState>,
    pub(crate) pieces: Vec<Piece>,
    /// The stretch of time whose pieces are one; 0 as long as each is its own.
    pub(crate) width: u64,
    /// Rows: stream and thread.
    pub(crate) rows: Vec<(u16, u32)>,
    row_places: HashMap<(u16, u32), u32, RandomState>,
    /// The kinds of the open frames, by row.
    open: Vec<Vec<u32>>,
    pub(crate) paths: Vec<ControlPath>,
    path_places: HashMap<(u16, u32), u32, RandomState>,
    /// Paths that have no room.
    pub(crate) left_paths: u64,
    /// Stacks in all, and their time by kind of path.
    pub(crate) count: u64,
    pub(crate) sums: [u64; KIND_COUNT],
    /// Frames that were left out, and the time that the frames below them have for them.
    pub(crate) left_nodes: u64,
    pub(crate) left_time: u64,
}

impl Flame {
    pub(crate) fn new(limits: Limits) -> Flame {
        Flame {
            limits,
            names: Vec::new(),
            name_places: HashMap::default(),
            names_size: 0,
            nodes: Vec::new(),
            children: HashMap::default(),
            pieces: Vec::new(),
            width: 0,
            rows: Vec::new(),
            row_places: HashMap::default(),
            open: Vec::new(),
            paths: Vec::new(),
            path_places: HashMap::default(),
            left_paths: 0,
            count: 0,
            sums: [0; KIND_COUNT],
            left_nodes: 0,
            left_time: 0,
        }
    }

    fn row(&mut self, place: (u16, u32)) -> u32 {
        let next = self.rows.len() as u32;
        if self.rows.len() >= self.limits.row_count {
            // Further rows share the last one.
            return self.row_places.get(&place).copied().unwrap_or(next - 1);
        }
        let row = *self.row_places.entry(place).or_insert(next);
        if row == next {
            self.rows.push(place);
            self.open.push(Vec::new());
        }
        row
    }

    /// Takes the kind of a frame that begins.
    pub(crate) fn begin_frame(&mut self, place: (u16, u32), depth: u32, kind: u32) {
        let row = self.row(place);
        if let Some(open) = self.open.get_mut(row as usize)
            && (depth as usize) < self.limits.depth
        {
            open.resize(depth as usize, NONE);
            open.push(kind);
        }
    }

    pub(crate) fn add_path(&mut self, place: (u16, u32), number: u32, path: ControlPath) {
        if self.paths.len() >= self.limits.path_count {
            self.left_paths += 1;
            return;
        }
        let row = self.row(place);
        self.path_places.insert((place.0, number), self.paths.len() as u32);
        self.paths.push(ControlPath { row, ..path });
    }

    /// Adds a stack, as far as it lies between two times.
    pub(crate) fn add(&mut self, place: (u16, u32), stack: &Stack<'_>, range: (u64, u64)) {
        let end = stack.begin.saturating_add(stack.ns).min(range.1);
        let begin = stack.begin.max(range.0);
        if begin >= end {
            return;
        }
        let row = self.row(place);
        let node = self.node(row, stack.frames);
        let ns = end - begin;
        let kind = (stack.kind as usize).min(KIND_COUNT - 1);
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.count += 1;
            if let Some(own) = node.owns.get_mut(kind) {
                *own = own.saturating_add(ns);
            }
        }
        self.count += 1;
        if let Some(sum) = self.sums.get_mut(kind) {
            *sum = sum.saturating_add(ns);
        }
        let of_stream = |number: u32| (place.0, number);
        let path = self.path_places.get(&of_stream(stack.path)).copied();
        self.pieces.push(Piece {
            row,
            begin,
            end,
            node,
            path: path.unwrap_or(NONE),
            share: stack.share,
            thread: stack.thread,
            waker: stack.waker,
            // It may come later in the log: see `settle`.
            other: stack.other,
            count: 1,
            longest: ns,
        });
        if self.pieces.len() >= 2 * self.limits.piece_count {
            self.merge_pieces();
        }
    }

    /// Returns the node of a stack.
    fn node(&mut self, row: u32, frames: &str) -> u32 {
        let mut node = NONE;
        for (depth, text) in frames.split(';').take(self.limits.depth).enumerate() {
            let name = self.name(text);
            let next = match self.children.get(&(node, name)) {
                Some(next) => *next,
                None if self.nodes.len() >= self.limits.tree_size => {
                    self.left_nodes += 1;
                    break;
                }
                None => {
                    let next = self.nodes.len() as u32;
                    let (kinds, owns, count) = (0, [0; KIND_COUNT], 0);
                    self.nodes.push(Node { parent: node, name, kinds, owns, count });
                    self.children.insert((node, name), next);
                    next
                }
            };
            let kind = self.open.get(row as usize).and_then(|open| open.get(depth));
            if let Some(node) = self.nodes.get_mut(next as usize) {
                node.kinds |= kind.filter(|kind| **kind < 8).map_or(0, |kind| 1 << *kind);
            }
            node = next;
        }
        node
    }

    fn name(&mut self, text: &str) -> u32 {
        if let Some(known) = self.name_places.get(text) {
            return *known;
        }
        let text = if self.names_size + text.len() > self.limits.names_size { "…" } else { text };
        let next = self.names.len() as u32;
        let name = *self.name_places.entry(text.into()).or_insert(next);
        if name == next {
            self.names.push(text.to_owned());
            self.names_size += text.len();
        }
        name
    }

    /// Merges pieces of one stretch of time, until enough room is free.
    fn merge_pieces(&mut self) {
        self.pieces.sort_by_key(|piece| (piece.row, piece.begin));
        // The width that was enough so far may be enough for the new pieces, too.
        self.merge_stretches();
        while self.pieces.len() > self.limits.piece_count && self.width < 1 << 62 {
            self.width = if self.width == 0 { 64 } else { 2 * self.width };
            self.merge_stretches();
        }
        self.pieces.truncate(self.limits.piece_count);
    }

    /// Merges the pieces of each stretch of the present width.
    fn merge_stretches(&mut self) {
        let width = self.width;
        self.pieces.dedup_by(|next, last| {
            let is_one =
                width > 0 && next.row == last.row && next.begin / width == last.begin / width;
            if is_one {
                let count = last.count.saturating_add(next.count);
                let (begin, end) = (last.begin, next.end.max(last.end));
                if next.longest > last.longest {
                    *last = *next;
                }
                (last.begin, last.end, last.count) = (begin, end, count);
            }
            is_one
        });
    }

    /// Puts pieces in order, names other paths by their places, and keeps the largest frames.
    pub(crate) fn settle(&mut self) {
        self.merge_pieces();
        let streams: Vec<u16> = self.rows.iter().map(|(stream, _)| *stream).collect();
        let stream = |row: u32| streams.get(row as usize).copied().unwrap_or(0);
        let places = &self.path_places;
        let place = |row: u32, number: u32| places.get(&(stream(row), number)).copied();
        for piece in &mut self.pieces {
            piece.other = place(piece.row, piece.other).unwrap_or(NONE);
        }
        for path in &mut self.paths {
            path.parent = place(path.row, path.parent).unwrap_or(NONE);
        }
        self.keep_largest();
        // A stack without a kept frame has nothing to draw.
        self.pieces.retain(|piece| piece.node != NONE);
    }

    fn keep_largest(&mut self) {
        if self.nodes.len() <= self.limits.node_count {
            return;
        }
        // A frame comes after the one below it.
        let mut weights: Vec<u64> = self
            .nodes
            .iter()
            .map(|node| node.owns.iter().fold(0u64, |a, b| a.saturating_add(*b)))
            .collect();
        for at in (0..self.nodes.len()).rev() {
            let Some(node) = self.nodes.get(at) else { continue };
            let own = weights.get(at).copied().unwrap_or(0);
            if let Some(below) = weights.get_mut(node.parent as usize) {
                *below = below.saturating_add(own);
            }
        }
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        order.sort_by_key(|at| (Reverse(weights.get(*at as usize).copied()), *at));
        order.truncate(self.limits.node_count);
        order.sort_unstable();
        // A frame has at least the time of those above it, so the one below a kept one is kept.
        let kept: HashMap<u32, u32, RandomState> = order.iter().copied().zip(0..).collect();
        let mut places = Vec::with_capacity(self.nodes.len());
        let mut nodes: Vec<Node> = Vec::with_capacity(order.len());
        for (at, node) in (0..).zip(&self.nodes) {
            let parent = places.get(node.parent as usize).copied().unwrap_or(NONE);
            if let Some(place) = kept.get(&at) {
                nodes.push(Node { parent, ..*node });
                places.push(*place);
                continue;
            }
            self.left_nodes += 1;
            places.push(parent);
            let Some(below) = nodes.get_mut(parent as usize) else { continue };
            for (own, more) in below.owns.iter_mut().zip(node.owns) {
                *own = own.saturating_add(more);
                self.left_time = self.left_time.saturating_add(more);
            }
            below.count += node.count;
        }
        self.nodes = nodes;
        for piece in &mut self.pieces {
            piece.node = places.get(piece.node as usize).copied().unwrap_or(NONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(begin: u64, ns: u64, frames: &str) -> Stack<'_> {
        let (path, kind, share, thread, waker, other) = (0, 0, 0, 1, 0, NONE);
        Stack { begin, ns, path, kind, share, thread, waker, other, frames }
    }

    #[test]
    fn small_tables_keep_the_sums_of_all_stacks() {
        let limits = Limits { node_count: 7, piece_count: 5, ..Limits::default() };
        let mut flame = Flame::new(limits);
        let mut sum = 0;
        for at in 0..1000u64 {
            let frames = format!("a;b{};c{}", at % 7, at % 91);
            flame.add((0, 1 + (at % 2) as u32), &stack(100 * at, 90, &frames), (0, u64::MAX));
            sum += 90;
        }
        flame.settle();
        assert_eq!(flame.sums[0], sum);
        assert_eq!(flame.nodes.iter().map(|node| node.owns[0]).sum::<u64>(), sum);
        assert_eq!(flame.nodes.iter().map(|node| node.count).sum::<u64>(), 1000);
        assert_eq!(flame.pieces.iter().map(|piece| u64::from(piece.count)).sum::<u64>(), 1000);
        assert!(flame.nodes.len() <= 7 && flame.pieces.len() <= 5, "{:?}", flame.pieces);
        let is_known = |at: u32| at == NONE || (at as usize) < flame.nodes.len();
        assert!(flame.nodes.iter().all(|node| is_known(node.parent)));
        assert!(flame.pieces.iter().all(|piece| is_known(piece.node)));
    }

    #[test]
    fn a_range_cuts_stacks() {
        let mut flame = Flame::new(Limits::default());
        flame.add((0, 1), &stack(0, 100, "a;b"), (40, 60));
        flame.add((0, 1), &stack(100, 100, "a;b"), (40, 60));
        flame.settle();
        let times: Vec<_> = flame.pieces.iter().map(|piece| (piece.begin, piece.end)).collect();
        assert_eq!((times, flame.sums[0]), (vec![(40, 60)], 20));
    }
}
