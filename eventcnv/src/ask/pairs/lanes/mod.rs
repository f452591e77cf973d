//! What threads did over time: slices, other events, flows, in bounded memory.
//!
//! ```text
//!  slices ──▶ the longest of each name ──▶ the longest of all ──▶ cells   a longer one takes
//!  events ──────────────────────────────────────────────────────▶ cells   the place of a kept
//!  flows  ──▶ those that came after the longest pause of the receiver     one, which goes right
//! ```
//!
//! A lane is a thread, or the spans of a pair of a stream. The caller chooses the threads. Design:
//! `.cnv.report.threads` in `design/eventcnv.md`.

pub(crate) mod cells;
pub(crate) mod entries;
pub(crate) mod shape;
#[cfg(test)]
mod tests;

pub(crate) use crate::ask::pairs::lanes::cells::{Cell, Cells, Place};
pub(crate) use crate::ask::pairs::lanes::entries::{ALONE, Entries, Kinds, Maker, UNKNOWN};
use crate::ask::pairs::lanes::entries::{Half, Tick};
pub(crate) use crate::ask::pairs::lanes::shape::Shape;

use crate::export::flows;
use crate::export::flows::Flows;
use foldhash::fast::RandomState;
use lens::slices::{Edge, Id, Slice, Verdict};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The greatest sizes of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Pairs of spans with a lane.
    pub(crate) span_count: usize,
    /// Rows of a lane.
    pub(crate) row_count: u32,
    /// Names whose longest slices are kept, and slices of each.
    pub(crate) name_count: usize,
    pub(crate) rare_count: usize,
    /// The longest slices of the others.
    pub(crate) longest_count: usize,
    pub(crate) cell_count: usize,
    pub(crate) tick_count: usize,
    /// Flows that are kept, and those that are open at one time.
    pub(crate) flow_count: usize,
    pub(crate) open_flow_count: usize,
}

impl Default for Limits {
    /// Returns the limits of `.cnv.report.threads`.
    fn default() -> Limits {
        Limits {
            span_count: 50,
            row_count: 64,
            name_count: 512,
            rare_count: 8,
            longest_count: 10_000,
            cell_count: 16_000,
            tick_count: 8000,
            flow_count: 8000,
            open_flow_count: 1 << 16,
        }
    }
}

/// The owner of a lane: a thread by stream and index, or spans by stream and pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Owner {
    Thread(u16, u32),
    Spans(u16, u32),
}

/// What a lane has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    pub(crate) owner: Owner,
    pub(crate) slice_count: u64,
    /// The sum of the known durations of its slices in ns, and of the outermost ones.
    pub(crate) busy: u64,
    pub(crate) time: u64,
    pub(crate) tick_count: u64,
    pub(crate) flow_count: u64,
}

/// A slice that is kept. Longer ones are greater; of equal ones, those that began earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bar {
    pub(crate) length: u64,
    pub(crate) begin: Reverse<u64>,
    pub(crate) row: Reverse<u32>,
    pub(crate) lane: u32,
    pub(crate) name: u32,
    pub(crate) begin_id: Id,
    pub(crate) end_id: Option<Id>,
    pub(crate) verdict: Verdict,
}

impl Bar {
    /// Returns its duration, if it is known.
    fn duration(&self) -> u64 {
        let is_known = matches!(self.verdict, Verdict::Whole | Verdict::Crossing);
        if is_known { self.length } else { 0 }
    }
}

/// A flow: a lane and a time, and where and when it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    /// The time since the last flow that arrived in the lane.
    pub(crate) pause: u64,
    pub(crate) to: (Reverse<u64>, u32),
    pub(crate) from: (u64, u32),
    pub(crate) pair: u32,
}

/// What is on no lane, or had no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Slices, other events and flows of lanes that were not chosen.
    pub(crate) slice_count: u64,
    pub(crate) tick_count: u64,
    pub(crate) flow_count: u64,
    /// Flows that began while too many were open.
    pub(crate) full_count: u64,
    /// Slices that lie deeper than the last row.
    pub(crate) deep_count: u64,
}

/// The lanes of a log.
pub(crate) struct Lanes {
    limits: Limits,
    shapes: Vec<Shape>,
    /// The end of each stream in ns.
    ends: Vec<Option<u64>>,
    places: HashMap<Owner, u32, RandomState>,
    pub(crate) lanes: Vec<Lane>,
    span_count: usize,
    /// Pairs and values that name slices.
    pub(crate) names: Vec<(u32, u32)>,
    name_places: HashMap<(u32, u32), u32, RandomState>,
    /// By name.
    rare: Vec<BinaryHeap<Reverse<Bar>>>,
    longest: BinaryHeap<Reverse<Bar>>,
    pub(crate) cells: Cells,
    pub(crate) ticks: Cells,
    open_flows: Flows<Option<(u64, u32)>>,
    arrows: BinaryHeap<Reverse<Arrow>>,
    /// By lane, the last flow that arrived.
    arrived: HashMap<u32, u64>,
    pub(crate) rest: Rest,
}

