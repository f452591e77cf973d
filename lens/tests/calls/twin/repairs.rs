//! Calls whose beginnings or ends are missing, and what lies between calls.
//!
//! ```text
//!  main ── (muted) ── hash      the log lacks the call in the middle, hash names it as its caller
//! ```
//!
//! Design: `.calls.repair` in `design/calls.md`.

use super::*;

/// Returns a log of one stream, and reads it.
fn played(play: impl FnOnce(&mut Program<'_>)) -> Found {
    let mut bytes = Vec::new();
    let mut program = Program::new(&mut bytes);
    play(&mut program);
    program.finish();
    lens(bytes)
}

/// A call below its threshold leaves no event, but the calls in it name it as their caller. Their
/// time is not that of the function around it.
#[test]
fn calls_in_a_muted_call_count_in_its_caller() {
    let found = played(|program| {
        for _ in 0..100 {
            program.add(1, &CallEnter { function: at(1), caller: at(0) });
            program.add(1, &CallEnter { function: at(3), caller: at(2) });
            program.add(1, &CallLeave { function: at(3) });
            program.add(1, &CallLeave { function: at(1) });
        }
    });
    let (functions, _) = sums(&found.calls);
    assert_eq!(functions["hash"], [100, 700, 700, 700]);
    assert_eq!(functions["main"], [100, 2100, 1400, 2100]);
    assert!(found.open.is_empty(), "{:?}", found.open);
}

/// The same, of a call whose end is missing.
#[test]
fn calls_in_a_call_without_a_time_count_in_its_caller() {
    let found = played(|program| {
        program.add(1, &CallEnter { function: at(1), caller: at(0) });
        program.add(1, &CallEnter { function: at(2), caller: at(1) });
        program.add(1, &CallEnter { function: at(3), caller: at(2) });
        program.add(1, &CallLeave { function: at(3) });
        program.add(1, &CallEnter { function: at(4), caller: at(1) });
        program.add(1, &CallLeave { function: at(4) });
        program.add(1, &CallLeave { function: at(1) });
    });
    let (functions, _) = sums(&found.calls);
    assert_eq!(functions["main"], [1, 42, 28, 42]);
}

/// Muted calls leave nothing behind that takes the room of others: a call that crosses keeps its
/// time.
#[test]
fn muted_calls_take_no_room() {
    let mut bytes = Vec::new();
    let mut program = Program::new(&mut bytes);
    // An end that comes late: sell crosses main.
    program.add(1, &CallEnter { function: at(1), caller: at(0) });
    program.add(1, &CallEnter { function: at(2), caller: at(1) });
    program.add(1, &CallLeave { function: at(1) });
    for _ in 0..100 {
        program.add(1, &CallEnter { function: at(1), caller: at(0) });
        program.add(1, &CallEnter { function: at(4), caller: at(3) });
        program.add(1, &CallLeave { function: at(4) });
        program.add(1, &CallLeave { function: at(1) });
    }
    program.add(1, &CallLeave { function: at(2) });
    program.finish();
    let log = Log::from_source(bytes).unwrap();
    let (clock, marks) = (Clock::new(&log), lens::calls::marks(&log, false));
    let limits = lens::slices::Limits { open_count: 8, ..lens::slices::Limits::default() };
    let mut calls = Calls::with_limits(&log, &marks, limits, lens::calls::NODE_COUNT_MAX);
    let mut source = lens::calls::Source::new(&log, &clock, &marks);
    let mut batch = lens::calls::Batch::new(&log);
    let all = eventlog::reader::Filter::default();
    let order = eventlog::reader::Order::Time;
    log.events(order, &all).each(|event| source.add(event, true, &mut batch));
    calls.take(&batch, &mut |_, _| {});
    assert!(calls.finish(&mut |_, _| {}).is_empty());
    let (functions, _) = sums(&calls);
    assert_eq!(functions["sell"][..2], [1, 2814]);
    assert_eq!((calls.counts().full, calls.counts().alone), (0, 0));
}

/// A call whose beginning is missing has ended once its end came, whatever the pair of this: a
/// poll's, or that of a later stream.
#[test]
fn a_call_without_a_beginning_ends() {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    for stream in 1..=2u8 {
        let mut origin = Origin::new();
        origin.uuid = [stream; 16];
        maker.begin(&origin).unwrap();
        sync(&mut maker, 1);
        label(&mut maker);
        maker.add(1, 1, 100, &CallEnter { function: at(2), caller: at(1) }).unwrap();
        maker.add(1, 1, 101, &CallLeave { function: at(2) }).unwrap();
        maker.add(1, 1, 102, &CallLeave { function: at(1) }).unwrap();
        maker.add(2, 2, 103, &CallEnter { function: at(2), caller: at(3) }).unwrap();
        maker.add(2, 2, 104, &CallLeave { function: at(2) }).unwrap();
        maker.add(2, 2, 105, &PollLeave { function: at(3), task: 1 }).unwrap();
        sync(&mut maker, 1000);
    }
    maker.finish().unwrap();
    let found = lens(bytes);
    assert_eq!(found.calls.counts().alone, 4);
    assert!(found.open.is_empty(), "{:?}", found.open);
}

/// A damaged log states any number of muted calls, and any number of a thread.
#[test]
fn extreme_numbers_are_taken_as_they_are() {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    for stream in 1..=2u8 {
        let mut origin = Origin::new();
        origin.uuid = [stream; 16];
        maker.begin(&origin).unwrap();
        sync(&mut maker, 1);
        label(&mut maker);
        maker.add(1, 1, 100, &CallsMuted { function: at(4), count: usize::MAX }).unwrap();
        // The number that a coroutine's stack could have.
        let thread = 1 << 31;
        maker.add(2, 2, 101, &Switch { context: P(0x77) }).unwrap();
        maker.add(2, 2, 102, &CallEnter { function: at(2), caller: at(0) }).unwrap();
        maker.add(3, thread, 103, &CallEnter { function: at(1), caller: at(0) }).unwrap();
        let elapsed = usize::MAX;
        let slow = CallSlow { function: at(5), caller: at(1), elapsed };
        maker.add(3, thread, 104, &slow).unwrap();
        maker.add(3, thread, 105, &slow).unwrap();
        maker.add(3, thread, 106, &CallLeave { function: at(1) }).unwrap();
        maker.add(2, 2, 107, &CallLeave { function: at(2) }).unwrap();
        sync(&mut maker, 1000);
    }
    maker.finish().unwrap();
    let found = lens(bytes);
    let number = |name| found.calls.functions().iter().find(|(_, f)| &*f.name == name).unwrap().0;
    assert_eq!(found.calls.muted(number("db::get")), u64::MAX);
    let (functions, edges) = sums(&found.calls);
    assert_eq!(functions["main"], [2, 6, 0, 6]);
    assert_eq!(functions["sell"], [2, 10, 10, 10]);
    assert_eq!(functions["step"][..2], [4, u64::MAX]);
    assert_eq!(edges[&["main".to_owned(), "step".to_owned()]][0], 4);
}

mod other {
    eventdef::events! {
        /// What a collector does.
        registry "collector" version(1, 0, 0);
        kinds standard;

        /// A collection began.
        CollectBegin(0x0001, always, Trace) {
            /// its number
            number: W,
        }
        /// A collection ended.
        CollectEnd(0x0002, always, Trace) {
            /// its number
            number: W,
        }
    }
}

/// The slices of other registries lie between calls, which do not state them as their callers.
#[test]
fn slices_between_calls_keep_their_times() {
    let mut bytes = Vec::new();
    let mut program = Program::new(&mut bytes);
    let begin = other::CollectBegin { number: 1 };
    let end = other::CollectEnd { number: 1 };
    program.add(1, &begin);
    program.add(1, &CallEnter { function: at(1), caller: at(0) });
    program.add(1, &begin);
    program.add(1, &CallEnter { function: at(2), caller: at(1) });
    program.add(1, &CallLeave { function: at(2) });
    program.add(1, &end);
    program.add(1, &CallLeave { function: at(1) });
    program.add(1, &end);
    program.finish();
    let log = Log::from_source(bytes).unwrap();
    let (clock, marks) = (Clock::new(&log), lens::calls::marks(&log, true));
    let (calls, open) = lens::calls::read(&log, &clock, &marks, &mut |_, _| {});
    let paths = paths(&calls);
    assert_eq!(paths["Collect;main;Collect;sell"], [1, 7, 7, 0]);
    assert_eq!(paths["Collect;main;Collect"], [1, 21, 14, 0]);
    assert_eq!(paths["Collect"], [1, 49, 14, 0]);
    assert!(open.is_empty());
}
