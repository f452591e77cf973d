//! Calls: tables, trees, clusters, comparisons, exports, SQL.
//!
//! ```text
//!  tests/calls/made.rs ──▶ log ── eventcnv calls │ export │ query │ sql ──▶ golden files, readers
//! ```
//!
//! Design: `.cnv.calls` in `design/eventcnv.md`; `.calls.*` in `design/calls.md`.

extern crate eventdef as telemetry;

/// The registry itself, without the runtime.
#[path = "../../calls/src/events.rs"]
#[allow(dead_code, unreachable_pub, reason = "the runtime uses the rest")]
mod events;
#[path = "calls/made.rs"]
mod made;
mod support;

use serde_json::Value;
use std::fs;
use support::{assert_golden, golden_path, run};
use tempfile::TempDir;

fn write(directory: &TempDir, name: &str, bytes: Vec<u8>) -> String {
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn shop(directory: &TempDir) -> String {
    write(directory, "shop.log", made::shop(100, 3))
}

/// Runs the command, whose log is whole.
fn calls(log: &str, args: &[&str]) -> Vec<u8> {
    let (found, code, errors) = run(&[&["calls", log], args].concat());
    assert_eq!(code, 0, "{errors}");
    found
}

/// T1, T2, T5, T23, T26: each form.
#[test]
fn calls_are_told_in_every_form() {
    let directory = TempDir::new().unwrap();
    let log = shop(&directory);
    for (name, args) in [
        ("function.txt", &[][..]),
        ("function.csv", &["--csv"]),
        ("function.json", &["--json"]),
        ("edge.txt", &["--by", "edge"]),
        ("edge-cutoff.txt", &["--by", "edge", "--cutoff", "1"]),
        ("edge-percent.csv", &["--by", "edge", "--cutoff", "10%", "--csv"]),
        ("path.txt", &["--by", "path"]),
        ("cluster.txt", &["--by", "cluster"]),
        ("cluster-undirected.txt", &["--by", "cluster", "--undirected"]),
        ("cluster-cutoff.txt", &["--by", "cluster", "--cutoff", "1", "--undirected"]),
        ("thread.txt", &["--by", "thread"]),
        ("task.txt", &["--by", "task"]),
        ("unused.txt", &["--unused"]),
        ("unfinished.txt", &["--unfinished"]),
        ("selected.txt", &["--threads", "2"]),
    ] {
        assert_golden(&format!("calls/{name}"), &calls(&log, args));
    }
}

/// The own times of all functions are the busy times of all threads.
#[test]
fn own_times_add_up_to_the_time_of_the_threads() {
    let directory = TempDir::new().unwrap();
    let log = shop(&directory);
    let rows = |args: &[&str]| -> Vec<Value> {
        let found: Value = serde_json::from_slice(&calls(&log, args)).unwrap();
        found["rows"].as_array().unwrap().clone()
    };
    let sum = |rows: &[Value], name: &str| -> u64 {
        rows.iter().map(|row| row[name].as_u64().unwrap()).sum()
    };
    let functions = rows(&["--json"]);
    let edges = rows(&["--json", "--by", "edge"]);
    let paths = rows(&["--json", "--by", "path"]);
    let threads = rows(&["--json", "--by", "thread"]);
    for name in ["calls", "own", "total"] {
        assert_eq!(sum(&functions, name), sum(&edges, name), "{name}");
        assert_eq!(sum(&functions, name), sum(&paths, name), "{name}");
    }
    assert_eq!(sum(&functions, "calls"), sum(&threads, "calls"));
    assert_eq!(sum(&functions, "own"), sum(&threads, "busy"));
    let selected = rows(&["--json", "--events", "CallEnter", "--last", "2"]);
    assert_eq!(sum(&selected, "calls"), 2);
}

/// Two runs: what changed is significant, what did not is not.
#[test]
fn two_runs_are_compared_by_function() {
    let directory = TempDir::new().unwrap();
    let old = write(&directory, "old.log", made::shop(100, 200));
    let new = write(&directory, "new.log", made::shop(400, 200));
    let found: Value =
        serde_json::from_slice(&calls(&new, &["--against", &old, "--json"])).unwrap();
    let row = |name: &str| {
        let all = found["groups"].as_array().unwrap();
        all.iter().find(|row| row["function"] == name).unwrap().clone()
    };
    assert_eq!(row("shop::hash")["significant"], true);
    assert_eq!(row("shop::refund")["significant"], false);
    assert_eq!(row("shop::hash")["old"]["p50"], 199);
    assert_eq!(row("shop::hash")["new"]["p50"], 499);
    let text = String::from_utf8(calls(&new, &["--against", &old, "--by", "edge"])).unwrap();
    assert!(
        text.contains("caller") && text.lines().any(|line| line.contains("shop::hash")),
        "{text}"
    );
    let (_, code, errors) = run(&["calls", &new, "--against", &old, "--by", "path"]);
    assert_eq!((code, errors.contains("--by function or --by edge")), (2, true), "{errors}");
}

/// A log without calls is refused with advice; its slices make a graph.
#[test]
fn slices_of_any_log_are_calls_if_asked() {
    let log = golden_path("log").join("heap-2.log");
    let log = log.to_str().unwrap();
    let (_, code, errors) = run(&["calls", log]);
    assert_eq!(code, 2);
    assert!(errors.contains("the log has no calls") && errors.contains("--slices"), "{errors}");
    let (found, code, errors) = run(&["calls", log, "--slices", "--csv"]);
    assert!(code < 2, "{errors}");
    let pairs = run(&["pairs", log, "--csv"]).0;
    let [found, pairs] = [found, pairs].map(|text| String::from_utf8(text).unwrap());
    // Each slice with a duration has a row in both.
    let names = |text: &str| -> Vec<String> {
        let lines = text.lines().skip(1);
        let mut names: Vec<_> =
            lines.filter_map(|line| line.split(',').next()).map(str::to_owned).collect();
        names.sort();
        names
    };
    let paired = names(&pairs);
    assert!(names(&found).iter().all(|name| paired.contains(name)), "{found}\n{pairs}");
}
