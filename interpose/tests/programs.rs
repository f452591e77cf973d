//! Programs of the system print the same with and without the library, and their logs are sound.
//!
//! ```text
//!  sort, python3, git, ls ─┬─ alone ────▶ output ┐ the same
//!                          └─ recorded ─▶ output ┘   log ─▶ each Free frees an allocated object
//! ```
//!
//! Design: `.rep.record` in `design/replay.md`.

mod common;

use common::{NOT_CALLS, Recorded, compile, each, judge, recording, run, word};
use eventlog::reader::{Log, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Runs a program alone and recorded, and compares its outputs.
fn compare(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Recorded {
    let alone = Command::new(program).args(arguments).output();
    let alone = alone.unwrap_or_else(|error| panic!("this test runs {program}: {error}"));
    let folder = tempfile::tempdir().unwrap();
    let mut command = recording(program, folder.path());
    command.args(arguments).envs(environment.iter().copied());
    let recorded = run(command, folder);
    assert_eq!(recorded.output.as_bytes(), alone.stdout, "{program}");
    assert_eq!(recorded.errors.as_bytes(), alone.stderr, "{program}");
    assert_eq!(recorded.status, alone.status);
    recorded
}

/// Returns the number of calls in the log of the last program of the process.
fn judge_own(recorded: &Recorded) -> u64 {
    let mut counts = BTreeMap::new();
    for ((process, index), log) in recorded.logs() {
        // A forked child may free memory of its parent.
        let is_forked = log.streams().iter().any(|stream| stream.parent != [0; 16]);
        if !is_forked {
            counts.insert((process, index), judge(&log, &BTreeMap::new()).1);
        }
    }
    let mut own = counts.iter().filter(|((process, _), _)| *process == recorded.process);
    *own.next_back().expect("a log of the program").1
}

const SCRIPT: &str = "
import threading, subprocess, json, sys
def work():
    for size in range(600, 1200):
        list(map(bytes, [size] * 20))
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(json.dumps(list(range(100))), subprocess.check_output(['echo', 'child']))
sys.exit(3)
";

#[test]
fn recorded_programs_print_the_same_and_free_live_objects() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/calls.rs");
    let programs: [(&str, &[&str], u64); 6] = [
        ("ls", &["-l", "/usr/lib"], 200),
        ("sort", &["--parallel=2", "-S1M", file], 100),
        ("git", &["--version"], 20),
        ("python3", &["-c", SCRIPT], 40_000),
        ("sh", &["-c", "exec ls /"], 100),
        ("sh", &["-c", "ls / | sort -r; (exit 7)"], 20),
    ];
    for (program, arguments, least) in programs {
        let recorded = compare(program, arguments, &[]);
        let count = judge_own(&recorded);
        assert!(count >= least, "{program}: {count} calls");
    }
}

/// `.rep.record.ends`
#[test]
fn a_process_records_its_memory_and_time_once_however_it_ends() {
    for script in ["pass", "import os; os._exit(0)"] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = recording("python3", folder.path());
        command.args(["-c", script]);
        let recorded = run(command, folder);
        let log = &recorded.logs()[&(recorded.process, 1)];
        let (mut count, mut library) = (0, String::new());
        each(log, |event| match event.name() {
            "Process" => {
                count += 1;
                let [all, own] = ["resident", "recorder"].map(|name| word(event, name));
                assert!(own > 256 << 10 && own < all, "{script}: {own} of {all}");
            }
            "Allocator" => {
                let Some(Value::S(path)) = event.param("path") else { panic!("a path") };
                library = String::from_utf8_lossy(path).into_owned();
            }
            _ => {}
        });
        assert_eq!(count, 1, "{script}");
        assert!(library.contains("/libc.so"), "{script}: {library}");
    }
}

/// `.rep.record.real`
#[test]
fn another_preloaded_allocator_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let behind = compile("behind.c", folder.path(), &["-shared", "-fPIC"]);
    let both = format!("{}:{}", common::library().display(), behind.display());
    for (program, arguments) in [("ls", &["-l", "/usr/lib"][..]), ("sort", &["/etc/passwd"])] {
        let recorded = compare(program, arguments, &[("LD_PRELOAD", &both)]);
        assert!(judge_own(&recorded) > 50);
        let log = &recorded.logs()[&(recorded.process, 1)];
        // The allocator has one arena, and hands nothing out twice.
        let (mut addresses, mut count) = (BTreeSet::new(), 0);
        each(log, |event| {
            if ["Malloc", "Calloc", "Realloc"].contains(&event.name()) {
                addresses.insert(word(event, "address"));
                count += 1;
            }
        });
        let span = addresses.last().unwrap() - addresses.first().unwrap();
        assert!(span < 256 << 20, "span of the arena: {span:#x}");
        assert_eq!(addresses.len(), count);
    }
}

