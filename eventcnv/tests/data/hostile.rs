//! Hostile logs: names, numbers of parameters, and text for terminals and tables.
//!
//! ```text
//!  1 MB of names │ parameters │ text ──▶ every command ends soon, and its output steers nothing
//! ```

use crate::logs;
use crate::support::{eventcnv, run};
use crate::synthetic::naive::{BlockFields, Buffer, Platform, Value, Writer};
use crate::synthetic::recipe::Ring;
use std::fs;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The time limit of a command. Most commands take a second on an idle machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// An event type: its name, and the sorts and names of its parameters.
type Row = (String, Vec<(char, String)>);

/// Returns a log with these event types in its registry. It has an event without parameters for
/// each index in `codes`.
fn log(registry: &str, rows: &[Row], codes: impl Iterator<Item = usize>) -> Vec<u8> {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 14 };
    let mut writer = Writer::new(platform, *b"a hostile stream", [9; 16]);
    let mut bytes = vec![1, 0, 0, 0, 0, 0, 1, 0];
    let text = |bytes: &mut Vec<u8>, text: &str| {
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
    };
    bytes.extend((rows.len() as u32).to_le_bytes());
    bytes.extend([0xFF; 16]);
    text(&mut bytes, registry);
    text(&mut bytes, "");
    bytes.push(0);
    text(&mut bytes, "Pool");
    text(&mut bytes, "");
    for (code, (name, params)) in (1u16..).zip(rows) {
        bytes.extend(code.to_le_bytes());
        bytes.extend([0, 1]);
        bytes.extend((params.len() as u16).to_le_bytes());
        text(&mut bytes, name);
        text(&mut bytes, "");
        for (sort, name) in params {
            bytes.push(*sort as u8);
            text(&mut bytes, name);
            text(&mut bytes, "");
        }
    }
    writer.encoded_registry(1, &bytes, 15_000);
    let buffer = Buffer { buffer: 1, registry: 1, kind: 0, thread: 3 };
    let mut ring = Ring::new(&platform, buffer, 1000);
    for code in codes {
        if !ring.record(&platform, 1000, code as u16 + 1, &[]) {
            ring.write(&mut writer, true);
            ring.advance(&platform, 1000);
            assert!(ring.record(&platform, 1000, code as u16 + 1, &[]));
        }
    }
    ring.write(&mut writer, true);
    writer.end();
    writer.bytes()
}

