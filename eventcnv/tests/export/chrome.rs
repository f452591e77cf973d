//! Chrome's format, read by a parser of JSON.
//!
//! ```text
//!  traceEvents ── i B E b e X ──▶ ticks, name ── one for each line of the dump
//!              ├─ B E ──▶ stacks of threads      ├─ C ──▶ counted again
//!              └─ s f ──▶ flows
//! ```
//!
//! Design: `.cnv.chrome` in `design/eventcnv.md`.

use crate::{dumped, exported, logs};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

fn entries(args: &[&str]) -> Vec<Value> {
    let (bytes, _) = exported("trace.json", args);
    let whole: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(whole["displayTimeUnit"], "ns");
    whole["traceEvents"].as_array().unwrap().clone()
}

/// What an event is called where it begins or ends something.
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
            assert_eq!(entry["args"]["ticks"], *line.ticks, "{log}");
            assert!(half(entry).split(' ').any(|name| name == line.name), "{entry} {line:?}");
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

#[test]
fn a_counter_is_what_is_allocated_less_what_is_freed() {
    let [log, ..] = logs();
    let entries = entries(&[&log]);
    let mut live: HashMap<String, i64> = HashMap::new();
    let mut expected = Vec::new();
    for line in dumped(&[&log, "--events", "PoolAlloc,PoolFree"]) {
        let size = i64::from_str_radix(&line.values[2], 16).unwrap();
        let now = live.entry(line.values[0].to_lowercase()).or_default();
        *now += if line.name == "PoolAlloc" { size } else { -size };
        expected.push((format!("Pool size 0x{}", line.values[0].to_lowercase()), *now));
    }
    let counters: Vec<&Value> = entries.iter().filter(|entry| entry["ph"] == "C").collect();
    assert_eq!(counters.len(), expected.len());
    for (entry, (name, value)) in counters.iter().zip(expected) {
        assert!(entry["name"].as_str().unwrap().starts_with(&name), "{entry} {name}");
        assert_eq!(entry["args"]["value"], value);
    }
    // What the pools were called when they were first counted.
    let names: HashSet<&str> =
        counters.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert!(names.iter().any(|name| name.ends_with(" letters")), "{names:?}");
}

/// `.cnv.marks`
#[test]
fn marks_on_the_command_line_go_before_names() {
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

/// What ends and did not begin in what was selected is an instant.
#[test]
fn an_end_without_a_beginning_is_an_instant() {
    let [.., log, _] = logs();
    let entries = entries(&[&log, "--events", "TraceFlipEnd,ArenaPollEnd,TraceDestroy"]);
    let own: Vec<&Value> = entries.iter().filter(|entry| entry["ph"] != "M").collect();
    assert!(own.len() > 100);
    assert!(own.iter().all(|entry| entry["ph"] == "i"));
}
