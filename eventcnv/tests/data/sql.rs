//! Logs in an SQLite database. `.cnv.sql`, `.cnv.sql.again`, `.cnv.sql.labels`, `.cnv.sql.names`

use crate::logs;
use crate::made::{Step, made};
use crate::support::{eventcnv, mps, run, told};
use rusqlite::Connection;
use rusqlite::types::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Adds a log, which must succeed. Returns the output of the tool.
fn add(log: &Path, database: &Path) -> String {
    let [log, database] = [log, database].map(|path| path.to_str().unwrap());
    let (text, code, errors) = run(&["sql", log, "-o", database]);
    assert_eq!((code, unnoted(&errors)), (0, ""));
    String::from_utf8(text).unwrap()
}

/// Returns messages except the note of great words, which some logs have.
pub(crate) fn unnoted(errors: &str) -> &str {
    if errors.contains("note: 2 words of 2^63 or more") && errors.lines().count() == 1 {
        return "";
    }
    errors
}

/// Returns all rows of a query, each value as text.
fn rows(database: &Path, sql: &str) -> Vec<String> {
    let connection = Connection::open(database).unwrap();
    let mut query = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let count = query.column_count();
    let mut rows = query.query([]).unwrap();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let text = |index| match row.get::<_, Value>(index).unwrap() {
            Value::Null => "NULL".to_owned(),
            Value::Integer(value) => value.to_string(),
            Value::Real(value) => value.to_string(),
            Value::Text(value) => value,
            Value::Blob(value) => format!("{value:?}"),
        };
        found.push((0..count).map(text).collect::<Vec<_>>().join("|"));
    }
    found
}

/// Returns the events of a database as lines of the numeric dump, with the indices of doubles.
fn lines(database: &Path) -> Vec<(i64, Vec<String>, Vec<usize>)> {
    let connection = Connection::open(database).unwrap();
    let mut types =
        connection.prepare("SELECT log, registry, code, event_table FROM types").unwrap();
    let types = types.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    let types: Vec<(i64, u16, u16, String)> = types.unwrap().map(Result::unwrap).collect();
    let mut found = Vec::new();
    for (log, registry, code, table) in types {
        let mut params = connection
            .prepare(
                "SELECT sort, event_column FROM parameters
                 WHERE log = ? AND registry = ? AND code = ? ORDER BY position",
            )
            .unwrap();
        let params = params.query_map((log, registry, code), |row| Ok((row.get(0)?, row.get(1)?)));
        let params: Vec<(String, String)> = params.unwrap().map(Result::unwrap).collect();
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let columns = params.iter().map(|(_, name)| format!("t.{}", quoted(name)));
        let columns: Vec<String> = columns.collect();
        let columns = [&["t.event".to_owned(), "t.time".to_owned()], &*columns].concat();
        let sql = format!(
            "SELECT {} FROM {} AS t, buffers AS b
             WHERE b.id = t.event >> 40 AND b.registry = {registry} AND t.log = {log}",
            columns.join(", "),
            quoted(&table)
        );
        let mut query = connection.prepare(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let mut rows = query.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let prefix = if registry > 1 { format!("{registry}:") } else { String::new() };
            let mut line = vec![
                format!("{:016X}", row.get::<_, i64>(1).unwrap()),
                format!("{prefix}{code:X}"),
            ];
            let mut doubles = Vec::new();
            for (index, (sort, _)) in params.iter().enumerate() {
                let value: Value = row.get(index + 2).unwrap();
                if sort == "D" {
                    doubles.push(line.len());
                }
                line.push(match value {
                    Value::Integer(value) => format!("{value:X}"),
                    Value::Real(value) => value.to_string(),
                    Value::Text(text) => logs::quoted(text.as_bytes()),
                    Value::Blob(bytes) => logs::quoted(&bytes),
                    Value::Null if sort == "D" => "nan".to_owned(),
                    Value::Null => continue,
                });
            }
            found.push((row.get(0).unwrap(), line, doubles));
        }
    }
    found.sort_by(|(_, a, _), (_, b, _)| a.cmp(b));
    found
}

