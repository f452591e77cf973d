//! Statements: the fuzzer's bytes as events of the registry `calls`, in a log that is sound. So
//! sums, costs, places and traces of any numbers reach the lens.
#![no_main]

extern crate eventdef as telemetry;

/// The registry itself, without the runtime.
#[path = "../../calls/src/events.rs"]
#[allow(dead_code, unreachable_pub)]
mod events;

use eventdef::field::{A, P};
use eventdef::store::Source;
use eventlog::reader::{Clock, Log};
use eventlog::writer::{Maker, Origin};
use events::{Calibration, PauseEnter, PauseLeave, StatementEnter, StatementLeave, StatementSum};
use lens::statements::{self, Method, compare};
use libfuzzer_sys::fuzz_target;

/// Words of an event.
const WORD_COUNT: usize = 13;

fn add(maker: &mut Maker<'_>, kind: u8, ticks: u64, words: [u64; WORD_COUNT]) {
    let [statement, table, count, timed, total, own, shortest, rest @ ..] =
        words.map(|word| word as usize);
    let [longest, squares_low, squares_high, beneath, blocks, direct] = rest;
    let place = statement % 8;
    let statement = P(place);
    let [inner, outer, spread, blockSpread] = [1, 2, 3, 4].map(|at| f64::from_bits(words[at]));
    let costs = Calibration { mode: 2, inner, outer, spread, blockSpread };
    let waits = words[12] & 1 == 1;
    let _ = match kind % 6 {
        0 => maker.add(1, 1, ticks, &StatementEnter { statement }),
        1 => maker.add(1, 1, ticks, &StatementLeave { statement }),
        2 => maker.add(1, 1, ticks, &costs),
        3 => maker.add(1, 1, ticks, &PauseEnter {}),
        4 => maker.add(1, 1, ticks, &PauseLeave {}),
        _ => {
            let (squaresLow, squaresHigh) = (squares_low, squares_high);
            let sum = StatementSum {
                statement,
                table,
                count,
                timed,
                total,
                own,
                shortest,
                longest,
                squaresLow,
                squaresHigh,
                beneath,
                blocks,
                direct,
                waits,
            };
            maker.add(1, 1, ticks, &sum)
        }
    };
    let [line, column, offset, size] = [words[4], words[5], words[6], words[7]].map(|w| w as u32);
    let name = format!("f{}:{line}:{column}", words[8] % 3);
    let string = maker.intern(1, name.as_bytes()).unwrap_or(0);
    let _ = maker.label(1, place, string);
    let (address, file) = (A(place), &b"f.rs"[..]);
    let _ = maker.add(0, 0, 1, &Source { address, line, column, offset, size, file });
}

fn log_of(bytes: &[u8], uuid: u8) -> Option<Log> {
    let mut log = Vec::new();
    let mut maker = Maker::new(&mut log);
    let mut origin = Origin::new();
    origin.uuid = [uuid; 16];
    maker.begin(&origin).ok()?;
    for event in bytes.chunks_exact(8 * WORD_COUNT + 9) {
        let word = |at: usize| {
            let bytes = event.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_le_bytes)
        };
        add(&mut maker, event[0], word(1), std::array::from_fn(|at| word(9 + at * 8)));
    }
    maker.finish().ok()?;
    Log::from_source(log).ok()
}

fuzz_target!(|bytes: &[u8]| {
    let (one, other) = bytes.split_at(bytes.len() / 2);
    let Some([one, other]) = log_of(one, 1).zip(log_of(other, 2)).map(|(a, b)| [a, b]) else {
        return;
    };
    for method in [Method::Raw, Method::Outer, Method::Leaves, Method::Calibrated] {
        let [one, other] =
            [&one, &other].map(|log| statements::read(log, &Clock::new(log), Some(method)));
        for (statement, facts) in one.iter() {
            let contradiction = one.contradiction(statement);
            if let Some(times) = one.times(statement) {
                for value in [times.total, times.own, times.mean, times.shortest, times.longest] {
                    assert!(value.bound() >= 0.0, "{facts:?} {value:?} {contradiction:?}");
                }
                std::hint::black_box(times.deviation());
            }
        }
        let pairs = compare(&one, &other);
        let olds = pairs.iter().filter(|pair| pair.old.is_some()).count();
        let news = pairs.iter().filter(|pair| pair.new.is_some()).count();
        assert_eq!((olds, news), (one.all().len(), other.all().len()));
    }
});
