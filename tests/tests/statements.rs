//! The statements of a real program: counts, times, two runs, against llvm-cov and callgrind.
//!
//! ```text
//!  multiply X Y PAUSE ── MPS_TELEMETRY_PROFILE ─▶ log ── eventcnv lines, export ─┬─ known counts
//!  the same, built with -C instrument-coverage ── llvm-cov export ── lcov ───────┤
//!  valgrind --tool=callgrind --dump-instr=yes ── executions of each instruction ─┴─ the same lines
//!  ending ── crash │ kill -9 │ fork ── core, ring, two logs ── eventcnv lines ─── the counts told
//! ```
//!
//! Design: `.statements.lens` in `design/statements.md`, `.cnv.lines` in `design/eventcnv.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tests::programs::{core_of, eventcnv, lines, release, root, run, system};

/// Runs the program with its statements profiled.
fn record(log: &Path, mode: &str, args: &[&str]) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_multiply"));
    program.args(args).env("MPS_TELEMETRY_PROFILE", mode).env("MPS_TELEMETRY_FILENAME", log);
    run(&mut program);
}

/// Returns the rows that the command prints, each with its text.
fn rows(log: &Path, args: &[&str]) -> Vec<BTreeMap<String, serde_json::Value>> {
    let mut command = eventcnv();
    command.arg("lines").arg(log).args(args).args(["--json", "--source"]).arg(root());
    let found: serde_json::Value = serde_json::from_slice(&run(&mut command).stdout).unwrap();
    serde_json::from_value(found["rows"].clone()).unwrap()
}

/// Counts are those of the program, in each mode, and the statements that never ran are known.
#[test]
fn statements_have_the_counts_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    for mode in ["count", "time", "trace"] {
        let log = folder.path().join(format!("{mode}.log"));
        record(&log, mode, &["7", "250", "0"]);
        let counts: BTreeMap<String, u64> = rows(&log, &["--all"])
            .into_iter()
            .map(|row| (row["text"].as_str().unwrap().to_owned(), row["count"].as_u64().unwrap()))
            .collect();
        for (text, count) in [
            ("let mut product = 0;", 1),
            ("while turn < y { …", 1),
            ("product += black_box(x);", 250),
            ("turn += 1;", 250),
            ("return unused(product);", 0),
            ("product", 1),
            ("black_box(value)", 0),
            ("words.next().unwrap_or(0)", 3),
            ("println!(\"{}\", multiply(x, y));", 1),
        ] {
            assert_eq!(counts.get(text), Some(&count), "{mode}: {text}: {counts:?}");
        }
        let never = rows(&log, &["--never"]);
        assert_eq!(never.len(), 2, "{never:?}");
        assert_eq!(never[0]["function"], "multiply::multiply");
    }
}

/// K1: a statement that sleeps 5 ms leads, also the comparison after it was mended. Two runs add
/// up.
#[test]
fn the_slow_statement_leads() {
    let folder = tempfile::tempdir().unwrap();
    let [slow, mended] = ["slow", "mended"].map(|name| folder.path().join(format!("{name}.log")));
    record(&slow, "time", &["7", "20", "500"]);
    record(&mended, "time", &["7", "20", "5"]);
    let sleep = "std::thread::sleep(pause);";
    let first = &rows(&slow, &[])[0];
    assert_eq!(first["text"], sleep, "{first:?}");
    let sleeps = rows(&mended, &[]).into_iter().find(|row| row["text"] == sleep).unwrap();
    assert!(sleeps["min_ns"].as_u64() >= Some(4_900_000), "{sleeps:?}");
    let changed = &rows(&mended, &["--against", slow.to_str().unwrap()])[0];
    assert_eq!((&changed["text"], &changed["match"]), (&sleep.into(), &"same".into()));
    assert!(changed["change_ns"].as_i64() < Some(-100_000_000), "{changed:?}");
    let both = rows(&mended, &[slow.to_str().unwrap()]);
    let turn = both.iter().find(|row| row["text"] == "turn += 1;").unwrap();
    assert_eq!(turn["count"], 40);
}