#[test]
fn every_event_is_in_the_database_with_the_values_of_the_dump() {
    let directory = TempDir::new().unwrap();
    for (index, log) in logs::all(directory.path()).iter().enumerate() {
        let database = directory.path().join(format!("{index}.db"));
        run(&["sql", log.to_str().unwrap(), "-o", database.to_str().unwrap()]);
        let found = lines(&database);
        let mut expected = logs::numeric(log);
        expected.sort();
        assert_eq!(found.len(), expected.len(), "{}", log.display());
        for ((_, found, doubles), expected) in found.iter().zip(&expected) {
            let is_double = |index| doubles.contains(&index);
            assert!(logs::agree(found, expected, is_double), "{found:?}, not {expected:?}");
        }
    }
}

#[test]
fn a_log_added_again_adds_only_its_new_events() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    let whole = fs::read(mps("amcss-arena-pool-trace.log")).unwrap();
    let made = logs::all(directory.path()).pop().unwrap();
    // A part of a log, then the whole log. At last a log without events, then another log.
    for (name, short, whole) in [
        ("mps", whole[..40_000].to_vec(), whole),
        ("ours", logs::pools(2), logs::pools(9)),
        ("made", logs::pools(0), fs::read(made).unwrap()),
    ] {
        let (log, database, fresh) =
            (path("a.log"), path(&format!("{name}.db")), path(&format!("{name}-fresh.db")));
        fs::write(&log, short).unwrap();
        let [log_name, database_name] = [&log, &database].map(|path| path.to_str().unwrap());
        run(&["sql", log_name, "-o", database_name]);
        let short_count = lines(&database).len();
        fs::write(&log, whole).unwrap();
        run(&["sql", log_name, "-o", database_name]);
        run(&["sql", log_name, "-o", fresh.to_str().unwrap()]);
        let expected: Vec<_> = lines(&fresh).into_iter().map(|(_, line, _)| line).collect();
        let found: Vec<_> = lines(&database).into_iter().map(|(_, line, _)| line).collect();
        assert!(short_count < found.len(), "{name}");
        assert_eq!(found, expected, "{name}");
        let logs = if name == "made" { "2" } else { "1" };
        assert_eq!(rows(&database, "SELECT count(*) FROM logs"), [logs], "{name}");
        let (text, ..) = run(&["sql", log_name, "-o", database_name]);
        let text = String::from_utf8(text).unwrap();
        let expected = format!(": 0 events added, {} existed already", found.len());
        assert!(text.contains(&expected), "{text}");
    }
}

/// `.cnv.sql.again`
/// `.cnv.sql.slices`
#[test]
fn slices_join_the_events_that_begin_and_end_them() {
    let directory = TempDir::new().unwrap();
    let database = directory.path().join("a.db");
    let log = mps("amcss-arena-pool-trace.log");
    run(&["sql", &log, "-o", database.to_str().unwrap()]);
    for (name, begin, end, key, count) in [
        ("ArenaPoll", "ArenaPollBegin", "ArenaPollEnd", "b.arena", 72),
        ("Buffer", "BufferInit", "BufferFinish", "b.buffer", 10),
        ("Trace", "TraceCreate", "TraceDestroy", "printf('0x%X 0x%X', b.trace, b.arena)", 76),
    ] {
        let joined = format!(
            "SELECT count(*) FROM slices AS s JOIN {begin} AS b ON b.event = s.begin_event
             JOIN {end} AS e ON e.event = s.end_event
             WHERE (s.name, s.key, s.thread, s.log) = ('{name}', {key}, b.thread, b.log)
               AND (s.begin, s.end, s.verdict) = (b.time, e.time, 'whole') AND s.duration > 0"
        );
        assert_eq!(rows(&database, &joined), [count.to_string()], "{name}");
    }
    let open = "SELECT s.end, s.duration, s.end_event, s.verdict, count(*) FROM slices AS s
                JOIN VMInit AS b ON b.event = s.begin_event GROUP BY 1, 2, 3, 4";
    assert_eq!(rows(&database, open), ["NULL|NULL|NULL|unfinished|2"]);
    // A selection chooses slices by their beginning, whatever it has of their ends.
    let chosen = directory.path().join("chosen.db");
    let args = ["sql", &log, "-o", chosen.to_str().unwrap(), "--events", "ArenaPollBegin"];
    run(&args);
    let count = "SELECT name, count(*), count(end_event) FROM slices GROUP BY 1";
    assert_eq!(rows(&chosen, count), ["ArenaPoll|72|72"]);
    let missing = "SELECT count(*) FROM slices AS s JOIN ArenaPollBegin AS b
                   ON b.event = s.begin_event JOIN buffers ON buffers.id = s.end_event >> 40";
    assert_eq!(rows(&chosen, missing), ["72"]);
    // Nothing that the selection has begins anything; or the user wants no slices.
    for (option, has_events) in [("--events=ArenaPollEnd", false), ("--no-slices", true)] {
        run(&["sql", &log, "-o", chosen.to_str().unwrap(), "--force", option]);
        assert_eq!(rows(&chosen, count), [""; 0], "{option}");
        let begins = rows(&chosen, "SELECT count(*) FROM ArenaPollBegin");
        assert_eq!(begins, [if has_events { "72" } else { "0" }]);
    }
    let sets = directory.path().join("sets");
    let (text, code, _) = run(&["parquet", &log, "-o", sets.to_str().unwrap(), "--no-slices"]);
    assert!(code == 0 && !String::from_utf8(text).unwrap().contains("slices"));
    assert!(!sets.join("slices").exists());
}

