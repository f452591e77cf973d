//! Exports of calls, read by the tools that they are for: go's pprof, callgrind_annotate.
//!
//! ```text
//!  calls ──▶ log ─┬─ eventcnv export ── go tool pprof, callgrind_annotate ──▶ counts, times ─┐
//!                 └─ eventcnv calls ──▶ the same by function and by path ────────────────────┘
//! ```

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Runs a tool, which complains about nothing else.
fn tool(name: &str, args: &[&str], complaint: &str) -> String {
    let output = Command::new(name).args(args).output();
    let output = output.unwrap_or_else(|_| panic!("this test needs {name}: ./test --install"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.success(), &*errors), (true, complaint));
    String::from_utf8(output.stdout).unwrap()
}

/// The rows of the command, as JSON.
fn rows(log: &str, args: &[&str]) -> Vec<Value> {
    let found: Value = serde_json::from_slice(&calls(log, &[&["--json"], args].concat())).unwrap();
    found["rows"].as_array().unwrap().clone()
}

/// Returns a name as a tool that shows one line has it.
fn shown(name: &str) -> String {
    let name = name.replace(['\u{1b}', '\u{202e}', '\0'], "\u{fffd}");
    if name.is_empty() { "(no name)".to_owned() } else { name.replace(['\n', '\t'], " ") }
}

/// Returns the counts and the names in the table of `go tool pprof -top`.
fn top(profile: &str, options: &[&str]) -> BTreeMap<String, u64> {
    let start = ["tool", "pprof", "-top", "-nodecount=9999", "-nodefraction=0"];
    // Where a user forces it to look for names, it wants the program's file.
    let is_forced = options.iter().any(|option| option.contains("demangle="));
    let complaint = if is_forced { "Main binary filename not available.\n" } else { "" };
    let text = tool("go", &[&start, options, &[profile]].concat(), complaint);
    let table = text.lines().skip_while(|line| !line.trim_start().starts_with("flat ")).skip(1);
    let mut found = BTreeMap::new();
    for line in table {
        let (mut rest, mut count) = (line, None);
        for _ in 0..5 {
            let (word, after) = rest.trim_start().split_once(' ').unwrap();
            count = count.or_else(|| word.parse().ok());
            rest = after;
        }
        let name = rest.strip_prefix(' ').unwrap().to_owned();
        assert_eq!(found.insert(name, count.unwrap()), None, "{text}");
    }
    found
}

/// Names with brackets of each kind, as Rust and C++ have them, and names that steer a format.
const BRACKETS: [&str; 13] = [
    "<shop::Cart as shop::Area>::area",
    "<shop::Till as shop::Area>::area",
    "<[shop::Item] as shop::Area>::area",
    "shop::Shelf<_>::put",
    "shop::Shelf<alloc::vec::Vec<(u8, u8)>>::put",
    "shop::Shelf::put",
    "shop::main::{{closure}}",
    "shop::main::{closure#1}",
    "core::ops::function::FnOnce::call_once{{vtable.shim}}",
    "shop::put(int)",
    "shop::put(long) const",
    "shop::operator()(char)",
    "shop::operator<",
];

/// By default, and by each way in which pprof simplifies names.
#[test]
fn pprof_tells_functions_apart_by_their_whole_names() {
    let directory = TempDir::new().unwrap();
    for names in [&BRACKETS[..], &HOSTILE] {
        let log = write(&directory, "names.log", made::chain(names));
        let (profile, _) = export(&log, &directory, "names.pb.gz");
        let expected: BTreeMap<String, u64> = names.iter().map(|name| (shown(name), 1)).collect();
        for way in ["", "-symbolize=demangle=none", "-symbolize=demangle=full"] {
            let options = ["-sample_index=calls", way];
            let options = &options[..1 + usize::from(!way.is_empty())];
            assert_eq!(top(&profile, options), expected, "{way}");
        }
        fs::remove_file(profile).unwrap();
    }
}

