//! Statements: sums, traces, corrections, two runs; against a naive twin.
//!
//! ```text
//!  random executions ─┬─ Maker ──▶ log ── lens ──▶ sums, times by each method ─┐
//!                     └─ recursion, by the definitions ────────────────────────┴─ the same
//! ```
//!
//! Design: `design/statements.md`.

use super::events::{
    Calibration, CallEnter, CallLeave, PauseEnter, PauseLeave, StatementEnter, StatementLeave,
    StatementSum, Switch,
};
use eventdef::field::{A, P};
use eventdef::store::Source as Stated;
use eventlog::format::ClockSync;
use eventlog::reader::{Clock, Log};
use eventlog::writer::{Cause, Maker, Origin};
use lens::statements::{self, Match, Method, Statements, compare};
use proptest::prelude::*;

const METHODS: [Method; 4] = [Method::Raw, Method::Outer, Method::Leaves, Method::Calibrated];
/// Ticks, and their ns: 2 ns a tick.
const END: u64 = 1 << 40;

fn at(statement: usize) -> usize {
    0x7000 + statement * 16
}

fn sync(maker: &mut Maker<'_>, ticks: u64) {
    let realtime = 1_700_000_000_000_000_000 + ticks * 2;
    maker.sync(ClockSync { ticks, monotonic: ticks * 2, realtime, uncertainty: 0 }).unwrap();
}

fn begin(maker: &mut Maker<'_>, uuid: u8) {
    let mut origin = Origin::new();
    (origin.pid, origin.start, origin.uuid, origin.boot_id) = (47, 12, [uuid; 16], [1; 16]);
    maker.begin(&origin).unwrap();
    sync(maker, 1);
}

/// States the place of a statement: line, column, offset, size.
fn state(maker: &mut Maker<'_>, address: usize, function: &str, place: [u32; 4]) {
    let [line, column, offset, size] = place;
    let label = maker.intern(10, format!("{function}:{line}:{column}").as_bytes()).unwrap();
    maker.label(11, address as _, label).unwrap();
    let (address, file) = (A(address), b"src/shop.rs");
    maker.add(0, 0, 12, &Stated { address, line, column, offset, size, file }).unwrap();
}

fn log_of(make: impl FnOnce(&mut Maker<'_>)) -> Log {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    begin(&mut maker, 1);
    make(&mut maker);
    sync(&mut maker, END);
    maker.finish().unwrap();
    Log::from_source(bytes).unwrap()
}

fn add_costs(maker: &mut Maker<'_>, [inner, outer, spread, blocks]: [f64; 4]) {
    maker
        .add(2, 1, 20, &Calibration { mode: 3, inner, outer, spread, blockSpread: blocks })
        .unwrap();
}

fn read(log: &Log, method: Method) -> Statements {
    statements::read(log, &Clock::new(log), Some(method))
}

fn named(statements: &Statements, label: &str) -> u32 {
    statements.iter().find(|(_, facts)| &*facts.label == label).unwrap().0
}

/// Returns the sums of executions of these ticks, each its own.
fn sum(statement: usize, table: usize, times: &[usize]) -> StatementSum {
    let total = times.iter().sum();
    let square: u128 = times.iter().map(|ticks| (*ticks as u128).pow(2)).sum();
    StatementSum {
        statement: P(at(statement)),
        table,
        count: times.len(),
        timed: times.len(),
        total,
        own: total,
        shortest: times.iter().copied().min().unwrap_or(0),
        longest: times.iter().copied().max().unwrap_or(0),
        squaresLow: square as usize,
        squaresHigh: (square >> 64) as usize,
        beneath: 0,
        blocks: 0,
        direct: 0,
        waits: false,
    }
}

/// An execution: executions in it, each after some ticks of its own.
#[derive(Clone, Debug)]
struct Execution {
    statement: usize,
    inner: Vec<(u64, Execution)>,
    tail: u64,
}

/// Statements from this one on are in another function.
const OTHER: usize = 4;

/// What the definitions say of an execution.
#[derive(Clone, Copy, Debug, Default)]
struct Naive {
    total: u64,
    own: u64,
    beneath: u64,
    blocks: u64,
    direct: u64,
    leaves: u64,
}

impl Execution {
    /// Records it, and returns its end.
    fn record(&self, maker: &mut Maker<'_>, mut ticks: u64) -> u64 {
        let statement = P(at(self.statement));
        maker.add(1, 1, ticks, &StatementEnter { statement }).unwrap();
        for (wait, one) in &self.inner {
            ticks = one.record(maker, ticks + wait);
        }
        ticks += self.tail;
        maker.add(1, 1, ticks, &StatementLeave { statement }).unwrap();
        ticks
    }

    /// Adds what is known of it and of all in it to `all`.
    fn naive(&self, all: &mut Vec<(usize, Naive)>) -> Naive {
        let mut own = Naive { total: self.tail, own: self.tail, ..Naive::default() };
        for (at, (wait, one)) in self.inner.iter().enumerate() {
            let inner = one.naive(all);
            // A block goes on with a statement further down in the same function.
            let goes_on = at > 0 && {
                let before = self.inner[at - 1].1.statement;
                before < one.statement && (before < OTHER) == (one.statement < OTHER)
            };
            own.direct += u64::from(!goes_on);
            own.blocks += u64::from(!goes_on) + inner.blocks;
            (own.total, own.own) = (own.total + wait + inner.total, own.own + wait);
            own.beneath += 1 + inner.beneath;
            own.leaves += inner.leaves;
        }
        if own.beneath == 0 {
            own.leaves = own.total;
        }
        all.push((self.statement, own));
        own
    }
}

fn executions() -> impl Strategy<Value = Vec<Execution>> {
    let leaf = (0..6usize, 0..90u64);
    let leaf = leaf.prop_map(|(statement, tail)| Execution { statement, inner: vec![], tail });
    let tree = leaf.prop_recursive(5, 60, 6, |inner| {
        let inner = prop::collection::vec((0..9u64, inner), 1..6);
        (0..6usize, inner, 0..90u64).prop_map(|(statement, inner, tail)| Execution {
            statement,
            inner,
            tail,
        })
    });
    prop::collection::vec(tree, 1..8)
}

fn function(statement: usize) -> &'static str {
    if statement < OTHER { "shop::sell" } else { "shop::hash" }
}

