//! Runs every example in the help of every command.
//!
//! ```text
//!  eventcnv COMMAND --help ── Examples: ──▶ sh, in a directory with mpsio.log, run.log, old.log
//! ```
//!
//! Design: `.cnv.examples` in `design/eventcnv.md`.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use support::{golden_path, mps, run, told};
use tempfile::TempDir;

/// Examples that run until a signal stops them, or that need a live or dead program. Another file
/// tests each with such a program.
const ELSEWHERE: [(&str, &str); 5] = [
    ("eventcnv listen ", "tests/tests/listen.rs"),
    ("eventcnv control", "tests/tests/outside.rs"),
    ("eventcnv record ", "tests/tests/record.rs"),
    ("paths collect", "tests/tests/paths.rs"),
    ("core.4711", "tests/tests/cores.rs"),
];

/// Writes the logs and other files that examples need.
fn prepare(directory: &Path) {
    let copy = |from: &Path, to: &str| fs::copy(from, directory.join(to)).map(drop).unwrap();
    copy(&golden_path("log/heap.log"), "mpsio.log");
    copy(&golden_path("log/heap-2.log"), "run.log");
    copy(Path::new(&mps("labels.log")), "old.log");
    for name in ["control", "release.log", "run.log.1", "run.log.2"] {
        copy(&golden_path("log/heap.log"), name);
    }
    let runs = ["new1.log", "new2.log", "old1.log", "old2.log"];
    for name in ["shop.log", "shop.log-4711", "older-shop.log"].into_iter().chain(runs) {
        copy(&golden_path("calls/shop.log"), name);
    }
    for name in ["till.log", "older-till.log"] {
        copy(&golden_path("lines/till.log"), name);
    }
    for name in ["kernel.log", "store.log"] {
        copy(&golden_path(&format!("explain/{name}")), name);
    }
    copy(&golden_path("waits/tiny.perf.data"), "perf.data");
    for name in ["shop.graph", "run0"] {
        copy(&golden_path(&format!("paths/{name}")), name);
    }
    fs::write(directory.join("events.txt"), EVENTS_TEXT).unwrap();
    // The source file of its statements is older than the log.
    fs::create_dir(directory.join("src")).unwrap();
    copy(&golden_path("lines/shop.txt"), "src/shop.rs");
    let source = fs::File::options().append(true).open(directory.join("src/shop.rs")).unwrap();
    source.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000)).unwrap();
    let gzip = Command::new("gzip").args(["-k", "run.log"]).current_dir(directory).status();
    assert!(gzip.is_ok_and(|status| status.success()), "gzip packs an example's log");
    fs::create_dir_all(directory.join(".local/share/bash-completion/completions")).unwrap();
    fs::write(directory.join("older.log"), older_log()).unwrap();
    fs::write(directory.join("eventdef.h"), EVENTDEF).unwrap();
    for name in ["old", "new"] {
        fs::create_dir(directory.join(name)).unwrap();
        copy(&golden_path(&format!("eventdef/{name}.h")), &format!("{name}/eventdef.h"));
    }
}

/// What `perf script` prints of one event.
const EVENTS_TEXT: &str =
    "a 7 [000] 1.000002: sched:sched_process_exit: comm=a pid=7 prio=120 group_dead=true\n";

/// The `eventdef.h` of another version of the MPS, with the events of [`older_log`].
const EVENTDEF: &str = "\
#define EVENT_VERSION_MAJOR ((unsigned)3)
#define EVENT_VERSION_MEDIAN 0
#define EVENT_VERSION_MINOR 0
#define EVENT_LIST(EVENT, X) EVENT(X, EventInit, 0x001d, TRUE, Arena)
#define EVENT_EventInit_PARAMS(PARAM, X) PARAM(X, 0, U, a) PARAM(X, 1, U, b) \\
  PARAM(X, 2, U, c) PARAM(X, 3, U, d) PARAM(X, 4, U, e) PARAM(X, 5, U, f) PARAM(X, 6, W, g)
";

/// Returns the first event of a log of the MPS, which states version 3.
fn older_log() -> Vec<u8> {
    let mut log = fs::read(mps("labels.log")).unwrap();
    log.truncate(usize::from(u16::from_le_bytes([log[2], log[3]])));
    log[16] = 3;
    log
}

/// Returns the commands that the help lists, after an empty one for the tool without a command.
fn commands() -> Vec<String> {
    let (help, _, _) = run(&["-h"]);
    let help = String::from_utf8(help).unwrap();
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.map(|line| line.split_whitespace().next().unwrap().to_owned());
    [String::new()].into_iter().chain(names).collect()
}

/// Returns the command lines of the examples in a help text: the text before two spaces.
fn examples(help: &str) -> Vec<String> {
    let sections = help.split("\nExamples").skip(1).filter_map(|rest| rest.split_once('\n'));
    let lines = sections.flat_map(|(_, rest)| rest.lines().take_while(|line| !line.is_empty()));
    let is_example = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let line = |line: &str| line.trim_start().split("  ").next().unwrap().trim_end().to_owned();
    lines.filter(is_example).map(line).collect()
}

/// `.cnv.examples`
#[test]
fn every_example_in_the_help_works() {
    let bin = Path::new(env!("CARGO_BIN_EXE_eventcnv")).parent().unwrap();
    let path = std::env::join_paths(
        [bin.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let path = path.unwrap();
    let mut count = 0;
    for command in commands().iter().filter(|command| *command != "help") {
        let args: Vec<&str> =
            [command.as_str(), "--help"].into_iter().filter(|a| !a.is_empty()).collect();
        let (help, _, _) = run(&args);
        let found = examples(&String::from_utf8(help).unwrap());
        assert!(!found.is_empty(), "eventcnv {command} --help has no examples");
        let directory = TempDir::new().unwrap();
        prepare(directory.path());
        for example in found {
            if ELSEWHERE.iter().any(|(part, _)| example.contains(part)) {
                continue;
            }
            let mut shell = Command::new("sh");
            shell.args(["-c", &example]).current_dir(&directory).env("PATH", &path);
            shell.env("HOME", directory.path()).stdin(Stdio::null());
            shell.env_remove("MPS_TELEMETRY_FILENAME").env_remove("MPS_TELEMETRY_DATABASE");
            let (_, code, errors) = told(shell.output().unwrap());
            assert_eq!((code, errors.as_str()), (0, ""), "eventcnv {command} --help: {example}");
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}

/// The files in `ELSEWHERE` test the other examples.
#[test]
fn tests_of_the_other_examples_exist() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // The package of this crate lacks the tests of the whole system.
    if !repository.join("tests/tests").exists() {
        return;
    }
    for (part, file) in ELSEWHERE {
        let text = fs::read_to_string(repository.join(file)).unwrap();
        let word = part.split([' ', '.']).find(|word| *word != "eventcnv").unwrap();
        assert!(text.contains(word), "{file} does not test {part}");
    }
}
