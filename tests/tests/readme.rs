//! What the README says is so.
//!
//! ```text
//!  README.md ─┬─ ```sh       run, and its output looked at
//!             ├─ ```rust     is the program tests/src/bin/shop.rs
//!             ├─ ```console  is what that program and the dumper print, but for the time
//!             └─ `paths`     are there
//! ```

use std::fs;
use std::process::Command;
use tests::programs::{eventcnv, lines, recording, replay, root, run};

/// The text of the first block of code in a language.
fn block(language: &str) -> String {
    block_of("# The event log", language)
}

/// The same, after a heading.
fn block_of(heading: &str, language: &str) -> String {
    let text = fs::read_to_string(root().join("README.md")).expect("there is a README");
    let (_, text) = text.split_once(heading).expect("the heading is there");
    let (_, rest) = text.split_once(&format!("```{language}\n")).expect("the block is there");
    rest.split("```").next().unwrap_or_default().to_owned()
}

#[test]
fn the_command_of_the_readme_shows_a_dump_of_the_example() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut shell = Command::new("sh");
    shell.args(["-c", block("sh").trim()]).current_dir(root());
    shell.env("MPS_TELEMETRY_FILENAME", directory.path().join("mpsio.log"));
    let dump = lines(&mut shell);
    let named =
        |name: &str| dump.iter().filter(|line| line.split(' ').nth(1) == Some(name)).count();
    assert!(named("ArenaCreate") > 0 && named("PoolInit") > 0, "{dump:#?}");
}

/// `.replayer`: built as this test is, and with its files elsewhere; memory need not settle.
#[test]
fn the_command_of_the_readme_compares_what_sort_costs_under_five_heaps() {
    let command = block_of("## Replay it", "sh");
    let steps: Vec<&str> = command.trim().split(" && ").collect();
    let [build, record, play] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!(*build, "cargo build -q --release -p replay -p interpose");
    let directory = tempfile::tempdir().expect("a directory can be made");
    let output = |step: &str, more: &str| {
        let words = step.strip_prefix("target/release/replay ").expect("replay is run");
        let words = words.replace("target/sort.", "$OUT/sort.");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("\"$REPLAY\" {words}{more}")]).current_dir(root());
        lines(shell.env("REPLAY", replay().get_program()).env("OUT", directory.path()))
    };
    output(record, "");
    let table = output(play, " --settle 0");
    for heap in ["system", "jemalloc", "mimalloc", "snmalloc", "pools"] {
        let rows = table.iter().filter(|line| line.split(' ').next() == Some(heap)).count();
        assert_eq!(rows, 3, "{heap}: {table:#?}");
    }
    assert!(table.first().is_some_and(|line| line.starts_with("sort.log: ")), "{table:#?}");
    let page = fs::read_to_string(directory.path().join("sort.html")).expect("there is a page");
    assert!(page.contains("<svg") && page.contains("snmalloc"));
}

/// The command lines beside it are understood, and what they name is there.
#[test]
fn the_command_lines_of_the_readme_for_replay_are_those_that_it_has() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| directory.path().join(name);
    let copy = |from: &str, to: &str| fs::copy(root().join(from), path(to)).map(drop);
    copy("tests/golden/mps/mpmss-cut.log", "mpsio.log").expect("a log of the MPS");
    fs::write(path("script.py"), "print([str(i) for i in range(99)])\n").expect("a script");
    fs::write(path("mine.c"), MINE).expect("a library");
    let mut compiler = Command::new("cc");
    run(compiler.args(["-shared", "-fPIC", "-o", "libmine.so", "mine.c"]).current_dir(&directory));
    for line in block_of("## Replay it", "text").lines() {
        let line = line.split("   ").next().expect("a command");
        let words = line.strip_prefix("$ replay ").expect("replay is run");
        let quick = if words.starts_with("play") { " --settle 0 --runs 1" } else { "" };
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("\"$REPLAY\" {words}{quick}")]).current_dir(&directory);
        let output = shell.env("REPLAY", replay().get_program()).output().expect("sh is there");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {errors}");
        // The second log, which is of another run.
        fs::copy(path("a.log"), path("b.log")).expect("copied");
    }
}

/// The C library's heap under its other names.
const MINE: &str = "
#include <stddef.h>
extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
void *malloc(size_t size) { return __libc_malloc(size); }
void free(void *memory) { __libc_free(memory); }
";

#[test]
fn the_program_of_the_readme_is_the_one_that_is_tested() {
    let path = root().join("tests/src/bin/shop.rs");
    let program = fs::read_to_string(path).expect("the program is there");
    let code = block("rust");
    assert!(program.ends_with(&code), "README.md and tests/src/bin/shop.rs differ");
    assert!(code.lines().count() <= 20, "{} lines", code.lines().count());
}

#[test]
fn the_dump_of_the_readme_is_what_its_program_leaves() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("mpsio.log");
    let shop = Command::new(env!("CARGO_BIN_EXE_shop"));
    run(&mut recording(shop, "Object", &log));
    let dump = lines(eventcnv().args(["-vv", "--events", "Sold"]).arg(&log));
    let shown = block("console");
    let shown: Vec<&str> = shown.lines().filter(|line| !line.starts_with('$')).collect();
    let without_time =
        |line: &str| line.split_once(' ').map(|(_, rest)| rest.trim_end().to_owned());
    assert_eq!(dump.len(), shown.len());
    for (dumped, shown) in dump.iter().zip(shown) {
        assert_eq!(without_time(dumped), without_time(shown));
    }
}

#[test]
fn the_map_of_the_readme_names_what_is_there() {
    let text = fs::read_to_string(root().join("README.md")).expect("there is a README");
    let (_, map) = text.split_once("## Find your way").expect("there is a map");
    let rows = map.lines().filter(|line| line.starts_with("| `"));
    let paths: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    assert!(paths.len() > 8, "{paths:?}");
    for path in paths {
        assert!(root().join(path).exists(), "{path} is on the map and not in the tree");
    }
}

/// `.control.env`: who runs a program finds all that the environment can say in one table.
#[test]
fn the_readme_has_a_row_for_each_variable_that_is_read_and_for_no_other() {
    let prefix = "MPS_TELEMETRY_";
    let text = fs::read_to_string(root().join("README.md")).expect("there is a README");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut shown: Vec<String> =
        rows.filter(|name| name.starts_with(prefix)).map(str::to_owned).collect();
    let mut read = Vec::new();
    let mut folders = vec![root().join("telemetry/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("a file").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = fs::read_to_string(path).expect("a source");
            let names =
                source.split("&CStr = c\"").skip(1).filter_map(|rest| rest.split('"').next());
            read.extend(names.filter(|name| name.starts_with(prefix)).map(str::to_owned));
        }
    }
    shown.sort();
    read.sort();
    // Where nothing can be recorded two of the names stand again.
    read.dedup();
    assert!(read.len() >= 8, "{read:?}");
    assert_eq!(shown, read);
}
