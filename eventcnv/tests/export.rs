//! Reads exported logs with independent readers of their formats.
//!
//! ```text
//!  golden logs ── export ──▶ chrome.rs   ── serde_json      ─┐
//!              └─ dump ──────────────────────────────────────┴─ the same events, slices, counters
//!  uncertain.rs ── export, query ──▶ what a log that was not closed cannot tell
//!  made.rs      ── export ──▶ several threads; more than the tables hold
//! ```
//!
//! Design: `.cnv.export`, `.cnv.timeline` in `design/eventcnv.md`.

#[path = "export/chrome.rs"]
mod chrome;
#[path = "export/folded.rs"]
mod folded;
#[cfg(feature = "waits")]
#[path = "export/kernel.rs"]
mod kernel;
#[path = "export/made.rs"]
mod made;
#[path = "export/perfetto.rs"]
mod perfetto;
#[allow(dead_code, reason = "the tests of the whole system use the rest")]
#[path = "export/protobuf.rs"]
mod protobuf;
mod support;
mod synthetic;
#[cfg(feature = "sql")]
#[path = "export/uncertain.rs"]
mod uncertain;

use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use support::{golden_path, mps, run};
use tempfile::TempDir;

/// The options that link events of logs of ours to one another.
pub(crate) const FLOWS: [&str; 2] =
    ["--flow=PoolInit=PoolFinish:pool", "--flow=FileBegin=FileEnd:file"];

/// Returns a log of two processes, and the log of each alone.
pub(crate) fn of_two_processes(directory: &TempDir) -> (String, [String; 2]) {
    let [a, b, ..] = logs();
    let both = directory.path().join("both.log").to_str().unwrap().to_owned();
    let (_, code, errors) = run(&["merge", &a, &b, "-o", &both]);
    assert_eq!((code, &*errors), (0, ""));
    (both, [a, b])
}

/// Returns logs of ours, and logs of the MPS with slices that nest.
pub(crate) fn logs() -> [String; 4] {
    let ours = ["log/heap.log", "log/heap-2.log"];
    let ours = ours.map(|name| golden_path(name).to_str().unwrap().to_owned());
    let [a, b] = ours;
    [a, b, mps("amcss-arena-pool-trace.log"), mps("labels.log")]
}

/// Returns a log of calls, and the name of each slice and span in it: the label of its function.
pub(crate) fn of_calls() -> (String, Vec<String>) {
    let log = golden_path("calls/shop.log").to_str().unwrap().to_owned();
    let begins = ["CallEnter", "PollEnter", "TaskStart"];
    let lines = dumped(&[&log]).into_iter().filter(|line| begins.contains(&&*text(&line["event"])));
    let names = lines.map(|line| match &*text(&line["labels"]["function"]) {
        "_ZN4shop5Shelf3putEi" => "shop::Shelf::put(int)".to_owned(),
        "_ZN4shop4open17h0123456789abcdefE" => "shop::open".to_owned(),
        name => name.to_owned(),
    });
    (log, names.collect())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns the export to a file of this name, and standard error.
pub(crate) fn exported(name: &str, args: &[&str]) -> (Vec<u8>, String) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join(name);
    let out = path.to_str().unwrap();
    let (printed, code, errors) = run(&[&["export", "-o", out], args].concat());
    assert_eq!((code, printed), (0, Vec::new()), "{errors}");
    (fs::read(path).unwrap(), errors)
}

/// Returns the events of a log, from its dump.
pub(crate) fn dumped(args: &[&str]) -> Vec<Value> {
    let (text, code, errors) = run(&[&["--style", "json"], args].concat());
    assert_eq!((code, errors.as_str()), (0, ""));
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() > 30);
    lines
}

/// Returns whether a parameter in the dump is this number.
pub(crate) fn is_number(param: &Value, number: u64) -> bool {
    match param {
        Value::String(text) => text
            .strip_prefix("0x")
            .is_some_and(|digits| u64::from_str_radix(digits, 16) == Ok(number)),
        Value::Bool(value) => u64::from(*value) == number,
        value => value.as_u64() == Some(number),
    }
}

/// Returns whether a parameter in the dump is this double; the parser may be off by a bit.
pub(crate) fn is_double(param: &Value, value: f64) -> bool {
    param.as_f64().is_some_and(|param| (param - value).abs() <= param.abs() * 1e-15)
}