/// `.cnv.sql.again`, `.cnv.sql.slices`
#[test]
fn slices_of_a_log_that_has_grown_get_their_ends() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (log, database, fresh) = (path("a.log"), path("a.db"), path("fresh.db"));
    let whole = fs::read(mps("amcss-arena-pool-trace.log")).unwrap();
    let add = |bytes: &[u8], database: &Path| {
        fs::write(&log, bytes).unwrap();
        // The rate that the clock syncs of the MPS give depends on how many there are.
        let rate = ["--clock-rate", "1GHz"];
        let args = ["sql", log.to_str().unwrap(), "-o", database.to_str().unwrap()];
        run(&[&args[..], &rate].concat());
        let all = "SELECT * FROM slices ORDER BY begin_event";
        rows(database, all)
    };
    let short = add(&whole[..80_000], &database);
    let (grown, expected) = (add(&whole, &database), add(&whole, &fresh));
    let open = |rows: &[String]| rows.iter().filter(|row| row.contains("unfinished")).count();
    assert!(open(&short) > open(&expected) && short.len() < expected.len());
    assert!(grown == expected);
    // Again the whole log, and again its beginning: nothing changes.
    assert!(add(&whole, &database) == expected);
    assert!(add(&whole[..80_000], &database) == expected);
}

/// `.cnv.sql.again`, `.cnv.sql.slices`: a span that began again is not unfinished any more.
#[test]
fn slices_of_a_growing_log_are_those_of_the_whole() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (log, grown, fresh) = (path("a.log"), path("grown.db"), path("fresh.db"));
    let mut state = 5u64;
    let mut byte = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as u8
    };
    let step = |_| Step {
        thread: u32::from(byte() % 2) + 1,
        wait: 10,
        code: u16::from(byte() % 8) + 1,
        key: u64::from(byte() % 3),
    };
    let steps: Vec<Step> = (0..80).map(step).collect();
    let add = |count: usize, database: &Path| {
        fs::write(&log, made(&steps[..count])).unwrap();
        run(&["sql", log.to_str().unwrap(), "-o", database.to_str().unwrap()]);
        rows(database, "SELECT * FROM slices ORDER BY begin_event")
    };
    let expected = add(steps.len(), &fresh);
    let prefixes: Vec<_> = (1..=steps.len()).map(|count| add(count, &grown)).collect();
    let has = |rows: &[String], verdict: &str| rows.iter().any(|row| row.ends_with(verdict));
    assert!(["again", "whole", "doubtful"].into_iter().all(|verdict| has(&expected, verdict)));
    assert!(prefixes.iter().any(|rows| has(rows, "unfinished")));
    // Events that were lost later may lie in a slice that a shorter log has with all its events.
    let as_expected = |(row, expected): (&String, &String)| {
        let doubted = row.split('|').enumerate().map(|(at, field)| match (at, field) {
            (5, _) => "NULL",
            (9, "whole") => "doubtful",
            _ => field,
        });
        row == expected || doubted.collect::<Vec<_>>().join("|") == *expected
    };
    let last = prefixes.last().unwrap();
    assert_eq!(last.len(), expected.len());
    assert!(last.iter().zip(&expected).all(as_expected), "{last:#?} {expected:#?}");
    let kept = last.iter().zip(&expected).filter(|(row, expected)| row != expected).count();
    assert!(kept < 3, "{kept}");
}

