//! The tab of counters, as a person sees it; its values are those of `meaning/agree.rs`.
//!
//! ```text
//!  random changes ── Maker ──▶ log ── eventcnv report ──▶ page ── chromium
//! ```
//!
//! Rules: `.cnv.report.counters` in `design/eventcnv.md`.

use super::calls::page_with;
use super::durations::data;
use super::threads::{HOSTILE, label, origin, plain, sync};
use crate::Page;
use eventlog::writer::Maker;
use pools::{Drain, Fill, Length, Temperature};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

pub(super) mod pools {
    eventdef::events! {
        /// What fills up.
        registry "pools" version(1, 0, 0);
        kinds {
            /// All of it.
            Pool = 0,
        }

        /// A pool grows. [counter live += size:pool] [unit bytes size] [counter changes += 1]
        Fill(1, always, Pool) {
            /// the pool
            pool: W,
            /// by so much
            size: W,
        }
        /// A pool shrinks. [counter live -= size:pool] [unit bytes size]
        Drain(2, always, Pool) {
            /// the pool
            pool: W,
            /// by so much
            size: W,
        }
        /// The queue has a length. [counter queue = length]
        Length(3, always, Pool) {
            /// its length
            length: W,
        }
        /// It is warm. [counter warmth = degrees:at]
        Temperature(4, always, Pool) {
            /// the place
            at: W,
            /// the warmth
            degrees: D,
        }
    }
}

/// What a person does on the page.
const STEPS: &str = r##"
setTimeout(() => {
  const said = document.documentElement.dataset;
  const all = (query) => [...document.querySelectorAll(query)];
  const texts = (query) => all(query).map((found) => found.textContent).join(" | ");
  const press = (key) => document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  said.opens = texts("#tabs [aria-selected=true]");
  said.lines = texts("#counterLines button b");
  const [line] = all("#counterLines button");
  if (line) line.click();
  said.shown = texts("#tabs [aria-selected=true]");
  said.names = texts("#countersTab h2");
  said.told = texts("#countersTab .row span");
  said.notes = texts("#countersTab .note");
  const range = said.range;
  press("+");
  said.zooms = String(range !== said.range);
  const image = ({ width, height }, context) => context.getImageData(0, 0, width, height).data;
  const pixels = (canvas) => new Set(image(canvas, canvas.getContext("2d"))).size;
  said.drawn = all("canvas.counter").filter((canvas) => pixels(canvas) > 3).length;
  said.wide = document.documentElement.scrollWidth > window.innerWidth;
}, 300);
"##;
/// Makes a log of changes. Returns the number of its counters.
fn make(path: &Path, pool_count: usize, count: u64) -> usize {
    let mut file = fs::File::create(path).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(&origin(1, 4711, "pools")).expect("a stream");
    sync(&mut maker, 1);
    label(&mut maker, 1, HOSTILE);
    let (mut names, mut live) = (BTreeSet::new(), BTreeMap::new());
    let mut random = 11u64;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % below
    };
    let mut ticks = 1000;
    for at in 0..count {
        let (pool, size) = (1 + next(pool_count), next(100_000));
        let held: &mut usize = live.entry(pool).or_default();
        let added = match next(4) {
            0 | 1 => {
                names.extend([("live", pool), ("changes", 0)]);
                *held += size;
                maker.add(1, 1, ticks, &Fill { pool, size })
            }
            2 => {
                names.insert(("live", pool));
                let size = size.min(*held);
                *held -= size;
                maker.add(1, 1, ticks, &Drain { pool, size })
            }
            _ if at % 2 == 0 => maker.add(1, 1, ticks, &Length { length: size }),
            _ => {
                names.insert(("warmth", 3));
                let degrees = size as f64 / 8.0 - 500.0;
                maker.add(1, 1, ticks, &Temperature { at: 3, degrees })
            }
        };
        added.expect("an event");
        ticks += next(1 << (at % 12)) as u64;
    }
    maker.add(1, 1, ticks, &Length { length: 7 }).expect("an event");
    sync(&mut maker, ticks);
    maker.finish().expect("an end");
    names.len() + 1
}

