//! Tables: CSV and JSON have the columns that `design/output.md` states, in its order.
//!
//! ```text
//!  design/output.md ── the row of a command ──────────┐
//!  eventcnv COMMAND --csv ── its first line ──────────┼──▶ the same
//!  eventcnv COMMAND --json ── the members of a row ───┘
//! ```

mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use support::{golden_path, run};

/// Returns the columns that the design states for a command.
fn stated(command: &str) -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/output.md");
    let page = fs::read_to_string(page).unwrap();
    let codes = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let mut found = rows.filter_map(|line| {
        let (commands, columns) = line.trim_matches('|').split_once('|')?;
        codes(commands).contains(&command.to_owned()).then(|| codes(columns).join(" "))
    });
    let columns = found.next().unwrap_or_else(|| panic!("no row for {command}"));
    assert!(found.next().is_none(), "two rows for {command}");
    columns.split(' ').map(str::to_owned).collect()
}

#[test]
fn csv_and_json_have_the_columns_that_the_design_states() {
    let [calls, lines, heap] =
        ["calls/shop.log", "lines/till.log", "log/heap.log"].map(golden_path);
    let [calls, lines, heap] = [&calls, &lines, &heap].map(|path| path.to_str().unwrap());
    let [against_calls, against_lines, against_heap] =
        [calls, lines, heap].map(|log| ["--against", log]);
    let no_source = ["--source", "none"];
    for (stated_as, log, args) in [
        ("pairs", heap, &["--by", "key"][..]),
        ("pairs --against", heap, &[&against_heap[..], &["--by", "key"]].concat()),
        ("calls", calls, &[]),
        ("calls --against", calls, &[&against_calls[..], &["--by", "edge"]].concat()),
        ("calls --by edge", calls, &["--by", "edge"]),
        ("calls --by path", calls, &["--by", "path"]),
        ("calls --by cluster", calls, &["--by", "cluster"]),
        ("calls --by thread", calls, &["--by", "thread"]),
        ("calls --by task", calls, &["--by", "task"]),
        ("calls --unused", calls, &["--unused"]),
        ("calls --unfinished", calls, &["--unfinished"]),
        ("lines", lines, &no_source),
        ("lines --by function", lines, &["--by", "function"]),
        ("lines --by file", lines, &["--by", "file"]),
        ("lines --against", lines, &[against_lines, no_source].concat()),
    ] {
        let command = stated_as.split(' ').next().unwrap();
        compare(stated_as, &[&[command, log], args].concat(), "rows");
    }
    #[cfg(feature = "waits")]
    {
        let names = golden_path("waits/names.log.gz");
        let names = names.to_str().unwrap();
        compare("waits explain", &["waits", "explain", names, "--of", "names"], "waits");
    }
}

/// Compares the columns that a command prints with those that the design states.
fn compare(stated_as: &str, args: &[&str], rows: &str) {
    let (csv, code, errors) = run(&[args, &["--csv"]].concat());
    assert_eq!(code, 0, "{stated_as}: {errors}");
    let csv = String::from_utf8(csv).unwrap();
    let fields: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(fields, stated(stated_as), "{stated_as}");
    let (json, ..) = run(&[args, &["--json"]].concat());
    let found: Value = serde_json::from_slice(&json).unwrap();
    let row = found[rows][0].as_object().unwrap_or_else(|| panic!("{stated_as}: {found}"));
    let members: BTreeSet<&str> = row.keys().map(|name| &**name).collect();
    assert_eq!(members, fields.iter().copied().collect(), "{stated_as}");
}
