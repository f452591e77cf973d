//! The difference between two logs: no lines for equal logs, else the changes.
//!
//! ```text
//!  heap.log, heap-2.log ── eventcnv diff ──▶ counts, values, labels; exit status of diff(1)
//! ```
//!
//! Design: `.cnv.diff` in `design/eventcnv.md`.

mod support;

use serde_json::Value;
use support::{golden_path, mps, run};

fn ours(name: &str) -> String {
    golden_path("log").join(name).to_str().unwrap().to_owned()
}

fn text(args: &[&str]) -> (String, i32) {
    let (found, code, _) = run(args);
    (String::from_utf8(found).unwrap(), code)
}

/// `.cnv.diff`
#[test]
fn a_log_is_the_same_as_itself() {
    for log in [ours("heap-2.log"), mps("labels.log")] {
        let (found, code) = text(&["diff", &log, &log]);
        assert_eq!(code, 0, "{found}");
        assert!(found.ends_with("\nthe same events, values, labels and losses\n"), "{found}");
    }
}

/// `.cnv.diff`
#[test]
fn the_most_significant_change_comes_first() {
    let (a, b) = (ours("heap.log"), ours("heap-2.log"));
    let (found, code) = text(&["diff", "--json", &a, &b]);
    assert_eq!(code, 1);
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["same"], false);
    let rows = found["event_types"].as_array().unwrap();
    let significance = |row: &Value| row["significance"].as_f64().unwrap();
    assert!(rows.windows(2).all(|pair| significance(&pair[0]) >= significance(&pair[1])));
    assert_eq!(rows[0]["event_type"], "PoolAlloc");
    for (side, log) in [("a_events", &a), ("b_events", &b)] {
        let count = text(&["--events", "PoolAlloc", log]).0.lines().count();
        assert_eq!(rows[0][side], count);
    }
    let params = found["parameters"].as_array().unwrap();
    assert_eq!(params[0]["parameter"], "PoolAlloc size");
    let names = params.iter().map(|param| param["parameter"].as_str().unwrap());
    let known = ["PoolAlloc addr", "Thread osThread", "PoolAlloc pool"];
    assert!(!names.into_iter().any(|name| known.contains(&name)), "{params:#?}");
}

/// `.cnv.diff`
#[test]
fn logs_of_different_programs_differ_in_registries_and_labels() {
    let (found, code) = text(&["diff", &ours("heap.log"), &mps("labels.log")]);
    assert_eq!(code, 1);
    for part in ["labels only in A\narena", "labels only in B\n", "only in A\n", " -100.0 "] {
        assert!(found.contains(part), "{part:?} is not in:\n{found}");
    }
}

/// `.cnv.diff`
#[test]
fn differences_within_the_tolerance_do_not_count() {
    let (a, b) = (ours("heap.log"), ours("heap-2.log"));
    let within = |percent: &str| {
        let args = ["diff", "--tolerance", percent, "--events", "PoolAlloc,PoolFree", &a, &b];
        text(&args).1
    };
    assert_eq!(["0", "50", "80"].map(within), [1, 1, 0]);
    let (_, code, errors) = run(&["diff", "--tolerance", "101", &a, &b]);
    assert_eq!(code, 2);
    assert!(errors.contains("not between 0 and 100"), "{errors}");
}

#[test]
fn an_unreadable_log_costs_exit_code_2() {
    let (_, code, errors) = run(&["diff", &ours("heap.log"), "/nowhere/b.log"]);
    assert_eq!(code, 2);
    assert!(errors.contains("/nowhere/b.log"), "{errors}");
}

/// `.cnv.marks`: text scales a parameter as `stats --params` does, and JSON has its number.
#[test]
fn values_with_a_unit_are_scaled_in_text_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (mps("mpmss-cut.log"), directory.path().join("b.log"));
    let b = b.to_str().unwrap();
    assert_eq!(run(&["cut", &a, "--where", "not size < 4KiB", "-o", b]).1, 0);
    let (found, _) = text(&["diff", &a, b]);
    let row = found.lines().find(|line| line.starts_with("PoolAlloc size ")).unwrap();
    let (json, _) = text(&["diff", "--json", &a, b]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let mut params = json["parameters"].as_array().unwrap().iter();
    let of_size = params.find(|param| param["parameter"] == "PoolAlloc size").unwrap();
    let cells = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).skip(2);
    let names = ["a_mean", "b_mean", "a_p50", "b_p50", "a_max", "b_max"];
    for (cell, name) in cells.zip(names) {
        let (digits, unit) = cell.trim_start_matches('~').split_once(' ').unwrap();
        let size = ["B", "KiB", "MiB"].iter().position(|own| *own == unit).unwrap();
        let shown = digits.parse::<f64>().unwrap() * 1024f64.powi(size as i32);
        let value = of_size[name].as_f64().unwrap();
        assert!((shown - value).abs() <= value / 100.0, "{name}: {value} is not {cell}");
    }
    assert!(row.ends_with("iB"), "{row}");
}
