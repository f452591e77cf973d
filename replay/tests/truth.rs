//! Checks that a recorded replay equals the recording, and that live bytes equal an independent
//! count.
//!
//! ```text
//!  program ─ record ─▶ LOG ─ play ─ record ─▶ LOG-PID of the process that played
//!                       ├───── calls of each ─────┘  must be the same
//!                       └─ a HashMap of addresses ─▶ live bytes at each step of the loop
//! ```
//!
//! Design: `.rep.truth`, `.rep.truth.mark` in `design/replay.md`.

#[path = "truth/foretold.rs"]
mod foretold;
#[path = "common/guard.rs"]
mod guard;
#[path = "truth/same.rs"]
mod same;

use eventlog::reader::{Event, Filter, Log, Order};
use guard::Guard;
use replay::heap::system::System;
use replay::measured::Measured;
use replay::play::{Touch, in_process};
use replay::report::Summary;
use replay::script::{Mode, compile};
use replay::source::Source;
use same::{Calls, calls};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Returns the library that records: cargo built it next to this test.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let this = std::env::current_exe().expect("a test has a path");
        this.with_file_name("libinterpose.so")
    })
}

/// Runs `replay WORDS…` in a folder. Returns standard output, standard error, and the exit code.
fn replay(folder: &Path, words: &[impl AsRef<OsStr>]) -> (String, String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    let Output { stdout, stderr, status } =
        command.args(words).current_dir(folder).output().expect("output");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(stdout), text(stderr), status.code().expect("no signal"))
}

/// Records a program into the log NAME.
fn record(folder: &Path, name: &str, program: &[&str]) {
    let library = library().to_str().expect("a UTF-8 path");
    // The replayer has allocators linked in, which play nothing here.
    let words = ["record", "--anyway", "-o", name, "--library", library, "--"];
    let (_, errors, code) = replay(folder, &[&words, program].concat());
    assert_eq!(code, 0, "{errors}");
}

/// Records replays of a log, for throughput and for latency. Returns the calls of each process that
/// played.
fn again(folder: &Path, log: &str, threads: &str) -> Vec<Vec<Calls>> {
    let name = format!("again-{threads}-{log}");
    let play = ["play", "--heap", "system", "--runs", "1", "--settle", "0", "--json"];
    let how = ["--threads", threads, log];
    let tool = [env!("CARGO_BIN_EXE_replay")];
    record(folder, &name, &[&tool[..], &play, &how].concat());
    let entries =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    let is_process = |path: &PathBuf| {
        path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(&format!("{name}-")))
    };
    let logs: Vec<PathBuf> = entries.filter(is_process).collect();
    // The logs of the check, the null heap, the system heap, and the run for latency.
    assert_eq!(logs.len(), 4, "{logs:?}");
    // The null heap has no memory, and its process no marks.
    let played = logs.iter().map(|log| calls(log, false, true)).filter(|it| !it.is_empty());
    played.collect()
}

/// `.rep.truth` `.rep.truth.mark` `.rep.truth.same`
#[test]
fn a_recorded_replay_equals_the_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    compiled(folder, "threads.c", &[]);
    record(folder, "a.log", &["./threads"]);
    for (threads, count) in [("all", 5), ("one", 1)] {
        let expected = calls(&folder.join("a.log"), threads == "one", false);
        let operations: usize = expected.iter().map(Vec::len).sum();
        assert!(expected.len() == count && operations > 10_000, "{operations}");
        let found = again(folder, "a.log", threads);
        assert!(found.len() == 3 && found.iter().all(|it| *it == expected), "{threads}");
    }
    // Without the allocation of 200 MiB and its free, each of the three recordings differs there,
    // on one thread.
    let words = ["compile", "a.log", "--drop-size", "209715200", "-o", "less.ops"];
    let (_, errors, code) = replay(folder, &words);
    assert_eq!(code, 0, "{errors}");
    let expected = calls(&folder.join("a.log"), false, false);
    let replays = again(folder, "less.ops", "all");
    assert_eq!(replays.len(), 3);
    for found in replays {
        assert_eq!(found.len(), expected.len());
        let pairs = expected.iter().zip(&found);
        let differing: Vec<_> = pairs.filter(|(one, other)| one != other).collect();
        let [(whole, less)] = differing[..] else { panic!("{} threads differ", differing.len()) };
        let at = whole.iter().zip(less).position(|(one, other)| one != other).expect("within");
        assert_eq!((whole[at].0, whole.len()), (("allocate", 200 << 20, 1), less.len() + 2));
    }
}

/// Writes a file of many words.
fn words(folder: &Path) {
    let line = |index: u64| format!("{} word {index}\n", index.wrapping_mul(0x9E37_79B9) % 99_991);
    fs::write(folder.join("words"), (0..20_000).map(line).collect::<String>()).expect("written");
}

