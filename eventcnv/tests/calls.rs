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
#[path = "calls/tools.rs"]
mod tools;

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
    assert_golden("calls/shop.log", &fs::read(&log).unwrap());
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
    for name in ["calls", "own_ns", "total_ns"] {
        assert_eq!(sum(&functions, name), sum(&edges, name), "{name}");
        assert_eq!(sum(&functions, name), sum(&paths, name), "{name}");
    }
    assert_eq!(sum(&functions, "calls"), sum(&threads, "calls"));
    assert_eq!(sum(&functions, "own_ns"), sum(&threads, "busy_ns"));
    let selected = rows(&["--json", "--events", "CallEnter", "--last", "2"]);
    assert_eq!(sum(&selected, "calls"), 2);
}

/// Several runs tell what is chance; one run of each does not.
#[test]
fn runs_are_compared_by_function() {
    let directory = TempDir::new().unwrap();
    let run_of = |number: u8, hash_us: u64| {
        let log = made::shop_of([number; 16], hash_us + u64::from(number % 3), 200);
        write(&directory, &format!("{number}.log"), log)
    };
    let [old, new] = [[1, 2, 3], [4, 5, 6]].map(|runs| runs.map(|run| run_of(run, 100)));
    let slow = [7, 8, 9].map(|run| run_of(run, 400));
    let compare = |new: &[String], old: &[String], more: &[&str]| {
        let mut words: Vec<&str> =
            ["calls"].into_iter().chain(new.iter().map(|log| &**log)).collect();
        old.iter().for_each(|log| words.extend(["--against", log]));
        let (found, code, errors) = run(&[&words, more].concat());
        assert_eq!(code, 0, "{errors}");
        String::from_utf8(found).unwrap()
    };
    let row = |new: &[String], old: &[String], name: &str| -> Value {
        let found: Value = serde_json::from_str(&compare(new, old, &["--json"])).unwrap();
        let all = found["rows"].as_array().unwrap();
        all.iter().find(|row| row["function"] == name).unwrap().clone()
    };
    assert_eq!(row(&slow, &old, "shop::hash")["significant"], true);
    assert_eq!(row(&new, &old, "shop::hash")["significant"], false);
    assert_eq!(row(&slow, &old, "shop::refund")["significant"], false);
    for (new, old) in [(&slow[..1], &old[..1]), (&slow[..], &old[..1])] {
        let found = row(new, old, "shop::hash");
        assert_eq!([&found["significant"], &found["p"]], [&Value::Null, &Value::Null]);
        assert_eq!(found["old_p50_ns"], 200_000);
        assert_eq!([&found["old_runs"], &found["runs"]], [1, new.len()]);
        let text = compare(new, old, &[]);
        assert!(text.contains("one run does not tell") && !text.contains("significant"), "{text}");
    }
    let text = compare(&slow, &old, &["--by", "edge", "--top", "2"]);
    assert!(text.contains("runs: 3 old, 3 new\n") && text.contains("  yes\n"), "{text}");
    assert!(!text.contains("shop::refund"), "{text}");
    let text = compare(&slow, &old, &["--by", "edge"]);
    assert!(text.contains("caller") && text.contains("Shelf::put(int)"), "{text}");
    let (_, code, errors) = run(&["calls", &new[0], "--against", &old[0], "--by", "path"]);
    assert_eq!((code, errors.contains("--by function or --by edge")), (2, true), "{errors}");
}

