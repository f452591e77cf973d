//! What code outside does: it calls functions of the program, throws through them, jumps over them.
//!
//! ```text
//!  program ─┬ prints how often each of its functions was called ─┐
//!           └ breakpoints ─▶ calls from outside, by function ─────┴─ equal
//!  exceptions of libraries ─▶ letters ─ walk ─▶ a path that is not whole
//! ```
//!
//! Design: `.collect.sites` in `design/collect.md`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use common::{collected, compile, launch, walk};
use lens_paths::plan::Options;

use record_paths::{Choice, Subject, step};
use std::collections::BTreeMap;
use std::path::Path;

/// Runs a program by breakpoints; returns the calls from outside by function, and what it printed
/// of them.
fn calls(
    program: &Path,
    choice: &Choice,
    arguments: &[&str],
) -> (BTreeMap<String, u64>, BTreeMap<String, u64>) {
    let subject = Subject::read(program, choice).unwrap();
    let (run, hits) = collected(&subject, choice, &launch(program, arguments));
    let printed = String::from_utf8(hits.output).unwrap();
    let row = |line: &str| {
        let (name, count) = line.split_once(' ').unwrap();
        (name.to_owned(), count.parse().unwrap())
    };
    let printed = printed.lines().map(row).filter(|(_, count)| *count > 0);
    (run.callbacks.into_iter().collect(), printed.collect())
}

#[test]
fn calls_from_outside_are_counted_by_function_as_the_program_counts_them() {
    let folder = tempfile::tempdir().unwrap();
    let only = Choice { root: None, functions: vec!["on_".to_owned()] };
    for (flags, choice) in [
        (&["-O2"][..], &Choice::default()),
        (&["-O2", "-DDIRECT"], &Choice::default()),
        (&["-O0", "-fcf-protection=full"], &Choice::default()),
        (&["-O2", "-no-pie"], &Choice::default()),
        (&["-O2", "-Wl,-z,pack-relative-relocs"], &Choice::default()),
        (&["-O2", "-static"], &only),
        (&["-O1", "-static-pie"], &only),
    ] {
        let program = compile(folder.path(), "gcc", flags, "callbacks.c");
        // It returns; it ends by `exit`.
        for arguments in [&[][..], &["exit"]] {
            let (counted, printed) = calls(&program, choice, arguments);
            assert_eq!(printed["on_compare"], 73);
            assert_eq!(counted, printed, "{flags:?} {arguments:?}");
        }
    }
}

#[test]
fn an_exception_that_a_library_throws_makes_a_path_that_is_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let of = |root: &str, only: &[&str]| Choice {
        root: Some(root.to_owned()),
        functions: only.iter().map(|own| (*own).to_owned()).collect(),
    };
    let whole = Choice::default();
    // In Rust the panic itself is code of the library.
    let rust = of("throws::main", &["throws::"]);
    // Without optimisation `catch_unwind` is code outside, and so is the call that it catches.
    for (compiler, flags, source, choice, is_seen) in [
        ("g++", &["-O0"][..], "throws.cc", &whole, true),
        ("g++", &["-O2"], "throws.cc", &whole, true),
        ("g++", &["-O2", "-no-pie", "-s"], "throws.cc", &whole, true),
        ("clang++", &["-O2"], "throws.cc", &whole, true),
        // The handler lies above the root.
        ("g++", &["-O2"], "throws.cc", &of("bare", &[]), true),
        ("rustc", &["-Copt-level=0"], "throws.rs", &rust, false),
        ("rustc", &["-Copt-level=2"], "throws.rs", &rust, true),
        ("gcc", &["-O2"], "leaps.c", &whole, true),
    ] {
        let program = compile(folder.path(), compiler, flags, source);
        let subject = Subject::read(&program, choice).unwrap();
        for (word, throws) in
            [(if source == "throws.cc" { "C" } else { "17" }, false), ("no", true)]
        {
            let (launch, is_whole) = (launch(&program, &[word]), !(throws && is_seen));
            let name = format!("{compiler} {flags:?} {source} {choice:?} {word}");
            let stepped = step(&launch, subject.binary.entry, &subject.chart, Some(0)).unwrap();
            let walked = walk(&subject, choice, &launch, &Options::default());
            assert_eq!(walked.is_whole, is_whole, "{name}");
            assert!(stepped.is_whole || !is_whole, "{name}");
            // What is sure is the truth.
            let sure = walked.sure.min(stepped.path.len());
            assert_eq!(walked.path[..sure], stepped.path[..sure], "{name}");
        }
    }
}

#[test]
fn destructors_of_static_objects_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let only = Choice { root: None, functions: vec!["on_".to_owned()] };
    for flags in [&["-O2"][..], &["-O0", "-no-pie"]] {
        let program = compile(folder.path(), "g++", flags, "destroys.cc");
        let (counted, printed) = calls(&program, &only, &[]);
        assert_eq!(printed.len(), 2);
        assert_eq!(counted, printed, "{flags:?}");
    }
}

#[test]
fn a_first_function_whose_jumps_are_unknown_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "cc", &["-O2"], "unknown.c");
    let error = Subject::read(&program, &Choice::default()).unwrap_err().to_string();
    assert!(error.contains("no table tells where the jump at 0x"), "{error}");
    assert!(error.contains("--main"), "{error}");
}
