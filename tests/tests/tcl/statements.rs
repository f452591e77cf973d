//! The statements of scripts: their places, counts and times.
//!
//! ```text
//!  script ── tclsh ─┬─ counts that the script keeps itself, by line ── the naive twin ─┐
//!                   └─ turtles-PID.log ── eventcnv lines ─────────────────────────────▶ the same?
//! ```

use crate::place::{ON, Place, RELEASE, Ran, TOOLS, expected};
use crate::programs::program_of;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use tests::programs::{eventcnv, lines, run};

/// A row of TDK's table.
#[derive(Debug)]
struct Row {
    count: u64,
    file: String,
    line: u64,
    /// In ns.
    shortest: u64,
    total: u64,
    offset: usize,
    size: usize,
}

/// Runs a script from a file of its own, and returns what it printed.
fn profile<'p>(place: &'p Place, mode: &str, script: &str) -> Ran<'p> {
    place.end(&mut command(place, mode, script))
}

fn command(place: &Place, mode: &str, script: &str) -> Command {
    std::fs::write(place.path().join("program.tcl"), script).expect("a writable folder");
    let main = format!("{TOOLS}{RELEASE}source program.tcl\n::turtles::capture_the_turtles\n");
    let mut command = place.command(&main, ON);
    // Tcl 8 reads a script in the encoding of the system.
    command.env("MPS_TELEMETRY_PROFILE", mode).env("EVENTCNV", "true").env("LC_ALL", "C.UTF-8");
    command
}

fn rows(log: &Path) -> Vec<Row> {
    rows_by("raw", log)
}

fn rows_by(method: &str, log: &Path) -> Vec<Row> {
    let mut command = eventcnv();
    command.arg("lines").arg(log).args(["--tdk", "--method", method]);
    let all = lines(&mut command);
    assert_eq!(all[0], "NrCallsToCmd,Filename,CmdLine,Min,Avg,Max,Total,CmdCharIndex,CmdLength");
    let rows = all[1..].iter().map(|line| {
        // The name of a statement without a place may have commas.
        let words: Vec<&str> = line.rsplitn(8, ',').collect();
        let number = |text: &str| text.parse().expect("a number");
        let (count, file) = words[7].split_once(',').expect("two");
        Row {
            count: number(count),
            file: file.rsplit('/').next().expect("a name").trim_matches('"').to_owned(),
            line: number(words[6]),
            shortest: words[5].replace('.', "").parse().unwrap_or(0),
            total: words[2].replace('.', "").parse().unwrap_or(0),
            offset: number(words[1]) as usize,
            size: number(words[0]) as usize,
        }
    });
    rows.collect()
}

/// Returns line, offset, size and count of the statements of the program.
fn table(place: &Place) -> Vec<[u64; 4]> {
    let rows = rows(&place.log()).into_iter().filter(|row| row.file == "program.tcl");
    rows.map(|row| [row.line, row.offset as u64, row.size as u64, row.count]).collect()
}

/// Returns counts by the text of the statement in the program.
fn counts(place: &Place) -> BTreeMap<String, u64> {
    let program = std::fs::read(place.path().join("program.tcl")).expect("the program");
    let mut counts = BTreeMap::new();
    for row in rows(&place.log()) {
        let text = match row.file == "program.tcl" {
            true => {
                String::from_utf8_lossy(&program[row.offset..row.offset + row.size]).into_owned()
            }
            false => row.file,
        };
        *counts.entry(text.trim_end_matches(['\n', ';', '\r']).to_owned()).or_default() +=
            row.count;
    }
    counts
}

/// The text that has the numbers of TDK's table.
const MULTIPLY: &str = "
proc multiply {n m} {
    set res 0
    while {$n > 0} {
\tincr n -1
\tincr res $m
    }
    return $res
}

puts \"    2 x  3 = [multiply     2  3]\"
";

/// K2, K4: TDK's example has the paper's counts, lines, indices and lengths, in each mode.
#[test]
fn the_example_of_tdk_has_its_table() {
    for mode in ["count", "time", "trace"] {
        let place = Place::new();
        let ran = profile(&place, mode, MULTIPLY);
        assert_eq!((ran.printed(), ran.said()), ("    2 x  3 = 6\n".to_owned(), String::new()));
        let expected = [
            [2, 1, 105, 1],
            [3, 27, 10, 1],
            [4, 41, 47, 1],
            [5, 59, 10, 2],
            [6, 70, 12, 2],
            [8, 92, 12, 1],
            [11, 107, 40, 1],
            [11, 127, 17, 1],
        ];
        assert_eq!(table(&place), expected, "{mode}");
    }
}

