//! Streams in several files, as a user meets them: each file alone, all together, one missing, one
//! damaged.
//!
//! ```text
//!  recorder ── file:PATH?size=…&count=… ──▶ PATH.2 │ PATH.1 │ PATH ──▶ eventcnv, Log, reader.py
//! ```
//!
//! Rules: section 2.3 of `design/format.md`; `.sol.volume` in `design/telemetry.md`.

use eventlog::reader::{FaultKind, FileSource, Filter, Joined, Log, Order, Value};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tests::programs::{eventcnv, root, run, system};

const THREADS: u64 = 3;
const EVENTS: u64 = 20_000;
/// The kinds of a thread's events, in turn.
const KINDS: u64 = 3;

/// Records into volumes of 64 KiB. Returns their files, the oldest first.
fn record(directory: &Path, count: u32, threads: u64) -> Vec<PathBuf> {
    let name = directory.join("mpsio.log");
    let destination = format!("file:{}?size=64K&count={count}", name.display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_recorder"));
    command.args(["threads", &threads.to_string(), &EVENTS.to_string()]);
    command.env("MPS_TELEMETRY_CONTROL", "all").env("MPS_TELEMETRY_BLOCK_SIZE", "4096");
    let output = run(command.env("MPS_TELEMETRY_FILENAME", destination));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let number = |number: u32| match number {
        0 => name.clone(),
        number => directory.join(format!("mpsio.log.{number}")),
    };
    let names: Vec<PathBuf> = (0..count).rev().map(number).filter(|name| name.exists()).collect();
    assert_eq!(names.len(), fs::read_dir(directory).expect("a directory").count());
    names
}

fn joined(names: &[PathBuf]) -> Log {
    let mut joined = Joined::default();
    for name in names {
        let file = File::open(name).expect("the volume exists");
        joined.push(Box::new(FileSource::new(file).expect("a size")));
    }
    Log::from_source(joined).expect("a log")
}

/// Returns the indexes of events by thread and kind, in time order.
fn indexes(log: &Log) -> BTreeMap<(u64, u64), Vec<u64>> {
    let mut indexes: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        if event.registry.index == 0 {
            continue;
        }
        let Some([Value::W(thread), Value::W(index)]) =
            event.param("thread").zip(event.param("index")).map(|(thread, index)| [thread, index])
        else {
            panic!("an event without its parameters")
        };
        indexes.entry((thread, index % KINDS)).or_default().push(index);
    }
    assert!(events.faults().is_empty());
    indexes
}

/// Returns the line of `stats` about the stream, and the whole output.
fn stats(names: &[PathBuf]) -> (String, Output) {
    let output = eventcnv().arg("stats").args(names).output().expect("a child");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.starts_with("stream 0: ")).expect("a stream");
    (line.to_owned(), output)
}

/// `.volume.loss`, `.volume.end`, `.header.volume`
#[test]
fn one_volume_alone_has_no_fault_and_states_its_number() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let names = record(directory.path(), 5, THREADS);
    assert_eq!(names.len(), 5);
    let first = Log::open(&names[0]).expect("a log").streams()[0].volumes.0;
    assert!(first > 3, "volume {first}");
    for (at, name) in names.iter().enumerate() {
        let log = Log::open(name).expect("a log");
        assert!(log.faults().is_empty(), "{:?}", log.faults());
        let stream = &log.streams()[0];
        let number = first + at as u64;
        assert_eq!(stream.volumes, (number, number));
        let is_last = at + 1 == names.len();
        assert_eq!(stream.next_volume, (!is_last).then_some(number + 1));
        assert_eq!(log.is_closed(), is_last);
        assert!(log.accounts().iter().all(|account| account.lost == 0));
        assert!(!indexes(&log).is_empty());
        let (line, output) = stats(std::slice::from_ref(name));
        assert!(line.contains(&format!(", volume {number}")), "{line}");
        assert_eq!(
            line.ends_with(&format!("; goes on in volume {}", number + 1)),
            !is_last,
            "{line}"
        );
        assert!(!line.contains("not closed"), "{line}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("nothing is known to be lost"), "{text}");
        assert_eq!(output.status.code(), Some(0));
    }
}

/// `.volume.missing`, `.event.identity`: in any order, concatenated or named one by one.
#[test]
fn all_volumes_together_hold_each_event_once() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut names = record(directory.path(), 1000, THREADS);
    let all_from = |first: u64| (first..EVENTS).step_by(KINDS as usize).collect::<Vec<u64>>();
    for _ in 0..2 {
        let log = joined(&names);
        assert!(log.faults().is_empty(), "{:?}", log.faults());
        assert!(log.is_closed());
        assert_eq!(log.streams().len(), 1);
        let indexes = indexes(&log);
        assert_eq!(indexes.len() as u64, THREADS * KINDS);
        for ((thread, kind), indexes) in indexes {
            assert!(indexes == all_from(kind), "thread {thread}, kind {kind}: wrong indexes");
        }
        names.reverse();
    }
    let (line, output) = stats(&names);
    assert!(line.contains(&format!(", volumes 0 to {}", names.len() - 1)), "{line}");
    assert_eq!(output.status.code(), Some(0));
    let whole = directory.path().join("whole");
    let bytes: Vec<u8> = names.iter().flat_map(|name| fs::read(name).expect("a file")).collect();
    fs::write(&whole, bytes).expect("a writable file");
    assert_eq!(run(eventcnv().arg(&whole)).stdout, run(eventcnv().args(&names)).stdout);
    // The newest files hold the newest events of the naive twin.
    let newest = joined(&names[names.len() - 3..]);
    assert!(newest.faults().is_empty());
    for (whose, indexes) in indexes(&newest) {
        let first = *indexes.first().expect("an event");
        assert!(indexes == all_from(first), "{whose:?} has a gap after {first}");
    }
}

