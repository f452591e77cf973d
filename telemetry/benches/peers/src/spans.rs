//! Spans of the peers, and our calls: from the beginning to the end of an empty function.
//!
//! ```text
//!  SPANS ── name, span, pairs        plain: the function alone      event: with one event
//! ```
//!
//! Each records in memory, as its documentation advises for speed.

use crate::floor;
use crate::measure::{EVENT_COUNT, run};
use fastrace::Span;
use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use fastrace::local::LocalSpan;
use std::hint::black_box;
use std::sync::Once;
use tracing::span::Id;
use tracing::subscriber;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// A recorder of spans.
pub(crate) struct Spans {
    pub(crate) name: &'static str,
    /// What is recorded.
    pub(crate) span: &'static str,
    /// Records the spans of a run.
    pub(crate) pairs: fn(),
}

/// Spans in a root or a frame: recorders collect what is in one.
const SPANS_OF_ROOT: u64 = 1000;

pub(crate) const SPANS: [Spans; 5] = [
    Spans { name: "calls", span: "#[traced]; two events in a ring", pairs: calls_pairs },
    Spans {
        name: "fastrace",
        span: "a local span, a thousand to a root; the reporter discards them",
        pairs: fastrace_pairs,
    },
    Spans {
        name: "puffin",
        span: "profile_scope!, a thousand to a frame; no sink",
        pairs: puffin_pairs,
    },
    Spans {
        name: "tracing",
        span: "a span in the Registry; a layer stores its beginning and end as two of the floor",
        pairs: tracing_pairs,
    },
    Spans {
        name: "tracy",
        span: "span!; kept for a viewer that connects later",
        pairs: tracy_pairs,
    },
];

/// The function that each of them records.
#[inline(never)]
pub(crate) fn plain(a: u64, b: u64, c: u64) {
    black_box((a, b, c));
}

/// The floor: the same function with one event of 32 bytes.
#[inline(never)]
pub(crate) fn event(a: u64, b: u64, c: u64) {
    floor::memory(a, b, c);
    black_box((a, b, c));
}

fn calls_pairs() {
    #[calls::traced]
    #[inline(never)]
    fn called(a: u64, b: u64, c: u64) {
        black_box((a, b, c));
    }
    calls::control().set_recorded(calls::events::Kinds::Call);
    run(called);
}

/// Takes what it is given.
struct Discarded;

impl Reporter for Discarded {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        black_box(&spans);
    }
}

fn fastrace_pairs() {
    #[inline(never)]
    fn called(a: u64, b: u64, c: u64) {
        let _span = LocalSpan::enter_with_local_parent("called");
        black_box((a, b, c));
    }
    fastrace::set_reporter(Discarded, Config::default());
    in_roots(called, |spans| {
        let root = Span::root("root", SpanContext::random());
        let _local = root.set_local_parent();
        spans();
    });
    fastrace::flush();
}

fn puffin_pairs() {
    #[inline(never)]
    fn called(a: u64, b: u64, c: u64) {
        puffin::profile_scope!("called");
        black_box((a, b, c));
    }
    puffin::set_scopes_on(true);
    in_roots(called, |spans| {
        puffin::GlobalProfiler::lock().new_frame();
        puffin::profile_scope!("root");
        spans();
    });
}

fn tracing_pairs() {
    #[inline(never)]
    fn called(a: u64, b: u64, c: u64) {
        let _span = tracing::info_span!("called").entered();
        black_box((a, b, c));
    }
    subscriber::with_default(tracing_subscriber::registry().with(Stored), || run(called));
}

/// Stores what the registry tells.
struct Stored;

impl<S: tracing::Subscriber> Layer<S> for Stored {
    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        floor::memory(id.into_u64(), 0, 0);
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        floor::memory(id.into_u64(), 1, 0);
    }
}

fn tracy_pairs() {
    #[inline(never)]
    fn called(a: u64, b: u64, c: u64) {
        let _span = tracy_client::span!("called", 0);
        black_box((a, b, c));
    }
    static STARTED: Once = Once::new();
    STARTED.call_once(|| drop(tracy_client::Client::start()));
    run(called);
}

/// Calls a function for each event of a run, in roots of a thousand.
fn in_roots(called: impl Fn(u64, u64, u64), root: impl Fn(&dyn Fn())) {
    for from in (0..EVENT_COUNT).step_by(SPANS_OF_ROOT as usize) {
        root(&|| (from..from + SPANS_OF_ROOT).for_each(|i| called(i, i + 1, i + 2)));
    }
}
