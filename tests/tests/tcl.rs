//! The Tcl package `turtles`: scripts under it, their logs, and their databases.
//!
//! ```text
//!  script ── tclsh ─┬─ counts that the script keeps itself ── the naive twin ─┐
//!                   └─ turtles-PID.log, turtles-PID.db ── SQL ──────────────▶ the same?
//! ```
//!
//! `TCLSH=tclsh9.0` runs them all with another Tcl. Design: `.calls.tcl` in `design/calls.md`.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tests::programs::{eventcnv, lines, root, run, system};

/// Calls by caller and callee.
type Edges = BTreeMap<(String, String), u64>;

/// A folder in which scripts run.
struct Place {
    folder: tempfile::TempDir,
}

/// What a script left.
struct Ran<'p> {
    place: &'p Place,
    output: Output,
}

/// Begins to record.
const RELEASE: &str = "package require turtles\n::turtles::release_the_turtles ::argv\n";
/// Has the commands fork, wait, kill, busy and threads.
const TOOLS: &str = "load [file join $env(TOOLS) libtools.so] Tools\n";
const ON: &[&str] = &["+TURTLES", "-enabled", "-dbPath", "logs", "-TURTLES"];

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a command that runs a script with arguments.
    fn command(&self, script: &str, arguments: &[&str]) -> Command {
        std::fs::write(self.path().join("script.tcl"), script).expect("a writable folder");
        let name = std::env::var("TCLSH").unwrap_or_else(|_| "tclsh".to_owned());
        let mut command = system(&name);
        command.arg("script.tcl").args(arguments).current_dir(self.path());
        for name in ["CONTROL", "FILENAME", "BLOCK_SIZE", "WRITER", "SOCKET", "POLICY", "CALLS"] {
            command.env_remove(format!("MPS_TELEMETRY_{name}"));
        }
        command.env_remove("EVENTCNV").env("TCLLIBPATH", package()).env("TOOLS", package());
        command
    }

    /// Runs a script that must succeed.
    fn run(&self, script: &str, arguments: &[&str]) -> Ran<'_> {
        self.end(&mut self.command(script, arguments))
    }

    fn end(&self, command: &mut Command) -> Ran<'_> {
        let output = command.output().expect("tclsh runs");
        let ran = Ran { place: self, output };
        assert!(ran.output.status.success(), "{}\n{}", ran.printed(), ran.said());
        ran
    }

    /// Returns the files in the folder `logs` that have this extension.
    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let Ok(files) = self.path().join("logs").read_dir() else { return Vec::new() };
        let paths = files.map(|file| file.expect("a folder").path());
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|it| it == extension)).collect();
        paths.sort();
        paths
    }

    /// Returns the one log.
    fn log(&self) -> PathBuf {
        let logs = self.files("log");
        let [log] = &logs[..] else { panic!("{logs:?}") };
        log.clone()
    }

    fn edges(&self) -> Edges {
        edges(&self.log())
    }
}

impl Ran<'_> {
    fn printed(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// Returns what is on standard error.
    fn said(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// Returns the counts that the script printed: a line for each caller and callee.
    fn twin(&self) -> Edges {
        let printed = self.printed();
        let counts = printed.lines().filter_map(|line| line.strip_prefix("twin "));
        let counts = counts.map(|line| {
            let words: Vec<&str> = line.split(',').collect();
            let [caller, callee, count] = words[..] else { panic!("{line}") };
            ((caller.to_owned(), callee.to_owned()), count.parse().expect("a number"))
        });
        counts.collect()
    }

    /// Asserts that the log has the calls that the script counted.
    fn check(&self) {
        let twin = self.twin();
        assert!(!twin.is_empty(), "{}", self.said());
        assert_eq!(self.place.edges(), twin);
    }
}

/// Returns the folder with the package, as it is installed, and the tools of these tests.
fn package() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        // Builds the library, too, in the same folder.
        let program = PathBuf::from(eventcnv().get_program());
        let built = program.parent().expect("a folder");
        let folder = built.join("tcl-package");
        std::fs::create_dir_all(&folder).expect("a writable folder");
        // Another test may run it at this moment.
        let index = root().join("calls/tcl/pkgIndex.tcl");
        let link = |from: &Path, name: &str| {
            let _ = std::os::unix::fs::symlink(from, folder.join(name));
        };
        link(&index, "pkgIndex.tcl");
        link(&built.join("libturtles.so"), "libturtles.so");
        let temporary = tempfile::NamedTempFile::new_in(&folder).expect("a file");
        let source = root().join("tests/tests/tcl/tools.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(temporary.path()).arg(source);
        run(cc.arg("-lpthread"));
        temporary.persist(folder.join("libtools.so")).expect("the same folder");
        folder
    })
}

