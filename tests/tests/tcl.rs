//! The Tcl package `turtles`: scripts under it, their logs, and their databases.
//!
//! ```text
//!  script ── tclsh ─┬─ counts that the script keeps itself ── the naive twin ─┐
//!                   └─ turtles-PID.log, turtles-PID.db ── SQL ──────────────▶ the same?
//! ```
//!
//! `TCLSH=tclsh9.0` runs them all with another Tcl. Design: `.calls.tcl` in `design/calls.md`.
#![forbid(unsafe_code)]

#[path = "tcl/pairs.rs"]
mod pairs;
#[path = "tcl/place.rs"]
mod place;
#[path = "tcl/programs.rs"]
mod programs;
#[path = "tcl/statements.rs"]
mod statements;

use place::{ON, Place, RELEASE, TOOLS, edges, expected, package, query};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tests::programs::{lines, run, system};

/// The documentation of the original: its package, its command line, its example.
#[test]
fn a_script_for_the_original_runs_unchanged() {
    let place = Place::new();
    let script = "
        package require turtles
        ::turtles::release_the_turtles ::argv
        proc ::a {} { return [b] }
        proc ::b {} { return 0 }
        b
        a
        ::turtles::capture_the_turtles
        b
        puts $argv";
    let arguments = ["-i", "x", "+TURTLES", "-enabled", "-TURTLES", "-o", "+TURTLES", "-dbPath"];
    let ran = place.run(script, &[&arguments[..], &["logs", "-TURTLES", "y"]].concat());
    assert_eq!(ran.printed(), "-i x -o y\n");
    assert_eq!(place.edges(), expected("- ::a 1 \n - ::b 1 \n ::a ::b 1"));
}

#[test]
fn procedures_before_the_release_have_no_rows() {
    let place = Place::new();
    let script = format!("proc early {{}} {{late}}\n{RELEASE} proc late {{}} {{}}\n early");
    place.run(&script, ON);
    assert_eq!(place.edges(), expected("- ::late 1"));
    let names = query(&[place.log()], "SELECT proc_name FROM proc_ids");
    assert_eq!(names, [["::late"]]);
}

#[test]
fn the_capture_writes_open_calls_and_stops() {
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        proc inner {{}} {{}}
        proc outer {{}} {{inner; ::turtles::capture_the_turtles; inner}}
        outer
        inner
        proc later {{}} {{}}
        later"
    );
    let ran = place.run(&script, ON);
    assert_eq!(ran.said(), "");
    let sql = "SELECT proc_name, time_leave IS NULL FROM call_pts JOIN proc_ids
               ON proc_id = callee_id ORDER BY time_enter";
    assert_eq!(query(&[place.log()], sql), [["::outer", "1"], ["::inner", "0"]]);
}

