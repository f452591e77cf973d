//! The tab of counters: the values of a naive twin in each part of the time.
//!
//! ```text
//!  random changes ─┬─ Maker ──▶ log ── eventcnv report ──▶ page ── chromium
//!                  └─ a list of times and values ──▶ least, greatest, last of each part
//! ```
//!
//! Rules: `.cnv.report.counters` in `design/eventcnv.md`.

use super::calls::page_with;
use super::durations::data;
use super::threads::{HOSTILE, label, origin, plain, sync};
use crate::Page;
use eventlog::format::ClockSource;
use eventlog::writer::Maker;
use pools::{Drain, Fill, Length, Temperature};
use std::collections::BTreeMap;
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
/// Parts of the time.
const PARTS: u64 = 1024;

/// A counter by its mark and its key; its values by time.
type Twin = BTreeMap<(&'static str, u64), Vec<(u64, f64)>>;

/// Makes a log of changes. Returns its values and its last moment.
fn make(path: &Path, pool_count: u64, count: u64, has_clock: bool) -> (Twin, (u64, u64)) {
    let mut file = fs::File::create(path).expect("a file");
    let mut maker = Maker::new(&mut file);
    let mut origin = origin(1, 4711, "pools");
    if !has_clock {
        (origin.clock_source, origin.clock_rate) = (ClockSource::Tsc, 0);
    }
    maker.begin(&origin).expect("a stream");
    if has_clock {
        sync(&mut maker, 1);
    }
    label(&mut maker, 1, HOSTILE);
    let (mut twin, mut live) = (Twin::new(), BTreeMap::new());
    let mut random = 11u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    let (first, mut ticks) = (1000, 1000);
    let mut set = |counter, ticks, change: &dyn Fn(f64) -> f64| {
        let values: &mut Vec<(u64, f64)> = twin.entry(counter).or_default();
        let value = change(values.last().map_or(0.0, |(_, value)| *value));
        values.push((ticks, value));
        value
    };
    for at in 0..count {
        let (pool, size) = (1 + next(pool_count), next(100_000));
        match next(4) {
            0 | 1 => {
                let row = Fill { pool: pool as usize, size: size as usize };
                maker.add(1, 1, ticks, &row).expect("an event");
                live.insert(pool, set(("live", pool), ticks, &|value| value + size as f64));
                set(("changes", 0), ticks, &|value| value + 1.0);
            }
            2 => {
                let held = live.get(&pool).copied().unwrap_or(0.0);
                let size = (size as f64).min(held);
                let row = Drain { pool: pool as usize, size: size as usize };
                maker.add(1, 1, ticks, &row).expect("an event");
                live.insert(pool, set(("live", pool), ticks, &|value| value - size));
            }
            _ if at % 2 == 0 => {
                maker.add(1, 1, ticks, &Length { length: size as usize }).expect("an event");
                set(("queue", 0), ticks, &|_| size as f64);
            }
            _ => {
                let degrees = size as f64 / 8.0 - 500.0;
                maker.add(1, 1, ticks, &Temperature { at: 3, degrees }).expect("an event");
                set(("warmth", 3), ticks, &|_| degrees);
            }
        }
        ticks += next(1 << (at % 12));
    }
    maker.add(1, 1, ticks, &Length { length: 7 }).expect("an event");
    set(("queue", 0), ticks, &|_| 7.0);
    if has_clock {
        sync(&mut maker, ticks);
    }
    maker.finish().expect("an end");
    (twin, (first, ticks))
}

/// Returns the least, the greatest and the last value in each part of the time.
fn cells(values: &[(u64, f64)], (first, last): (u64, u64)) -> Vec<(u64, f64, f64, f64)> {
    let part = |ticks: u64| (ticks - first) * PARTS / (last - first + 1);
    let in_part = |at: u64| values.iter().filter(move |(ticks, _)| part(*ticks) == at);
    let cell = |at: u64| {
        let values: Vec<f64> = in_part(at).map(|(_, value)| *value).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        values.last().map(|last| (at, low, high, *last))
    };
    (0..PARTS).filter_map(cell).collect()
}

/// `.cnv.report.counters`
#[test]
fn charts_have_the_values_of_a_naive_twin() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for has_clock in [true, false] {
        let log = directory.path().join("pools.log");
        let (twin, range) = make(&log, 3, 5000, has_clock);
        let page = page_with(&log, directory.path(), &[], STEPS);
        let data = data(&page)["counters"].clone();
        assert_eq!((&data["parts"], &data["count"]), (&PARTS.into(), &twin.len().into()));
        let rows = data["rows"].as_array().expect("rows");
        for ((mark, key), values) in &twin {
            let name = match mark {
                &"changes" | &"queue" => (*mark).to_owned(),
                mark => format!("{mark} {key}"),
            };
            let row = rows.iter().find(|row| {
                let own = row["name"].as_str().expect("a name");
                own == name || own.starts_with(&format!("{name} "))
            });
            let row = row.unwrap_or_else(|| panic!("no {name}: {rows:?}"));
            let numbers = row["cells"].as_array().expect("cells");
            let numbers: Vec<f64> = numbers.iter().map(|n| n.as_f64().expect("a number")).collect();
            let found: Vec<_> =
                numbers.chunks(4).map(|cell| (cell[0] as u64, cell[1], cell[2], cell[3])).collect();
            assert_eq!(found, cells(values, range), "{name}");
            let unit = if *mark == "live" { "bytes".into() } else { row["unit"].clone() };
            assert_eq!(row["unit"], unit);
            assert!(row["least"].is_null(), "{name} is known from its beginning");
        }
    }
}

/// `.cnv.report.counters`
#[test]
fn counters_are_lines_of_the_events_and_charts_of_a_tab() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("pools.log");
    make(&log, 3, 2000, true);
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
    let (twin, _) = make(&log, 5000, 60_000, true);
    let page = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&page, "tab=counters");
    assert_eq!(opened.console, [""; 0]);
    assert!(twin.len() > 4000);
    let names = plain(opened.said("names"));
    assert_eq!(names.split(" | ").count(), 32);
    for mark in ["changes", "queue", "warmth", "live"] {
        assert!(names.contains(mark), "{mark}: {names}");
    }
    let notes = plain(opened.said("notes")).replace(' ', "");
    assert!(notes.contains(&format!("32of{}counters", twin.len())), "{notes}");
}

/// `.cnv.report.counters`: a counter with one value, and a log of one event.
#[test]
fn a_counter_with_one_value_is_a_line() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("pools.log");
    for (count, expected) in [(0, "queue"), (1, "queue")] {
        make(&log, 1, count, false);
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
