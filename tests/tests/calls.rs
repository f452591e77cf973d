//! The calls of a program, counted by valgrind's callgrind in the same run.
//!
//! ```text
//!  valgrind --tool=callgrind callees ─┬─ callgrind.out ── cfn=, calls= ──▶ edges ─┐
//!                                     └─ log ── eventcnv calls --by edge ─────────┴─ the same
//! ```
//!
//! Design: `.calls.graph` in `design/calls.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use tests::programs::{eventcnv, lines, recording, run, system};

/// The number of calls by caller and callee; the caller is empty if it is not recorded.
type Edges = BTreeMap<(String, String), u64>;

/// Returns the name of a function without the hash of its instance.
fn plain(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            path
        }
        _ => name.split('\'').next().unwrap_or(name),
    }
}

/// Returns the edges in an output of callgrind (`valgrind.org/docs/manual/cl-format.html`) whose
/// callees are these functions.
fn of_callgrind(text: &str, functions: &BTreeSet<&str>) -> Edges {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut edges = Edges::new();
    let (mut caller, mut callee) = ("", "");
    for line in text.lines() {
        let Some((what, value)) = line.split_once('=') else { continue };
        if !matches!(what, "fn" | "cfn" | "calls") {
            continue;
        }
        if what == "calls" {
            let count: u64 = value.split(' ').next().unwrap().parse().unwrap();
            if functions.contains(callee) {
                let caller = if functions.contains(caller) { caller } else { "" };
                *edges.entry((caller.to_owned(), callee.to_owned())).or_default() += count;
            }
            continue;
        }
        let (number, name) = value.split_once(' ').unwrap_or((value, ""));
        if !name.is_empty() {
            names.insert(number, plain(name));
        }
        *(if what == "fn" { &mut caller } else { &mut callee }) = names[number];
    }
    edges
}

/// Each edge of the call graph has the number of calls that callgrind counts.
#[test]
fn edges_have_the_counts_of_callgrind() {
    let folder = tempfile::tempdir().unwrap();
    let (log, out) = (folder.path().join("callees.log"), folder.path().join("callgrind.out"));
    let mut valgrind = system("valgrind");
    valgrind.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", out.display()));
    valgrind.args([env!("CARGO_BIN_EXE_callees"), "40"]);
    run(&mut recording(valgrind, "Call", &log));
    let rows = lines(eventcnv().arg("calls").arg(&log).args(["--by", "edge", "--csv"]));
    let mut recorded = Edges::new();
    for row in &rows[1..] {
        let mut cells = row.split(',').map(|cell| cell.trim_matches('"').to_owned());
        let edge = (cells.next().unwrap(), cells.next().unwrap());
        recorded.insert(edge, cells.next().unwrap().parse().unwrap());
    }
    assert_eq!(recorded.len(), 10, "{recorded:?}");
    let functions: BTreeSet<&str> = recorded.keys().map(|(_, function)| &**function).collect();
    assert_eq!(of_callgrind(&fs::read_to_string(out).unwrap(), &functions), recorded);
}

/// A note tells that functions that seem unused may have been called before, wherever they are
/// named.
#[test]
fn calls_that_a_ring_has_overwritten_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("callees.log");
    for (size, count, is_noted) in [("64M", "40", false), ("64K", "1000", true)] {
        let ring = format!("ring:{}?size={size}", path.display());
        let mut callees = Command::new(env!("CARGO_BIN_EXE_callees"));
        callees.arg(count).env("MPS_TELEMETRY_BLOCK_SIZE", "4096");
        run(&mut recording(callees, "Call", ring.as_ref()));
        let log = path.to_str().unwrap();
        let database = folder.path().join(format!("{size}.db"));
        let page = folder.path().join(format!("{size}.html"));
        let [trace, profile] = ["a.json", "a.pb.gz"].map(|name| folder.path().join(name));
        let paths = [&database, &page, &trace, &profile];
        let [database, page, trace, profile] = paths.map(|path| path.to_str().unwrap());
        for arguments in [
            &["calls", log, "--unused"][..],
            &["calls", log, "--by=function"],
            &["query", log, "SELECT * FROM unused_procs"],
            &["sql", log, "-o", database],
            &["pairs", log],
            &["stats", log],
            &["export", log, "-o", trace, "--force"],
            &["export", log, "-o", profile, "--force"],
            &["query", log, "SELECT count(*) FROM CallEnter"],
            &["query", log, "SELECT count(*) FROM slices"],
        ] {
            let output = eventcnv().args(arguments).output().unwrap();
            let notes = String::from_utf8(output.stderr).unwrap();
            let has_note = notes.contains(" older events were overwritten in memory");
            assert_eq!(has_note, is_noted, "{arguments:?}: {notes}");
        }
        run(eventcnv().args(["report", log, "-o", page]));
        let page = fs::read_to_string(page).unwrap();
        assert_eq!(!page.contains("\"overwritten\":0"), is_noted);
    }
}

/// K11: a pause of 1 s is in no call that is open meanwhile, whichever answer has its time. The
/// program's own clock is the judge.
#[test]
fn a_pause_of_a_second_is_in_no_open_call() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("caller.log");
    let mut caller = Command::new(env!("CARGO_BIN_EXE_caller"));
    caller.args(["pause", "1000"]);
    let printed = lines(&mut recording(caller, "all", &log));
    let clock: BTreeMap<&str, f64> = printed
        .iter()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, ns)| (name, ns.parse().unwrap()))
        .collect();
    assert!(clock["pause"] >= 1e9, "{clock:?}");
    let sql = "SELECT name, duration, own FROM calls JOIN functions USING(function)";
    let rows = lines(eventcnv().args(["query", "--csv"]).arg(&log).arg(sql));
    let table = lines(eventcnv().arg("calls").arg(&log).args(["--by", "function", "--csv"]));
    let names: Vec<&str> = table[0].split(',').collect();
    let total = names.iter().position(|name| name.starts_with("total")).expect("a column");
    let mut own_beneath = 0.0;
    for name in ["inner", "middle", "outer"] {
        let truth = clock[name] - clock["pause"];
        let is_its = |row: &&String| row.contains(&format!("caller::{name}"));
        let cells: Vec<&str> = rows.iter().find(is_its).expect(name).split(',').collect();
        let [duration, own] = [1, 2].map(|at| cells[at].parse::<f64>().unwrap());
        let of_table: Vec<&str> = table.iter().find(is_its).expect(name).split(',').collect();
        let of_table: f64 = of_table[total].parse().unwrap();
        println!("{name}: {truth} {duration} {own} {of_table}");
        // The program may lose its processor between the two readings of a time: 5 % of the pause.
        for found in [duration, of_table, own + own_beneath] {
            assert!((truth - found).abs() < 50e6, "{name}: {found} of {truth}");
        }
        own_beneath += own;
    }
}