/// The paths of a profile, their calls and their times are those of the command.
#[test]
fn pprof_finds_a_sample_for_each_path() {
    let directory = TempDir::new().unwrap();
    let log = shop(&directory);
    let (profile, _) = export(&log, &directory, "shop.pb.gz");
    let mut stack: Vec<String> = Vec::new();
    let mut expected: BTreeSet<(String, u64, u64)> = BTreeSet::new();
    for row in rows(&log, &["--by", "path"]) {
        stack.truncate(row["depth"].as_u64().unwrap() as usize - 1);
        stack.push(shown(row["path"].as_str().unwrap().trim_start()));
        let [calls, own] = ["calls", "own_ns"].map(|name| row[name].as_u64().unwrap());
        expected.insert((stack.join(";"), calls, own));
    }
    // A sample: two values, then the numbers of locations, the innermost first.
    let text = tool("go", &["tool", "pprof", "-raw", &profile], "");
    let section = |name: &str, end: &str| {
        let lines = text.lines().skip_while(|line| !line.starts_with(name)).skip(1);
        let lines = lines.take_while(|line| end.is_empty() || !line.starts_with(end));
        lines.map(str::trim).collect::<Vec<_>>()
    };
    let names: BTreeMap<u64, &str> = section("Locations", "Mappings")
        .into_iter()
        .map(|line| {
            let (number, rest) = line.split_once(": 0x0 ").unwrap();
            // Then come the file, the line, and where it begins.
            let name = rest.split_once("M=1 ").unwrap().1.rsplit_once(" s=").unwrap().0;
            (number.parse().unwrap(), name.rsplit_once(' ').unwrap().0)
        })
        .collect();
    let samples = section("Samples", "Locations");
    assert_eq!(samples[0], "calls/count time/nanoseconds[dflt]");
    let found: BTreeSet<(String, u64, u64)> = samples[1..]
        .iter()
        .map(|line| {
            let (values, path) = line.split_once(": ").unwrap();
            let values: Vec<u64> =
                values.split_whitespace().map(|value| value.parse().unwrap()).collect();
            let path = path.split_whitespace().rev().map(|at| names[&at.parse().unwrap()]);
            // pprof has the symbol of a name that is not its symbol.
            let name =
                |name: &str| name.split_once("(_Z").map_or(name, |(name, _)| name).to_owned();
            (path.map(name).collect::<Vec<_>>().join(";"), values[0], values[1])
        })
        .collect();
    assert_eq!(found, expected, "{text}");
}

/// Returns the times and the names in the table of callgrind_annotate, and the total.
fn annotated(path: &str, options: &[&str]) -> (BTreeMap<String, u64>, u64) {
    let text = tool("callgrind_annotate", &[&["--threshold=100"], options, &[path]].concat(), "");
    let row = |line: &str| {
        let (number, rest) = line.trim_start().split_once(' ')?;
        let name = rest.trim_start().trim_start_matches(|c| "(0123456789.% ".contains(c));
        let name = name.strip_prefix(") ").unwrap_or(name).trim_start();
        Some((name.to_owned(), number.replace(',', "").parse::<u64>().ok()?))
    };
    let rows = text.lines().filter_map(row);
    let (total, rows): (Vec<_>, Vec<_>) = rows.partition(|(name, _)| name == "PROGRAM TOTALS");
    let rows = rows.into_iter().map(|(name, time)| {
        // `file:function [object]`
        let name = name.split_once(':').map_or(&*name, |(_, name)| name);
        (name.rsplit_once(" [").map_or(name, |(name, _)| name).to_owned(), time)
    });
    (rows.collect(), total[0].1)
}