/// `.rep.stack`
#[test]
fn stacks_are_a_tree_of_frames_in_mapped_files() {
    let recorded = compare("python3", &["-c", SCRIPT], &[("TELEMETRY_STACKS", "16")]);
    assert!(judge_own(&recorded) > 40_000);
    let mut files = BTreeSet::new();
    for log in recorded.logs().values() {
        let mut frames = BTreeMap::from([(0, (0, 0))]);
        let (mut mappings, mut stacks) = (Vec::new(), BTreeMap::<u64, u64>::new());
        each(log, |event| match event.name() {
            "Frame" => {
                let (frame, parent) = (word(event, "frame"), word(event, "parent"));
                let before = frames.insert(frame, (parent, word(event, "address")));
                assert_eq!(before, None, "a frame is recorded once");
            }
            "Mapping" => {
                let Some(Value::S(path)) = event.param("path") else { panic!("a path") };
                let path = String::from_utf8_lossy(path).into_owned();
                mappings.push((word(event, "start"), word(event, "size"), path));
            }
            "Free" | "ReallocBegin" => {}
            name if NOT_CALLS.contains(&name) => {}
            _ => *stacks.entry(word(event, "stack")).or_default() += 1,
        });
        for stack in stacks.into_keys() {
            let (mut frame, mut depth) = (stack, 0);
            while frame != 0 {
                let (parent, address) = frames[&frame];
                let is_in = |(start, size, _): &&(u64, u64, String)| {
                    (*start..start + size).contains(&address)
                };
                let mapping = mappings.iter().find(is_in).expect("a recorded mapping");
                files.insert(mapping.2.clone());
                assert!(!mapping.2.contains("libinterpose") || depth != 0);
                (frame, depth) = (parent, depth + 1);
            }
            assert!(depth <= 32, "at most twice the requested depth");
        }
    }
    assert!(files.iter().any(|file| file.contains("libc")), "{files:?}");
    assert!(files.iter().any(|file| file.contains("python")), "{files:?}");
}

/// The requested number of frames.
const DEPTH: usize = 16;

/// Compares the stacks of a log with those that the program printed. Returns the number of stacks,
/// and the number of those with more frames than the log has.
fn judge_stacks<'a>(log: &Log, printed: impl Iterator<Item = &'a str>) -> (usize, usize) {
    let (mut frames, mut stacks) = (BTreeMap::new(), BTreeMap::new());
    each(log, |event| match event.name() {
        "Frame" => {
            let of = (word(event, "parent"), word(event, "address"));
            frames.insert(word(event, "frame"), of);
        }
        "Malloc" => drop(stacks.insert(word(event, "size"), word(event, "stack"))),
        _ => {}
    });
    let (mut count, mut deep) = (0, 0);
    for line in printed {
        let mut words = line.split(' ');
        let size: u64 = words.next().unwrap().parse().unwrap();
        let said: Vec<u64> = words.map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
        let (mut found, mut frame) = (Vec::new(), stacks[&size]);
        while let Some(&(parent, address)) = frames.get(&frame) {
            found.push(address);
            frame = parent;
        }
        // One function calls malloc and backtrace, at different addresses.
        let (near, rest) = (found[0].abs_diff(said[0]), &found[1..]);
        assert!(near < 400, "{size}: {found:x?} is not {said:x?}");
        assert!(found.len() <= said.len(), "{size}: {found:x?} is not {said:x?}");
        assert_eq!(rest, &said[1..found.len()], "{size}");
        assert!(found.len() == said.len() || found.len() >= DEPTH, "{found:x?} of {said:x?}");
        assert!(found.len() <= 2 * DEPTH);
        deep += usize::from(found.len() < said.len());
        count += 1;
    }
    (count, deep)
}

/// Records a program of this folder with stacks.
fn with_stacks(program: &Path, words: &[&str], folder: TempDir) -> Recorded {
    let mut command = recording(program, folder.path());
    command.args(words).env("TELEMETRY_STACKS", DEPTH.to_string());
    run(command, folder)
}

/// `.rep.stack`
#[test]
fn a_recorded_stack_equals_the_unwinders() {
    const CXX: [&str; 5] = ["-O2", "-Wl,--no-as-needed", "-lstdc++", "-x", "c++"];
    for options in [&["-O2"][..], &["-O2", "-fno-omit-frame-pointer"], &["-O0"], &CXX] {
        let folder = tempfile::tempdir().unwrap();
        let program = compile("stacks.c", folder.path(), options);
        let recorded = with_stacks(&program, &["check"], folder);
        let log = &recorded.logs()[&(recorded.process, 1)];
        let (count, deep) = judge_stacks(log, recorded.output.lines());
        assert!(count > 1000 && deep > 100, "{options:?}: {count} stacks, {deep} of them longer");
    }
}

