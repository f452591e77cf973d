//! What statements leave in the log: counts, times, and how they are switched.
//!
//! ```text
//!  a process: blocks ─▶ mpsio.log ─▶ StatementSum: the last one of each statement and table
//! ```
//!
//! Blocks stand here as `#[profiled]` inserts them. Design: `design/statements.md`.
#![forbid(unsafe_code)]

mod common;
#[macro_use]
#[path = "common/sums.rs"]
mod sums;

use calls::__private::block;
use calls::profile::{self, Mode};
use common::{Ran, each, ran};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread::sleep;
use std::time::Duration;
use sums::{COUNT, Sum, TIME, TRACE, counts, rate, sums, tell_rate};

const MS_5: Duration = Duration::from_millis(5);

fn sleeps() {
    let statements = statements!(1 2);
    let mut block = block(statements, 0);
    sleep(MS_5);
    block.at(1);
    std::hint::black_box(0);
}

/// K1: more than a count: the time of a statement. No tool bounds a sleep from above on a loaded
/// machine, so the shortest of some is taken.
#[test]
fn a_statement_that_sleeps_has_its_time() {
    let what = || {
        tell_rate();
        (0..40).for_each(|_| sleeps());
    };
    let Some(ran) = ran("a_statement_that_sleeps_has_its_time", &[TIME], what) else { return };
    let sums = sums(&ran.log());
    let (slept, after) = (sums["sleeps:1:1"], sums["sleeps:2:1"]);
    let ms = |ticks: u64| ticks as f64 * 1e3 / rate(&ran.stderr);
    assert!((4.95..6.0).contains(&ms(slept.shortest)), "{} ms", ms(slept.shortest));
    assert!(ms(after.shortest) < 1.0, "{} ms", ms(after.shortest));
    assert!(slept.shortest <= slept.longest && slept.total >= 40 * slept.shortest);
    assert_eq!((slept.count, slept.timed, after.count, after.timed), (40, 40, 40, 40));
    assert_eq!((slept.own, slept.beneath, slept.blocks), (slept.total, 0, 0));
}

fn leaf() {
    let _block = block(statements!(30), 0);
}

fn nested(count: u64) {
    let statements = statements!(10 11 12 13);
    let mut block = block(statements, 0);
    let mut i = 0;
    block.at(1);
    while i < count {
        let mut block = calls::__private::block(statements, 2);
        leaf();
        block.at(3);
        i += 1;
    }
}

/// K8: a statement contains those in its blocks and those of the functions that it calls.
#[test]
fn own_time_is_the_time_without_statements_in_it() {
    let what = || nested(1000);
    let name = "own_time_is_the_time_without_statements_in_it";
    let Some(ran) = ran(name, &[TIME], what) else { return };
    let sums = sums(&ran.log());
    let [first, around, call, add, leaf] =
        ["nested:10:1", "nested:11:1", "nested:12:1", "nested:13:1", "leaf:30:1"]
            .map(|name| sums[name]);
    assert_eq!((first.count, around.count, call.count), (1, 1, 1000));
    assert_eq!((add.count, leaf.timed), (1000, 1000));
    assert_eq!(around.own, around.total - call.total - add.total);
    assert_eq!(call.own, call.total - leaf.total);
    assert_eq!((leaf.own, add.own), (leaf.total, add.total));
    assert_eq!((around.beneath, around.blocks, around.direct), (3000, 2000, 1000));
    assert_eq!((call.beneath, call.blocks, call.direct), (1000, 1000, 1000));
    assert_eq!((leaf.beneath, leaf.blocks, leaf.direct), (0, 0, 0));
    // K2: the average is exact, because it is made when reading.
    assert!(call.shortest * 1000 <= call.total && call.total <= call.longest * 1000);
}

/// One macro makes functions that are equal, except their names.
macro_rules! made {
    ($($name:ident)*) => {
        $(
            #[calls::profiled]
            #[inline(never)]
            fn $name() {
                std::hint::black_box(0);
            }
        )*
    };
}

made! { made_once made_twice made_thrice }

