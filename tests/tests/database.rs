//! `eventcnv follow --sql` keeps a database up to date: in the end it is what `eventcnv sql` makes.
//!
//! ```text
//!  caller ──▶ log ──▶ eventcnv follow --sql ──▶ a database ◀── two readers
//!    ▲ kill -9         ▲ kill -9, again           = what eventcnv sql makes of the whole log
//! ```
//!
//! Rules: `.cnv.follow.sql` in `design/eventcnv.md`. `CALLS_KILLS` makes it more kills.

use eventlog::reader::Log;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tests::programs::{eventcnv, lines, recording, run, wait_for};

/// Rows of a table as text, in order, without numbers that depend on the order of commits.
type Dump = BTreeMap<String, Vec<String>>;

/// A folder for a log `log` and databases, with the programs at work there.
struct Place {
    folder: tempfile::TempDir,
}

/// A process that is killed when the test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Waits for the end. Returns the exit code; `None` after a signal.
    fn end(&mut self) -> Option<i32> {
        let mut status = None;
        wait_for("the end", || {
            status = self.0.try_wait().expect("a child");
            status.is_some()
        });
        status.and_then(|status| status.code())
    }

    fn signal(&self, signal: &str) {
        run(Command::new("kill").args([signal, &self.0.id().to_string()]));
    }
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().expect("a folder can be made") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts the program of the tests with its log at a destination in the folder.
    fn call(&self, words: &[&str], destination: &str) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_caller"));
        command.args(words).env("MPS_TELEMETRY_BLOCK_SIZE", "4096");
        let mut command = recording(command, "all", Path::new(destination));
        let command = command.current_dir(&self.folder).stdout(Stdio::null());
        Running(command.spawn().expect("the program runs"))
    }

    fn follow(&self, every: u32) -> Running {
        self.follow_into("followed.db", every, Stdio::null())
    }

    fn follow_into(&self, database: &str, every: u32, errors: impl Into<Stdio>) -> Running {
        let mut command = eventcnv();
        command.args(["follow", "log", "--sql", database, "--every", &every.to_string()]);
        let command = command.current_dir(&self.folder).stdout(Stdio::null()).stderr(errors);
        Running(command.spawn().expect("eventcnv runs"))
    }

    /// A file for messages.
    fn errors(&self) -> fs::File {
        fs::File::create(self.path("errors")).expect("a file can be made")
    }

    fn has_error(&self, what: &str) -> bool {
        fs::read_to_string(self.path("errors")).expect("text").contains(what)
    }

    /// Waits until the database has calls.
    fn wait_for_calls(&self) {
        let has_calls = |connection: Connection| {
            let count = connection.query_row("SELECT count(*) FROM calls", [], |row| row.get(0));
            count.is_ok_and(|count: i64| count > 0)
        };
        let path = self.path("followed.db");
        wait_for("calls", || path.exists() && has_calls(open(&path)));
    }

    /// Returns the dump of the database that the follower made.
    fn followed(&self) -> Dump {
        dump(&self.path("followed.db"))
    }

    /// Returns the dump of the database that `eventcnv sql` makes of the volumes of the log.
    fn whole(&self) -> Dump {
        let older = (1..).map(|number| format!("log.{number}"));
        let older = older.take_while(|name| self.path(name).exists());
        let logs: Vec<String> = std::iter::once("log".to_owned()).chain(older).collect();
        let mut command = eventcnv();
        command.arg("sql").args(logs.iter().rev()).args(["-o", "whole.db", "--force"]);
        run(command.current_dir(&self.folder));
        dump(&self.path("whole.db"))
    }
}

fn open(path: &Path) -> Connection {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let connection = connection.expect("a database");
    connection.busy_timeout(Duration::from_secs(60)).expect("a timeout can be set");
    connection
}

/// Returns all rows of a query.
fn rows(connection: &Connection, sql: &str) -> Vec<Vec<(String, Value)>> {
    let mut query = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let names: Vec<String> = query.column_names().map(str::to_owned).collect();
    let mut rows = query.query([]).expect("an answer");
    let mut found = Vec::new();
    while let Some(row) = rows.next().expect("a row") {
        let value = |(at, name): (usize, &String)| (name.clone(), row.get(at).expect("a value"));
        found.push(names.iter().enumerate().map(value).collect());
    }
    found
}

