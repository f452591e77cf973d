//! A user records the calls of a C program that was built with `-finstrument-functions`.
//!
//! ```text
//!  cc -finstrument-functions ─▶ program ─ replay record --calls ─▶ LOG ─▶ eventcnv calls, query
//!                                  └─ gcore ─▶ core ─▶ eventcnv calls --unfinished
//! ```
//!
//! Design: `.calls.instrumented` in `design/calls.md`; `.rep.record.refused` in `design/replay.md`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tests::programs::{self, eventcnv, lines, root, run, system};

/// Compiles a program. Without a source it is the one of the library's own tests.
fn compile(folder: &Path, name: &str, source: Option<&str>, options: &[&str]) {
    let path = match source {
        None => root().join("interpose/tests/functions.c"),
        Some(text) => {
            fs::write(folder.join("program.c"), text).unwrap();
            folder.join("program.c")
        }
    };
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-finstrument-functions", "-o", name]).args(options).arg(path);
    run(cc.current_dir(folder));
}

/// Returns `replay record --calls -o a.log WORDS…` in a folder.
fn record(folder: &Path, words: &[&str]) -> Command {
    let mut command = programs::replay();
    command.current_dir(folder).args(["record", "--calls", "--force", "-o", "a.log"]).args(words);
    command
}

fn output(mut command: Command) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = command.output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn every_tool_names_the_functions_of_a_c_program() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "functions", None, &["-fno-inline"]);
    let (code, errors) = output(record(folder.path(), &["./functions", "plain"]));
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.ends_with(": 980 events, nothing lost\n"), "{errors}");
    let mut tool = eventcnv();
    tool.current_dir(folder.path());
    let edges = lines(tool.args(["calls", "a.log", "--by", "edge", "--csv"]));
    for edge in ["main,whole,10,", "whole,part,10,", "fibonacci,fibonacci,464,"] {
        assert!(edges.iter().any(|line| line.starts_with(edge)), "{edges:?}");
    }
    let query = "SELECT caller_name, callee_name, calls FROM calls_by_caller_callee \
                 WHERE callee_name = 'whole'";
    let rows = lines(eventcnv().current_dir(folder.path()).args(["query", "a.log", query]));
    assert!(rows.iter().any(|row| row.contains("main") && row.contains("10")), "{rows:?}");
    let dump = lines(eventcnv().current_dir(folder.path()).args(["-vv", "a.log"]));
    assert!(dump.iter().any(|line| line.contains("CallEnter") && line.contains("fibonacci")));
    run(eventcnv().current_dir(folder.path()).args(["verify", "a.log"]));
    // The program is the object of its functions. As their source it would be shown line by line.
    run(eventcnv().current_dir(folder.path()).args(["export", "a.log", "-o", "a.callgrind"]));
    let export = fs::read_to_string(folder.path().join("a.callgrind")).unwrap();
    assert!(export.contains("\ncob=(1) functions\n"), "{export}");
    assert!(export.contains("\nob=(1)\nfl=(1)\nfn=(5) leaf\n"), "{export}");
    let mut annotate = Command::new("callgrind_annotate");
    annotate.arg("a.callgrind").current_dir(folder.path());
    let (code, errors) = output(annotate);
    assert_eq!((code, &*errors), (Some(0), ""), "this test needs valgrind: ./test --install");
}