/// Runs a command that must end soon, with exit code 0 or 1. Returns standard error.
fn end_soon(args: &[&str]) -> String {
    // A pipe without a reader could fill with faults.
    let mut errors = tempfile::tempfile().unwrap();
    let stderr = errors.try_clone().unwrap();
    let mut child = eventcnv(args).stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{args:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let code = child.wait().unwrap().code();
    let mut said = String::new();
    errors.rewind().unwrap();
    errors.read_to_string(&mut said).unwrap();
    assert!(code.is_some_and(|code| code < 2), "{args:?}: {code:?}: {said}");
    said
}

/// Runs every command that makes names or columns from declarations in a log.
fn every_table_ends_soon(directory: &Path, bytes: &[u8]) {
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let [log, database, sets, trace] = ["a.log", "a.db", "sets", "trace.ctf"].map(path);
    fs::write(&log, bytes).unwrap();
    end_soon(&["query", &log, "SELECT count(*) FROM types"]);
    end_soon(&["sql", &log, "-o", &database, "--force"]);
    end_soon(&["parquet", &log, "-o", &sets, "--force"]);
    end_soon(&["pairs", &log]);
    end_soon(&["export", &log, "-o", &trace, "--force"]);
    end_soon(&[&log, "--style", "csv", "--events", "1"]);
}

fn named(name: &str, count: usize) -> Vec<(char, String)> {
    (0..count).map(|_| ('U', name.to_owned())).collect()
}

/// `.cnv.sql.names`
#[test]
fn every_command_ends_soon_on_names_that_sqlite_reserves() {
    let directory = TempDir::new().unwrap();
    for (registry, name, param) in
        [("naive", "A", "sqlite_a"), ("sqlite_b", "sqlite_c", "d"), ("", "", ""), ("", "logs", "")]
    {
        let rows = [(name.to_owned(), named(param, 2)), (name.to_owned(), named("SQLITE_A", 1))];
        every_table_ends_soon(directory.path(), &log(registry, &rows, [0, 1, 0].into_iter()));
    }
}

/// `.cnv.sql.names`, `.cnv.parquet`, `.cnv.ctf`
#[test]
fn repeated_names_take_time_in_proportion_to_the_log() {
    let directory = TempDir::new().unwrap();
    let same = (named("p", 40_000), "P".to_owned());
    let rows = vec![(same.1, same.0)];
    every_table_ends_soon(directory.path(), &log("naive", &rows, 0..1));
    // All event types have one name and different parameters.
    let rows: Vec<Row> = (0..400).map(|n| ("A".to_owned(), named(&format!("p{n}"), 1))).collect();
    every_table_ends_soon(directory.path(), &log("naive", &rows, 0..1));
    // The name of the registry is part of each name.
    let long = "r".repeat(60_000);
    let rows: Vec<Row> = (0..400).map(|n| (format!("T{}", n / 2), Vec::new())).collect();
    every_table_ends_soon(directory.path(), &log(&long, &rows, 0..1));
}

/// `.cnv.styles`, `.cnv.sql.names`, `.cnv.parquet`, `.cnv.ctf`
#[test]
fn events_of_many_parameters_take_time_in_proportion_to_the_log() {
    let directory = TempDir::new().unwrap();
    let params = (0..40_000).map(|n| ('W', format!("p{n}"))).collect();
    let rows = [("Wide".to_owned(), params)];
    let bytes = log("naive", &rows, (0..4000).map(|_| 0));
    let path = directory.path().join("a.log");
    fs::write(&path, &bytes).unwrap();
    let name = path.to_str().unwrap();
    let within = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for args in [
        ["sql", name, "-o", &within("a.db")],
        ["parquet", name, "-o", &within("sets")],
        ["export", name, "-o", &within("trace.ctf")],
    ] {
        end_soon(&args);
    }
    // A table of this width would be much larger than the log.
    let (_, code, errors) = run(&[name, "--style", "csv"]);
    assert_eq!(code, 2);
    assert!(errors.contains("40000") && errors.contains("--events"), "{errors}");
}

/// `.cnv.sql.names`: a note reports parameters without a column.
#[test]
fn parameters_that_have_no_column_are_reported() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.log");
    let params = (0..905).map(|n| ('U', format!("p{n}"))).collect();
    let rows = [("Wide".to_owned(), params), ("Narrow".to_owned(), named("p", 1))];
    fs::write(&path, log("naive", &rows, 0..2)).unwrap();
    let name = path.to_str().unwrap();
    let within = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for args in [
        &["sql", name, "-o", &within("a.db")][..],
        &["parquet", name, "-o", &within("sets")],
        &["query", name, "SELECT * FROM Wide"],
    ] {
        let errors = end_soon(args);
        assert!(errors.contains("Wide") && errors.contains("905"), "{args:?}: {errors}");
        assert!(!errors.contains("Narrow"), "{errors}");
    }
    let errors = end_soon(&["query", name, "SELECT * FROM Narrow"]);
    assert!(!errors.contains("note: "), "{errors}");
}

/// Text that moves a cursor, clears a screen, ends a line, or turns text round.
const STEERING: &str = "a\u{9b}2Jb\u{202e}c\u{2066}d\u{61c}e\u{200f}f\u{1b}[2Jg\u{85}h\u{2028}i";

/// A pair whose begin has a label, and whose end has a text.
const PAIR: [&str; 2] = ["--pair", "PoolInit=Poll\"; DROP TABLE logs; --"];

/// Returns a log whose strings, labels and threads have this text.
fn told(text: &[u8]) -> Vec<u8> {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let mut writer = Writer::new(platform, *b"a log with texts", [9; 16]);
    writer.registry(0, &["User"], logs::STORE, 4000);
    writer.registry(1, &["Pool"], logs::TYPES, 4000);
    let text = || Value::S(text.to_vec());
    let pool = [Value::P(0x7000), Value::P(0), Value::P(0)];
    let odd = [Value::W(1), Value::W(1), Value::D(0), text()];
    let store: [(u16, &[Value]); 3] = [
        (2, &[Value::W(7), text()]),
        (3, &[Value::A(0x7000), Value::W(7)]),
        (4, &[Value::W(3), Value::W(5), text()]),
    ];
    for (registry, events) in [(0, &store[..]), (1, &[(1, &pool[..]), (4, &odd[..])][..])] {
        let buffer = Buffer { buffer: registry + 1, registry: registry as u16, kind: 0, thread: 3 };
        let mut ring = Ring::new(&platform, buffer, 1000);
        for (code, values) in events {
            let ticks = 1100 + u64::from(registry);
            assert!(ring.record(&platform, ticks, *code, values));
        }
        ring.fields = BlockFields { sync_ticks: 2000, ..ring.fields };
        ring.write(&mut writer, true);
    }
    writer.end();
    writer.bytes()
}