const INNER: f64 = 3.25;
const OUTER: f64 = 7.5;
const SPREAD: f64 = 0.125;
const BLOCK_SPREAD: f64 = 0.375;

/// Returns the total and the own time of executions by a method, in ticks, and their errors.
fn expected(method: Method, all: &[Naive]) -> ([f64; 2], [f64; 2]) {
    let of = |value: fn(&Naive) -> u64| all.iter().map(value).sum::<u64>() as f64;
    let (timed, beneath, blocks) = (all.len() as f64, of(|one| one.beneath), of(|one| one.blocks));
    let (total, own, direct) = (of(|one| one.total), of(|one| one.own), of(|one| one.direct));
    let (inside, leaf) =
        (
            beneath * INNER + blocks * OUTER,
            |one: &Naive| if one.beneath == 0 { one.total } else { 0 },
        );
    match method {
        Method::Raw => ([total, own], [0.0; 2]),
        Method::Outer => {
            ([total - inside, own - direct * OUTER].map(|value| value.max(0.0)), [0.0; 2])
        }
        Method::Leaves => ([of(|one| one.leaves), of(leaf)], [0.0; 2]),
        Method::Calibrated => (
            [total - inside - timed * INNER, own - direct * OUTER - timed * INNER],
            [
                (timed + beneath - blocks) * SPREAD + blocks * BLOCK_SPREAD,
                timed * SPREAD + direct * BLOCK_SPREAD,
            ],
        ),
    }
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * (1.0 + one.abs() + other.abs())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// K7, K8, K9: all methods of one trace are the naive ones, and change no sum. Recursion counts
    /// a time again and again.
    #[test]
    fn each_method_of_a_trace_is_the_naive_one(all in executions()) {
        let log = log_of(|maker| {
            add_costs(maker, [INNER, OUTER, SPREAD, BLOCK_SPREAD]);
            for one in 0..6 {
                let place = [one as u32 + 1, 5, one as u32 * 10, 9];
                state(maker, at(one), function(one), place);
            }
            all.iter().fold(1000, |ticks, one| one.record(maker, ticks + 5));
        });
        let mut naive = Vec::new();
        all.iter().for_each(|one| _ = one.naive(&mut naive));
        let lenses = METHODS.map(|method| read(&log, method));
        let raw = |lens: &Statements| -> Vec<_> {
            lens.iter().flat_map(|(at, _)| lens.sums(at)).map(|(_, sum)| *sum).collect()
        };
        for (method, lens) in METHODS.iter().zip(&lenses) {
            prop_assert_eq!(raw(lens), raw(&lenses[0]), "{:?}", method);
            for one in 0..6 {
                let mine: Vec<Naive> =
                    naive.iter().filter(|(at, _)| *at == one).map(|(_, found)| *found).collect();
                let number = named(lens, &format!("{}:{}:5", function(one), one + 1));
                prop_assert_eq!(lens.count(number), mine.len() as u64);
                prop_assert_eq!(lens.contradiction(number), None);
                let Some(times) = lens.times(number) else { continue };
                let (timed, is_leaf) = (mine.len() as f64, mine.iter().all(|one| one.beneath == 0));
                let (expected, errors) = expected(*method, &mine);
                let found = [times.total, times.own];
                for ((found, expected), error) in found.iter().zip(expected).zip(errors) {
                    prop_assert!(near(found.ns, expected * 2.0), "{:?}: {:?}", method, found);
                    prop_assert!(near(found.error, error * 2.0));
                    prop_assert_eq!(found.is_below(), expected < error);
                    prop_assert!(found.bound() >= 0.0);
                }
                let raw = |one: &Naive| match method {
                    Method::Leaves => one.leaves,
                    _ => one.total,
                };
                let mut each: Vec<u64> = mine.iter().map(|one| raw(one) * 2).collect();
                each.sort_unstable();
                // A statement without others in it has the same cost each time, another its share.
                let middle = each[(each.len() - 1) / 2] as f64;
                let mean = each.iter().sum::<u64>() as f64 / timed;
                let middle = match method {
                    Method::Raw | Method::Leaves => middle,
                    Method::Outer if is_leaf => middle,
                    Method::Calibrated if is_leaf => middle - INNER * 2.0,
                    _ => middle * expected[0] * 2.0 / timed / mean,
                };
                let found = lens.percentile(number, lens::slices::Percent::P50).unwrap();
                prop_assert!(found.1 && (near(found.0.ns, middle) || mean == 0.0), "{:?}", method);
            }
        }
    }

    /// Of the sums of a table and a statement the last ones hold: others may be lost, or come
    /// twice.
    #[test]
    fn the_last_sums_hold(
        times in prop::collection::vec((0..4usize, 0..3usize, 1..1000usize), 1..60),
        lost in any::<u64>(),
    ) {
        let mut tables: Vec<Vec<usize>> = vec![Vec::new(); 12];
        let mut told: Vec<StatementSum> = Vec::new();
        for (statement, table, ticks) in &times {
            let own = &mut tables[statement * 3 + table];
            own.push(*ticks);
            told.push(sum(*statement, *table, own));
        }
        let last: Vec<StatementSum> = (0..12)
            .filter(|at| !tables[*at].is_empty())
            .map(|at| sum(at / 3, at % 3, &tables[at]))
            .collect();
        let log = log_of(|maker| {
            (0..4).for_each(|one| state(maker, at(one), "f", [one as u32 + 1, 5, 0, 9]));
            let is_kept = |at: &usize| lost >> (at % 64) & 1 == 0;
            for at in (0..told.len()).filter(is_kept) {
                maker.add(1, 1, 1000 + at as u64, &told[at]).unwrap();
            }
            for (at, one) in last.iter().enumerate() {
                maker.add(2, 2, 2000 + at as u64 * 10, one).unwrap();
            }
        });
        let lens = read(&log, Method::Raw);
        for one in 0..4 {
            let all: Vec<usize> = tables[one * 3..one * 3 + 3].concat();
            let number = named(&lens, &format!("f:{}:5", one + 1));
            prop_assert_eq!(lens.count(number), all.len() as u64);
            let Some(times) = lens.times(number) else { continue };
            let mean = all.iter().sum::<usize>() as f64 / all.len() as f64;
            prop_assert!(near(times.mean.ns, mean * 2.0));
            let squares: f64 = all.iter().map(|ticks| (*ticks as f64 - mean).powi(2)).sum();
            let deviation = (squares / all.len() as f64).sqrt() * 2.0;
            prop_assert!((times.deviation().unwrap() - deviation).abs() < 1e-6 * (1.0 + deviation));
            prop_assert_eq!(times.shortest.ns, all.iter().min().copied().unwrap() as f64 * 2.0);
            prop_assert_eq!(times.longest.ns, all.iter().max().copied().unwrap() as f64 * 2.0);
        }
    }

    /// No numbers make it panic, and none gives a negative time.
    #[test]
    fn no_numbers_make_it_panic(
        rows in prop::collection::vec(row(), 0..20),
        costs in prop::array::uniform4(double()),
        edges in prop::collection::vec((any::<bool>(), 0..4usize, word()), 0..30),
    ) {
        let log = log_of(|maker| {
            add_costs(maker, costs);
            state(maker, at(1), "f", [u32::MAX; 4]);
            state(maker, at(2), "", [0; 4]);
            for (at, (words, statement, waits)) in rows.iter().enumerate() {
                let [table, count, timed, total, own, shortest, longest, low, high, rest @ ..] =
                    words.map(|word| word as usize);
                let [beneath, blocks, direct] = rest;
                let row = StatementSum {
                    statement: P(self::at(*statement)),
                    table,
                    count,
                    timed,
                    total,
                    own,
                    shortest,
                    longest,
                    squaresLow: low,
                    squaresHigh: high,
                    beneath,
                    blocks,
                    direct,
                    waits: *waits,
                };
                maker.add(1, 1, 1000 + at as u64, &row).unwrap();
            }
            for (is_end, statement, ticks) in &edges {
                let statement = P(at(*statement));
                match (is_end, statement.0.is_multiple_of(32)) {
                    (false, _) => maker.add(3, 3, *ticks, &StatementEnter { statement }),
                    (true, false) => maker.add(3, 3, *ticks, &StatementLeave { statement }),
                    (true, true) => maker.add(3, 3, *ticks, &PauseEnter {}),
                }
                .unwrap();
            }
        });
        for method in METHODS {
            let lens = read(&log, method);
            for (at, _) in lens.iter() {
                let _ = lens.contradiction(at);
                let Some(times) = lens.times(at) else { continue };
                for value in [times.total, times.own, times.mean, times.shortest, times.longest] {
                    prop_assert!(value.bound() >= 0.0, "{:?}", value);
                    prop_assert!(value.is_below() || value.ns >= 0.0 , "{:?}", value);
                }
                let _ = times.deviation();
            }
            let _ = (lens.left(), compare(&lens, &lens));
        }
    }
}

