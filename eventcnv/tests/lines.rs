//! Statements: tables, comparisons, exports, texts of source files, bad input.
//!
//! ```text
//!  tests/lines/made.rs ──▶ log ── eventcnv lines │ export ──▶ golden files, callgrind_annotate
//! ```
//!
//! Design: `.cnv.lines` in `design/eventcnv.md`; `design/statements.md`.

extern crate eventdef as telemetry;

/// The registry itself, without the runtime.
#[path = "../../calls/src/events.rs"]
#[allow(dead_code, unreachable_pub, reason = "the runtime uses the rest")]
mod events;
#[path = "lines/made.rs"]
mod made;
mod support;

use eventdef::field::P;
use events::StatementSum;
use made::{STATEMENTS, TEXT, at, sum};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};
use support::{assert_golden, run};
use tempfile::TempDir;

fn write(directory: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = directory.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Returns the folder of a log, with the source file of the shop in it.
fn source(log: &str) -> String {
    let folder = Path::new(log).parent().unwrap();
    fs::create_dir_all(folder.join("src")).unwrap();
    let path = folder.join("src/shop.rs");
    fs::write(&path, TEXT).unwrap();
    fs::File::open(&path).unwrap().set_modified(year_2020()).unwrap();
    folder.to_str().unwrap().to_owned()
}

/// Returns a time before all logs.
fn year_2020() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000)
}

/// Runs the command, with the source file of the shop. Returns its output and its notes.
fn lines(log: &str, args: &[&str]) -> (Vec<u8>, String) {
    let (found, code, errors) = run(&[&["lines", log, "--source", &source(log)], args].concat());
    assert_eq!(code, 0, "{errors}");
    (found, errors.replace(&format!("eventcnv: {log}: "), ""))
}

fn text(log: &str, args: &[&str]) -> String {
    String::from_utf8(lines(log, args).0).unwrap()
}

fn rows(log: &str, args: &[&str]) -> Vec<Value> {
    let found: Value =
        serde_json::from_slice(&lines(log, &[args, &["--json"]].concat()).0).unwrap();
    found["rows"].as_array().unwrap().clone()
}

/// K4, K8, K12: each form of the sums of a program.
#[test]
fn statements_are_told_in_every_form() {
    let directory = TempDir::new().unwrap();
    let log = write(&directory, "shop.log", made::shop(100));
    assert_golden("lines/till.log", &made::shop(100));
    let slow = write(&directory, "slow.log", made::shop(3000));
    let traced = write(&directory, "traced.log", made::traced());
    let counted = write(&directory, "counted.log", made::counted());
    for (name, log, args) in [
        ("statement.txt", &log, &[][..]),
        ("raw.txt", &log, &["--method", "raw"]),
        ("outer.txt", &log, &["--method", "b"]),
        ("table.csv", &log, &["--csv"]),
        ("statement.json", &log, &["--json"]),
        ("tdk.csv", &log, &["--tdk", "--method", "a"]),
        ("tdk-all.csv", &log, &["--tdk", "--all"]),
        ("never.txt", &log, &["--never"]),
        ("all.txt", &log, &["--all", "--sort", "place"]),
        ("total.txt", &log, &["--sort", "total", "--top", "3"]),
        ("file.txt", &log, &["--by", "file"]),
        ("function.txt", &log, &["--by", "function"]),
        ("function.csv", &log, &["--by", "function", "--csv"]),
        ("against.txt", &log, &["--against", &slow]),
        ("against.csv", &log, &["--against", &slow, "--csv"]),
        ("trace.txt", &traced, &[]),
        ("trace-leaves.txt", &traced, &["--method", "leaves"]),
        ("count.txt", &counted, &[]),
        ("count.csv", &counted, &["--tdk", "--all"]),
        ("count-function.txt", &counted, &["--by", "function"]),
    ] {
        let (found, notes) = lines(log, args);
        assert_eq!(notes, "", "{name}");
        assert_golden(&format!("lines/{name}"), &found);
    }
}

