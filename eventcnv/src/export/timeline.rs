//! Converts events to entries of a timeline: slices, spans, flows, counters, instants.
//!
//! ```text
//!  thread 1  ──┤ TraceFlip            ├───────    begin … end, nested
//!                 ┤ ArenaAccess ├   ╵ Intern       an unpaired event is an instant
//!  Pool      ────────┤ 0x7f32…          ├────      a span: on the first free lane
//! ```
//!
//! Tables of a limited size hold open entries. Design: `.cnv.timeline` in `design/eventcnv.md`.

use crate::ask::calls::summary::demangled;
use crate::ask::pairs::reading::counter_notes;
use crate::ask::pairs::reading::worker::name_text;
use crate::export::flows;
use crate::export::flows::Flows;
use crate::export::processes::Processes;
use crate::open::select::Selection;
use eventlog::reader::marks::{Form, Marks, Role, Side};
use eventlog::reader::{Clock, Event, Log};
use lens::counters::{Counters, Number, Source, Steps};
use lens::slices::{Edge, Holes, Limits, Pairing, Slice, Slot, Track, Turn, Verdict};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;

/// Open slices, and open spans, at most.
const OPEN_COUNT_MAX: usize = 1 << 16;
const FLOW_COUNT_MAX: usize = 1 << 16;
/// Tracks of counters, at most: viewers draw each.
const COUNTER_COUNT_MAX: usize = 1 << 12;

/// The role of an event on the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Instant,
    /// Begins a slice of its thread.
    Begin {
        pair: u32,
    },
    /// Ends a slice of its thread, and `within` slices in it without an end.
    End {
        pair: u32,
        within: u32,
    },
    /// Begins a span on a lane; `again` ends an earlier span of the same thing there, and has the
    /// string that names that one.
    SpanBegin {
        pair: u32,
        lane: u32,
        again: Option<Option<Label>>,
    },
    SpanEnd {
        pair: u32,
        lane: u32,
    },
}

/// What names a slice or span: a label by the number of its string, or a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    Id(u64),
    Text(Rc<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Moment {
    pub(crate) ns: u64,
    pub(crate) action: Action,
    /// The flow that the event begins or ends.
    pub(crate) flow: Option<Flow>,
    /// What names the slice or span, in place of its pair.
    pub(crate) label: Option<Label>,
}

/// The beginning of a flow, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) pair: u32,
    pub(crate) id: u64,
    pub(crate) is_end: bool,
}

pub(crate) struct Timeline {
    pub(crate) clock: Clock,
    pub(crate) marks: Marks,
    pub(crate) processes: Processes,
    pub(crate) counters: Counters,
    /// The counters that the last event changed, by their indices, with their new values.
    pub(crate) changed: Vec<(usize, Number)>,
    source: Source,
    steps: Steps,
    /// The track of the stack that a thread is in, if that is not its own.
    pub(crate) stacks: HashMap<Track, Track>,
    slices: Pairing,
    /// Apart from the slices: objects that are never freed would take all room.
    spans: Pairing,
    /// The lanes of open spans, by their places in the pairing.
    lane_of: Vec<u32>,
    /// What names open slices and open spans, by their places in the pairing.
    labels: [Vec<Option<Label>>; 2],
    lanes: HashMap<(u16, u32), Lanes>,
    flows: Flows<u64>,
    flow_count: u64,
    unended_count: u64,
    doubtful_count: u64,
    limited: Limited,
}

/// Counts of entries that found a table full.
#[derive(Debug, Default)]
struct Limited {
    flow_count: u64,
}

impl Limited {
    /// Returns a note for each full table; `open_count` slices and spans found theirs full.
    fn notes(&self, open_count: u64) -> impl Iterator<Item = String> {
        let open = format!(
            "{open_count} slices and spans are instants: they began while {OPEN_COUNT_MAX} were \
             open"
        );
        let flow = format!(
            "{} flows are left out: they began while {FLOW_COUNT_MAX} were open",
            self.flow_count
        );
        let all = [(open_count, open), (self.flow_count, flow)];
        all.into_iter().filter(|(count, _)| *count > 0).map(|(_, note)| note)
    }
}

