//! How long slices lasted: percentiles are those of a sorted list, which the dump gives.
//!
//! ```text
//!  log ── eventcnv --style json ──▶ paired by a naive twin, sorted ─┐
//!      └─ eventcnv pairs --json ─────────────────────────────────────┴──▶ the same
//! ```
//!
//! Design: `.cnv.pairs` in `design/eventcnv.md`; `.slice.*` in `design/slices.md`.

#[path = "pairs/against.rs"]
mod against;
#[path = "pairs/made.rs"]
mod made;
mod support;

use made::{Step, made, named};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use support::{assert_golden, golden_path, mps, run};
use tempfile::TempDir;

/// A tick is a ns then.
const RATE: [&str; 2] = ["--clock-rate", "1GHz"];

fn ours(name: &str) -> String {
    golden_path("log").join(name).to_str().unwrap().to_owned()
}

/// Writes a log of steps. Returns its path.
fn write(directory: &TempDir, name: &str, steps: &[Step]) -> String {
    let path = directory.path().join(name);
    fs::write(&path, made(steps)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The groups of a log, as JSON.
fn pairs(args: &[&str]) -> Vec<Value> {
    let (found, code, errors) = run(&[&["pairs", "--json"], args].concat());
    assert!(code < 2, "{errors}");
    let found: Value = serde_json::from_slice(&found).unwrap();
    found["rows"].as_array().unwrap().clone()
}

/// An event by the dump.
struct Event {
    name: String,
    ticks: u64,
    thread: u64,
    params: Value,
}

fn dumped(args: &[&str]) -> Vec<Event> {
    let (text, _, _) = run(&[&["--style", "json"], args].concat());
    let event = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        Event {
            name: line["event"].as_str().unwrap().to_owned(),
            ticks: line["ticks"].as_u64().unwrap(),
            thread: line["thread"].as_u64().unwrap(),
            params: line["params"].clone(),
        }
    };
    String::from_utf8(text).unwrap().lines().map(event).collect()
}

/// A pair of event types, whether it is a span, and its key.
struct Pair {
    name: &'static str,
    begin: &'static str,
    end: &'static str,
    is_span: bool,
    key: &'static [&'static str],
}

const fn slice(
    name: &'static str,
    begin: &'static str,
    end: &'static str,
    key: &'static [&'static str],
) -> Pair {
    Pair { name, begin, end, is_span: false, key }
}

const fn span(
    name: &'static str,
    begin: &'static str,
    end: &'static str,
    key: &'static [&'static str],
) -> Pair {
    Pair { name, begin, end, is_span: true, key }
}

/// Pairs of the made logs.
const MADE: [Pair; 3] = [
    slice("Job", "JobBegin", "JobEnd", &["job"]),
    slice("Call", "CallEnter", "CallLeave", &[]),
    span("Task", "TaskStart", "TaskEnd", &["task"]),
];

/// What a naive pairing finds of a pair: durations in order, and counts.
#[derive(Debug, Default, PartialEq)]
struct Naive {
    durations: Vec<u64>,
    again: u64,
    unfinished: u64,
    alone: u64,
}

/// Pairs events by the definition, with a list that is searched from its end. `is_chosen` decides
/// by the beginning, or by an end that is alone.
fn naive(events: &[Event], pair: &Pair, is_chosen: impl Fn(&Event) -> bool) -> Naive {
    let (mut open, mut found): (Vec<&Event>, Naive) = Default::default();
    let is_same = |a: &&Event, b: &Event| {
        pair.key.iter().all(|key| a.params[key] == b.params[key])
            && (a.thread == b.thread || pair.is_span && !pair.key.is_empty())
    };
    for event in events {
        let at = open.iter().rposition(|open| is_same(open, event));
        if event.name == pair.begin {
            if let Some(at) = at.filter(|_| pair.is_span) {
                found.again += u64::from(is_chosen(open.remove(at)));
            }
            open.push(event);
        } else if event.name == pair.end {
            match at.map(|at| open.remove(at)) {
                Some(begin) if is_chosen(begin) => found.durations.push(event.ticks - begin.ticks),
                Some(_) => {}
                None => found.alone += u64::from(is_chosen(event)),
            }
        }
    }
    found.unfinished = open.iter().filter(|begin| is_chosen(begin)).count() as u64;
    found.durations.sort_unstable();
    found
}