/// `.cnv.sql`: an earlier version gave an event type the name of a later table.
#[test]
fn a_database_whose_slices_are_events_is_refused() {
    let directory = TempDir::new().unwrap();
    let database = directory.path().join("a.db");
    let log = mps("labels.log");
    add(log.as_ref(), &database);
    let earlier = "DROP TABLE slices; CREATE TABLE Slices(event INTEGER PRIMARY KEY, log INTEGER);
                   INSERT INTO event_tables VALUES('Slices', 'EVENT_Slices', 'r', 'Slices', '')";
    Connection::open(&database).unwrap().execute_batch(earlier).unwrap();
    let before = fs::read(&database).unwrap();
    let path = database.to_str().unwrap();
    let (text, code, errors) = run(&["sql", &log, "-o", path]);
    let expected = "a.db: its table Slices belongs to an event type; use a new database\n";
    assert!(text.is_empty() && code == 2 && errors.ends_with(expected), "{errors}");
    assert!(fs::read(&database).unwrap() == before);
}

/// `.cnv.sql.counters`: a database of a version without the column `registry` gets it.
#[test]
fn a_database_without_registries_of_counters_gets_them() {
    let directory = TempDir::new().unwrap();
    let database = directory.path().join("a.db");
    let log = mps("mpmss-cut.log");
    add(log.as_ref(), &database);
    let sql = "SELECT registry, count(*) FROM counters GROUP BY 1";
    let before = rows(&database, sql);
    let earlier = "ALTER TABLE counters DROP COLUMN registry; DELETE FROM counters";
    Connection::open(&database).unwrap().execute_batch(earlier).unwrap();
    add(log.as_ref(), &database);
    assert_eq!(rows(&database, sql), before);
    assert!(before.len() == 1 && !before[0].starts_with('|'), "{before:?}");
}

#[test]
fn a_log_added_again_leaves_the_size_of_the_database() {
    let directory = TempDir::new().unwrap();
    let database = directory.path().join("a.db");
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    for log in [mps("amcss-arena-pool-trace.log"), mps("labels.log")] {
        add(log.as_ref(), &database);
        let before = (size(&database), rows(&database, "SELECT * FROM sqlite_schema"));
        let text = add(log.as_ref(), &database);
        assert!(text.contains(": 0 events added, "), "{text}");
        let after = (size(&database), rows(&database, "SELECT * FROM sqlite_schema"));
        assert_eq!(after, before, "{log}");
    }
    // A database that grew is about as large as a database that got all events at once.
    let [log, grown, fresh] = ["a.log", "grown.db", "fresh.db"].map(|n| directory.path().join(n));
    let whole = fs::read(mps("amcss-arena-pool-trace.log")).unwrap();
    fs::write(&log, &whole[..40_000]).unwrap();
    run(&["sql", log.to_str().unwrap(), "-o", grown.to_str().unwrap()]);
    fs::write(&log, &whole).unwrap();
    add(&log, &grown);
    add(&log, &fresh);
    assert!(size(&grown) <= size(&fresh) * 105 / 100, "{} {}", size(&grown), size(&fresh));
}