/// A trace of two stacks of a thread: each statement has the time in its own stack. 0 runs in the
/// thread's own one, 2 in 1 in a coroutine.
#[test]
fn a_trace_lacks_the_waits_of_coroutines() {
    let log = log_of(|maker| {
        (0..3).for_each(|one| state(maker, at(one), "f", [one as u32 + 1, 5, 0, 9]));
        for (ticks, to) in [(1010, 0x77), (1116, 0), (2140, 0x77), (2180, 0)] {
            maker.add(2, 3, ticks, &Switch { context: P(to) }).unwrap();
        }
        for (begin, one, end) in
            [(1000, 0, 2116), (1011, 1, 2177), (1111, 2, 2170), (2120, 0, 2182)]
        {
            let statement = P(at(one));
            maker.add(3, 3, begin, &StatementEnter { statement }).unwrap();
            maker.add(4 + one as u32, 3, end, &StatementLeave { statement }).unwrap();
        }
    });
    let lens = read(&log, Method::Raw);
    let times = |one| lens.times(named(&lens, &format!("f:{}:5", one + 1))).unwrap();
    let ns = |one| [times(one).total.ns, times(one).own.ns].map(|ns| ns / 2.0);
    assert_eq!(ns(2), [5.0 + 30.0; 2]);
    assert_eq!(ns(1), [100.0 + 35.0 + 7.0, 100.0 + 7.0]);
    assert_eq!(ns(0), [1010.0 + 22.0; 2]);
    assert_eq!((times(0).longest.ns, times(2).longest.ns), (2020.0, 70.0));
}

