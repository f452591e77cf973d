//! The calls of a program, counted by valgrind's callgrind in the same run; the times of coroutines
//! that wait, measured by themselves.
//!
//! ```text
//!  valgrind --tool=callgrind callees ─┬─ callgrind.out ── cfn=, calls= ──▶ edges ─┐
//!                                     └─ log ── eventcnv calls --by edge ─────────┴─ the same
//!  turns ─┬─ prints how long each coroutine was busy ─────────────────────────────────┐
//!         └─ log ── calls, query, pprof, callgrind_annotate, folded ── own times ─────┴─ the same
//! ```
//!
//! Design: `.calls.graph`, `.calls.lens.clock` in `design/calls.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use tests::programs::{eventcnv, lines, recording, run, system};

/// The number of calls by caller and callee; the caller is empty if it is not recorded.
type Edges = BTreeMap<(String, String), u64>;

/// The end of the name of a function's body that is recorded.
const RECORDED: &str = "::{{closure}}";

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
                let caller = caller.strip_suffix(RECORDED).unwrap_or(caller);
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
            &["export", log, "-o", trace, "--force"],
            &["export", log, "-o", profile, "--force"],
            &["query", log, "SELECT count(*) FROM CallEnter"],
            &["query", log, "SELECT count(*) FROM slices"],
        ] {
            let output = eventcnv().args(arguments).output().unwrap();
            let notes = String::from_utf8(output.stderr).unwrap();
            let has_note = notes.contains(" overwritten in memory: ");
            assert_eq!(has_note, is_noted, "{arguments:?}: {notes}");
        }
        run(eventcnv().args(["report", log, "-o", page]));
        let page = fs::read_to_string(page).unwrap();
        assert_eq!(!page.contains("\"overwritten\":0"), is_noted);
    }
}

/// Two functions of one path and two lines have one row, as those of two versions of a crate.
#[test]
fn a_note_tells_that_a_name_has_several_functions() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("twofold.log");
    run(&mut recording(Command::new(env!("CARGO_BIN_EXE_twofold")), "Call", &log));
    let output = eventcnv().arg("calls").arg(&log).arg("--csv").output().unwrap();
    let rows = String::from_utf8(output.stdout).unwrap();
    let row = |name: &str| rows.lines().find(|row| row.contains(name)).unwrap().to_owned();
    assert!(row("twofold::main::sell").contains(",7,"), "{rows}");
    assert!(row("twofold::main::keep").contains(",3,"), "{rows}");
    let notes = String::from_utf8(output.stderr).unwrap();
    let note = "names of functions in several places, as of two versions of a crate: 1, such as \
                `twofold::main::sell`; the row of a name has the sums of all";
    assert_eq!(notes, format!("eventcnv: {}: note: {note}\n", log.display()));
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
    let total = names.iter().position(|name| *name == "total_ns").expect("a column");
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

/// Own times in ns, by function.
type Times = BTreeMap<String, u64>;

/// Runs the program whose coroutines take turns. Returns how long each stack was busy, and all.
fn take_turns(log: &Path, profile: &str) -> (Times, u64) {
    let mut turns = Command::new(env!("CARGO_BIN_EXE_turns"));
    turns.env("MPS_TELEMETRY_PROFILE", profile);
    let printed = lines(&mut recording(turns, "Call", log));
    let row = |line: &String| {
        let (name, ns) = line.split_once(' ').unwrap();
        (name.to_owned(), ns.parse().unwrap())
    };
    let mut busy: Times = printed.iter().map(row).collect();
    let all = busy.remove("all").unwrap();
    (busy, all)
}

/// Asserts that each stack has the time for which it was busy, and at most what no stack measured
/// of itself, which is all that a wait can have. The clock of the log is another one.
fn assert_busy(own: &Times, (busy, all): &(Times, u64), what: &str) {
    let left = all.saturating_sub(busy.values().sum()) + all / 500;
    let told = format!("{what}: {own:?}; measured: {busy:?} of {all}");
    // The duration of a body contains its waits.
    let nested = if what == "duration" { own["wait"] } else { 0 };
    assert!(own.values().sum::<u64>() - nested <= all + all / 500, "{told}");
    assert!(own["wait"] <= left, "{told}");
    for (name, busy) in busy {
        assert!(own[name] + all / 500 >= *busy && own[name] <= busy + left, "{name}: {told}");
    }
}

/// Returns the own times in lines; `words` finds the time and the name in one.
fn own_times(lines: &[String], words: impl Fn(&str) -> Option<(f64, String)>) -> Times {
    let mut times = Times::new();
    for (ns, name) in lines.iter().filter_map(|line| words(line)) {
        *times.entry(name).or_default() += ns as u64;
    }
    times
}

/// Each stack has the time that it measured itself, whatever shows it. The waits have none of it.
#[test]
fn own_times_lack_the_waits_of_coroutines() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("turns.log");
    let truth = take_turns(&log, "off");
    let export = |name: &str| {
        let path = folder.path().join(name);
        run(eventcnv().arg("export").arg(&log).arg("-o").arg(&path));
        path
    };
    let found: serde_json::Value =
        serde_json::from_slice(&run(eventcnv().arg("calls").arg(&log).arg("--json")).stdout)
            .unwrap();
    let row = |row: &serde_json::Value| {
        (row["function"].as_str().unwrap().to_owned(), row["own_ns"].as_u64().unwrap())
    };
    let table: Times = found["rows"].as_array().unwrap().iter().map(row).collect();
    assert_busy(&table, &truth, "calls");
    for total in ["own", "duration"] {
        // No call is in another one of its stack, except that each body has its waits.
        let sql = format!(
            "SELECT name, sum({total}) FROM calls JOIN functions USING(function) GROUP BY 1"
        );
        let rows = lines(eventcnv().arg("query").arg(&log).args([&sql, "--csv"]));
        let words = |row: &str| {
            let (name, ns) = row.split_once(',')?;
            Some((ns.parse().ok()?, name.to_owned()))
        };
        assert_busy(&own_times(&rows, words), &truth, total);
    }
    let mut pprof = system("go");
    pprof.args(["tool", "pprof", "-top", "-unit=ns", "-sample_index=time", "-nodefraction=0"]);
    let rows = lines(pprof.arg(export("turns.pb.gz")).env("PPROF_TMPDIR", folder.path()));
    let words = |row: &str| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let [flat, _, _, _, _, name] = words[..] else { return None };
        Some((flat.strip_suffix("ns").unwrap_or(flat).parse().ok()?, name.to_owned()))
    };
    assert_busy(&own_times(&rows, words), &truth, "pprof");
    let mut annotate = system("callgrind_annotate");
    let rows = lines(annotate.arg("--threshold=100").arg(export("turns.callgrind")));
    let words = |row: &str| {
        let (ns, name) = row.trim().split_once(' ')?;
        let (_, name) = name.split_once("???:")?;
        Some((ns.replace(',', "").parse().ok()?, name.split(' ').next()?.to_owned()))
    };
    assert_busy(&own_times(&rows, words), &truth, "callgrind_annotate");
    let folded = fs::read_to_string(export("turns.folded")).unwrap();
    let rows: Vec<String> = folded.lines().map(str::to_owned).collect();
    let words = |row: &str| {
        let (path, ns) = row.rsplit_once(' ')?;
        Some((ns.parse().ok()?, path.rsplit(';').next()?.to_owned()))
    };
    assert_busy(&own_times(&rows, words), &truth, "folded");
}
