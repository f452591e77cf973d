//! A real gdb calls the library's entry points by their names, with the lines of the MPS's design.
//!
//! ```text
//!  gdb --batch stopped ── break, run ── print EventKindControl |= 2 ── call EventDump(1) ── …
//!       Rust frame, C frame; the program without debug information, or stripped
//! ```
//! The tests check the text that a call writes, not its result: before version 14, gdb cannot
//! restore all registers of a processor with AMX, and prints that in place of the result. The
//! program continues nevertheless.
//! Design: `.debug.dump`, `.debug.describe`, `.control.output` in `design/telemetry.md`.
#![forbid(unsafe_code)]

use eventlog::reader::{Filter, Log, Order, Value};
use std::path::Path;
use std::process::Command;
use tests::programs::system;

const STOPPED: &str = env!("CARGO_BIN_EXE_stopped");
const IN_RUST: &str = "break stopped::here";
const IN_C: &str = "break sched_yield";
const SET: &str = "print EventKindControl |= 2";
const DUMP: &str = "call EventDump(1)";
const DESCRIBE: &str = "call EventDescribe(EventLast[3], 1)";

/// Returns the output of gdb and the program, for these gdb commands in this folder.
fn gdb(folder: &Path, program: &Path, commands: &[&str]) -> String {
    let mut gdb = system("gdb");
    gdb.current_dir(folder).args(["--batch", "-nx", "-iex", "set debuginfod enabled off"]);
    let prelude = ["set confirm off", "set breakpoint pending on", "set width 0"];
    for command in prelude.iter().chain(commands) {
        gdb.arg("-ex").arg(command);
    }
    for name in ["CONTROL", "FILENAME", "BLOCK_SIZE", "WRITER", "SOCKET", "CRASH"] {
        gdb.env_remove(format!("MPS_TELEMETRY_{name}"));
    }
    let output = gdb.arg(program).output().expect("gdb runs");
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|o| String::from_utf8_lossy(o));
    format!("{stdout}\n{stderr}")
}

/// Returns the indexes of the kind-Pool events in the log that a program left in a folder.
fn pools(folder: &Path, is_closed: bool) -> Vec<u64> {
    let log = Log::open(folder.join("mpsio.log")).expect("a log");
    assert!(log.faults().is_empty(), "{:?}", log.faults());
    assert_eq!(log.is_closed(), is_closed);
    let mut events = log.events(Order::Time, &Filter::default());
    let mut found = Vec::new();
    while let Some(event) = events.next() {
        assert_ne!(event.name(), "SegAlloc", "a kind that is not output");
        if let (true, Some(Value::W(index))) = (event.name() == "PoolInit", event.param("index")) {
            found.push(index);
        }
    }
    found
}

/// Returns the events of a dump, without ages.
fn dump(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.ends_with("in memory, oldest first:"));
    let events = lines.skip(1).map_while(|line| line.split_once(" s  "));
    events.map(|(_, event)| event.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn judge_dump(text: &str) {
    let pool = |index| {
        format!("1 stopped PoolInit pool:0000000000001000[\"the first pool\"] index:{index:016X}")
    };
    let seg = |thread| {
        let label = "base:0000000000007000";
        format!("{} maker {thread} SegAlloc {label} thread:{thread}", thread + 1)
    };
    let expected: Vec<String> = (0..10).map(pool).chain((1..4).map(seg)).collect();
    assert_eq!(dump(text), expected, "{text}");
    assert!(text.contains("telemetry: 13 events of 4 threads\n"), "{text}");
}

fn judge_description(text: &str) {
    let head = "telemetry: event 0002 of registry heap, kind Seg, number 0 of buffer 4:";
    let at = text.find(head).unwrap_or_else(|| panic!("{text}"));
    let lines: Vec<&str> = text[at..].lines().take(5).collect();
    assert!(lines[1].ends_with("SegAlloc base:0000000000007000 thread:3"), "{text}");
    let rest = ["  SegAlloc: A segment was made.", "    base, A: its first byte"];
    assert_eq!(lines[2..4], rest);
    assert_eq!(lines[4], "    thread, U: the thread that made it");
}

/// `.root.self`: of two libraries in a process with the runtime, each has its own root.
#[test]
fn no_other_library_can_replace_the_root_and_the_masks() {
    let output = system("nm").arg(STOPPED).output().expect("nm runs");
    let symbols = String::from_utf8_lossy(&output.stdout).into_owned();
    let binding = |name| {
        let words = symbols.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        words.filter(|words| words.last() == Some(&name)).map(|words| words[1].to_owned()).next()
    };
    for name in ["EventRoot", "EventKindControl", "EventLast"] {
        let binding = binding(name).expect("a symbol of the program");
        assert!(["b", "d"].contains(&&*binding), "{name} is not local: {binding}");
    }
    // C code calls this symbol by its name.
    assert_eq!(binding("EventDump").as_deref(), Some("T"));
}

/// `.control.output`, `.debug.dump`, `.debug.describe`: the lines of the MPS's own document.
#[test]
fn gdb_runs_the_documented_lines_in_frames_of_rust_and_c() {
    for frame in [IN_RUST, IN_C] {
        let folder = tempfile::tempdir().expect("a folder");
        let commands = [frame, "run", SET, DUMP, DESCRIBE, "print EventLast[3]", "delete"];
        let text = gdb(folder.path(), Path::new(STOPPED), &[&commands[..], &["continue"]].concat());
        judge_dump(&text);
        judge_description(&text);
        assert!(!text.contains("No symbol") && !text.contains("unknown type"), "{text}");
        let is_handle = |line: &str| {
            line.starts_with('$') && line.contains(" = ") && {
                let value = line.split(" = ").nth(1).unwrap_or_default();
                value.contains("0x")
            }
        };
        assert!(text.lines().any(is_handle), "print EventLast[3]: {text}");
        assert_eq!(pools(folder.path(), true), (0..20).collect::<Vec<_>>(), "{frame}: {text}");
    }
}

/// `.debug.dump`: the one thread that the debugger lets run writes the log at once.
#[test]
fn a_flush_writes_the_log_while_other_threads_are_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let (lock, copy) = ("set scheduler-locking on", "shell cp mpsio.log early.log");
    let unlock = "set scheduler-locking off";
    let flush = "call EventFlush()";
    let commands = [IN_C, "run", SET, lock, flush, copy, unlock, "delete", "continue"];
    let text = gdb(folder.path(), Path::new(STOPPED), &commands);
    let early = folder.path().join("early");
    std::fs::create_dir(&early).expect("a folder");
    std::fs::rename(folder.path().join("early.log"), early.join("mpsio.log")).expect("a copy");
    assert_eq!(pools(&early, false), (0..10).collect::<Vec<_>>(), "{text}");
    assert_eq!(pools(folder.path(), true), (0..20).collect::<Vec<_>>(), "{text}");
}

