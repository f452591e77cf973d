//! What threads did over time, as the tab *Threads* of the page has it.
//!
//! ```text
//!  Lanes ──┬─ lanes: threads of one process and number together, the busiest first
//!          ├─ bars: the slices that are kept ── rows of spans
//!          ├─ cells, ticks: the others, and events, by stretch of time
//!          ├─ arrows: flows
//!          └─ texts: parameters, as far as there is room
//! ```
//!
//! Design: `.cnv.report.threads` in `design/eventcnv.md`.

use crate::ask::pairs::lanes::{ALONE, Bar, Cell, Lane, Lanes, Owner, Place, UNKNOWN};
use crate::ask::pairs::reading::Values;
use crate::ask::pairs::summary;
use crate::ask::pairs::summary::slice_name;
use crate::page::view::calls::text;
use crate::page::view::encoded::{counts, encoded, end_of};
use eventlog::reader::Log;
use eventlog::reader::marks::Marks;
use foldhash::fast::RandomState;
use lens::slices::{Id, Verdict};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Bytes of all parameters, at most.
const TEXTS_SIZE_MAX: usize = 500_000;
/// Rows of spans in a lane, at most.
const SPAN_ROW_COUNT_MAX: usize = 32;

/// What the threads of a log did.
pub(crate) struct Threads<'l> {
    pub(crate) log: &'l Log,
    pub(crate) marks: &'l Marks,
    pub(crate) lanes: &'l Lanes,
    /// The values that name slices.
    pub(crate) values: &'l Values,
    /// The parameters of events.
    pub(crate) texts: &'l HashMap<Id, Vec<u8>>,
    /// Whether times are ns; else they are ticks.
    pub(crate) is_ns: bool,
    /// The first and the last moment.
    pub(crate) range: (u64, u64),
    /// When the history of a thread is complete, by stream and index, if the log lacks its first
    /// events (`.cnv.history`).
    pub(crate) lates: &'l HashMap<(u16, u32), u64>,
    /// Returns the first stream and index of the thread that a stream has by an index.
    pub(crate) same: Box<dyn Fn(u16, u32) -> (u16, u32) + 'l>,
    /// Returns the number of a thread in its system, or another unique number.
    pub(crate) number: Box<dyn Fn(u16, u32) -> u32 + 'l>,
    /// How long slices lasted.
    pub(crate) durations: &'l Value,
    /// Threads of the log without a lane.
    pub(crate) other_count: usize,
    /// Whether a selection leaves events out.
    pub(crate) is_part: bool,
}

/// Events, asked for each event of a log.
pub(crate) type Ids = HashSet<Id, RandomState>;

/// Returns the events whose parameters the page may have.
pub(crate) fn wanted(lanes: &Lanes) -> Ids {
    let mut ids = Ids::default();
    for bar in lanes.bars() {
        ids.insert(bar.begin_id);
        ids.extend(bar.end_id);
    }
    for (_, cell) in [&lanes.cells, &lanes.ticks].into_iter().flat_map(|cells| cells.sorted()) {
        ids.extend(cell.ids.into_iter().flatten().filter(|_| cell.count == 1));
    }
    ids
}

/// The parameters of events, as far as there is room.
struct Texts<'l> {
    all: &'l HashMap<Id, Vec<u8>>,
    room: usize,
}

impl Texts<'_> {
    /// Returns the parameters of the beginning and the end of something; 0 without room.
    fn take(&mut self, ids: [Option<Id>; 2]) -> Value {
        let text = |id: Option<Id>| {
            let text = id.and_then(|id| self.all.get(&id)).map(Vec::as_slice).unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        let texts = ids.map(text);
        let bytes = || texts.iter().flat_map(|text| text.as_bytes());
        // Brackets, quotes and commas take the rest.
        let size = bytes().count() + 12;
        if size > self.room || end_of(bytes(), self.room).is_some() {
            return json!(0);
        }
        self.room -= size;
        json!(texts)
    }
}