/// Returns the first column of each row of a query, as numbers by text.
fn names(connection: &Connection, sql: &str) -> BTreeMap<i64, String> {
    let mut query = connection.prepare(sql).expect("a query");
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    query.query_map([], row).expect("an answer").map(|row| row.expect("a row")).collect()
}

/// Returns the contents of a database. Keys of events are logs, buffers and numbers; functions are
/// names.
fn dump(path: &Path) -> Dump {
    let connection = open(path);
    assert_eq!(
        names(&connection, "SELECT 0, integrity_check FROM pragma_integrity_check")[&0],
        "ok"
    );
    let logs = names(&connection, "SELECT log, stream FROM logs");
    let buffers =
        "SELECT id, stream || ':' || buffer || ':' || first FROM buffers JOIN logs USING(log)";
    let buffers = names(&connection, buffers);
    let functions = names(&connection, "SELECT function, name FROM functions");
    let text = |table: &str, (name, value): (String, Value)| match (&*name, value) {
        ("file", _) | ("log", _) if table == "logs" => None,
        ("id", _) if table == "buffers" => None,
        ("function", _) if table == "functions" => None,
        ("log", Value::Integer(log)) => Some(logs[&log].clone()),
        ("event" | "begin_event" | "end_event", Value::Integer(key)) => {
            Some(format!("{} {}", buffers[&(key >> 40)], key & ((1 << 40) - 1)))
        }
        ("function" | "caller", Value::Integer(function)) if table == "calls" => {
            Some(functions[&function].clone())
        }
        (_, value) => Some(format!("{value:?}")),
    };
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table'";
    let mut dump = Dump::new();
    for table in rows(&connection, tables).into_iter().flatten() {
        let Value::Text(table) = table.1 else { panic!("{table:?}") };
        let rows = rows(&connection, &format!("SELECT * FROM \"{table}\"")).into_iter();
        let line = |row: Vec<(String, Value)>| {
            row.into_iter().filter_map(|cell| text(&table, cell)).collect::<Vec<_>>().join("|")
        };
        let mut lines: Vec<String> = rows.map(line).collect();
        lines.sort();
        dump.insert(table, lines);
    }
    dump
}

/// Checks that two databases have the same rows.
fn assert_same(found: &Dump, expected: &Dump, what: &str) {
    let tables: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    for table in tables {
        let [found, expected] = [found, expected].map(|dump| dump.get(table));
        if found != expected {
            let [found, expected] = [found, expected]
                .map(|lines| lines.into_iter().flatten().collect::<BTreeSet<&String>>());
            let (more, less) = (found.difference(&expected), expected.difference(&found));
            panic!(
                "{what}: {table}: + {:?} - {:?}",
                more.take(3).collect::<Vec<_>>(),
                less.take(3).collect::<Vec<_>>()
            );
        }
    }
}

/// Queries a database until `is_over`, as soon as it has tables. What it has never gets less.
/// Returns the number of answers.
fn read_on(path: &Path, is_over: &AtomicBool) -> u64 {
    let (mut answers, mut most) = (0, 0);
    while !is_over.load(Ordering::SeqCst) {
        if !path.exists() {
            thread::yield_now();
            continue;
        }
        let connection = open(path);
        for _ in 0..5 {
            let sql = "SELECT (SELECT count(*) FROM calls), (SELECT count(*) FROM CallEnter),
                         (SELECT count(*) FROM calls WHERE end IS NOT NULL),
                         (SELECT count(*) FROM CallLeave)";
            let row = |row: &rusqlite::Row<'_>| {
                Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?])
            };
            match connection.query_row(sql, [], row) {
                Ok([calls, enters, ended, leaves]) => {
                    assert_eq!((calls, ended), (enters, leaves), "calls and their events");
                    assert!(calls >= most, "{calls} calls, {most} before");
                    (answers, most) = (answers + 1, calls);
                }
                Err(error) => assert!(error.to_string().contains("no such table"), "{error}"),
            }
        }
    }
    answers
}

