//! Coarse events are recorded among others and read back: their times against those that a naive
//! twin reads before and after each event.
//!
//! ```text
//!  clock ─ event ─ clock ─ event ─ …      exact: within its bracket
//!                                         coarse: not after it, and not before any earlier event
//! ```
//!
//! Design: `.sol.coarse` in `design/telemetry.md`; `.time.coarse` in `design/format.md`.

use eventlog::reader::{Filter, Log, Order, Value};
use std::collections::BTreeMap;
use telemetry::__private::ticks;
use telemetry::{MemoryPlinth, event};

telemetry::events! {
    /// Exact and coarse events, in one buffer and in several.
    registry "coarse" version(1, 0, 0);
    kinds standard;

    /// A turn of the work.
    Turn(1, always, Object) {
        /// which
        index: W,
    }
    /// One of many in a turn.
    coarse Step(2, always, Object) {
        /// which
        index: W,
    }
    /// One of still more.
    coarse Fix(3, always, Ref) {
        /// which
        index: W,
    }
}

/// Most events of a buffer in a row with one time (`.sol.coarse`).
const REPEATED_MAX: usize = 16;
const EVENT_COUNT: usize = 300_000;

/// Records events of all types, in an order that looks random; the clock before and after each.
fn record() -> Vec<[u64; 2]> {
    let mut seed = 7u64;
    (0..EVENT_COUNT)
        .map(|index| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let before = ticks();
            match seed >> 57 {
                0..2 => event!(Turn, index),
                2..40 => event!(Step, index),
                _ => event!(Fix, index),
            }
            [before, ticks()]
        })
        .collect()
}

#[test]
fn coarse_times_are_of_the_past_and_keep_the_order_of_their_thread() {
    let plinth = MemoryPlinth::new();
    let setup = telemetry::setup().output(u64::MAX).plinth(plinth.clone());
    setup.start().expect("nothing was recorded before");
    let brackets = record();
    telemetry::flush();
    let log = Log::from_source(plinth.bytes()).expect("a log");
    let registry = log.registries().iter().find(|registry| &*registry.name == "coarse").unwrap();
    let coarse: Vec<bool> = registry.event_types.iter().map(|row| row.coarse).collect();
    assert_eq!(coarse, [false, true, true], "the log says which times are coarse");

    let mut times = BTreeMap::new();
    let mut repeated = BTreeMap::new();
    let mut events = log.events(Order::File, &Filter::default());
    while let Some(event) = events.next() {
        let Some(Value::W(index)) = event.param_at(0) else { panic!("{event:?}") };
        let run = repeated.entry(event.buffer).or_insert((0, 0));
        *run = if run.0 == event.ticks { (event.ticks, run.1 + 1) } else { (event.ticks, 1) };
        assert!(run.1 <= REPEATED_MAX, "{index}: {run:?}");
        times.insert(index as usize, (event.ticks, event.event_type.unwrap().coarse));
    }
    assert_eq!(times.len(), EVENT_COUNT, "{:?}", telemetry::losses());
    let mut latest = 0;
    let mut exact_count = 0;
    for (index, (time, is_coarse)) in times {
        let [before, after] = brackets[index];
        assert!(latest <= time && time <= after, "{index}: {latest} {time} {after}");
        assert!(is_coarse || before <= time, "{index}: {before} {time}");
        exact_count += usize::from(before <= time);
        latest = time;
    }
    assert!(exact_count < EVENT_COUNT / 8, "{exact_count} events read the clock");
}