/// K8: what is within a statement, in its text or in a procedure, is a part of its time.
#[test]
fn the_times_of_statements_are_nested() {
    let place = Place::new();
    let script =
        "proc slow {} {\n after 5\n after 5\n}\nset x 1\nputs [slow]\nif {$x} {\n slow\n}\n";
    profile(&place, "time", script);
    let rows = rows(&place.log());
    let total = |offset| {
        let offset = script.find(offset).expect("a text");
        rows.iter()
            .find(|row| row.offset == offset && row.file == "program.tcl")
            .expect("a row")
            .total
    };
    let [puts, slow, condition, set] = ["puts", "slow]", "if", "set"].map(total);
    assert!(slow >= 10_000_000 && puts >= slow && condition >= 10_000_000, "{rows:?}");
    assert!(set < 5_000_000, "{rows:?}");
}

/// Returns the shortest time in µs of a procedure without the recorder, for each pair of sizes.
fn least(body: &str, sizes: &[[u64; 2]]) -> Vec<f64> {
    let script = format!(
        "proc multiply {{n m}} {body}\nforeach {{n m}} {{{}}} {{
            set least 1e9
            for {{set i 0}} {{$i < 20}} {{incr i}} {{
                set begin [clock clicks -microseconds]
                multiply $n $m
                set least [expr {{min($least, [clock clicks -microseconds] - $begin)}}]
            }}
            puts $least
        }}",
        sizes.as_flattened().iter().map(|n| format!("{n} ")).collect::<String>()
    );
    let place = Place::new();
    let ran = place.run(&script, &[]);
    ran.printed().lines().map(|us| us.parse().expect("a time")).collect()
}

/// Runs of a program whose times must be in order in one, at most.
const RUN_COUNT_MAX: u32 = 5;

/// K7, K9: TDK's extended example by all methods, as ratios to the time without the recorder.
/// `TCL_TABLE` makes it the paper's sizes.
#[test]
fn each_method_takes_more_out_than_the_one_before() {
    let sizes: &[[u64; 2]] = match std::env::var_os("TCL_TABLE") {
        Some(_) => &[[5, 2], [5000, 20], [10_000, 10]],
        None => &[[5, 2], [100, 20]],
    };
    let runs = sizes.iter().map(|[n, m]| format!("multiply {n} {m}\n")).collect::<String>();
    let program = format!(
        "{}set begin [clock microseconds]\nfor {{set i 0}} {{$i < 20}} {{incr i}} {{\n{runs}}}\n\
         puts [expr {{[clock microseconds] - $begin}}]\n",
        &MULTIPLY[..MULTIPLY.find("puts").expect("its last line")]
    );
    // Compiled, and as TDK's second baseline.
    let body = "set res 0; while {$n > 0} {incr n -1; incr res $m}; return $res";
    let plain = [format!("{{{body}}}"), format!("{{eval {{{body}}}}}")];
    let plain = plain.map(|body| least(&body, sizes));
    let methods = ["raw", "outer", "calibrated", "leaves"];
    let measure = || {
        let place = Place::new();
        let ran = profile(&place, "trace", &program);
        let wall: f64 = ran.printed().trim().parse().expect("a time");
        (wall, methods.map(|method| rows_by(method, &place.log())))
    };
    let times = |all: &[Vec<Row>; 4], [n, m]: [u64; 2]| {
        let line =
            program[..program.find(&format!("multiply {n} {m}")).expect("it")].lines().count();
        all.each_ref().map(|rows| {
            let is_it = |row: &&Row| row.line == line as u64 + 1 && row.file == "program.tcl";
            rows.iter().find(is_it).expect("a row").shortest as f64 / 1000.0
        })
    };
    // What is left of a statement of a µs is within the noise of what was taken out.
    let is_ordered = |all: &[Vec<Row>; 4]| {
        sizes
            .iter()
            .map(|size| times(all, *size))
            .all(|[raw, outer, calibrated, _]| raw >= outer && outer + raw / 20.0 >= calibrated)
    };
    // A machine that is busy for the whole of a run makes each statement longer.
    let mut runs = (0..RUN_COUNT_MAX).map(|_| measure());
    let (wall, all) = runs.find(|(_, all)| is_ordered(all)).expect("a run in order");
    println!(
        "statement              plain µs  eval µs | shortest µs and ratio to eval: {methods:?}"
    );
    for (at, [n, m]) in sizes.iter().enumerate() {
        let of = |time: f64| format!("{time:.1} ×{:.2}", time / plain[1][at].max(1.0));
        let name = format!("[multiply {n:>5} {m:>2}]");
        let times = times(&all, [*n, *m]).map(of);
        println!("{name:<22} {:>8} {:>8} | {times:?}", plain[0][at], plain[1][at]);
    }
    let app = |rows: &[Row]| {
        let all = rows.iter().filter(|row| row.file == "program.tcl" && row.line > 12);
        all.map(|row| row.total as f64 / 1000.0).fold(0.0, f64::max)
    };
    println!(
        "wall {wall} µs; wall / app by {methods:?}: {:?}",
        all.each_ref().map(|rows| wall / app(rows))
    );
    let sums = |rows: &[Row]| rows.iter().map(|row| row.count).collect::<Vec<_>>();
    assert!(all.iter().all(|rows| sums(rows) == sums(&all[0])), "counts never change");
}

