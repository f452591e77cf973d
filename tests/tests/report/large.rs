//! Pages of logs with more functions, paths and calls than a page has, and with deep recursion.
//!
//! ```text
//!  random calls ──▶ Maker ──▶ log ──▶ page: the hottest function, counts of what is left out
//!              └──▶ a stack: own times ──▶ the same
//! ```
//!
//! Rules: `.cnv.report.calls` in `design/eventcnv.md`.

use super::calls::page_of;
use super::events::{CallEnter, CallLeave};
use crate::{Page, READY_MAX};
use eventdef::field::{A, P};
use eventdef::store::Source;
use eventlog::format::{ClockSource, ClockSync};
use eventlog::writer::{Maker, Origin};
use std::fs;
use std::path::Path;

/// Bytes of the page of a log with calls, at most.
const SIZE_MAX: u64 = 8_000_000;
const FUNCTION_COUNT: usize = 20_000;
const UNUSED_COUNT: usize = 2500;
const CALL_COUNT: usize = 120_000;
const DEPTH_MAX: usize = 40;

pub(crate) fn at(function: usize) -> P {
    P(if function == 0 { 0 } else { 0x10_0000 + 64 * function })
}

/// Makes a log of calls, of a thread. Each tick is a ns.
pub(crate) fn make(path: &Path, function_count: usize, record: impl FnOnce(&mut Thread<'_, '_>)) {
    let mut file = fs::File::create(path).expect("a file");
    let mut maker = Maker::new(&mut file);
    let name = |n| format!("module{}::</script><b>::function{n}", n % 7);
    let names: Vec<String> = (1..=function_count).map(name).collect();
    stream(&mut maker, &names, true, record);
    maker.finish().expect("an end");
}

/// Adds a stream with these functions, with or without a clock.
pub(crate) fn stream<'o>(
    maker: &mut Maker<'o>,
    names: &[String],
    has_clock: bool,
    record: impl FnOnce(&mut Thread<'_, 'o>),
) {
    let mut origin = Origin::new();
    if !has_clock {
        origin.clock_source = ClockSource::Tsc;
        origin.clock_rate = 0;
    }
    maker.begin(&origin).expect("a log");
    let sync = |maker: &mut Maker<'_>, ticks| {
        let sync = ClockSync { ticks, monotonic: ticks, realtime: ticks, uncertainty: 0 };
        if has_clock {
            maker.sync(sync).expect("a sync");
        }
    };
    sync(maker, 1);
    for (function, name) in (1..).zip(names) {
        let string = maker.intern(2, name.as_bytes()).expect("a string");
        maker.label(2, at(function).0, string).expect("a label");
        let address = A(at(function).0);
        let file = b"src/large.rs";
        let source = Source { address, line: 1, column: 1, offset: 0, size: 9, file };
        maker.add(0, 0, 2, &source).expect("a source");
    }
    let mut thread = Thread { maker, thread: 1, ticks: 100, stack: Vec::new() };
    record(&mut thread);
    let ticks = thread.ticks;
    sync(thread.maker, ticks);
}

pub(crate) struct Thread<'m, 'o> {
    pub(crate) maker: &'m mut Maker<'o>,
    /// The thread that records next.
    pub(crate) thread: u32,
    pub(crate) ticks: u64,
    pub(crate) stack: Vec<usize>,
}

impl Thread<'_, '_> {
    pub(crate) fn begin(&mut self, function: usize) {
        let caller = at(self.stack.last().copied().unwrap_or(0));
        let call = CallEnter { function: at(function), caller };
        self.maker.add(self.thread, self.thread, self.ticks, &call).expect("an event");
        self.stack.push(function);
    }

    pub(crate) fn end(&mut self) {
        let function = at(self.stack.pop().expect("a call"));
        self.maker
            .add(self.thread, self.thread, self.ticks, &CallLeave { function })
            .expect("an event");
    }
}

