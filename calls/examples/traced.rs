//! The least program with traced functions: for reading what the compiler makes of them.
//!
//! ```text
//!  cargo rustc --release -p mps-calls --example traced -- --emit asm
//! ```
//!
//! `tests/assembly.rs` keeps that as golden files. Design: `.calls.record` in `design/calls.md`.
#![forbid(unsafe_code)]

use calls::{profiled, traced};
use std::hint::black_box;

type Inner = fn() -> usize;

/// A body that the compiler knows.
#[traced]
#[inline(never)]
fn known(value: usize) -> usize {
    value + 1
}

/// A body that the compiler does not know, and that may panic.
#[traced]
#[inline(never)]
fn calling(inner: Inner) -> usize {
    inner() + 1
}

/// The same with its statements.
#[profiled]
#[inline(never)]
fn stating(inner: Inner) -> usize {
    inner() + 1
}

/// The same without a trace.
#[inline(never)]
fn plain(inner: Inner) -> usize {
    inner() + 1
}

/// As large as a function may be that the compiler makes a part of two callers.
#[traced]
fn mixed(mut value: usize) -> usize {
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
    value = value.wrapping_mul(5) ^ value >> 9;
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
    value = value.wrapping_mul(9) ^ value >> 5;
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
    value = value.wrapping_mul(7) ^ value >> 3;
    value
}

/// Calls it twice.
#[inline(never)]
fn mixing(value: usize) -> usize {
    mixed(value) ^ mixed(!value)
}

/// A block of two statements, as `#[profiled]` inserts it.
#[inline(never)]
fn block(inner: Inner) -> usize {
    let statements = calls::__statements!(
        calls::__site!("traced.rs" [1, 1, 0, 0]),
        [[1, 1, 0, 0], [2, 1, 0, 0]]
    );
    let mut block = calls::__private::block(statements, 0);
    let first = inner();
    block.at(1);
    first + inner()
}

/// The example keeps functions that nobody calls.
#[used]
static KEPT: [fn(Inner) -> usize; 4] = [calling, stating, plain, block];

fn main() {
    black_box(mixing(known(black_box(1))) + calling(|| 2) + plain(|| 3) + block(|| 4));
}