/// Returns the pool and its live size after each PoolAlloc and PoolFree of a log, from the dump.
pub(crate) fn live(log: &str) -> Vec<(String, i64)> {
    let mut live: HashMap<String, i64> = HashMap::new();
    let changes = dumped(&[log, "--events", "PoolAlloc,PoolFree"]);
    let change = |line: &Value| {
        let pool = line["params"]["pool"].as_str().unwrap().to_lowercase();
        let size = line["params"]["size"].as_i64().unwrap();
        let now = live.entry(pool.clone()).or_default();
        *now += if line["event"] == "PoolAlloc" { size } else { -size };
        (pool, *now)
    };
    changes.iter().map(change).collect()
}

/// `.cnv.export`
#[test]
fn the_name_of_the_output_selects_the_format() {
    let [log, ..] = logs();
    let (_, code, errors) = run(&["export", &log, "-o", "trace.xyz"]);
    assert_eq!(code, 2);
    assert!(errors.contains("pass --format") && errors.contains(".json"), "{errors}");
    assert!(!Path::new("trace.xyz").exists());
    let (by_name, _) = exported("trace.json", &[&log]);
    let (by_format, _) = exported("trace.xyz", &["--format", "chrome", &log]);
    assert!(by_name == by_format);
    let (printed, code, _) = run(&["export", "--format", "chrome", &log, "-o", "-"]);
    assert!(code == 0 && printed == by_name);
}

#[test]
fn an_existing_output_is_replaced_only_by_force() {
    let [log, other, ..] = logs();
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("trace.json");
    let args = ["export", &log, "-o", path.to_str().unwrap()];
    assert_eq!(run(&args).1, 0);
    let before = fs::read(&path).unwrap();
    let args = ["export", &other, "-o", path.to_str().unwrap()];
    let (_, code, errors) = run(&args);
    assert!(code == 2 && errors.contains("--force"), "{errors}");
    assert!(fs::read(&path).unwrap() == before);
    assert_eq!(run(&[&args[..], &["--force"]].concat()).1, 0);
    assert!(fs::read(&path).unwrap() != before);
}

/// A directory gets its name once it is whole, and cannot go to standard output.
#[test]
fn a_trace_of_several_files_is_a_directory() {
    let [log, ..] = logs();
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("trace.ctf");
    let args = ["export", &log, "-o", path.to_str().unwrap()];
    assert_eq!(run(&args).1, 0);
    let metadata = fs::read_to_string(path.join("metadata")).unwrap();
    assert!(metadata.starts_with("/* CTF 1.8 */"));
    let count = fs::read_dir(&path).unwrap().count();
    assert_eq!(count, 7, "the metadata, and a file for each buffer");
    let (_, code, errors) = run(&args);
    assert!(code == 2 && errors.contains("--force"), "{errors}");
    assert_eq!(run(&[&args[..], &["--force", "--first", "1"]].concat()).1, 0);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2);
    let (_, code, errors) = run(&["export", "--format", "ctf", &log, "-o", "-"]);
    assert!(code == 2 && errors.contains("pass -o DIR"), "{errors}");
}

/// `.cnv.marks`
#[test]
fn a_mark_with_an_unknown_name_suggests_a_similar_one() {
    let [log, ..] = logs();
    for (args, expected) in [
        (["--slice", "FileBegn=FileEnd"], "\"FileBegn\"; did you mean FileBegin?"),
        (["--slice", "FileBegin=FileEnd:flie"], "unknown parameter of FileBegin \"flie\""),
        (["--span", "FileBegin"], "a pair is BEGIN=END"),
        (["--counter", "PoolAlloc"], "a counter is EVENT.PARAM"),
        (["--counter", "PoolAlloc.sizes"], "did you mean size?"),
    ] {
        let (_, code, errors) = run(&[&["export", &log, "-o", "none.json"], &args[..]].concat());
        assert_eq!(code, 2, "{args:?}");
        assert!(errors.contains(expected) && errors.contains(args[1]), "{errors}");
    }
}

#[test]
fn a_damaged_log_is_exported_as_far_as_it_can_be_read() {
    let [log, ..] = logs();
    let mut bytes = fs::read(log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0x55);
    let directory = TempDir::new().unwrap();
    let damaged = directory.path().join("damaged.log");
    fs::write(&damaged, bytes).unwrap();
    let damaged = damaged.to_str().unwrap();
    let out = directory.path().join("out.json");
    let (_, code, errors) = run(&["export", damaged, "-o", out.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(errors.contains("damaged.log: "), "{errors}");
    assert!(fs::metadata(&out).unwrap().len() > 100_000);
}