/// `.volume.missing`: a gap is a fault, and the number of lost events is known.
#[test]
fn the_reader_reports_a_missing_volume() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut names = record(directory.path(), 1000, 1);
    let found = |log: &Log| indexes(log).values().map(|indexes| indexes.len() as u64).sum::<u64>();
    // Earlier and later volumes do not count as losses.
    let log = joined(&names[2..8]);
    assert!(log.faults().is_empty(), "{:?}", log.faults());
    let all = found(&log);
    let mut some = names.drain(2..8).collect::<Vec<_>>();
    some.drain(2..4);
    let log = joined(&some);
    let missing: Vec<&FaultKind> = log
        .faults()
        .iter()
        .map(|fault| &fault.kind)
        .filter(|kind| matches!(kind, FaultKind::VolumeMissing { .. }))
        .collect();
    assert_eq!(missing, [&FaultKind::VolumeMissing { first: 4, missing: 2 }]);
    let lost: u64 = log.accounts().iter().map(|account| account.lost).sum();
    let left = found(&log);
    assert!(lost > 0 && left + lost == all, "{left} + {lost}: {all}");
    let output = eventcnv().args(&some).output().expect("a child");
    let errors = String::from_utf8_lossy(&output.stderr);
    let expected = "before this volume of the stream 2 are missing, from volume 4 on";
    assert!(errors.contains(expected), "{errors}");
    assert_eq!(output.status.code(), Some(1));
}

/// `.read.sealed`, `.volume.loss`: only damage within the volume is a loss; earlier volumes are
/// not.
#[test]
fn a_damaged_block_of_a_volume_costs_only_its_events() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let names = record(directory.path(), 5, THREADS);
    let name = &names[2];
    let bytes = fs::read(name).expect("a file");
    let read = |bytes: Vec<u8>| {
        let log = Log::from_source(bytes).expect("a log");
        let mut events = log.events(Order::File, &Filter::default());
        let mut given = 0u64;
        while events.next().is_some() {
            given += 1;
        }
        let faults = log.faults().loss_count() + events.faults().loss_count();
        let lost: u64 = log.accounts().iter().map(|account| account.lost).sum();
        (given, faults, lost)
    };
    let (all, faults, lost) = read(bytes.clone());
    assert_eq!((faults, lost), (0, 0));
    for block in (1..bytes.len() / 4096).filter(|block| bytes[block * 4096 + 4] == 1) {
        let mut damaged = bytes.clone();
        damaged[block * 4096 + 4000] ^= 0x55;
        let (given, faults, lost) = read(damaged);
        assert!(faults > 0 && lost <= 124, "block {block}: {lost}");
        assert!((all - 124..all).contains(&given), "block {block}: {given} of {all}");
    }
}

/// `.volume.header`, `.volume.loss`: the document states everything that a reader needs.
#[test]
fn the_python_reader_agrees_on_volumes() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let names = record(directory.path(), 5, THREADS);
    let log = directory.path().join("log");
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|at| fs::read(&names[at]).expect("a file"));
    for (what, bytes) in [
        ("one", c.clone()),
        ("the last", e.clone()),
        ("two", [&c[..], &d].concat()),
        ("the later first", [&d[..], &c].concat()),
        ("one missing", [&a[..], &b, &d].concat()),
        ("one twice", [&b[..], &b, &c].concat()),
    ] {
        fs::write(&log, bytes).expect("a writable file");
        let theirs = system("python3").arg(root().join("tests/reader.py")).arg(&log).output();
        let ours = eventcnv().arg(&log).output().expect("a child");
        let theirs = theirs.expect("a child");
        let says = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(ours.stdout == theirs.stdout, "{what}: {}", says(&ours));
        let codes = (ours.status.code(), theirs.status.code());
        assert_eq!(codes.0, codes.1, "{what}: {} {}", says(&ours), says(&theirs));
        assert_eq!(codes.0, Some(i32::from(what == "one missing")), "{what}: {}", says(&ours));
    }
}

/// A line about a fault has the file with the fault, and the offset in that file.
#[test]
fn a_fault_in_one_of_many_volumes_names_its_file() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let names = record(directory.path(), 6, THREADS);
    assert_eq!(names.len(), 6);
    let damaged = &names[3];
    let mut bytes = fs::read(damaged).expect("a volume");
    let at = (1..).map(|block| block * 4096).find(|at| bytes[at + 4] == 1).expect("a block");
    bytes[at + 4000] ^= 0xFF;
    fs::write(damaged, bytes).expect("a writable file");
    let faults = |command: &mut Command| -> Vec<String> {
        let output = command.output().expect("a process");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        errors.lines().filter(|line| line.contains("checksum")).map(str::to_owned).collect()
    };
    let expected = faults(eventcnv().arg(damaged));
    let begin = format!("eventcnv: {}: offset {at:#X}: block checksum", damaged.display());
    assert!(expected.len() == 1 && expected[0].starts_with(&begin), "{expected:?}");
    for command in ["dump", "stats", "verify"] {
        assert_eq!(faults(eventcnv().arg(command).args(&names)), expected, "{command}");
    }
}
