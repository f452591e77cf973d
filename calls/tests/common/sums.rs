//! Statements without the attribute, and their sums in a log.
#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

use crate::common::{each, without_crate};
use eventlog::reader::{Event, Log};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Switches the profiling of statements on.
pub const TIME: (&str, &str) = ("MPS_TELEMETRY_PROFILE", "time");
pub const COUNT: (&str, &str) = ("MPS_TELEMETRY_PROFILE", "count");
pub const TRACE: (&str, &str) = ("MPS_TELEMETRY_PROFILE", "trace");

/// The statements of the function that it stands in: a line each, or a line that waits.
macro_rules! statements {
    ($($line:literal)*) => {
        calls::__statements!(calls::__site!("f.rs" [1, 1, 0, 0]), [$([$line, 1, 0, 0]),*])
    };
    (waits $($line:literal)*) => {
        calls::__statements!(calls::__site!("f.rs" [1, 1, 0, 0]), [$([$line, 1, 0, 1 << 31]),*])
    };
}

/// The sums of a statement, as the log has them, of all tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub count: u64,
    pub timed: u64,
    pub total: u64,
    pub own: u64,
    pub shortest: u64,
    pub longest: u64,
    pub squares: u128,
    pub beneath: u64,
    pub blocks: u64,
    pub direct: u64,
    pub waits: bool,
}

fn number(event: &Event<'_, '_>, name: &str) -> u64 {
    event.param(name).unwrap().as_u64().unwrap()
}

/// Returns the sums by the labels of the statements: of a statement and a table the last one.
pub fn sums(log: &Log) -> BTreeMap<String, Sum> {
    let mut last = BTreeMap::new();
    each(log, |event| {
        if event.name() == "StatementSum" {
            let statement = number(event, "statement");
            let label = event.labels.label(statement).expect("a statement has a label");
            let label = without_crate(&String::from_utf8_lossy(label));
            let get = |name| number(event, name);
            let sum = Sum {
                count: get("count"),
                timed: get("timed"),
                total: get("total"),
                own: get("own"),
                shortest: get("shortest"),
                longest: get("longest"),
                squares: u128::from(get("squaresHigh")) << 64 | u128::from(get("squaresLow")),
                beneath: get("beneath"),
                blocks: get("blocks"),
                direct: get("direct"),
                waits: get("waits") != 0,
            };
            last.insert((label, get("table")), sum);
        }
    });
    let mut sums = BTreeMap::<String, Sum>::new();
    for ((label, _), one) in last {
        let sum = sums.entry(label).or_default();
        let shortest = match (sum.timed, one.timed) {
            (0, _) => one.shortest,
            (_, 0) => sum.shortest,
            _ => sum.shortest.min(one.shortest),
        };
        *sum = Sum {
            count: sum.count + one.count,
            timed: sum.timed + one.timed,
            total: sum.total + one.total,
            own: sum.own + one.own,
            shortest,
            longest: sum.longest.max(one.longest),
            squares: sum.squares + one.squares,
            beneath: sum.beneath + one.beneath,
            blocks: sum.blocks + one.blocks,
            direct: sum.direct + one.direct,
            waits: sum.waits | one.waits,
        };
    }
    sums
}

/// Returns `statement count` of each statement that ran.
pub fn counts(log: &Log) -> Vec<String> {
    let ran = sums(log).into_iter().filter(|(_, sum)| sum.count != 0);
    ran.map(|(name, sum)| format!("{name} {}", sum.count)).collect()
}

/// Tells the ticks of a second, in a test process. [`rate`] finds them in what the process said.
pub fn tell_rate() {
    // The runtime chooses its clock now.
    let _ = calls::profile::mode();
    let now = || (Instant::now(), telemetry::__private::ticks());
    let (from, begin) = now();
    std::thread::sleep(Duration::from_millis(50));
    let (to, end) = now();
    eprintln!("rate {}", (end - begin) as f64 / (to - from).as_secs_f64());
}

pub fn rate(stderr: &str) -> f64 {
    let line = stderr.lines().find_map(|line| line.strip_prefix("rate "));
    line.expect("the process tells it").parse().unwrap()
}
