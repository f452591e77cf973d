//! The filter: patterns, thresholds, selections, and what they leave in the log.
//!
//! ```text
//!  MPS_TELEMETRY_CALLS=… ─▶ a process ─▶ mpsio.log ─▶ the calls that fit
//! ```
//!
//! Design: `.calls.filter` in `design/calls.md`.
#![forbid(unsafe_code)]

mod common;

use calls::traced;
use common::{ON, each, lines_of_one, ran, sources};
use std::time::Duration;

#[traced]
mod shop {
    use std::time::Duration;

    pub(crate) fn sell(rest: u32) -> u32 {
        hash(rest) + if rest == 0 { 0 } else { sell(rest - 1) }
    }

    pub(crate) fn hash(value: u32) -> u32 {
        value ^ 1
    }

    pub(crate) fn sleep(time: Duration) {
        std::thread::sleep(time);
        hash(1);
    }

    pub(crate) fn waits(time: Duration, pause: &dyn Fn()) {
        std::thread::sleep(time);
        pause();
    }

    pub(crate) fn fail() {
        hash(2);
        panic!("as asked for");
    }

    pub(crate) async fn poll() -> u32 {
        hash(6)
    }
}

/// Returns the number of lines that begin like this.
fn count(lines: &[String], begin: &str) -> usize {
    lines.iter().filter(|line| line.starts_with(begin)).count()
}

/// Returns the last count of muted calls of a function.
fn muted(lines: &[String], function: &str) -> usize {
    let mark = format!("CallsMuted {function} ");
    let last = lines.iter().rev().find_map(|line| line.strip_prefix(&mark));
    last.map_or(0, |count| count.parse().unwrap())
}

#[test]
fn excluded_functions_are_not_recorded() {
    let test = "excluded_functions_are_not_recorded";
    let filter = ("MPS_TELEMETRY_CALLS", "filter::shop::* -*hash");
    let Some(ran) = ran(test, &[ON, filter], || _ = shop::sell(1)) else { return };
    let expected = [
        "CallEnter shop::sell -",
        "CallEnter shop::sell shop::sell",
        "CallLeave shop::sell",
        "CallLeave shop::sell",
    ];
    assert_eq!(lines_of_one(&ran.log()), expected);
    assert_eq!(ran.said(), [""; 0]);
    // The log has the filter, so that nobody misses the function.
    let mut filters = Vec::new();
    each(&ran.log(), |event| {
        let string = event.param("string").and_then(|string| string.as_str().map(str::to_owned));
        filters.extend(string.filter(|string| string.starts_with("MPS_TELEMETRY_CALLS=")));
    });
    assert_eq!(filters, ["MPS_TELEMETRY_CALLS=filter::shop::* -*hash"]);
    // It does not look as if it was never called.
    let sources = sources(&ran.log());
    assert!(sources.contains_key("shop::sleep") && !sources.contains_key("shop::hash"));
}

#[test]
fn an_invalid_pattern_is_reported_once() {
    let test = "an_invalid_pattern_is_reported_once";
    let filter = ("MPS_TELEMETRY_CALLS", "*::sell *::hash>=soon");
    let Some(ran) = ran(test, &[ON, filter], || _ = shop::sell(1)) else { return };
    assert_eq!(count(&lines_of_one(&ran.log()), "CallEnter shop::sell"), 2);
    assert_eq!(
        ran.said(),
        ["telemetry: MPS_TELEMETRY_CALLS: `*::hash>=soon`: after `>=` comes a time: 500ns, \
             10us, 2ms or 1s; the rest is used"]
    );
}

