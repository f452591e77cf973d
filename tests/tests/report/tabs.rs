//! All tabs of many logs: an answer first, one stretch of time, one row of tabs, the keyboard.
//!
//! ```text
//!  golden logs, made logs ── report ──▶ pages ── chromium, 1280 │ 390 px ──▶ what each tab tells
//! ```
//!
//! Rules: `.cnv.report` in `design/eventcnv.md`.

use super::calls::{page_with, shop};
use super::counters::pools::Fill;
use super::durations::data;
use super::first::waits;
use super::threads::play::{JobBegin, Sold};
use super::threads::{HOSTILE, label, origin, plain, sync};
use crate::Page;
use eventlog::format::ClockSource;
use eventlog::reader::{Filter, Log, Order};
use eventlog::writer::{Maker, Origin};
use std::fs;
use std::path::{Path, PathBuf};
use tests::programs::root;

/// What a person does: a click on each tab.
const CLICKS: &str = concat!("const steps = false;\n", include_str!("tabs.js"));
/// After a zoom; and keys, and steps back.
const STEPS: &str = concat!("const steps = true;\n", include_str!("tabs.js"));

/// Makes a log that is closed long after its last event.
fn make(path: &Path, origin: &Origin, record: impl FnOnce(&mut Maker<'_>)) {
    let mut file = fs::File::create(path).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(origin).expect("a stream");
    if origin.clock_rate > 0 || origin.clock_source != ClockSource::Tsc {
        sync(&mut maker, 1);
    }
    record(&mut maker);
    if origin.clock_rate > 0 || origin.clock_source != ClockSource::Tsc {
        sync(&mut maker, 1 << 40);
    }
    maker.finish().expect("an end");
}

/// Makes logs that have little, much, or something odd.
fn made(directory: &Path) -> Vec<PathBuf> {
    let path = |name: &str| directory.join(name).with_extension("log");
    let own = origin(1, 4711, "odd");
    let mut ticks = origin(1, 4711, "ticks");
    (ticks.clock_source, ticks.clock_rate) = (ClockSource::Tsc, 0);
    make(&path("none"), &own, |_| {});
    make(&path("one"), &own, |maker| maker.add(1, 1, 1000, &Sold { what: 5 }).expect("an event"));
    make(&path("counters"), &own, |maker| {
        for n in 0..20_000 {
            let row = Fill { pool: n % 5000 + 1, size: n };
            maker.add(1, 1, 1000 + 77 * n as u64, &row).expect("an event");
        }
    });
    make(&path("threads"), &own, |maker| {
        for thread in 1..=300u32 {
            maker.thread(10, thread, 1000 + thread as usize, HOSTILE).expect("a thread");
            for n in 0..9 {
                let at = 2000 + 900 * n + u64::from(thread);
                maker.add(thread, thread, at, &JobBegin { job: 1 }).expect("an event");
                let end = super::threads::play::JobEnd { result: 1 };
                maker.add(thread, thread, at + 300, &end).expect("an event");
            }
        }
    });
    for (name, origin) in [("endless", &own), ("ticks", &ticks)] {
        make(&path(name), origin, |maker| {
            let job = label(maker, 0xABC, HOSTILE);
            for n in 0..3000 {
                maker.add(1, 1, 1000 + 50 * n, &JobBegin { job }).expect("an event");
            }
        });
    }
    ["none", "one", "counters", "threads", "endless", "ticks"].map(path).into()
}

/// Returns logs of all kinds.
fn logs(directory: &Path) -> Vec<PathBuf> {
    let golden = ["log/heap.log", "lines/till.log", "mps/mpmss-cut.log", "mps/labels.log"];
    let golden = golden.map(|name| root().join("tests/golden").join(name));
    golden.into_iter().chain([shop(), waits(directory)]).chain(made(directory)).collect()
}

/// The time axis ends with the last event, not with the end of the recording.
#[test]
fn a_time_axis_ends_with_the_last_event() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for log in logs(directory.path()) {
        let path = page_with(&log, directory.path(), &[], "");
        let data = data(&path);
        let opened = Log::open(&log).expect("a log");
        let begin = opened.history().begin(0).unwrap_or(0);
        let mut last = begin;
        opened.events(Order::File, &Filter::new()).each(|event| last = last.max(event.ticks));
        let seconds = |ticks: u64| {
            let wall = |ticks| Some(opened.streams()[0].wall_time(ticks)?.realtime);
            Some((wall(ticks)? - wall(begin)?) as f64 / 1e9)
        };
        let name = log.display();
        let length = data["length"].as_f64().expect("a length");
        if data["isSeconds"] == true && opened.streams()[0].syncs.len() > 1 {
            let expected = seconds(last).expect("a time");
            assert!((length - expected).abs() <= 1e-6, "{name}: {length}, not {expected}");
        } else if data["isSeconds"] == false {
            assert_eq!(length, (last - begin) as f64, "{name}");
        }
        if let Some(lanes) = data["lanes"]["length"].as_f64() {
            let unit = if data["isSeconds"] == true { 1e-9 } else { 1.0 };
            assert!((lanes * unit - length).abs() <= 1e-6, "{name}: {lanes} and {length}");
        }
    }
}

