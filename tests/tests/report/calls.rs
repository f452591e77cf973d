//! The tab of calls, used as a person does: clicks, keys, words to search.
//!
//! ```text
//!  log ── eventcnv report ──▶ page + steps.js ── chromium ──▶ results ─┐
//!     └── eventcnv calls ──▶ the same numbers ─────────────────────────┘
//! ```
//!
//! Rules: `.cnv.report.calls` in `design/eventcnv.md`.

use crate::Page;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tests::programs::{eventcnv, root, run};

/// What each test does on the page.
const STEPS: &str = include_str!("steps.js");

/// Writes the page of a log, with steps that run after the page's own script.
pub(crate) fn page_of(log: &Path, directory: &Path) -> PathBuf {
    page_with(log, directory, &[], STEPS)
}

/// Writes the page of a log with options, and with steps.
pub(crate) fn page_with(log: &Path, directory: &Path, args: &[&str], steps: &str) -> PathBuf {
    let page = directory.join("page.html");
    run(eventcnv().args(["report", "--force", "-o"]).arg(&page).args(args).arg(log));
    let text = fs::read_to_string(&page).expect("a page");
    let (_, rest) = text.split_once("nonce=\"").expect("a nonce");
    let nonce = rest.split('"').next().expect("a nonce");
    let steps = format!("<script nonce=\"{nonce}\">{steps}</script></body>");
    fs::write(&page, text.replace("</body>", &steps)).expect("the page can be written");
    page
}

/// Returns the rows of `eventcnv calls`, with the names as a page shows them.
pub(crate) fn rows(log: &Path, args: &[&str]) -> Vec<Value> {
    let output = run(eventcnv().args(["calls", "--json"]).args(args).arg(log));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    found["rows"].as_array().expect("rows").clone()
}

fn name(value: &Value) -> String {
    value.as_str().expect("a name").replace('\n', " ").replace('\u{1b}', "\u{fffd}")
}

/// Text as an attribute of a dumped page has it.
fn attribute(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('"', "&quot;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

pub(crate) fn shop() -> PathBuf {
    root().join("tests/golden/calls/shop.log")
}

/// `.cnv.report.calls`
#[test]
fn the_tab_of_calls_shows_the_numbers_of_the_command() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let page = Page::open(&page_of(&shop(), directory.path()), "tab=calls");
    assert_eq!(page.console, [""; 0]);
    let functions = rows(&shop(), &[]);
    page.assert_columns("functions", &functions[0]);
    let listed: Vec<String> = functions
        .iter()
        .map(|row| format!("{} {}", name(&row["function"]), row["calls"]))
        .collect();
    assert_eq!(page.said("table"), attribute(&listed.join(" | ")));
    let all: f64 = functions.iter().map(|row| row["own_ns"].as_f64().expect("own")).sum();
    let hottest = &functions[0];
    let share = format!("{:.1}", 100.0 * hottest["own_ns"].as_f64().expect("own") / all);
    let lead = format!("{share}\u{202f}% of the time is in {} itself", name(&hottest["function"]));
    assert_eq!(page.said("hottest"), lead);
    // On the hot path, each percentage is the time of a path with all paths in it.
    let hot = "shop::main 93.6 % | shop::sell 75.9 % | shop::hash 58.5 %";
    assert_eq!(page.said("hot").replace('\u{202f}', " "), hot);
    assert_eq!(page.said("framed"), "shop::main | shop::sell | shop::hash");
    let paths = rows(&shop(), &["--by", "path"]);
    let timed =
        paths.iter().filter(|row| name(&row["path"]).trim() != "shop::hash" || row["own_ns"] != 0);
    assert_eq!(page.number("bars"), timed.count() as f64 + 1.0, "and a bar of all calls");
    let unused = rows(&shop(), &["--unused"]);
    let unused: Vec<String> = unused
        .iter()
        .map(|row| format!("{} {}", name(&row["function"]), row["place"].as_str().expect("text")))
        .collect();
    assert_eq!(page.said("unused"), unused.join(" | "));
    assert_eq!(page.said("open"), "1 main: shop::main | 2 till: shop::serve → shop::hash");
}

/// `.cnv.report.calls`
#[test]
fn clicks_and_keys_zoom_search_sort_and_highlight() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let page = Page::open(&page_of(&shop(), directory.path()), "");
    assert_eq!(page.console, [""; 0]);
    assert_eq!(page.said("tabs"), "Events, not Calls | Calls, not Events");
    // Flame graph: a click, arrow keys, Escape.
    assert_eq!(page.said("zoomed"), "shop::sell | shop::hash");
    assert_eq!(page.said("crumbs"), "all calls | shop::main | shop::sell");
    assert_eq!(page.said("down"), "shop::hash");
    assert_eq!(page.said("up"), "shop::sell");
    assert_eq!(page.said("out"), "shop::main");
    // Search: bars, the part of the time, the table, the address.
    assert_eq!(page.said("slash"), "callSearch");
    let sell = "1 function; 82.2 % of the time is in calls of it";
    assert_eq!(page.said("hits").replace('\u{202f}', " "), sell);
    assert_eq!(page.said("marked"), "shop::sell | shop::sell");
    assert_eq!(page.said("filtered"), "shop::sell");
    assert_eq!(page.said("address"), "#find=sell");
    // The table, by each column.
    assert_eq!(page.said("byname"), "shop::serve | =cmd");
    assert_eq!(page.said("bycalls"), "5 | 0");
    assert_eq!(page.said("bylongest"), "shop::sell");
    // Callers and callees of the picked function.
    assert_eq!(page.said("callers"), "shop::main 3 | shop::serve 2");
    assert_eq!(page.said("callees"), "shop::hash 3");
    // The graph: a click picks shop::hash, which two functions call.
    assert_eq!(page.said("graph"), "shop::hash: callers 2, callees 0");
    assert_eq!(page.said("bright"), "shop::hash | shop::sell | shop::serve");
    assert_eq!(page.said("clusters"), "cluster around shop::sell");
    // Calls in order of time, each by itself; the zoom shows what overlaps a call.
    assert_eq!(page.said("lanes"), "thread 1 main | thread 2 till");
    assert_eq!(page.number("calls"), 17.0);
    assert_eq!(page.said("timed"), "shop::main | shop::sell | shop::hash");
    assert_eq!(page.said("unfinished"), "shop::main | shop::serve | shop::hash");
    assert_eq!(page.said("lowest"), "shop::sell 132px", "arrow keys lead to each thread");
    // Both themes, and no element of the log.
    assert_ne!(page.said("light"), page.said("dark"));
    assert_eq!(page.said("foreign"), "0");
    assert_eq!(page.said("wide"), "false", "the page is wider than the window");
}

/// `.cnv.report.calls`: a log without the registry of calls has no tab.
#[test]
fn a_page_without_calls_has_no_tab_of_them() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let page = directory.path().join("page.html");
    let log = root().join("tests/golden/log/heap.log");
    run(eventcnv().args(["report", "-o"]).arg(&page).arg(&log));
    let text = fs::read_to_string(&page).expect("a page");
    assert!(!text.contains("Never called") && text.contains("id=\"tabs\""));
    let opened = Page::open(&page, "tab=calls").dom;
    assert!(!opened.contains("callsTabButton"), "the page has a button of the tab");
    assert!(opened.contains("<div id=\"callsTab\" hidden=\"\"></div>"), "the tab is shown");
}
