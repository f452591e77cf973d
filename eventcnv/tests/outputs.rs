//! What becomes of an output that is there already: when nobody said that it may be replaced, when
//! the tool is interrupted, when the disk is full.
//!
//! ```text
//!  every command with -o ── refused │ SIGINT │ no room ──▶ OUT as it was, and nothing beside it
//! ```
//!
//! Design: `.dumper` in `design/telemetry.md`.

#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    unfulfilled_lint_expectations,
    reason = "another crate uses all of it"
)]
#[path = "../../tests/src/naive.rs"]
mod naive;
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    unfulfilled_lint_expectations,
    reason = "another crate uses all of it"
)]
#[path = "../../tests/src/recipe.rs"]
mod recipe;
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    unfulfilled_lint_expectations,
    reason = "another crate uses all of it"
)]
#[path = "../../tests/src/ring.rs"]
mod ring;
mod support;

use naive::{Buffer, EventType, Platform, Value, Writer};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ring::Ring;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::eventcnv;
use tempfile::TempDir;

/// A command, and what its output is called.
struct Case {
    words: &'static [&'static str],
    output: &'static str,
    is_directory: bool,
    /// Whether it writes so long that it can be interrupted at it.
    is_long: bool,
}

const fn case(words: &'static [&'static str], output: &'static str) -> Case {
    Case { words, output, is_directory: false, is_long: true }
}

const fn directory(words: &'static [&'static str], output: &'static str) -> Case {
    Case { words, output, is_directory: true, is_long: true }
}

/// Every command that writes a file or a directory of its own. (`listen` names its logs itself, and
/// `core` needs a core.)
const CASES: [Case; 11] = [
    case(&["cut"], "out.log"),
    case(&["merge"], "out.log"),
    case(&["recover"], "out.log"),
    case(&["sql"], "out.db"),
    directory(&["parquet"], "out.parquet"),
    Case { words: &["py"], output: "out.py", is_directory: false, is_long: false },
    case(&["report"], "out.html"),
    case(&["export"], "out.json"),
    case(&["export"], "out.pftrace"),
    directory(&["export"], "out.ctf"),
    Case {
        words: &["export", "--stack", "text"],
        output: "out.folded",
        is_directory: false,
        is_long: false,
    },
];

const TYPES: &[EventType] = &[
    EventType {
        code: 1,
        kind: 0,
        name: "PoolAlloc",
        params: &[('P', "pool"), ('A', "address"), ('W', "size")],
    },
    EventType { code: 2, kind: 0, name: "Note", params: &[('W', "number"), ('S', "text")] },
];
/// Events enough for the slowest machine to be interrupted among them.
const EVENT_COUNT: u64 = 600_000;

/// A log of ours with so many events.
fn write_log(path: &Path, event_count: u64) {
    let platform = Platform { big_endian: false, word_size: 8, block_size_log2: 12 };
    let mut writer = Writer::new(platform, *b"log for outputs!", [9; 16]);
    writer.registry(1, &["Pool"], TYPES, 4000);
    let mut ring =
        Ring::new(&platform, Buffer { buffer: 1, registry: 1, kind: 0, thread: 1 }, 1000);
    for i in 0..event_count {
        // No two are alike, so that nothing is small where it is packed.
        let odd = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let alloc = [Value::P(odd ^ odd >> 29), Value::A(odd), Value::W(odd >> 7)];
        let note = [Value::W(odd), Value::S(format!("{odd:x};{i}").into_bytes())];
        let (code, values) = if i % 4 == 0 { (2, &note[..]) } else { (1, &alloc[..]) };
        while !ring.record(&platform, 1000 + i, code, values) {
            ring.write(&mut writer, true);
            ring.advance(&platform, 1000 + i);
        }
    }
    ring.write(&mut writer, true);
    writer.end();
    fs::write(path, writer.bytes()).unwrap();
}

/// A directory in which each output is there already; the log is in another.
fn outputs() -> TempDir {
    let directory = TempDir::new().unwrap();
    for case in &CASES {
        let path = directory.path().join(case.output);
        if case.is_directory {
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("file"), case.output).unwrap();
        } else {
            fs::write(path, case.output).unwrap();
        }
    }
    directory
}

