//! The rows of a kernel in batches, which other threads read ahead of the one that builds.
//!
//! ```text
//!  events of a time ── Source::add ──▶ Batch ─┐
//!  events of the next ─ on another thread ──▶ Batch ─┴─ in order ──▶ Builder ──▶ Model
//! ```
//!
//! To read an event, to find its parameters and its ns takes longer than to build with it. Design:
//! `.waits.speed` in `design/waits.md`.

use super::rows::{Row, Rows};
use super::state::Building;
use super::{Model, Options};
use eventlog::reader::{Clock, Event, Filter, Log};
use std::ops::RangeInclusive;

/// Rows of a batch, at most.
const ROW_COUNT_MAX: usize = 1 << 12;
/// Bytes of the texts of a batch, at most; the last text may reach beyond.
const TEXT_SIZE_MAX: usize = 1 << 18;

/// A row, its time in ns, its buffer, and its number there.
#[derive(Debug)]
struct Told {
    ns: u64,
    number: u64,
    buffer: u32,
    /// Where its text ends among the texts.
    text_end: u32,
    row: Row<'static>,
}

/// Rows that follow each other.
#[derive(Debug, Default)]
pub struct Batch {
    rows: Vec<Told>,
    texts: Vec<u8>,
    /// The line of the clock on which the last row lies.
    near: usize,
}

impl Batch {
    /// Removes the rows.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.texts.clear();
    }
}

/// What is needed to read the rows of a kernel's stream.
#[derive(Debug)]
pub struct Source<'l> {
    log: &'l Log,
    stream: u16,
    clock: &'l Clock,
    rows: Rows,
}

impl<'l> Source<'l> {
    /// Returns nothing if the stream has no registry `kernel`.
    pub fn of(log: &'l Log, stream: u16, clock: &'l Clock) -> Option<Source<'l>> {
        let rows = Rows::of(log, stream)?;
        Some(Source { log, stream, clock, rows })
    }

    /// Returns the filter that leaves the events of other streams out.
    pub fn filter(&self) -> Filter {
        // No time is in a range that ends before it begins.
        let of =
            |index: usize| if index == usize::from(self.stream) { (0, u64::MAX) } else { (1, 0) };
        let times = |index: usize| RangeInclusive::new(of(index).0, of(index).1);
        let mut filter = Filter::default();
        filter.times = (0..self.log.streams().len()).map(times).collect();
        filter
    }

    /// Adds an event to a batch. Returns whether the batch is full: take it, and clear it.
    #[inline]
    pub fn add(&self, batch: &mut Batch, event: &Event<'_, '_>) -> bool {
        if let Some((row, text)) = self.rows.parts(event) {
            batch.texts.extend_from_slice(text);
            batch.rows.push(Told {
                ns: self.clock.ns_near(self.stream, event.ticks, &mut batch.near),
                number: event.number,
                buffer: event.buffer,
                text_end: batch.texts.len() as u32,
                row,
            });
        }
        batch.rows.len() >= ROW_COUNT_MAX || batch.texts.len() >= TEXT_SIZE_MAX
    }
}

/// A model that grows batch by batch.
#[derive(Debug)]
pub struct Builder(Building);

impl Builder {
    /// Begins a model.
    pub fn new(source: &Source<'_>, options: &Options) -> Builder {
        let mut building = Building::new(*options);
        let stream = source.log.streams().get(usize::from(source.stream));
        building.model.architecture = stream.map_or(0, |stream| stream.architecture);
        building.tells_numbers = source.rows.tells_numbers();
        Builder(building)
    }

    /// Takes the rows that follow those before, in the order of time.
    pub fn take(&mut self, source: &Source<'_>, batch: &Batch) {
        let mut begin = 0;
        for told in &batch.rows {
            let end = told.text_end as usize;
            let row = told.row.with_text(batch.texts.get(begin..end).unwrap_or_default());
            begin = end;
            self.0.number(told.buffer, told.number);
            let ns_of = |ticks| source.clock.ns(source.stream, ticks);
            self.0.take(told.ns, told.buffer.saturating_sub(2), &row, ns_of);
        }
    }

    /// Ends the log: what is open lasts until its last row.
    pub fn finish(self) -> Model {
        self.0.finish()
    }
}