#[test]
fn each_tab_answers_first_at_each_width() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for log in logs(directory.path()) {
        let name = log.display();
        let path = page_with(&log, directory.path(), &[], CLICKS);
        let opened = Page::open(&path, "");
        assert_eq!(opened.console, [""; 0], "{name}");
        let leads = plain(opened.said("leads"));
        let leads: Vec<&str> = leads.split(" | ").collect();
        for lead in &leads {
            let (tab, text) = lead.split_once(": ").expect("a tab and its first line");
            assert!(text.len() > 8, "{name}: the tab {tab} has no first line: {leads:?}");
            let is_wrong = |word: &str| ["NaN", "undefined", "Infinity", "null"].contains(&word);
            assert!(!text.split([' ', ':', ',']).any(is_wrong), "{name}: {lead}");
        }
        assert_eq!(opened.said("first"), "true", "{name}: something is above: {leads:?}");
        assert_eq!(opened.said("plurals"), "", "{name}: a plural of one");
        let narrow = Page::open_in(&path, "", 390);
        assert_eq!(narrow.console, [""; 0], "{name}");
        assert_eq!(narrow.said("toowide"), "", "{name}: tabs that are wider than the window");
        assert_eq!(narrow.said("rows"), "1", "{name}: rows of tabs");
    }
}

/// A stretch of time stays from tab to tab; going back leads to the tab and the stretch before.
#[test]
fn all_tabs_show_one_stretch_of_time() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for log in [waits(directory.path()), root().join("tests/golden/log/heap.log")] {
        let path = page_with(&log, directory.path(), &[], STEPS);
        let opened = Page::open(&path, "tab=threads");
        assert_eq!(opened.console, [""; 0]);
        let said = |name: &str| plain(opened.said(name));
        let ranges = said("ranges");
        let ranges: Vec<&str> = ranges.split(" | ").collect();
        assert!(ranges.len() > 2 && ranges.iter().all(|range| *range == ranges[0]), "{ranges:?}");
        assert_ne!(ranges[0], "0.000000 1.000000");
        assert_eq!(said("backs"), "Events 0.000000 1.000000 | Threads 0.200000 0.800000");
        assert_eq!(said("keyed"), "Events, help, no help, search, no search");
    }
}

/// Tab reaches one row of a table, arrow keys the others.
#[test]
fn arrow_keys_go_from_row_to_row() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = root().join("tests/golden/log/heap.log");
    let path = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&path, "");
    assert_eq!(opened.said("stops"), "1", "rows that Tab reaches");
    assert_eq!(opened.said("walked"), "0 1 2 1 13 0");
}
