//! Graphs of x86-64 programs that the system's compilers make from one source.
#![cfg(all(feature = "binary", target_os = "linux", target_arch = "x86_64"))]

use lens_paths::binary::{Binary, BinaryError, Callee, Chart, Ends, Function};
use std::path::Path;
use std::process::Command;

const SOURCE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static int twice(int x) { return x & 1 ? 3 * x + 1 : x / 2; }
static int thrice(int x) { return x > 9 ? x - 3 : x + 7; }
int (*volatile table[])(int) = { twice, thrice };
__attribute__((noinline)) int choose(int k, int v) {
    switch (k) {
    case 0: return v + 1; case 1: return v * 2; case 2: return v - 3; case 3: return v ^ 5;
    case 4: return v / 7; case 5: return v % 9; case 6: return v + v; default: return 0;
    }
}
__attribute__((noinline)) void fail(const char *why) { puts(why); exit(3); }
int main(int c, char **v) {
    if (c > 2) fail("too many");
    return choose(c, table[c & 1](c)) > 4;
}
"#;

/// Compiles the source. Returns the program's bytes.
fn compile(compiler: &str, flags: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("a.c"), folder.path().join("a"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut command = Command::new(compiler);
    let status = command.args(flags).arg("-o").args([&program, &source]).status();
    assert!(status.unwrap_or_else(|error| panic!("{compiler}: {error}")).success());
    read(&program)
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn named<'b>(binary: &'b Binary, name: &str) -> &'b Function {
    binary.functions.values().find(|own| own.name == name).unwrap()
}

const MADE: [(&str, &[&str]); 6] = [
    ("gcc", &["-O2"]),
    ("gcc", &["-O0"]),
    ("gcc", &["-O2", "-no-pie", "-fcf-protection=full"]),
    ("clang", &["-O2", "-fno-jump-tables"]),
    ("clang", &["-O0"]),
    ("clang", &["-O1", "-no-pie"]),
];

#[test]
fn each_compiler_gives_a_graph_without_troubles() {
    for (compiler, flags) in MADE {
        let bytes = compile(compiler, flags);
        let binary = Binary::read(&bytes, None).unwrap();
        for own in binary.functions.values() {
            assert_eq!(own.troubles, [], "{compiler} {flags:?} {}", own.name);
        }
        assert!(named(&binary, "twice").is_taken && named(&binary, "thrice").is_taken);
        let main = named(&binary, "main");
        let is_indirect = |ends: &Ends| matches!(ends, Ends::Call { callee: Callee::Indirect, .. });
        assert!(main.blocks.iter().any(|block| is_indirect(&block.ends)), "{compiler} {flags:?}");
    }
}

#[test]
fn a_switch_has_each_of_its_cases_as_target() {
    for (compiler, flags) in [("gcc", ["-O1"]), ("gcc", ["-O0"]), ("clang", ["-O0"])] {
        let binary = Binary::read(&compile(compiler, &flags), None).unwrap();
        let tables = named(&binary, "choose").blocks.iter().filter_map(|block| match &block.ends {
            Ends::Table(targets) => Some(targets.len()),
            _ => None,
        });
        assert_eq!(tables.collect::<Vec<_>>(), [7], "{compiler} {flags:?}");
    }
}

#[test]
fn a_call_of_a_function_that_exits_has_no_way_back() {
    for (compiler, flags) in MADE {
        let binary = Binary::read(&compile(compiler, flags), None).unwrap();
        let fail = named(&binary, "fail");
        assert!(!fail.returns, "{compiler} {flags:?}");
        let calls = named(&binary, "main").blocks.iter().filter_map(|block| match &block.ends {
            Ends::Call { callee: Callee::Own(at), back } if *at == fail.start => Some(*back),
            _ => None,
        });
        assert_eq!(calls.collect::<Vec<_>>(), [None], "{compiler} {flags:?}");
    }
}

#[test]
fn a_stripped_program_has_the_graph_of_the_whole_one() {
    for flags in [&["-O2"][..], &["-O2", "-no-pie"]] {
        let whole = Binary::read(&compile("gcc", flags), None).unwrap();
        let stripped: Vec<&str> = flags.iter().copied().chain(["-s"]).collect();
        let stripped = Binary::read(&compile("gcc", &stripped), None).unwrap();
        let blocks = |binary: &Binary| {
            binary.functions.values().map(|own| own.blocks.clone()).collect::<Vec<_>>()
        };
        assert_eq!((whole.root, blocks(&whole)), (stripped.root, blocks(&stripped)));
    }
}

#[test]
fn functions_that_are_not_chosen_are_code_outside() {
    let binary = Binary::read(&compile("gcc", &["-O1"]), None).unwrap();
    let chart = Chart::new(&binary, |name| name == "twice").unwrap();
    let names: Vec<&str> = chart.program.functions().iter().map(|own| own.name()).collect();
    assert_eq!(names, ["twice", "main"]);
    assert!(chart.left.iter().any(|own| own.name == "choose"));
    assert!(chart.callable.contains_key(&named(&binary, "twice").start));
}

#[test]
fn files_that_are_no_programs_are_refused_in_words() {
    let refused = |bytes: &[u8], root| Binary::read(bytes, root).unwrap_err();
    assert!(matches!(refused(b"#!/bin/sh\n", None), BinaryError::NotElf(_)));
    let bytes = compile("gcc", &["-O1"]);
    assert_eq!(refused(&bytes, Some("mane")).to_string(), "function mane not found");
    let mut other = bytes;
    other[18] = 183;
    assert_eq!(refused(&other, None), BinaryError::OtherMachine);
}

#[test]
fn a_damaged_program_gives_a_graph_or_a_refusal() {
    let bytes = compile("gcc", &["-O1", "-s"]);
    for at in (0..bytes.len()).step_by(23) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        if let Ok(binary) = Binary::read(&damaged, None) {
            let _ = Chart::new(&binary, |_| true);
        }
        let _ = Binary::read(&bytes[..at], None);
    }
}
