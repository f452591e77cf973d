//! Reads the calls of a log with all processors, and pairs them on one.
//!
//! ```text
//!  partitions ── workers ──▶ batches ── in order ──▶ lens::calls ──▶ calls, tree, open stacks
//! ```
//!
//! Design: `.cnv.calls` in `design/eventcnv.md`, `.calls.lens` in `design/calls.md`.

use crate::open::parallel;
use crate::open::parallel::Emit;
use crate::open::select::{Selected, Selection};
use cli::Stop;
use eventlog::reader::marks::Marks;
use eventlog::reader::{Clock, Faults, Log, Order};
use lens::calls::{Batch, Calls, Counts, Functions, OpenStack, Source, Told};
use std::cell::Cell;

/// Entries of a batch, about.
const BATCH_COUNT: usize = 1 << 12;

/// What a reading of calls found apart from them.
pub(crate) struct Found {
    pub(crate) calls: Calls,
    pub(crate) open: Vec<OpenStack>,
    pub(crate) faults: Faults,
}

impl Found {
    /// Returns notes for the user about what is left out, of paths too if the output has paths.
    pub(crate) fn notes(&self, has_paths: bool) -> impl Iterator<Item = String> {
        let Counts { full, .. } = self.calls.counts();
        let left = format!("calls left out, as they began while too many were open: {full}");
        let shared = "too many paths: some rows without a path stand for several".to_owned();
        let functions = self.calls.functions();
        let (count, first) = (functions.shared().len(), functions.shared().next());
        let first = first.map_or("", |function| functions.name(function)).escape_debug();
        let merged = format!(
            "names of functions in several places, as of two versions of a crate: {count}, such as \
             `{first}`; the row of a name has the sums of all"
        );
        let is_full = has_paths && self.calls.tree().is_full();
        let all = [(full > 0, left), (is_full, shared), (count > 0, merged)];
        let filters = functions.filters().map(|filter| {
            let filter = filter.escape_debug();
            format!("recorded by the filter `{filter}`: functions that it excludes are missing")
        });
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note).chain(filters)
    }
}

/// Passes the calls and tasks of a selection to `take`, in the order of their ends; then those in
/// progress. Ends at the first error of `take`.
pub(crate) fn each<E>(
    log: &Log,
    clock: &Clock,
    marks: &Marks,
    selection: &Selection,
    mut take: impl FnMut(&Functions, Told<'_>) -> Result<(), E>,
) -> Result<Found, E> {
    let mut calls = Calls::new(log, marks);
    let faults = advance(log, clock, marks, selection, &mut calls, &mut take)?;
    let mut result = Ok(());
    let open = calls.finish(&mut |functions, told| {
        if result.is_ok() {
            result = take(functions, told);
        }
    });
    result.map(|()| Found { calls, open, faults })
}

/// Passes the calls and tasks that end in a selection to `take`, in the order of their ends.
/// `calls` is the lens after the events before. Returns the faults of the events.
pub(crate) fn advance<E>(
    log: &Log,
    clock: &Clock,
    marks: &Marks,
    selection: &Selection,
    calls: &mut Calls,
    take: &mut impl FnMut(&Functions, Told<'_>) -> Result<(), E>,
) -> Result<Faults, E> {
    let mut all = Selection::all(selection.filter().labels, selection.is_counted());
    all.restrict(selection.part());
    let source = Source::new(log, clock, marks);
    let source = match &selection.part().family {
        Some(family) => source.with_family(log, marks, family.clone()),
        None => source,
    };
    let work = |events: &mut Selected<'_>, emit: Emit<'_, Batch>| {
        let (mut source, mut chooser) = (source.clone(), selection.chooser(log));
        let mut batch = Batch::new(log);
        events.each_while(|event| {
            let is_chosen = chooser.has(event, source.has(event));
            source.add(event, is_chosen, &mut batch);
            batch.len() < BATCH_COUNT || emit(batch.take())
        });
        emit(batch);
    };
    let (mut result, is_wanted) = (Ok(()), Cell::new(true));
    let mut tell = |functions: &Functions, told: Told<'_>| {
        if result.is_ok() {
            result = take(functions, told);
            is_wanted.set(result.is_ok());
        }
    };
    let faults = parallel::run(log, &all, Order::Time, work, |batch: Batch| {
        calls.take(&batch, &mut tell);
        if is_wanted.get() { Ok(()) } else { Err(Stop::Closed) }
    });
    // Nothing but `take` fails.
    result.map(|()| faults.unwrap_or_default())
}
