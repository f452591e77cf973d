//! Queries of a log without a database. `.cnv.query`

use crate::logs;
use crate::sql::unnoted;
use crate::support::{mps, run};
use eventlog::writer::{Maker, Origin};
use std::fs;
use tempfile::TempDir;

mod net {
    eventdef::events! {
        /// Half of two registries with the same names.
        registry "net" version(1, 0, 0);
        kinds standard;
        /// The load of the network changes. [counter load += by]
        Load(1, always, User) {
            /// by so much
            by: D,
        }
    }
}

mod disk {
    eventdef::events! {
        /// The other half.
        registry "disk" version(1, 0, 0);
        kinds standard;
        /// The load of the disk changes. [counter load += more]
        Load(1, always, User) {
            /// by so much
            more: U,
        }
    }
}

/// Returns the output of a query, which must have no error.
fn ask(log: &str, sql: &str, options: &[&str]) -> String {
    let (text, code, errors) = run(&[&["query", log, sql], options].concat());
    assert_eq!((code, unnoted(&errors)), (0, ""), "{sql}");
    String::from_utf8(text).unwrap()
}

#[test]
fn a_query_prints_columns_csv_or_json() {
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
fn a_query_finds_every_table_that_it_reads() {
    let log = mps("labels.log");
    let count = |table: &str| ask(&log, &format!("SELECT count(*) FROM {table}"), &["--csv"]);
    assert_eq!(count("PoolInit"), "count(*)\n4\n");
    assert_eq!(count("EVENT_poolinit"), "count(*)\n4\n");
    assert_eq!(count("PoolInit, Intern"), format!("count(*)\n{}\n", 4 * 33));
    assert_ne!(count("buffers"), "count(*)\n0\n");
    assert_ne!(count("labels"), "count(*)\n0\n");
    assert_eq!(count("types"), "count(*)\n92\n");
    assert_eq!(count("(VALUES (1), (2))"), "count(*)\n2\n");
    assert_eq!(count("slices WHERE end IS NULL"), "count(*)\n2\n");
    assert_eq!(count("slices JOIN PoolInit ON event = begin_event"), "count(*)\n4\n");
    // More rows than the tool reads to choose the widths of columns.
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        SELECT i FROM n";
    assert_eq!(ask(&log, many, &[]).lines().count(), 3001);
}

/// `.cnv.sql.counters`, `.cnv.query`: names that two registries have.
#[test]
fn namesakes_of_two_registries_are_told_apart() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("made.log");
    let mut file = fs::File::create(&path).unwrap();
    let mut maker = Maker::new(&mut file);
    maker.begin(&Origin::new()).unwrap();
    for ticks in 0..3 {
        maker.add(1, 1, ticks, &net::Load { by: 0.5 }).unwrap();
        maker.add(2, 1, ticks, &disk::Load { more: 2 }).unwrap();
    }
    maker.finish().unwrap();
    let log = path.to_str().unwrap();
    let sql = "SELECT registry, name, max(value) FROM counters GROUP BY 1, 2";
    let rows = "registry,name,max(value)\ndisk,load of disk,6\nnet,load of net,1.5\n";
    assert_eq!(ask(log, sql, &["--csv"]), rows);
    let errors = |sql: &str| {
        let (_, code, errors) = run(&["query", log, sql, "--csv"]);
        assert_eq!(code, 0, "{errors}");
        errors
    };
    for (table, other) in [("Load", "disk_Load"), ("disk_Load", "Load")] {
        let errors = errors(&format!("SELECT count(*) FROM {table}"));
        let expected = format!(" they are in {other}\n");
        assert!(errors.contains(&format!("note: {table} lacks ")), "{errors}");
        assert!(errors.ends_with(&expected), "{errors}");
    }
    let both = "SELECT (SELECT count(*) FROM Load) + (SELECT count(*) FROM disk_Load)";
    assert_eq!(errors(both), "");
}