/// Everything is as it was, and nothing else is there.
fn assert_intact(directory: &Path, what: &str) {
    let mut expected: Vec<&str> = CASES.iter().map(|case| case.output).collect();
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(names(directory), expected, "{what}");
    for case in &CASES {
        let path = directory.join(case.output);
        let file = if case.is_directory { path.join("file") } else { path.clone() };
        assert_eq!(fs::read(file).unwrap(), case.output.as_bytes(), "{what}");
        assert!(!case.is_directory || names(&path) == ["file"], "{what}: {:?}", names(&path));
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// The words of a command, with its log and its output.
fn words<'a>(case: &Case, log: &'a str, output: &'a str) -> Vec<&'a str> {
    [case.words, &[log, "-o", output]].concat()
}

/// `.dumper`
#[test]
fn an_output_that_is_there_is_replaced_only_when_it_is_said() {
    let (logs, directory) = (TempDir::new().unwrap(), outputs());
    let log = logs.path().join("a.log");
    write_log(&log, 100);
    for case in &CASES {
        let output = directory.path().join(case.output);
        let words = words(case, log.to_str().unwrap(), output.to_str().unwrap());
        let (text, code, errors) = support::run(&words);
        assert_eq!((code, text), (2, Vec::new()), "{words:?}: {errors}");
        assert!(errors.contains(case.output) && errors.contains("--force"), "{errors}");
        assert_intact(directory.path(), &errors);
    }
    for case in &CASES {
        let output = directory.path().join(case.output);
        let words = words(case, log.to_str().unwrap(), output.to_str().unwrap());
        let (_, code, errors) = support::run(&[&*words, &["--force"]].concat());
        assert_eq!(code, 0, "{words:?}: {errors}");
        let is_old = |path: &Path| fs::read(path).is_ok_and(|old| old == case.output.as_bytes());
        assert!(!is_old(&output) && !is_old(&output.join("file")), "{words:?}");
        assert_eq!(output.is_dir(), case.is_directory);
    }
}

/// `.dumper`
#[test]
fn an_interrupted_command_leaves_what_was_there() {
    let (logs, directory) = (TempDir::new().unwrap(), outputs());
    let log = logs.path().join("a.log");
    write_log(&log, EVENT_COUNT);
    for case in CASES.iter().filter(|case| case.is_long) {
        let output = directory.path().join(case.output);
        let words = words(case, log.to_str().unwrap(), output.to_str().unwrap());
        let mut command = eventcnv(&[&*words, &["--force"]].concat());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        wait_until_it_writes(&mut child, directory.path());
        kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(2), "{words:?}: {status}");
        assert_intact(directory.path(), &format!("{words:?}"));
    }
}

/// Waits until there is something in the directory that was not there.
fn wait_until_it_writes(child: &mut Child, directory: &Path) {
    let start = Instant::now();
    let count = names(directory).len();
    while names(directory).len() == count {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it was seen to write");
        assert!(start.elapsed() < Duration::from_secs(60), "it does not begin to write");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// `.dumper`: a file may have 4 KiB, as if the disk had no more room.
#[test]
fn a_full_disk_leaves_what_was_there_and_is_told() {
    let (logs, directory) = (TempDir::new().unwrap(), outputs());
    let log = logs.path().join("a.log");
    write_log(&log, 4000);
    for case in &CASES {
        let output = directory.path().join(case.output);
        let words = words(case, log.to_str().unwrap(), output.to_str().unwrap());
        // With SIGXFSZ ignored, what does not fit is an error like any other.
        let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", limited, env!("CARGO_BIN_EXE_eventcnv")]);
        command.args(&words).arg("--force").stdin(Stdio::null());
        let (_, code, errors) = support::told(command.output().unwrap());
        assert_eq!(code, 2, "{words:?}: {errors}");
        let is_clear = ["too large", "full", "I/O"].iter().any(|word| errors.contains(word));
        assert!(errors.contains(case.output) && is_clear, "{words:?}: {errors}");
        assert_intact(directory.path(), &errors);
    }
}