/// `.cnv.sql`: one registry describes two streams of one version, though another version follows.
#[test]
fn streams_that_share_a_registry_all_have_it() {
    let directory = TempDir::new().unwrap();
    let [log, database] = ["a.log", "a.db"].map(|name| directory.path().join(name));
    let [labels, old] = ["labels.log", "mpmss-1.116-cut.log"].map(|name| fs::read(mps(name)));
    let [labels, old] = [labels.unwrap(), old.unwrap()];
    let trace = fs::read(mps("amcss-arena-pool-trace.log")).unwrap();
    fs::write(&log, [&*labels, &trace, &old].concat()).unwrap();
    run(&["sql", log.to_str().unwrap(), "-o", database.to_str().unwrap()]);
    let without = |table: &str| {
        let sql = format!("SELECT log FROM logs WHERE log NOT IN (SELECT log FROM {table})");
        rows(&database, &sql)
    };
    assert_eq!(rows(&database, "SELECT log FROM logs"), ["1", "2", "3"]);
    assert_eq!(without("registries"), [""; 0]);
    assert_eq!(without("types WHERE registry = 1"), ["3"]);
    assert_eq!(without("kinds WHERE registry = 1"), ["3"]);
}

/// `.cnv.sql.again`: the third copy begins far after the part that identifies a log.
#[test]
fn copies_of_a_stream_without_a_name_become_one_log() {
    let directory = TempDir::new().unwrap();
    let [copies, database] = ["copies.log", "a.db"].map(|name| directory.path().join(name));
    let trace = mps("amcss-arena-pool-trace.log");
    fs::write(&copies, fs::read(&trace).unwrap().repeat(3)).unwrap();
    assert!(add(&copies, &database).ends_with("9699 events added, 0 existed already\n"));
    assert_eq!(rows(&database, "SELECT count(*), max(beginning_size) FROM logs"), ["1|1000"]);
    let text = add(Path::new(&trace), &database);
    assert!(text.ends_with("0 events added, 3233 existed already\n"), "{text}");
}

#[test]
fn a_later_addition_completes_a_selection() {
    let directory = TempDir::new().unwrap();
    let database = directory.path().join("some.db");
    let (log, name) = (mps("labels.log"), database.to_str().unwrap());
    let (_, code, errors) = run(&["sql", &log, "-o", name, "--events", "PoolInit"]);
    assert_eq!(code, 0, "{errors}");
    assert_eq!(rows(&database, "SELECT count(*) FROM PoolInit"), ["4"]);
    assert_eq!(rows(&database, "SELECT count(*) FROM Intern"), ["0"]);
    let text = add(log.as_ref(), &database);
    assert!(text.contains("147 events added, 4 existed already"), "{text}");
    assert_eq!(lines(&database).len(), 151);
}

