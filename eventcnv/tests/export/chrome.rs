//! Chrome's format, read by a parser of JSON.
//!
//! ```text
//!  traceEvents ── i B E b e X ──▶ ticks, name ── one for each line of the dump
//!              ├─ B E ──▶ stacks of threads      ├─ C ──▶ counted again
//!              └─ s f ──▶ flows
//! ```
//!
//! Design: `.cnv.chrome` in `design/eventcnv.md`.

use crate::{
    FLOWS, dumped, exported, is_double, is_number, live, logs, of_calls, of_two_processes,
};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use tempfile::TempDir;

pub(crate) fn entries(args: &[&str]) -> Vec<Value> {
    let (bytes, _) = exported("trace.json", args);
    let whole: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(whole["displayTimeUnit"], "ns");
    whole["traceEvents"].as_array().unwrap().clone()
}

/// Returns the possible names of an event that begins or ends a pair.
fn half(entry: &Value) -> String {
    let name = entry["name"].as_str().unwrap();
    let endings: &[&str] = match entry["ph"].as_str().unwrap() {
        "B" => &["Begin"],
        "E" => &["End"],
        "b" => &["Init", "Create", "Start"],
        "e" => &["Finish", "Destroy", "End"],
        _ => return name.to_owned(),
    };
    endings.iter().map(|ending| format!("{name}{ending}")).collect::<Vec<_>>().join(" ")
}

/// Returns whether a value equals that of the dump. 64 bits are hexadecimal, with their label.
fn is_value(found: &Value, expected: &Value, label: &Value) -> bool {
    match found {
        Value::String(text) if text.starts_with("0x") => {
            let (digits, called) = text[2..].split_once(' ').unwrap_or((&text[2..], ""));
            let number = u64::from_str_radix(digits, 16).unwrap();
            is_number(expected, number) && label.as_str().unwrap_or_default() == called
        }
        Value::Number(number) if number.is_f64() => is_double(expected, number.as_f64().unwrap()),
        found => found == expected,
    }
}

/// `.cnv.chrome`, `.cnv.timeline`
#[test]
fn every_event_is_in_the_json_once_in_order_of_time() {
    for log in logs() {
        let entries = entries(&[&log]);
        let own = entries.iter().filter(|entry| entry["args"]["ticks"].is_string());
        let own: Vec<&Value> = own.collect();
        let lines = dumped(&[&log]);
        assert_eq!(own.len(), lines.len(), "{log}");
        let mut ns_before = 0.0;
        for (entry, line) in own.iter().zip(&lines) {
            let ticks = u64::from_str_radix(entry["args"]["ticks"].as_str().unwrap(), 16);
            assert_eq!(ticks.ok(), line["ticks"].as_u64(), "{log}");
            assert!(half(entry).split(' ').any(|name| line["event"] == name), "{entry} {line}");
            let params = line["params"].as_object().unwrap();
            assert_eq!(entry["args"].as_object().unwrap().len(), params.len() + 1);
            for (name, value) in params {
                let is_same = is_value(&entry["args"][name], value, &line["labels"][name]);
                assert!(is_same, "{name}: {entry} {line}");
            }
            let ns = entry["ts"].as_f64().unwrap();
            assert!(ns >= ns_before, "{entry}");
            ns_before = ns;
        }
    }
}

#[test]
fn slices_nest_and_spans_alternate() {
    for (log, slices) in logs().iter().zip([1, 2, 159, 0]) {
        let entries = entries(&[log]);
        let mut stacks: HashMap<String, Vec<&str>> = HashMap::new();
        let mut open: HashSet<String> = HashSet::new();
        let mut count = 0;
        for entry in &entries {
            let name = entry["name"].as_str().unwrap_or_default();
            let thread = format!("{} {}", entry["pid"], entry["tid"]);
            match entry["ph"].as_str().unwrap() {
                "B" => stacks.entry(thread).or_default().push(name),
                "E" => {
                    assert_eq!(stacks.get_mut(&thread).unwrap().pop(), Some(name), "{entry}");
                    count += 1;
                }
                "b" => assert!(open.insert(format!("{name} {}", entry["id2"])), "{entry}"),
                "e" => assert!(open.remove(&format!("{name} {}", entry["id2"])), "{entry}"),
                _ => {}
            }
        }
        assert_eq!(count, slices, "{log}");
    }
}

/// `.cnv.marks`: an end has the name of its beginning, as viewers match both.
#[test]
fn calls_and_tasks_have_the_names_of_their_functions() {
    let (log, expected) = of_calls();
    let entries = entries(&[&log]);
    let name = |entry: &Value| entry["name"].as_str().unwrap_or_default().to_owned();
    let begins = entries.iter().filter(|entry| entry["ph"] == "B" || entry["ph"] == "b");
    assert_eq!(begins.map(name).collect::<Vec<_>>(), expected);
    let mut stacks: HashMap<String, Vec<String>> = HashMap::new();
    let mut count = 0;
    for entry in &entries {
        let place = format!("{} {} {}", entry["pid"], entry["tid"], entry["id2"]);
        match entry["ph"].as_str().unwrap() {
            "B" | "b" => stacks.entry(place).or_default().push(name(entry)),
            "E" | "e" => {
                assert_eq!(stacks.get_mut(&place).unwrap().pop(), Some(name(entry)), "{entry}");
                count += 1;
            }
            _ => {}
        }
    }
    assert_eq!(count, expected.len() - 3, "three calls are in progress at the end");
}