/// Lanes of a pair: the free ones, and the number of all.
#[derive(Default)]
struct Lanes {
    free: BinaryHeap<Reverse<u32>>,
    count: u32,
}

impl Lanes {
    fn take(&mut self) -> u32 {
        if let Some(Reverse(lane)) = self.free.pop() {
            return lane;
        }
        self.count += 1;
        self.count - 1
    }
}

impl Timeline {
    /// Returns the timeline of a selection of a log before its first event.
    pub(crate) fn new(log: &Log, selection: &Selection, clock: Clock, marks: Marks) -> Timeline {
        let reads = |registry: &_, row: &_| selection.has_all_of(registry, row);
        let limits = Limits { open_count: OPEN_COUNT_MAX, ..Limits::default() };
        let holes = Holes::new(log, &marks);
        Timeline {
            clock,
            counters: Counters::new(log, &marks, reads).at_most(COUNTER_COUNT_MAX),
            changed: Vec::new(),
            source: Source::new(log, &marks),
            steps: Steps::default(),
            marks,
            processes: Processes::new(log),
            stacks: HashMap::new(),
            slices: Pairing::new(limits).with_holes(holes.clone()),
            spans: Pairing::new(limits).with_holes(holes),
            lane_of: Vec::new(),
            labels: [Vec::new(), Vec::new()],
            lanes: HashMap::new(),
            flows: Flows::new(FLOW_COUNT_MAX),
            flow_count: 0,
            unended_count: 0,
            doubtful_count: 0,
            limited: Limited::default(),
        }
    }

    /// Returns the entry of the next event.
    pub(crate) fn moment(&mut self, event: &Event<'_, '_>) -> Moment {
        let &Role { part, flow, name, .. } = self.marks.role(event);
        let ns = self.clock.ns(event.stream, event.ticks);
        let mut label = name.map(|at| {
            let id = event.param_at(at.into()).and_then(|value| event.labels.label_id_of(value));
            let id = id.filter(|id| event.labels.string(*id).is_some());
            id.map_or_else(|| Label::Text(name_text(event, &[at.into()]).into()), Label::Id)
        });
        let action = part.map_or(Action::Instant, |side| {
            let form = self.marks.pairs.get(side.pair as usize).map(|pair| pair.form);
            let edge = Edge::new(event, &side, form == Some(Form::Span));
            if edge.is_span { self.span(&edge, &mut label) } else { self.slice(edge, &mut label) }
        });
        let flow = flow.and_then(|side| self.flow(&side, event));
        self.changed.clear();
        self.source.add(event, || ns, &mut self.steps);
        self.counters.take(&mut self.steps, |_, counter, _| {
            self.changed.push((counter.index, counter.value));
        });
        Moment { ns, action, flow, label }
    }

