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
use tests::programs::{eventcnv, lines, recording, root, run};

/// The text of the first block of code in a language.
fn block(language: &str) -> String {
    let text = fs::read_to_string(root().join("README.md")).expect("there is a README");
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
    assert!(read.len() >= 8, "{read:?}");
    assert_eq!(shown, read);
}