/// `.cnv.sql.counters`: the counters of a log that grows go on from commit to commit.
#[test]
fn counters_of_a_growing_log_equal_those_of_the_whole() {
    let place = Place::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_allocating"));
    command.arg("20000").env("MPS_TELEMETRY_BLOCK_SIZE", "4096");
    let mut command = recording(command, "Object", Path::new("log"));
    let command = command.current_dir(&place.folder).stdout(Stdio::null());
    let mut program = Running(command.spawn().expect("the program runs"));
    wait_for("a log", || place.path("log").exists());
    let mut follower = place.follow(5);
    assert_eq!(program.end(), Some(0));
    assert_eq!(follower.end(), Some(0));
    let found = place.followed();
    assert!(found["counters"].len() > 100_000, "{}", found["counters"].len());
    assert_same(&found, &place.whole(), "in the end");
}

/// T8: a program is killed at some moment. Every published call is in the log and in the database,
/// also of a program that records more than the ring of its log holds.
#[test]
fn a_killed_program_leaves_all_calls_in_the_database() {
    let kills: u64 =
        std::env::var("CALLS_KILLS").map_or(3, |kills| kills.parse().expect("a number"));
    let mut answers = 0;
    for kill in 0..kills {
        let place = Place::new();
        fs::write(place.path("progress"), [0; 16]).expect("a file can be made");
        let (database, is_over) = (place.path("followed.db"), AtomicBool::new(false));
        thread::scope(|scope| {
            let readers = [(); 2].map(|()| scope.spawn(|| read_on(&database, &is_over)));
            let mut follower = place.follow(10);
            let destination = "ring:log?size=1M&keep=all";
            let mut program = place.call(&["forever", "2", "progress"], destination);
            let is_full = || fs::metadata(place.path("log")).is_ok_and(|log| log.len() > 2 << 20);
            wait_for("calls that the ring has no room for", is_full);
            thread::sleep(Duration::from_micros(kill * 7919 % 40_000));
            program.0.kill().expect("a process");
            program.0.wait().expect("a process");
            assert_eq!(follower.end(), Some(0), "kill {kill}");
            is_over.store(true, Ordering::SeqCst);
            answers += readers.map(|reader| reader.join().expect("no panic")).iter().sum::<u64>();
        });
        let (found, expected) = (place.followed(), place.whole());
        assert_same(&found, &expected, &format!("kill {kill}"));
        let told = fs::read(place.path("progress")).expect("a file");
        let published = told.chunks(8).map(|told| told.try_into().map(u64::from_le_bytes));
        let published: u64 = published.map(|told| told.expect("eight bytes")).sum();
        let sold = found["calls"].iter().filter(|row| row.contains("|caller::sell|")).count();
        assert!(sold as u64 >= published, "{sold} of {published} calls");
        let mut again = place.follow(10);
        assert_eq!(again.end(), Some(0));
        assert_same(&place.followed(), &found, "the second time");
    }
    assert!(answers > 0, "no reader had an answer");
}

/// T8: a ring that keeps nothing was full before the first look, and goes round between looks. The
/// follower says how many events it lacks, as the database does.
#[test]
fn a_follower_that_falls_behind_says_how_far() {
    let place = Place::new();
    fs::write(place.path("progress"), [0; 16]).expect("a file can be made");
    let mut program = place.call(&["forever", "2", "progress"], "ring:log?size=1M");
    let progress = || fs::read(place.path("progress")).expect("a file");
    let least = || {
        let told = progress();
        let counts = told.chunks(8).map(|told| u64::from_le_bytes(told.try_into().expect("8")));
        counts.min().expect("two threads")
    };
    wait_for("a full ring", || least() > 20_000);
    let mut follower = place.follow_into("followed.db", 50, place.errors());
    place.wait_for_calls();
    let seen = least();
    wait_for("more than the ring has room for", || least() > seen + 20_000);
    program.0.kill().expect("a process");
    program.0.wait().expect("a process");
    assert_eq!(follower.end(), Some(0));
    let said = fs::read_to_string(place.path("errors")).expect("text");
    let notes: Vec<&str> = said.lines().filter(|line| line.contains("overwritten")).collect();
    let [first, last] = &notes[..] else { panic!("{said}") };
    assert!(first.contains(" events were overwritten before the first look; a larger"), "{said}");
    let (_, number) = last.split_once("the database lacks ").expect(&said);
    let number = number.split(' ').next().and_then(|text| text.parse().ok());
    let number: i64 = number.expect("a number");
    let sql = "SELECT sum(count) FROM losses WHERE cause = 'overwritten'";
    let sum = open(&place.path("followed.db")).query_row(sql, [], |row| row.get::<_, i64>(0));
    assert_eq!(sum, Ok(number), "{said}");
    assert!(number > 40_000, "{said}");
}