/// The words of sums, their statement, and whether it waits.
fn row() -> impl Strategy<Value = ([u64; 12], usize, bool)> {
    (prop::array::uniform12(word()), 0..5usize, any::<bool>())
}

/// Words near the ends of their range.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..20u64,
        Just(u64::MAX),
        (u64::MAX - 20)..u64::MAX,
        (1 << 63)..u64::MAX,
        any::<u64>()
    ]
}

fn double() -> impl Strategy<Value = f64> {
    prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), 0.0..1e300f64, 0.0..50.0f64]
}

/// K12: after a reset the sums are smaller. Sums for which there is no room are counted.
#[test]
fn sums_are_emptied_by_a_reset() {
    let log = log_of(|maker| {
        state(maker, at(1), "f", [1, 5, 0, 9]);
        for (ticks, table, times) in
            [(1000, 1, &[10, 20, 30][..]), (1100, 2, &[5]), (1200, 1, &[]), (1300, 1, &[7])]
        {
            maker.add(1, 1, ticks, &sum(1, table, times)).unwrap();
        }
    });
    assert_eq!(read(&log, Method::Raw).count(0), 2);
    let clock = Clock::new(&log);
    let (marks, limits) = (statements::marks(&log), lens::slices::Limits::default());
    let mut lens = Statements::with_limits(&log, &clock, None, limits, 1);
    let mut source = statements::Source::new(&log, &clock, &marks);
    let mut batch = statements::Batch::new(&log);
    let filter = eventlog::reader::Filter::default();
    log.events(eventlog::reader::Order::Time, &filter).each(|event| {
        source.add(event, true, &mut batch);
        lens.take(&batch.take());
    });
    lens.finish();
    assert_eq!((lens.count(0), lens.left().sums), (1, 1));
}