/// Returns the counts of the lines of a file: the tool's lcov has the lines in which statements
/// begin.
fn counts(lcov: &str, file: &str) -> BTreeMap<u32, u64> {
    let records = lcov.split("end_of_record");
    let record = records
        .into_iter()
        .find(|record| record.lines().any(|line| line.starts_with("SF:") && line.ends_with(file)));
    let lines = record.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("DA:"));
    let pair = |line: &str| {
        let (number, count) = line.split_once(',')?;
        Some((number.parse().ok()?, count.parse().ok()?))
    };
    lines.filter_map(pair).collect()
}

/// Returns a tool of the compiler's LLVM.
fn llvm(name: &str) -> Command {
    let sysroot = lines(Command::new("rustc").args(["--print", "sysroot"])).join("");
    let found = fs::read_dir(Path::new(&sysroot).join("lib/rustlib")).unwrap().flatten();
    let mut paths = found.map(|entry| entry.path().join("bin").join(name));
    let path: Option<PathBuf> = paths.find(|path| path.exists());
    Command::new(path.expect("this test needs rustup's component llvm-tools: ./test --install"))
}

/// The counts of lines in which statements begin are those of llvm-cov, in one run.
#[test]
fn lines_have_the_counts_of_llvm_cov() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (log, raw, data, lcov) = (at("log"), at("raw"), at("data"), at("multiply.lcov"));
    let program = release("multiply", &["-Cinstrument-coverage"]);
    let mut command = Command::new(&program);
    command.args(["7", "250", "1"]).env("LLVM_PROFILE_FILE", &raw);
    command.env("MPS_TELEMETRY_PROFILE", "count").env("MPS_TELEMETRY_FILENAME", &log);
    run(&mut command);
    run(llvm("llvm-profdata").args(["merge", "-sparse", "-o"]).arg(&data).arg(&raw));
    let mut export = llvm("llvm-cov");
    export.args(["export", "-format=lcov", "-instr-profile"]).arg(&data).arg(&program);
    let expected = String::from_utf8(run(&mut export).stdout).unwrap();
    run(eventcnv().arg("export").arg(&log).arg("-o").arg(&lcov));
    let file = "tests/src/bin/multiply.rs";
    let (found, expected) =
        (counts(&fs::read_to_string(&lcov).unwrap(), file), counts(&expected, file));
    assert!(found.len() >= 15, "{found:?}");
    // A loop is one statement, and llvm-cov counts its condition, which is on its line.
    let text = fs::read_to_string(root().join(file)).unwrap();
    let is_loop = |line: &u32| text.lines().nth(*line as usize - 1).unwrap().contains("while ");
    for (line, count) in found.iter().filter(|(line, _)| !is_loop(line)) {
        assert_eq!(expected.get(line), Some(count), "line {line}: {found:?} {expected:?}");
    }
}

/// Returns how often the instructions of each line of a file were executed, as callgrind tells it
/// (`cl-format.html` of its manual). A line with instructions of several statements may have
/// several numbers.
fn executions(callgrind: &str, file: &str) -> BTreeMap<u32, BTreeSet<u64>> {
    let (mut found, mut is_file, mut is_call) = (BTreeMap::<_, BTreeSet<_>>::new(), false, false);
    for line in callgrind.lines() {
        if let Some(name) = ["fl=", "fi=", "fe="].iter().find_map(|key| line.strip_prefix(key)) {
            is_file = name.ends_with(file);
        }
        if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with("0x") {
            let mut words = line.split_whitespace().skip(1).map(|word| word.parse::<u64>());
            // The line after a call has what the callee took.
            if let (Some(Ok(line)), Some(Ok(count))) = (words.next(), words.next())
                && !std::mem::take(&mut is_call)
                && is_file
                && line != 0
            {
                found.entry(line as u32).or_default().insert(count);
            }
        }
    }
    found
}