/// The least duration that a part of all does not exceed, by its definition.
fn percentile(sorted: &[u64], thousandths: usize) -> u64 {
    *sorted
        .iter()
        .enumerate()
        .find(|(at, _)| (at + 1) * 1000 >= thousandths * sorted.len())
        .unwrap()
        .1
}

/// Compares a group with what the twin found.
fn assert_group(group: &Value, naive: &Naive, of: &str) {
    let sorted = &naive.durations;
    let expected =
        |name: &str, value: u64| assert_eq!(group[name], value, "{name} of {of}: {group}");
    expected("count", sorted.len() as u64);
    expected("total_ns", sorted.iter().sum());
    expected("again", naive.again);
    expected("unfinished", naive.unfinished);
    expected("without_beginning", naive.alone);
    for (name, part) in [("p50", 500), ("p90", 900), ("p99", 990), ("p99_9", 999), ("max", 1000)] {
        if !sorted.is_empty() {
            expected(&format!("{name}_ns"), percentile(sorted, part));
        }
    }
    assert_eq!(group["exact"], true);
}

fn group_of<'g>(groups: &'g [Value], name: &str) -> &'g Value {
    groups.iter().find(|group| group["slice"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// Steps of three threads: nested, crossing, repeated and unfinished.
fn random(count: usize, mut state: u64) -> Vec<Step> {
    let mut byte = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as u8
    };
    let step = |_| Step {
        thread: u32::from(byte() % 3) + 1,
        wait: u64::from(byte()) * u64::from(byte() % 17),
        code: u16::from(byte() % 7) + 1,
        key: u64::from(byte() % 4),
    };
    (0..count).map(step).collect()
}

/// `.cnv.speed`: several processors read a log of several partitions, and one pairs.
#[test]
fn slices_reach_from_partition_to_partition() {
    let directory = TempDir::new().unwrap();
    let steps = random(250_000, 13);
    let log = write(&directory, "long.log", &steps);
    let mut ticks = 0;
    let event = |step: &Step| {
        let names = ["", "JobBegin", "JobEnd", "CallEnter", "CallLeave", "TaskStart", "TaskEnd"];
        ticks += step.wait;
        Event {
            name: names.get(usize::from(step.code)).unwrap_or(&"").to_string(),
            ticks,
            thread: step.thread.into(),
            params: serde_json::json!({ "job": step.key, "task": step.key }),
        }
    };
    let mut events: Vec<Event> = steps.iter().map(event).collect();
    // At equal ticks, the lower buffer comes first (`.time.order`).
    events.sort_by_key(|event| (event.ticks, event.thread));
    let mut groups = pairs(&[&log]);
    for pair in &MADE {
        let naive = naive(&events, pair, |_| true);
        assert!(naive.durations.len() > 10_000, "{}", pair.name);
        assert_group(group_of(&groups, pair.name), &naive, pair.name);
    }
    // A selection that counts events is read by one processor, and has no rate.
    groups.iter_mut().for_each(|group| group["count_per_s"] = Value::Null);
    let counted = pairs(&[&log, "--first", "250000"]);
    assert_eq!(counted, groups);
}

/// `.cnv.pairs`: a selection chooses slices by their beginning; the pairing sees all events.
#[test]
fn a_selection_chooses_slices_by_their_beginning() {
    let directory = TempDir::new().unwrap();
    let log = write(&directory, "made.log", &random(8000, 8));
    let events = dumped(&[&log]);
    let middle = events[events.len() / 2].ticks;
    let (from, number) = (format!("0x{middle:X}"), (events.len() / 3).to_string());
    let at = |event: &Event| events.iter().position(|other| std::ptr::eq(other, event)).unwrap();
    let last = events.len() - events.len() / 3;
    type Chosen<'c> = &'c dyn Fn(&Event) -> bool;
    let selections: [(&[&str], Chosen<'_>); 6] = [
        (&["--from", &from], &|event| event.ticks >= middle),
        (&["--to", &from], &|event| event.ticks <= middle),
        (&["--threads", "1,3"], &|event| event.thread != 2),
        (&["--where", "job == 2 or task == 1"], &|event| {
            event.params["job"] == 2 || event.params["task"] == "0x1"
        }),
        (&["--first", &number], &|event| at(event) < events.len() / 3),
        (&["--last", &number], &|event| at(event) >= last),
    ];
    for (options, is_chosen) in selections {
        let groups = pairs(&[&[&*log], options].concat());
        let mut count = 0;
        for pair in &MADE {
            let naive = naive(&events, pair, is_chosen);
            if naive != Naive::default() {
                count += naive.durations.len();
                assert_group(group_of(&groups, pair.name), &naive, &format!("{options:?}"));
            }
        }
        assert!(count > 100, "{options:?}");
    }
    // The time in which counted slices could begin is unknown.
    for (options, is_known) in [(["--from", &*from], true), (["--first", &*number], false)] {
        let groups = pairs(&[&[&*log], &options[..]].concat());
        assert_eq!(groups[0]["count_per_s"].is_null(), !is_known, "{options:?}");
    }
    let (_, code, errors) = run(&["pairs", &log, "--where", "job == 77"]);
    assert!(code == 0 && errors.contains("no event is selected"), "{errors}");
}

/// `.cnv.pairs`
#[test]
fn groups_are_by_thread_key_or_parameter() {
    let directory = TempDir::new().unwrap();
    let log = write(&directory, "made.log", &random(8000, 9));
    let events = dumped(&[&log]);
    let job = &MADE[0];
    for (by, values) in [("thread", [1, 2, 3]), ("key", [0, 1, 2]), ("job", [0, 1, 2])] {
        let groups = pairs(&[&log, "--by", by]);
        for value in values {
            let is_chosen = |event: &Event| match by {
                "thread" => event.thread == value,
                _ => event.params["job"] == value,
            };
            let naive = naive(&events, job, is_chosen);
            let is_it = |group: &&Value| {
                group["slice"] == "Job" && group["value"] == value.to_string().as_str()
            };
            let group = groups.iter().find(is_it).unwrap();
            assert_group(group, &naive, by);
        }
    }
    // A parameter of the end, which its beginning lacks.
    let groups = pairs(&[&log, "--by", "result"]);
    let of_result: u64 = groups
        .iter()
        .filter(|group| group["slice"] == "Job" && group["value"] != "")
        .map(|group| group["count"].as_u64().unwrap())
        .sum();
    assert_eq!(of_result, naive(&events, job, |_| true).durations.len() as u64);
    let (_, code, errors) = run(&["pairs", &log, "--by", "jbo"]);
    assert!(code == 2 && errors.contains("did you mean job?"), "{errors}");
}

/// `.cnv.pairs`: pointers have their labels.
#[test]
fn a_pointer_has_the_label_of_its_time() {
    let pair = ["--no-names", "--pair", "PoolAlloc=PoolFree:addr"];
    let groups = pairs(&[&[&*ours("heap.log"), "--by", "pool"], &pair[..]].concat());
    let values: Vec<&str> = groups.iter().filter_map(|group| group["value"].as_str()).collect();
    assert!(values.iter().any(|value| value.ends_with("[\"letters\"]")), "{values:?}");
}

/// `.cnv.marks`
#[test]
fn pairs_can_be_named() {
    let directory = TempDir::new().unwrap();
    let log = write(&directory, "made.log", &random(8000, 10));
    let events = dumped(&[&log]);
    let odd = slice("Job", "JobEnd", "TaskStart", &[]);
    let args = [&*log, "--no-names", "--pair", "JobEnd=TaskStart:"];
    let groups = pairs(&args);
    assert_eq!(groups.len(), 1);
    assert_group(&groups[0], &naive(&events, &odd, |_| true), "--pair");
    let cross = span("Job", "JobBegin", "JobEnd", &["job"]);
    let groups = pairs(&[&log, "--no-names", "--span", "JobBegin=JobEnd:job"]);
    assert_group(&groups[0], &naive(&events, &cross, |_| true), "--span");
    let (_, code, errors) = run(&["pairs", &log, "--pair", "JobBgin=JobEnd"]);
    assert!(code == 2 && errors.contains("did you mean JobBegin"), "{errors}");
    let (text, code, _) = run(&["pairs", &log, "--no-names"]);
    let text = String::from_utf8(text).unwrap();
    assert!(code == 0 && text.contains("no selected event begins anything"), "{text}");
}

/// `.cnv.pairs`: a selection of ends alone names the query that joins them.
#[test]
fn a_condition_on_the_end_leads_to_a_query() {
    let directory = TempDir::new().unwrap();
    let step = |(code, key)| Step { thread: 1, wait: 10, code, key };
    let steps = [(1, 1), (2, 1), (1, 2), (2, 2), (3, 0), (4, 0)].map(step);
    let log = write(&directory, "jobs.log", &steps);
    let (_, code, errors) = run(&["pairs", &log, "--where", "result > 71"]);
    let query = "SELECT slices.* FROM slices JOIN JobEnd ON event = end_event";
    assert!(code == 0 && errors.contains(&format!("eventcnv query LOG \"{query}\"")), "{errors}");
    #[cfg(feature = "sql")]
    {
        let query = format!("{query} WHERE result > 71");
        let (found, code, errors) = run(&["query", "--csv", &log, &query]);
        let found = String::from_utf8(found).unwrap();
        assert!(code == 0 && found.lines().count() == 2, "{found}{errors}");
    }
    for args in [&["--where", "job > 0"][..], &["--events", "JobBegin"], &["--events", "Note"], &[]]
    {
        let (_, _, errors) = run(&[&["pairs", &*log], args].concat());
        assert!(!errors.contains("eventcnv query"), "{args:?}: {errors}");
    }
}

/// `.cnv.pairs`: a note tells that further values share a row.
#[test]
fn further_values_and_groups_are_noted() {
    let directory = TempDir::new().unwrap();
    for (count, expected) in [(1 << 16, false), ((1 << 16) + 1, true)] {
        let key = |key: u64| [1, 2].map(|code| Step { thread: 1, wait: 10, code, key });
        let steps: Vec<Step> = (1..=count).flat_map(key).collect();
        let log = write(&directory, "jobs.log", &steps);
        let (found, _, errors) = run(&["pairs", &log, "--by", "job", "--csv"]);
        let found = String::from_utf8(found).unwrap();
        assert_eq!(found.contains("(others)"), expected, "{count}");
        let note = "slices have more than 65536 names or values";
        assert_eq!(errors.contains(note), expected, "{count}: {errors}");
    }
}

/// `.cnv.marks`: strings and doubles tell slices apart too.
#[test]
fn a_key_may_be_a_string_or_a_double() {
    let directory = TempDir::new().unwrap();
    let step = |(code, key)| Step { thread: 1, wait: 10, code, key };
    let steps = [(9, 1), (9, 2), (10, 1), (9, 3), (10, 2), (10, 3), (10, 3)].map(step);
    let log = write(&directory, "sales.log", &steps);
    for key in ["what", "price"] {
        let pair = format!("SaleBegin=SaleEnd:{key}");
        let groups = pairs(&[&log, "--pair", &pair, "--by", key]);
        let found: Vec<_> = groups
            .iter()
            .map(|group| (group["value"].as_str().unwrap(), group["total_ns"].as_u64().unwrap()))
            .collect();
        let expected = match key {
            "what" => [("thing 2", 30), ("thing 1", 20), ("thing 3", 20)],
            _ => [("1", 30), ("0.5", 20), ("1.5", 20)],
        };
        assert_eq!(found, expected);
        let alone = groups.iter().map(|group| group["without_beginning"].as_u64().unwrap());
        assert_eq!(alone.collect::<Vec<_>>(), [0, 0, 1]);
    }
}

/// The slowest are the last of the sorted list, with the lines that the dump prints.
#[test]
fn the_slowest_slices_have_their_events() {
    let log = mps("amcss-arena-pool-trace.log");
    let (text, ..) = run(&[&["pairs", "--json", "--slowest", "9", &log], &RATE[..]].concat());
    let found: Value = serde_json::from_slice(&text).unwrap();
    let (dump, ..) = run(&["-v", &log]);
    let dump = String::from_utf8(dump).unwrap();
    let slowest = found["slowest"].as_array().unwrap();
    assert_eq!(slowest.len(), 9);
    let durations: Vec<u64> =
        slowest.iter().map(|slow| slow["duration_ns"].as_u64().unwrap()).collect();
    assert!(durations.is_sorted_by(|a, b| a >= b), "{durations:?}");
    let groups = found["rows"].as_array().unwrap();
    let max = groups.iter().filter_map(|group| group["max_ns"].as_u64()).max().unwrap();
    assert_eq!(durations[0], max);
    for slow in slowest {
        let name = slow["slice"].as_str().unwrap();
        let [begin, end] = ["begin", "end"].map(|end| {
            let line = slow[end]["event"].as_str().unwrap();
            assert!(line.contains(name) && dump.lines().any(|other| other == line), "{line}");
            u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
        });
        assert_eq!(end - begin, slow["duration_ns"].as_u64().unwrap());
    }
    for log in [log, ours("heap.log")] {
        let (text, ..) = run(&["pairs", "--slowest", "9", &log]);
        let text = String::from_utf8(text).unwrap();
        let (dump, ..) = run(&["--style", "text", &log]);
        let dump = String::from_utf8(dump).unwrap();
        let lines = text.lines().filter_map(|line| Some(line.split_once(" of buffer ")?.0));
        let lines: Vec<&str> = lines.map(|line| line.rsplit_once("  #").unwrap().0).collect();
        assert!(lines.len() >= 2, "{text}");
        let is_of_dump = |line: &&str| dump.lines().any(|other| format!("  {other}") == **line);
        assert!(lines.iter().all(is_of_dump), "{text}");
    }
}

/// `.slice.gap`: what lost events in between has no duration.
#[test]
fn missing_events_make_slices_doubtful() {
    let directory = TempDir::new().unwrap();
    let steps = |codes: &[u16]| -> Vec<Step> {
        codes.iter().map(|&code| Step { thread: 1, wait: 10, code, key: 1 }).collect()
    };
    // 8 loses an event of the thread.
    let log = write(&directory, "gap.log", &steps(&[1, 8, 2, 1, 2, 5, 8, 6, 2]));
    let groups = pairs(&[&log]);
    let job = group_of(&groups, "Job");
    let counts = ["count", "doubtful", "without_beginning"].map(|name| job[name].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 1]);
    assert_eq!(group_of(&groups, "Task")["doubtful"], 1);
    // A cut of the first half lacks ends, one of the second half beginnings.
    let whole = write(&directory, "whole.log", &random(6000, 11));
    let events = dumped(&[&whole]);
    let middle = events[events.len() / 2].ticks;
    for (option, is_in) in [("--to", false), ("--from", true)] {
        let part = directory.path().join("part.log");
        let part = part.to_str().unwrap();
        let time = format!("0x{middle:X}");
        let (_, code, errors) = run(&["cut", &whole, option, &time, "-o", part, "--force"]);
        assert_eq!((code, &*errors), (0, ""));
        let (_, _, errors) = run(&["pairs", part]);
        assert!(errors.contains("note: stream 0 is cut: slices may pair across"), "{errors}");
        let groups = pairs(&[part]);
        let events = dumped(&[part]);
        for pair in &MADE {
            let expected = naive(&events, pair, |_| true);
            assert!(if is_in { expected.alone > 0 } else { expected.unfinished > 0 });
            let group = group_of(&groups, pair.name);
            assert_eq!(group["doubtful"], 0);
            assert_group(group, &expected, option);
        }
    }
    // A cut of single events: what is left pairs.
    let part = directory.path().join("jobs.log");
    let part = part.to_str().unwrap();
    run(&["cut", &whole, "--events", "JobBegin,JobEnd", "-o", part]);
    let (jobs, expected) = (pairs(&[part]), naive(&events, &MADE[0], |_| true));
    assert_eq!((jobs.len(), &jobs[0]["doubtful"]), (1, &0.into()));
    assert_group(&jobs[0], &expected, "--events");
    // A log that ends in the middle of a block, and one with a damaged block.
    let bytes = fs::read(&whole).unwrap();
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2..][..64].fill(0x55);
    for (bytes, code) in [(&bytes[..bytes.len() / 2], 0..=1), (&*damaged, 1..=1)] {
        let path = directory.path().join("damaged.log");
        fs::write(&path, bytes).unwrap();
        let (text, found, errors) = run(&["pairs", path.to_str().unwrap()]);
        assert!(code.contains(&found), "{errors}");
        assert!(String::from_utf8(text).unwrap().contains("Job "));
    }
}