/// `.cnv.sql.slices`: the quantiles of the table are the percentiles of the command.
#[test]
fn slices_have_the_durations_of_pairs() {
    let log = mps("amcss-arena-pool-trace.log");
    let (json, ..) = run(&["pairs", &log, "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let sql = "SELECT name, count(duration), sum(duration), quantile(duration, 0.5),
               quantile(duration, 0.9), quantile(duration, 0.99), max(duration)
               FROM slices GROUP BY 1 ORDER BY 3 DESC";
    let (csv, ..) = run(&["query", &log, sql, "--csv"]);
    let csv = String::from_utf8(csv).unwrap();
    let mut expected = String::new();
    for group in found["rows"].as_array().unwrap().iter().filter(|group| group["count"] != 0) {
        let values = ["count", "total_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"]
            .map(|name| group[name].to_string());
        expected += &format!("{},{}\n", group["slice"].as_str().unwrap(), values.join(","));
    }
    let lines: String = csv.lines().skip(1).map(|line| format!("{line}\n")).collect();
    assert_eq!(lines.replace("VM,0,,,,,\n", ""), expected);
}

#[test]
fn an_error_in_a_query_has_its_place_and_a_suggestion() {
    let log = mps("labels.log");
    for (sql, expected) in [
        ("SELECT * FROM PoolInti", vec!["no such table: PoolInti", "did you mean PoolInit?"]),
        (
            "SELECT poool FROM PoolInit",
            vec![
                "no such column: poool",
                "\n  SELECT poool FROM PoolInit\n         ^",
                "did you mean pool?",
            ],
        ),
        // Other tables have a column of this name.
        ("SELECT name FROM calls", vec!["no such column: name\n", "\n  columns: event, log, "]),
        ("SELECT c.functon FROM calls AS c", vec!["did you mean function"]),
        (
            "SELECT\n  * FORM PoolInit",
            vec!["near \"FORM\": syntax error", "\n    * FORM PoolInit\n      ^"],
        ),
        ("DELETE FROM PoolInit", vec!["only read-only queries"]),
        ("SELECT 1; SELECT 2", vec!["one query at a time"]),
        ("SELECT abs(-9223372036854775808)", vec!["integer overflow"]),
        (" ", vec!["the query is empty; usage: eventcnv query LOG"]),
    ] {
        let (_, code, errors) = run(&["query", &log, sql]);
        assert_eq!(code, 2, "{errors}");
        for expected in expected {
            assert!(errors.contains(expected), "{sql}: {errors}");
        }
    }
    // Here the log stands in the place of the query.
    let (_, code, errors) = run(&["query", &log]);
    assert!(code == 2 && errors.contains("labels.log is a file; add the query"), "{errors}");
}

#[test]
fn a_query_reads_the_readable_events_of_a_damaged_log() {
    let directory = TempDir::new().unwrap();
    let log = directory.path().join("cut.log");
    let bytes = fs::read(mps("labels.log")).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 10]).unwrap();
    let sql = "SELECT count(*) FROM PoolInit";
    let (text, code, errors) = run(&["query", log.to_str().unwrap(), sql, "--csv"]);
    assert_eq!((code, &*text), (1, &b"count(*)\n4\n"[..]), "{errors}");
    assert!(errors.contains("offset"), "{errors}");
}