/// The slowest statement leads, and the comparison after it was mended.
#[test]
fn the_statement_that_changed_leads() {
    let directory = TempDir::new().unwrap();
    let slow = write(&directory, "slow.log", made::shop(3000));
    let mended = write(&directory, "shop.log", made::shop(100));
    let hash = "(0..item).fold(0, |sum, x| sum ^ x)";
    assert_eq!(rows(&slow, &[])[0]["text"], hash);
    let rows = rows(&mended, &["--against", &slow]);
    assert_eq!((&rows[0]["text"], &rows[0]["match"]), (&hash.into(), &"same".into()));
    assert_eq!(rows[0]["change_ns"], -8_700_000);
}

/// The percentiles of a trace that was overwritten tell what they cover.
#[test]
fn a_cut_trace_tells_what_it_covers() {
    let directory = TempDir::new().unwrap();
    let log = write(&directory, "cut.log", made::cut());
    let rows = rows(&log, &[]);
    let row = |text: &str| rows.iter().find(|row| row["text"] == text).unwrap();
    let price = row("price + 1");
    assert_eq!((&price["count"], &price["traced"]), (&3.into(), &1.into()));
    assert_eq!(price["p50_ns"], 30_000);
    assert_eq!(row("let mut total = 0;")["traced"], 0);
    let (found, notes) = lines(&log, &[]);
    assert!(String::from_utf8(found).unwrap().contains("  traced  "));
    let expected = "note: the trace is cut: the percentiles of some statements cover 1 of 4 timed \
                    executions\n";
    assert_eq!(notes, expected);
    // One without a cut has no such column.
    let whole = write(&directory, "traced.log", made::traced());
    assert!(!text(&whole, &[]).contains("traced"));
}

/// The change of two runs is one of counts if one of them has no times.
#[test]
fn counts_are_compared_with_times_by_counts() {
    let directory = TempDir::new().unwrap();
    let [timed, counted] = [("shop.log", made::shop(100)), ("old.log", made::counted())]
        .map(|(name, bytes)| write(&directory, name, bytes));
    for (new, old, change) in [(&timed, &counted, 3), (&counted, &timed, -3)] {
        let found = text(new, &["--against", old]);
        let heading = found.lines().find(|line| line.starts_with("place")).unwrap();
        assert!(heading.contains("count change"), "{heading}");
        let rows = rows(new, &["--against", old]);
        let hash = "(0..item).fold(0, |sum, x| sum ^ x)";
        let row = rows.iter().find(|row| row["text"] == hash).unwrap();
        assert_eq!(row["count_change"], change, "{row}");
        assert!(row.get("change").is_none(), "{row}");
    }
}

/// K2: avg is total / count exactly; K9: counts are the same under any method.
#[test]
fn no_method_changes_a_count() {
    let directory = TempDir::new().unwrap();
    let log = write(&directory, "traced.log", made::traced());
    let counts = |method: &str| -> Vec<(Value, Value)> {
        let mut rows = rows(&log, &["--all", "--sort", "place", "--method", method]);
        rows.iter_mut().map(|row| (row["place"].take(), row["count"].take())).collect()
    };
    for method in ["outer", "leaves", "calibrated", "b", "c", "d"] {
        assert_eq!(counts("raw"), counts(method));
    }
    let log = write(&directory, "shop.log", made::shop(101));
    let csv = text(&log, &["--tdk", "--method", "raw"]);
    let row = csv.lines().find(|row| row.contains(",16,1")).unwrap();
    assert_eq!(row, "3,src/shop.rs,16,101.000,111.000,121.000,333.000,297,35", "{csv}");
}

fn export(log: &str, directory: &TempDir, name: &str) -> (String, String) {
    let path = directory.path().join(name).to_str().unwrap().to_owned();
    let (_, code, errors) = run(&["export", log, "-o", &path]);
    assert_eq!((code, &*errors), (0, ""), "{name}");
    (path.clone(), fs::read_to_string(path).unwrap())
}

#[test]
fn statements_are_exported() {
    let directory = TempDir::new().unwrap();
    for (name, bytes) in
        [("shop", made::shop(100)), ("traced", made::traced()), ("counted", made::counted())]
    {
        let log = write(&directory, &format!("{name}.log"), bytes);
        for ending in ["lcov", "callgrind"] {
            let name = format!("{name}.{ending}");
            assert_golden(&format!("lines/{name}"), export(&log, &directory, &name).1.as_bytes());
        }
    }
}