/// `.slice.gap`: keys are used again, by any thread. Whatever block is lost, and wherever the log
/// ends, no span is whole that has another beginning or end in the log with all its events.
#[test]
fn no_span_is_whole_across_missing_events() {
    let directory = TempDir::new().unwrap();
    let mut steps = random(6000, 23);
    // Each has a time of its own.
    steps.iter_mut().for_each(|step| step.wait += 1);
    let truth = directory.path().join("truth.log");
    fs::write(&truth, named(&steps)).unwrap();
    let truth = truth.to_str().unwrap().to_owned();
    let spans = |log: &str| -> BTreeMap<String, (String, bool)> {
        let sql = "SELECT begin, end, verdict = 'whole' FROM slices WHERE name LIKE 'Task%'";
        let (text, code, errors) = run(&["query", log, "--csv", sql]);
        assert!(code < 2, "{errors}");
        let rows = String::from_utf8(text).unwrap();
        let row = |row: &str| {
            let fields: Vec<_> = row.split(',').collect();
            (fields[0].to_owned(), (fields[1].to_owned(), fields[2] == "1"))
        };
        rows.lines().skip(1).map(row).collect()
    };
    let all = spans(&truth);
    let whole_in = |found: &BTreeMap<String, (String, bool)>| {
        found.values().filter(|(_, is_whole)| *is_whole).count()
    };
    // A log with all its events has no doubtful one.
    assert_eq!(whole_in(&all), naive(&dumped(&[&truth]), &MADE[2], |_| true).durations.len());
    let bytes = fs::read(&truth).unwrap();
    let (index, ..) = run(&["index", &truth]);
    let index = String::from_utf8(index).unwrap();
    let number = |field: &str| usize::from_str_radix(field, 16).unwrap();
    let block = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let is_block = fields.first() == Some(&"events") && fields.get(6) == Some(&"Shop");
        is_block.then(|| (number(fields[1]), number(fields[2])))
    };
    let blocks: Vec<(usize, usize)> = index.lines().filter_map(block).collect();
    assert!(blocks.len() > 20, "{index}");
    let (mut whole, mut variants) = (0, 0);
    for (place, (at, size)) in blocks.iter().enumerate() {
        let (mut damaged, end) = (bytes.clone(), at + size);
        damaged[end - 24..end - 8].fill(0x55);
        // A killed program writes no more. Another file lacks its first blocks.
        let (killed, mut later) = (bytes[..end].to_vec(), bytes.clone());
        later[blocks[0].0..*at].fill(0);
        for (variant, bytes) in [damaged, killed, later].into_iter().enumerate() {
            let path = directory.path().join("part.log");
            fs::write(&path, bytes).unwrap();
            let found = spans(path.to_str().unwrap());
            for (begin, (end, is_whole)) in &found {
                let is_right = all.get(begin) == Some(&(end.clone(), true));
                assert!(!is_whole || is_right, "block {place}, variant {variant}: {begin}");
            }
            (whole, variants) = (whole + whole_in(&found), variants + 1);
        }
    }
    // Most of the spans outside the holes stay whole.
    let most = variants * whole_in(&all);
    assert!(whole > most / 3, "{whole} of {most} are whole");
}

