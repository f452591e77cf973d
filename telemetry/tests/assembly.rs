//! Compares the machine code of an annotation with golden files, and with rules for any compiler.
//!
//! ```text
//!  examples/annotation.rs ─ rustc, as shipped ─▶ .s ─ one function, made plain ─▶ golden/asm/
//! ```
//!
//! `BLESS=1` rewrites the files. The first line of each names its compiler. The code of another
//! compiler is only checked against the rules. Design: `.annot` in `design/telemetry.md`.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "common/shipped.rs"]
mod shipped;

use shipped::{HERE, compare, function};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The functions of the example, in the order of its table.
#[derive(Clone, Copy, PartialEq)]
enum Function {
    Annotated,
    Glanced,
    Nothing,
}
use Function::{Annotated, Glanced, Nothing};

/// A processor that is not this one.
const ARM: &str = "aarch64-unknown-linux-gnu";

/// Returns the assembly of the example in a variety.
fn assembly(target: &'static str, variety: &'static str) -> &'static str {
    static ASSEMBLIES: Mutex<BTreeMap<(&str, &str), &str>> = Mutex::new(BTreeMap::new());
    let mut assemblies = ASSEMBLIES.lock().unwrap_or_else(PoisonError::into_inner);
    assemblies.entry((target, variety)).or_insert_with(|| {
        check_target(target);
        shipped::assemble("annotation", "telemetry", target, variety).leak()
    })
}

/// Returns the name of a function of the example from the table. The compiler merges equal
/// functions, so several places may hold one name.
fn name_of(assembly: &str, function: Function) -> &str {
    let table = assembly.lines().skip_while(|line| !(line.contains("KEPT") && line.ends_with(':')));
    let mut names = table.skip(1).filter_map(|line| {
        let line = line.trim();
        line.strip_prefix(".quad").or_else(|| line.strip_prefix(".xword")).map(str::trim)
    });
    names.nth(function as usize).expect("the example has a table of its functions")
}

/// Returns the instructions of a function of the example.
fn code_of(assembly: &'static str, function: Function) -> Vec<String> {
    shipped::function(assembly, name_of(assembly, function))
}

fn count(code: &[String], part: &str) -> usize {
    code.iter().filter(|line| line.contains(part)).count()
}

/// An annotation that is switched off costs one load, one test, one branch.
#[test]
fn an_annotation_that_is_off_costs_load_test_and_branch() {
    for (variety, functions) in [("hot", &[Annotated][..]), ("cool", &[Annotated, Glanced])] {
        for function in functions {
            let code = code_of(assembly(HERE, variety), *function);
            let begins = |index: usize, how: &str| code[index].trim_start().starts_with(how);
            assert!(begins(0, "mov") && code[0].contains("(%rip)"), "load: {code:#?}");
            assert!(begins(1, "test"), "test: {code:#?}");
            assert!(begins(2, "j"), "branch: {code:#?}");
            if *function == Annotated {
                compare("asm/off.s", &code);
            }
        }
    }
}

/// The processors that the example is compiled for.
const TARGETS: [&str; 2] = [HERE, ARM];

/// Fails if the compiler lacks the standard library of the target.
fn check_target(target: &str) {
    let mut command = Command::new("rustc");
    let output = command.args(["--print", "target-libdir", "--target", target]).output().unwrap();
    let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let has_library = Path::new(&folder).is_dir();
    assert!(has_library, "{target}: Rust target not installed; ./test --install installs it");
}

/// `.sol.variety`: a compiled-out annotation leaves no instruction, on either processor.
#[test]
fn a_compiled_out_annotation_leaves_no_instruction() {
    for target in TARGETS {
        for (variety, functions) in [("hot", &[Glanced][..]), ("rash", &[Annotated, Glanced])] {
            let assembly = assembly(target, variety);
            let nothing = code_of(assembly, Nothing);
            assert_eq!(nothing.len(), 1, "a return: {nothing:#?}");
            for function in functions {
                assert_eq!(code_of(assembly, *function), nothing, "{target} {variety}");
            }
        }
        assert!(!assembly(target, "rash").contains("6record"), "{target}: a recorder");
    }
}

/// The load takes two instructions, because an address has two halves; test and branch are one.
#[test]
fn an_annotation_that_is_off_costs_as_little_on_arm() {
    for (variety, function) in [("hot", Annotated), ("cool", Annotated), ("cool", Glanced)] {
        let code = code_of(assembly(ARM, variety), function);
        let begins = |index: usize, how: &str| code[index].trim_start().starts_with(how);
        assert!(begins(0, "adrp") && begins(1, "ldr"), "load: {code:#?}");
        assert!(begins(2, "tbz") || begins(2, "tbnz"), "test and branch: {code:#?}");
        assert!(code.last().is_some_and(|last| last.trim() == "ret"), "{code:#?}");
    }
}

/// Recording three words makes no call, takes no lock and reads the counter once.
#[test]
fn recording_three_words_calls_no_function_and_takes_no_lock() {
    let code = function(assembly(HERE, "hot"), "fast_path6record");
    assert_eq!(count(&code, "rdtsc"), 1, "{code:#?}");
    for absent in ["call", "lock", "xchg", "mfence", "syscall"] {
        assert_eq!(count(&code, absent), 0, "{absent}: {code:#?}");
    }
    assert!(code.len() <= 50, "{} instructions: {code:#?}", code.len());
    compare("asm/record-three-words.s", &code);
}