/// `.cnv.report.counters`
#[test]
fn counters_are_lines_of_the_events_and_charts_of_a_tab() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("pools.log");
    make(&log, 3, 2000);
    let page = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&page, "");
    assert_eq!(opened.console, [""; 0]);
    assert_eq!((opened.said("opens"), opened.said("shown")), ("Events", "Counters"));
    assert_eq!(opened.said("lines").split(" | ").count(), 6);
    assert_eq!(opened.said("zooms"), "true", "keys zoom without a click");
    assert_eq!(opened.said("drawn"), "6");
    let names = plain(opened.said("names"));
    assert!(names.contains("<img src=http:") && names.contains("queue"), "{names}");
    assert!(plain(opened.said("told")).contains("iB"), "{}", opened.said("told"));
    let text = fs::read_to_string(&page).expect("text");
    assert_eq!(text.matches("</script>").count(), 3, "a name ended a script");
    let narrow = Page::open_in(&page, "", 390);
    assert_eq!(narrow.said("wide"), "false", "the page is wider than the window");
}

/// `.cnv.report.counters`: the page says how many it leaves out, and keeps one of each mark.
#[test]
fn many_counters_leave_a_chart_for_each_mark() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("pools.log");
    let counter_count = make(&log, 5000, 60_000);
    let page = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&page, "tab=counters");
    assert_eq!(opened.console, [""; 0]);
    assert!(counter_count > 4000);
    let names = plain(opened.said("names"));
    assert_eq!(names.split(" | ").count(), 32);
    for mark in ["changes", "queue", "warmth", "live"] {
        assert!(names.contains(mark), "{mark}: {names}");
    }
    let notes = plain(opened.said("notes")).replace(' ', "");
    assert!(notes.contains(&format!("32of{counter_count}counters")), "{notes}");
}

/// `.cnv.report.counters`: a counter with one value, and a log of one event.
#[test]
fn a_counter_with_one_value_is_a_line() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("pools.log");
    for (count, expected) in [(0, "queue"), (1, "queue")] {
        make(&log, 1, count);
        let page = page_with(&log, directory.path(), &[], STEPS);
        let opened = Page::open(&page, "tab=counters");
        assert_eq!(opened.console, [""; 0]);
        assert!(opened.said("names").contains(expected), "{}", opened.said("names"));
        assert!(opened.number("drawn") >= 1.0);
    }
}

/// `.cnv.report.counters`: a pool that shrinks before it grows had something at first.
#[test]
fn a_counter_below_zero_is_relative_to_an_unknown_value() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("pools.log");
    let mut file = fs::File::create(&log).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(&origin(1, 4711, "pools")).expect("a stream");
    sync(&mut maker, 1);
    maker.add(1, 1, 1000, &Drain { pool: 1, size: 5000 }).expect("an event");
    maker.add(1, 1, 2000, &Fill { pool: 1, size: 9000 }).expect("an event");
    sync(&mut maker, 3000);
    maker.finish().expect("an end");
    let page = page_with(&log, directory.path(), &[], STEPS);
    let data = data(&page);
    let rows = data["counters"]["rows"].as_array().expect("rows").iter();
    let found: Vec<_> = rows.map(|row| (row["least"].as_u64(), row["cells"][7].as_i64())).collect();
    assert_eq!(found, [(Some(5000), Some(4000)), (None, None)]);
    let opened = Page::open(&page, "tab=counters");
    assert_eq!(opened.console, [""; 0]);
    let told = plain(opened.said("told"));
    assert!(told.contains("which is unknown and at least 4.883 KiB"), "{told}");
}

/// `.cnv.report.counters`: an axis has few lines, also of values that differ in their last digits.
#[test]
fn charts_of_far_and_of_tiny_values_are_drawn() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("pools.log");
    let mut file = fs::File::create(&log).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(&origin(1, 4711, "pools")).expect("a stream");
    sync(&mut maker, 1);
    for at in 0..50 {
        let length = 1_000_000_000_000_000_000 + 1000 * at;
        maker.add(1, 1, 1000 + at as u64, &Length { length }).expect("an event");
        let row = Temperature { at: 3, degrees: at as f64 * 1e-200 };
        maker.add(1, 1, 1000 + at as u64, &row).expect("an event");
    }
    sync(&mut maker, 2000);
    maker.finish().expect("an end");
    let page = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&page, "tab=counters");
    assert_eq!(opened.console, [""; 0]);
    assert_eq!(opened.said("drawn"), "2");
}