impl Lanes {
    /// Returns lanes of these threads, by stream and index. `ends` are the ends of the streams in
    /// ns.
    pub(crate) fn new(
        threads: &[(u16, u32)],
        shapes: Vec<Shape>,
        ends: Vec<Option<u64>>,
        limits: Limits,
    ) -> Lanes {
        let mut lanes = Lanes {
            limits,
            shapes,
            ends,
            places: HashMap::default(),
            lanes: Vec::new(),
            span_count: 0,
            names: Vec::new(),
            name_places: HashMap::default(),
            rare: Vec::new(),
            longest: BinaryHeap::new(),
            cells: Cells::new(limits.cell_count),
            ticks: Cells::new(limits.tick_count),
            open_flows: Flows::new(limits.open_flow_count),
            arrows: BinaryHeap::new(),
            arrived: HashMap::new(),
            rest: Rest::default(),
        };
        for &(stream, thread) in threads {
            lanes.open(Owner::Thread(stream, thread));
        }
        lanes
    }

    fn open(&mut self, owner: Owner) -> u32 {
        let next = self.lanes.len() as u32;
        let place = *self.places.entry(owner).or_insert(next);
        if place == next {
            let [slice_count, busy, time, tick_count, flow_count] = [0; 5];
            self.lanes.push(Lane { owner, slice_count, busy, time, tick_count, flow_count });
        }
        place
    }

    /// Returns the lane of an edge, if it has one.
    fn lane_of(&mut self, edge: &Edge) -> Option<u32> {
        let owner = match edge.is_span {
            true => Owner::Spans(edge.id.stream, edge.pair),
            false => Owner::Thread(edge.id.stream, edge.thread),
        };
        let found = self.places.get(&owner).copied();
        if found.is_none() && edge.is_span && self.span_count < self.limits.span_count {
            self.span_count += 1;
            return Some(self.open(owner));
        }
        found
    }

    fn name(&mut self, pair: u32, value: u32) -> u32 {
        // Values beyond the limit have the name of their pair.
        let has_room = |lanes: &Lanes| lanes.names.len() < 8 * lanes.limits.name_count;
        let key = (pair, value);
        match self.name_places.get(&key) {
            Some(place) => *place,
            None if value > 0 && !has_room(self) => self.name(pair, 0),
            None => {
                self.names.push(key);
                self.name_places.insert(key, self.names.len() as u32 - 1);
                self.names.len() as u32 - 1
            }
        }
    }

    /// Adds a slice; `value` is the number of the value that names it.
    pub(crate) fn add(&mut self, slice: &Slice<'_>, value: u32, gave_way: bool) {
        let begin = slice.begin;
        let Some(at) = self.lane_of(begin) else { return self.rest.slice_count += 1 };
        let end = match (slice.end, slice.verdict) {
            (Some(end), _) => Some(end.ns),
            (None, Verdict::Unfinished) if !gave_way => {
                self.ends.get(usize::from(begin.id.stream)).copied().flatten()
            }
            (None, _) => None,
        };
        let bar = Bar {
            length: end.unwrap_or(begin.ns).saturating_sub(begin.ns),
            begin: Reverse(begin.ns),
            row: Reverse(slice.depth.min(self.limits.row_count.saturating_sub(1))),
            lane: at,
            name: self.name(begin.pair, value),
            begin_id: begin.id,
            end_id: slice.end.map(|end| end.id),
            verdict: slice.verdict,
        };
        self.rest.deep_count += u64::from(slice.depth >= self.limits.row_count);
        if let Some(lane) = self.lanes.get_mut(at as usize) {
            lane.slice_count += 1;
            lane.busy = lane.busy.saturating_add(bar.duration());
            let own = if slice.depth == 0 { bar.duration() } else { 0 };
            lane.time = lane.time.saturating_add(own);
        }
        self.keep(bar);
    }