#[test]
fn a_threshold_keeps_the_slow_calls() {
    let test = "a_threshold_keeps_the_slow_calls";
    let what = || {
        for time in [0, 20, 0, 20] {
            shop::sleep(Duration::from_millis(time));
        }
        shop::sell(0);
    };
    let filter = ("MPS_TELEMETRY_CALLS", "* *::sleep>=20ms *::sell>=100s");
    let Some(ran) = ran(test, &[ON, filter], what) else { return };
    let lines = lines_of_one(&ran.log());
    // A loaded machine may make a short sleep a long one.
    let slow: Vec<&String> = lines.iter().filter(|line| line.starts_with("CallSlow")).collect();
    assert!((2..=4).contains(&slow.len()), "{lines:?}");
    for line in slow {
        let elapsed = line.strip_prefix("CallSlow shop::sleep - ").unwrap();
        assert!(elapsed.parse::<u64>().unwrap() >= 20_000_000, "{line}");
    }
    assert_eq!(count(&lines, "CallEnter shop::hash shop::sleep"), 4);
    assert_eq!(count(&lines, "CallEnter shop::sleep"), 0);
    // A function without long calls does not look as if it was never called.
    assert_eq!(muted(&lines, "shop::sell"), 1, "{lines:?}");
}

/// K11: waiting for a person makes no call slow, and a slow call is as long as it is without.
#[test]
fn a_pause_is_in_no_slow_call() {
    let test = "a_pause_is_in_no_slow_call";
    let pauses = || {
        let _pause = calls::pause();
        let _inner = calls::pause();
        // Work of a tool that statements lack is in calls, outside of a pause alone.
        let _work = calls::profile::exclude();
        std::thread::sleep(Duration::from_secs(1));
    };
    let what = || {
        shop::waits(Duration::ZERO, &pauses);
        shop::waits(Duration::from_millis(600), &pauses);
        // A pause that the call does not contain.
        pauses();
        shop::waits(Duration::from_millis(600), &|| ());
        // The end comes in a pause.
        let pause = std::cell::Cell::new(None);
        shop::waits(Duration::from_millis(600), &|| {
            pause.set(Some(calls::pause()));
            std::thread::sleep(Duration::from_secs(1));
        });
    };
    let filter = ("MPS_TELEMETRY_CALLS", "*::waits>=500ms");
    let Some(ran) = ran(test, &[ON, filter], what) else { return };
    let lines = lines_of_one(&ran.log());
    let slow: Vec<u64> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("CallSlow shop::waits - "))
        .map(|elapsed| elapsed.parse().unwrap())
        .collect();
    assert_eq!(slow.len(), 3, "{lines:?}");
    assert!(slow.iter().all(|ns| (600_000_000..900_000_000).contains(ns)), "{slow:?}");
}

/// A call is as long as its stack ran: waiting in a coroutine makes no call slow.
#[test]
fn a_coroutine_that_waits_is_in_no_slow_call() {
    let test = "a_coroutine_that_waits_is_in_no_slow_call";
    let of_coroutine = || std::ptr::without_provenance::<u8>(0x1000);
    let own = std::ptr::null::<u8>;
    // Leaves the stack of a call for a second.
    let leaves = || {
        let left = calls::switch(own(), calls::Current::default());
        std::thread::sleep(Duration::from_secs(1));
        calls::switch(of_coroutine(), left);
    };
    let what = || {
        calls::switch(of_coroutine(), calls::Current::default());
        shop::waits(Duration::ZERO, &leaves);
        shop::waits(Duration::from_millis(600), &leaves);
        shop::waits(Duration::from_millis(600), &|| ());
    };
    let filter = ("MPS_TELEMETRY_CALLS", "*::waits>=500ms");
    let Some(ran) = ran(test, &[ON, filter], what) else { return };
    let lines = lines_of_one(&ran.log());
    let slow: Vec<u64> = lines
        .iter()
        .filter_map(|line| line.split_once("CallSlow shop::waits - "))
        .map(|(_, elapsed)| elapsed.parse().unwrap())
        .collect();
    assert_eq!(slow.len(), 2, "{lines:?}");
    assert!(slow.iter().all(|ns| (600_000_000..900_000_000).contains(ns)), "{slow:?}");
}