/// Rows have the order of any column, and are at most as many as asked for.
#[test]
fn rows_have_an_order_and_a_limit() {
    let directory = TempDir::new().unwrap();
    let log = shop(&directory);
    let column = |name: &str, args: &[&str]| -> Vec<String> {
        let found: Value =
            serde_json::from_slice(&calls(&log, &[&["--json"], args].concat())).unwrap();
        let rows = found["rows"].as_array().unwrap().iter();
        rows.map(|row| row[name].to_string()).collect()
    };
    for (by, name) in
        [("function", "calls"), ("edge", "max_ns"), ("function", "p99_ns"), ("task", "life_ns")]
    {
        let all = column(name, &["--by", by]);
        let sorted = column(name, &["--by", by, "--sort", name]);
        let mut expected: Vec<f64> = all.iter().map(|text| text.parse().unwrap_or(-1.0)).collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        let numbers = sorted.iter().map(|text| text.parse().unwrap_or(-1.0));
        assert_eq!(numbers.collect::<Vec<f64>>(), expected, "{by} {name}");
        assert_eq!(column(name, &["--by", by, "--sort", name, "--top", "2"]), sorted[..2]);
    }
    let mut names = column("function", &[]);
    names.sort();
    assert_eq!(column("function", &["--sort", "function"]), names);
    for args in [&["--by", "path"][..], &["--by", "cluster"], &["--unused"], &["--unfinished"]] {
        let all = String::from_utf8(calls(&log, &[&["--csv"], args].concat())).unwrap();
        let found =
            String::from_utf8(calls(&log, &[&["--csv", "--top", "1"], args].concat())).unwrap();
        assert!(all.starts_with(&found) && found.lines().count() == 2, "{found}");
    }
    let (_, code, errors) = run(&["calls", &log, "--sort", "length"]);
    assert!(code == 2 && errors.contains("no column \"length\", but function, calls"), "{errors}");
}

/// The calls of an async function that the table counts are its polls, and it says so.
#[test]
fn polls_are_told_from_calls() {
    let directory = TempDir::new().unwrap();
    let log = shop(&directory);
    let found: Value = serde_json::from_slice(&calls(&log, &["--json"])).unwrap();
    let rows = found["rows"].as_array().unwrap();
    let polls = |name: &str| {
        let row = rows.iter().find(|row| row["function"] == name).unwrap();
        [&row["calls"], &row["polls"]].map(|count| count.as_u64().unwrap())
    };
    assert_eq!([polls("shop::sell"), polls("shop::hash")], [[5, 2], [4, 0]]);
}