/// Raw logs of the MPS, one after the other: each run has its slices.
#[test]
fn each_run_of_the_mps_has_its_slices() {
    let directory = TempDir::new().unwrap();
    let one = mps("amcss-arena-pool-trace.log");
    let other = mps("mpmss-cut.log");
    let both = directory.path().join("both.log");
    let path = both.to_str().unwrap();
    fs::write(path, [&one, &other].map(|log| fs::read(log).unwrap()).concat()).unwrap();
    let count = |groups: &[Value], name: &str| {
        let group = groups.iter().find(|group| group["slice"] == name);
        group.map_or(0, |group| group["count"].as_u64().unwrap())
    };
    let [one, other, both] = [&one, &other, path].map(|log| pairs(&[&[log], &RATE[..]].concat()));
    for name in ["ArenaPoll", "Trace", "TraceFlip"] {
        assert_eq!(count(&one, name) + count(&other, name), count(&both, name), "{name}");
    }
    assert!(count(&one, "ArenaPoll") > 0 && count(&other, "ArenaPoll") > 0);
}

/// Two streams of one process: the threads of each have stacks of their own.
#[test]
fn streams_of_one_boot_pair_apart() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("two.log");
    let steps = random(3000, 12);
    fs::write(&path, made::two_streams(&steps)).unwrap();
    let path = path.to_str().unwrap();
    let groups = pairs(&[path]);
    let one = directory.path().join("one.log");
    fs::write(&one, made(&steps)).unwrap();
    let single = pairs(&[one.to_str().unwrap()]);
    for pair in &MADE {
        let (both, alone) = (group_of(&groups, pair.name), group_of(&single, pair.name));
        for name in ["count", "total_ns", "unfinished", "crossing", "again", "without_beginning"] {
            assert_eq!(both[name].as_u64(), alone[name].as_u64().map(|count| 2 * count), "{name}");
        }
    }
    let (text, ..) = run(&["pairs", path, "--slowest", "2"]);
    let text = String::from_utf8(text).unwrap();
    let [first, second] = ["stream 0, thread ", "stream 1, thread "].map(|of| text.contains(of));
    assert!(first && second, "{text}");
    let by_thread = pairs(&[path, "--by", "thread"]);
    let values: Vec<&str> = by_thread.iter().filter_map(|group| group["value"].as_str()).collect();
    assert!(values.contains(&"stream 1: 3"), "{values:?}");
}

/// Text, CSV and JSON stay as they are.
#[test]
fn the_forms_are_the_golden_ones() {
    let [ours, trace] = [ours("heap.log"), mps("amcss-arena-pool-trace.log")];
    let rate = |args: &[&str]| -> Vec<String> {
        args.iter().chain(&RATE).map(|&word| word.to_owned()).collect()
    };
    for (name, args) in [
        ("pairs.txt", rate(&["pairs", &trace, "--histogram", "--slowest", "2"])),
        ("pairs-key.txt", rate(&["pairs", &ours, "--by", "key"])),
        ("pairs.csv", rate(&["pairs", &trace, "--by", "arena", "--csv"])),
        ("pairs.json", rate(&["pairs", &ours, "--json", "--slowest", "1"])),
        ("pairs-against.txt", rate(&["pairs", &trace, "--against", &mps("mpmss-cut.log")])),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let (found, code, errors) = run(&args);
        assert_eq!((code, &*errors), (0, ""), "{name}");
        assert_golden(&format!("pairs/{name}"), &found);
    }
    let kept = fs::read_dir(golden_path("pairs")).unwrap().count();
    assert_eq!(kept, 5, "each golden file is compared");
    assert!(Path::new(&trace).exists());
}