/// K12: without the mode nothing of it exists; with it commands may be three times as deep.
#[test]
fn the_depth_of_commands_is_tripled_and_restored() {
    for (mode, inside) in [("off", "1000"), ("count", "3000"), ("time", "3000")] {
        let place = Place::new();
        let script = "puts [interp recursionlimit {}]\n";
        let mut command = command(&place, mode, script);
        let main = std::fs::read_to_string(place.path().join("script.tcl")).expect("a script");
        let main = format!("{main}puts [interp recursionlimit {{}}]");
        std::fs::write(place.path().join("script.tcl"), main).expect("a writable folder");
        let ran = place.end(&mut command);
        assert_eq!(ran.printed(), format!("{inside}\n1000\n"), "{mode}");
        let output = eventcnv().arg("lines").arg(place.log()).output().expect("eventcnv");
        assert_eq!(output.status.success(), mode != "off", "{mode}");
    }
}

/// A program that sets the limit itself keeps it.
#[test]
fn a_depth_that_the_program_sets_stays() {
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        interp recursionlimit {{}} 500
        ::turtles::capture_the_turtles
        puts [interp recursionlimit {{}}]"
    );
    let mut command = place.command(&script, ON);
    let ran = place.end(command.env("MPS_TELEMETRY_PROFILE", "count"));
    assert_eq!(ran.printed(), "500\n");
}

/// A random program that found a fault: a coroutine that resumes itself.
const FOUND: [u64; 1] = [1009];

/// A random program counts its lines as the profile does. `TCL_SEED` gives the first seed,
/// `TCL_COUNT` how many.
#[test]
fn random_programs_count_as_their_profiles_do() {
    let variable = |name| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let first: u64 = variable("TCL_SEED").unwrap_or(1);
    let seeds = first..first + variable("TCL_COUNT").unwrap_or(12);
    for seed in seeds.chain(FOUND) {
        let mode = ["count", "time", "trace"][seed as usize % 3];
        let place = Place::new();
        let program = program_of(seed);
        let ends = "\nputs {}; foreach line [lsort -integer [array names ::c]] {puts \"twin $line \
                    $::c($line)\"}\n";
        let ran = profile(&place, mode, &(program.clone() + ends));
        let mut twin = BTreeMap::new();
        for line in ran.printed().lines().filter_map(|line| line.strip_prefix("twin ")) {
            let (line, count) = line.split_once(' ').expect("two");
            twin.insert(format!("incr ::c({line})"), count.parse::<u64>().expect("a number"));
        }
        let mut counts = counts(&place);
        counts.retain(|text, count| text.starts_with("incr ::c(") && *count > 0);
        assert_eq!(counts, twin, "seed {seed}, {mode}:\n{program}");
        let mut command = eventcnv();
        let said = run(command.arg("lines").arg(place.log())).stderr;
        assert!(!String::from_utf8_lossy(&said).contains("contradict"), "seed {seed}");
    }
}

/// Two commands with one text on a line are two statements.
#[test]
fn equal_commands_of_a_line_are_told_apart() {
    let place = Place::new();
    let script = "proc p {} {incr ::a; set b [incr ::a]; incr ::a; set b [incr ::a]; incr ::a}\n\
                  p; p; p\nforeach i {1 2} {p}\n";
    profile(&place, "count", script);
    let rows = table(&place);
    let of_p: Vec<_> = rows.iter().filter(|[line, offset, ..]| *line == 1 && *offset > 0).collect();
    assert_eq!(of_p.len(), 7, "{rows:?}");
    assert!(of_p.iter().all(|[.., count]| *count == 5), "{rows:?}");
}

