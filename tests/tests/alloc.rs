//! The log of a program whose allocator records, as any reader sees it.
//!
//! ```text
//!  allocating ─▶ log ─▶ reader, time order ─▶ address: free ─ allocated ─ free ─ …
//! ```
//!
//! Design: `.sol.alloc` in `design/telemetry.md`.

use eventlog::reader::{Filter, Log, Order, Value};
use std::collections::{BTreeSet, HashMap};
use std::process::Command;
use tests::programs;

/// The number of events of the registry "alloc", and the threads that recorded them.
struct Told {
    events: u64,
    threads: BTreeSet<u32>,
}

/// Walks a log in time order, and checks that no address is allocated twice at a time.
fn judge(log: &Log) -> Told {
    let mut told = Told { events: 0, threads: BTreeSet::new() };
    let mut handed_out = HashMap::<u64, u32>::new();
    // The old address of each thread's reallocation that has not ended.
    let mut moving = HashMap::<u32, u64>::new();
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        if &*event.registry.name != "alloc" {
            continue;
        }
        told.events += 1;
        told.threads.insert(event.thread);
        let word = |name| event.param(name).and_then(|value| value.as_u64()).expect("a number");
        let address = event.param("address").map_or(0, |_| word("address"));
        let (name, thread) = (event.name().to_owned(), event.thread);
        match name.as_str() {
            "Allocate" | "AllocateZeroed" => {
                let before = handed_out.insert(address, thread);
                assert_eq!(before, None, "{address:#x} was handed out twice, to {thread}");
            }
            "ReallocateBegin" => {
                assert!(handed_out.remove(&address).is_some(), "{address:#x} was not allocated");
                assert_eq!(moving.insert(thread, address), None);
            }
            "Reallocate" => {
                assert_eq!(moving.remove(&thread), Some(word("old")));
                let kept = if address == 0 { word("old") } else { address };
                let before = handed_out.insert(kept, thread);
                assert_eq!(before, None, "{kept:#x} was handed out twice, to {thread}");
            }
            "ReallocateFailed" => {
                assert_eq!(moving.remove(&thread), Some(word("old")));
                assert_eq!(handed_out.insert(word("old"), thread), None);
            }
            "AllocateFailed" => {}
            "Free" => {
                assert!(handed_out.remove(&address).is_some(), "{address:#x} was not allocated");
            }
            other => panic!("an event {other}"),
        }
    }
    assert!(events.faults().is_empty() && log.faults().is_empty());
    told
}

fn run(environment: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let command = Command::new(env!("CARGO_BIN_EXE_allocating"));
    let mut command = programs::recording(command, "Object", &path);
    command.arg("50000").envs(environment.iter().copied());
    let lines = programs::lines(&mut command);
    let [requested, recorded]: [u64; 2] = lines[0]
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    assert_eq!(requested, recorded);
    let log = Log::open(&path).unwrap();
    assert!(log.is_closed());
    let told = judge(&log);
    assert!(told.events >= recorded && told.events > 300_000, "{} of {recorded}", told.events);
    assert_eq!(told.threads.len(), 1 + 4);
    // Each thread allocates before its own code runs; the log has its name nevertheless.
    let mut names = BTreeSet::new();
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        if &*event.registry.name == "telemetry" && event.name() == "Thread" {
            let Some(Value::S(name)) = event.param("name") else { panic!("a thread has a name") };
            names.insert(String::from_utf8_lossy(name).into_owned());
        }
    }
    for index in 0..4 {
        assert!(names.contains(&format!("hands-on-{index}")), "{names:?}");
    }
}

/// `.event.monotone`: in time order over all threads.
#[test]
fn no_address_is_allocated_twice_without_a_free() {
    run(&[]);
}

#[test]
fn a_writer_thread_records_no_address_twice_without_a_free() {
    run(&[("MPS_TELEMETRY_WRITER", "thread"), ("MPS_TELEMETRY_BLOCK_SIZE", "4096")]);
}

/// `.cnv.counters`: memory that was not handed out is not live.
#[test]
fn a_failed_allocation_leaves_the_live_bytes_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let command = Command::new(env!("CARGO_BIN_EXE_allocating"));
    programs::lines(programs::recording(command, "Object", &path).arg("refused"));
    let log = Log::open(&path).unwrap();
    judge(&log);
    // By address, from the events alone.
    let (mut live, mut greatest, mut failed) = (HashMap::<u64, u64>::new(), 0, 0);
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        let word = |name| event.param(name).and_then(|value| value.as_u64());
        match event.name() {
            "Allocate" | "AllocateZeroed" | "Reallocate" => {
                live.insert(word("address").unwrap(), word("size").unwrap());
            }
            "ReallocateBegin" | "Free" => drop(live.remove(&word("address").unwrap())),
            "ReallocateFailed" => {
                live.insert(word("old").unwrap(), word("kept").unwrap());
                failed += 1;
            }
            "AllocateFailed" => failed += 1,
            _ => {}
        }
        greatest = greatest.max(live.values().sum::<u64>());
    }
    let sql = "SELECT max(value), (SELECT value FROM counters ORDER BY time DESC, event DESC),
               min(least IS NULL) FROM counters";
    let mut query = programs::eventcnv();
    let output = query.arg("query").arg(&path).args([sql, "--csv"]).output().unwrap();
    let rows = String::from_utf8(output.stdout).unwrap();
    let expected = format!("{greatest},{},1", live.values().sum::<u64>());
    assert_eq!((failed, rows.lines().nth(1)), (198, Some(&*expected)));
    assert!(greatest < 1 << 30, "{greatest}");
}

/// `.sol.exit.signal`: the first event comes while the standard library replaces an earlier signal
/// handler.
#[test]
fn a_stack_overflow_loses_no_recorded_allocation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.log");
    let output = Command::new(env!("CARGO_BIN_EXE_allocating"))
        .arg("overflow")
        .envs([("MPS_TELEMETRY_CONTROL", "all"), ("MPS_TELEMETRY_CRASH", "1")])
        .env("MPS_TELEMETRY_FILENAME", &path)
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("has overflowed its stack"), "{said}");
    let log = Log::open(&path).unwrap();
    let mut events = log.events(Order::Time, &Filter::default());
    let mut sizes = BTreeSet::new();
    while let Some(event) = events.next() {
        sizes.extend(event.param("size").and_then(|value| value.as_u64()));
    }
    assert!((1000..1100).all(|size| sizes.contains(&size)), "{sizes:?}");
}
