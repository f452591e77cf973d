//! The tab of durations: the numbers of a naive twin, the slowest slices, the flame graph.
//!
//! ```text
//!  random nested jobs ─┬─ Maker ──▶ log ── eventcnv report ──▶ page ── chromium
//!                      └─ lists of durations, paths ──▶ the same numbers
//! ```
//!
//! Rules: `.cnv.report.durations` in `design/eventcnv.md`.

use super::calls::page_with;
use super::threads::play::{JobBegin, JobEnd, ThingCreate, ThingDestroy};
use super::threads::{HOSTILE, label, origin, plain, sync};
use crate::Page;
use eventlog::format::ClockSource;
use eventlog::writer::Maker;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tests::programs::{eventcnv, run};

/// What a person does on the page.
const STEPS: &str = include_str!("durations.js");
/// The names of jobs; the last one would end a script.
const NAMES: [&str; 4] = ["serve", "parse", "look up", HOSTILE];

/// What the log has: durations by name, and total, own and count by path.
#[derive(Default)]
struct Twin {
    durations: BTreeMap<usize, Vec<u64>>,
    paths: BTreeMap<Vec<usize>, (u64, u64, u64)>,
}

/// Makes a log of nested jobs on three threads, and of things whose spans cross.
fn make(path: &Path, count: u64, has_clock: bool) -> Twin {
    let mut file = fs::File::create(path).expect("a file");
    let mut maker = Maker::new(&mut file);
    let mut origin = origin(1, 4711, "jobs");
    if !has_clock {
        (origin.clock_source, origin.clock_rate) = (ClockSource::Tsc, 0);
    }
    maker.begin(&origin).expect("a stream");
    if has_clock {
        sync(&mut maker, 1);
    }
    for (at, name) in (1..).zip(["main", "worker", "other"]) {
        maker.thread(10, at, 4711 + at as usize, name).expect("a thread");
    }
    let jobs: Vec<usize> = (1..).zip(NAMES).map(|(at, name)| label(&mut maker, at, name)).collect();
    let mut twin = Twin::default();
    let mut random = 7u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    // By thread: name, beginning, time of the jobs in it.
    let mut stacks: [Vec<(usize, u64, u64)>; 3] = Default::default();
    let (mut ticks, mut left) = (1000u64, count);
    while left > 0 || stacks.iter().any(|stack| !stack.is_empty()) {
        let at = next(3) as usize;
        let (thread, stack) = (at as u32 + 1, &mut stacks[at]);
        let bits = next(14);
        ticks += 1 + next(1 << bits);
        if stack.len() < 5 && left > 0 && next(2) == 0 {
            let name = next(NAMES.len() as u64) as usize;
            maker.add(thread, thread, ticks, &JobBegin { job: jobs[name] }).expect("an event");
            stack.push((name, ticks, 0));
            left -= 1;
            continue;
        }
        let names: Vec<usize> = stack.iter().map(|(name, ..)| *name).collect();
        let Some((name, begin, inner)) = stack.pop() else { continue };
        maker.add(thread, thread, ticks, &JobEnd { result: at }).expect("an event");
        let ns = ticks - begin;
        stack.last_mut().into_iter().for_each(|(_, _, inner)| *inner += ns);
        twin.durations.entry(name).or_default().push(ns);
        let sum = twin.paths.entry(names).or_default();
        *sum = (sum.0 + ns, sum.1 + ns - inner, sum.2 + 1);
    }
    for thing in 0..count as usize / 4 {
        maker.add(1, 1, ticks + 1 + thing as u64, &ThingCreate { thing }).expect("an event");
    }
    for thing in 0..count as usize / 8 {
        let at = ticks + count + 100 * thing as u64;
        maker.add(2, 2, at, &ThingDestroy { thing }).expect("an event");
    }
    maker.add(3, 3, ticks + 101 * count, &JobBegin { job: jobs[0] }).expect("an event");
    if has_clock {
        sync(&mut maker, ticks + 102 * count);
    }
    maker.finish().expect("an end");
    twin
}

