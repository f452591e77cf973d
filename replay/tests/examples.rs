//! Runs every example in the help of every command.
//!
//! ```text
//!  replay COMMAND --help ── Examples: ──▶ sh, in a directory with program.log, program.ops, …
//! ```
//!
//! Design: `.rep.examples` in `design/replay.md`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const TOOL: &str = env!("CARGO_BIN_EXE_replay");

/// Returns the commands that the help lists.
fn commands() -> Vec<String> {
    let help = Command::new(TOOL).arg("-h").output().expect("output").stdout;
    let help = String::from_utf8(help).expect("UTF-8");
    let list = help.split("Commands:\n").nth(1).expect("commands");
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| !line.starts_with("   "));
    names.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

/// Returns the command lines of the examples in a help text: the text before two spaces.
fn examples(help: &str) -> Vec<String> {
    let (_, rest) = help.split_once("\nExamples:\n").expect("the help has examples");
    let lines = rest.lines().take_while(|line| !line.is_empty());
    lines.map(|line| line.trim_start().split("  ").next().unwrap_or("").to_owned()).collect()
}

/// Makes the files that an example names: a program, recordings, a library.
fn prepare(directory: &Path, example: &str, library: &Path) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mps");
    let copy = |from: &Path, to: &str| fs::copy(from, directory.join(to)).map(drop);
    for name in ["program.log", "first.log", "second.log", "replayed.log"] {
        copy(&golden.join("mpmss-cut.log"), name).expect("copied");
    }
    copy(&golden.join("labels.log"), "program.log-4711").expect("copied");
    copy(library, "libmine.so").expect("copied");
    copy(Path::new("/bin/ls"), "server").expect("copied");
    if example.contains("parser") {
        fs::write(directory.join("parser.c"), "int main(void) { return 0; }").expect("written");
        let mut compiler = Command::new("cc");
        compiler.args(["-finstrument-functions", "-o", "parser", "parser.c"]);
        assert!(compiler.current_dir(directory).status().expect("a C compiler exists").success());
    }
    fs::write(directory.join("words.txt"), "two\none\n").expect("written");
    fs::write(directory.join("script.py"), "print([str(i) for i in range(99)])\n")
        .expect("written");
    if !example.contains("-o program.ops") {
        let mut compile = Command::new(TOOL);
        compile.args(["compile", "program.log", "-o", "program.ops"]).current_dir(directory);
        assert!(compile.output().expect("output").status.success());
    }
}

/// Compiles a library that is a heap.
fn library(directory: &Path) -> PathBuf {
    let (source, library) = (directory.join("mine.c"), directory.join("libmine.so"));
    fs::write(&source, MINE).expect("written");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]);
    assert!(compiler.status().expect("a C compiler exists").success());
    library
}

/// The C library's heap under its other names.
const MINE: &str = "
#include <stddef.h>
extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
void *malloc(size_t size) { return __libc_malloc(size); }
void free(void *memory) { __libc_free(memory); }
";

/// The tool under its name, without waiting until memory settles.
const SHORT: &str = r#"#!/bin/sh
case $1 in play) shift; exec "$TOOL" play --settle 0 "$@" ;; esac
exec "$TOOL" "$@"
"#;

/// `.rep.examples`
#[test]
fn every_example_in_the_help_works() {
    let bin = TempDir::new().expect("a directory");
    let short = bin.path().join("replay");
    fs::write(&short, SHORT).expect("written");
    fs::set_permissions(&short, fs::Permissions::from_mode(0o755)).expect("may be run");
    let library = library(bin.path());
    let path = std::env::var_os("PATH").expect("a path");
    let folders = [bin.path().to_owned()].into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).expect("a path");
    let mut count = 0;
    // The help of the tool itself has examples, too.
    for command in commands().into_iter().map(Some).chain([None]) {
        let help = Command::new(TOOL).args(command).arg("--help").output().expect("output").stdout;
        let mut examples = examples(&String::from_utf8(help).expect("UTF-8"));
        // The kernel tells of itself only to root: tests/tests/waits_record.rs tests it.
        examples.retain(|example| !example.contains("--kernel"));
        for example in examples {
            let directory = TempDir::new().expect("a directory");
            prepare(directory.path(), &example, &library);
            let mut shell = Command::new("sh");
            shell.args(["-c", &example]).current_dir(&directory).stdin(Stdio::null());
            let output = shell.env("PATH", &path).env("TOOL", TOOL).output().expect("sh exists");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{example}: {errors}");
            // `replay record` reports the program, and the children of a script.
            let is_expected =
                |line: &str| line.contains(" note: ") || line.ends_with(", nothing lost");
            assert!(errors.lines().all(is_expected), "{example}: {errors}");
            count += 1;
        }
    }
    assert!(count >= 20, "{count}");
}