/// A script that was computed has no place: its statements are its texts, by procedure.
#[test]
fn a_computed_script_counts_by_its_text() {
    let place = Place::new();
    let script = "set s {set g 1}\nproc f {} {eval $::s; eval $::s}\nf\nif 1 $s\n\
                  eval [list set h 2]\n\
                  proc un args {}\nproc c {x} {incr ::n $x}\n\
                  for {set i 0} {$i < 100} {incr i} {after 0 [list c $i]}\nupdate\n";
    profile(&place, "time", script);
    let counts = counts(&place);
    let of = |text: &str| counts.get(text).copied().unwrap_or(0);
    assert_eq!([of("::f set g 1"), of(":: set g 1"), of("incr ::n $x")], [2, 1, 100], "{counts:?}");
    // Callbacks have other arguments each time.
    let callbacks: u64 = (0..100).map(|i| of(&format!(":: c {i}"))).sum();
    assert_eq!((callbacks, of(":: c …")), (16, 84), "{counts:?}");
}

/// Methods that call themselves and the next class's have their places. Tcl tells none for
/// constructors: their statements are texts.
#[test]
fn methods_have_their_places() {
    let place = Place::new();
    let script = "
oo::class create Tree {
    variable left right
    constructor {n} {
        set left {}; set right {}
        if {$n > 0} {set left [Tree new [incr n -1]]; set right [Tree new $n]}
    }
    method sum {} {
        set s 1
        if {$left ne {}} {incr s [$left sum]}
        if {$right ne {}} {incr s [$right sum]}
        return $s
    }
    destructor {incr ::gone}
}
oo::class create Sub {
    superclass Tree
    method sum {} {
        set x [next]
        return $x
    }
}
set t [Tree new 4]
puts [$t sum]
puts [[Sub new 2] sum]
$t destroy
";
    let ran = profile(&place, "time", script);
    assert_eq!(ran.printed(), "31\n7\n");
    let counts = counts(&place);
    for (text, count) in [
        ("set s 1", 38),
        ("return $s", 38),
        ("incr s [$left sum]", 18),
        ("$right sum", 18),
        ("set x [next]", 1),
        ("return $x", 1),
        ("::Tree::<destructor> incr ::gone", 1),
        ("::Tree::<constructor> set right {}", 38),
    ] {
        assert_eq!(counts.get(text), Some(&count), "{text}: {counts:?}");
    }
}

/// The memory is bounded: what is beyond the limits is one statement.
#[test]
fn texts_without_end_are_others() {
    let place = Place::new();
    let script = "for {set i 0} {$i < 6000} {incr i} {proc c$i {} {}; eval \"c$i\"}\n";
    profile(&place, "count", script);
    let all = rows(&place.log());
    let others: u64 = all.iter().filter(|row| row.file == "(others)").map(|row| row.count).sum();
    assert!(all.len() < 4200, "{}", all.len());
    // Each name is told once as a text, and all of them are counted.
    let texts: u64 =
        all.iter().filter(|row| row.file.starts_with(":: c")).map(|row| row.count).sum();
    assert_eq!(others + texts, 6000);
    assert!(others > 1800, "{others}");
}

/// A coroutine that waits takes no time.
#[test]
fn the_times_of_a_coroutine_lack_its_waits() {
    let place = Place::new();
    let script = "proc body {} {\n foreach i {1 2 3} {\n  yield\n }\n}\ncoroutine c body\n\
                  after 60\nc\nafter 60\nc\nc\n";
    profile(&place, "time", script);
    let rows = rows(&place.log());
    let total =
        |line| rows.iter().find(|row| row.line == line && row.file == "program.tcl").unwrap();
    assert_eq!(total(3).count, 3);
    assert!(total(2).total < 50_000_000 && total(3).total < 50_000_000, "{rows:?}");
    assert!(total(7).total >= 60_000_000, "{rows:?}");
}

