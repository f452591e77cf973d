//! A statement of known length within 1 to 64 statements.
//!
//! ```text
//!  around ─ nest ─ nest ─ … ─ work        depth: the statements around the work
//! ```

use crate::Subject;
use calls::profiled;
use std::hint::black_box;
use std::time::Instant;

const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The lengths of the work, in ns.
const LENGTHS: [f64; 2] = [500.0, 5000.0];

/// Works for a number of turns, of about a ns each.
#[inline(never)]
fn work(turns: u32) {
    let mut value = turns;
    for _ in 0..turns {
        value = black_box(value.wrapping_mul(31));
    }
}

#[profiled]
#[inline(never)]
fn around(depth: u32, turns: u32) {
    nest(depth - 1, turns);
}

#[profiled]
#[inline(never)]
fn nest(depth: u32, turns: u32) {
    match depth {
        0 => work(turns),
        _ => nest(depth - 1, turns),
    }
}

/// The same without the attribute.
#[inline(never)]
fn plain_around(depth: u32, turns: u32) {
    plain_nest(depth - 1, turns);
}

#[inline(never)]
fn plain_nest(depth: u32, turns: u32) {
    match depth {
        0 => work(turns),
        _ => plain_nest(depth - 1, turns),
    }
    // No tail call: the profiled one has none.
    black_box(depth);
}

/// Returns the turns of some ns of work: by the quickest of many attempts.
fn turns_of(ns: f64) -> u32 {
    const TURNS: u32 = 10_000;
    let time = || {
        let begin = Instant::now();
        work(TURNS);
        begin.elapsed().as_nanos() as f64
    };
    let quickest = (0..200).map(|_| time()).fold(f64::INFINITY, f64::min);
    (ns / quickest * f64::from(TURNS)) as u32
}

pub(crate) fn subjects() -> Vec<Subject> {
    let subject = |ns: f64, depth: u32| {
        let turns = turns_of(ns);
        Subject {
            name: format!("{} µs at depth {depth}", ns / 1000.0),
            function: "::around",
            profiled: Box::new(move || around(depth, turns)),
            plain: Box::new(move || plain_around(depth, turns)),
            has_target: true,
        }
    };
    LENGTHS.iter().flat_map(|ns| DEPTHS.map(|depth| subject(*ns, depth))).collect()
}