/// callgrind_annotate reads the export, and shows the source lines with times and counts.
#[test]
fn callgrind_annotate_shows_the_lines() {
    let directory = TempDir::new().unwrap();
    let log = write(&directory, "shop.log", made::shop(100));
    let (path, _) = export(&log, &directory, "shop.callgrind");
    let mut annotate = Command::new("callgrind_annotate");
    annotate.args(["--auto=yes", "--show-percs=no", &format!("--include={}", source(&log)), &path]);
    let found = annotate.output().expect("this test needs valgrind: ./test --install");
    assert_eq!((found.status.success(), &*String::from_utf8_lossy(&found.stderr)), (true, ""));
    let found = String::from_utf8_lossy(&found.stdout).replace(',', "");
    let line =
        found.lines().find(|line| line.contains("let price = hash(item);")).unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    // Of its 33 ticks, 1.5 belong to the recorder's boundaries, and 3.75 to its blocks.
    assert_eq!([words.first(), words.get(1)], [Some(&"27750"), Some(&"3")], "{found}");
}

/// Source files that are gone, newer than the log, other, or not files.
#[test]
fn a_source_file_that_does_not_fit_is_told() {
    let directory = TempDir::new().unwrap();
    let log = write(&directory, "shop.log", made::shop(100));
    let folder = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let told = |name: &str| {
        let (found, code, errors) = run(&["lines", &log, "--source", &folder(name)]);
        assert_eq!(code, 0);
        (String::from_utf8(found).unwrap(), errors.replace(&format!("eventcnv: {log}: note: "), ""))
    };
    let (found, notes) = told("none");
    let gone = "name the program's folder by --source DIR\n";
    assert!(notes.starts_with("src/shop.rs: no such source file in ") && notes.ends_with(gone));
    assert!(found.contains("shop::hash") && !found.contains("text"), "{found}");
    // A log may name a file by an absolute path: the tool reads it if the user names its folder.
    let built = write(&directory, "built/shop.rs", TEXT);
    fs::File::open(&built).unwrap().set_modified(year_2020()).unwrap();
    let log_of_absolute = made::log(|made| {
        let place = made::place_in(TEXT, STATEMENTS[0].1).unwrap();
        made.state(at(0), "shop::main", built.as_bytes(), place);
        made.costs([0.5, 1.25, 0.25]);
        made.add(sum(0, &[2], 2));
    });
    let absolute = write(&directory, "absolute.log", log_of_absolute);
    let (_, _, notes) = run(&["lines", &absolute, "--source", &folder("none")]);
    let suggested = notes.trim_end().rsplit(", such as --source ").next().unwrap();
    assert_eq!(suggested, folder("built"), "{notes}");
    let (found, _, notes) = run(&["lines", &absolute, "--source", suggested]);
    assert!(String::from_utf8(found).unwrap().contains(STATEMENTS[0].1) && notes.is_empty());
    let old = write(&directory, "old/src/shop.rs", TEXT);
    fs::File::open(&old).unwrap().set_modified(year_2020()).unwrap();
    assert_eq!(told("old").1, "");
    write(&directory, "newer/src/shop.rs", TEXT);
    assert_eq!(told("newer").1, "src/shop.rs: the source file is newer than the log\n");
    // A line was inserted: statements before it are still where they were.
    write(&directory, "other/src/shop.rs", TEXT.replace("    if price", "    ();\n    if price"));
    let (found, notes) = told("other");
    assert!(notes.starts_with("src/shop.rs: the source file does not fit the log"), "{notes}");
    assert!(found.contains("let price = hash(item);") && !found.contains("(0..item)"), "{found}");
    write(&directory, "binary/src/shop.rs", [0xFF; 9000]);
    assert!(told("binary").1.contains("does not fit"));
    fs::create_dir_all(directory.path().join("folder/src/shop.rs")).unwrap();
    assert!(told("folder").1.contains("no such source file"));
}