/// Each statement begins as often as the processor executes its instructions, in one run.
#[test]
fn lines_have_the_counts_of_callgrind() {
    let folder = tempfile::tempdir().unwrap();
    let (log, out) = (folder.path().join("log"), folder.path().join("callgrind.out"));
    let mut valgrind = system("valgrind");
    valgrind.args(["--tool=callgrind", "--dump-instr=yes"]);
    valgrind.args(["--compress-pos=no", "--compress-strings=no"]);
    valgrind.arg(format!("--callgrind-out-file={}", out.display()));
    valgrind.arg(env!("CARGO_BIN_EXE_multiply")).args(["7", "250", "1"]);
    valgrind.env("MPS_TELEMETRY_PROFILE", "count").env("MPS_TELEMETRY_FILENAME", &log);
    run(&mut valgrind);
    let file = "tests/src/bin/multiply.rs";
    let expected = executions(&fs::read_to_string(&out).unwrap(), file);
    let mut found = BTreeMap::<u32, BTreeSet<u64>>::new();
    for row in rows(&log, &["--all"]) {
        let place = row["place"].as_str().unwrap().split(':').nth(1).unwrap().parse().unwrap();
        let counts = found.entry(place).or_default();
        counts.extend(row["count"].as_u64().filter(|count| *count != 0));
    }
    assert_eq!(found.len(), 15, "{found:?}");
    // A loop is one statement; its condition runs once more than the statements in it.
    let text = fs::read_to_string(root().join(file)).unwrap();
    let condition = text.lines().position(|line| line.contains("while ")).unwrap() as u32 + 1;
    assert_eq!(found.insert(condition, [251].into()), Some([1].into()));
    for (line, counts) in found {
        let expected = expected.get(&line).cloned().unwrap_or_default();
        assert_eq!(counts, expected, "line {line}");
    }
}

/// Returns the counts of the statements in the function `works` of `ending`: of the loop, and of
/// the statement in it. Unless the log is closed, a note tells that sums may be missing.
fn of_works(logs: &[&Path], is_closed: bool) -> [u64; 2] {
    let mut command = eventcnv();
    command.arg("lines").args(logs).args(["--all", "--json", "--source"]).arg(root());
    let output = run(&mut command);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let notes = String::from_utf8(output.stderr).unwrap();
    assert_eq!(notes.contains("note: the log has no end: "), !is_closed, "{notes}");
    let rows = found["rows"].as_array().unwrap();
    ["for turn in 0..count { …", "black_box(turn);"].map(|text| {
        let row = rows.iter().find(|row| row["text"] == text);
        row.unwrap_or_else(|| panic!("{text}: {found}"))["count"].as_u64().unwrap()
    })
}

const ENDING: &str = env!("CARGO_BIN_EXE_ending");

/// A core has the sums that the program told before it died.
#[test]
fn statements_come_out_of_a_core() {
    for mode in ["count", "time", "trace"] {
        let folder = tempfile::tempdir().unwrap();
        let environment = [("MPS_TELEMETRY_PROFILE", mode), ("MPS_TELEMETRY_FILENAME", "log")];
        let words = ["crash", "40"];
        let core = core_of(folder.path(), Path::new(ENDING), &words, &environment);
        assert_eq!(of_works(&[&core], false), [1, 40], "{mode}");
        // The file and the core of one process are one stream.
        let log = folder.path().join("log");
        assert_eq!(of_works(&[&log], false), [1, 40], "{mode}");
        assert_eq!(of_works(&[&core, &log], false), [1, 40], "{mode}");
    }
}

/// A mapped ring has what was recorded when the program was killed.
#[test]
fn statements_come_out_of_a_ring_after_a_kill() {
    for mode in ["count", "time", "trace"] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(ENDING);
        command.args(["wait", "40"]).current_dir(folder.path());
        command.env("MPS_TELEMETRY_PROFILE", mode);
        command.env("MPS_TELEMETRY_FILENAME", "ring:ring?size=1M");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let ring = folder.path().join("ring");
        // While the program runs, and after.
        assert_eq!(of_works(&[&ring], false), [1, 40], "{mode}");
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
        assert_eq!(of_works(&[&ring], false), [1, 40], "{mode}");
    }
}

/// A forked child tells its own statements alone; both logs add up.
#[test]
fn statements_of_a_forked_child_are_its_own() {
    for mode in ["count", "time", "trace"] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(ENDING);
        command.args(["fork", "40"]).current_dir(folder.path());
        command.env("MPS_TELEMETRY_PROFILE", mode).env("MPS_TELEMETRY_FILENAME", "log");
        run(&mut command);
        let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let (parents, children): (Vec<_>, Vec<_>) = files.partition(|path| path.ends_with("log"));
        let ([parent], [child]) = (&parents[..], &children[..]) else { panic!("{children:?}") };
        assert_eq!(of_works(&[parent], true), [2, 42], "{mode}");
        assert_eq!(of_works(&[child], true), [1, 13], "{mode}");
        assert_eq!(of_works(&[parent, child], true), [3, 55], "{mode}");
    }
}
