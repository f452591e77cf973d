//! The ring of a client: rates against its own counts; hard names and values in each form.
//!
//! ```text
//!  client 9000 ─┬─ ring:ring.log?size=90000 ──▶ eventcnv: events a second, columns, names
//!               └─ counted.txt: how many steps it made, and when ──▶ the truth
//! ```
//!
//! `tests/src/bin/client.rs` recorded both. Rules: `.cnv.history`, `.cnv.styles`, `.cnv.json`,
//! `.cnv.where`, `.cnv.marks`, `.cnv.sql`, `.cnv.parquet` in `design/eventcnv.md`.

#[allow(dead_code, reason = "not every test file uses all of it")]
mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use support::{golden_path, run};
use tempfile::TempDir;

fn ring() -> String {
    golden_path("client/ring.log").to_str().unwrap().to_owned()
}

fn out(args: &[&str]) -> String {
    let (text, code, errors) = run(args);
    assert!(code < 2, "{args:?}: {errors}");
    String::from_utf8(text).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&out(args)).unwrap()
}

/// Returns the row with a name.
fn row<'j>(json: &'j Value, list: &str, key: &str, name: &str) -> &'j Value {
    let rows = json[list].as_array().unwrap();
    rows.iter().find(|row| row[key] == name).unwrap_or_else(|| panic!("{name}: {json:#}"))
}

/// `.cnv.styles`
#[test]
fn csv_columns_have_names_of_their_own() {
    let text = out(&["--style", "csv", &ring()]);
    let heading: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let distinct: BTreeSet<String> = heading.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(distinct.len(), heading.len(), "{heading:?}");
    let connect = text.lines().find(|line| line.contains(",Connect,")).unwrap();
    let cells: Vec<&str> = connect.split(',').collect();
    let cell = |name| cells[heading.iter().position(|found| *found == name).unwrap()];
    assert_eq!([cell("kind"), cell("thread")], ["User", "1"]);
    let own = ["kind_", "process", "Host", "thread_", "Thread__2", "host_"].map(cell);
    assert_eq!(own, ["1", "4711", "9", "10", "11", "db1.example.org"]);
}

/// `.cnv.json`
#[test]
fn json_has_infinite_numbers_as_strings() {
    let reals = ["0.5", "\"-Infinity\"", "\"Infinity\"", "\"NaN\"", "-0.0"];
    let dump = out(&["--style", "json", "--events", "Limit", &ring()]);
    for (line, real) in dump.lines().zip(reals) {
        assert!(line.ends_with(&format!("\"real\":{real}}}}}")), "{line}");
    }
    let stats = json(&["stats", "--params", "--json", "--events", "Limit", &ring()]);
    let params = &stats["eventTypes"][0]["parameters"];
    let real = row(&stats["eventTypes"][0], "parameters", "name", "real");
    assert_eq!([&real["min"], &real["max"]], ["-Infinity", "Infinity"], "{params:#}");
    let chrome = out(&["export", "--format", "chrome", "-o", "-", "--events", "Limit", &ring()]);
    for real in ["-Infinity", "Infinity", "NaN"] {
        assert!(chrome.contains(&format!("\"real\":\"{real}\"")), "{chrome}");
    }
}

/// `.cnv.where`
#[test]
fn a_comparison_of_a_string_with_a_number_is_refused() {
    for (condition, expected) in [
        (
            "path > 3",
            "cannot compare path (a string) with 3 (a number); a string has quotes: \"3\"",
        ),
        ("n == 1 or not RequestBegin.path == 2.5", "cannot compare RequestBegin.path (a string)"),
        ("filename == \"x\"", "cannot compare filename (a number) with \"x\" (a string)"),
        ("word ~ 3", "~ finds text in a string"),
        ("@kind < 3", "cannot compare @kind (a string) with 3 (a number)"),
    ] {
        let (text, code, errors) = run(&["--where", condition, &ring()]);
        assert!(code == 2 && text.is_empty() && errors.contains(expected), "{condition}: {errors}");
    }
    // Where any event type can be compared, the others are left out.
    for condition in ["path > \"/c\"", "word > 3", "host ~ \"db1\"", "kind == 1"] {
        assert!(!out(&["--where", condition, &ring()]).is_empty(), "{condition}");
    }
}

/// `.cnv.sql`
#[cfg(feature = "sql")]
#[test]
fn a_note_counts_words_that_sql_lacks() {
    let sql = "SELECT printf('%u', word), word FROM \"Limit\" ORDER BY event";
    let (text, code, errors) = run(&["query", "--csv", &ring(), sql]);
    let text = String::from_utf8(text).unwrap();
    let words: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(code, 0, "{errors}");
    assert_eq!(words[3], "9223372036854775808,-9223372036854775808");
    assert_eq!(words[4], "18446744073709551615,-1");
    assert!(errors.contains("note: 2 words of 2^63 or more are negative in SQLite"), "{errors}");
    let (_, _, errors) = run(&["query", &ring(), "SELECT count(*) FROM Step"]);
    assert!(!errors.contains("negative"), "{errors}");
    let (text, ..) = run(&["query", "--json", &ring(), "SELECT real FROM \"Limit\""]);
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("{\"real\":\"-Infinity\"}"), "{text}");
}

/// `.cnv.parquet`: the parameter is not the partition.
#[cfg(feature = "parquet")]
#[test]
fn no_parameter_has_the_name_of_a_readers_column() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    let directory = TempDir::new().unwrap();
    let data = directory.path().join("data");
    out(&["parquet", &ring(), "-o", data.to_str().unwrap()]);
    let host = fs::read_dir(data.join("Connect")).unwrap().next().unwrap().unwrap().path();
    let process = fs::read_dir(&host).unwrap().next().unwrap().unwrap().path();
    let file = fs::File::open(process.join("kind=User/part-0.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    let found: Vec<(String, String)> = row
        .get_column_iter()
        .skip(8)
        .map(|(name, field)| (name.clone(), field.to_string()))
        .collect();
    let expected = [
        ("kind_", "1"),
        ("process_", "4711"),
        ("filename_", "7"),
        ("__filename_", "8"),
        ("Host_", "9"),
        ("thread_", "10"),
        ("Thread__2", "11"),
        ("host__2", "\"db1.example.org\""),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(found[..8], expected, "{found:?}");
    let is_zstd = |at| reader.metadata().row_group(0).column(at).compression();
    assert!(format!("{:?}", is_zstd(0)).starts_with("ZSTD"));
}