/// The same text with ends of lines of Windows, where offsets count both bytes.
#[test]
fn texts_with_cr_lf_are_found() {
    let directory = TempDir::new().unwrap();
    let text = TEXT.replace('\n', "\r\n");
    let log = made::log(|made| {
        for (statement, (function, what)) in STATEMENTS.iter().enumerate() {
            let place = made::place_in(&text, &what.replace('\n', "\r\n")).unwrap();
            made.state(at(statement), function, b"src/shop.rs", place);
        }
        made::sums(made, 100);
    });
    let log = write(&directory, "shop.log", log);
    write(&directory, "src/shop.rs", &text);
    let folder = directory.path().to_str().unwrap();
    let (found, code, errors) = run(&["lines", &log, "--source", folder]);
    let found = String::from_utf8(found).unwrap();
    assert_eq!(code, 0);
    assert!(!errors.contains("fit"), "{errors}");
    assert!(found.contains("for item in 0..3 { …") && !found.contains('\r'), "{found}");
}

/// Sums that contradict each other, or are too large; costs that are missing or impossible; several
/// statements at one place; logs of two versions.
#[test]
fn contradictions_are_told() {
    let directory = TempDir::new().unwrap();
    let first = "src/shop.rs:2:5: the sums contradict each other: ";
    let large = usize::MAX - 3;
    for (costs, sums, expected) in [
        (None, vec![sum(0, &[3], 3)], ""),
        (
            Some([f64::NAN, 1.0, 1.0]),
            vec![sum(0, &[3], 3)],
            "impossible costs of the recorder: times",
        ),
        (Some([0.0; 3]), vec![StatementSum { timed: 2, ..sum(0, &[3], 3) }], "more executions"),
        (None, vec![StatementSum { longest: 2, ..sum(0, &[3], 3) }], "the shortest time exceeds"),
        (None, vec![StatementSum { own: 4, ..sum(0, &[3], 3) }], "the own time exceeds"),
        (None, vec![StatementSum { squaresLow: 8, ..sum(0, &[3], 3) }], "no times have"),
        (
            None,
            [1, 2].map(|table| StatementSum { table, count: large, ..sum(0, &[], 0) }).to_vec(),
            "a sum is too large",
        ),
        (None, vec![StatementSum { squaresHigh: 1 << 62, ..sum(0, &[1 << 63], 1 << 63) }], ""),
    ] {
        let log = made::log(|made| {
            made.state_all(TEXT);
            costs.into_iter().for_each(|costs| made.costs(costs));
            sums.into_iter().for_each(|sum| made.add(sum));
        });
        let log = write(&directory, "shop.log", log);
        for form in [&[][..], &["--json"], &["--csv"], &["--tdk"], &["--by", "file"], &["--all"]] {
            let method = ["--method", if costs.is_some() { "calibrated" } else { "raw" }];
            let (_, notes) = lines(&log, &[form, &method].concat());
            let is_first = expected.is_empty() || notes.contains("costs") || notes.contains(first);
            assert!(notes.contains(expected) && is_first, "{expected}: {notes}");
            assert_eq!(notes.lines().count(), usize::from(!expected.is_empty()), "{notes}");
        }
    }
    // Without costs, the correction that is asked for corrects nothing, and tells it.
    let log = made::log(|made| made.add(sum(0, &[3], 3)));
    let log = write(&directory, "shop.log", log);
    let (_, notes) = lines(&log, &["--method", "calibrated"]);
    assert_eq!(
        notes,
        "note: the log does not state the cost of the recorder: times there are raw\n"
    );
    let log = made::log(|made| {
        for address in [at(0), at(1), at(2)] {
            made.state(address, "f", b"src/shop.rs", [2, 5, 20, 18]);
            made.add(StatementSum { statement: P(address), ..sum(0, &[3], 3) });
        }
    });
    let log = write(&directory, "shop.log", log);
    let (found, notes) = lines(&log, &["--tdk"]);
    assert!(
        notes.contains(
            "places with several statements each, as macros make them, whose counts are \
         added up: 1\n"
        ),
        "{notes}"
    );
    assert!(!notes.contains("versions"), "{notes}");
    assert!(String::from_utf8(found).unwrap().contains("\n3,src/shop.rs,2,"));
}

