//! The example of TDK: a loop that multiplies by adding, with two statements in a turn.

use crate::Subject;
use calls::profiled;
use std::hint::black_box;

/// The calls in the paper: the turns, and the factor.
const CALLS: [(u64, u64); 3] = [(5, 2), (5000, 20), (10_000, 10)];

#[profiled]
#[inline(never)]
fn calls(a: u64, b: u64) {
    black_box(multiply(a, b));
}

#[profiled]
#[inline(never)]
fn multiply(a: u64, b: u64) -> u64 {
    let mut product = 0;
    let mut left = a;
    while left > 0 {
        product = black_box(product + b);
        left = black_box(left - 1);
    }
    product
}

/// The same without the attribute.
#[inline(never)]
fn plain(a: u64, b: u64) -> u64 {
    let mut product = 0;
    let mut left = a;
    while left > 0 {
        product = black_box(product + b);
        left = black_box(left - 1);
    }
    product
}

pub(crate) fn subjects() -> Vec<Subject> {
    let subject = |(turns, factor)| Subject {
        name: format!("multiply {turns} {factor}"),
        function: "::calls",
        profiled: Box::new(move || calls(turns, factor)),
        plain: Box::new(move || _ = black_box(plain(turns, factor))),
        // A boundary takes a hundred times as long as one of its statements.
        has_target: false,
    };
    CALLS.map(subject).into()
}