/// Returns the answer of a query on logs: rows of columns.
fn query(logs: &[PathBuf], sql: &str) -> Vec<Vec<String>> {
    let lines = lines(eventcnv().args(["query", "--csv"]).args(logs).arg(sql));
    lines[1..].iter().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// Returns the calls in a log by caller and callee.
fn edges(log: &Path) -> Edges {
    let sql = "SELECT caller_name, callee_name, calls FROM calls_by_caller_callee";
    let rows = query(&[log.to_owned()], sql).into_iter();
    let rows = rows.map(|row| {
        let [caller, callee, count] = &row[..] else { panic!("{row:?}") };
        ((caller.replace('"', ""), callee.clone()), count.parse().expect("a number"))
    });
    rows.collect()
}

/// Returns edges for `caller callee count` in each line.
fn expected(text: &str) -> Edges {
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let edges = words.filter(|words| !words.is_empty()).map(|words| {
        let [caller, callee, count] = words[..] else { panic!("{words:?}") };
        let caller = if caller == "-" { "" } else { caller };
        ((caller.to_owned(), callee.to_owned()), count.parse().expect("a number"))
    });
    edges.collect()
}

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
fn t4_procedures_before_the_release_have_no_rows() {
    let place = Place::new();
    let script = format!("proc early {{}} {{late}}\n{RELEASE} proc late {{}} {{}}\n early");
    place.run(&script, ON);
    assert_eq!(place.edges(), expected("- ::late 1"));
    let names = query(&[place.log()], "SELECT proc_name FROM proc_ids");
    assert_eq!(names, [["::late"]]);
}

#[test]
fn t5_the_capture_writes_open_calls_and_stops() {
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
fn t6_without_enabled_nothing_is_made() {
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
fn t7_options_are_taken_out_of_the_variable() {
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
/// completed without it. `TCL_KILLS` makes it more kills.
#[test]
fn t8_a_killed_script_keeps_its_calls_in_the_database() {
    let kills: u64 = std::env::var("TCL_KILLS").map_or(3, |kills| kills.parse().expect("a number"));
    for kill in 0..kills {
        let place = Place::new();
        let script = format!(
            "{RELEASE}
            proc leaf {{x}} {{return $x}}
            proc loop {{}} {{
                for {{set i 1}} {{$i < 500000}} {{incr i}} {{
                    leaf $i
                    if {{$i % 97 == 0}} {{puts $i; flush stdout}}
                }}
            }}
            loop
            after 60000"
        );
        let options = [&["+TURTLES", "-commitMode", "direct"], &ON[1..]].concat();
        let mut command = place.command(&script, &options);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("tclsh");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut numbers = output.lines().map_while(|line| line.ok()?.parse::<u64>().ok());
        let first = numbers.next();
        std::thread::sleep(Duration::from_micros(kill * 7919 % 400_000));
        child.kill().expect("a child");
        child.wait().expect("a child");
        let published = numbers.last().or(first).expect("a number");
        let in_log = place.edges()[&("::loop".to_owned(), "::leaf".to_owned())];
        assert!(in_log >= published, "{in_log} of {published}");
        // The follower outlives the program: it needs a moment for the rest.
        let count = "
import sqlite3, sys, time
query = 'SELECT calls FROM calls_by_callee WHERE callee_name = ?'
found = None
for _ in range(1000):
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

/// T10: a flush by the event loop leaves what a flush by the thread leaves.
#[test]
fn t10_both_schedules_give_the_same_rows() {
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
fn t11_the_database_has_the_process_in_its_name() {
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
fn t12_debug_prints_each_call() {
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
fn t14_the_number_of_a_procedure_is_the_hash_of_its_name() {
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
fn t15_call_points_have_wall_times() {
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

/// T19: a forked child has a log of its own, and a killed one lacks an interval at most.
#[test]
fn t19_a_forked_child_has_its_own_calls() {
    for mode in ["ev", "mt"] {
        let place = Place::new();
        let script = format!(
            "{RELEASE}{TOOLS}
            proc ::noop {{}} {{}}
            proc ::forkme {{}} {{fork}}
            noop
            set child [forkme]
            noop
            if {{$child == 0}} {{
                noop
                after 600 {{kill [pid]}}
                vwait forever
            }}
            wait $child
            puts \"[pid] $child\""
        );
        let options = ["+TURTLES", "-intervalMillis", "50", "-scheduleMode", mode];
        let ran = place.run(&script, &[&options[..], &ON[1..]].concat());
        let printed = ran.printed();
        let processes: Vec<&str> = printed.split_whitespace().collect();
        let log = |process| place.path().join(format!("logs/turtles-{process}.log"));
        assert_eq!(edges(&log(processes[0])), expected("- ::noop 2 \n - ::forkme 1"));
        // The call of forkme ends in both.
        let child = query(&[log(processes[1])], "SELECT callee_name, calls FROM calls_by_callee");
        assert_eq!(child, [["::noop", "2"]], "{mode}");
    }
}

/// T22: threads and child interpreters, each with a release of its own.
#[test]
fn t22_interpreters_and_threads_are_recorded_together() {
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
fn t24_the_database_is_complete_after_the_capture() {
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

/// T27: a call has the name of the procedure's origin at that time.
#[test]
fn t27_a_call_has_the_name_of_its_origin() {
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        namespace eval ::from {{
            proc one {{args}} {{return}}
            proc two {{args}} {{return}}
            namespace export one
            namespace ensemble create -command ::group -map {{x ::from::two}}
        }}
        namespace eval ::into {{namespace import ::from::one; proc call {{}} {{one; group x 1 2}}}}
        into::call
        interp alias {{}} other {{}} ::into::one 1
        other 2
        # The alias of an alias.
        interp alias {{}} another {{}} other
        another
        # A command that is renamed keeps its calls under each name.
        proc old {{count}} {{
            if {{$count == 0}} return
            rename ::old ::new
            new [expr {{$count - 1}}]
        }}
        old 1
        # A procedure that is redefined while it runs.
        proc again {{}} {{proc again {{}} {{}}; again}}
        again
        again
        # A procedure that deletes itself; its address may be that of a later one.
        proc gone {{}} {{rename gone {{}}; proc here {{}} {{}}; here}}
        gone
        here
        # A wrapper of a command.
        rename ::from::two ::from::real
        proc ::from::two {{args}} {{uplevel 1 [list ::from::real {{*}}$args]}}
        group x
        # A procedure that does nothing: Tcl would compile its call to nothing.
        proc nothing {{args}} {{ }}
        proc caller {{}} {{nothing 1; nothing}}
        caller
        # proc itself under another name, and wrapped.
        rename proc define
        define proc {{args}} {{uplevel 1 [list define {{*}}$args]}}
        proc wrapped {{}} {{}}
        wrapped"
    );
    place.run(&script, ON);
    let edges = "- ::into::call 1 \n ::into::call ::from::one 1 \n ::into::call ::from::two 1 \n \
                 - ::from::one 2 \n - ::old 1 \n ::old ::new 1 \n - ::again 2 \n \
                 ::again ::again 1 \n - ::gone 1 \n ::gone ::here 1 \n - ::here 1 \n \
                 - ::from::two 1 \n ::from::two ::from::real 1 \n - ::proc 1 \n - ::wrapped 1 \n \
                 - ::caller 1 \n ::caller ::nothing 2";
    assert_eq!(place.edges(), expected(edges));
    assert_whole(&place.log());
}

/// Asserts that each call of a log has its beginning and its end.
fn assert_whole(log: &Path) {
    let rows = query(&[log.to_owned()], "SELECT verdict, count(*) FROM calls GROUP BY 1");
    assert!(matches!(&rows[..], [row] if row[0] == "whole"), "{rows:?}");
}

/// T16: coroutines that interleave, resume each other, are deleted while they wait, and fail.
#[test]
fn t16_coroutines_keep_their_callers() {
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        proc leaf {{}} {{}}
        proc wait {{}} {{leaf; yield; leaf}}
        proc body {{count}} {{for {{set i 0}} {{$i < $count}} {{incr i}} wait}}
        proc turn {{args}} {{foreach c $args {{$c}}; leaf}}
        # Interleaved: the two end in turns.
        coroutine a body 3
        coroutine b body 2
        turn a b
        turn a
        turn b a
        # Deleted while it waits: its calls end.
        coroutine c body 1
        rename c {{}}
        leaf
        # Renamed, and resumed from another coroutine.
        coroutine d body 1
        rename d ::e
        proc drive {{name}} {{$name; leaf}}
        coroutine f drive e
        # An error ends all calls of a coroutine.
        proc fail {{}} {{yield; leaf; error x}}
        proc around {{}} {{fail}}
        coroutine g around
        catch {{turn g}}
        leaf
        # Symmetric: control goes from one to the other without a return.
        proc pass {{to}} {{leaf; yieldto $to; leaf}}
        proc stay {{}} {{yield; leaf}}
        coroutine h stay
        coroutine i pass h
        i
        # A coroutine of a command other than a procedure; one that ends at once; one that is running.
        coroutine j apply {{{{}} {{leaf; yield; leaf}}}}
        j
        coroutine k leaf
        catch {{coroutine}}
        catch {{coroutine l nothing}}
        proc self {{}} {{catch {{[info coroutine]}}; leaf; yield; leaf}}
        coroutine m self
        m
        leaf"
    );
    place.run(&script, ON);
    let edges = "- ::body 4 \n ::body ::wait 7 \n ::wait ::leaf 13 \n - ::turn 4 \n \
                 ::turn ::leaf 3 \n - ::leaf 6 \n - ::drive 1 \n ::drive ::leaf 1 \n - ::around 1 \n \
                 ::around ::fail 1 \n ::fail ::leaf 1 \n - ::stay 1 \n - ::pass 1 \n \
                 ::pass ::leaf 2 \n ::stay ::leaf 1 \n - ::self 1 \n ::self ::leaf 2";
    assert_eq!(place.edges(), expected(edges));
    assert_whole(&place.log());
}

/// Random numbers (xorshift), so that a seed gives the same script again.
struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % count
    }
}

/// Returns a random script that counts its own calls. Each call states its caller as an argument.
fn script_of(seed: u64) -> String {
    let random = &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut script = format!("{RELEASE} namespace eval ::n {{}}\n namespace eval ::m {{}}\n");
    let count = 3 + random.below(6);
    for number in 0..count {
        let name = format!("::n::p{number}");
        let mut body = format!(
            "incr ::twin($caller,{name})\n if {{$depth <= 0}} {{return x}}\n incr depth -1\n"
        );
        for _ in 0..1 + random.below(3) {
            let callee = format!("p{}", random.below(count));
            let to = format!("{name} $depth");
            body += &match random.below(13) {
                0..=2 => format!("::n::{callee} {to}"),
                3 => format!("::alias_{callee} {to}"),
                4 => format!("::m::{callee} {to}"),
                5 => format!("uplevel 1 [list ::n::{callee} {to}]"),
                6 => format!("apply {{{{d}} {{::n::{callee} {name} $d}}}} $depth"),
                7 => format!("::group {callee} {to}"),
                8 => format!("catch {{::n::{callee} {to}; error oops}}"),
                9 => format!("::start {callee} $depth"),
                10 => "::resume".to_owned(),
                11 => format!("eval {{::n::{callee} {to}}}"),
                // A tail call has the caller of this call.
                _ => format!("if {{$depth % 2}} {{tailcall ::n::{callee} $caller $depth}}"),
            };
            body += "\n";
        }
        if random.below(2) == 0 {
            body += "if {[info coroutine] ne {}} yield\n";
        }
        if random.below(4) == 0 {
            body += "error oops\n";
        }
        // An error or a break of a callee is one of the caller, or is caught.
        let body = if random.below(2) == 0 { body } else { format!("catch {{{body}}}") };
        script += &format!("proc {name} {{caller depth}} {{{body}}}\n");
        script += &format!("interp alias {{}} ::alias_p{number} {{}} {name}\n");
    }
    let map: Vec<String> = (0..count).map(|number| format!("p{number} ::n::p{number}")).collect();
    script += &format!("namespace ensemble create -command ::group -map {{{}}}\n", map.join(" "));
    script +=
        "namespace eval ::n {namespace export *}; namespace eval ::m {namespace import ::n::*}
        # Aliases of lambdas: nothing has them as its caller.
        set waiting {}
        interp alias {} ::start {} apply {{callee depth} {
            catch {coroutine ::c[incr ::number] ::n::$callee {} $depth}
            if {[info commands ::c$::number] ne {}} {lappend ::waiting ::c$::number}
        }}
        interp alias {} ::resume {} apply {{} {
            set ::waiting [lassign $::waiting first]
            if {$first eq {}} return
            catch $first
            if {[info commands $first] ne {}} {lappend ::waiting $first}
        }}\n";
    for _ in 0..12 {
        script += &format!("catch {{::n::p{} {{}} {}}}\n", random.below(count), random.below(6));
        script += "::resume\n";
    }
    script += "foreach c [info commands ::c*] {
            if {[string match {::c[0-9]*} $c]} {rename $c {}}
        }
        ::turtles::capture_the_turtles
        foreach {edge count} [array get ::twin] {puts \"twin $edge,$count\"}";
    script
}

/// T1, T2, T16: random scripts. `TCL_SEEDS` makes it more of them.
#[test]
fn t1_random_scripts_count_as_their_logs() {
    let seeds = std::env::var("TCL_SEEDS").map_or(6, |seeds| seeds.parse().expect("a number"));
    for seed in 1..=seeds {
        let place = Place::new();
        let script = script_of(seed);
        println!("seed {seed}");
        place.run(&script, ON).check();
        assert_whole(&place.log());
    }
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
            for {{set i 0}} {{$i < 5}} {{incr i}} {{lappend costs [cost $count $what]}}
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
    assert!(last <= 1.5 * first, "{first} {last}");
    let size = place.log().metadata().expect("a log").len();
    assert!(size > 2_010_000 * 40, "all calls are recorded: {size}");
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
