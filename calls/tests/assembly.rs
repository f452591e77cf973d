//! Compares the machine code of traced functions with golden files, and with rules for any
//! compiler.
//!
//! ```text
//!  examples/traced.rs ─ rustc, as shipped ─▶ .s ─ one function, made plain ─▶ golden/
//! ```
//!
//! `BLESS=1` rewrites the files. The first line of each names its compiler. The code of another
//! compiler is only checked against the rules. Design: `.calls.record` in `design/calls.md`.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![forbid(unsafe_code)]

#[path = "../../telemetry/tests/common/shipped.rs"]
mod shipped;

use shipped::{HERE, compare};
use std::sync::OnceLock;

/// Returns the instructions of a function of the example, one a line.
fn function(name: &str) -> Vec<String> {
    static ASSEMBLY: OnceLock<String> = OnceLock::new();
    let assembly = ASSEMBLY.get_or_init(|| shipped::assemble("traced", "calls", HERE, ""));
    shipped::function(assembly, &format!("6traced{}{name}17h", name.len()))
}

fn is(line: &str, instruction: &str) -> bool {
    line.trim_start().starts_with(instruction)
}

/// T6: a call that is off costs one load, one test, one branch.
#[test]
fn a_call_that_is_off_costs_load_test_and_branch() {
    let code = function("known");
    let branch = code.iter().position(|line| is(line, "j")).expect("a branch");
    let before = &code[..branch];
    assert!(is(&before[branch - 1], "test"), "{code:#?}");
    assert_eq!(before.iter().filter(|line| line.contains("CONTROL")).count(), 1, "{code:#?}");
    // A push and a copy for the call behind the branch; two instructions load a mask elsewhere.
    assert!(branch <= 5 && !before.iter().any(|line| is(line, "call")), "{code:#?}");
    assert!(code.last().is_some_and(|last| is(last, "ret")), "{code:#?}");
    compare("known.s", &code);
}

/// Where a call is off, nothing follows the branch but the code of the function without a trace.
#[test]
fn a_call_that_is_off_ends_as_without_a_trace() {
    let code = function("calling");
    let branch = code.iter().position(|line| is(line, "j")).expect("a branch");
    assert_eq!(code[branch + 1..], function("plain"), "{code:#?}");
    compare("calling.s", &code);
}

/// So it is with statements: one load tells of both.
#[test]
fn statements_that_are_off_end_as_without_them() {
    let code = function("stating");
    let branch = code.iter().position(|line| is(line, "j")).expect("a branch");
    assert!(branch <= 4 && !code[..branch].iter().any(|line| line.contains("WORD")), "{code:#?}");
    assert_eq!(code[branch + 1..], function("plain"), "{code:#?}");
}

/// The choice makes a function larger, and yet the compiler makes it a part of its callers.
#[test]
fn a_call_that_is_off_may_be_a_part_of_its_caller() {
    let code = function("mixing");
    assert!(!code.iter().any(|line| line.contains("6traced5mixedE")), "{code:#?}");
}

/// K6: statements that are off cost a load, a test and a branch for the block, and a test and a
/// branch each; those that are counted read no clock.
#[test]
fn statements_that_are_counted_read_no_clock() {
    let code = function("block");
    let branch = code.iter().position(|line| is(line, "j")).expect("a branch");
    assert!(is(&code[branch - 1], "test") || is(&code[branch - 1], "cmp"), "{code:#?}");
    assert!(!code[..branch].iter().any(|line| is(line, "call")), "{code:#?}");
    assert!(!code.iter().any(|line| is(line, "rdtsc")), "{code:#?}");
    // All but the count is elsewhere: the first statement, rare work, times, the end.
    let called = |name: &str| code.iter().any(|line| is(line, "call") && line.contains(name));
    for name in ["begin_block", "count_again", "pass_otherwise", "end_block"] {
        assert!(called(name), "{name}: {code:#?}");
    }
    let own = code.iter().filter(|line| is(line, "call") && line.contains("5calls")).count();
    // The end comes twice: after a panic, too.
    assert_eq!(own, 5, "{code:#?}");
    compare("block.s", &code);
}