/// K12: two runs, with other addresses and other rates, are one: statements of one label add up.
#[test]
fn two_runs_are_added() {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    for (uuid, ns) in [(1, 2), (2, 4)] {
        begin(&mut maker, uuid);
        for (one, line) in [(1, 10), (2, 11)] {
            state(&mut maker, at(one + uuid as usize * 8), "f", [line, 5, line * 7, 9]);
        }
        maker.add(1, 1, 1000, &sum(1 + uuid as usize * 8, 1, &[10, 30])).unwrap();
        let ticks = END;
        let realtime = 1_700_000_000_000_000_000 + ticks * ns;
        let sync = ClockSync { ticks, monotonic: ticks * ns, realtime, uncertainty: 0 };
        maker.sync(sync).unwrap();
    }
    maker.finish().unwrap();
    let log = Log::from_source(bytes).unwrap();
    let lens = read(&log, Method::Raw);
    assert_eq!(lens.all().len(), 2);
    let (one, never) = (named(&lens, "f:10:5"), named(&lens, "f:11:5"));
    assert_eq!([lens.count(one), lens.count(never)], [4, 0]);
    let times = lens.times(one).unwrap();
    let rounded = |ns: f64| (ns * 1000.0).round() / 1000.0;
    assert_eq!(rounded(times.total.ns), 40.0 * 2.0 + 40.0 * 4.0);
    // 20, 60, 40, 120: mean 60.
    assert_eq!(rounded(times.deviation().unwrap().powi(2)), (1600.0 + 0.0 + 400.0 + 3600.0) / 4.0);
    assert_eq!((rounded(times.shortest.ns), rounded(times.longest.ns)), (20.0, 120.0));
    assert_eq!(lens.all()[0].places, 1);
}

/// K11: the time of a pause is in no statement and in no call around it.
#[test]
fn a_pause_is_in_no_time_around_it() {
    let log = log_of(|maker| {
        let statement = P(at(1));
        let (function, caller) = (P(0x5600), P(0));
        maker.add(2, 1, 990, &CallEnter { function, caller }).unwrap();
        maker.add(1, 1, 1000, &StatementEnter { statement }).unwrap();
        maker.add(3, 1, 1100, &PauseEnter {}).unwrap();
        maker.add(3, 2, 1150, &PauseEnter {}).unwrap();
        maker.add(3, 1, 5100, &PauseLeave {}).unwrap();
        maker.add(1, 1, 5110, &StatementLeave { statement }).unwrap();
        maker.add(2, 1, 5120, &CallLeave { function }).unwrap();
    });
    let lens = read(&log, Method::Raw);
    assert_eq!(lens.times(0).unwrap().total.ns, 110.0 * 2.0);
    let clock = Clock::new(&log);
    let mut found = Vec::new();
    lens::calls::read(&log, &clock, &lens::calls::marks(&log, false), &mut |_, told| {
        if let lens::calls::Told::Call(call) = told {
            found.push((call.duration, call.own));
        }
    });
    assert_eq!(found, [(Some(260), Some(260))]);
}

