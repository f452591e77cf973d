//! The path of a compiled program by `eventcnv paths collect`, against the program's own counts.
//!
//! ```text
//!  steps.c ─ cc ─▶ steps ─┬─ its own count of calls ───────────────┐
//!                         └─ paths collect ─▶ path.log ─ pairs ────┴─ equal
//!                            2 machines ─▶ jobs ─▶ runs ─ paths walk ─▶ the same
//! ```
//!
//! Design: `design/collect.md`.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tests::programs::{eventcnv, lines, run, system};

/// Compiles the program, and returns its count of the calls of `step`.
fn compile(folder: &Path) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/paths/steps.c");
    run(system("cc").current_dir(folder).args(["-O1", "-o", "steps"]).arg(source));
    lines(Command::new("./steps").current_dir(folder).arg("97")).remove(0)
}

fn paths(folder: &Path, words: &[&str]) -> Output {
    eventcnv().current_dir(folder).arg("paths").args(words).output().expect("eventcnv runs")
}

/// Returns how often a function is called in the log of a path.
fn calls(log: &Path, function: &str) -> String {
    let pairs = lines(eventcnv().arg("pairs").arg(log));
    let row = pairs.iter().find_map(|line| line.strip_prefix(&format!("{function} ")));
    row.and_then(|row| row.split_whitespace().next()).expect("the function").to_owned()
}

#[test]
fn a_collected_path_has_the_calls_that_the_program_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let counted = compile(folder.path());
    assert_eq!(counted, "118", "of the Collatz sequence of 97");
    let words = ["collect", "-o", "path.log", "--", "./steps", "97"];
    let collected = paths(folder.path(), &words);
    let said = String::from_utf8_lossy(&collected.stderr);
    assert_eq!(collected.status.code(), Some(0), "{said}");
    assert_eq!(collected.stdout, format!("{counted}\n").as_bytes(), "what the program prints");
    assert_eq!(calls(&folder.path().join("path.log"), "step"), counted);
    assert_eq!(calls(&folder.path().join("path.log"), "main"), "1");
}

#[test]
fn the_jobs_of_two_machines_give_the_path_of_one_and_a_lost_job_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let counted = compile(folder.path());
    let words = ["plan", "--machines", "2", "--jobs", "jobs", "--", "./steps", "97"];
    assert_eq!(paths(folder.path(), &words).status.code(), Some(0));
    let jobs = folder.path().join("jobs");
    for job in ["job-0.json", "job-1.json"] {
        let done = paths(folder.path(), &["collect", "--job", &format!("jobs/{job}")]);
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let walked = paths(folder.path(), &["walk", "jobs", "-o", "path.log"]);
    assert_eq!(walked.status.code(), Some(0), "{}", String::from_utf8_lossy(&walked.stderr));
    assert_eq!(calls(&folder.path().join("path.log"), "step"), counted);
    let runs = fs::read_dir(&jobs).expect("a folder").map(|file| file.expect("a file").path());
    let run = runs.filter(|path| path.extension().is_some_and(|it| it == "log")).min();
    fs::remove_file(run.expect("a run")).expect("a file");
    let walked = paths(folder.path(), &["walk", "jobs", "-o", "lost.log"]);
    assert_eq!(walked.status.code(), Some(2));
    let said = String::from_utf8_lossy(&walked.stderr);
    assert!(said.contains("run 0 is lost: job 1 of 2"), "{said}");
    assert!(!folder.path().join("lost.log").exists(), "no log of a path that is not known");
}