/// `.rep.stack.walk`: a rule for an address is dropped when other code takes the address.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_stack_is_right_after_other_code_takes_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("stacks.c", folder.path(), &["-O2"]);
    let libraries = ["1000", "3000", "2000"].map(|room| {
        let library = compile(
            "reused.c",
            folder.path(),
            &["-O2", "-shared", "-fPIC", &format!("-DROOM={room}")],
        );
        let path = library.with_extension(room);
        std::fs::rename(library, &path).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let words: Vec<&str> = ["reuse"].into_iter().chain(libraries.iter().map(|it| &**it)).collect();
    let recorded = with_stacks(&program, &words, folder);
    assert!(recorded.status.success(), "{}: {}", recorded.status, recorded.errors);
    let log = &recorded.logs()[&(recorded.process, 1)];
    assert_eq!(judge_stacks(log, recorded.output.lines()), (3 + 8, 0));
}

/// `.rep.stack`
#[test]
fn a_forked_child_records_its_own_stacks() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("stacks.c", folder.path(), &["-O2"]);
    let recorded = with_stacks(&program, &["fork"], folder);
    let (lines, child) = recorded.output.trim_end().rsplit_once('\n').unwrap();
    let logs = recorded.logs();
    // The numbers of the child's allocations begin with 3.
    let is_of_child =
        |line: &&str| line.split(' ').next().unwrap().parse::<u64>().unwrap() >> 20 == 3;
    let (of_child, of_parent): (Vec<&str>, Vec<&str>) = lines.lines().partition(is_of_child);
    for (process, lines) in [(recorded.process, of_parent), (child.parse().unwrap(), of_child)] {
        let (count, deep) = judge_stacks(&logs[&(process, 1)], lines.into_iter());
        assert!(count > 500 && deep > 50, "{process}: {count} stacks, {deep} of them longer");
    }
}

/// `.rep.stack`
#[test]
fn stacks_cost_little_more_than_recording_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("stacks.c", folder.path(), &[]);
    for way in ["time", "branch"] {
        let time = |depth: &str| {
            let folder = tempfile::tempdir().unwrap();
            let mut command = recording(&program, folder.path());
            command.arg(way).env("TELEMETRY_STACKS", depth);
            run(command, folder).output.trim().parse::<f64>().unwrap()
        };
        let ratio = || time("32") / time("0");
        let least = (0..3).map(|_| ratio()).fold(f64::MAX, f64::min);
        // A walk by the unwinder each time takes 26 to 40 times as long.
        assert!(least < 10.0, "{way}: {least:.1} times");
    }
}

/// `.rep.record.ends`: this holds even if the parent process never called the function.
#[test]
fn a_forked_child_looks_up_no_function() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = recording("/bin/sh", folder.path());
    command.args(["-c", "(exec /bin/true); (exit 0); exit 0"]);
    command.env("LD_DEBUG", "symbols").env("LD_BIND_NOW", "1");
    command.env("LD_DEBUG_OUTPUT", folder.path().join("linker"));
    let recorded = run(command, folder);
    assert!(recorded.status.success(), "{}", recorded.errors);
    let process = recorded.process.to_string();
    let printed = recorded.folder.path().join(format!("linker.{process}"));
    let printed = std::fs::read_to_string(printed).unwrap();
    let (of_parent, of_child): (Vec<_>, Vec<_>) =
        printed.lines().partition(|line| line.trim_start().starts_with(&process));
    assert!(of_parent.iter().any(|line| line.contains("symbol=execve;")));
    let lookups = of_child.iter().filter(|line| line.contains("symbol=")).collect::<Vec<_>>();
    assert!(lookups.is_empty(), "{lookups:?}");
}

/// `.rep.record.library`: the names of the functions and variables that a library exports.
fn exports(library: &Path) -> Vec<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output();
    let text = String::from_utf8(output.expect("nm runs").stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split(' ').nth(2)).map(str::to_owned);
    names.collect()
}

/// `.rep.record.library`
#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn the_installed_library_run_as_a_program_says_what_it_is() {
    let output = Command::new(env!("CARGO_BIN_EXE_replay-interpose")).output().expect("it runs");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    let [first, last] = ["replay-interpose: this is a library", "which preload it\n"];
    assert!(errors.starts_with(first) && errors.ends_with(last), "{errors}");
}

#[test]
fn installed_and_built_libraries_export_the_same_names() {
    let built = exports(common::library());
    assert!(built.iter().any(|name| name == "malloc"), "{built:?}");
    assert_eq!(exports(Path::new(env!("CARGO_BIN_EXE_replay-interpose"))), built);
}
