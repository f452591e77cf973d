//! Pages of logs of many shapes: streams, ticks, tasks, threads, names, and windows.
//!
//! ```text
//!  calls ──▶ Maker ──▶ log ──▶ page, in a window of some width ──▶ what it shows
//! ```
//!
//! Rules: `.cnv.report.calls` in `design/eventcnv.md`.

use super::calls::{page_of, shop};
use super::events::{PollEnter, TaskStart};
use super::large::{Thread, at, stream};
use crate::Page;
use eventlog::writer::Maker;
use std::fs;

fn page(make: impl FnOnce(&mut Maker<'_>), width: u32) -> Page {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("shape.log");
    let mut file = fs::File::create(&log).expect("a file");
    let mut maker = Maker::new(&mut file);
    make(&mut maker);
    maker.finish().expect("an end");
    let page = Page::open_in(&page_of(&log, directory.path()), "tab=calls", width);
    assert_eq!(page.console, [""; 0]);
    assert_eq!(page.said("wide"), "false", "the page is wider than the window");
    page
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Records a call of `outer` with one of `inner` in it.
fn pair(thread: &mut Thread<'_, '_>, outer: usize, inner: usize) {
    thread.begin(outer);
    thread.ticks += 2000;
    thread.begin(inner);
    thread.ticks += 5000;
    thread.end();
    thread.ticks += 1000;
    thread.end();
}

/// `.cnv.report.calls`: functions of one name are one row; threads keep their streams.
#[test]
fn a_page_joins_the_functions_of_several_streams() {
    let page = page(
        |maker| {
            stream(maker, &names(&["main", "work"]), true, |thread| pair(thread, 1, 2));
            stream(maker, &names(&["work", "main"]), true, |thread| pair(thread, 2, 1));
        },
        1200,
    );
    assert_eq!(page.said("table"), "work 2 | main 2");
    assert_eq!(page.said("times").replace('\u{202f}', " "), "10 µs | 16 µs");
    assert_eq!(page.said("alllanes"), "thread stream 0: 1 | thread stream 1: 1");
    assert_eq!(page.said("detail"), "work", "the function with the most time of its own");
}

/// `.cnv.report.calls`: a log without a clock has ticks for times.
#[test]
fn a_page_without_a_clock_has_ticks() {
    let record = |thread: &mut Thread<'_, '_>| pair(thread, 1, 2);
    let page = page(|maker| stream(maker, &names(&["main", "work"]), false, record), 1200);
    assert_eq!(page.said("times").replace('\u{202f}', " "), "5 k ticks | 8 k ticks");
    assert!(page.said("hottest").starts_with("62.5"), "{}", page.said("hottest"));
}

/// `.cnv.report.calls`: a poll in progress names its task.
#[test]
fn a_poll_in_progress_names_its_task() {
    let record = |thread: &mut Thread<'_, '_>| {
        thread.begin(1);
        thread.ticks += 100;
        let function = at(2);
        let start = TaskStart { task: 7usize, function };
        thread.maker.add(1, 1, thread.ticks, &start).expect("an event");
        let poll = PollEnter { function, caller: at(1), task: 7usize };
        thread.maker.add(1, 1, thread.ticks, &poll).expect("an event");
        thread.stack.push(2);
        thread.ticks += 50;
        thread.begin(3);
        thread.ticks += 900;
    };
    let page = page(|maker| stream(maker, &names(&["main", "serve", "read"]), true, record), 1200);
    assert_eq!(page.said("open"), "1: main → serve (task 7) → read");
}

/// `.cnv.report.calls`: the page states how many threads it leaves out.
#[test]
fn a_page_counts_the_threads_that_it_leaves_out() {
    let record = |thread: &mut Thread<'_, '_>| {
        for number in 1..=120 {
            thread.thread = number;
            pair(thread, 1, 2);
        }
    };
    let page = page(|maker| stream(maker, &names(&["main", "work"]), true, record), 1200);
    let notes = page.said("timenotes");
    assert!(notes.contains("200 of 240 calls are on this page"), "{notes}");
    assert!(notes.contains("The long calls of 20 more threads are not on this page."), "{notes}");
    assert!(notes.contains("choose another of 100 above"), "{notes}");
}

/// `.cnv.report.calls`: long names show their ends, and are copied whole. Letters that steer text
/// are replaced.
#[test]
fn names_that_begin_alike_differ_in_the_page() {
    let long = |end: &str| format!("{}::{end}", "shop::Shelf<a_long_type_name>".repeat(12));
    let steering = "evil\u{202e}txt\u{7}\n\u{5e9}\u{5dc}\u{5d5}\u{5dd}<img src=x onerror=alert(1)>";
    let names = [long("first"), long("second"), steering.to_owned()];
    let record = |thread: &mut Thread<'_, '_>| {
        thread.begin(3);
        pair(thread, 1, 2);
        thread.ticks += 100;
        thread.end();
    };
    let page = page(|maker| stream(maker, &names, true, record), 400);
    let text = |name: &str| name.replace('<', "&lt;").replace('>', "&gt;");
    assert_eq!(page.said("copied"), text(&names[1]));
    let seen = page.said("seen");
    assert!(seen.contains('…') && seen.ends_with("::second") && seen.len() < 260, "{seen}");
    assert_eq!(page.said("hover"), format!("{}\nsrc/large.rs:1", text(&names[1])));
    let table = page.said("table");
    let shown =
        "evil\u{fffd}txt\u{fffd} \u{5e9}\u{5dc}\u{5d5}\u{5dd}&lt;img src=x onerror=alert(1)&gt;";
    assert!(table.ends_with(&format!("{shown} 1")), "{table}");
    assert!(table.contains("::first 1 | "), "{table}");
}

/// `.cnv.report.calls`: the page fits each window, the keyboard keeps its place, and paper has all
/// rows.
#[test]
fn the_tab_of_calls_fits_a_narrow_window_and_the_keyboard() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let page = page_of(&shop(), directory.path());
    for width in [400, 1200] {
        let opened = Page::open_in(&page, "tab=calls", width);
        assert_eq!(opened.console, [""; 0]);
        assert_eq!(opened.number("innerwidth"), f64::from(width));
        assert_eq!(opened.said("wide"), "false", "the page is wider than {width} pixels");
        assert_eq!(opened.said("heading"), "Function ↑");
        assert_eq!(opened.said("row"), "pick picked");
        assert_eq!(opened.said("link"), "detail");
        assert_eq!(opened.said("printed"), "0 tables are cut, 0 controls are seen");
    }
}
