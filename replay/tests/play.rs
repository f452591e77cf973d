//! Tests of `replay play` as a user runs it: processes, failing heaps, invalid libraries.
//!
//! ```text
//!  operations ─ save ─▶ test.ops ─ replay play --json ─▶ Measured, messages, exit code
//! ```
//!
//! Design: `.rep.process`, `.rep.heap.fails`, `.rep.heap.library` in `design/replay.md`.

mod common;

use cli::table::Form;
use common::{live_steps, operations};
use replay::facts::Facts;
use replay::measured::Measured;
use replay::operation::{Action, Operation};
use replay::report::{Summary, answer};
use replay::source::save;
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Saved operations, in their own directory.
struct Ops {
    directory: TempDir,
    all: Vec<Operation>,
}

impl Ops {
    fn new(all: Vec<Operation>) -> Ops {
        let directory = TempDir::new().expect("a directory");
        let mut file = File::create(directory.path().join("test.ops")).expect("a file");
        save(all.iter().copied(), |_| Facts::default(), &mut file).expect("written");
        Ops { directory, all }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("test.ops")
    }

    /// Plays the operations, without waiting for memory to settle.
    fn play(&self, tool: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(tool);
        command.args(["play", "--settle", "0"]).args(arguments).arg(self.path());
        command.output().expect("output")
    }
}

fn tool() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_replay"))
}

/// Builds the tool with its own heaps, as cargo builds it for `cargo test --workspace`: after that,
/// nothing is left to build.
fn example() -> PathBuf {
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "-q", "--locked", "--workspace", "--lib", "--example=heaps"]);
    build.args(["--bin=eventcnv", "--bin=replay", "--bin=replay-interpose", "--profile", profile]);
    assert!(build.status().expect("cargo exists").success());
    let beside = tool();
    beside.parent().expect("a directory").join("examples/heaps")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Reads the results from the JSON that was printed.
fn measured(output: &Output) -> Measured {
    let json: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", errors(output)));
    serde_json::from_value(json).expect("the fields of Measured")
}