#[test]
fn callgrind_annotate_states_own_times_and_their_sum() {
    let directory = TempDir::new().unwrap();
    let log = shop(&directory);
    let (path, _) = export(&log, &directory, "shop.callgrind");
    let (found, total) = annotated(&path, &[]);
    let mut own: BTreeMap<String, u64> = BTreeMap::new();
    for (name, time) in &found {
        *own.entry(name.strip_suffix("'2").unwrap_or(name).to_owned()).or_default() += time;
    }
    let mut sum = 0;
    for row in rows(&log, &[]) {
        let time = row["own_ns"].as_u64().unwrap();
        let name = shown(row["function"].as_str().unwrap());
        assert_eq!(own.get(&name).copied().unwrap_or_default(), time, "{name}: {found:?}");
        sum += time;
    }
    assert_eq!(total, sum);
    // Names that steer the format are names.
    let log = write(&directory, "names.log", made::chain(&HOSTILE));
    let (path, _) = export(&log, &directory, "names.callgrind");
    let (found, _) = annotated(&path, &[]);
    for name in ["a\"quote", "&lt;amp&amp;", "(3) number", "x' OR '1'='1", "(no name)"] {
        assert!(found.contains_key(name), "{name:?}: {found:?}");
    }
}

/// Makes a log of random calls of a few functions, which call each other and themselves.
fn random(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = |count: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % count
    };
    let functions = 1 + next(5);
    let (mut steps, mut depth) = (Vec::new(), 0);
    for _ in 0..300 {
        if depth == 0 || depth < 12 && next(2) == 0 {
            steps.push((1 + next(9), Some(next(functions) as usize)));
            depth += 1;
        } else {
            steps.push((1 + next(9), None));
            depth -= 1;
        }
    }
    steps.extend((0..depth).map(|_| (1, None)));
    made::steps(&["shop::main", "even", "odd", "<a as b>::c", "fib"], &steps)
}

/// Simple recursion, mutual recursion and cycles: as in the table, no time counts twice.
#[test]
fn callgrind_annotate_has_the_outermost_times() {
    let directory = TempDir::new().unwrap();
    let [again, chain] = [(5, Some(0)), (5, None)];
    let deep = [vec![again; 40], vec![chain; 40]].concat();
    let mut logs = vec![made::steps(&["fib"], &deep)];
    logs.extend((1..=12).map(random));
    for (number, log) in logs.into_iter().enumerate() {
        let log = write(&directory, &format!("{number}.log"), log);
        let (path, _) = export(&log, &directory, &format!("{number}.callgrind"));
        let (found, total) = annotated(&path, &["--inclusive=yes"]);
        for row in rows(&log, &[]) {
            let (name, outermost) = (row["function"].as_str().unwrap(), &row["outermost_ns"]);
            assert_eq!(found.get(name), outermost.as_u64().as_ref(), "{number} {name}: {found:?}");
        }
        let parts = found.iter().filter(|(_, time)| **time > total);
        assert_eq!(parts.count(), 0, "{number}: parts of {total}: {found:?}");
        assert_eq!(found["(no caller)"], total, "{number}");
    }
    // A selection leaves out callers, whose time is in no function then.
    let log = shop(&directory);
    let path = directory.path().join("selected.callgrind");
    let path = path.to_str().unwrap();
    let (_, code, errors) =
        run(&["export", &log, "-o", path, "--events", "CallEnter", "--first", "2"]);
    assert_eq!(code, 0, "{errors}");
    let (found, total) = annotated(path, &["--inclusive=yes"]);
    assert!(found.values().all(|time| *time <= total), "{total}: {found:?}");
}

/// The size that is told before is that of the file.
#[test]
fn the_size_of_a_large_chrome_trace_is_told_before() {
    let directory = TempDir::new().unwrap();
    let pair = [(1, Some(0)), (1, None)];
    let log = write(&directory, "many.log", made::steps(&["shop::sell"], &pair.repeat(50_000)));
    let path = directory.path().join("many.json");
    let (_, code, errors) = run(&["export", &log, "-o", path.to_str().unwrap()]);
    assert_eq!(code, 0, "{errors}");
    let told = errors.split_once("note: the output takes up to ").expect("a note").1;
    let (mebibytes, rest) = told.split_once(" MiB: ").unwrap();
    assert!(rest.contains(" bytes an event, of 1000"), "{errors}");
    let size = fs::metadata(path).unwrap().len() as f64 / f64::from(1 << 20);
    let told: f64 = mebibytes.parse().unwrap();
    assert!((told / size - 1.0).abs() < 0.05, "{told} of {size} MiB");
    // `export` fails if anything is told of a short one.
    export(&shop(&directory), &directory, "shop.json");
}