#[test]
fn the_manuals_query_gives_pool_names_and_creation_times() {
    let directory = TempDir::new().unwrap();
    let (log, database) = (directory.path().join("a.log"), directory.path().join("a.db"));
    fs::write(&log, logs::pools(9)).unwrap();
    add(&log, &database);
    let manual = "SELECT I.string, P.time FROM EVENT_PoolInit AS P, EVENT_Label AS L,
        EVENT_Intern AS I WHERE I.stringId = L.stringId AND L.address = P.pool ORDER BY 1, 2";
    let found = rows(&database, manual);
    assert_eq!(found, ["old|1200", "old|1700", "symbols|1200", "symbols|1700"]);
    let named =
        "SELECT ifnull(pool_label, poolClass_label), time FROM EVENT_PoolInit ORDER BY time";
    assert_eq!(rows(&database, named), ["symbols|1200", "old|1700"]);
    let labels = "SELECT address, since, until, string FROM labels ORDER BY since";
    assert_eq!(rows(&database, labels), ["28672|1110|1510|symbols", "28672|1510|NULL|old"]);
    // In a log of the MPS the classes of pools have names.
    let database = directory.path().join("mps.db");
    add(mps("labels.log").as_ref(), &database);
    let found = rows(&database, named);
    let times = [0x3DE_DE6A_A290_u64, 0x3DE_DE6A_A590, 0x3DE_DE6B_C690, 0x3DE_DE6B_EEBC];
    let expected: Vec<String> = ["MFSPool", "MFSPool", "MFSPool", "MVFFPool"]
        .iter()
        .zip(times)
        .map(|(name, time)| format!("{name}|{time}"))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn awkward_names_and_values_are_stored_unchanged() {
    let directory = TempDir::new().unwrap();
    let (log, database) = (directory.path().join("a.log"), directory.path().join("a.db"));
    fs::write(&log, logs::pools(9)).unwrap();
    add(&log, &database);
    let view = "\"EVENT_Poll\"\"; DROP TABLE logs; --\"";
    let found = rows(
        &database,
        &format!("SELECT time_, Log_, \"a\"\" b\", number_, number, thread FROM {view}"),
    );
    assert_eq!(found, ["-1|1|0.5|it's \"so\"|1|3", "-1|1|NULL|[255, 0]|2|3"]);
    let found = rows(&database, "SELECT stream, program, pid FROM logs");
    assert_eq!(found, ["61206c6f67207769746820706f6f6c73|program|4711"]);
    let found = rows(&database, "SELECT printf('%X', arena), wall FROM PoolInit LIMIT 1");
    assert_eq!(found[0].split('|').next(), Some("FFFFFFFFFFFFF000"));
}

#[test]
fn logs_with_different_event_types_have_separate_tables() {
    let directory = TempDir::new().unwrap();
    let (log, database) = (directory.path().join("a.log"), directory.path().join("a.db"));
    fs::write(&log, logs::pools(9)).unwrap();
    add(mps("labels.log").as_ref(), &database);
    add(&log, &database);
    add(mps("amcss-arena-pool-trace.log").as_ref(), &database);
    let found = rows(&database, "SELECT log, count(*) FROM PoolInit GROUP BY log ORDER BY log");
    assert_eq!(found, ["1|4", "3|6"]);
    assert_eq!(rows(&database, "SELECT log, pool_label FROM EVENT_naive_PoolInit").len(), 2);
    let found = rows(&database, "SELECT DISTINCT event_table FROM types WHERE name = 'PoolInit'");
    assert_eq!(found, ["PoolInit", "naive_PoolInit"]);
}

#[test]
fn a_file_that_is_not_our_database_stays_unchanged() {
    let directory = TempDir::new().unwrap();
    let log = mps("labels.log");
    let path = directory.path().join("x.db");
    let foreign = || {
        let _ = fs::remove_file(&path);
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE PoolInit(a)").unwrap();
    };
    let later = || {
        let _ = fs::remove_file(&path);
        add(log.as_ref(), &path);
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 9).unwrap();
    };
    let text = || {
        fs::write(&path, "a text that is longer than the head of a database ".repeat(9)).unwrap()
    };
    let cases: [(&dyn Fn(), &str); 3] = [
        (&text, "already exists and is not an SQLite database"),
        (&foreign, "not a database of the event log"),
        (&later, "tables have version 9"),
    ];
    for (prepare, expected) in cases {
        prepare();
        let before = fs::read(&path).unwrap();
        let (_, code, errors) = run(&["sql", &log, "-o", path.to_str().unwrap()]);
        assert_eq!(code, 2);
        assert!(errors.contains(expected), "{errors}");
        assert_eq!(fs::read(&path).unwrap(), before, "{expected}");
    }
    let (_, code, errors) = run(&["sql", &log, "-o", path.to_str().unwrap(), "--force"]);
    assert_eq!(code, 0, "{errors}");
    assert_eq!(lines(&path).len(), 151);
}

#[test]
fn the_environment_names_the_database() {
    let directory = TempDir::new().unwrap();
    for (variable, name) in [(None, "mpsevent.db"), (Some("named.db"), "named.db")] {
        let mut command = eventcnv(&["sql", &mps("labels.log")]);
        command.current_dir(directory.path()).env_remove("MPS_TELEMETRY_DATABASE");
        variable.map(|value| command.env("MPS_TELEMETRY_DATABASE", value));
        let (_, code, errors) = told(command.output().unwrap());
        assert_eq!(code, 0, "{errors}");
        assert_eq!(lines(&directory.path().join(name)).len(), 151);
    }
}

#[test]
fn a_damaged_log_gives_its_readable_events_and_exit_code_1() {
    let directory = TempDir::new().unwrap();
    let (log, database) = (directory.path().join("cut.log"), directory.path().join("a.db"));
    let bytes = fs::read(mps("labels.log")).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 10]).unwrap();
    let (_, code, errors) = run(&["sql", log.to_str().unwrap(), "-o", database.to_str().unwrap()]);
    assert_eq!(code, 1, "{errors}");
    assert_eq!(lines(&database).len(), 150);
}