/// A killed follower leaves a sound database, and the next one goes on.
#[test]
fn a_follower_goes_on_where_a_killed_one_ended() {
    for destination in ["ring:log?size=8M", "log", "file:log?size=64K&count=99"] {
        let place = Place::new();
        let mut program = place.call(&["times", "3", "500"], destination);
        for _ in 0..5 {
            let mut follower = place.follow(20);
            thread::sleep(Duration::from_millis(120));
            follower.0.kill().expect("a process");
            follower.end();
        }
        let mut follower = place.follow(20);
        assert_eq!((program.end(), follower.end()), (Some(0), Some(0)), "{destination}");
        let found = place.followed();
        assert_eq!(found["calls"].len(), 3 * 500 * 3 + 3, "{destination}");
        assert_same(&found, &place.whole(), destination);
    }
}

/// A program ends during a look: the last look takes all that the closed ring has.
#[test]
fn a_follower_takes_all_of_a_ring_that_closes_meanwhile() {
    for run in 0..12 {
        let place = Place::new();
        let mut follower = place.follow(1);
        let mut program = place.call(&["times", "3", "100"], "ring:log?size=4M");
        assert_eq!([program.end(), follower.end()], [Some(0); 2], "run {run}");
        assert_eq!(place.followed()["calls"].len(), 3 * 100 * 3 + 3, "run {run}");
    }
}

/// A signal ends the follower after a last commit; a call in progress has no end then.
#[test]
fn a_signal_ends_the_follower_after_a_commit() {
    for signal in ["-INT", "-TERM"] {
        let place = Place::new();
        fs::write(place.path("progress"), [0; 16]).expect("a file can be made");
        let mut follower = place.follow(86_400_000);
        let mut program = place.call(&["times", "1", "1000000"], "ring:log?size=8M");
        wait_for("the log", || place.path("log").exists());
        thread::sleep(Duration::from_millis(100));
        follower.signal(signal);
        assert_eq!(follower.end(), Some(0), "{signal}");
        let connection = open(&place.path("followed.db"));
        let open = "SELECT caller_id, time_leave FROM call_pts WHERE time_leave IS NULL LIMIT 1";
        assert_eq!(rows(&connection, open).len(), 1, "{signal}");
        let ended = "SELECT 1 FROM calls WHERE end IS NOT NULL LIMIT 1";
        assert_eq!(rows(&connection, ended).len(), 1, "{signal}");
        program.0.kill().expect("a process");
        program.end();
    }
}

/// What a ring overwrites before a look is counted, and what a look took is not.
#[test]
fn overwritten_rows_are_counted_and_none_is_doubled() {
    let place = Place::new();
    let mut program = place.call(&["times", "3", "600"], "ring:log?size=128K");
    let mut follower = place.follow(150);
    assert_eq!((program.end(), follower.end()), (Some(0), Some(0)));
    let connection = open(&place.path("followed.db"));
    let mut numbers: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for table in ["CallEnter", "CallLeave", "JobStart", "JobFinish"] {
        for row in rows(&connection, &format!("SELECT event FROM {table}")) {
            let Value::Integer(key) = row[0].1 else { panic!("{row:?}") };
            assert!(numbers.entry(key >> 40).or_default().insert(key & ((1 << 40) - 1)), "twice");
        }
    }
    let missing =
        |numbers: &BTreeSet<i64>| numbers.last().map_or(0, |last| last + 1) - numbers.len() as i64;
    let missing: i64 = numbers.values().map(missing).sum();
    let counted = "SELECT ifnull(sum(count), 0) FROM losses WHERE cause = 'overwritten'";
    assert_eq!(rows(&connection, counted)[0][0].1, Value::Integer(missing));
    // All but the last jobs are finished.
    let all = 3 * 600 * 8 + 6;
    let found: usize = numbers.values().map(BTreeSet::len).sum();
    let known = found as i64 + missing;
    assert!(found < all && (all as i64 - 600..=all as i64).contains(&known), "{found} + {missing}");
    let whole = &place.whole()["CallEnter"];
    let here: BTreeSet<&str> = place.followed()["CallEnter"]
        .iter()
        .map(|row| row.split('|').next().expect("a key").to_owned().leak() as &str)
        .collect();
    let is_here = |row: &String| here.contains(row.split('|').next().expect("a key"));
    assert!(
        whole.len() < here.len() && whole.iter().all(is_here),
        "{} of {}",
        here.len(),
        whole.len()
    );
}