/// Each function has statements of its own, also where a macro makes several in one place.
#[test]
fn functions_of_one_macro_have_sums_of_their_own() {
    let name = "functions_of_one_macro_have_sums_of_their_own";
    let what = || {
        for function in [made_once, made_twice, made_twice, made_thrice, made_thrice, made_thrice] {
            function();
        }
    };
    let Some(ran) = ran(name, &[COUNT], what) else { return };
    let counts: Vec<(String, u64)> = sums(&ran.log())
        .into_iter()
        .filter(|(label, _)| label.contains("made_"))
        .map(|(label, sum)| (label.split(':').next().unwrap().to_owned(), sum.count))
        .collect();
    let expected = [("made_once", 1), ("made_thrice", 3), ("made_twice", 2)];
    assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)));
}

/// The modes, in one run of a program.
fn switched() {
    assert_eq!(profile::mode(), Mode::Off);
    leaf();
    profile::set(Mode::Count);
    leaf();
    leaf();
    profile::set(Mode::Time);
    leaf();
    profile::set(Mode::Trace);
    leaf();
    assert_eq!(profile::mode(), Mode::Trace);
    profile::set(Mode::Off);
    leaf();
    profile::set(Mode::Count);
    leaf();
}

/// K12: the modes are switched while the program runs, and sums go on from those so far.
#[test]
fn modes_are_switched_at_run_time() {
    let name = "modes_are_switched_at_run_time";
    let Some(ran) = ran(name, &[], switched) else { return };
    let (log, mut traced) = (ran.log(), Vec::new());
    let leaf = sums(&log)["leaf:30:1"];
    assert_eq!((leaf.count, leaf.timed), (5, 2));
    each(&log, |event| {
        if matches!(event.name(), "StatementEnter" | "StatementLeave") {
            traced.push(event.name().to_owned());
        }
    });
    assert_eq!(traced, ["StatementEnter", "StatementLeave"]);
    assert_eq!(counts(&log), ["leaf:30:1 5"]);
    // Those that never ran are known, too.
    assert!(common::sources(&log).contains_key("sleeps:2:1"));
}

/// A block that is open while the mode changes.
fn straddles(modes: &[Mode]) {
    let statements = statements!(50 51 52 53);
    let mut block = block(statements, 0);
    for (at, mode) in modes.iter().enumerate() {
        profile::set(*mode);
        block.at(1 + at);
    }
}

#[test]
fn an_execution_across_a_switch_is_not_timed() {
    let name = "an_execution_across_a_switch_is_not_timed";
    let what = || straddles(&[Mode::Time, Mode::Count, Mode::Time]);
    let Some(ran) = ran(name, &[COUNT], what) else { return };
    let sums = sums(&ran.log());
    let of = |line: u32| {
        let sum = sums[&format!("straddles:{line}:1")];
        (sum.count, sum.timed)
    };
    assert_eq!([of(50), of(51), of(52), of(53)], [(1, 0), (1, 0), (1, 0), (1, 1)]);
}

/// K12: *clear all*.
#[test]
fn a_reset_empties_all_sums_in_the_log_too() {
    let name = "a_reset_empties_all_sums_in_the_log_too";
    let what = || {
        std::thread::spawn(|| (0..7).for_each(|_| leaf())).join().unwrap();
        nested(3);
        telemetry::flush();
        let statements = statements!(60 61);
        let mut block = block(statements, 0);
        profile::reset();
        block.at(1);
        leaf();
    };
    let Some(ran) = ran(name, &[TIME], what) else { return };
    let log = ran.log();
    assert_eq!(counts(&log).len(), 2, "{:?}", counts(&log));
    let sums = sums(&log);
    let after = &sums[sums.keys().find(|name| name.ends_with(":61:1")).unwrap()];
    assert_eq!((after.count, after.timed, after.beneath), (1, 1, 1));
    assert_eq!((sums["leaf:30:1"].count, sums["leaf:30:1"].timed), (1, 1));
    assert_eq!(sums["nested:11:1"], Sum::default());
}