/// Another version of the program has another statement at the line and column.
#[test]
fn statements_of_two_versions_are_told() {
    let directory = TempDir::new().unwrap();
    for other in [[2, 5, 20, 19], [2, 5, 21, 18]] {
        let log = made::log(|made| {
            for (address, place) in [(at(0), [2, 5, 20, 18]), (at(1), other)] {
                made.state(address, "f", b"src/shop.rs", place);
                made.add(StatementSum { statement: P(address), ..sum(0, &[3], 3) });
            }
        });
        let log = write(&directory, "shop.log", log);
        let (_, notes) = lines(&log, &["--tdk"]);
        let expected = "note: statements with one name and several places, as in different \
                        versions of a program: 1\n";
        assert!(notes.contains(expected), "{notes}");
    }
}

/// Names and files that steer a terminal, or mean something in a format.
#[test]
fn hostile_names_are_names() {
    let directory = TempDir::new().unwrap();
    let names =
        ["=1+1\u{1b}[2J", "a\nend_of_record\nSF:x", "a,b\"c", "", "\u{202e}rtl", "(7) fn=x"];
    let log = made::log(|made| {
        for (statement, name) in names.iter().enumerate() {
            let file = format!("{name}.rs");
            made.state(at(statement), name, file.as_bytes(), [1, 1, 0, 0]);
            made.add(sum(statement, &[1 + statement], 1 + statement));
        }
    });
    let log = write(&directory, "names.log", log);
    for args in
        [&[][..], &["--csv"], &["--tdk"], &["--json"], &["--by", "file"], &["--by", "function"]]
    {
        let (found, notes) = lines(&log, args);
        let found = String::from_utf8(found).unwrap();
        assert!(!(found + &notes).contains(['\u{1b}', '\u{202e}']), "{args:?}");
    }
    let (_, lcov) = export(&log, &directory, "names.lcov");
    assert_eq!(lcov.lines().filter(|line| *line == "end_of_record").count(), names.len(), "{lcov}");
    let (path, _) = export(&log, &directory, "names.callgrind");
    let found = Command::new("callgrind_annotate").arg(&path).output().unwrap();
    assert_eq!((found.status.success(), &*String::from_utf8_lossy(&found.stderr)), (true, ""));
}

/// K10: ticks above 2^63, and a clock whose rate is not known.
#[test]
fn ticks_above_2_63_are_printed() {
    let directory = TempDir::new().unwrap();
    let log = made::log_of(false, |made| {
        made.state_all(TEXT);
        made.add(sum(0, &[1 << 63], 1 << 63));
    });
    let log = write(&directory, "ticks.log", log);
    let found = text(&log, &[]);
    assert!(found.contains("9223372036854775808") && found.contains("ticks"), "{found}");
    let (_, code, errors) = run(&["lines", &log, "--tdk"]);
    assert!(code == 2 && errors.contains("state --clock-rate"), "{errors}");
    assert!(text(&log, &["--tdk", "--clock-rate", "1GHz"]).contains(",9223372036854775.808,"));
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let directory = TempDir::new().unwrap();
    let log = write(&directory, "shop.log", made::shop(100));
    for (args, what) in [
        (&["--against", &log, "--by", "file"][..], "--against needs --by statement"),
        (&["--from", "+1ms"], "sums count from the beginning"),
        (&["--first", "3"], "sums count from the beginning"),
        (&["--method", "leaves"], "--method leaves needs a trace"),
    ] {
        let (_, code, errors) = run(&[&["lines", &log], args].concat());
        assert!(code == 2 && errors.contains(what) && errors.lines().count() == 1, "{errors}");
    }
    let empty = write(&directory, "empty.log", made::log(|made| made.calls()));
    let (_, code, errors) = run(&["lines", &empty]);
    assert!(code == 2 && errors.contains("the log has no statements"), "{errors}");
    assert!(Path::new(&empty).exists());
}

/// A log that is cut off anywhere, or has wrong bytes, gives what it has.
#[test]
fn a_damaged_log_gives_what_it_has() {
    let directory = TempDir::new().unwrap();
    for bytes in [made::shop(100), made::traced()] {
        for size in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
            let mut wrong = bytes.clone();
            wrong[size] ^= 0x55;
            for bytes in [&bytes[..size], &wrong] {
                let log = write(&directory, "damaged.log", bytes);
                let (_, code, errors) = run(&["lines", &log, "--all", "--json"]);
                assert!(
                    (0..=2).contains(&code) && !errors.contains("panicked"),
                    "{size}: {errors}"
                );
            }
        }
    }
}