/// Another program with the same name of its log is another log, whatever its process number.
#[test]
fn two_programs_with_one_name_are_two_logs() {
    let place = Place::new();
    let header = || {
        let bytes = fs::read(place.path("log")).unwrap_or_default();
        bytes.get(..4096).map(<[u8]>::to_vec)
    };
    for run in 1..=2_usize {
        let before = header();
        let mut program = place.call(&["times", "1", "20"], "log");
        // A follower that looks before the program has its log takes the first one.
        wait_for("a log of its own", || header().is_some_and(|now| before.as_ref() != Some(&now)));
        let mut follower = place.follow(10);
        assert_eq!((program.end(), follower.end()), (Some(0), Some(0)));
        let found = place.followed();
        assert_eq!((found["logs"].len(), found["calls"].len()), (run, run * (3 * 20 + 1)));
    }
}

/// A second follower of a database is refused; one of another database has the same rows.
#[test]
fn two_followers_need_two_databases() {
    let place = Place::new();
    let mut program = place.call(&["times", "2", "800"], "log");
    let mut follower = place.follow(20);
    place.wait_for_calls();
    let mut second = place.follow_into("followed.db", 20, place.errors());
    assert_eq!(second.end(), Some(2));
    assert!(place.has_error("followed.db: another follower writes to it; name all logs in one"));
    let mut other = place.follow_into("other.db", 30, Stdio::null());
    assert_eq!([program.end(), follower.end(), other.end()], [Some(0); 3]);
    let found = place.followed();
    assert_same(&found, &place.whole(), "the first");
    assert_same(&dump(&place.path("other.db")), &found, "the other");
}

/// Rows would go to a file without a name.
#[test]
fn a_follower_ends_when_its_database_is_gone() {
    for is_replaced in [false, true] {
        let place = Place::new();
        let mut program = place.call(&["times", "1", "100000"], "log");
        let mut follower = place.follow_into("followed.db", 20, place.errors());
        place.wait_for_calls();
        fs::rename(place.path("followed.db"), place.path("moved.db")).expect("a file");
        if is_replaced {
            fs::write(place.path("followed.db"), "").expect("a file");
        }
        assert_eq!(follower.end(), Some(2), "{is_replaced}");
        assert!(place.has_error("followed.db: was deleted or replaced; start the command again"));
        program.0.kill().expect("a process");
    }
}

/// A line tells that the log is gone, and how much of it was not read. The program goes on in
/// another file of that name, and so does the follower.
#[test]
fn a_follower_reports_a_deleted_log_in_one_line() {
    let place = Place::new();
    let mut program = place.call(&["times", "1", "100000"], "log");
    let mut follower = place.follow_into("followed.db", 20, place.errors());
    place.wait_for_calls();
    follower.signal("-STOP");
    let size = || fs::metadata(place.path("log")).map_or(0, |at| at.len());
    let before = size();
    wait_for("a longer log", || size() > before + (64 << 10));
    fs::remove_file(place.path("log")).expect("a file");
    wait_for("another file", || size() > 0);
    follower.signal("-CONT");
    let gone = "eventcnv: log: was deleted; what it had after the last look is missing (";
    wait_for("a message", || place.has_error(gone));
    program.0.kill().expect("a process");
    program.0.wait().expect("a process");
    assert_eq!(follower.end(), Some(0));
    // A follower that looked before the program had a log has said so.
    let said = fs::read_to_string(place.path("errors")).expect("text");
    let said = said.strip_prefix("eventcnv: log: waiting for the log\n").unwrap_or(&said);
    assert_eq!(said.lines().count(), 1, "{said}");
    let count = said.split_once(gone).and_then(|(_, rest)| rest.strip_suffix(" bytes)\n"));
    let count: u64 = count.and_then(|count| count.parse().ok()).expect("a count of bytes");
    assert!(count >= 64 << 10, "{count}");
    let (found, whole) = (place.followed(), place.whole());
    assert!(found["CallEnter"].len() > whole["CallEnter"].len(), "rows of both files");
}