#[test]
fn the_environment_sets_the_mode() {
    let name = "the_environment_sets_the_mode";
    let run = |value: &str| ran(name, &[("MPS_TELEMETRY_PROFILE", value)], || nested(2));
    let Some(wrong) = run("tiem") else { return };
    assert_eq!(
        wrong.said(),
        ["telemetry: MPS_TELEMETRY_PROFILE: `tiem` is not a mode (off, count, time, trace); \
          statements are not profiled"]
    );
    assert_eq!(wrong.files(), [""; 0]);
    for off in ["off", "", " off "] {
        let off = run(off).unwrap();
        assert_eq!((off.said(), off.files()), (vec![], vec![]));
    }
    let counted = run("count").unwrap();
    let log = counted.log();
    assert_eq!(counts(&log).len(), 5);
    assert!(sums(&log).values().all(|sum| sum.timed == 0 && sum.squares == 0));
    each(&log, |event| assert_ne!(event.name(), "Calibration"));
}

/// Threads that meet their first block at once miss nothing while one of them switches.
#[test]
fn a_trace_has_the_first_statements_of_all_threads() {
    let name = "a_trace_has_the_first_statements_of_all_threads";
    let what = || {
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    nested(500);
                });
            }
        });
    };
    let Some(ran) = ran(name, &[TRACE], what) else { return };
    let log = ran.log();
    let (mut begun, mut ended) = (0, 0);
    each(&log, |event| match event.name() {
        "StatementEnter" => begun += 1,
        "StatementLeave" => ended += 1,
        _ => {}
    });
    let count: u64 = sums(&log).values().map(|sum| sum.count).sum();
    assert_eq!(count, 4 * (2 + 3 * 500));
    assert_eq!((begun, ended), (count, count));
}

/// The recorder measures its own cost.
#[test]
fn timing_begins_with_a_calibration() {
    let name = "timing_begins_with_a_calibration";
    let run = |mode| ran(name, &[mode], || nested(2));
    let Some(timed) = run(TIME) else { return };
    for (ran, mode) in [(timed, 2), (run(TRACE).unwrap(), 3)] {
        let mut last = None;
        each(&ran.log(), |event| {
            if event.name() == "Calibration" {
                let cost = |name| event.param(name).unwrap().as_f64().unwrap();
                last = Some(["mode", "inner", "outer", "spread"].map(cost));
            }
        });
        let [told, inner, outer, spread] = last.expect("it is in the log");
        assert_eq!(told, f64::from(mode));
        assert!(inner > 0.0 && outer >= 0.0 && spread >= 0.0, "{inner} {outer} {spread}");
        assert!(inner < 1e5 && outer < 1e5, "{inner} {outer}");
        let log = ran.log();
        assert_eq!(sums(&log).len(), 5, "the recorder's own statements are in no log");
    }
}