/// Returns what the scripts of a page draw.
pub(crate) fn data(page: &Path) -> Value {
    let text = fs::read_to_string(page).expect("a page");
    let (_, rest) = text.split_once("id=\"data\"").expect("the data");
    let (_, rest) = rest.split_once('>').expect("an element");
    serde_json::from_str(rest.split("</script>").next().expect("its end")).expect("JSON")
}

/// `.cnv.report.durations`: paths are those of lists; for counts and percentiles see
/// `meaning/agree.rs`.
#[test]
fn paths_equal_those_of_a_naive_twin() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for has_clock in [true, false] {
        let log = directory.path().join("jobs.log");
        let twin = make(&log, 3000, has_clock);
        let page = page_with(&log, directory.path(), &[], STEPS);
        let data = data(&page);
        let data = &data["durations"];
        assert_eq!(data["isNs"], has_clock);
        let row = |at: usize| data["rows"].get(at).expect("a row");
        let name_of = |at: &Value| row(at.as_u64().expect("a row") as usize)["name"].clone();
        let shown = |name: usize| NAMES[name].replace(['\u{1b}', '\u{202e}'], "\u{fffd}");
        let nodes = &data["nodes"];
        let mut paths = BTreeMap::new();
        for at in 0..nodes["functions"].as_array().expect("nodes").len() {
            let (mut path, mut node) = (Vec::new(), at as i64);
            while node >= 0 {
                path.insert(0, name_of(&nodes["functions"][node as usize]));
                node = nodes["parents"][node as usize].as_i64().expect("a node");
            }
            let number = |of: &str| nodes[of][at].as_u64().expect("a number");
            let path: Vec<String> =
                path.iter().map(|name| name.as_str().expect("text").to_owned()).collect();
            paths.insert(path, (number("weights"), number("owns"), number("counts")));
        }
        for (path, sum) in &twin.paths {
            let key: Vec<String> = path.iter().map(|name| shown(*name)).collect();
            let (total, own, mut count) = *sum;
            // The job that never ends has a path, too.
            count += u64::from(*path == [0]);
            assert_eq!(paths.remove(&key), Some((total, own, count)), "{key:?}");
        }
        assert!(paths.is_empty(), "{paths:?}");
    }
}

/// `.cnv.report.durations`
#[test]
fn a_row_opens_its_slowest_slices_and_leads_to_threads() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("jobs.log");
    let twin = make(&log, 600, true);
    let page = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&page, "tab=durations");
    assert_eq!(opened.console, [""; 0]);
    let said = |name: &str| plain(opened.said(name));
    let pairs = run(eventcnv().args(["pairs", "--json"]).arg(&log)).stdout;
    let pairs: Value = serde_json::from_slice(&pairs).expect("JSON");
    opened.assert_columns("durations", &pairs["rows"][0]);
    let names: Vec<&str> = pairs["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| row["slice"].as_str())
        .collect();
    let names = names.join(" | ").replace(['\u{1b}', '\u{202e}'], "\u{fffd}");
    assert_eq!(said("names"), names, "the rows of `pairs`, in their order");
    // Keys work without a click: the arrow goes to the second row.
    assert_eq!(said("picked"), names.split(" | ").nth(1).expect("a row"));
    let serve = twin.durations.get(&0).expect("durations");
    let longest = *serve.iter().max().expect("a duration") as f64;
    let first = said("slowest");
    let first: f64 = first.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
    assert!((first - longest / 1e3).abs() <= longest / 1e5, "{first} {longest}");
    assert_eq!(said("count"), "8");
    assert!(said("details").contains("job:1"), "{}", said("details"));
    assert!(said("details").contains("result:"), "{}", said("details"));
    assert!(said("details").contains("thread "), "{}", said("details"));
    assert!(said("flame").contains("look up"), "{}", said("flame"));
    assert_eq!(said("odd"), "Also of this name: 1 without an end in the log.");
    assert_eq!(said("shown"), "Threads");
    assert_eq!(said("bar"), "serve", "the bar is picked in Threads");
    assert_eq!(said("matched"), "look up");
    let narrow = Page::open_in(&page, "tab=durations", 390);
    assert_eq!(narrow.said("wide"), "false", "the page is wider than the window");
    let text = fs::read_to_string(&page).expect("text");
    assert_eq!(text.matches("</script>").count(), 3, "a name ended a script");
}