/// `.dumper.quoted`, `.cnv.styles`, `.cnv.query`
#[test]
fn no_text_of_a_log_steers_a_terminal() {
    let directory = TempDir::new().unwrap();
    // The name of the file is hostile too.
    let [path, other, out] =
        ["told", "other", "out"].map(|name| directory.path().join(format!("{name}{STEERING}.log")));
    fs::write(&path, told(&[STEERING.as_bytes(), b"\x9b2J\x85"].concat())).unwrap();
    fs::write(&other, told(&[b"other", STEERING.as_bytes()].concat())).unwrap();
    let [log, other, out] = [&path, &other, &out].map(|path| path.to_str().unwrap());
    let table = "SELECT number_ FROM \"Poll\"\"; DROP TABLE logs; --\"";
    let labels = "SELECT string FROM labels UNION SELECT name FROM threads";
    for args in [
        &[log][..],
        &[log, "-v"],
        &[log, "-vv"],
        &[log, "-vvv"],
        &[log, "--style", "text"],
        &[log, "--style", "json"],
        &[log, "--style", "csv"],
        &[log, "--style", "lisp"],
        &["stats", log],
        &["stats", log, "--json"],
        &["stats", log, "--params"],
        &["stats", log, "--params", "--json"],
        &["diff", log, other],
        &["diff", log, other, "--json"],
        &[&["pairs", log][..], &PAIR].concat(),
        &[&["pairs", log, "--csv", "--by", "pool"][..], &PAIR].concat(),
        &[&["pairs", log, "--json", "--slowest", "2", "--by", "number"][..], &PAIR].concat(),
        &[&["pairs", log, "--histogram", "--slowest", "2", "--by", "thread"][..], &PAIR].concat(),
        &[&["pairs", log, "--against", other, "--by", "number"][..], &PAIR].concat(),
        &["verify", log],
        &["verify", log, "--json"],
        &["index", log],
        &["index", log, "--json"],
        &["cut", log, "-o", out],
        &["merge", log, other, "-o", out, "--force"],
        &["check", log, other],
        &["check", log, other, "--json"],
        &["registry", log, "--json"],
        &["query", log, table],
        &["query", log, table, "--csv"],
        &["query", log, table, "--json"],
        &["query", log, labels],
        &["query", log, labels, "--csv"],
        &["export", log, "-o", "-", "--format", "chrome"],
        &["export", log, "-o", "-", "--format", "folded"],
    ] {
        let (text, code, errors) = run(args);
        assert!(code < 2, "{args:?}: {errors}");
        let lossy = String::from_utf8(text.clone());
        let text = lossy.unwrap_or_else(|_| panic!("{args:?}: {}", text.escape_ascii()));
        let found: Vec<char> =
            text.chars().filter(|&c| c != '\n' && logs::is_steering(c)).collect();
        assert_eq!(found, [], "{args:?}: {text:?}");
    }
    // A message repeats the argument.
    let (_, _, errors) = run(&[&format!("none{STEERING}.log")]);
    let is_clean = !errors.trim_end().contains(logs::is_steering);
    assert!(errors.contains("none") && is_clean, "{errors:?}");
}

/// `.cnv.styles`
#[test]
fn json_keeps_the_text_that_other_styles_replace() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("told.log");
    fs::write(&path, told(STEERING.as_bytes())).unwrap();
    let log = path.to_str().unwrap();
    let (text, ..) = run(&[log, "--style", "json"]);
    let lines = String::from_utf8(text).unwrap();
    let events = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let strings: Vec<String> = events
        .filter_map(|event| event["params"].get("number")?.as_str().map(str::to_owned))
        .collect();
    assert_eq!(strings, [STEERING]);
}

/// `.cnv.styles`, `.cnv.query`
#[test]
fn no_cell_of_a_table_is_a_formula() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("told.log");
    let log = path.to_str().unwrap();
    let table = "SELECT number_ FROM \"Poll\"\"; DROP TABLE logs; --\"";
    for (text, expected) in [
        ("=1+1", "'=1+1"),
        ("@SUM(1)", "'@SUM(1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3,4", "\"'-2+3,4\""),
        ("\t=1", "'\t=1"),
        ("-5", "-5"),
        ("+1.5e3", "+1.5e3"),
        ("a=b", "a=b"),
        ("two\nlines", "\"two\nlines\""),
    ] {
        fs::write(&path, told(text.as_bytes())).unwrap();
        let (found, ..) = run(&["query", log, table, "--csv"]);
        assert_eq!(String::from_utf8(found).unwrap(), format!("number_\n{expected}\n"));
        let (found, ..) = run(&[&["pairs", log, "--csv", "--by", "number"][..], &PAIR].concat());
        let found = String::from_utf8(found).unwrap();
        let is_line = !text.contains(['\n', '\t']);
        assert!(!is_line || found.contains(&format!("PoolInit,{expected},1,")), "{found}");
        let (found, ..) = run(&[log, "--style", "csv", "--kinds", "Pool", "--last", "1"]);
        let found = String::from_utf8(found).unwrap();
        assert!(found.ends_with(&format!(",{expected}\n")), "{found:?}, not {expected:?}");
    }
    // Numbers stay numbers.
    let (found, ..) = run(&["query", log, "SELECT -5, -0.5, '-7'", "--csv"]);
    assert!(String::from_utf8(found).unwrap().ends_with("\n-5,-0.5,-7\n"));
}