/// What the database has of a log stays if the log is cut off meanwhile.
#[test]
fn a_cut_log_takes_no_rows_from_the_database() {
    let place = Place::new();
    let mut program = place.call(&["times", "1", "100000"], "log");
    let mut follower = place.follow_into("followed.db", 20, place.errors());
    place.wait_for_calls();
    program.0.kill().expect("a process");
    program.0.wait().expect("a process");
    follower.signal("-TERM");
    assert_eq!(follower.end(), Some(0));
    // Times are by the clock syncs of the log, and a shorter log has fewer.
    let counts = || {
        let sql =
            "SELECT count(*), count(end), count(duration), sum(end % 1009), sum(depth) FROM calls";
        rows(&open(&place.path("followed.db")), sql)
    };
    let found = counts();
    let file = fs::File::options().write(true).open(place.path("log")).expect("a file");
    file.set_len(64 << 10).expect("a shorter file");
    follower = place.follow_into("followed.db", 20, place.errors());
    follower.end();
    assert_eq!(counts(), found);
    assert_eq!(found[0][0].1, Value::Integer(place.followed()["CallEnter"].len() as i64));
}

/// A program that locks the database holds the follower up, and no longer than that.
#[test]
fn a_follower_waits_for_a_locked_database() {
    let place = Place::new();
    let mut program = place.call(&["times", "1", "800"], "log");
    let mut follower = place.follow_into("followed.db", 20, place.errors());
    place.wait_for_calls();
    let other = Connection::open(place.path("followed.db")).expect("a database");
    other.busy_timeout(Duration::from_secs(60)).expect("a timeout can be set");
    other.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
    wait_for("a message", || place.has_error("followed.db: locked by another program; waiting"));
    other.execute_batch("ROLLBACK").expect("no lock");
    assert_eq!([program.end(), follower.end()], [Some(0); 2]);
    assert_same(&place.followed(), &place.whole(), "after the lock");
}

/// T19: the view of a forked child has what its ancestors had called before, and joins the call in
/// which it was forked. Each process has two calls of `noop` a generation.
#[test]
fn the_view_of_a_child_has_the_calls_before_the_fork() {
    let place = Place::new();
    let mut program = place.call(&["family", "2"], "log");
    assert_eq!(program.end(), Some(0));
    let files = fs::read_dir(&place.folder).expect("a folder").map(|file| file.expect("a file"));
    let mut logs: Vec<PathBuf> = files.map(|file| file.path()).collect();
    logs.sort_by_key(|log| Log::open(log).expect("a log").streams()[0].pid);
    let made = |args: &[&str]| {
        let lines = lines(eventcnv().args(args).current_dir(&place.folder));
        lines
            .into_iter()
            .map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    // By generation: the calls of `noop` and of `breed`.
    for (log, (noops, breeds)) in logs.iter().zip([(2, 1), (3, 2), (3, 3)]) {
        let log = log.file_name().and_then(|name| name.to_str()).expect("text");
        let table = made(&["calls", log, "--family", "--csv"]);
        let column = |name: &str| table[0].iter().position(|cell| cell == name);
        let cell = |function: &str, name: &str| {
            let row = table.iter().find(|row| row.contains(&function.to_owned()));
            column(name).map(|at| row.expect("a row")[at].clone()).unwrap_or_default()
        };
        let calls = ["caller::noop", "caller::breed"].map(|function| cell(function, "calls"));
        assert_eq!(calls, [noops, breeds].map(|count: i32| count.to_string()), "{log}: {table:?}");
        assert!(["", "0"].contains(&&*cell("caller::breed", "unfinished")), "{log}: {table:?}");
        let database = format!("{log}.db");
        for _ in 0..2 {
            run(eventcnv()
                .args(["sql", log, "--family", "-o", &database])
                .current_dir(&place.folder));
            let rows = &dump(&place.path(&database))["calls"];
            assert_eq!(rows.len() as i32, noops + breeds, "{log}");
            assert!(rows.iter().all(|row| row.contains("whole")), "{log}: {rows:?}");
        }
    }
    // All into one database, in any order: each call once.
    for log in [&logs[1], &logs[0], &logs[2], &logs[0]] {
        let log = log.file_name().and_then(|name| name.to_str()).expect("text");
        run(eventcnv().args(["sql", log, "--family", "-o", "all.db"]).current_dir(&place.folder));
    }
    assert_eq!(dump(&place.path("all.db"))["calls"].len(), 4 + 3 + 1);
}