/// `.rep.process` `.rep.truth`
#[test]
fn every_heap_plays_all_operations_in_its_own_processes() {
    let ops = Ops::new(operations(9, 40_000, 3, 4));
    let output = ops.play(&tool(), &["--runs", "2", "--json", "--touch", "all"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let measured = measured(&output);
    let names: Vec<&str> = measured.heaps.iter().map(|heap| &*heap.name).collect();
    assert_eq!(names, ["system", "jemalloc", "mimalloc", "snmalloc", "pools"]);
    assert_eq!(Some(measured.workload.live_peak), live_steps(&ops.all).into_iter().max());
    let is_operation = |one: &&Operation| !matches!(one.action, Action::EndPool { .. });
    let count = ops.all.iter().filter(is_operation).count() as u64;
    assert!(measured.loop_ns > 0.0 && measured.clock_ns > 0.0);
    for heap in &measured.heaps {
        assert_eq!((heap.runs.len(), &heap.failure), (2, &None), "{}", heap.name);
        for run in &heap.runs {
            assert_eq!((run.operation_count, run.failure_count), (count, 0), "{}", heap.name);
            assert!(run.duration_ns > 0 && run.faults_minor > 0, "{run:?}");
            // All memory was written: nearly all live bytes must have been resident.
            assert!(run.resident_peak > measured.workload.live_peak / 2, "{}: {run:?}", heap.name);
            assert_eq!(run.live_at_peak, measured.workload.live_peak, "{}", heap.name);
            assert_eq!(run.after.len(), 1);
        }
        assert_eq!(heap.latency.all.count, count, "{}", heap.name);
        assert!(heap.latency.all.p50 <= heap.latency.all.p999, "{}", heap.name);
        assert!(heap.timeline.is_sorted_by_key(|sample| sample.time_ns), "{}", heap.name);
        assert!(!heap.latency.by_size.is_empty() && !heap.latency.curve.is_empty());
    }
}

/// `.rep.report`: a thread publishes its live bytes after more operations than these.
#[test]
fn live_bytes_at_the_peak_are_those_of_the_operations() {
    let at = |time: u32, action| Operation { time: u64::from(time) * 1000, thread: 0, action };
    let allocate = |object| Action::Allocate {
        object,
        size: 1 << 20,
        alignment: 1,
        is_zeroed: false,
        pool: 0,
    };
    let all = (0..100).map(|object| at(object, allocate(object)));
    let all = all.chain((0..100).map(|object| at(100 + object, Action::Free { object })));
    let ops = Ops::new(all.collect());
    let output =
        ops.play(&tool(), &["--heap", "system", "--runs", "3", "--json", "--touch", "all"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let heap = &measured(&output).heaps[0];
    for run in &heap.runs {
        assert_eq!(run.live_at_peak, 100 << 20);
        assert!(run.resident_peak >= 100 << 20, "{run:?}");
    }
    assert_eq!(heap.runs.len(), 3);
}

/// `.rep.heap.fails`
#[test]
fn failures_of_a_heap_are_counted_and_its_run_goes_on() {
    let ops = Ops::new(operations(5, 9_000, 2, 1));
    let output = ops.play(&example(), &["--runs", "1", "--heap", "fails,bump,system", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("replay: fails: "), "{}", errors(&output));
    assert!(errors(&output).contains(" allocations failed; "), "{}", errors(&output));
    let measured = measured(&output);
    let run = |index: usize| &measured.heaps[index].runs[0];
    assert!(run(0).failure_count > 400 && run(0).operation_count < run(1).operation_count);
    assert_eq!((run(1).failure_count, run(2).failure_count), (0, 0));
    let text = answer(&measured, &Form::default()).expect("no column is asked for");
    let text = String::from_utf8(text).expect("UTF-8");
    assert!(
        text.contains("  fails (!): ") && text.contains("it did less than the others"),
        "{text}"
    );
    assert!(!text.contains("bump (!)"), "{text}");
}

/// `.rep.heap.fails`
#[test]
fn a_heap_that_dies_or_hangs_is_reported_and_others_go_on() {
    let ops = Ops::new(operations(6, 12_000, 1, 1));
    let heaps = ["--heap", "crashes,hangs,system", "--timeout", "0.5", "--runs", "2", "--json"];
    let output = ops.play(&example(), &heaps);
    assert_eq!(output.status.code(), Some(1));
    let measured = measured(&output);
    let failure = |index: usize| measured.heaps[index].failure.clone().unwrap_or_default();
    assert!(failure(0).starts_with("died of SIGABRT after "), "{}", failure(0));
    assert!(failure(1).starts_with("hung: did nothing for 0.5 s, after "), "{}", failure(1));
    for text in [failure(0), failure(1)] {
        let words: Vec<&str> = text.rsplit(' ').collect();
        let done: u64 = words[1].replace(',', "").parse().expect("a number");
        assert!((3000..8000).contains(&done), "{text}");
    }
    assert_eq!((measured.heaps[2].runs.len(), &measured.heaps[2].failure), (2, &None));
}

/// `.rep.room`
#[test]
fn a_workload_larger_than_memory_is_not_played() {
    let at = |action| Operation { time: 0, thread: 0, action };
    let (object, size) = (0, 1 << 40);
    let allocate = Action::Allocate { object, size, alignment: 1, is_zeroed: false, pool: 0 };
    let ops = Ops::new(vec![at(allocate), at(Action::Free { object })]);
    let quick = ["--heap", "system", "--runs", "1", "--no-latency"];
    let output = ops.play(&tool(), &quick);
    let text = errors(&output);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{text}");
    assert!(
        text.contains(
            "test.ops: needs too much memory (its peak has 1.00 TiB live, 1.00 TiB of that "
        ),
        "{text}"
    );
    let output = ops.play(&tool(), &[&quick[..], &["--touch", "none"]].concat());
    assert_ne!(output.status.code(), Some(2), "{}", errors(&output));
}

/// `.rep.room`
#[test]
fn too_many_threads_for_the_system_are_reported() {
    let at = |thread, action| Operation { time: 0, thread, action };
    let all = (0..600).flat_map(|thread| {
        let (object, size, alignment) = (thread, 100, 1);
        let allocate = Action::Allocate { object, size, alignment, is_zeroed: false, pool: 0 };
        [at(thread, allocate), at(thread, Action::Free { object })]
    });
    let ops = Ops::new(all.collect());
    let play = |limit: &str, arguments: &str| {
        let line = format!(
            "{limit} exec {} play --settle 0 --runs 1 --heap system {arguments} {}",
            tool().display(),
            ops.path().display()
        );
        Command::new("sh").args(["-c", &line]).output().expect("sh exists")
    };
    let limited = play("ulimit -v 300000;", "--no-latency");
    let text = errors(&limited);
    assert_eq!(limited.status.code(), Some(1), "{text}");
    assert!(text.contains("cannot start thread ") && !text.contains("panicked"), "{text}");
    assert!(text.contains("system: the system refuses 600 threads"), "{text}");
    // A thread of a run for latency needs little memory.
    let whole = play("ulimit -v 1500000;", "");
    assert_eq!(whole.status.code(), Some(0), "{}", errors(&whole));
}

/// `.rep.report`
#[test]
fn no_name_of_a_file_steers_a_terminal() {
    let ops = Ops::new(operations(4, 300, 2, 1));
    let path = ops.directory.path().join("a\u{1b}[2J\u{9b}31m\u{202e}b\nreplay: c.ops");
    std::fs::copy(ops.path(), &path).expect("copied");
    let none = ops.directory.path().join("\u{1b}]0;x\u{7}.ops");
    for arguments in [
        &["play", "--settle", "0", "--heap", "system", "--runs", "1", "--no-latency"][..],
        &["show"],
        &["show", "--keep-thread", "9"],
        &["compile", "--force", "-o", none.to_str().expect("UTF-8")],
    ] {
        let output = Command::new(tool()).args(arguments).arg(&path).output().expect("output");
        for bytes in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(bytes);
            let steers = |c: char| c != '\n' && eventlog::format::text::is_steering(c);
            assert!(!text.contains(steers), "{arguments:?}: {text:?}");
            assert!(!text.contains("\nreplay: c"), "{arguments:?}: {text:?}");
        }
    }
}

#[test]
fn options_that_leave_nothing_to_play_are_refused() {
    let ops = Ops::new(operations(4, 300, 2, 1));
    for (arguments, why) in [
        (&["play", "--scale-size", "1e30"][..], "must be a number above 0, up to a million"),
        (&["play", "--stretch", "1e30"], "must be a number above 0, up to a million"),
        (&["play", "--timeout", "0"], "must be above 0"),
        (&["play", "--keep-thread", "9"], "has nothing to play after the modifications"),
        (
            &["show", "--keep-thread", "9"],
            "test.ops: nothing is left after the modifications: --keep-thread 9",
        ),
        (
            &["compile", "-o", "/dev/shm/none.ops", "--keep-thread", "9"],
            "nothing is left after the modifications",
        ),
    ] {
        let output = Command::new(tool()).args(arguments).arg(ops.path()).output();
        let output = output.expect("output");
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        assert!(errors(&output).contains(why), "{arguments:?}: {}", errors(&output));
    }
    let _ = std::fs::remove_file("/dev/shm/none.ops");
}

/// `.rep.heap` `.rep.report`
#[test]
fn a_heap_states_its_version_and_keeps_no_more_than_its_peak() {
    // Many objects are freed at the end.
    let at = |object| Operation {
        time: 0,
        thread: 0,
        action: Action::Allocate { object, size: 100, alignment: 1, is_zeroed: false, pool: 0 },
    };
    let ops = Ops::new((0..30_000).map(at).collect());
    let mut command = Command::new(tool());
    command.args(["play", "--settle", "0", "--runs", "1", "--no-latency", "--json"]);
    command.arg(ops.path()).env("MIMALLOC_VERBOSE", "0").env("MALLOC_ARENA_MAX", "3");
    let output = command.output().expect("output");
    let measured = measured(&output);
    let about = |name: &str| {
        let heap = measured.heaps.iter().find(|heap| heap.name == name).expect("a played heap");
        heap.about.clone()
    };
    assert!(about("system").contains("C Library 2.") && about("jemalloc").contains(" 5."));
    assert!(about("system").ends_with(", MALLOC_ARENA_MAX=3"), "{}", about("system"));
    assert!(about("mimalloc").ends_with(", MIMALLOC_VERBOSE=0"), "{}", about("mimalloc"));
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).count();
    assert!(["jemalloc", "mimalloc", "snmalloc"].iter().all(|name| digits(&about(name)) >= 2));
    assert!(measured.machine.contains(&about("jemalloc")), "{}", measured.machine);
    for heap in &measured.heaps {
        for run in &heap.runs {
            assert!(run.after.iter().all(|after| after.1 <= run.resident_peak), "{run:?}");
        }
    }
}

/// `.rep.check`
#[test]
fn a_wrong_heap_is_found_before_it_is_measured() {
    let mut all = Vec::new();
    let mut push = |action| all.push(Operation { time: 0, thread: 0, action });
    for object in 0..600 {
        let size = [8, 24, 32, 200, 5000][object as usize % 5];
        let is_zeroed = object % 7 == 0;
        push(Action::Allocate { object, size, alignment: 1, is_zeroed, pool: 0 });
        if object % 3 == 0 {
            push(Action::Reallocate { object, size: size * 2, is_unaligned: false });
        }
        if object >= 20 {
            push(Action::Free { object: object - 20 });
        }
    }
    let ops = Ops::new(all);
    let heaps = "same,askew,dirty,forgets,within,system,jemalloc,mimalloc,snmalloc,pools,bump";
    let heaps = ["--runs", "1", "--no-latency", "--json", "--heap", heaps];
    for arguments in [&heaps[..], &[&heaps[..], &["--check"]].concat()] {
        let output = ops.play(&example(), arguments);
        assert_eq!(output.status.code(), Some(1));
        let measured = measured(&output);
        let is_full = arguments.contains(&"--check");
        for (heap, why) in measured.heaps.iter().zip([
            Some(if is_full { ", which are in use" } else { "are in use already" }),
            Some("not aligned to 8"),
            Some("are not zero, at byte "),
            Some("lost their contents"),
            is_full.then_some("32 bytes at "),
        ]) {
            let failure = heap.failure.clone().unwrap_or_default();
            assert_eq!(heap.runs.is_empty(), why.is_some(), "{}: {failure}", heap.name);
            let expected = why.map_or(failure.is_empty(), |why| failure.contains(why));
            assert!(expected, "{}: {failure}", heap.name);
        }
        for heap in &measured.heaps[5..] {
            assert_eq!((heap.runs.len(), &heap.failure), (1, &None), "{}", heap.name);
        }
    }
}

/// `.rep.process`
#[test]
fn the_player_ends_when_replay_dies() {
    let at = |time, action| Operation { time, thread: 0, action };
    let allocate = Action::Allocate { object: 0, size: 9, alignment: 1, is_zeroed: false, pool: 0 };
    let hour = 3_600_000_000_000;
    let ops = Ops::new(vec![at(0, allocate), at(hour, Action::Free { object: 0 })]);
    let mut command = Command::new(tool());
    command.args(["play", "--pace", "recorded", "--heap", "system"]).arg(ops.path());
    let mut parent = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a child");
    let id = parent.id();
    let children = || {
        let list = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let list = list.unwrap_or_default();
        list.split_whitespace().map(str::to_owned).collect::<Vec<String>>()
    };
    // The processes of the null heap and of the check have ended once the other plays.
    let is_playing = |child: &String| {
        let line = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
        line.contains("\"heap\":\"system\"") && line.contains("\"check\":null")
    };
    let child = loop {
        match children().into_iter().find(is_playing) {
            Some(child) => break child,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
        assert_eq!(parent.try_wait().expect("a child"), None, "replay ended");
    };
    // The player needs time to ask for the signal.
    std::thread::sleep(Duration::from_millis(300));
    assert!(is_playing(&child));
    parent.kill().expect("a child");
    parent.wait().expect("a child");
    for _ in 0..1000 {
        if !is_playing(&child) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("process {child} still plays");
}

/// `.rep.heap.library`
#[test]
fn an_invalid_heap_is_refused_before_any_run() {
    let ops = Ops::new(operations(7, 100, 1, 1));
    let library = ops.directory.path().join("libtext.so");
    std::fs::write(&library, "no library").expect("written");
    let named = format!("jemaloc,{},{},/nowhere.so", library.display(), tool().display());
    let output = ops.play(&tool(), &["--heap", &named]);
    let text = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("replay: jemaloc: unknown heap; use null, "), "{text}");
    assert!(text.contains("libtext.so: not a shared library: "), "{text}");
    assert!(text.contains("replay: the library has no malloc; name an allocator"), "{text}");
    assert!(text.contains("replay: /nowhere.so: No such file"), "{text}");
}

/// A library in C that counts its calls, and prints the count at the end.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static unsigned long count;
static void *(*next)(size_t);
static void (*give)(void *);
void *malloc(size_t n) {
  if (!next) next = dlsym(RTLD_NEXT, "malloc");
  count++;
  return next(n);
}
void free(void *p) {
  if (!give) give = dlsym(RTLD_NEXT, "free");
  give(p);
}
__attribute__((destructor)) static void end(void) {
  fprintf(stderr, "COUNTED %lu\n", count);
}
"#;

/// `.rep.heap.library`
#[test]
fn a_library_is_a_heap_by_its_path() {
    let ops = Ops::new(operations(8, 20_000, 1, 1));
    let source = ops.directory.path().join("count.c");
    let library = ops.directory.path().join("libcount.so");
    std::fs::write(&source, LIBRARY).expect("written");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl");
    assert!(compiler.status().expect("a C compiler exists").success());
    let heap = library.display().to_string();
    let output = ops.play(&tool(), &["--heap", &heap, "--runs", "1", "--no-latency", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert_eq!(measured(&output).heaps[0].name, "libcount.so");
    let text = errors(&output);
    let counted = text.split("COUNTED ").nth(1).and_then(|rest| rest.lines().next());
    let counted: u64 = counted.and_then(|count| count.parse().ok()).expect("a count");
    assert!(counted > 8_000, "{text}");
}

/// A library with malloc and free that the dynamic linker cannot load.
const REFUSED: &str = "
int nowhere_at_all(void);
int call(void) { return nowhere_at_all(); }
void *malloc(unsigned long n) { return (void *)(n * 0); }
void free(void *p) { (void)p; }
";

/// `.rep.heap.library`
#[test]
fn a_library_that_cannot_be_loaded_is_reported_and_others_go_on() {
    let ops = Ops::new(operations(8, 1000, 1, 1));
    let source = ops.directory.path().join("refused.c");
    let library = ops.directory.path().join("librefused.so");
    std::fs::write(&source, REFUSED).expect("written");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-fno-builtin", "-Wl,-z,now", "-o"]);
    compiler.args([&library, &source]);
    assert!(compiler.status().expect("a C compiler exists").success());
    let heap = format!("{},system", library.display());
    let output = ops.play(&tool(), &["--heap", &heap, "--runs", "1", "--no-latency", "--json"]);
    let text = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("undefined symbol: nowhere_at_all"), "{text}");
    assert!(text.contains("librefused.so: the dynamic linker did not load it"), "{text}");
    let measured = measured(&output);
    let failures: Vec<bool> = measured.heaps.iter().map(|heap| heap.failure.is_some()).collect();
    assert_eq!(failures, [true, false]);
}

/// Two threads: after many small objects of the first one, both hold a large object at the same
/// time.
fn both(small_count: u32) -> Vec<Operation> {
    let allocate = |object, size| {
        let (alignment, is_zeroed, pool) = (1, false, 0);
        Action::Allocate { object, size, alignment, is_zeroed, pool }
    };
    let (one, other, large) = (small_count, small_count + 1, 10 << 20);
    let small = |object| [(0, allocate(object, 100)), (0, Action::Free { object })];
    let last = [
        (1, allocate(one, large)),
        (0, allocate(other, large)),
        (1, Action::Free { object: one }),
        (0, Action::Free { object: other }),
    ];
    let all = (0..small_count).flat_map(small).chain(last);
    let timed = all.zip(0..);
    timed.map(|((thread, action), time)| Operation { time, thread, action }).collect()
}

/// `.rep.skew`
#[test]
fn threads_that_run_apart_are_reported() {
    for (small_count, skew, is_apart) in
        [(500_000, "free", true), (500_000, "1024", false), (10, "free", false)]
    {
        let ops = Ops::new(both(small_count));
        let how = ["--heap", "system", "--runs", "1", "--no-latency", "--json", "--skew", skew];
        let output = ops.play(&tool(), &how);
        let measured = measured(&output);
        assert_eq!(measured.heaps[0].failure, None);
        let text = answer(&measured, &Form::default()).expect("no column is asked for");
        let text = String::from_utf8(text).expect("UTF-8");
        assert_eq!(text.contains("system (!): threads ran apart"), is_apart, "{skew}: {text}");
    }
}

/// `.rep.pace`
#[test]
fn recorded_times_are_kept_or_scaled() {
    let at = |time, action| Operation { time, thread: 0, action };
    let size = 5000;
    let allocate = Action::Allocate { object: 0, size, alignment: 1, is_zeroed: false, pool: 0 };
    let all = vec![at(0, allocate), at(200_000_000, Action::Free { object: 0 })];
    let ops = Ops::new(all);
    for (pace, least) in [("recorded", 200), ("x4", 50), ("max", 0)] {
        let pace = ["--pace", pace, "--heap", "system", "--runs", "1", "--no-latency", "--json"];
        let measured = measured(&ops.play(&tool(), &pace));
        let run = measured.heaps[0].runs[0].clone();
        assert_eq!(measured.is_paced, least > 0);
        // The loop is measured without waits: an operation takes less than 10 ms.
        assert!(measured.loop_ns < 10_000_000.0, "{pace:?}: {}", measured.loop_ns);
        let net = Summary::of_all(&measured)[0].net_ns_per_op;
        assert_eq!(net.is_some(), least == 0);
        assert!(run.duration_ns >= least * 1_000_000, "{pace:?}: {run:?}");
        assert!(least > 0 || run.duration_ns < 50_000_000, "{pace:?}: {run:?}");
    }
}

#[test]
fn a_page_is_not_overwritten_without_force() {
    let ops = Ops::new(operations(3, 2_000, 1, 1));
    let page = ops.directory.path().join("page.html");
    let name = page.display().to_string();
    let quick = ["--heap", "system", "--runs", "1", "--no-latency", "-o", &name];
    assert_eq!(ops.play(&tool(), &quick).status.code(), Some(0));
    assert!(std::fs::read_to_string(&page).expect("the page exists").contains("<html"));
    let again = ops.play(&tool(), &quick);
    assert_eq!(again.status.code(), Some(2));
    assert!(errors(&again).contains("already exists"), "{}", errors(&again));
    // If the page cannot be written, nothing is played.
    let nowhere = ops.directory.path().join("none/page.html").display().to_string();
    let output = ops.play(&tool(), &["--heap", "system", "-o", &nowhere]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(errors(&output).contains("/none does not exist; make it first"), "{}", errors(&output));
    assert_eq!(ops.play(&tool(), &[&quick[..], &["--force"]].concat()).status.code(), Some(0));
}