/// A function in itself, two blocks a level, and one with statements in a row; none of them works.
macro_rules! idle {
    ($module:ident, $(#[$attribute:meta])?) => {
        mod $module {
            $(#[$attribute])?
            #[inline(never)]
            pub(super) fn nest(depth: usize) {
                if depth > 0 {
                    nest(depth - 1);
                }
            }

            $(#[$attribute])?
            #[inline(never)]
            pub(super) fn row() {
                use std::hint::black_box;
                black_box(1);
                black_box(2);
                black_box(3);
                black_box(4);
                black_box(5);
                black_box(6);
                black_box(7);
                black_box(8);
            }
        }
    };
}

idle! { idle, #[calls::profiled] }
idle! { plain, }

/// The calibrations of a run: inner, outer, spread, and that of blocks.
fn calibrations(ran: &Ran) -> Vec<[f64; 4]> {
    let mut told = Vec::new();
    each(&ran.log(), |event| {
        if event.name() == "Calibration" {
            let cost = |name| event.param(name).unwrap().as_f64().unwrap();
            told.push(["inner", "outer", "spread", "blockSpread"].map(cost));
        }
    });
    told
}

/// The median of each column. The processor's speed changes from one round to the next, on a
/// machine that others use too.
fn medians<const N: usize>(rows: &[[f64; N]]) -> [f64; N] {
    std::array::from_fn(|at| {
        let mut column: Vec<f64> = rows.iter().map(|row| row[at]).collect();
        column.sort_by(f64::total_cmp);
        column[column.len() / 2]
    })
}

/// The costs that the recorder measures, times the blocks and the statements, are what a program
/// pays for them. The least of many counts on both sides of a round, since what else the machine
/// does adds to them; and the median of the rounds.
#[test]
fn the_calibrated_costs_are_those_that_are_paid() {
    const DEPTH: usize = 20;
    const BLOCK_COUNT: f64 = 2.0 * DEPTH as f64 + 1.0;
    const MORE_COUNT: f64 = 7.0;
    let name = "the_calibrated_costs_are_those_that_are_paid";
    let what = || {
        tell_rate();
        let time = |code: &dyn Fn()| {
            let begin = std::time::Instant::now();
            (0..4).for_each(|_| code());
            begin.elapsed().as_nanos() as f64 / 4.0
        };
        let least = |code: &dyn Fn()| (0..40).map(|_| time(code)).fold(f64::INFINITY, f64::min);
        for _ in 0..20 {
            profile::set(Mode::Off);
            profile::set(Mode::Time);
            let nest = least(&|| idle::nest(DEPTH)) - least(&|| plain::nest(DEPTH));
            eprintln!("paid {nest} {}", least(&idle::row) - least(&plain::row));
        }
    };
    let Some(ran) = ran(name, &[], what) else { return };
    let ticks = rate(&ran.stderr) / 1e9;
    let paid = ran.stderr.lines().filter_map(|line| line.strip_prefix("paid ")).map(|line| {
        let (nest, row) = line.split_once(' ').unwrap();
        let block = nest.parse::<f64>().unwrap() * ticks / BLOCK_COUNT;
        [block, (row.parse::<f64>().unwrap() * ticks - block) / MORE_COUNT]
    });
    let paid: Vec<[f64; 2]> = paid.collect();
    let told = calibrations(&ran);
    assert!(told.len() >= paid.len(), "{} calibrations", told.len());
    let ([inner, outer, spread, block_spread], [block, boundary]) =
        (medians(&told), medians(&paid));
    let said = format!(
        "{inner} ± {spread}, {outer}, block ± {block_spread}; paid: {block} a block, {boundary} a \
         boundary"
    );
    // Within the error bar, and a fifth.
    assert!((inner + outer - block).abs() <= block_spread + 0.2 * block, "{said}");
    assert!((inner - boundary).abs() <= spread + 0.2 * boundary, "{said}");
}

/// What else runs on the machine changes how well the costs are known only by a little: a batch
/// that loses its processor takes ten thousand times as long.
#[test]
fn a_busy_machine_does_not_blur_the_costs() {
    const ROUND_COUNT: usize = 20;
    let name = "a_busy_machine_does_not_blur_the_costs";
    let what = || {
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let order = std::sync::atomic::Ordering::Relaxed;
        let threads = 4 * std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while !is_over.load(order) {
                        std::hint::spin_loop()
                    }
                });
            }
            sleep(Duration::from_millis(20));
            for _ in 0..ROUND_COUNT {
                profile::set(Mode::Off);
                profile::set(Mode::Time);
            }
            is_over.store(true, order);
        });
    };
    let Some(ran) = ran(name, &[], what) else { return };
    let told = calibrations(&ran);
    assert!(told.len() >= ROUND_COUNT, "{told:?}");
    let [inner, outer, spread, blocks] = medians(&told);
    assert!(0.0 < spread && spread < inner, "{told:?}");
    assert!(0.0 < blocks && blocks < inner + outer, "{told:?}");
}

#[test]
fn the_filter_excludes_statements() {
    let name = "the_filter_excludes_statements";
    let environment = [TIME, ("MPS_TELEMETRY_CALLS", "-*nested")];
    let Some(ran) = ran(name, &environment, || nested(4)) else { return };
    let log = ran.log();
    assert_eq!(counts(&log), ["leaf:30:1 4"]);
    let known = common::sources(&log);
    assert!(known.contains_key("leaf:30:1") && !known.contains_key("nested:10:1"));
    let mut told = Vec::new();
    each(&log, |event| {
        if event.name() == "Intern" {
            let string = event.params().find_map(|(_, value)| value.as_str().map(str::to_owned));
            told.extend(string);
        }
    });
    assert!(told.iter().any(|text| text == "MPS_TELEMETRY_CALLS=-*nested"), "{told:?}");
}

/// A future that is ready when it is polled again.
struct Later(bool);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

