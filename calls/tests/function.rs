//! Functions that a program finds while it runs: `calls::Function`.
//!
//! ```text
//!  Function::new("::shop::sell") ─ call ─▶ CallEnter … CallLeave, with the path as the label
//! ```
//!
//! Design: `.calls.function` in `design/calls.md`.

mod common;

use calls::{Function, traced};
use common::{ON, lines, lines_of_one, open, ran, sources};
use std::collections::BTreeSet;
use std::ffi::OsString;

#[traced]
fn run(function: Function) {
    drop(function.call());
}

#[test]
fn a_function_made_while_recording_is_known_before_its_call() {
    let what = || {
        run(Function::new("::early", None));
        let sell = Function::new("::shop::sell", Some(("shop.tcl", 7)));
        let _ = Function::new("::never", Some(("shop.tcl", 9)));
        let outer = sell.call();
        run(sell);
        drop(outer);
        assert_eq!(sell.path(), "::shop::sell");
    };
    let test = "a_function_made_while_recording_is_known_before_its_call";
    let Some(ran) = ran(test, &[ON], what) else { return };
    let log = ran.log();
    let expected = [
        "CallEnter run -",
        "CallEnter ::early run",
        "CallLeave ::early",
        "CallLeave run",
        "CallEnter ::shop::sell -",
        "CallEnter run ::shop::sell",
        "CallEnter ::shop::sell run",
        "CallLeave ::shop::sell",
        "CallLeave run",
        "CallLeave ::shop::sell",
    ];
    assert_eq!(lines_of_one(&log), expected);
    let sources = sources(&log);
    let place = |line| ("shop.tcl".to_owned(), [line, 1, 0, 0]);
    assert_eq!(sources["::shop::sell"], place(7));
    assert_eq!(sources["::never"], place(9), "though it is never called");
    assert!(!sources.contains_key("::early"), "its place is not known");
}

/// The filter knows functions by their paths, whenever they were made.
#[test]
fn the_filter_applies_to_functions_made_at_run_time() {
    let what = || {
        let early = [Function::new("::a::x", None), Function::new("::b::x", None)];
        calls::control().set_output(calls::events::Kinds::Call);
        let late = [Function::new("::a::y", None), Function::new("::b::y", None)];
        early.iter().chain(&late).for_each(|function| drop(function.call()));
    };
    let filter = [("MPS_TELEMETRY_CALLS", "::a::*")];
    let test = "the_filter_applies_to_functions_made_at_run_time";
    let Some(ran) = ran(test, &filter, what) else { return };
    let expected = ["CallEnter ::a::x -", "CallLeave ::a::x", "CallEnter ::a::y -"];
    assert_eq!(lines_of_one(&ran.log())[..3], expected);
    assert_eq!(lines_of_one(&ran.log()).len(), 4);
}

/// The list of functions has no lock: threads make them at once, and each is known.
#[test]
fn threads_make_functions_at_the_same_time() {
    const COUNT: usize = 500;
    let what = || {
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    for index in 0..COUNT {
                        drop(Function::new(&format!("::f{thread}::{index}"), None).call());
                    }
                });
            }
        });
        calls::control().reset_output(calls::events::Kinds::Call);
    };
    let Some(ran) = ran("threads_make_functions_at_the_same_time", &[ON], what) else { return };
    let threads = lines(&ran.log());
    let found: BTreeSet<String> = threads.into_values().flatten().collect();
    let expected = (0..4).flat_map(|thread| (0..COUNT).map(move |index| (thread, index)));
    let expected: BTreeSet<String> = expected
        .flat_map(|(thread, index)| {
            let name = format!("::f{thread}::{index}");
            [format!("CallEnter {name} -"), format!("CallLeave {name}")]
        })
        .collect();
    assert_eq!(found, expected);
}

/// T12: `-debug` prints the calls of all functions that there are.
#[test]
fn debug_prints_functions_made_before_and_after() {
    let what = || {
        let early = Function::new("::early", None);
        let words = ["+TURTLES", "-enabled", "-debug", "-dbPath", "logs", "-TURTLES"];
        let mut arguments: Vec<OsString> = words.map(Into::into).to_vec();
        let released = calls::release(&mut arguments);
        drop(early.call());
        let late = Function::new("::late", None);
        drop(late.call());
        drop(released);
        drop(late.call());
        let path = std::fs::read_dir("logs").unwrap().next().unwrap().unwrap().path();
        assert_eq!(lines_of_one(&open(&path)).len(), 4);
    };
    let test = "debug_prints_functions_made_before_and_after";
    let Some(ran) = ran(test, &[], what) else { return };
    let calls = ["CallEnter ::early", "CallLeave ::early", "CallEnter ::late", "CallLeave ::late"];
    let expected: Vec<String> = calls.map(|call| format!("telemetry: {call}")).to_vec();
    assert_eq!(ran.said(), expected);
}
