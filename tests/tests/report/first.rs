//! What a person meets first on a page: the tab that opens, keys, names of lanes, a narrow window.
//!
//! ```text
//!  golden recording ── waits import, explain ──▶ log ── report ──▶ page ── chromium, 1280 │ 390 px
//! ```
//!
//! Rules: `.cnv.report` in `design/eventcnv.md`.

use super::calls::page_with;
use super::source::sums_alone;
use super::threads::{large, origin, plain, play, sync};
use crate::Page;
use eventlog::writer::Maker;
use play::{JobBegin, JobEnd};
use std::fs;
use std::path::{Path, PathBuf};
use tests::programs::{eventcnv, lines, root, run};

/// What is done on the page. A click on a tab leaves the keyboard there.
const STEPS: &str = r##"
setTimeout(() => {
  const said = document.documentElement.dataset;
  const all = (query) => [...document.querySelectorAll(query)];
  const isShown = (tab) => tab.getAttribute("aria-selected") === "true";
  const shown = () => all("#tabs button").filter(isShown).map((tab) => tab.textContent).join();
  said.titles = all("#tabs button").map((tab) => tab.textContent).join(" | ");
  said.opens = shown();
  const heights = all("tr").map((row) => row.getBoundingClientRect().height);
  said.tallest = Math.round(Math.max(0, ...heights));
  const isClipped = (table) => table.scrollWidth > table.parentElement.clientWidth;
  said.isClipped = all("#events").some(isClipped);
  said.wide = document.documentElement.scrollWidth > window.innerWidth;
  said.notes = (all("#laneNotes")[0] || { textContent: "" }).textContent;
  const [tab] = all("#threadsTabButton");
  if (!tab) return;
  tab.focus();
  tab.click();
  const press = (key) => document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const ranges = [said.lanerange];
  for (const key of ["+", "-", "+", "0"]) {
    press(key);
    ranges.push(said.lanerange);
  }
  said.ranges = ranges.map((range) => range.split(" ").reduce((from, to) => to - from)).join(" ");
  press("/");
  said.focused = document.activeElement.id;
  tab.focus();
  press("ArrowLeft");
  said.stepped = shown();
}, 300);
"##;

/// Makes the log of what a program of a golden recording waited for.
pub(super) fn waits(directory: &Path) -> PathBuf {
    let [kernel, waits] = ["kernel.log", "waits.log"].map(|name| directory.join(name));
    let recording = root().join("eventcnv/tests/golden/waits/load.perf.data.gz");
    run(eventcnv().args(["waits", "import"]).arg(recording).arg("-o").arg(&kernel));
    let explain = ["waits", "explain", "--of", "client", "-o"];
    run(eventcnv().args(explain).arg(&waits).arg(&kernel));
    waits
}

#[test]
fn a_page_of_waits_opens_on_its_sentences_and_shares() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = page_with(&waits(directory.path()), directory.path(), &[], STEPS);
    let explain = ["waits", "explain", "--of", "client"];
    let told = lines(eventcnv().args(explain).arg(directory.path().join("kernel.log")));
    let opened = Page::open(&path, "");
    assert_eq!(opened.console, [""; 0]);
    assert_eq!(opened.said("titles"), "Waits | Events | Durations | Threads | Flame");
    assert_eq!(opened.said("opens"), "Waits");
    let page = plain(&opened.dom);
    let is_sentence = |line: &&String| line.starts_with("  ") && line.contains(". ");
    let sentences =
        told.iter().filter(is_sentence).map(|line| line.split_once(". ").expect("one").1);
    let found: Vec<&str> =
        sentences.filter(|text| page.contains(&format!("<li>{text}</li>"))).collect();
    assert!(found.len() >= 3, "{found:?} of {told:?}");
    assert_eq!(told.iter().filter(is_sentence).count(), found.len(), "{told:?}");
    // The shares: the same names, times and percentages.
    let shares = told.iter().skip_while(|line| !line.starts_with("share ")).skip(1);
    let shares = shares.take_while(|line| !line.is_empty());
    for (at, line) in shares.enumerate() {
        let (name, _) = line.split_once("  ").expect("columns");
        assert!(page.contains(&format!(">{name}</td>")), "{name}");
        assert!(at < 20);
    }
    assert_eq!(Page::open(&path, "tab=events").said("opens"), "Events");
}