async fn waits() {
    let statements = statements!(waits 70);
    let others = statements!(71 72);
    let mut around = block(others, 0);
    let inner = block(statements, 0);
    Later(false).await;
    drop(inner);
    around.at(1);
    leaf();
}

/// A block goes on in another thread.
#[test]
fn a_block_moves_between_threads() {
    let name = "a_block_moves_between_threads";
    let what = || {
        tell_rate();
        for _ in 0..100 {
            let mut future: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(waits());
            let poll = move || {
                let mut context = Context::from_waker(Waker::noop());
                (future.as_mut().poll(&mut context).is_ready(), future)
            };
            let (is_ready, mut future) = poll();
            assert!(!is_ready);
            sleep(Duration::from_millis(1));
            let there = move || {
                let mut context = Context::from_waker(Waker::noop());
                future.as_mut().poll(&mut context).is_ready()
            };
            assert!(std::thread::spawn(there).join().unwrap());
        }
    };
    let Some(ran) = ran(name, &[TIME], what) else { return };
    let sums = sums(&ran.log());
    let of = |line: u32| {
        let name = sums.keys().find(|name| name.ends_with(&format!(":{line}:1"))).unwrap();
        sums[name]
    };
    let waiting = of(70);
    let ms = |ticks: u64| ticks as f64 * 1e3 / rate(&ran.stderr);
    assert!(waiting.waits && !of(71).waits);
    assert_eq!((waiting.count, waiting.timed, waiting.own, waiting.beneath), (100, 100, 0, 0));
    assert!(ms(waiting.shortest) >= 0.9, "{}", ms(waiting.shortest));
    // What began on another thread is not timed, because each thread has its own clock.
    assert_eq!((of(71).count, of(71).timed, of(71).own), (100, 0, 0));
    assert_eq!((of(72).count, of(72).timed, of(72).beneath), (100, 100, 100));
}

/// K11: a pause is in no open statement of its thread.
#[test]
fn a_pause_is_in_no_open_statement() {
    fn pauses() {
        let statements = statements!(80 81);
        let mut block = block(statements, 0);
        let pause = calls::pause();
        let inner = calls::pause();
        sleep(Duration::from_millis(150));
        // Statements in a pause count, and take no time.
        leaf();
        drop(inner);
        sleep(Duration::from_millis(150));
        drop(pause);
        block.at(1);
        sleep(MS_5);
    }
    fn around() {
        let _block = block(statements!(82), 0);
        pauses();
    }
    let what = || {
        tell_rate();
        let other = std::thread::spawn(|| {
            let _block = block(statements!(83), 0);
            sleep(Duration::from_millis(300));
        });
        around();
        other.join().unwrap();
    };
    let name = "a_pause_is_in_no_open_statement";
    let Some(ran) = ran(name, &[TIME], what) else { return };
    let (log, rate) = (ran.log(), rate(&ran.stderr));
    let sums = sums(&log);
    let ms = |line: u32| {
        let name = sums.keys().find(|name| name.ends_with(&format!(":{line}:1"))).unwrap();
        sums[name].total as f64 * 1e3 / rate
    };
    assert!(ms(80) < 50.0, "{} ms", ms(80));
    assert!((4.9..55.0).contains(&ms(81)) && ms(82) < 100.0, "{} {} ms", ms(81), ms(82));
    assert!(ms(83) > 295.0, "another thread's clock runs: {} ms", ms(83));
    assert_eq!((sums["leaf:30:1"].count, sums["leaf:30:1"].total), (1, 0));
    let mut pauses = Vec::new();
    each(&log, |event| {
        if event.name().starts_with("Pause") {
            pauses.push((event.name().to_owned(), event.ticks));
        }
    });
    let [(enter, from), (leave, to)] = &pauses[..] else { panic!("{pauses:?}") };
    assert_eq!((&**enter, &**leave), ("PauseEnter", "PauseLeave"));
    assert!((to - from) as f64 / rate > 0.299);
}

/// K11: the lens of calls needs the events, too.
#[test]
fn a_pause_is_told_where_calls_are_recorded() {
    let name = "a_pause_is_told_where_calls_are_recorded";
    let Some(ran) = ran(name, &[common::ON], || drop(calls::pause())) else { return };
    assert_eq!(common::lines_of_one(&ran.log()), ["PauseEnter", "PauseLeave"]);
}
