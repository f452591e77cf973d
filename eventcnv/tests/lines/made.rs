//! A log of a shop's statements, made event by event; a tick is a µs.
//!
//! ```text
//!  golden/lines/shop.txt ── places ──▶ store
//!  sums of two tables, or a trace, or counts alone
//! ```

use super::events::{
    Calibration, CallEnter, CallLeave, StatementEnter, StatementLeave, StatementSum,
};
use eventdef::field::{A, P};
use eventdef::store::Source;
use eventlog::format::ClockSync;
use eventlog::writer::{Maker, Origin};

/// The text that the statements stand in.
pub(crate) const TEXT: &str = include_str!("../golden/lines/shop.txt");

/// The statements of the text, each with its function; the last ones never run.
pub(crate) const STATEMENTS: [(&str, &str); 12] = [
    ("shop::main", "let mut total = 0;"),
    ("shop::main", "for item in 0..3 {\n        total += sell(item);\n    }"),
    ("shop::main", "total += sell(item);"),
    ("shop::main", "println!(\"{total}\");"),
    ("shop::sell", "let price = hash(item);"),
    ("shop::sell", "if price > 1_000_000 { return refund(price); }"),
    ("shop::sell", "price + 1"),
    ("shop::hash", "let ünï = \"…\";"),
    ("shop::hash", "(0..item).fold(0, |sum, x| sum ^ x)"),
    ("shop::wait", "sleep(1).await;"),
    ("shop::sell", "return refund(price);"),
    ("shop::refund<_>", "price\n"),
];

pub(crate) fn at(statement: usize) -> usize {
    0x7000 + statement * 16
}