#[test]
fn a_counter_is_the_allocated_size_less_the_freed_size() {
    let [log, ..] = logs();
    let entries = entries(&[&log]);
    let expected = live(&log);
    let counters: Vec<&Value> = entries.iter().filter(|entry| entry["ph"] == "C").collect();
    assert_eq!(counters.len(), expected.len());
    for (entry, (pool, value)) in counters.iter().zip(expected) {
        let name = format!("Pool size {pool} ");
        assert!(entry["name"].as_str().unwrap().starts_with(&name), "{entry} {name}");
        assert_eq!(entry["args"]["value"], value);
    }
    // A counter has the label that its pool had at the first count.
    let names: HashSet<&str> =
        counters.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert!(names.iter().any(|name| name.ends_with(" letters")), "{names:?}");
}

/// `.cnv.marks`
#[test]
fn marks_on_the_command_line_override_names() {
    let [log, ..] = logs();
    let entries = entries(&[
        &log,
        "--flow=PoolInit=PoolFinish:pool",
        "--span=FileBegin=FileEnd:file",
        "--counter=FileEnd.words",
        "--no-names",
    ]);
    let of = |phase: &str| entries.iter().filter(|entry| entry["ph"] == phase).collect::<Vec<_>>();
    assert!(of("B").is_empty() && of("E").is_empty());
    let [begin, end] = ["b", "e"].map(|phase| of(phase)[0]["name"].as_str().unwrap());
    assert_eq!((begin, end), ("File", "File"));
    let ids = |phase| of(phase).iter().map(|entry| entry["id"].as_u64().unwrap()).collect();
    let (from, to): (HashSet<u64>, HashSet<u64>) = (ids("s"), ids("f"));
    assert_eq!((from.len(), &from), (2, &to));
    assert_eq!(of("X").len(), 4);
    let words: Vec<&Value> = of("C");
    assert_eq!(words.len(), 1);
    assert_eq!(words[0]["name"], "FileEnd.words");
}

/// The selection has the end and not its beginning.
#[test]
fn an_end_without_a_beginning_is_an_instant() {
    let [.., log, _] = logs();
    let entries = entries(&[&log, "--events", "TraceFlipEnd,ArenaPollEnd,TraceDestroy"]);
    let own: Vec<&Value> = entries.iter().filter(|entry| entry["ph"] != "M").collect();
    assert!(own.len() > 100);
    assert!(own.iter().all(|entry| entry["ph"] == "i"));
}

/// Returns the entries of one process without their times: each log has its own clock.
fn of_process(entries: &[Value], pid: &Value) -> Vec<Value> {
    // The name of a process among several has its host too.
    let own = entries.iter().filter(|entry| entry["pid"] == *pid && entry["ph"] != "M");
    own.map(|entry| {
        let mut entry = entry.clone();
        let fields = entry.as_object_mut().unwrap();
        fields.remove("ts");
        // The numbers of flows are unique in the whole trace.
        fields.remove("id");
        fields.remove("id2");
        entry
    })
    .collect()
}

/// `.cnv.timeline`: slices, spans, flows and counters of two processes in one log equal those in
/// the log of each alone.
#[test]
fn pairs_and_counters_stay_within_a_process() {
    let directory = TempDir::new().unwrap();
    let (both, alone) = of_two_processes(&directory);
    let of = |log| entries(&[&[log], &FLOWS[..]].concat());
    let merged = of(&both);
    let mut pids = HashSet::new();
    for log in &alone {
        let alone = of(log);
        let pid = alone.iter().map(|entry| &entry["pid"]).find(|pid| **pid != 0).unwrap();
        assert!(pids.insert(pid.as_u64()), "two processes");
        let phases: HashSet<&str> =
            alone.iter().map(|entry| entry["ph"].as_str().unwrap()).collect();
        assert!(["b", "e", "s", "f", "C"].iter().all(|phase| phases.contains(phase)), "{phases:?}");
        let (found, expected) = (of_process(&merged, pid), of_process(&alone, pid));
        assert_eq!(found.len(), expected.len(), "{log}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{log}");
        }
    }
    // A flow ends where it began.
    let ends = |phase: &str| -> HashMap<u64, &Value> {
        let found = merged.iter().filter(|entry| entry["ph"] == phase);
        found.map(|entry| (entry["id"].as_u64().unwrap(), &entry["pid"])).collect()
    };
    let begun = ends("s");
    assert!(begun.len() > 4);
    assert!(ends("f").iter().all(|(id, pid)| begun.get(id) == Some(pid)));
}

/// `.cnv.chrome`, `.cnv.clock`
#[test]
fn a_raw_log_has_words_as_numbers_a_named_thread_and_ns() {
    let log = crate::mps("labels.log");
    let entries = entries(&[&log]);
    let threads = entries.iter().filter(|entry| entry["name"] == "thread_name");
    let names: Vec<&str> = threads.map(|entry| entry["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["unknown thread"]);
    let init = entries.iter().find(|entry| entry["name"] == "EventInit").unwrap();
    assert_eq!(init["args"]["clocksPerSec"], 1_000_000, "{init}");
    // Half a millisecond by the syncs; ticks as ns would be much longer.
    let last = entries.iter().filter_map(|entry| entry["ts"].as_f64()).fold(0.0, f64::max);
    let (seconds, _, _) = crate::run(&["--time", "seconds", "--last", "1", &log]);
    let seconds = String::from_utf8(seconds).unwrap();
    let seconds: f64 = seconds.split_whitespace().next().unwrap().parse().unwrap();
    assert!((last / 1e6 - seconds).abs() < 1e-6, "{last} us, {seconds} s");
    let (_, errors) = exported("trace.json", &[&log]);
    assert!(errors.contains("seconds are approximate"), "{errors}");
    let (_, errors) = exported("trace.json", &[&log, "--clock-rate", "2.1GHz"]);
    assert_eq!(errors, "");
}
