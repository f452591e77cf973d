//! Forks under load: each process has its own log, with the events that it recorded itself.
//!
//! ```text
//!  forker ──▶ mpsio.log, mpsio.log-PID …  ── reader ──▶ events by process and thread ─┐
//!         ──▶ counts-PID …                ── the naive twin ────────────────────────▶ the same?
//! ```
//!
//! Design: `.sol.fork` in `design/telemetry.md`.
#![forbid(unsafe_code)]

use eventlog::reader::{Filter, Log, Order, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use tests::programs::{eventcnv, recording, run};

const FORKS: usize = 50;
/// The processes: the first one, its children, and a grandchild of every third one.
const PROCESSES: usize = 1 + FORKS + FORKS.div_ceil(3);

/// Facts about a process.
struct Process {
    uuid: [u8; 16],
    parent: [u8; 16],
    parent_pid: u64,
}

/// Returns indexes by thread. Checks that this process recorded them, and the early label.
fn read(log: &Log, pid: u64) -> BTreeMap<u64, Vec<u64>> {
    let mut found: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut events = log.events(Order::Time, &Filter::default());
    let (mut strings, mut labels) = (BTreeMap::new(), BTreeMap::new());
    while let Some(event) = events.next() {
        let word = |name| match event.param(name) {
            Some(Value::W(word) | Value::A(word)) => word,
            _ => panic!("{}: {name}", event.name()),
        };
        match (event.name(), event.param("string")) {
            ("Intern", Some(Value::S(string))) => {
                _ = strings.insert(word("stringId"), string.to_vec())
            }
            ("Label", _) => _ = labels.insert(word("address"), word("stringId")),
            ("Begun" | "WentOn" | "Ended", _) => {
                assert_eq!(word("value"), pid, "the process");
                found.entry(word("thread")).or_default().push(word("index"));
            }
            _ => {}
        }
    }
    assert!(events.faults().is_empty() && log.faults().is_empty(), "{:?}", log.faults());
    let label = labels.get(&0x77).and_then(|id| strings.get(id));
    assert_eq!(label.map(Vec::as_slice), Some(&b"of before"[..]), "{pid}");
    found
}

/// 2.1, parent; `.store.label`, `.header.uuid`
#[test]
fn each_process_forked_under_load_writes_its_own_log() {
    fork_under_load("mpsio.log");
}

/// `.sol.directory`: the same in a directory of files for each.
#[test]
fn each_process_forked_under_load_writes_its_own_directory() {
    fork_under_load("dir:mpsio.log?files=3");
}

fn fork_under_load(destination: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let forker = Command::new(env!("CARGO_BIN_EXE_forker"));
    let mut forker = recording(forker, "all", Path::new(destination));
    forker.env("MPS_TELEMETRY_BLOCK_SIZE", "4096").arg(FORKS.to_string());
    let output = run(forker.current_dir(&folder));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut processes = BTreeMap::new();
    for file in fs::read_dir(&folder).expect("a folder") {
        let path = file.expect("a file").path();
        if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("mpsio")) {
            continue;
        }
        let log = Log::open(&path).expect("a log");
        assert!(log.is_closed() && log.streams().len() == 1, "{}", path.display());
        let stream = &log.streams()[0];
        let counts = fs::read_to_string(folder.path().join(format!("counts-{}", stream.pid)));
        let counts = counts.expect("the counts of the process");
        let mut found = read(&log, stream.pid);
        for (thread, count) in (0..).zip(counts.split(' ')) {
            let expected: Vec<u64> = (0..count.parse().expect("a number")).collect();
            let mut indexes = found.remove(&thread).unwrap_or_default();
            indexes.sort_unstable();
            assert!(indexes == expected, "{} of {count} of thread {thread}", indexes.len());
        }
        assert!(found.is_empty(), "{found:?}");
        let accounts = log.accounts().iter();
        assert!(accounts.filter(|a| a.buffer != 0).all(|a| a.lost == 0 && a.discarded_full == 0));
        let (uuid, parent, parent_pid) = (stream.uuid, stream.parent, stream.parent_pid);
        processes.insert(stream.pid, Process { uuid, parent, parent_pid });
    }
    assert_eq!(processes.len(), PROCESSES);
    let without = processes.values().filter(|process| process.parent == [0; 16]).count();
    assert_eq!(without, 1, "only the first has no parent");
    for process in processes.values().filter(|process| process.parent != [0; 16]) {
        assert_eq!(process.parent, processes[&process.parent_pid].uuid);
    }
    shows_the_parent(folder.path(), &processes);
}

/// `.dumper`: the statistics of one child name its parent.
fn shows_the_parent(folder: &Path, processes: &BTreeMap<u64, Process>) {
    let forked = |(_, process): &(&u64, &Process)| process.parent != [0; 16];
    let (pid, process) = processes.iter().find(forked).expect("a child");
    let log = folder.join(format!("mpsio.log-{pid}"));
    let output = run(eventcnv().arg("stats").arg(log));
    let text = String::from_utf8_lossy(&output.stdout);
    let hex: String = process.parent.iter().map(|byte| format!("{byte:02x}")).collect();
    let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    let expected = format!(
        ", process {pid}, forked by process {} with stream {a}-{b}-{c}-{d}-{e}",
        process.parent_pid
    );
    assert!(text.contains(&expected), "{text}");
}