/// Those of the compiler's own files have no hooks, nor has a function that is exempt from them.
#[test]
fn functions_that_are_never_called_are_known() {
    const SOURCE: &str = "
static __attribute__((noinline)) int never(int n) { return n * 3; }
__attribute__((no_instrument_function)) int exempt(int n) { return n; }
int seldom(int n) { return n > 100 ? never(n) : n; }
int often(int n) { return n > 100 ? seldom(n) : n; }
int main(int n, char **words) { return often(n) + exempt(n) > 100; }
";
    for options in [&["-O0"][..], &["-O2"], &["-O1", "-fno-plt"], &["-O1", "-no-pie"]] {
        let folder = tempfile::tempdir().unwrap();
        compile(folder.path(), "program", Some(SOURCE), options);
        let (code, errors) = output(record(folder.path(), &["./program"]));
        assert_eq!(code, Some(0), "{errors}");
        let mut tool = eventcnv();
        let unused =
            lines(tool.current_dir(folder.path()).args(["calls", "a.log", "--unused", "--csv"]));
        assert_eq!(unused, ["function,place", "never,program", "seldom,program"], "{options:?}");
        // What the filter excludes is not known.
        let mut command = record(folder.path(), &["./program"]);
        command.env("MPS_TELEMETRY_CALLS", "-never -main");
        assert_eq!(output(command).0, Some(0));
        let mut tool = eventcnv();
        let unused =
            lines(tool.current_dir(folder.path()).args(["calls", "a.log", "--unused", "--csv"]));
        assert_eq!(unused, ["function,place", "seldom,program"], "{options:?}");
    }
}

/// The store is in the core, and so the names are.
#[test]
fn a_core_of_a_stripped_program_has_the_open_calls() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "functions", None, &["-s", "-rdynamic"]);
    let mut command = record(folder.path(), &["./functions", "stuck"]);
    let mut recorder =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a process");
    let mut process = String::new();
    BufReader::new(recorder.stdout.take().unwrap()).read_line(&mut process).unwrap();
    let process = process.trim();
    run(system("gcore").current_dir(folder.path()).args(["-o", "core", process]));
    run(system("kill").args(["-KILL", process]));
    assert_eq!(recorder.wait().unwrap().code(), Some(128 + 9));
    let core = format!("core.{process}");
    let mut tool = eventcnv();
    let open = lines(tool.current_dir(folder.path()).args(["calls", "--unfinished", &core]));
    let functions = open.iter().filter_map(|line| line.split_whitespace().nth(2));
    let functions: Vec<&str> = functions.collect();
    assert!(functions.ends_with(&["main", "stuck", "stuck", "stuck", "stuck"]), "{open:?}");
}

/// The shell itself has no such functions, and no log.
#[test]
fn a_script_may_start_what_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "functions", None, &[]);
    let (code, errors) = output(record(folder.path(), &["sh", "-c", "./functions plain; true"]));
    assert_eq!((code, errors.lines().count()), (Some(0), 1), "{errors}");
    assert!(errors.contains("1 log of its children and earlier programs: 980 events"), "{errors}");
}

const OWN_HOOKS: &str = "
#define HOOK __attribute__((no_instrument_function))
HOOK void __cyg_profile_func_enter(void *function, void *site) {}
HOOK void __cyg_profile_func_exit(void *function, void *site) {}
int main(void) { return 0; }
";

#[test]
fn record_refuses_what_has_no_calls_to_record() {
    let folder = tempfile::tempdir().unwrap();
    let empty = Some("int main(void) { return 0; }");
    compile(folder.path(), "own", Some(OWN_HOOKS), &[]);
    compile(folder.path(), "exporting", Some(OWN_HOOKS), &["-rdynamic", "-s"]);
    compile(folder.path(), "static", empty, &["-static"]);
    let musl = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1";
    compile(folder.path(), "musl", empty, &[musl]);
    compile(folder.path(), "plain", empty, &["-fno-instrument-functions"]);
    for (program, why) in [
        ("./own", "defines __cyg_profile_func_enter itself"),
        ("./exporting", "defines __cyg_profile_func_enter itself"),
        ("./static", "is statically linked"),
        ("./musl", "is linked with musl"),
        ("./plain", "it called no function built with -finstrument-functions"),
    ] {
        let (code, errors) = output(record(folder.path(), &[program]));
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains(why) && errors.lines().count() == 1, "{program}: {errors}");
    }
    let (code, errors) = output(record(folder.path(), &["--anyway", "./exporting"]));
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("of its own hides the recording library"), "{errors}");
}