/// Missing events cost times, never counts: an execution across a gap is not timed.
#[test]
fn an_execution_across_a_gap_has_no_time() {
    let log = log_of(|maker| {
        let statement = P(at(1));
        maker.add(1, 1, 1000, &StatementEnter { statement }).unwrap();
        maker.lose::<StatementLeave>(1, 1, Cause::Overwritten, 1).unwrap();
        maker.add(1, 1, 1200, &StatementLeave { statement }).unwrap();
        maker.add(1, 1, 1300, &StatementEnter { statement }).unwrap();
        maker.add(1, 1, 1310, &StatementLeave { statement }).unwrap();
        maker.add(1, 1, 1320, &StatementEnter { statement }).unwrap();
    });
    let lens = read(&log, Method::Raw);
    let (_, sum) = lens.sums(0).next().unwrap();
    assert_eq!((sum.count, sum.timed, sum.total), (3, 1, 10));
    assert_eq!(&*lens.all()[0].label, "0x7010");
}

/// The lens of calls takes statements neither for functions nor for calls.
#[test]
fn statements_are_no_functions() {
    let log = log_of(|maker| {
        for (address, label, line, column) in
            [(0x5600, "shop::sell", 9, 1), (0x5640, "a:3", 3, 4), (0x5680, "odd:3:4", 3, 5)]
        {
            let label = maker.intern(10, label.as_bytes()).unwrap();
            maker.label(11, address as _, label).unwrap();
            let (address, file) = (A(address), b"src/shop.rs");
            let place = Stated { address, line, column, offset: 0, size: 9, file };
            maker.add(0, 0, 12, &place).unwrap();
        }
        state(maker, at(1), "shop::sell", [10, 5, 70, 9]);
        let statement = P(at(1));
        maker.add(1, 1, 1000, &StatementEnter { statement }).unwrap();
        maker.add(1, 1, 1100, &StatementLeave { statement }).unwrap();
        maker.add(2, 1, 1100, &sum(1, 1, &[100])).unwrap();
    });
    for is_all in [false, true] {
        let marks = lens::calls::marks(&log, is_all);
        let (calls, _) = lens::calls::read(&log, &Clock::new(&log), &marks, &mut |_, told| {
            panic!("{told:?}");
        });
        let names: Vec<&str> = calls.functions().iter().map(|(_, facts)| &*facts.name).collect();
        assert_eq!(names, ["shop::sell", "a:3", "odd:3:4"]);
    }
    let lens = read(&log, Method::Raw);
    let facts = &lens.all()[0];
    assert_eq!((lens.all().len(), lens.function_name(0)), (1, "shop::sell"));
    assert_eq!((facts.place(), facts.offset, facts.size), ("src/shop.rs:10:5".to_owned(), 70, 9));
}

/// Lines that moved, text that changed, statements that came and went.
#[test]
fn statements_are_found_in_a_changed_text() {
    let lens = |places: &[[u32; 4]], other: &str| {
        let log = log_of(|maker| {
            for (one, place) in places.iter().enumerate() {
                state(maker, at(one), "f", *place);
            }
            state(maker, at(60), other, [90, 5, 900, 4]);
            maker.add(1, 1, 1000, &sum(60, 1, &[3])).unwrap();
        });
        read(&log, Method::Raw)
    };
    let old = lens(&[[10, 5, 100, 9], [11, 5, 110, 6], [12, 9, 120, 7], [13, 5, 130, 8]], "g");
    let new = lens(&[[10, 5, 100, 9], [11, 5, 110, 5], [13, 9, 130, 7], [14, 5, 140, 12]], "h");
    let found: Vec<_> = compare(&old, &new)
        .into_iter()
        .map(|matched| {
            let line =
                |lens: &Statements, at: Option<u32>| at.map(|at| lens.all()[at as usize].line);
            (line(&old, matched.old), line(&new, matched.new), matched.how)
        })
        .collect();
    let expected = [
        (Some(10), Some(10), Match::Same),
        (Some(11), Some(11), Match::Changed),
        (Some(12), Some(13), Match::Moved),
        (Some(13), Some(14), Match::Changed),
        (Some(90), None, Match::Gone),
        (None, Some(90), Match::New),
    ];
    assert_eq!(found, expected);
}