#[test]
fn a_query_has_mathematics_quantiles_and_regular_expressions() {
    let log = mps("labels.log");
    for (sql, expected) in [
        ("log2(1024), sqrt(2.25), ceil(1.2), floor(-1.2), trunc(-1.7)", "10.0,1.5,2.0,-2.0,-1.0"),
        ("ceil(3), ln(exp(2)), log10(1000), log(100), log(2, 8)", "3,2.0,3.0,2.0,3.0"),
        ("pow(2, 10), power(2, 0.5) > 1.41, mod(7, 4)", "1024.0,1,3.0"),
        ("sqrt(-1), log2(0), log2('many'), sqrt(NULL)", ",,,"),
        ("'PoolInit' REGEXP '^Pool.*t$', 'PoolInit' REGEXP 'finish', NULL REGEXP 'a'", "1,0,"),
        ("regexp('(?i)POOL', 'a pool'), regexp('^\\d+$', 42), x'FF41' REGEXP 'A$'", "1,1,1"),
    ] {
        let text = ask(&log, &format!("SELECT {sql}, 0"), &["--csv"]);
        let found = text.lines().nth(1).unwrap();
        assert_eq!(found, format!("{expected},0"), "{sql}");
    }
    let of = |what: &str| {
        let from = "FROM (SELECT value AS v FROM json_each('[4, 1, 3, 2, null]'))";
        let text = ask(&log, &format!("SELECT {what} {from}"), &["--csv"]);
        text.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(
        of("median(v), percentile(v, 50), percentile(v, 0), percentile(v, 100)"),
        "2.5,2.5,1.0,4.0"
    );
    assert_eq!(
        of("quantile(v, 0.5), quantile(v, 0), quantile(v, 1), quantile(v, 0.51)"),
        "2,1,4,3"
    );
    assert_eq!(ask(&log, "SELECT median(1) AS m WHERE 0", &["--csv"]), "m\n\n");
    for (sql, expected) in [
        ("SELECT 'a' REGEXP '('", "regexp: "),
        ("SELECT quantile(1, 1.5)", "between 0 and 1"),
        ("SELECT percentile(1, 101)", "between 0 and 100"),
        ("SELECT median(v, 1, 2) FROM (SELECT 1 AS v)", "wrong number of arguments"),
    ] {
        let (_, code, errors) = run(&["query", &log, sql]);
        assert!(code == 2 && errors.contains(expected), "{sql}: {errors}");
    }
}

/// `.cnv.query`
#[test]
fn a_query_makes_no_file_and_changes_none() {
    let directory = TempDir::new().unwrap();
    let log = mps("labels.log");
    let path = directory.path().join("made.db");
    let name = path.display();
    for sql in [
        format!("ATTACH '{name}' AS x"),
        format!("VACUUM INTO '{name}'"),
        "DETACH main".to_owned(),
        "BEGIN".to_owned(),
        "PRAGMA writable_schema = ON".to_owned(),
        format!("PRAGMA temp_store_directory = '{name}'"),
        "PRAGMA user_version = 7".to_owned(),
        format!("SELECT load_extension('{name}')"),
    ] {
        let (text, code, errors) = run(&["query", &log, &sql]);
        assert_eq!((code, &*text), (2, &b""[..]), "{sql}: {errors}");
        assert!(!path.exists(), "{sql}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    // A query may ask about tables.
    assert!(ask(&log, "PRAGMA table_info(PoolInit)", &["--csv"]).contains(",pool,INTEGER,"));
    let sql = "SELECT name FROM pragma_table_info('PoolInit') WHERE cid = 5";
    assert_eq!(ask(&log, sql, &["--csv"]), "name\npool\n");
    assert!(ask(&log, "EXPLAIN QUERY PLAN SELECT * FROM PoolInit", &[]).contains("SCAN"));
}

/// A pool gets its name after its creation: the query joins the later event.
#[test]
fn the_documented_query_gives_pool_names_and_creation_times() {
    let log = crate::support::golden_path("log/heap.log");
    let query = "SELECT string, P.time FROM PoolInit P, Label L, Intern I
                  WHERE address = pool AND L.stringId = I.stringId";
    let page = include_str!("../commands.md");
    assert!(page.contains(query), "docs/commands.md shows this query");
    let (found, code, _) = crate::support::run(&["query", log.to_str().unwrap(), query, "--csv"]);
    let found = String::from_utf8(found).unwrap();
    let names: Vec<&str> =
        found.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!((code, names), (0, vec!["letters", "counts"]));
}
