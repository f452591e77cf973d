//! Changes of counters, made by the threads that read, next to the edges of slices.
//!
//! ```text
//!  event ── lens::counters::Source ──▶ Steps of a piece ── in order ──▶ Counters
//! ```
//!
//! Design: `.cnv.counters` in `design/eventcnv.md`.

use crate::ask::pairs::reading::{
    Aside, By, Found, Marked, Open, Told, UNSELECTED, Values, counter_notes,
};
use crate::open::select::Selection;
use eventlog::reader::{Clock, Event, EventType, Picker, Registry};
use lens::counters::{Counter, Counters, Source, Step, Steps};
use lens::slices::Gap;

/// Makes changes of counters of the events of a worker.
pub(crate) struct Counted<'l> {
    clock: &'l Clock,
    source: Source,
    /// The line of each stream's clock that was used last.
    near: Vec<usize>,
    made: Steps,
}

impl<'l> Counted<'l> {
    /// Returns a maker without changes; `source` serves all workers.
    pub(crate) fn new(marked: &Marked<'l>, source: &Source) -> Counted<'l> {
        let near = vec![0; marked.log.streams().len()];
        Counted { clock: marked.clock, source: source.clone(), near, made: Steps::default() }
    }
}

impl Aside for Counted<'_> {
    type Entries = Steps;
    const ASKS: bool = true;
    const HAS_LABELS: bool = true;

    fn add(&mut self, event: &Event<'_, '_>, is_chosen: bool) -> usize {
        let Counted { clock, source, near, made } = self;
        let before = made.len();
        let ns = || match near.get_mut(usize::from(event.stream)) {
            Some(near) => clock.ns_near(event.stream, event.ticks, near),
            None => 0,
        };
        source.add(event, ns, made);
        if !is_chosen {
            made.since(before).for_each(|step| step.tag = UNSELECTED);
        }
        made.len()
    }

    fn take(&mut self) -> Steps {
        std::mem::take(&mut self.made)
    }
}

impl Marked<'_> {
    /// Returns the counters of the log, if all its events are read.
    pub(crate) fn counters(&self) -> Counters {
        Counters::new(self.log, self.marks, |_, _| true)
    }

    /// Returns whether a selection may have events that change counters.
    pub(crate) fn has_changes(&self, selection: &Selection) -> bool {
        let registries = self.log.registries();
        let picker = Picker::new(selection.filter(), registries);
        let changes = |registry: &Registry, row: &EventType| {
            !self.marks.role_of(registry, row.code).counts.is_empty()
        };
        registries.iter().enumerate().any(|(at, registry)| {
            let mut rows = registry.event_types.iter().enumerate();
            rows.any(|(index, row)| changes(registry, row) && picker.has_type(at, index))
        })
    }

    /// As [`Marked::advance`], and passes each change of a counter by a selected event to `add`,
    /// until its first error.
    pub(crate) fn advance_counting<E>(
        &self,
        selection: &Selection,
        open: &mut Open,
        take: &mut impl FnMut(Told<'_>, &Values) -> Result<(), E>,
        counters: &mut Counters,
        mut add: impl FnMut(&Counters, &Counter, &Step) -> Result<(), E>,
    ) -> Result<Found, E> {
        let (source, mut result) = (Source::new(self.log, self.marks), Ok(()));
        let others = |mut steps: Steps, gaps: &[Gap]| {
            gaps.iter().for_each(|gap| counters.gap(gap));
            counters.take(&mut steps, |counters, counter, step| {
                if step.tag & UNSELECTED == 0 && result.is_ok() {
                    result = add(counters, counter, step);
                }
            });
        };
        let counted = || Counted::new(self, &source);
        let mut found = self.advance_with(selection, &By::Event, open, take, counted, others)?;
        result?;
        found.notes.extend(counter_notes(self.log, counters));
        Ok(found)
    }
}