/// An option that would change nothing is refused.
#[test]
fn options_that_change_nothing_are_refused() {
    let directory = TempDir::new().unwrap();
    let log = shop(&directory);
    for (args, expected) in [
        (&["--by", "thread", "--cutoff", "1"][..], "--cutoff needs --by function, edge, path"),
        (&["--by", "edge", "--undirected"], "--undirected needs --by cluster"),
        (&["--against", &log, "--cutoff", "1"], "cannot be used with"),
        (&["--by", "path", "--sort", "calls"], "--sort needs --by function, edge, thread or task"),
    ] {
        let (_, code, errors) = run(&[&["calls", &log], args].concat());
        assert_eq!((code, errors.contains(expected)), (2, true), "{errors}");
    }
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

#[cfg(feature = "sql")]
fn query(log: &str, sql: &str) -> String {
    let (found, code, errors) = run(&["query", log, "--csv", sql]);
    assert_eq!(code, 0, "{errors}");
    String::from_utf8(found).unwrap()
}

/// T13, T14, T15, T16, T24: the names and columns of the original.
#[cfg(feature = "sql")]
#[test]
fn queries_of_the_original_run_unchanged() {
    let directory = TempDir::new().unwrap();
    let log = shop(&directory);
    for (name, sql) in [
        ("proc_ids.csv", "SELECT proc_id, proc_name, time_defined FROM proc_ids ORDER BY 2"),
        (
            "call_pts.csv",
            "SELECT caller_id, callee_id, trace_id, time_enter, time_leave FROM call_pts
             ORDER BY time_enter, callee_id, caller_id, time_leave",
        ),
        (
            "calls_by_caller_callee.csv",
            "SELECT caller_name, callee_name, calls, total_exec_micros, avg_exec_micros
             FROM calls_by_caller_callee ORDER BY calls DESC, 1, 2",
        ),
        ("calls_by_callee.csv", "SELECT * FROM calls_by_callee ORDER BY calls DESC, callee_name"),
        ("unused_procs.csv", "SELECT callee_name FROM unused_procs"),
    ] {
        assert_golden(&format!("calls/{name}"), query(&log, sql).as_bytes());
    }
    // A function was called even if the log has only the end of the call.
    let unused = String::from_utf8(calls(&log, &["--unused", "--csv"])).unwrap();
    let unused: Vec<&str> =
        unused.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    let found = query(&log, "SELECT callee_name FROM unused_procs");
    assert_eq!(found.lines().skip(1).collect::<Vec<_>>(), unused);
    // The counts are those of the command.
    let edges = String::from_utf8(calls(&log, &["--by", "edge", "--csv"])).unwrap();
    let mut expected: Vec<String> = edges
        .lines()
        .skip(1)
        .filter(|line| !line.contains("script") && !line.contains("x,y"))
        .map(|line| line.split(',').take(3).collect::<Vec<_>>().join(","))
        .collect();
    let found = query(&log, "SELECT caller_name, callee_name, calls FROM calls_by_caller_callee");
    let lines =
        found.lines().skip(1).filter(|line| !line.contains("script") && !line.contains("x,y"));
    let mut found: Vec<String> = lines.map(|line| line.replace('"', "")).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    // T5: calls in progress have no end; the hash of the original names each function.
    let open = "SELECT count(*) FROM call_pts WHERE time_leave IS NULL";
    assert_eq!(query(&log, open).lines().last(), Some("3"));
    let joined = "SELECT count(*) FROM call_pts AS p JOIN calls_by_callee AS c ON c.callee_name =
                  (SELECT proc_name FROM proc_ids WHERE proc_id = p.callee_id)";
    assert_eq!(query(&log, joined).lines().last(), Some("17"));
}

/// T20: a log that is added again changes nothing; runs with one process number stay apart.
#[cfg(feature = "sql")]
#[test]
fn a_log_that_is_added_again_changes_no_call() {
    let directory = TempDir::new().unwrap();
    let log = shop(&directory);
    let database = directory.path().join("shop.db");
    let add = |log: &str| {
        let (_, code, errors) = run(&["sql", log, "-o", database.to_str().unwrap()]);
        assert_eq!(code, 0, "{errors}");
    };
    let all = || {
        let connection = rusqlite::Connection::open(&database).unwrap();
        let mut rows = Vec::new();
        for table in ["calls", "functions", "call_pts", "proc_ids", "calls_by_callee"] {
            let mut select = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let width = select.column_count();
            let row = |row: &rusqlite::Row<'_>| {
                (0..width).map(|at| row.get(at)).collect::<Result<Vec<rusqlite::types::Value>, _>>()
            };
            let found = select.query_map([], row).unwrap();
            rows.push(found.collect::<Result<Vec<_>, _>>().unwrap());
        }
        rows
    };
    add(&log);
    let once = all();
    assert_eq!((once[0].len(), once[1].len()), (17, 10));
    add(&log);
    assert_eq!(all(), once);
    // The same process number, another run: its calls are further rows of the same functions.
    add(&write(&directory, "other.log", made::shop_of([10; 16], 100, 5)));
    let both = all();
    assert_eq!((both[0].len(), both[1].len()), (17 + 21, 10));
}

/// `.calls.filter.told`
#[test]
fn a_filter_is_told_with_the_calls() {
    let directory = TempDir::new().unwrap();
    let log = write(&directory, "shop.log", made::filtered("shop::* -*\u{1b}hash"));
    let (_, code, errors) = run(&["calls", &log]);
    let note =
        "recorded by the filter `shop::* -*\\u{1b}hash`: functions that it excludes are missing";
    assert_eq!((code, &*errors), (0, &*format!("eventcnv: {log}: note: {note}\n")));
}

fn export(log: &str, directory: &TempDir, name: &str) -> (String, Vec<u8>) {
    let path = directory.path().join(name).to_str().unwrap().to_owned();
    let (_, code, errors) = run(&["export", log, "-o", &path]);
    assert_eq!((code, &*errors), (0, ""), "{name}");
    (path.clone(), fs::read(path).unwrap())
}