/// Ends of lines of Windows, tabs, letters of several bytes, lines that go on after a backslash.
#[test]
fn odd_files_have_right_places() {
    let script = "proc f {x} {\r\n\tset é \"ü €\"; set b [string length \\\r\n\t\t$x]\r\n\t\
                  # set é 1\r\n\tif {$b > 1 && \\\r\n\t    $b < 9} \
                  {incr ::n \\\r\n\t   2}\r\n}\r\nf abc\r\n";
    let place = Place::new();
    profile(&place, "count", script);
    let counts = counts(&place);
    for text in [
        "set é \"ü €\"",
        "string length \\\r\n\t\t$x",
        "set b [string length \\\r\n\t\t$x]",
        "incr ::n \\\r\n\t   2",
        "f abc",
    ] {
        assert_eq!(counts.get(text), Some(&1), "{text}: {counts:?}");
    }
}

/// A file that is changed and sourced again has its new places.
#[test]
fn a_file_that_is_changed_is_read_again() {
    let place = Place::new();
    let script = "proc write {text} {set f [open other.tcl w]; puts $f $text; close $f}\n\
                  write \"set first 1\"\nsource other.tcl\n\
                  write \"\\n\\nset second 2\"\nsource other.tcl\n\
                  file delete other.tcl\ncatch {source other.tcl}\n";
    profile(&place, "count", script);
    let rows = rows(&place.log());
    let other = rows.iter().filter(|row| row.file == "other.tcl");
    let found: Vec<_> = other.map(|row| (row.line, row.offset, row.size, row.count)).collect();
    assert_eq!(found, [(1, 0, 12, 1), (3, 2, 13, 1)]);
}

/// A child process, interpreters and threads have the same statements.
#[test]
fn children_and_threads_count_their_own_statements() {
    let place = Place::new();
    let script = "
proc p {} {
    incr ::n
}
p
set child [fork]
p
if {$child == 0} {::turtles::capture_the_turtles; exit}
wait $child
interp create i
i eval [list set env(TOOLS) $env(TOOLS)]
set begin {
    lappend auto_path $::env(TOOLS)
    package require turtles
    set argv {+TURTLES -enabled -dbPath logs -TURTLES}
    ::turtles::release_the_turtles argv
    source part.tcl
}
set f [open part.tcl w]; puts $f \"proc q {} {\\nincr ::m\\n}\\nq; q\"; close $f
i eval $begin
threads $begin $begin $begin
puts $child
";
    let ran = profile(&place, "time", script);
    let child = ran.printed().trim().to_owned();
    let logs = place.files("log");
    assert_eq!(logs.len(), 2);
    for log in logs {
        let is_child = log.to_string_lossy().contains(&format!("-{child}."));
        let rows = rows(&log);
        let count = |file: &str, line| {
            let of = rows.iter().filter(|row| row.file == file && row.line == line);
            of.map(|row| row.count).sum::<u64>()
        };
        let expected = if is_child { [1, 0] } else { [2, 8] };
        assert_eq!([count("program.tcl", 3), count("part.tcl", 2)], expected, "{rows:?}");
    }
}

/// The calls of a program are the same while its statements are profiled.
#[test]
fn calls_stay_as_they_are_while_statements_are_profiled() {
    let place = Place::new();
    let script = "
proc leaf {args} {}
proc wait {} {leaf; yield; leaf}
proc tail {n} {if {$n > 0} {tailcall tail [expr {$n - 1}]}; leaf}
proc fail {} {leaf; error x}
proc top {} {catch fail; tail 3; coroutine c wait; c; uplevel 1 {leaf}; string length [leaf]}
top
rename leaf other
top2
";
    let script = script.replace("top2", "proc leaf {} {other}\nleaf");
    profile(&place, "trace", &script);
    let edges = "- ::top 1 \n ::top ::fail 1 \n ::fail ::leaf 1 \n ::top ::tail 4 \n \
                 ::tail ::leaf 1 \n - ::wait 1 \n ::wait ::leaf 2 \n ::top ::leaf 2 \n \
                 - ::leaf 1 \n \
                 ::leaf ::other 1";
    assert_eq!(place.edges(), expected(edges));
}

/// The filter excludes the statements of a procedure, and of the calls alone.
#[test]
fn the_filter_excludes_the_statements_of_a_procedure() {
    let place = Place::new();
    let script = "proc hidden {} {\n set a 1\n}\nproc shown {} {\n set b 1\n}\nhidden; shown\n";
    let mut command = command(&place, "count", script);
    place.end(command.env("MPS_TELEMETRY_CALLS", "-::hidden"));
    let lines: Vec<u64> = table(&place).iter().map(|[line, ..]| *line).collect();
    assert_eq!(lines, [1, 4, 5, 7, 7]);
}