    /// Keeps a slice, or the one that gives way to it; the rest goes into a cell.
    fn keep(&mut self, bar: Bar) {
        let at = bar.name as usize;
        let mut left = Some(bar);
        if at < self.limits.name_count {
            if self.rare.len() <= at {
                self.rare.resize_with(at + 1, BinaryHeap::new);
            }
            let rare_count = self.limits.rare_count;
            let heap = self.rare.get_mut(at);
            left = heap.map_or(Some(bar), |heap| push(heap, bar, rare_count));
        }
        let left = left.and_then(|bar| push(&mut self.longest, bar, self.limits.longest_count));
        let Some(bar) = left else { return };
        let Bar { length, begin: Reverse(begin), row: Reverse(row), .. } = bar;
        // Runs and waits of a row have cells of their own, a cause each.
        let part = if self.class(bar.name) > 0 { bar.name + 1 } else { 0 };
        let ids = [Some(bar.begin_id), bar.end_id];
        let range = [begin, begin.saturating_add(length)];
        self.cells.add((bar.lane, row, part), &Cell::of(bar.name, range, bar.duration(), ids));
    }

    /// Returns the class of slices with a name.
    pub(crate) fn class(&self, name: u32) -> u8 {
        self.shape(name).class
    }

    /// Returns the facts of the pair of slices with a name.
    pub(crate) fn shape(&self, name: u32) -> Shape {
        let pair = self.names.get(name as usize).map_or(u32::MAX, |(pair, _)| *pair);
        self.shapes.get(pair as usize).copied().unwrap_or_default()
    }

    /// Adds what a worker made of events: those that begin and end no slice, and flows.
    pub(crate) fn add_entries(&mut self, entries: &Entries) {
        entries.ticks.iter().for_each(|tick| self.add_tick(tick));
        entries.halves.iter().for_each(|half| self.add_half(half));
    }

    fn add_tick(&mut self, tick: &Tick) {
        let owner = Owner::Thread(tick.id.stream, tick.thread);
        let Some(&at) = self.places.get(&owner) else { return self.rest.tick_count += 1 };
        if let Some(lane) = self.lanes.get_mut(at as usize) {
            lane.tick_count += 1;
        }
        let cell = Cell::of(tick.of, [tick.ns; 2], 0, [Some(tick.id), None]);
        self.ticks.add((at, 0, 0), &cell);
    }

    fn add_half(&mut self, half: &Half) {
        let group = self.shapes.get(half.pair as usize).and_then(|shape| shape.group);
        let place = flows::Place { stream: half.stream, pair: half.pair, key: half.key };
        let owner = Owner::Thread(half.stream, half.thread);
        let at = self.places.get(&owner).map(|lane| (half.ns, *lane));
        if !half.is_end {
            let has_room = self.open_flows.begin(place, group, at);
            return self.rest.full_count += u64::from(!has_room);
        }
        let Some(from) = self.open_flows.end(place, group) else { return };
        let (Some(from), Some((ns, lane))) = (from, at) else {
            return self.rest.flow_count += 1;
        };
        let last = self.arrived.insert(lane, ns);
        let pause = last.map_or(u64::MAX, |last| ns.saturating_sub(last));
        if let Some(lane) = self.lanes.get_mut(lane as usize) {
            lane.flow_count += 1;
        }
        let arrow = Arrow { pause, to: (Reverse(ns), lane), from, pair: half.pair };
        push(&mut self.arrows, arrow, self.limits.flow_count);
    }

    /// Adds an end that ends nothing.
    pub(crate) fn add_alone(&mut self, edge: &Edge) {
        let Edge { id, thread, ns, .. } = *edge;
        self.add_tick(&Tick { id, thread, ns, of: ALONE | edge.pair });
    }

    /// Returns whether any slice or flow was found.
    pub(crate) fn has_any(&self) -> bool {
        self.lanes.iter().any(|lane| lane.slice_count > 0 || lane.flow_count > 0)
            || self.rest.slice_count > 0
    }

    /// Returns the slices that are kept, the longest first.
    pub(crate) fn bars(&self) -> Vec<Bar> {
        let rare = self.rare.iter().flatten();
        let mut bars: Vec<Bar> = rare.chain(&self.longest).map(|Reverse(bar)| *bar).collect();
        bars.sort_unstable_by(|a, b| b.cmp(a));
        bars
    }

    /// Returns the flows that are kept, in order of arrival.
    pub(crate) fn arrows(&self) -> Vec<Arrow> {
        let mut arrows: Vec<Arrow> = self.arrows.iter().map(|Reverse(arrow)| *arrow).collect();
        arrows.sort_unstable_by_key(|arrow| (arrow.to.0.0, arrow.to.1, arrow.from));
        arrows
    }
}

/// Adds an item to the greatest `count_max` items. Returns the item without a place.
fn push<T: Ord + Copy>(heap: &mut BinaryHeap<Reverse<T>>, item: T, count_max: usize) -> Option<T> {
    if heap.len() < count_max {
        heap.push(Reverse(item));
        return None;
    }
    match heap.peek_mut() {
        Some(mut least) if least.0 < item => {
            let before = least.0;
            *least = Reverse(item);
            Some(before)
        }
        _ => Some(item),
    }
}