#[test]
fn a_selection_records_each_nth_call_with_all_in_it() {
    const CALLS: usize = 1000;
    let test = "a_selection_records_each_nth_call_with_all_in_it";
    let what = || {
        (0..CALLS).for_each(|_| shop::sleep(Duration::ZERO));
        shop::hash(0);
    };
    let filter = ("MPS_TELEMETRY_CALLS", "* *::sleep%64");
    let Some(ran) = ran(test, &[ON, filter], what) else { return };
    let lines = lines_of_one(&ran.log());
    let selected = CALLS.div_ceil(64);
    assert_eq!(count(&lines, "CallEnter shop::sleep -"), selected);
    assert_eq!(count(&lines, "CallLeave shop::sleep"), selected);
    assert_eq!(count(&lines, "CallEnter shop::hash shop::sleep"), selected);
    assert_eq!(count(&lines, "CallEnter shop::hash -"), 1);
    // At the exit all muted calls are told.
    assert_eq!(muted(&lines, "shop::sleep"), CALLS - selected);
    assert_eq!(muted(&lines, "shop::hash"), CALLS - selected);
}

/// One pattern for several functions: the calls in a selected call are recorded, also of itself.
/// The end of a muted call is a drop, which a panic runs, too.
#[test]
fn a_panic_out_of_a_muted_call_ends_the_muting() {
    let test = "a_panic_out_of_a_muted_call_ends_the_muting";
    let filter = ("MPS_TELEMETRY_CALLS", "*::fail%100 *::hash");
    let Some(ran) = ran(test, &[ON, filter], || {
        for _ in 0..3 {
            let _ = std::panic::catch_unwind(shop::fail);
            shop::hash(3);
        }
    }) else {
        return;
    };
    let lines = lines_of_one(&ran.log());
    // The first muted call is told at once, the second one at the exit.
    assert_eq!((count(&lines, "CallEnter shop::fail -"), muted(&lines, "shop::fail")), (1, 2));
    assert_eq!(count(&lines, "CallEnter shop::hash shop::fail"), 1);
    assert_eq!((count(&lines, "CallEnter shop::hash -"), muted(&lines, "shop::hash")), (3, 2));
}

#[test]
fn a_selection_takes_calls_that_it_fits_too() {
    let test = "a_selection_takes_calls_that_it_fits_too";
    let what = || {
        for _ in 0..5 {
            shop::sell(3);
        }
    };
    let filter = ("MPS_TELEMETRY_CALLS", "filter::shop::*%4");
    let Some(ran) = ran(test, &[ON, filter], what) else { return };
    let lines = lines_of_one(&ran.log());
    // The first and the fifth.
    assert_eq!(count(&lines, "CallEnter shop::sell -"), 2);
    assert_eq!(count(&lines, "CallEnter shop::sell shop::sell"), 2 * 3);
    assert_eq!(count(&lines, "CallEnter shop::hash shop::sell"), 2 * 4);
    assert_eq!(count(&lines, "CallLeave"), 2 * 8);
}

#[test]
fn a_selection_takes_whole_tasks() {
    let test = "a_selection_takes_whole_tasks";
    let what = || {
        for _ in 0..10 {
            let mut future = Box::pin(shop::poll());
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(future.as_mut().poll(&mut context).is_ready());
        }
    };
    let filter = ("MPS_TELEMETRY_CALLS", "* *::poll%5");
    let Some(ran) = ran(test, &[ON, filter], what) else { return };
    let lines = lines_of_one(&ran.log());
    assert_eq!(count(&lines, "TaskStart"), 2);
    assert_eq!(count(&lines, "TaskFinish"), 2);
    assert_eq!(count(&lines, "CallEnter shop::hash shop::poll"), 2);
    assert_eq!(count(&lines, "CallEnter shop::hash"), 2);
    assert_eq!(muted(&lines, "shop::hash"), 8);
}
