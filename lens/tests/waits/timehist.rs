//! The model next to `perf sched timehist`: wait, delay and run of each run, to 1 µs.
//!
//! ```text
//!  tests/golden/waits/timehist.txt: rows of a real recording, and what perf says ──▶ equal
//! ```
//!
//! `tests/waits/timehist.py` makes the file. Design: `.waits.model` in `design/waits.md`.

use super::made;

use lens::waits::events::kernel::Woken;
use lens::waits::model::{Cause, What};
use made::*;

const GOLDEN: &str = include_str!("../golden/timehist.txt");
/// The context of a waker that the text does not tell.
const UNKNOWN: u32 = 4;

/// What perf says of a run: when it ended, thread, wait, delay, run; in µs.
type Told = [u64; 5];

fn numbers(line: &str) -> Vec<u64> {
    line.split(' ').skip(1).map(|word| word.parse().unwrap()).collect()
}

#[test]
fn runs_waits_and_delays_are_those_of_perf_sched_timehist() {
    let (mut made, mut told): (Made, Vec<Told>) = (Made::new(), Vec::new());
    for line in GOLDEN.lines() {
        let row = numbers(line);
        let number = |at: usize| row[at] as u32;
        match line.chars().next() {
            Some('S') => made.switch(number(0), row[1], number(2), number(3), number(4)),
            Some('W') => made.waking(number(0), row[1], number(2), number(3), UNKNOWN),
            Some('N') => made.add(number(0), row[1], Woken { target: number(2), cpu: 0 }),
            Some('F') => made.fork(number(0), row[1], number(2), number(3), 0),
            _ => {
                told.push(row.try_into().unwrap());
                continue;
            }
        };
    }
    let model = made.model();
    check_tiling(&model);
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (life, own) in (0..).zip(&model.lives) {
        let all = model.of_life(life);
        for (at, (_, run)) in all.iter().enumerate() {
            if run.what == What::Unknown {
                missing.push((run.end / 1000, own.thread));
            }
            // A run that is open at the end has no row.
            let is_over = at + 1 < all.len() || own.is_ended;
            if run.what != What::Run || !is_over {
                continue;
            }
            let wait = at.checked_sub(1).map(|before| all[before].1);
            let wait = wait.filter(|wait| wait.what == What::Wait && wait.ns() > 0);
            let is_delayed = |wait: &&lens::waits::model::Stretch| wait.cause != Cause::Preempted;
            let delay = wait.filter(is_delayed).map_or(0, |wait| wait.delay());
            // Perf does not count the wait of a new thread: it has not run before.
            let known = wait.filter(|wait| wait.before != lens::waits::model::NONE);
            let wait = known.map_or(0, |wait| wait.ns());
            let us = [wait, delay, run.ns()].map(|ns| ns as f64 / 1000.0);
            // Perf counts a run from the first switch of its processor on.
            let is_first = at == 0;
            found.push((run.end / 1000, own.thread, us, is_first));
        }
    }
    found.sort_by_key(|(end, thread, ..)| (*end, *thread));
    let (mut count, mut unknown) = (0, 0);
    for [end, thread, wait, delay, run] in told {
        let at = found.binary_search_by_key(&(end, thread as u32), |own| (own.0, own.1));
        // The text of perf lacks some switches to a thread: the model knows that it does not know.
        // Before the first switch of a processor perf knows nothing, and says zero.
        if at.is_err() && missing.contains(&(end, thread as u32)) || [wait, delay, run] == [0; 3] {
            unknown += 1;
            continue;
        }
        let at = at.unwrap_or_else(|_| panic!("perf alone has a run of {thread} until {end}"));
        let (_, _, own, is_first) = found[at];
        let expected = [wait, delay, if is_first { own[2] as u64 } else { run }];
        let is_same = |(own, expected): (&f64, &u64)| (own - *expected as f64).abs() <= 1.0;
        let are_same = own.iter().zip(&expected).all(is_same);
        assert!(are_same, "{thread} until {end}: {own:?}, not {expected:?}");
        count += 1;
    }
    assert!(count > 900 && unknown <= 10, "{count} {unknown}");
}