/// Returns the sums of executions: the ticks of each, and how many of all are their own.
pub(crate) fn sum(statement: usize, times: &[usize], own: usize) -> StatementSum {
    let square: u128 = times.iter().map(|ticks| (*ticks as u128).pow(2)).sum();
    StatementSum {
        statement: P(at(statement)),
        table: 1,
        count: times.len(),
        timed: times.len(),
        total: times.iter().sum(),
        own,
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

/// A log that is being made.
pub(crate) struct Made<'m, 'o> {
    pub(crate) maker: &'m mut Maker<'o>,
}

impl Made<'_, '_> {
    /// States a statement: its label and its place.
    pub(crate) fn state(&mut self, address: usize, function: &str, file: &[u8], place: [u32; 4]) {
        let [line, column, offset, size] = place;
        let label = format!("{function}:{line}:{column}");
        let string = self.maker.intern(10, label.as_bytes()).unwrap();
        self.maker.label(11, address as _, string).unwrap();
        let source = Source { address: A(address), line, column, offset, size, file };
        self.maker.add(0, 0, 12, &source).unwrap();
    }

    /// States all statements of a text, which may lack some.
    pub(crate) fn state_all(&mut self, text: &str) {
        for (statement, (function, what)) in STATEMENTS.iter().enumerate() {
            let place = place_in(text, what);
            if let Some(place) = place {
                self.state(at(statement), function, b"src/shop.rs", place);
            }
        }
    }

    pub(crate) fn add(&mut self, sum: StatementSum) {
        self.maker.add(1, 1, 1000, &sum).unwrap();
    }

    pub(crate) fn costs(&mut self, [inner, outer, spread]: [f64; 3]) {
        let blocks = spread + spread;
        let costs = Calibration { mode: 2, inner, outer, spread, blockSpread: blocks };
        self.maker.add(1, 1, 900, &costs).unwrap();
    }

    fn enter(&mut self, ticks: u64, statement: usize) {
        self.maker.add(2, 1, ticks, &StatementEnter { statement: P(at(statement)) }).unwrap();
    }

    fn leave(&mut self, ticks: u64, statement: usize) {
        self.maker.add(2, 1, ticks, &StatementLeave { statement: P(at(statement)) }).unwrap();
    }

    /// Records a call of `sell` in `main`, for the call graph.
    pub(crate) fn calls(&mut self) {
        for (function, name) in [(0x5600, "shop::main"), (0x5640, "shop::sell")] {
            let string = self.maker.intern(10, name.as_bytes()).unwrap();
            self.maker.label(11, function as _, string).unwrap();
            let line = if function == 0x5600 { 1 } else { 9 };
            let (address, file) = (A(function), b"src/shop.rs");
            let source = Source { address, line, column: 1, offset: 0, size: 9, file };
            self.maker.add(0, 0, 12, &source).unwrap();
        }
        let (main, sell) = (P(0x5600), P(0x5640));
        self.maker.add(3, 1, 1000, &CallEnter { function: main, caller: P(0) }).unwrap();
        for sale in 0..3 {
            let ticks = 1100 + sale * 100;
            self.maker.add(3, 1, ticks, &CallEnter { function: sell, caller: main }).unwrap();
            self.maker.add(3, 1, ticks + 40, &CallLeave { function: sell }).unwrap();
        }
        self.maker.add(3, 1, 1500, &CallLeave { function: main }).unwrap();
    }
}

/// Returns the line, column, offset and size of a part of a text.
pub(crate) fn place_in(text: &str, what: &str) -> Option<[u32; 4]> {
    let offset = text.find(what)?;
    let line = text[..offset].matches('\n').count() + 1;
    let begin = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let column = text[begin..offset].chars().count() + 1;
    Some([line, column, offset, what.trim_end().len()].map(|number| number as u32))
}

fn sync(maker: &mut Maker<'_>, ticks: u64) {
    let monotonic = ticks * 1000;
    let realtime = 1_700_000_000_000_000_000 + monotonic;
    maker.sync(ClockSync { ticks, monotonic, realtime, uncertainty: 0 }).unwrap();
}

/// Makes a log whose clock is known.
pub(crate) fn log(make: impl FnOnce(&mut Made<'_, '_>)) -> Vec<u8> {
    log_of(true, make)
}

/// Makes a log whose clock may be unknown.
pub(crate) fn log_of(is_clock_known: bool, make: impl FnOnce(&mut Made<'_, '_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    let mut origin = Origin::new();
    (origin.pid, origin.start, origin.uuid) = (4711, 12, [7; 16]);
    origin.program = "shop".into();
    origin.clock_rate = if is_clock_known { 1_000_000 } else { 0 };
    maker.begin(&origin).unwrap();
    if is_clock_known {
        sync(&mut maker, 1);
    }
    maker.thread(20, 1, 4711, "main").unwrap();
    make(&mut Made { maker: &mut maker });
    if is_clock_known {
        sync(&mut maker, 1 << 30);
    }
    maker.finish().unwrap();
    bytes
}

/// The sums of the shop; `hash` takes `hash` ticks each time.
pub(crate) fn sums(made: &mut Made<'_, '_>, hash: usize) {
    let sells = [hash + 40, hash + 50, hash + 60];
    let all: usize = sells.iter().sum();
    made.add(sum(0, &[2], 2));
    made.add(StatementSum { beneath: 18, blocks: 9, direct: 3, ..sum(1, &[all + 60], 30) });
    let call = sum(2, &sells.map(|t| t + 9), 90);
    made.add(StatementSum { beneath: 15, blocks: 6, direct: 3, ..call });
    made.add(sum(3, &[400], 400));
    let price = sum(4, &sells.map(|t| t - 20), 33);
    made.add(StatementSum { beneath: 6, blocks: 3, direct: 3, ..price });
    made.add(sum(5, &[3, 3, 4], 10));
    made.add(sum(6, &[1, 1, 1], 3));
    made.add(sum(7, &[5, 5, 6], 16));
    // Of two tables, and one of these twice.
    made.add(sum(8, &[hash], hash));
    made.add(sum(8, &[hash, hash + 10], 2 * hash + 10));
    made.add(StatementSum { table: 2, ..sum(8, &[hash + 20], hash + 20) });
    made.add(StatementSum { waits: true, own: 0, ..sum(9, &[90_000, 80_000], 0) });
}

/// The log of the shop with sums.
pub(crate) fn shop(hash: usize) -> Vec<u8> {
    log(|made| {
        made.state_all(TEXT);
        made.calls();
        made.costs([0.5, 1.25, 0.25]);
        sums(made, hash);
    })
}

/// The same program with a trace alone: a loop of three.
pub(crate) fn traced() -> Vec<u8> {
    log(|made| {
        made.state_all(TEXT);
        made.costs([0.5, 1.25, 0.25]);
        made.enter(1000, 0);
        made.leave(1003, 0);
        made.enter(1003, 1);
        for (turn, ticks) in [0u64, 100, 200].into_iter().enumerate() {
            let ticks = ticks + 1010;
            made.enter(ticks, 2);
            made.enter(ticks + 5, 4);
            made.leave(ticks + 50 + 10 * turn as u64, 4);
            made.enter(ticks + 50 + 10 * turn as u64, 6);
            made.leave(ticks + 80, 6);
            made.leave(ticks + 85, 2);
        }
        made.leave(1400, 1);
        made.enter(1400, 3);
    })
}

/// The shop with sums, and of its trace one execution of `price + 1` alone.
pub(crate) fn cut() -> Vec<u8> {
    log(|made| {
        made.state_all(TEXT);
        made.costs([0.0, 0.0, 0.25]);
        made.add(sum(0, &[2], 2));
        made.add(sum(6, &[10, 20, 30], 60));
        made.enter(1000, 6);
        made.leave(1030, 6);
    })
}

/// The same program with counts alone.
pub(crate) fn counted() -> Vec<u8> {
    log(|made| {
        made.state_all(TEXT);
        for (statement, count) in [(0, 1), (1, 1), (2, 3), (3, 1), (4, 3), (5, 3), (6, 3)] {
            made.add(StatementSum { count, ..sum(statement, &[], 0) });
        }
    })
}