#[test]
fn without_enabled_nothing_is_made() {
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        proc p {{}} {{}}
        p
        puts [glob -nocomplain logs /proc/self/task/*]
        ::turtles::capture_the_turtles"
    );
    let ran = place.run(&script, &["+TURTLES", "-dbPath", "logs", "-TURTLES"]);
    assert_eq!(ran.printed().split_whitespace().count(), 1, "a thread: {}", ran.printed());
    assert_eq!(ran.said(), "");
    let plain = place.run("puts $argv", &["x"]);
    assert_eq!(plain.printed(), "x\n");
}

/// T7: the results of the three commands, as the original has them.
#[test]
fn options_are_taken_out_of_the_variable() {
    let place = Place::new();
    let script = r#"
        package require turtles::options
        namespace import ::turtles::options::consume
        proc p {name} {upvar $name it; list [consume it] $it}
        set v {-i a +TURTLES -x -TURTLES -o b +TURTLES -dbPath {c d} -TURTLES}
        puts [p v]
        set a(1) {+TURTLES -x}
        puts [list [consume a(1)] $a(1)]
        set v {+TURTLES -enabled -intervalMillis 50 -dbPath {c d} -TURTLES x}
        puts [::turtles::hatch_the_turtles v],$v
        puts [::turtles::hatch_the_turtles v],$v
        puts [catch {consume} e],$e
        puts [catch {consume none} e],$e
        set v "+TURTLES \{ -TURTLES"
        puts [catch {::turtles::hatch_the_turtles v} e],$e
        set v {+TURTLES -enabled -sideways -TURTLES x}
        puts [dict get [::turtles::release_the_turtles v] enabled],$v
        ::turtles::capture_the_turtles
    "#;
    let ran = place.run(script, &[]);
    let options = "enabled 1 commitMode staged intervalMillis 50 dbPath {c d} dbPrefix turtles \
                   scheduleMode mt debug 0,x";
    let defaults = "enabled 0 commitMode staged intervalMillis 30000 dbPath . dbPrefix turtles \
                    scheduleMode mt debug 0,x";
    let expected = [
        "{-x -dbPath {c d}} {-i a -o b}",
        "{} {+TURTLES -x}",
        options,
        defaults,
        "1,wrong # args: should be \"consume argvRef\"",
        "1,can't read \"none\": no such variable",
        "1,unmatched open brace in list",
        "0,x",
    ];
    assert_eq!(ran.printed().lines().collect::<Vec<_>>(), expected);
    assert_eq!(ran.said().lines().count(), 1, "{}", ran.said());
    assert!(ran.said().contains("+TURTLES: `-sideways` is not an option"), "{}", ran.said());
}

/// T8: in the direct mode a killed program loses no call that was published, and its database is
/// completed without it. The first one makes more calls than the ring of its log holds: they are
/// counted in the log, to save minutes. `TCL_KILLS` makes it more kills.
#[test]
fn a_killed_script_keeps_its_calls_in_the_database() {
    const RING_SIZE: u64 = 64 << 20;
    let kills: u64 = std::env::var("TCL_KILLS").map_or(4, |kills| kills.parse().expect("a number"));
    for kill in 0..kills {
        let place = Place::new();
        let script = format!(
            "{RELEASE}
            proc leaf {{x}} {{return $x}}
            proc loop {{}} {{
                for {{set i 1}} {{$i < 5000000}} {{incr i}} {{
                    leaf $i
                    if {{$i % 97 == 0}} {{puts $i; flush stdout}}
                }}
            }}
            loop
            after 60000"
        );
        let options = [&["+TURTLES", "-commitMode", "direct"], &ON[1..]].concat();
        let mut command = place.command(&script, &options);
        if kill == 0 {
            command.env("EVENTCNV", "true");
        }
        let mut child = command.stdout(Stdio::piped()).spawn().expect("tclsh");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut numbers = output.lines().map_while(|line| line.ok()?.parse::<u64>().ok());
        // A call takes 40 bytes.
        let count = if kill == 0 { RING_SIZE / 40 } else { 1 };
        let first = numbers.find(|number| *number >= count);
        std::thread::sleep(Duration::from_micros(kill * 7919 % 400_000));
        child.kill().expect("a child");
        child.wait().expect("a child");
        let published = numbers.last().or(first).expect("a number");
        assert!(kill > 0 || place.log().metadata().expect("a log").len() > RING_SIZE);
        let in_log = place.edges()[&("::loop".to_owned(), "::leaf".to_owned())];
        assert!(in_log >= published, "{in_log} of {published}");
        if kill == 0 {
            continue;
        }
        // The follower outlives the program: it needs a moment for the rest.
        let count = "
import sqlite3, sys, time
query = 'SELECT calls FROM calls_by_callee WHERE callee_name = ?'
found = None
for _ in range(3000):
    try:
        found = sqlite3.connect(sys.argv[1]).execute(query, ['::leaf']).fetchone()
    except sqlite3.OperationalError:
        pass # The follower has not made the tables yet.
    if found and str(found[0]) == sys.argv[2]:
        break
    time.sleep(0.1)
print(found[0])";
        let mut python = system("python3");
        python.args(["-c", count]).arg(place.log().with_extension("db")).arg(in_log.to_string());
        assert_eq!(lines(&mut python), [in_log.to_string()]);
    }
}

/// T9: in the staged mode a killed program loses the calls since the last interval.
#[test]
fn a_killed_script_loses_one_interval_at_most() {
    const INTERVAL: Duration = Duration::from_millis(100);
    /// The thread that flushes may wait for a processor.
    const DELAY: Duration = Duration::from_secs(2);
    for mode in ["mt", "ev"] {
        let place = Place::new();
        // It makes few calls: no block of a buffer gets full.
        let script = format!(
            "{RELEASE}
            proc leaf {{x}} {{return $x}}
            proc some {{i}} {{
                leaf $i
                puts $i
                flush stdout
                after 20 [list some [incr i]]
            }}
            some 1
            vwait forever"
        );
        let interval = INTERVAL.as_millis().to_string();
        let options = ["+TURTLES", "-intervalMillis", &interval, "-scheduleMode", mode];
        let mut command = place.command(&script, &[&options[..], &ON[1..]].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("tclsh");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let begin = Instant::now();
        let mut times = Vec::new();
        for line in output.lines().map_while(Result::ok) {
            let number: u64 = line.parse().expect("a number");
            times.push((number, begin.elapsed()));
            if begin.elapsed() > INTERVAL + DELAY + Duration::from_millis(500) {
                break;
            }
        }
        child.kill().expect("a child");
        child.wait().expect("a child");
        let end = begin.elapsed();
        let old = times.iter().rev().find(|(_, time)| *time + INTERVAL + DELAY < end);
        let (published, _) = old.expect("an old call");
        let in_log = place.edges()[&("::some".to_owned(), "::leaf".to_owned())];
        assert!(in_log >= *published, "{mode}: {in_log} of {published}");
        assert!(in_log < 1000, "a block may have been full: {in_log}");
    }
}

/// T10: a flush by the event loop leaves what a flush by the thread leaves.
#[test]
fn both_schedules_give_the_same_rows() {
    for (mode, commit) in [("ev", "staged"), ("mt", "staged"), ("ev", "direct"), ("mt", "direct")] {
        let place = Place::new();
        // The process is killed: a flush after the interval wrote the rows.
        let script = format!(
            "{RELEASE}{TOOLS}
            proc ::b {{}} {{}}
            proc ::a {{}} {{b; b}}
            a; b
            after 700 {{set done 1}}
            vwait done
            kill [pid]"
        );
        let options = ["-commitMode", commit, "-intervalMillis", "100", "-scheduleMode", mode];
        let options = [&["+TURTLES"], &options[..], &ON[1..]].concat();
        let output = place.command(&script, &options).output().expect("tclsh");
        assert_eq!(output.status.code(), None, "killed");
        let expected = expected("- ::a 1 \n ::a ::b 2 \n - ::b 1");
        assert_eq!(place.edges(), expected, "{mode} {commit}");
    }
}

/// T11: the log and the database are `PATH/PREFIX-PID`, made with their folder.
#[test]
fn the_database_has_the_process_in_its_name() {
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        cd /
        proc p {{}} {{}}
        p
        ::turtles::capture_the_turtles
        puts [pid]"
    );
    let options = ["-dbPath", "a/../logs", "-dbPrefix", "my program"];
    let ran =
        place.run(&script, &[&["+TURTLES", "-enabled"], &options[..], &["-TURTLES"]].concat());
    let pid = ran.printed().trim().to_owned();
    for extension in ["log", "db"] {
        let expected = place.path().join("logs").join(format!("my program-{pid}.{extension}"));
        assert_eq!(place.files(extension), [expected], "{}", ran.said());
    }
}

#[test]
fn debug_prints_each_call() {
    let place = Place::new();
    let script = format!("{RELEASE} proc ::p {{}} {{}}\n p\n");
    let ran = place.run(&script, &[&["+TURTLES", "-debug"], &ON[1..]].concat());
    assert_eq!(ran.said(), "telemetry: CallEnter ::p\ntelemetry: CallLeave ::p\n");
}

/// The hash of the original, as published, and three of its values.
fn hash(name: &str) -> u64 {
    name.chars().fold(0, |hash, c| (hash * 524_287 + u64::from(c)) % 2_147_483_647)
}

#[test]
fn the_number_of_a_procedure_is_the_hash_of_its_name() {
    assert_eq!(["ab", "ba", ""].map(hash), [50_855_937, 51_380_223, 0]);
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        proc ab {{}} {{}}
        namespace eval ::ä::ö {{proc {{ü 1}} {{}} {{}}}}
        proc {{}} {{}} {{}}"
    );
    let mut command = place.command(&script, ON);
    // Tcl 8 reads a script in the encoding of the system.
    let ran = place.end(command.env("LC_ALL", "C.UTF-8"));
    assert_eq!(ran.said(), "");
    let rows = query(&[place.log()], "SELECT proc_name, proc_id FROM proc_ids ORDER BY 1");
    let names = ["::", "::ab", "::ä::ö::ü 1"];
    let expected = names.map(|name| vec![name.to_owned(), hash(name).to_string()]);
    assert_eq!(rows, expected);
}

/// T15: the times of a call are wall time in µs.
#[test]
fn call_points_have_wall_times() {
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        proc p {{}} {{after 20}}
        set begin [clock microseconds]
        p
        puts \"$begin [clock microseconds]\""
    );
    let ran = place.run(&script, ON);
    let rows = query(&[place.log()], "SELECT time_enter, time_leave FROM call_pts");
    let number = |text: &str| text.trim().parse::<i64>().expect("a number");
    let [begin, end] = [0, 1].map(|at| number(ran.printed().split(' ').nth(at).expect("two")));
    let [enter, leave] = [0, 1].map(|at| number(&rows[0][at]));
    // The clocks of the system agree to a millisecond.
    assert!(begin - 1000 <= enter && leave <= end + 1000, "{begin} {enter} {leave} {end}");
    assert!(leave - enter >= 20_000, "{enter} {leave}");
}

/// T19, as the test of the original has it: the databases of a process and of its forked child have
/// the calls from before the fork, and their own. A killed child lacks an interval at most.
#[test]
fn both_databases_have_the_calls_before_the_fork() {
    for (mode, commit) in [("ev", "staged"), ("mt", "staged"), ("mt", "direct")] {
        let place = Place::new();
        let script = format!(
            "{RELEASE}{TOOLS}
            proc ::noop {{}} {{}}
            proc ::forkme {{}} {{fork}}
            noop
            set child [forkme]
            noop
            if {{$child == 0}} {{
                after 600 {{kill [pid]}}
                vwait forever
            }}
            wait $child
            puts \"[pid] $child\""
        );
        let options = ["-commitMode", commit, "-intervalMillis", "50", "-scheduleMode", mode];
        let ran = place.run(&script, &[&["+TURTLES"], &options[..], &ON[1..]].concat());
        assert_eq!(ran.said(), "", "{mode} {commit}");
        let printed = ran.printed();
        for process in printed.split_whitespace() {
            let log = place.path().join(format!("logs/turtles-{process}.log"));
            let rows = "[('::forkme', 1, 0), ('::noop', 2, 0)]";
            // The follower of the child outlives it, and needs a moment for the rest.
            let wait = "
import sqlite3, sys, time
query = 'SELECT proc_name, count(*), sum(time_leave IS NULL) FROM call_pts ' \\
        'JOIN proc_ids ON proc_id = callee_id GROUP BY 1 ORDER BY 1'
for _ in range(300):
    try:
        found = sqlite3.connect(sys.argv[1]).execute(query).fetchall()
    except sqlite3.OperationalError as error:
        found = error
    if str(found) == sys.argv[2]:
        break
    time.sleep(0.1)
print(found)";
            let mut python = system("python3");
            python.args(["-c", wait]).arg(log.with_extension("db")).arg(rows);
            assert_eq!(lines(&mut python), [rows], "{mode} {commit} {process}");
            // What each recorded itself.
            let is_child = !printed.starts_with(process);
            let own = if is_child { "- ::noop 1" } else { "- ::noop 2 \n - ::forkme 1" };
            assert_eq!(edges(&log), expected(own), "{mode} {commit}");
        }
    }
}

/// T22: threads and child interpreters, each with a release of its own.
#[test]
fn interpreters_and_threads_are_recorded_together() {
    let place = Place::new();
    let script = format!(
        "{RELEASE}{TOOLS}
        set begin {{
            lappend auto_path $::env(TOOLS)
            package require turtles
            set argv {{+TURTLES -enabled -dbPath logs -TURTLES}}
            ::turtles::release_the_turtles argv
            proc leaf {{}} {{}}
            proc loop {{count}} {{for {{set i 0}} {{$i < $count}} {{incr i}} leaf}}
        }}
        proc outer {{}} {{child eval {{loop 3}}}}
        interp create child
        child eval [list set env(TOOLS) $env(TOOLS)]
        child eval $begin
        outer
        interp alias {{}} reach child leaf
        reach
        set script \"$begin; loop 1000\"
        threads $script $script $script $script \"$script; ::turtles::capture_the_turtles; leaf\"
        interp delete child
        outer2"
    );
    // The last command fails: the error ends nothing before its time.
    let script = script.replace("outer2", "proc last {} {error x}\ncatch last");
    let ran = place.run(&script, ON);
    assert_eq!(ran.said(), "");
    let edges = "- ::outer 1 \n ::outer ::loop 1 \n ::loop ::leaf 5003 \n - ::leaf 1 \n \
                 - ::loop 5 \n - ::last 1";
    assert_eq!(place.edges(), expected(edges));
    let threads = query(&[place.log()], "SELECT count(DISTINCT thread) FROM calls");
    assert_eq!(threads, [["6"]]);
}

/// T24: the queries of the original run on the database, from the script that was recorded.
#[test]
fn the_database_is_complete_after_the_capture() {
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        proc ::b {{}} {{}}
        proc ::a {{}} {{b}}
        proc ::never {{}} {{}}
        a; b
        ::turtles::capture_the_turtles
        set db [file join logs turtles-[pid].db]
        puts [exec python3 -c {{
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
ask = lambda sql: db.execute(sql).fetchall()
print(ask('SELECT caller_name, callee_name, calls FROM calls_by_caller_callee ORDER BY 1, 2'))
print(ask('SELECT callee_name, calls FROM calls_by_callee ORDER BY 1'))
print(ask('SELECT * FROM unused_procs'))
print(ask('SELECT count(*) FROM call_pts WHERE time_leave IS NULL'))
}} $db]"
    );
    let ran = place.run(&script, ON);
    let expected = "[('', '::a', 1), ('', '::b', 1), ('::a', '::b', 1)]\n\
                    [('::a', 1), ('::b', 2)]\n[('::never',)]\n[(0,)]\n";
    assert_eq!(ran.printed(), expected, "{}", ran.said());
}

/// The cost of a call is the same after 2,000,000 calls as at the beginning, in processor time.
#[test]
fn the_cost_of_a_call_does_not_grow() {
    let place = Place::new();
    let script = format!(
        "{TOOLS}
        proc plain {{x}} {{return $x}}
        {RELEASE}
        proc leaf {{x}} {{return $x}}
        proc cost {{count what}} {{
            set begin [busy]
            for {{set i 0}} {{$i < $count}} {{incr i}} {{$what $i}}
            expr {{([busy] - $begin) / double($count)}}
        }}
        # The least of several: other programs use the processor's caches, too.
        proc least {{count what}} {{
            for {{set i 0}} {{$i < 50}} {{incr i}} {{lappend costs [cost $count $what]}}
            lindex [lsort -real $costs] 0
        }}
        set first [least 1000 leaf]
        set plain [least 1000 plain]
        cost 2000000 leaf
        puts \"$first [least 1000 leaf] $plain\""
    );
    // No follower takes processor time from it.
    let ran = place.end(place.command(&script, ON).env("EVENTCNV", "true"));
    let printed = ran.printed();
    let [first, last, plain] = [0, 1, 2].map(|at| {
        printed.split_whitespace().nth(at).expect("three").parse::<f64>().expect("a number")
    });
    println!("ns a call: {first} at first, {last} after 2,000,000 calls, untraced {plain}");
    // The original's cost is elevenfold after 20,000 calls. Other programs make the factor.
    assert!(last <= 2.0 * first, "{first} {last}");
    let size = place.log().metadata().expect("a log").len();
    assert!(size > 2_100_000 * 40, "all calls are recorded: {size}");
}

/// The processor's instructions for a script that makes this number of calls.
fn instructions(count: u64) -> u64 {
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        proc leaf {{x}} {{return $x}}
        proc loop {{count}} {{for {{set i 0}} {{$i < $count}} {{incr i}} {{leaf $i}}}}
        loop {count}"
    );
    let mut command = place.command(&script, ON);
    let mut valgrind = system("valgrind");
    valgrind.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    valgrind.arg(command.get_program()).args(command.get_args()).current_dir(place.path());
    for (name, value) in command.env("EVENTCNV", "true").get_envs() {
        match value {
            Some(value) => valgrind.env(name, value),
            None => valgrind.env_remove(name),
        };
    }
    let said = place.end(&mut valgrind).said();
    let line = said.lines().find_map(|line| line.split_once("I   refs:")).expect("a count");
    assert!(place.log().metadata().expect("a log").len() > count * 40, "all are recorded");
    line.1.trim().replace(',', "").parse().expect("a number")
}

/// In instructions, which no other program changes. A run now and then has a step of 3 million of
/// them, as much as 300 calls: it counts little among 20,000. `TCL_CALLS` makes it more calls, and
/// `TCL_INSTRUCTIONS` states how many instructions a call may take, with a library for use.
#[test]
fn the_instructions_of_a_call_do_not_grow() {
    let variable = |name| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let count = variable("TCL_CALLS").unwrap_or(20_000);
    let cost = |count| (instructions(count + 20_000) - instructions(count)) / 20_000;
    let (first, last) = (cost(1000), cost(count));
    println!("instructions a call: {first} at first, {last} after {count} calls");
    assert!(last * 20 <= first * 21, "{first} {last}");
    let most: u64 = variable("TCL_INSTRUCTIONS").unwrap_or(u64::MAX);
    assert!(first <= most && last <= most, "{first} {last}");
}

/// Without eventcnv one line tells what to run.
#[test]
fn a_missing_eventcnv_is_reported_in_one_line() {
    let place = Place::new();
    // The library alone in its folder.
    let folder = place.path().join("package");
    std::fs::create_dir(&folder).expect("a folder");
    for name in ["libturtles.so", "pkgIndex.tcl"] {
        std::fs::copy(package().join(name), folder.join(name)).expect("a package");
    }
    let script = format!("{RELEASE} proc p {{}} {{}}\n p");
    let mut command = place.command(&script, ON);
    let ran = place.end(command.env("TCLLIBPATH", &folder).env("PATH", "/usr/bin:/bin"));
    let (log, said) = (place.log(), ran.said());
    let shown = |path: &Path| path.canonicalize().expect("a file").display().to_string();
    let run = format!("run: eventcnv sql {} -o", shown(&log));
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("turtles: ") && said.contains(&run), "{said}");
    assert_eq!(place.edges(), expected("- ::p 1"));
}

/// A capture waits as long as the follower writes, and half a minute more.
#[test]
fn a_follower_that_hangs_does_not_hold_the_capture() {
    let place = Place::new();
    let follower = place.path().join("hang");
    let script = "#!/bin/sh\ntrap '' TERM\n: > \"$4-wal\"\nexec sleep 600 2>/dev/null\n";
    std::fs::write(&follower, script).expect("a writable folder");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&follower, executable).expect("our own file");
    let script = format!("{RELEASE} proc p {{}} {{}}\n p\n ::turtles::capture_the_turtles\n");
    let mut command = place.command(&script, ON);
    let said = place.end(command.env("EVENTCNV", &follower)).said();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("has written nothing for 30 s; the program goes on"), "{said}");
    let (_, process) = said.split_once("(process ").expect("its number");
    run(system("kill").args(["-KILL", process.trim().trim_end_matches(')')]));
    assert_eq!(place.edges(), expected("- ::p 1"));
}

/// A log that cannot be written does not disturb the program.
#[test]
fn a_folder_that_cannot_be_made_is_reported() {
    let place = Place::new();
    std::fs::write(place.path().join("logs"), "").expect("a file");
    let script = format!("{RELEASE} proc p {{}} {{return x}}\n puts [p]");
    let ran = place.run(&script, ON);
    assert_eq!(ran.printed(), "x\n");
    assert_eq!(ran.said().lines().count(), 1, "{}", ran.said());
}