/// `.rep.truth` `.rep.truth.mark`
#[test]
fn a_replay_of_sort_equals_its_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    words(folder);
    record(folder, "a.log", &["sort", "--parallel=2", "-S", "1M", "-o", "sorted", "words"]);
    for threads in ["all", "one"] {
        let expected = calls(&folder.join("a.log"), threads == "one", false);
        let found = again(folder, "a.log", threads);
        assert!(found.len() == 3 && found.iter().all(|it| *it == expected), "{threads}");
    }
}

/// Compiles a C program of this folder, or a library.
fn compiled(folder: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truth").join(name);
    let program = folder.join(name.trim_end_matches(".c"));
    let mut cc = Command::new("cc");
    // With its knowledge of malloc, the compiler would remove calls.
    cc.args(["-O1", "-fno-builtin", "-pthread"]).args(flags).arg("-o").arg(&program).arg(source);
    assert!(cc.status().expect("this test needs a C compiler, cc").success());
    program
}

/// Plays a log against heaps, without waiting for memory to settle.
fn played(folder: &Path, heaps: &str, words: &[&str]) -> Measured {
    let play = ["play", "--json", "--no-latency", "--settle", "0", "--runs", "1", "--heap", heaps];
    let (out, errors, code) = replay(folder, &[&play[..], words].concat());
    assert_eq!(code, 0, "{errors}");
    serde_json::from_str(&out).expect("JSON of Measured")
}

/// Returns the peak of a heap, in MiB.
fn peak(measured: &Measured, heap: usize) -> u64 {
    measured.heaps[heap].runs[0].resident_peak >> 20
}

/// `.rep.touched` `.rep.touch` `.rep.program`
#[test]
fn a_replay_writes_memory_as_far_as_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    compiled(folder, "zeroed.c", &[]);
    // 100 blocks of 1 MiB from calloc, the written KiB of each, and the expected MiB.
    for (written, expected) in [("1024", 98..104), ("100", 9..13), ("0", 0..2)] {
        let log = format!("{written}.log");
        record(folder, &log, &["./zeroed", written]);
        let measured = played(folder, "system", &[&log]);
        assert!(expected.contains(&peak(&measured, 0)), "{written}: {}", peak(&measured, 0));
        let program = measured.workload.program.expect("the recording has the figures");
        let own = program.resident_peak >> 20;
        assert!((expected.start..expected.end + 8).contains(&own), "{written}: {own}");
        // Saved operations have it, too.
        let (_, errors, code) = replay(folder, &["compile", "--force", &log, "-o", "saved.ops"]);
        assert_eq!(code, 0, "{errors}");
        let again = played(folder, "system", &["saved.ops"]);
        assert!(expected.contains(&peak(&again, 0)), "{written}: {}", peak(&again, 0));
        assert_eq!(again.workload.program, Some(program));
    }
    for (touch, expected) in [("none", 0..2), ("all", 98..104)] {
        let measured = played(folder, "system", &["--touch", touch, "100.log"]);
        assert!(expected.contains(&peak(&measured, 0)), "{touch}: {}", peak(&measured, 0));
    }
}

/// `.rep.process`
#[test]
fn start_up_memory_is_in_the_peak_of_a_heap() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    compiled(folder, "zeroed.c", &[]);
    compiled(folder, "greedy.c", &["-shared", "-fPIC"]);
    record(folder, "a.log", &["./zeroed", "0"]);
    let measured = played(folder, "system,./greedy", &["--touch", "none", "a.log"]);
    let start_up = measured.heaps[1].runs[0].start_up >> 20;
    // 16 MiB: the resident memory of two processes differs by some pages.
    assert!((15..18).contains(&start_up), "{start_up}");
    assert!((15..18).contains(&peak(&measured, 1)), "{}", peak(&measured, 1));
    assert!(peak(&measured, 0) < 2, "{}", peak(&measured, 0));
}