/// `.debug`: gdb knows only the lines of the optimised program. Of the stripped program gdb knows
/// only symbols, so that the commands need a cast as in C.
#[test]
fn gdb_runs_the_lines_in_optimised_and_stripped_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let optimised = compile(folder.path());
    let commands = [IN_C, "run", SET, DUMP, DESCRIBE, "delete", "continue"];
    let text = gdb(folder.path(), &optimised, &commands);
    assert!(text.contains("telemetry: 10 events of 1 thread\n"), "{text}");
    assert!(text.contains("telemetry: no event of kind 3 is in memory"), "{text}");
    assert_eq!(pools(folder.path(), true), (0..20).collect::<Vec<_>>(), "{text}");
    let stripped = folder.path().join("stripped");
    let mut strip = system("objcopy");
    strip.arg("--strip-debug").arg(&optimised).arg(&stripped);
    assert!(strip.status().expect("objcopy runs").success());
    std::fs::remove_file(folder.path().join("mpsio.log")).expect("the log");
    let set = "print *(unsigned long *) &EventKindControl |= 2";
    let dump = "call (long) EventDump(1)";
    let text = gdb(folder.path(), &stripped, &[IN_C, "run", set, dump, "delete", "continue"]);
    assert!(text.contains("telemetry: 10 events of 1 thread\n"), "{text}");
    assert_eq!(pools(folder.path(), true), (0..20).collect::<Vec<_>>(), "{text}");
}

const OPTIMISED: &str = r#"
mod heap {
    telemetry::events! {
        /// The events of a heap.
        registry "heap" version(1, 0, 0);
        kinds standard;

        /// A pool was created.
        PoolInit(0x0001, always, Pool) {
            /// which one
            index: W,
        }
    }
}

fn main() {
    (0..10usize).for_each(|index| telemetry::event!(heap::PoolInit, index));
    std::thread::yield_now();
    (10..20usize).for_each(|index| telemetry::event!(heap::PoolInit, index));
}
"#;

/// Compiles an optimised program without debug information, linked with the same library as the
/// tests.
fn compile(folder: &Path) -> std::path::PathBuf {
    let libraries = std::env::current_exe().expect("a path").parent().expect("a folder").to_owned();
    let is_it = |name: &str| name.starts_with("libtelemetry-") && name.ends_with(".rlib");
    let entries = std::fs::read_dir(&libraries).expect("a folder").map(|entry| entry.expect("one"));
    let library = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_it));
    let modified = |entry: &std::fs::DirEntry| entry.metadata().and_then(|data| data.modified());
    let library = library.max_by_key(|entry| modified(entry).expect("a time")).expect("a library");
    let (source, program) = (folder.join("optimised.rs"), folder.join("optimised"));
    std::fs::write(&source, OPTIMISED).expect("written");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    rustc.args(["--edition", "2024", "-O", "-C", "debuginfo=0", "-C", "link-dead-code=no"]);
    rustc.arg("--extern").arg(format!("telemetry={}", library.path().display()));
    rustc.arg("-L").arg(format!("dependency={}", libraries.display()));
    let output = rustc.arg("-o").arg(&program).arg(&source).output().expect("rustc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}