    /// Returns the name of the slice or span that an event begins or ends: a label, if a mark asks
    /// for it.
    pub(crate) fn name<'e>(
        &'e self,
        event: &Event<'_, 'e>,
        label: &'e Option<Label>,
        pair: u32,
    ) -> Cow<'e, str> {
        let text = match label {
            Some(Label::Id(id)) => event.labels.string(*id).map(String::from_utf8_lossy),
            Some(Label::Text(text)) => Some(Cow::from(&**text)),
            None => None,
        };
        let text = text.filter(|text| !text.is_empty());
        text.map_or_else(|| self.marks.name(pair).into(), demangled)
    }

    /// Returns the track of the stack that a thread is in.
    pub(crate) fn stack(&self, place: Track) -> Track {
        self.stacks.get(&place).copied().unwrap_or(place)
    }

    /// Takes an edge of a slice. `label` is the string that names it: stated by the beginning, and
    /// returned for the end.
    fn slice(&mut self, mut edge: Edge, label: &mut Option<Label>) -> Action {
        edge.track = self.stack(self.processes.place(edge.id.stream, edge.thread));
        let pair = edge.pair;
        let [labels, _] = &mut self.labels;
        let doubtful_count = &mut self.doubtful_count;
        let count = |slice: Slice<'_>| *doubtful_count += u64::from(is_doubtful(&slice));
        match self.slices.take(&edge, count) {
            Turn::Begun { slot, .. } => {
                *at(labels, slot) = label.clone();
                Action::Begin { pair }
            }
            Turn::Ended { was_on_stack: true, crossed: within, slot, .. } => {
                *label = at(labels, slot).take();
                self.unended_count += u64::from(within);
                Action::End { pair, within }
            }
            // A slice that crosses was closed with the slice around it, as the track nests.
            _ => Action::Instant,
        }
    }

    /// As [`Timeline::slice`], of a span.
    fn span(&mut self, edge: &Edge, label: &mut Option<Label>) -> Action {
        let pair = edge.pair;
        let mut is_again = false;
        let turn = self.spans.take(edge, |span| {
            is_again = span.verdict == Verdict::Again;
            self.doubtful_count += u64::from(is_doubtful(&span));
        });
        self.unended_count += u64::from(is_again);
        let lanes = self.lanes.entry((edge.id.stream, pair)).or_default();
        let [_, labels] = &mut self.labels;
        match turn {
            Turn::Begun { slot, .. } => {
                let lane = at(&mut self.lane_of, slot);
                if !is_again {
                    *lane = lanes.take();
                }
                let before = std::mem::replace(at(labels, slot), label.clone());
                let again = is_again.then_some(before);
                Action::SpanBegin { pair, lane: *lane, again }
            }
            Turn::Ended { slot, .. } => {
                let lane = *at(&mut self.lane_of, slot);
                lanes.free.push(Reverse(lane));
                *label = at(labels, slot).take();
                Action::SpanEnd { pair, lane }
            }
            Turn::Alone | Turn::Full => Action::Instant,
        }
    }

    fn flow(&mut self, side: &Side, event: &Event<'_, '_>) -> Option<Flow> {
        let pair = side.pair;
        let place = flows::Place { stream: event.stream, pair, key: side.key(event) };
        let group = self.marks.group(pair);
        if side.is_end {
            return self.flows.end(place, group).map(|id| Flow { pair, id, is_end: true });
        }
        // Flow ids begin with 1.
        if !self.flows.begin(place, group, self.flow_count + 1) {
            self.limited.flow_count += 1;
            return None;
        }
        self.flow_count += 1;
        Some(Flow { pair, id: self.flow_count, is_end: false })
    }

    /// Returns notes for the user at the end.
    pub(crate) fn notes(&self, log: &Log) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unended_count > 0 {
            notes.push(format!(
                "{} slices and spans lack an end in the log; they end with the enclosing slice, or \
                 when they begin again",
                self.unended_count
            ));
        }
        if self.doubtful_count > 0 {
            notes.push(format!(
                "slices and spans that may end with the end of another one, as the log lacks \
                 events of their types in between: {}",
                self.doubtful_count
            ));
        }
        let open_count = self.slices.counts().full + self.spans.counts().full;
        notes.extend(self.limited.notes(open_count));
        notes.extend(counter_notes(log, &self.counters));
        notes
    }
}

/// Returns whether events may be missing between the beginning and the end.
fn is_doubtful(slice: &Slice<'_>) -> bool {
    slice.verdict == Verdict::Doubtful
}

/// Returns the place of a slot in a table, which grows.
fn at<T: Clone + Default>(table: &mut Vec<T>, slot: Slot) -> &mut T {
    let index = slot as usize;
    if table.len() <= index {
        table.resize(index + 1, T::default());
    }
    &mut table[index]
}

/// The argument of an exported event that is not a parameter.
pub(super) const TICKS: &str = "ticks";

/// Returns the name of the argument for a parameter: [`TICKS`] is taken.
pub(super) fn argument(param: &str) -> Cow<'_, str> {
    if param == TICKS { format!("{param}_").into() } else { param.into() }
}

pub(super) fn instant_name<'e>(event: &Event<'e, '_>) -> Cow<'e, str> {
    match event.event_type {
        Some(event_type) => Cow::Borrowed(&event_type.name),
        None => format!("?{:04X}", event.code()).into(),
    }
}