/// Runs a program with a preloaded library. Returns the peak of its memory, which it prints.
fn told(folder: &Path, words: &[&str], library: &str) -> f64 {
    let mut command = Command::new(folder.join(words[0]));
    let command = command.args(&words[1..]).env("LD_PRELOAD", library);
    let output = command.output().expect("the program runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.trim().parse().expect("a number of bytes")
}

/// Fails if a foretold peak is further from the real one than 10 %.
fn assert_foretold(what: &str, foretold: Option<f64>, real: f64) {
    let foretold = foretold.expect("a foretold peak");
    assert!((foretold / real - 1.0).abs() < 0.1, "{what}: {foretold} foretold, {real} real");
}

/// `.rep.program`, `.rep.process`: hundreds of threads, at a time and in turn, under malloc and
/// under an allocator with memory of each thread. The program prints its own peak.
#[test]
fn the_peak_of_a_program_of_many_threads_is_foretold() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    compiled(folder, "crowd.c", &[]);
    compiled(folder, "share.c", &["-shared", "-fPIC"]);
    let share = folder.join("share");
    let share = share.to_str().expect("a UTF-8 path");
    for way in ["live", "turns"] {
        let words = ["crowd", way, "400"];
        record(folder, &format!("{way}.log"), &["./crowd", way, "400"]);
        let measured = played(folder, "system,./share", &[&format!("{way}.log")]);
        assert_eq!(measured.workload.thread_count, if way == "live" { 401 } else { 2 }, "{way}");
        let [own, other] = Summary::of_all(&measured).try_into().expect("two heaps");
        assert_foretold(way, own.program_peak, told(folder, &words, ""));
        assert_foretold(way, other.program_peak, told(folder, &words, share));
    }
}

/// `.rep.program`: the recorded program has another malloc than that of the C library.
#[test]
fn a_peak_under_another_malloc_is_foretold_from_its_heap() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    compiled(folder, "crowd.c", &[]);
    compiled(folder, "share.c", &["-shared", "-fPIC"]);
    let share = folder.join("share");
    let share = share.to_str().expect("a UTF-8 path");
    let preload = format!("LD_PRELOAD={}:{share}", library().display());
    record(folder, "a.log", &["env", &preload, "./crowd", "turns", "50"]);
    let (shown, _, _) = replay(folder, &["show", "a.log"]);
    assert!(shown.contains("with the malloc of share"), "{shown}");
    let measured = played(folder, "system,./share", &["a.log"]);
    let [own, other] = Summary::of_all(&measured).try_into().expect("two heaps");
    let words = ["crowd", "turns", "50"];
    assert_foretold("system", own.program_peak, told(folder, &words, ""));
    assert_foretold("share", other.program_peak, told(folder, &words, share));
    let (table, _, _) = replay(folder, &["play", "--runs", "1", "--heap", "system", "a.log"]);
    assert!(table.contains("program: not foretold, because"), "{table}");
}

/// Returns the live bytes after each call, counted by address.
fn counted(log: &Log) -> Vec<u64> {
    let (mut sizes, mut begun) = (HashMap::new(), HashMap::new());
    let (mut live, mut steps) = (0, Vec::new());
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        let of = |event: &Event<'_, '_>, name: &str| event.param(name).and_then(|it| it.as_u64());
        let address = of(&event, "address").unwrap_or(0);
        let size = of(&event, "size").unwrap_or(0) * of(&event, "count").unwrap_or(1);
        match event.name() {
            "Free" => live -= sizes.remove(&address).expect("a live object"),
            "ReallocBegin" => {
                begun.insert(event.thread, sizes.remove(&address).unwrap_or(0));
                continue;
            }
            "Realloc" => {
                live = live + size - begun.remove(&event.thread).expect("a beginning");
                sizes.insert(address, size);
            }
            "Malloc" | "Calloc" | "AlignedAlloc" | "PosixMemalign" | "Memalign" => {
                live += size;
                sizes.insert(address, size);
            }
            _ => continue,
        }
        steps.push(live);
    }
    steps
}

/// `.rep.truth`
#[test]
fn live_bytes_of_a_real_log_equal_a_count_by_address() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    words(folder);
    let script = "import json; a = [json.loads(json.dumps({str(i): [i] * (i % 50)})) for i in \
                  range(2000)]; b = b''\nfor i in range(500): b += b'x' * i";
    for (name, program) in [
        ("sort.log", &["sort", "-o", "sorted", "words"][..]),
        ("python3.log", &["python3", "-c", script]),
    ] {
        record(folder, name, program);
        let log = Log::open(folder.join(name)).expect("a log");
        let expected = counted(&log);
        assert!(expected.len() > 50, "{name}: {}", expected.len());
        let source = Source::new(log, None).expect("a log with operations");
        let workload = compile(source.operations(), Mode { is_single: true, ..Mode::default() });
        let guard = Guard::new(System);
        let run = in_process(&workload, &guard, Touch::None).expect("a sound workload");
        let book = guard.book();
        assert_eq!(book.wrong, Vec::<String>::new(), "{name}");
        assert_eq!(run.operation_count, expected.len() as u64, "{name}");
        // Then the loop frees the remaining objects.
        let steps = book.steps.get(..expected.len()).expect("as many steps");
        let parts = steps.iter().zip(&expected).position(|(one, other)| one != other);
        assert_eq!(parts, None, "{name}: {} operations", expected.len());
        assert_eq!(Some(&workload.live_peak), expected.iter().max(), "{name}");
    }
}
