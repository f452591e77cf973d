//! The replayer and logs of a program whose allocator records: whole, cut, with holes.
//!
//! ```text
//!  allocating ─▶ log ─┬──────────────────▶ replay show │ compile
//!                     └─ cut, with a hole ─▶ replay show: the rest, and one note a cause
//! ```
//!
//! Design: `.rep.source`, `.rep.skipped`, `.rep.truth` in `design/replay.md`.

use eventlog::reader::{Filter, Log, Order};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tests::programs;

/// The size of the log's blocks: small, so that the log has many.
const BLOCK_SIZE: usize = 4096;

/// Records a log of four threads that free each other's memory.
fn record(folder: &Path) -> PathBuf {
    let path = folder.join("a.log");
    let command = Command::new(env!("CARGO_BIN_EXE_allocating"));
    let mut command = programs::recording(command, "Object", &path);
    let size = BLOCK_SIZE.to_string();
    programs::run(command.arg("5000").env("MPS_TELEMETRY_BLOCK_SIZE", size));
    path
}

/// Returns the output of `show` about a log, its messages, and its exit code.
fn show(path: &Path) -> (serde_json::Value, String, i32) {
    let mut command = programs::replay();
    let Output { stdout, stderr, status } =
        command.args(["show", "--json"]).arg(path).output().unwrap();
    let errors = String::from_utf8(stderr).unwrap();
    let shown = serde_json::from_slice(&stdout).unwrap_or_else(|_| panic!("{errors}"));
    (shown, errors, status.code().unwrap())
}

fn number(shown: &serde_json::Value, key: &str) -> u64 {
    shown[key].as_u64().unwrap_or_else(|| panic!("{key} is a number: {shown}"))
}

/// Counts the events of a type in a log.
fn count(path: &Path, name: &str) -> u64 {
    let log = Log::open(path).unwrap();
    let mut events = log.events(Order::File, &Filter::default());
    let mut count = 0;
    while let Some(event) = events.next() {
        count += u64::from(event.name() == name);
    }
    count
}

/// Counts the frees of memory that no earlier event handed out, and of memory that was freed
/// before, by the state of each address.
fn frees_without_object(path: &Path) -> [u64; 2] {
    let log = Log::open(path).unwrap();
    let mut events = log.events(Order::Time, &Filter::default());
    let (mut is_live, mut counts) = (HashMap::new(), [0; 2]);
    while let Some(event) = events.next() {
        let param = |name| event.param(name).and_then(|value| value.as_u64()).unwrap();
        match event.name() {
            "Allocate" | "AllocateZeroed" => drop(is_live.insert(param("address"), true)),
            "ReallocateBegin" => {
                is_live.entry(param("address")).and_modify(|is_live| *is_live = false);
            }
            "Reallocate" => drop(is_live.insert(param("address"), true)),
            "Free" => match is_live.get_mut(&param("address")) {
                None => counts[0] += 1,
                Some(false) => counts[1] += 1,
                Some(is_live) => *is_live = false,
            },
            _ => {}
        }
    }
    counts
}

#[test]
fn every_allocation_of_a_program_is_an_operation() {
    let folder = tempfile::tempdir().unwrap();
    let log = record(folder.path());
    let (shown, errors, code) = show(&log);
    assert_eq!((errors.as_str(), code), ("", 0));
    assert_eq!(shown["skipped"].as_array().unwrap().len(), 0, "an event was skipped");
    let allocated = count(&log, "Allocate") + count(&log, "AllocateZeroed");
    assert_eq!(number(&shown, "allocation_count"), allocated);
    assert_eq!(number(&shown, "free_count"), count(&log, "Free"));
    assert_eq!(number(&shown, "reallocation_count"), count(&log, "Reallocate"));
    assert_eq!(number(&shown, "left_count"), allocated - count(&log, "Free"));
    assert_eq!(number(&shown, "thread_count"), 5);
    assert!(number(&shown, "cross_thread_free_count") > 1000, "too few");
    let saved = folder.path().join("a.ops");
    let mut compile = programs::replay();
    programs::run(compile.arg("compile").arg(&log).arg("-o").arg(&saved));
    let size = fs::metadata(&saved).unwrap().len();
    assert!(size < 40 * (2 * allocated), "{size} bytes for {allocated} objects");
    let (mut again, errors, code) = show(&saved);
    assert_eq!((errors.as_str(), code), ("", 0));
    again["name"] = shown["name"].clone();
    assert_eq!(again, shown);
}

#[test]
fn show_reads_a_cut_log_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let log = record(folder.path());
    let whole = number(&show(&log).0, "allocation_count");
    let bytes = fs::read(&log).unwrap();
    let place = bytes.len() / 2 / BLOCK_SIZE * BLOCK_SIZE + BLOCK_SIZE / 3;
    fs::write(&log, &bytes[..place]).unwrap();
    let (shown, errors, code) = show(&log);
    assert_eq!(code, 1);
    assert!(errors.contains("the log ends within this block"), "{errors}");
    let found = number(&shown, "allocation_count");
    assert!(found > whole / 4 && found < whole, "{found} of {whole}");
    // A cause of skipped events is reported once, with a number.
    assert!(errors.lines().count() < 20, "{errors}");
}

#[test]
fn show_counts_skipped_events_by_cause_after_a_loss() {
    // `.rep.skipped`: also objects that are older than the log or its rest.
    let folder = tempfile::tempdir().unwrap();
    let log = record(folder.path());
    let (whole, _, _) = show(&log);
    let bytes = fs::read(&log).unwrap();
    let third = bytes.len() / 3 / BLOCK_SIZE * BLOCK_SIZE;
    // Which threads ran at the time of a hole differs: a hole is wanted that has the allocation of
    // an object, and not its free.
    let block_count = third / BLOCK_SIZE;
    let truth = (block_count / 2..2 * block_count).step_by(4).find_map(|block| {
        let mut bytes = bytes.clone();
        bytes[block * BLOCK_SIZE..][..third].fill(0);
        fs::write(&log, &bytes).unwrap();
        Some(frees_without_object(&log)).filter(|counts| *counts != [0, 0])
    });
    let truth = truth.expect("a hole between an allocation and its free");
    let (shown, errors, code) = show(&log);
    assert_eq!(code, 1);
    assert!(errors.contains("requested events of alloc are missing from it"), "{errors}");
    let skipped = shown["skipped"].as_array().unwrap();
    assert!((1..=8).contains(&skipped.len()), "{skipped:?}");
    let frees = ["frees of memory whose allocation is not", "frees of memory that was already"];
    let told = frees.map(|cause| {
        let row = skipped.iter().find(|row| row[0].as_str().unwrap().starts_with(cause));
        row.map_or(0, |row| row[1].as_u64().unwrap())
    });
    assert_eq!(told, truth, "{skipped:?}");
    let count = |shown| number(shown, "allocation_count");
    assert!(count(&shown) > count(&whole) / 2 && count(&shown) < count(&whole));
    assert!(errors.lines().count() < 40, "{errors}");
}
