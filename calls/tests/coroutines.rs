//! Statements in coroutines with stacks of their own: a clock and sums for each stack.
//!
//! ```text
//!  switch ─ block … ─ switch ─ others run ─ switch ─ … the block ends    its time lacks the others
//! ```
//!
//! Coroutines are played by hand: a block is a value, so it may stay open on a stack that is left.
//! Design: `.statements.async` in `design/statements.md`.
#![forbid(unsafe_code)]

mod common;
#[macro_use]
#[path = "common/sums.rs"]
mod sums;

use calls::__private::block;
use common::ran;
use std::thread::sleep;
use std::time::Duration;
use sums::{TIME, rate, sums, tell_rate};

fn leaf() {
    let _block = block(statements!(30), 0);
}

/// Ten statements, each in the one before.
fn nested(depth: u32) {
    let _block = block(statements!(10), 0);
    if depth > 1 {
        nested(depth - 1);
    }
}

#[test]
fn a_coroutine_that_waits_takes_no_time() {
    let of_coroutine = std::ptr::without_provenance::<u8>(0x1000);
    let own = std::ptr::null::<u8>();
    let what = || {
        tell_rate();
        let mut around = block(statements!(100 101), 0);
        let mine = calls::switch(of_coroutine, calls::Current::default());
        let mut inside = block(statements!(110 111), 0);
        leaf();
        sleep(Duration::from_millis(100));
        let left = calls::switch(own, mine);
        around.at(1);
        nested(10);
        sleep(Duration::from_millis(300));
        let mine = calls::switch(of_coroutine, left);
        inside.at(1);
        leaf();
        drop(inside);
        calls::switch(own, mine);
        drop(around);
    };
    let name = "a_coroutine_that_waits_takes_no_time";
    let Some(ran) = ran(name, &[TIME], what) else { return };
    let (sums, rate) = (sums(&ran.log()), rate(&ran.stderr));
    let of = |line: u32| {
        let name = sums.keys().find(|name| name.ends_with(&format!(":{line}:1"))).unwrap();
        sums[name]
    };
    let ms = |ticks: u64| ticks as f64 * 1e3 / rate;
    // What waits, waits for longer than what runs takes, even on a loaded machine.
    assert!((99.0..250.0).contains(&ms(of(110).total)), "{} ms", ms(of(110).total));
    assert!(ms(of(111).total) < 50.0, "{} ms", ms(of(111).total));
    // The time of a coroutine is not that of the statement that resumed it.
    assert!(ms(of(100).total) < 50.0, "{} ms", ms(of(100).total));
    assert!((299.0..450.0).contains(&ms(of(101).total)), "{} ms", ms(of(101).total));
    // Nor are its statements, or those that run while it waits.
    assert_eq!([110, 111].map(|line| (of(line).timed, of(line).beneath)), [(1, 1); 2]);
    assert_eq!((of(100).beneath, of(101).timed), (0, 1));
    assert_eq!((of(10).timed, of(101).beneath), (10, 10));
}

/// Three coroutines run in turn, each with statements in one another.
#[test]
fn own_times_across_coroutines_add_up_to_the_time_of_the_thread() {
    let what = || {
        tell_rate();
        let _around = block(statements!(120), 0);
        let mut left = [calls::Current::default(); 3];
        let mut open: [Vec<_>; 3] = Default::default();
        let mut random = 7u64;
        for step in 0..300 {
            let at = step % 3;
            let context = std::ptr::without_provenance::<u8>(0x1000 * (at + 1));
            let mine = calls::switch(context, left[at]);
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            if open[at].is_empty() || random >> 63 == 0 && open[at].len() < 9 {
                open[at].push(block(statements!(130), 0));
            } else if open[at].len() > 1 {
                open[at].pop();
            }
            sleep(Duration::from_micros(500));
            left[at] = calls::switch(std::ptr::null::<u8>(), mine);
            sleep(Duration::from_micros(100));
        }
        for at in 0..3 {
            let mine = calls::switch(std::ptr::without_provenance::<u8>(1), left[at]);
            while open[at].pop().is_some() {}
            calls::switch(std::ptr::null::<u8>(), mine);
        }
    };
    let begin = std::time::Instant::now();
    let name = "own_times_across_coroutines_add_up_to_the_time_of_the_thread";
    let Some(ran) = ran(name, &[TIME], what) else { return };
    let (sums, rate) = (sums(&ran.log()), rate(&ran.stderr));
    let seconds = |ticks: u64| ticks as f64 / rate;
    let of = |line: &str| *sums.iter().find(|(name, _)| name.ends_with(line)).unwrap().1;
    let (around, inside) = (of(":120:1"), of(":130:1"));
    assert_eq!(inside.timed, inside.count);
    // Sleeps never end early, and the process took longer than all of its statements.
    assert!(seconds(inside.own) >= 0.150 && seconds(around.own) >= 0.030);
    assert!(seconds(inside.own + around.own) < begin.elapsed().as_secs_f64());
    assert!(around.own == around.total && inside.own < inside.total);
}

/// The statements that are open in a coroutine when it goes to another thread are not timed, not
/// even if it comes back.
#[test]
fn a_coroutine_that_was_elsewhere_is_not_timed() {
    let what = || {
        let of_coroutine = || std::ptr::without_provenance::<u8>(0x1000);
        let own = std::ptr::null::<u8>;
        leaf();
        let mine = calls::switch(of_coroutine(), calls::Current::default());
        let mut here = block(statements!(140 141), 0);
        let left = calls::switch(own(), mine);
        let there = move || {
            leaf();
            let mine = calls::switch(of_coroutine(), left);
            let there = block(statements!(142), 0);
            leaf();
            let left = calls::switch(own(), mine);
            leaf();
            (there, left)
        };
        let (there, left) = std::thread::spawn(there).join().unwrap();
        let mine = calls::switch(of_coroutine(), left);
        drop(there);
        here.at(1);
        drop(here);
        calls::switch(own(), mine);
    };
    let name = "a_coroutine_that_was_elsewhere_is_not_timed";
    let Some(ran) = ran(name, &[TIME], what) else { return };
    let sums = sums(&ran.log());
    let of = |line: &str| *sums.iter().find(|(name, _)| name.ends_with(line)).unwrap().1;
    assert_eq!([":140:1", ":142:1"].map(|line| (of(line).count, of(line).timed)), [(1, 0); 2]);
    assert_eq!((of(":141:1").count, of(":141:1").timed, of("leaf:30:1").timed), (1, 1, 4));
}
