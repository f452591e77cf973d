//! The paths of functions with `#[path]`, against what the functions note themselves.
//!
//! ```text
//!  seed ─▶ random functions ─ rustc ─▶ program ─┬─ its notes: each way that it takes ─┐
//!                                               └─ log ─ lens_paths::marked ─ walk ───┴─▶ equal
//! ```
//!
//! Design: `.paths.marked` in `design/paths.md`.

#[path = "marked/forms.rs"]
mod forms;
#[path = "marked/generator.rs"]
mod generator;
#[path = "marked/published.rs"]
mod published;

use eventlog::reader::Log;
use generator::{CALL_COUNT, FUNCTION_COUNT};
use lens_paths::marked::{Marked, ThreadWalked};
use lens_paths::walk::Step;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tests::programs::{lines, recording, run};

/// Returns the newest library of this name that the test is linked with.
fn library(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let is_library = |path: &PathBuf| {
        let file = path.file_name().unwrap().to_string_lossy();
        file.starts_with(&format!("lib{name}-")) && file.ends_with(".rlib")
    };
    let files = test.parent().unwrap().read_dir().unwrap().map(|file| file.unwrap().path());
    files
        .filter(is_library)
        .max_by_key(|path| path.metadata().unwrap().modified().unwrap())
        .unwrap()
}

/// Returns the options of the compiler with which a file uses the attribute.
fn library_arguments() -> Vec<String> {
    let calls = library("calls");
    vec![
        format!("-Ldependency={}", calls.parent().unwrap().display()),
        format!("--extern=calls={}", calls.display()),
    ]
}

/// Compiles a file. Returns the program.
fn compile(folder: &Path, text: &str, options: &[String]) -> PathBuf {
    let (source, program) = (folder.join("own.rs"), folder.join("own"));
    fs::write(&source, text).unwrap();
    run(Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
        .args(["--edition=2024", "-Cdebuginfo=0", "-o"])
        .arg(&program)
        .args(options)
        .arg(&source));
    program
}

/// A call: its function, the ways that it took, and whether they are all that it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Call {
    function: String,
    ways: Vec<String>,
    is_whole: bool,
}

/// Returns the calls that a program notes, in the order of their beginnings.
fn noted(notes: &[String]) -> Vec<Call> {
    let (mut calls, mut open): (Vec<Call>, Vec<usize>) = (Vec::new(), Vec::new());
    for note in notes {
        match note.as_str() {
            ")" | "!" => {
                let ended = open.pop().unwrap();
                calls[ended].is_whole = note == ")";
            }
            // The notes of operands do not show it in blocks.
            way if way.ends_with(" past") => {}
            own => match own.strip_prefix("( ") {
                Some(function) => {
                    open.push(calls.len());
                    calls.push(Call { function: function.to_owned(), ..Call::default() });
                }
                None => calls[*open.last().unwrap()].ways.push(own.to_owned()),
            },
        }
    }
    calls
}

/// Returns the line and the word of the label of a block.
fn place(label: &str) -> (&str, &str) {
    let (place, word) = label.split_once(' ').unwrap();
    (place.split(':').nth(1).unwrap(), word)
}

/// Words of blocks that do not begin a way of a fork.
const OTHERS: [&str; 5] = ["begin", "end", "join", "loop", "past"];

/// Returns the calls of the threads of a log, and what the walks found.
fn walked(log: &Path) -> (Vec<Call>, Vec<ThreadWalked>) {
    let log = Log::open(log).unwrap();
    let marked = Marked::read(&log).unwrap();
    let program = marked.program();
    assert_eq!(marked.strays(), 0);
    let (mut calls, mut open): (Vec<Call>, Vec<usize>) = (Vec::new(), Vec::new());
    let threads = marked.threads().iter().map(|thread| {
        marked.walk(thread, &mut |step| match step {
            Step::Enter(function) => {
                open.push(calls.len());
                let name = program.function(function).unwrap().name();
                let function = name.rsplit("::").next().unwrap().to_owned();
                calls.push(Call { function, is_whole: true, ..Call::default() });
            }
            Step::Block(function, block) => {
                let own = program.function(function).unwrap().block(block).unwrap();
                let (line, word) = place(own.label.as_ref().unwrap());
                if !OTHERS.contains(&word) {
                    calls[*open.last().unwrap()].ways.push(format!("{line} {word}"));
                }
            }
            Step::Leave(_) => _ = open.pop(),
            Step::Unwound(_) => calls[open.pop().unwrap()].is_whole = false,
            Step::Unknown(_) => {}
        })
    });
    let threads = threads.collect();
    (calls, threads)
}