impl Threads<'_> {
    pub(super) fn data(&self) -> Value {
        let lanes = self.lanes;
        let (shown, places) = self.lanes_in_order();
        let place = |lane: u32| places.get(&lane).copied().unwrap_or(0);
        let mut texts = Texts { all: self.texts, room: TEXTS_SIZE_MAX };
        let arrows = lanes.arrows();
        let arrow_lanes = |of: fn(&crate::ask::pairs::lanes::Arrow) -> u32| {
            counts(&arrows.iter().map(|arrow| place(of(arrow))).collect::<Vec<_>>())
        };
        let (pairs, pair_places) = self.pairs(arrows.iter().map(|arrow| arrow.pair));
        let arrow_pairs = arrows.iter().map(|arrow| pair_places.get(&arrow.pair).copied());
        let sum = |of: fn(&Lane) -> u64| lanes.lanes.iter().map(of).sum::<u64>();
        let bars = self.bars(&place, &mut texts);
        json!({
            "isNs": self.is_ns,
            "length": self.range.1 - self.range.0,
            "lanes": shown,
            "otherCount": self.other_count,
            "names": (0..).zip(&lanes.names).map(|(at, _)| self.name(at)).collect::<Value>(),
            "bars": bars,
            "cells": self.cells(&place, &mut texts),
            "ticks": self.ticks(&place, &mut texts),
            "arrows": {
                "froms": self.times(arrows.iter().map(|arrow| arrow.from.0)),
                "tos": self.times(arrows.iter().map(|arrow| arrow.to.0.0)),
                "fromLanes": arrow_lanes(|arrow| arrow.from.1),
                "toLanes": arrow_lanes(|arrow| arrow.to.1),
                "names": arrow_pairs.map(Option::unwrap_or_default).collect::<Vec<usize>>(),
                "pairs": pairs,
            },
            "width": lanes.cells.width(),
            "sliceCount": sum(|lane| lane.slice_count) + lanes.rest.slice_count,
            "tickCount": sum(|lane| lane.tick_count) + lanes.rest.tick_count,
            "flowCount": sum(|lane| lane.flow_count) + lanes.rest.flow_count,
            "elsewhere": [lanes.rest.slice_count, lanes.rest.tick_count, lanes.rest.flow_count],
            "left": [lanes.cells.left, lanes.ticks.left, lanes.rest.full_count],
            "deep": lanes.rest.deep_count,
            "isPart": self.is_part,
        })
    }

    /// Returns the lanes that have anything, and their places. Lanes of one thread lie together;
    /// the thread with the most time in slices comes first, spans come last.
    fn lanes_in_order(&self) -> (Value, HashMap<u32, u32>) {
        let threads = summary::Threads::new(self.log);
        let key = |owner: Owner| match owner {
            Owner::Thread(stream, thread) => {
                let (stream, thread) = (self.same)(stream, thread);
                Owner::Thread(stream, thread)
            }
            spans => spans,
        };
        let mut sums: BTreeMap<Owner, (u64, u64)> = BTreeMap::new();
        let has_any = |lane: &Lane| lane.slice_count + lane.tick_count + lane.flow_count > 0;
        let mut all: Vec<(u32, &Lane)> =
            (0..).zip(&self.lanes.lanes).filter(|(_, lane)| has_any(lane)).collect();
        for (_, lane) in &all {
            let (time, count) = sums.entry(key(lane.owner)).or_default();
            *time = time.saturating_add(lane.time);
            *count += lane.slice_count + lane.tick_count;
        }
        all.sort_by_cached_key(|(at, lane)| {
            let key = key(lane.owner);
            let is_span = matches!(lane.owner, Owner::Spans(..));
            (is_span, Reverse(sums.get(&key).copied()), key, lane.owner, *at)
        });
        let row = |(_, lane): &(u32, &Lane)| {
            let (name, number, stream) = match lane.owner {
                Owner::Thread(stream, thread) => {
                    let name = match &*threads.name(stream, thread) {
                        "none" => "no thread".to_owned(),
                        name => format!("thread {name}"),
                    };
                    (name, (self.number)(stream, thread), stream)
                }
                Owner::Spans(stream, pair) => {
                    let name = self.marks.name(pair);
                    let is_one = self.log.streams().len() < 2;
                    let of = if is_one { String::new() } else { format!("stream {stream}: ") };
                    (format!("{of}{name}, in any thread"), 0, stream)
                }
            };
            let late = match lane.owner {
                Owner::Thread(stream, thread) => self.lates.get(&(stream, thread)).copied(),
                Owner::Spans(stream, _) => {
                    let all = self.lates.iter().filter(|((of, _), _)| *of == stream);
                    all.map(|(_, late)| *late).max()
                }
            };
            let late = late.unwrap_or(0).saturating_sub(self.range.0);
            let pid = self.log.streams().get(usize::from(stream)).map_or(0, |stream| stream.pid);
            json!([text(&name), number, pid, lane.slice_count, lane.busy, lane.tick_count, late])
        };
        let places = all.iter().zip(0..).map(|((at, _), place)| (*at, place)).collect();
        (all.iter().map(row).collect(), places)
    }

    /// Returns the text of a name, and its class: 0 a slice, 1 a run, 2 a wait, 3 one for a disk.
    fn name(&self, at: u32) -> Value {
        let (pair, value) = self.lanes.names.get(at as usize).copied().unwrap_or_default();
        let (pair_name, value) = (self.marks.name(pair), self.values.text(value));
        let shape = self.lanes.shape(at);
        let class = shape.class;
        let name = text(&slice_name(pair_name, value, shape.is_apart()));
        let is_disk = class == 2 && value.contains("disk");
        json!([name, if is_disk { 3 } else { class }])
    }

    /// Returns the names of pairs, and their places.
    fn pairs(&self, pairs: impl Iterator<Item = u32>) -> (Vec<String>, HashMap<u32, usize>) {
        let (mut names, mut places) = (Vec::new(), HashMap::new());
        for pair in pairs {
            places.entry(pair).or_insert_with(|| {
                names.push(text(self.marks.name(pair)));
                names.len() - 1
            });
        }
        (names, places)
    }

    fn bars(&self, place: &impl Fn(u32) -> u32, texts: &mut Texts<'_>) -> Value {
        let bars = self.lanes.bars();
        let rows = self.span_rows(&bars);
        let places = bars.iter().enumerate().map(|(at, bar)| {
            let Reverse(depth) = bar.row;
            let verdict = Verdict::ALL.iter().position(|(_, verdict)| *verdict == bar.verdict);
            let row = rows.get(&at).copied().unwrap_or(depth as usize);
            packed(place(bar.lane), row as u32, verdict.unwrap_or(0) as u32)
        });
        json!({
            "begins": self.times(bars.iter().map(|bar| bar.begin.0)),
            "lengths": doubles(bars.iter().map(|bar| bar.length)),
            "places": counts(&places.collect::<Vec<_>>()),
            "names": counts(&bars.iter().map(|bar| bar.name).collect::<Vec<_>>()),
            "texts": bars.iter().map(|bar| texts.take([Some(bar.begin_id), bar.end_id]))
                .collect::<Value>(),
        })
    }

    /// Returns the rows of spans, each the lowest that is free, by their places among the bars.
    fn span_rows(&self, bars: &[Bar]) -> HashMap<usize, usize> {
        let is_spans = |lane: u32| {
            let owner = self.lanes.lanes.get(lane as usize).map(|lane| lane.owner);
            matches!(owner, Some(Owner::Spans(..)))
        };
        let mut order: Vec<usize> = (0..bars.len()).collect();
        order.retain(|at| bars.get(*at).is_some_and(|bar| is_spans(bar.lane)));
        order.sort_by_key(|at| bars.get(*at).map(|bar| (bar.begin.0, Reverse(bar.length), *at)));
        // Row 0 is that of cells, if there are any.
        let merged: HashSet<u32> =
            self.lanes.cells.sorted().iter().map(|((lane, ..), _)| *lane).collect();
        let mut ends: HashMap<u32, Vec<u64>> = HashMap::new();
        let mut rows = HashMap::new();
        for at in order {
            let Some(bar) = bars.get(at) else { continue };
            let ends = ends.entry(bar.lane).or_default();
            let free = ends.iter().position(|end| *end <= bar.begin.0).unwrap_or(ends.len());
            let row = free.min(SPAN_ROW_COUNT_MAX - 1);
            ends.resize(ends.len().max(row + 1), 0);
            if let Some(end) = ends.get_mut(row) {
                *end = (*end).max(bar.begin.0.saturating_add(bar.length));
            }
            rows.insert(at, row + usize::from(merged.contains(&bar.lane)));
        }
        rows
    }

    fn cells(&self, place: &impl Fn(u32) -> u32, texts: &mut Texts<'_>) -> Value {
        let cells = self.lanes.cells.sorted();
        let places = cells
            .iter()
            .map(|((lane, row, _), cell)| packed(place(*lane), *row, u32::from(cell.is_mixed)));
        json!({
            "begins": self.times(cells.iter().map(|(_, cell)| cell.from)),
            "lengths": doubles(cells.iter().map(|(_, cell)| cell.to - cell.from)),
            "places": counts(&places.collect::<Vec<_>>()),
            "names": counts(&cells.iter().map(|(_, cell)| cell.name).collect::<Vec<_>>()),
            "counts": cell_counts(&cells),
            "busy": doubles(cells.iter().map(|(_, cell)| cell.busy)),
            "texts": cell_texts(&cells, texts),
        })
    }

    fn ticks(&self, place: &impl Fn(u32) -> u32, texts: &mut Texts<'_>) -> Value {
        let ticks = self.lanes.ticks.sorted();
        let mut types: HashMap<u32, u32> = HashMap::new();
        let mut type_names: Vec<String> = Vec::new();
        let mut number = |of: u32| {
            *types.entry(of).or_insert_with(|| {
                type_names.push(self.type_name(of));
                type_names.len() as u32 - 1
            })
        };
        let names: Vec<u32> = ticks.iter().map(|(_, cell)| number(cell.name)).collect();
        let places = ticks
            .iter()
            .map(|((lane, ..), cell)| packed(place(*lane), 0, u32::from(cell.is_mixed)));
        json!({
            "begins": self.times(ticks.iter().map(|(_, cell)| cell.from)),
            "lengths": doubles(ticks.iter().map(|(_, cell)| cell.to - cell.from)),
            "places": counts(&places.collect::<Vec<_>>()),
            "names": counts(&names),
            "types": type_names,
            "counts": cell_counts(&ticks),
            "texts": cell_texts(&ticks, texts),
        })
    }

    /// Returns the name of an event type, as entries of lanes number it.
    fn type_name(&self, of: u32) -> String {
        if of == UNKNOWN {
            return "?".to_owned();
        }
        if of & ALONE != 0 {
            let pair = self.marks.pairs.get((of & !ALONE) as usize);
            return pair.and_then(|pair| pair.to.as_deref()).map_or("?".to_owned(), text);
        }
        let registry = self.log.registries().get((of >> 16) as usize);
        let row = registry.and_then(|registry| registry.event_types.get((of & 0xFFFF) as usize));
        row.map_or("?".to_owned(), |row| text(&row.name))
    }

    /// Returns times since the first moment.
    fn times(&self, all: impl Iterator<Item = u64>) -> String {
        doubles(all.map(|ns| ns.saturating_sub(self.range.0)))
    }
}

/// Returns a lane, a row and a flag as one number.
fn packed(lane: u32, row: u32, flag: u32) -> u32 {
    lane << 16 | row.min(0xFF) << 8 | flag
}

pub(super) fn doubles(numbers: impl Iterator<Item = u64>) -> String {
    let numbers: Vec<f64> = numbers.map(|number| number as f64).collect();
    encoded(&numbers, |number| number.to_le_bytes().to_vec())
}

fn cell_counts(cells: &[(Place, Cell)]) -> String {
    let count = |(_, cell): &(Place, Cell)| u32::try_from(cell.count).unwrap_or(u32::MAX);
    counts(&cells.iter().map(count).collect::<Vec<_>>())
}

/// Returns the parameters of what is alone in its cell.
fn cell_texts(cells: &[(Place, Cell)], texts: &mut Texts<'_>) -> Value {
    let of = |(_, cell): &(Place, Cell)| match cell.count {
        1 => texts.take(cell.ids),
        _ => json!(0),
    };
    cells.iter().map(of).collect()
}
