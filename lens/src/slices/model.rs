//! Edges, slices and verdicts: what the events of a log mean for what begins and ends.
//!
//! ```text
//!  event ──▶ Edge (begin) ─┐
//!  event ──▶ Edge (end) ───┴──▶ Slice { begin, end, verdict }
//! ```
//!
//! Design: `.slice.source`, `.slice.pair` in `design/slices.md`.

use eventlog::reader::Event;
use eventlog::reader::marks::{Key, Side};

/// The greatest sizes of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Slices that are open at one time.
    pub open_count: usize,
    /// Durations that all groups together keep.
    pub duration_count: usize,
    /// Groups that go on with a histogram.
    pub histogram_count: usize,
}

impl Default for Limits {
    /// Returns the limits of `.slice.bounds` and `.slice.durations`.
    fn default() -> Limits {
        Limits { open_count: 1 << 21, duration_count: 1 << 22, histogram_count: 256 }
    }
}

/// The identity of an event in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id {
    /// The stream, by its index in the log.
    pub stream: u16,
    /// The buffer, by its index in the stream.
    pub buffer: u32,
    /// Its number in the buffer; of a log of the MPS, its place in the file.
    pub number: u64,
}

/// The owner of a stack of slices: a thread, by stream and index.
pub type Track = (u16, u32);

/// The part of an event in a slice: it begins or ends one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// The values that tell one slice of the pair from another.
    pub key: Key,
    /// Time in ticks of the stream's clock.
    pub ticks: u64,
    /// Time in ns by the clock of the log.
    pub ns: u64,
    /// The event.
    pub id: Id,
    /// The thread that recorded the event, by its index in the stream.
    pub thread: u32,
    /// The thread on whose stack a slice lies. [`Edge::new`] sets the thread of the event; a caller
    /// that knows threads in another way, such as tasks, sets its own.
    pub track: Track,
    /// The pair, by its index in the marks.
    pub pair: u32,
    /// A value of the caller, which the slice carries.
    pub tag: u32,
    /// The registry of the event, by its index in the stream.
    pub registry: u16,
    /// The kind of the event.
    pub kind: u8,
    /// Whether the event ends a slice.
    pub is_end: bool,
    /// Whether the pair is a span, which belongs to its stream instead of a thread's stack.
    pub is_span: bool,
    /// Whether events of other threads may begin or end it: of a span with a key.
    pub is_shared: bool,
}

impl Edge {
    /// Returns the edge of an event whose part is `side`, without `ns` and `tag`.
    #[inline]
    pub fn new(event: &Event<'_, '_>, side: &Side, is_span: bool) -> Edge {
        let mut key = side.key(event);
        let is_shared = is_span && side.has_key();
        if is_span
            && !is_shared
            && let Some(first) = key.first_mut()
        {
            *first = event.thread.into();
        }
        Edge {
            key,
            ticks: event.ticks,
            ns: 0,
            id: Id { stream: event.stream, buffer: event.buffer, number: event.number },
            thread: event.thread,
            track: (event.stream, event.thread),
            pair: side.pair,
            tag: 0,
            registry: event.registry.index,
            kind: event.kind,
            is_end: side.is_end,
            is_span,
            is_shared,
        }
    }

    /// Returns the part of the log in which no two open slices of one pair and key mix: a thread
    /// for a slice, a stream for a span.
    pub(crate) fn owner(&self) -> Track {
        if self.is_span { (self.track.0, u32::MAX) } else { self.track }
    }
}

/// Missing numbers of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The stream, by its index in the log.
    pub stream: u16,
    /// The buffer, by its index in the stream.
    pub buffer: u32,
    /// The registry of its events, by its index in the stream.
    pub registry: u16,
    /// The kind of its events; `None` if the buffer has several.
    pub kind: Option<u8>,
}

/// The place of an open slice in the table of a pairing. A later slice may have the same place.
pub type Slot = u32;

/// What became of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// It was ended, after all slices in it.
    Whole,
    /// It was ended after a slice that encloses its beginning.
    Crossing,
    /// It was ended, but events of its types are missing in between.
    Doubtful,
    /// Its key began again before it ended.
    Again,
    /// It was open at the end of the log, or gave way in a full table.
    Unfinished,
}

impl Verdict {
    /// The name of each verdict.
    pub const ALL: [(&str, Verdict); 5] = [
        ("whole", Verdict::Whole),
        ("crossing", Verdict::Crossing),
        ("doubtful", Verdict::Doubtful),
        ("again", Verdict::Again),
        ("unfinished", Verdict::Unfinished),
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Verdict::ALL.iter().find(|(_, verdict)| *verdict == self).map_or("?", |(name, _)| name)
    }
}

/// A slice: what lies between its beginning and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice<'a> {
    /// Its place while it was open, as [`crate::slices::Turn::Begun`] stated it.
    pub slot: Slot,
    /// One more than the depth of the slice around its beginning; 0 for the outermost of a thread,
    /// and for a span.
    pub depth: u32,
    /// Its beginning.
    pub begin: &'a Edge,
    /// Its end, if it was ended.
    pub end: Option<&'a Edge>,
    /// What became of it.
    pub verdict: Verdict,
}

impl Slice<'_> {
    /// Returns the duration in ns of a slice that is whole or crosses.
    #[inline]
    pub fn duration(&self) -> Option<u64> {
        let is_known = matches!(self.verdict, Verdict::Whole | Verdict::Crossing);
        self.end.filter(|_| is_known).map(|end| end.ns.saturating_sub(self.begin.ns))
    }
}