/// A limit of 4 KiB a file stands for a full disk: one line, and nothing that looks like an output.
#[test]
fn an_export_to_a_full_disk_leaves_nothing() {
    let directory = TempDir::new().unwrap();
    let name = |n: u64| format!("function{:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let names: Vec<String> = (1..1000).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let log = write(&directory, "names.log", made::chain(&names));
    for name in ["full.dot", "full.callgrind", "full.pb.gz", "full.json", "full.pftrace"] {
        let path = directory.path().join(name);
        // Without SIGXFSZ, a write beyond the limit returns an error.
        let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
        let mut command = std::process::Command::new("sh");
        command.args(["-c", limited, env!("CARGO_BIN_EXE_eventcnv"), "export", &log, "-o"]);
        let (_, code, errors) = support::told(command.arg(&path).output().unwrap());
        assert_eq!((code, errors.lines().count()), (2, 1), "{name}: {errors}");
        assert!(errors.contains(name) && errors.contains("too large"), "{errors}");
        let files: Vec<_> = fs::read_dir(&directory).unwrap().flatten().collect();
        assert_eq!(files.len(), 1, "{files:?}");
    }
}

/// The exports of a call graph are those of the golden files; a stack has the names of functions.
#[test]
fn a_call_graph_is_exported() {
    let directory = TempDir::new().unwrap();
    let log = shop(&directory);
    for name in ["shop.dot", "shop.callgrind", "shop.folded"] {
        assert_golden(&format!("calls/{name}"), &export(&log, &directory, name).1);
    }
    // Each line of the graph is a statement of its own, whatever the names.
    let dot = String::from_utf8(export(&log, &directory, "again.dot").1).unwrap();
    let edges = dot.lines().filter(|line| line.contains(" -> "));
    assert_eq!(edges.count(), 10);
    assert!(!dot.contains('\u{1b}'));
}

/// Names that mean something in a format.
const HOSTILE: [&str; 10] = [
    "a\"quote",
    "new\nline\tand\u{0}nul",
    "\u{202e}rtl",
    "<script>alert(1)</script>",
    "&lt;amp&amp;",
    "(3) number",
    "",
    "a;b c",
    "back\\slash\\N\\l",
    "x' OR '1'='1",
];

/// Each format has each name as it is, except for characters that would steer a terminal.
#[test]
fn hostile_names_are_names_in_every_format() {
    let directory = TempDir::new().unwrap();
    let log = write(&directory, "names.log", made::chain(&HOSTILE));
    let rows: Value = serde_json::from_slice(&calls(&log, &["--json"])).unwrap();
    let rows = rows["rows"].as_array().unwrap();
    let mut names: Vec<&str> = rows.iter().map(|row| row["function"].as_str().unwrap()).collect();
    let mut expected = HOSTILE.to_vec();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected);
    // A page shows none that steers a text, in its lists of labels and of calls.
    let path = directory.path().join("names.html");
    let (_, code, errors) = run(&["report", &log, "-o", path.to_str().unwrap()]);
    assert_eq!((code, &*errors), (0, ""));
    let page = fs::read_to_string(path).unwrap();
    assert!(page.contains("\u{fffd}rtl") && !page.contains(['\u{202e}', '\0']), "{page}");
    // Graphviz draws them.
    let (path, _) = export(&log, &directory, "names.dot");
    let drawn = std::process::Command::new("dot").args(["-Tsvg", &path]).output();
    let drawn = drawn.expect("this test needs graphviz: ./test --install");
    assert_eq!((drawn.status.success(), &*String::from_utf8_lossy(&drawn.stderr)), (true, ""));
    let svg = String::from_utf8(drawn.stdout).unwrap();
    for text in [
        "a&quot;quote",
        "new line and\u{fffd}nul",
        "\u{fffd}rtl",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "&amp;lt;amp&amp;amp;",
        "(3) number",
        "(no name)",
        "a;b c",
        "back\\slash\\N\\l",
        "x&#39; OR &#39;1&#39;=&#39;1",
    ] {
        assert!(svg.contains(&format!(">{text}</text>")), "{text}: {svg}");
    }
}
