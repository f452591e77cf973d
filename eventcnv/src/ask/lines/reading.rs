//! Reads the statements of a log with all processors, and sums them up on one.
//!
//! ```text
//!  partitions ── workers ──▶ batches ── in order ──▶ lens::statements ──▶ sums, percentiles
//! ```
//!
//! Design: `.cnv.lines` in `design/eventcnv.md`, `.statements.lens` in `design/statements.md`.

use crate::open::parallel;
use crate::open::parallel::Emit;
use crate::open::select::{Selected, Selection};
use eventlog::format::text::OneLine;
use eventlog::reader::{Clock, Faults, Log, Order};
use lens::statements::{self, Batch, Left, Method, Source, Statements};

/// Entries of a batch, about.
const BATCH_COUNT: usize = 1 << 12;
/// Statements whose sums contradict each other that are named, at most.
const NAMED_COUNT_MAX: usize = 5;

/// Reads the statements of a selection: it chooses sums and executions of a trace.
pub(crate) fn read(
    log: &Log,
    clock: &Clock,
    selection: &Selection,
    method: Option<Method>,
) -> (Statements, Faults) {
    let marks = statements::marks(log);
    let mut found = Statements::new(log, clock, method);
    let mut all = Selection::all(selection.filter().labels, selection.is_counted());
    all.restrict(selection.part());
    let source = Source::new(log, clock, &marks);
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
    let faults = parallel::run(log, &all, Order::Time, work, |batch: Batch| {
        found.take(&batch);
        Ok(())
    });
    found.finish();
    // Nothing fails.
    (found, faults.unwrap_or_default())
}

/// Returns why a selection has no sums.
pub(crate) fn refusal(selection: &Selection) -> Option<&'static str> {
    let is_late =
        selection.is_counted() || selection.filter().times.iter().any(|at| *at.start() > 0);
    is_late.then_some("sums count from the beginning of the program; of times, pass --to alone")
}

/// Returns why a method has no times.
pub(crate) fn lack(found: &Statements) -> Option<&'static str> {
    let is_lacking = found.method() == Method::Leaves && !found.has_trace();
    is_lacking.then_some("--method leaves needs a trace; set MPS_TELEMETRY_PROFILE=trace")
}

/// Returns a note if the program told its end by nothing.
pub(crate) fn end_note(log: &Log) -> Option<&'static str> {
    let text = "the log has no end: the program still ran, was killed, or died of a signal; the \
                sums of its last second may be missing";
    (!log.is_closed()).then_some(text)
}

/// Returns notes for the user about what is left out, or doubtful.
pub(crate) fn notes(found: &Statements) -> Vec<String> {
    let Left { without_costs, wrong_costs, sums, alone, full } = found.left();
    let is_corrected = found.method() != Method::Raw;
    let streams = |streams: &[u16]| match streams {
        [] | [0] => String::new(),
        several => format!(" in {} streams", several.len()),
    };
    let mut notes = Vec::new();
    let mut note = |is_so: bool, text: String| notes.extend(is_so.then_some(text));
    note(
        is_corrected && !without_costs.is_empty(),
        format!(
            "the log does not state the cost of the recorder{}: times there are raw",
            streams(&without_costs)
        ),
    );
    note(
        is_corrected && !wrong_costs.is_empty(),
        format!(
            "the log states impossible costs of the recorder{}: times there are raw",
            streams(&wrong_costs)
        ),
    );
    note(sums > 0, format!("too many threads: {sums} sums of statements are left out"));
    note(alone > 0, format!("ends of statements without a beginning in the log: {alone}"));
    note(full > 0, format!("executions left out, as they began while too many were open: {full}"));
    let ambiguous = found.all().iter().filter(|facts| facts.is_ambiguous).count();
    note(
        ambiguous > 0,
        format!(
            "statements with one name and several places, as in different versions of a program: \
             {ambiguous}"
        ),
    );
    let shared = found.all().iter().filter(|facts| facts.places > 1).count();
    note(
        shared > 0,
        format!(
            "places with several statements each, as macros make them, whose counts are added up: \
             {shared}"
        ),
    );
    let cut = found.iter().filter_map(|(at, _)| found.cut(at));
    let (traced, timed) = cut.fold((0u64, 0u64), |(traced, timed), (one, all)| {
        (traced.saturating_add(one), timed.saturating_add(all))
    });
    note(
        timed > 0 && found.method() != Method::Leaves,
        format!(
            "the trace is cut: the percentiles of some statements cover {traced} of {timed} timed \
             executions"
        ),
    );
    let wrong = || found.iter().filter_map(|(at, facts)| Some((facts, found.contradiction(at)?)));
    for (facts, what) in wrong().take(NAMED_COUNT_MAX) {
        let place = facts.place();
        note(
            true,
            format!("{}: the sums contradict each other: {what}", OneLine(place.as_bytes())),
        );
    }
    let rest = wrong().count().saturating_sub(NAMED_COUNT_MAX);
    note(rest > 0, format!("more statements whose sums contradict each other: {rest}"));
    notes
}

/// Returns the notes, and the filters by which the programs recorded.
pub(crate) fn all_notes(found: &Statements) -> Vec<String> {
    let filters = found.functions().filters().map(|filter| {
        let filter = filter.escape_debug();
        format!("recorded by the filter `{filter}`: statements that it excludes are missing")
    });
    notes(found).into_iter().chain(filters).collect()
}