fn check(seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let text = generator::file(seed);
    let program = compile(folder.path(), &text, &library_arguments());
    let log = folder.path().join("own.log");
    let notes = lines(&mut recording(Command::new(program), "all", &log));
    let (expected, (found, threads)) = (noted(&notes), walked(&log));
    assert!(expected.len() >= FUNCTION_COUNT * CALL_COUNT);
    assert_eq!(found.len(), expected.len());
    let mut whole = 0;
    for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let agreed = found.ways.iter().zip(&expected.ways).take_while(|(a, b)| a == b).count();
        let line = expected
            .ways
            .get(agreed)
            .or(found.ways.get(agreed))
            .map_or("1", |way| way.split(' ').next().unwrap());
        let shown = generator::around(&text, line.parse().unwrap());
        let place = format!("seed {seed}, call {at}, {found:?}, {expected:?}\n{shown}");
        assert_eq!(found.function, expected.function, "{place}");
        assert_eq!(found.is_whole, expected.is_whole, "{place}");
        // What an unwinding left unsure is not in the path.
        assert_eq!(agreed, found.ways.len(), "{place}");
        assert!(!found.is_whole || agreed == expected.ways.len(), "{place}");
        whole += usize::from(found.is_whole);
    }
    assert!(whole * 10 > expected.len() * 5, "{whole} of {}", expected.len());
    assert!(threads.iter().all(|own| own.differences.is_empty()));
}

/// A program that writes its notes at once, and dies in a call.
const DYING: &str = r#"
fn note(way: &str) {
    eprintln!("{way}");
}

#[calls::path]
fn step(number: u32) -> u32 {
    eprintln!("( step");
    let is_odd = if number % 2 == 1 {
        note("then");
        true
    } else {
        note("else");
        false
    };
    let last: u32 = std::env::args().nth(2).unwrap().parse().unwrap();
    if number == last {
        note("then");
        die();
    } else {
        note("else");
    }
    eprintln!(")");
    u32::from(is_odd)
}

fn die() {
    match std::env::args().nth(1).as_deref() {
        Some("abort") => std::process::abort(),
        Some("overflow") => println!("{}", deep(1)),
        _ => std::process::exit(3),
    }
}

/// Fills the stack: the system kills the program.
#[inline(never)]
fn deep(number: u64) -> u64 {
    let own = [number; 512];
    std::hint::black_box(&own);
    deep(number + 1) + own[number as usize % 512]
}

#[calls::path]
fn main() {
    let mut sum = 0;
    for number in 0.. {
        sum += step(number);
    }
}
"#;

/// Runs the program until it dies. Returns its notes of `step`, and its log.
fn died(folder: &Path, how: &str, last: usize, place: &str) -> (Vec<Call>, PathBuf) {
    let program = compile(folder, DYING, &library_arguments());
    let log = folder.join(format!("{how}.log"));
    let name = place.replace("LOG", log.to_str().unwrap());
    let mut command = recording(Command::new(program), "all", Path::new(&name));
    let output = command.args([how, &last.to_string()]).output().unwrap();
    assert!(!output.status.success());
    let notes = String::from_utf8(output.stderr).unwrap();
    let is_note = |note: &&str| ["( step", ")", "then", "else"].contains(note);
    (noted_of(notes.lines().filter(is_note)), log)
}

fn noted_of<'n>(notes: impl Iterator<Item = &'n str>) -> Vec<Call> {
    noted(&notes.map(str::to_owned).collect::<Vec<_>>())
}

/// Returns the calls of `step` in a log, with the words of their ways alone.
fn steps(log: &Path) -> (Vec<Call>, Vec<ThreadWalked>) {
    let (calls, threads) = walked(log);
    let steps = calls.into_iter().filter(|call| call.function == "step");
    let words = |call: Call| {
        let ways = call.ways.iter().map(|way| way.split(' ').next_back().unwrap().to_owned());
        Call { ways: ways.collect(), ..call }
    };
    (steps.map(words).collect(), threads)
}

#[test]
fn the_log_of_a_program_that_dies_tells_the_path_to_its_last_event() {
    for how in ["abort", "overflow"] {
        let folder = tempfile::tempdir().unwrap();
        let (noted, log) = died(folder.path(), how, 5_001, "ring:LOG?size=4M");
        let (found, threads) = steps(&log);
        assert_eq!(noted.len(), 5_002);
        let (last, before) = noted.split_last().unwrap();
        assert_eq!(found[..5_001], before[..]);
        assert_eq!(last.ways, ["then", "then"]);
        // The last call is told up to its last event; the rest is unknown, and counted.
        assert!(last.ways.starts_with(&found[5_001].ways) && !found[5_001].is_whole);
        assert!(!threads[0].walked.is_whole);
        assert_eq!(threads[0].walked.unknown, 2, "of `step` and of `main`");
        assert_eq!(found.len(), 5_002);
    }
}

#[test]
fn a_ring_that_begins_midway_tells_the_path_of_its_events() {
    let folder = tempfile::tempdir().unwrap();
    let (noted, log) = died(folder.path(), "exit", 40_001, "ring:LOG?size=1M");
    let (found, threads) = steps(&log);
    assert!(found.len() > 100 && found.len() < 40_002, "{} of {}", found.len(), noted.len());
    // The first call may be known in part alone.
    let same = noted.len() - (found.len() - 1);
    for (at, (found, noted)) in found[1..].iter().zip(&noted[same..]).enumerate() {
        assert_eq!(found.is_whole, noted.is_whole, "call {at} of {same}");
        let is_same = found == noted || !noted.is_whole && noted.ways.starts_with(&found.ways);
        assert!(is_same, "call {at} of {same}: {found:?}, {noted:?}");
    }
    assert!(!threads[0].walked.is_whole);
    assert!(threads[0].differences.is_empty());
}

#[test]
fn random_functions_have_the_path_that_they_note() {
    for seed in [1, 2] {
        check(seed);
    }
}
