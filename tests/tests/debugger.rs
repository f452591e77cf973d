//! The library's own entry points, by their names, in a real gdb: the seed's lines word for word.
//!
//! ```text
//!  gdb --batch stopped ── break, run ── print EventKindControl |= 2 ── call EventDump(1) ── …
//!       Rust frame, C frame, no debug information of the program, stripped of it
//! ```
//!
//! What a call gives is told by what it writes: a gdb before 14 cannot put all registers of a
//! processor with AMX back, and says so in place of the result; the program goes on all the same.
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

/// What gdb and the program print where these are gdb's commands, in this folder.
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

/// Indexes of the events of a kind in the log that a program left in the folder.
fn pools(folder: &Path, is_closed: bool) -> Vec<u64> {
    let log = Log::open(folder.join("mpsio.log")).expect("a log");
    assert!(log.faults().is_empty(), "{:?}", log.faults());
    assert_eq!(log.is_closed(), is_closed);
    let mut events = log.events(Order::Time, &Filter::default());
    let mut found = Vec::new();
    while let Some(event) = events.next() {
        assert_ne!(event.name(), "SegAlloc", "of a kind that is not output");
        if let (true, Some(Value::W(index))) = (event.name() == "PoolInit", event.param("index")) {
            found.push(index);
        }
    }
    found
}

/// Lines of a dump: what it says, without ages.
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

/// `.root.self`: so that of two libraries in a process that carry the runtime each has its own.
#[test]
fn no_other_library_can_take_the_place_of_the_root_and_the_mask() {
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
    // What C calls by its name.
    assert_eq!(binding("EventDump").as_deref(), Some("T"));
}

/// `.control.output`, `.debug.dump`, `.debug.describe`: the lines of the MPS's own document.
#[test]
fn the_lines_of_the_seed_work_in_a_frame_of_rust_and_in_one_of_c() {
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

/// `.debug.dump`: at once, by the one thread that the debugger lets run.
#[test]
fn what_was_set_is_in_the_log_after_a_flush_while_all_other_threads_stay_stopped() {
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

/// `.debug`: the code is optimised, of the program there are only the lines, or nothing; and of
/// what was stripped of its debug information the symbols are left, with a cast as in C.
#[test]
fn they_work_in_an_optimised_program_and_by_the_symbols_alone() {
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

/// A program that the compiler optimises, with no debug information of its own, linked with the
/// library as these tests are.
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