/// `.cnv.report.durations`: slices without an end have a row, and no time.
#[test]
fn slices_without_an_end_have_a_row_and_no_time() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("open.log");
    let mut file = fs::File::create(&log).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(&origin(1, 4711, "open")).expect("a stream");
    maker.add(1, 1, 1000, &JobBegin { job: 1 }).expect("an event");
    maker.finish().expect("an end");
    let page = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&page, "tab=durations");
    assert_eq!(opened.console, [""; 0]);
    assert_eq!(plain(opened.said("odd")), "Also of this name: 1 without an end in the log.");
    assert_eq!(opened.said("flame"), "");
}

/// `.cnv.report.durations`: the keys of spans take no room from the names of slices.
#[test]
fn many_spans_leave_slices_their_names() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("things.log");
    let mut file = fs::File::create(&log).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(&origin(1, 4711, "things")).expect("a stream");
    sync(&mut maker, 1);
    for thing in 1..70_000 {
        let ticks = 10 * thing as u64;
        maker.add(1, 1, ticks, &ThingCreate { thing }).expect("an event");
        maker.add(1, 1, ticks + 5, &ThingDestroy { thing }).expect("an event");
    }
    let job = label(&mut maker, 1, "late");
    maker.add(1, 1, 1_000_000, &JobBegin { job }).expect("an event");
    maker.add(1, 1, 1_000_077, &JobEnd { result: 1 }).expect("an event");
    sync(&mut maker, 1_000_100);
    maker.finish().expect("an end");
    let data = data(&page_with(&log, directory.path(), &[], STEPS));
    let rows = data["durations"]["rows"].as_array().expect("rows");
    let found: Vec<_> =
        rows.iter().map(|row| (&row["name"], &row["count"], &row["total"])).collect();
    let expected = [("Thing", 69_999, 349_995.0), ("late", 1, 77.0)];
    for ((name, count, total), own) in found.iter().zip(expected) {
        assert_eq!(
            (name.as_str(), count.as_u64(), total.as_f64()),
            (Some(own.0), Some(own.1), Some(own.2))
        );
    }
    assert_eq!(found.len(), 2);
}

/// `.cnv.report.durations`: a name that lies in itself counts once in the time of a slice.
#[test]
fn slices_of_one_name_in_each_other_count_once() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("nested.log");
    let mut file = fs::File::create(&log).expect("a file");
    let mut maker = Maker::new(&mut file);
    maker.begin(&origin(1, 4711, "nested")).expect("a stream");
    sync(&mut maker, 1);
    let job = label(&mut maker, 1, "serve");
    for ticks in [10_000, 11_000, 12_000] {
        maker.add(1, 1, ticks, &JobBegin { job }).expect("an event");
    }
    for ticks in [14_000, 15_000, 20_000] {
        maker.add(1, 1, ticks, &JobEnd { result: 0 }).expect("an event");
    }
    sync(&mut maker, 30_000);
    maker.finish().expect("an end");
    let page = page_with(&log, directory.path(), &[], STEPS);
    let opened = Page::open(&page, "tab=durations");
    assert_eq!(opened.console, [""; 0]);
    let details = plain(opened.said("details"));
    assert!(details.contains("serve 2 times, 4"), "2 µs lie in 4 µs: {details}");
}
