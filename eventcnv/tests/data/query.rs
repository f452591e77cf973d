//! A question to a log, without a database. `.cnv.query`

use crate::logs;
use crate::support::{mps, run};
use std::fs;
use tempfile::TempDir;

/// What is printed for a query on a log, without a fault.
fn ask(log: &str, sql: &str, options: &[&str]) -> String {
    let (text, code, errors) = run(&[&["query", log, sql], options].concat());
    assert_eq!((code, &*errors), (0, ""), "{sql}");
    String::from_utf8(text).unwrap()
}

#[test]
fn a_query_is_answered_in_columns_in_csv_and_in_json() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("pools.log");
    fs::write(&path, logs::pools(9)).unwrap();
    let log = path.to_str().unwrap();
    let sql = "SELECT pool_label AS name, time FROM EVENT_PoolInit ORDER BY time";
    assert_eq!(ask(log, sql, &[]), "name     time\nsymbols  1200\nold      1700\n");
    assert_eq!(ask(log, sql, &["--csv"]), "name,time\nsymbols,1200\nold,1700\n");
    let json = "{\"name\":\"symbols\",\"time\":1200}\n{\"name\":\"old\",\"time\":1700}\n";
    assert_eq!(ask(log, sql, &["--json"]), json);
    let first = ["--csv", "--events", "PoolInit", "--first", "1"];
    assert_eq!(ask(log, sql, &first), "name,time\nsymbols,1200\n");
    let odd = "SELECT number_, \"a\"\" b\" AS d FROM \"Poll\"\"; DROP TABLE logs; --\"";
    assert_eq!(ask(log, odd, &["--csv"]), "number_,d\n\"it's \"\"so\"\"\",0.5\nFF00,\n");
    let json = "{\"number_\":\"it's \\\"so\\\"\",\"d\":0.5}\n{\"number_\":\"FF00\",\"d\":null}\n";
    assert_eq!(ask(log, odd, &["--json"]), json);
    assert_eq!(ask(log, odd, &[]), "number_       d\nit's \"so\"   0.5\nFF00       NULL\n");
}

#[test]
fn what_a_query_reads_is_there_and_nothing_else_is_needed() {
    let log = mps("labels.log");
    let count = |table: &str| ask(&log, &format!("SELECT count(*) FROM {table}"), &["--csv"]);
    assert_eq!(count("PoolInit"), "count(*)\n4\n");
    assert_eq!(count("EVENT_poolinit"), "count(*)\n4\n");
    assert_eq!(count("PoolInit, Intern"), format!("count(*)\n{}\n", 4 * 33));
    assert_ne!(count("buffers"), "count(*)\n0\n");
    assert_ne!(count("labels"), "count(*)\n0\n");
    assert_eq!(count("types"), "count(*)\n92\n");
    assert_eq!(count("(VALUES (1), (2))"), "count(*)\n2\n");
    // More rows than the width of columns is decided by.
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        SELECT i FROM n";
    assert_eq!(ask(&log, many, &[]).lines().count(), 3001);
}

#[test]
fn a_query_that_is_wrong_says_where_and_what_was_meant() {
    let log = mps("labels.log");
    for (sql, expected) in [
        ("SELECT * FROM PoolInti", vec!["no such table: PoolInti", "is it PoolInit?"]),
        (
            "SELECT poool FROM PoolInit",
            vec![
                "no such column: poool",
                "\n  SELECT poool FROM PoolInit\n         ^",
                "is it pool?",
            ],
        ),
        (
            "SELECT\n  * FORM PoolInit",
            vec!["near \"FORM\": syntax error", "\n    * FORM PoolInit\n      ^"],
        ),
        ("DELETE FROM PoolInit", vec!["that is no question"]),
        ("SELECT 1; SELECT 2", vec!["one query at a time"]),
        ("SELECT abs(-9223372036854775808)", vec!["integer overflow"]),
        (" ", vec!["the query is empty: eventcnv query LOG"]),
    ] {
        let (_, code, errors) = run(&["query", &log, sql]);
        assert_eq!(code, 2, "{errors}");
        for expected in expected {
            assert!(errors.contains(expected), "{sql}: {errors}");
        }
    }
    // What is taken for a query is not one.
    let (_, code, errors) = run(&["query", &log]);
    assert!(code == 2 && errors.contains("labels.log is a file: after it comes"), "{errors}");
}

#[test]
fn a_damaged_log_is_asked_as_far_as_it_goes() {
    let directory = TempDir::new().unwrap();
    let log = directory.path().join("cut.log");
    let bytes = fs::read(mps("labels.log")).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 10]).unwrap();
    let sql = "SELECT count(*) FROM PoolInit";
    let (text, code, errors) = run(&["query", log.to_str().unwrap(), sql, "--csv"]);
    assert_eq!((code, &*text), (1, &b"count(*)\n4\n"[..]), "{errors}");
    assert!(errors.contains("offset"), "{errors}");
}

/// A pool is named after it was created: its name is joined from what was said later.
#[test]
fn the_query_of_the_readme_gives_pool_names_and_creation_times() {
    let log = crate::support::golden_path("log/heap.log");
    let query = "SELECT string, P.time FROM PoolInit P, Label L, Intern I
                  WHERE address = pool AND L.stringId = I.stringId";
    let readme = include_str!("../../../README.md");
    assert!(readme.contains(query), "the README has it");
    let (found, code, _) = crate::support::run(&["query", log.to_str().unwrap(), query, "--csv"]);
    let found = String::from_utf8(found).unwrap();
    let names: Vec<&str> =
        found.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!((code, names), (0, vec!["letters", "counts"]));
}