/// `.cnv.report.calls`: the page has what takes the most time, and states how much it leaves out.
#[test]
fn a_page_of_many_functions_and_paths_stays_small() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("large.log");
    let mut own = vec![0u64; FUNCTION_COUNT + 1];
    let mut count = vec![0u64; FUNCTION_COUNT + 1];
    make(&log, FUNCTION_COUNT + UNUSED_COUNT, |thread| {
        let mut random = 42u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize
        };
        let mut left = CALL_COUNT;
        while left > 0 || !thread.stack.is_empty() {
            let is_end = thread.stack.len() >= DEPTH_MAX || left == 0 || next() % 100 < 45;
            let wait = 1 + (next() % 1000) as u64;
            thread.ticks += wait;
            if let Some(function) = thread.stack.last() {
                own[*function] += wait;
            }
            if is_end && !thread.stack.is_empty() {
                thread.end();
            } else if left > 0 {
                left -= 1;
                let function = 1 + next() % FUNCTION_COUNT;
                count[function] += 1;
                thread.begin(function);
            }
        }
    });
    let page = page_of(&log, directory.path());
    let size = fs::metadata(&page).expect("a page").len();
    assert!((500_000..SIZE_MAX).contains(&size), "{size} bytes");
    let opened = Page::open(&page, "tab=calls");
    assert_eq!(opened.console, [""; 0]);
    assert!(opened.number("ready") < READY_MAX, "{} ms", opened.said("ready"));
    assert_eq!(opened.said("clipped"), "0");
    let all: u64 = own.iter().sum();
    let most = own.iter().max().expect("a function");
    let percent = 100.0 * *most as f64 / all as f64;
    let share = if percent < 0.1 { "&lt; 0.1".to_owned() } else { format!("{percent:.1}") };
    let hottest = own.iter().position(|time| time == most).expect("a function");
    let lead = format!("{share}\u{202f}% of the time is in module{}::", hottest % 7);
    assert!(opened.said("hottest").starts_with(&lead), "{}", opened.said("hottest"));
    assert!(opened.said("hottest").contains(&format!("function{hottest} itself")));
    // Of the paths of one function, those that are left out count too.
    assert!(
        opened.said("searched").contains(" functions; at least "),
        "{}",
        opened.said("searched")
    );
    let total = opened.said("total").rsplit("total time ").next().expect("a part");
    assert_eq!(
        opened.said("searchedone"),
        format!("1 function; {total} of the time is in calls of it")
    );
    let called = count.iter().filter(|count| **count > 0).count();
    let spaced = |n: usize| format!("{}\u{202f}{:03}", n / 1000, n % 1000);
    let notes = opened.said("notes");
    let left =
        format!("{} more functions with less time are not on this page", spaced(called - 2048));
    assert!(notes.contains(&left), "{notes}");
    assert!(notes.contains(" paths with little time ("), "{notes}");
    let never = UNUSED_COUNT + FUNCTION_COUNT - called;
    let more = format!("{} more are not on this page.", spaced(never - 1000));
    assert!(notes.contains(&more), "{more}: {notes}");
    let calls = opened.said("timenotes");
    assert!(calls.contains(" of 120\u{202f}000 calls are on this page: the longest"), "{calls}");
    assert!(opened.number("timebars") > 100.0, "{}", opened.said("timebars"));
    assert_eq!(opened.said("table").matches(" | ").count(), 299, "the first 300 functions");
}

/// `.cnv.report.calls`
#[test]
fn a_page_of_deep_recursion_opens() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("deep.log");
    make(&log, 2, |thread| {
        for depth in 0..20_000 {
            thread.ticks += 10;
            thread.begin(1 + usize::from(depth % 1000 == 999));
        }
        while !thread.stack.is_empty() {
            thread.ticks += 10;
            thread.end();
        }
    });
    let page = Page::open(&page_of(&log, directory.path()), "tab=calls");
    assert_eq!(page.console, [""; 0]);
    assert_eq!(page.number("bars"), 24.0);
    let notes = page.said("notes");
    assert!(notes.contains("Calls are deeper than this drawing"), "{notes}");
    assert!(
        page.said("hot").ends_with(" | calls that are not on this page"),
        "{}",
        page.said("hot")
    );
    assert!(page.said("hot").contains(" | 5\u{202f}990 more calls | "), "{}", page.said("hot"));
}
