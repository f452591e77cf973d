//! Small scenes with a known meaning: calls, work for another path, tries, a triangle.
//!
//! ```text
//!  who waits for whom, by hand ──▶ Made
//! ```
//!
//! Design: `.waits.stack` in `design/waits.md`.

use super::{ASLEEP, HARD, Made, THREAD};

/// Nanoseconds of a microsecond.
pub(crate) const US: u64 = 1000;

/// Thread 2 begins to work `early` before thread 1 waits, and wakes it after 1 ms; it then goes on
/// for `late` after thread 1 runs again.
pub(crate) fn helped(early: u64, late: u64) -> Made {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).switch(1, 1000 * US - early, 0, 2, 0);
    made.switch(0, 1000 * US, 1, 0, ASLEEP).waking(1, 2000 * US, 2, 1, THREAD);
    made.switch(0, 2010 * US, 0, 1, 0).switch(1, 2010 * US + late, 2, 0, ASLEEP);
    made.switch(0, 3000 * US, 1, 0, ASLEEP);
    made
}

/// Two threads pass work to each other, `count` times, 200 µs each, on two processors.
pub(crate) fn pass(count: u64) -> Made {
    let mut made = Made::new();
    made.there(0, 1, 1, ASLEEP).there(0, 2, 2, ASLEEP).switch(0, 200 * US, 0, 1, 0);
    for n in 1..=count {
        let (from, to) = if n % 2 == 1 { (1, 2) } else { (2, 1) };
        let (cpu, other) = (from - 1, to - 1);
        let at = (n + 1) * 200 * US;
        made.waking(cpu, at, from, to, THREAD).switch(other, at + 5 * US, 0, to, 0);
        made.switch(cpu, at + 10 * US, from, 0, ASLEEP);
    }
    made
}

/// Thread 1 polls with a timeout of 1 ms, five times; then thread 2 wakes it.
pub(crate) fn polled() -> Made {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).call(0, 900 * US, 1, 7, 0x1000).switch(1, 1000 * US, 0, 2, 0);
    made.switch(0, 1000 * US, 1, 0, ASLEEP);
    for n in 2..7 {
        made.timeout(0, n * 1000 * US, 1).switch(0, n * 1000 * US, 0, 1, 0);
        made.switch(0, n * 1000 * US + 50 * US, 1, 0, ASLEEP);
    }
    made.waking(1, 6500 * US - 1, 2, 1, THREAD).switch(0, 6500 * US, 0, 1, 0);
    made.switch(1, 6510 * US, 2, 0, ASLEEP).switch(0, 7000 * US, 1, 0, ASLEEP);
    made
}

/// Thread 1 calls 2, which calls 3, which answers to 1. Thread 3 slept for long; with `is_busy` it
/// worked for itself when it was called.
pub(crate) fn triangle(is_busy: bool) -> Made {
    let mut made = Made::new();
    made.there(0, 2, 2, ASLEEP).there(0, 3, 3, ASLEEP).switch(0, 1000 * US, 0, 1, 0);
    if is_busy {
        made.waking(1, 1500 * US, 0, 3, HARD).switch(2, 1500 * US, 0, 3, 0);
    }
    made.waking(0, 2000 * US, 1, 2, THREAD).switch(1, 2010 * US, 0, 2, 0);
    made.switch(0, 2020 * US, 1, 0, ASLEEP);
    made.waking(1, 3000 * US, 2, 3, THREAD);
    if !is_busy {
        made.switch(2, 3010 * US, 0, 3, 0);
    }
    made.switch(1, 3020 * US, 2, 0, ASLEEP).waking(2, 4000 * US, 3, 1, THREAD);
    made.switch(0, 4010 * US, 0, 1, 0).switch(2, 4020 * US, 3, 0, ASLEEP);
    made.switch(0, 5000 * US, 1, 0, ASLEEP);
    made
}