#[test]
fn a_page_of_calls_or_statements_opens_on_them() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let statements = directory.path().join("sums.log");
    fs::write(&statements, sums_alone()).expect("a log");
    for (log, first) in [(&super::calls::shop(), "Calls"), (&statements, "Source")] {
        let path = page_with(log, directory.path(), &[], STEPS);
        assert_eq!(Page::open(&path, "").said("opens"), first);
        assert_eq!(Page::open(&path, "tab=events").said("opens"), "Events");
    }
}

/// Keys reach the tab that is shown, also while the keyboard is on the row of tabs.
#[test]
fn keys_work_after_a_click_on_a_tab() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = page_with(&waits(directory.path()), directory.path(), &[], STEPS);
    let opened = Page::open(&path, "tab=events");
    let ranges = opened.said("ranges");
    let ranges: Vec<f64> = ranges.split(' ').map(|n| n.parse().expect("a number")).collect();
    assert!(ranges[1] < ranges[0] && ranges[2] > ranges[1], "{ranges:?}");
    assert!(ranges[3] < ranges[0] && ranges[4] == ranges[0], "{ranges:?}");
    assert_eq!(opened.said("focused"), "laneSearch");
    assert_eq!(opened.said("stepped"), "Durations", "the arrows go from tab to tab");
}

#[test]
fn rows_stay_low_in_a_narrow_window() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = page_with(&waits(directory.path()), directory.path(), &[], STEPS);
    for state in ["tab=events", "tab=threads", "tab=flame"] {
        let opened = Page::open_in(&path, state, 390);
        assert_eq!(opened.said("wide"), "false", "{state}: the page is wider than the window");
        let tallest = opened.number("tallest");
        // The tallest row of this recording has 116 px.
        assert!(tallest < 120.0, "{state}: a row is {tallest} px tall");
        assert_eq!(opened.said("is-clipped"), "false", "{state}: the list of events is cut off");
    }
}

/// The end of a name often tells it from others.
#[test]
fn names_of_lanes_that_are_cut_differ() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("writers.log");
    let mut file = fs::File::create(&log).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(&origin(1, 4711, "writers")).expect("a stream");
    sync(&mut maker, 1);
    let names = ["first", "second", "third"];
    for (at, name) in (1u32..).zip(names) {
        let name = format!("connection-pool-of-the-{name}-replica: writer of segments");
        maker.thread(10, at, 4711 + at as usize, &name).expect("a thread");
        maker.add(at, at, 1000, &JobBegin { job: 1 }).expect("an event");
        maker.add(at, at, 2000, &JobEnd { result: 1 }).expect("an event");
    }
    sync(&mut maker, 3000);
    maker.finish().expect("an end");
    let path = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&path, "tab=threads");
    let shown = plain(opened.said("lanenames"));
    let shown: Vec<&str> = shown.split('|').collect();
    assert_eq!(shown.len(), names.len());
    for shown in &shown {
        let own = names.iter().filter(|name| shown.contains(*name)).count();
        assert!(own == 1 && shown.chars().count() < 30, "{shown}");
    }
}

/// A slice is merged if it begins in the stretch of time of another one. 1 ns is not a stretch.
#[test]
fn a_page_with_a_place_for_each_slice_merges_none() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("large.log");
    large(&log, 1, 25_000, true);
    let path = page_with(&log, directory.path(), &[], STEPS);
    let notes = plain(Page::open(&path, "tab=threads").said("notes"));
    assert!(!notes.contains("merged") && !notes.contains("1 ns"), "{notes}");
    large(&log, 1, 25_000, false);
    let path = page_with(&log, directory.path(), &[], STEPS);
    let notes = plain(Page::open(&path, "tab=threads").said("notes"));
    assert!(notes.contains("begin together with others of their row"), "{notes}");
}

#[test]
fn a_log_of_statements_alone_has_no_tab_of_calls() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("sums.log");
    fs::write(&log, sums_alone()).expect("the log can be written");
    let path = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&path, "tab=source");
    assert_eq!(opened.console, [""; 0]);
    assert_eq!((opened.said("titles"), opened.said("opens")), ("Events | Source", "Source"));
}
