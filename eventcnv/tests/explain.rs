//! `eventcnv waits explain`: sentences, shares, paths, the log that it writes, and its errors.
//!
//! ```text
//!  a kernel log and a program's log, made row by row ── waits explain ──▶ text, JSON, CSV, log
//! ```
//!
//! Design: `.waits.answer`, `.waits.under` in `design/waits.md`.

mod support;

use eventdef::field::A;
use eventlog::format::ClockSync;
use eventlog::writer::{Maker, Origin, uuid_of};
use lens::waits::events::kernel::*;
use lens::waits::output::Output;
use serde_json::Value;
use std::fs;
use support::{assert_golden, run};
use tempfile::TempDir;

eventdef::events! {
    /// What a store does.
    registry "store" version(1, 0, 0);
    kinds {
        /// Requests.
        Request = 0,
    }
    /// A get begins.
    GetBegin(0x0001, always, Request) {
        /// its key
        key: W,
    }
    /// A get ends.
    GetEnd(0x0002, always, Request) {
        /// its key
        key: W,
    }
    /// Tidying begins.
    TidyBegin(0x0003, always, Request) {
        /// pages
        pages: W,
    }
    /// Tidying ends.
    TidyEnd(0x0004, always, Request) {
        /// pages
        pages: W,
    }
}

const MS: u64 = 1_000_000;
const BOOT: [u8; 16] = [7; 16];
const LOCK: usize = 0x7F00;

fn origin(name: &str, boot: [u8; 16]) -> Origin {
    let mut origin = Origin::new();
    origin.uuid = uuid_of(name.as_bytes());
    origin.boot_id = boot;
    origin.producer = "test".into();
    origin.block_size_log2 = 12;
    origin
}

fn syncs() -> [ClockSync; 2] {
    [1, 100 * MS].map(|ticks| {
        let realtime = 1_700_000_000_000_000_000 + ticks;
        ClockSync { ticks, monotonic: ticks, realtime, uncertainty: 0 }
    })
}

/// The process 100 has the threads 100 and 101. The first waits for a lock that the second holds,
/// then for a disk. Thread 900 is a stranger.
fn kernel(boot: [u8; 16]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut out = Output::new(&mut bytes, &origin("kernel", boot)).unwrap();
    for (thread, process, name) in
        [(100, 100, "store"), (101, 100, "tidier"), (900, 900, "stranger")]
    {
        out.thread(1, thread, process, name.as_bytes()).unwrap();
    }
    let switch = |prev, next, state| Switch { prev, next, state, stack: 0 };
    let call = |thread, call, object| Syscall { thread, call, object: A(object), value: 0 };
    let file = OpenFile { process: 100, file: 5, path: b"/data/journal" };
    out.add(0, MS, &file).unwrap();
    out.add(0, MS, &switch(0, 100, 0)).unwrap();
    out.add(1, MS, &switch(0, 900, 0)).unwrap();
    out.add(1, 9 * MS, &switch(900, 101, 0)).unwrap();
    out.add(0, 10 * MS, &call(100, 202, LOCK)).unwrap();
    out.add(0, 10 * MS, &switch(100, 0, 1)).unwrap();
    out.add(1, 13 * MS, &Waking { waker: 101, target: 100, context: 0, stack: 0 }).unwrap();
    out.add(1, 13 * MS + 20_000, &switch(101, 900, 1)).unwrap();
    out.add(0, 13 * MS + 10_000, &switch(0, 100, 0)).unwrap();
    out.add(0, 14 * MS, &SyscallDone { thread: 100, call: 202, result: 0 }).unwrap();
    out.add(0, 15 * MS, &call(100, 74, 5)).unwrap();
    let (device, sector, count) = (8 << 20, 4096, 8);
    let insert = BlockInsert { thread: 100, device, sector, count, operation: 1 };
    out.add(0, 15 * MS, &insert).unwrap();
    out.add(0, 16 * MS, &switch(100, 0, 2)).unwrap();
    let issue = BlockIssue { thread: 7, device, sector, count, operation: 1 };
    out.add(0, 17 * MS, &issue).unwrap();
    let complete = BlockComplete { thread: 0, device, sector, count, operation: 1 };
    out.add(0, 24 * MS, &complete).unwrap();
    out.add(0, 24 * MS, &Waking { waker: 0, target: 100, context: 2, stack: 0 }).unwrap();
    out.add(0, 24 * MS, &switch(0, 100, 0)).unwrap();
    out.add(0, 30 * MS, &switch(100, 0, 1)).unwrap();
    out.add(1, 30 * MS, &switch(900, 0, 1)).unwrap();
    syncs().into_iter().for_each(|sync| out.sync(sync).unwrap());
    out.finish().unwrap();
    bytes
}

/// The program's own log, on the same clock.
fn program(boot: [u8; 16], late: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    let mut origin = origin("program", boot);
    (origin.pid, origin.program) = (100, "store".into());
    maker.begin(&origin).unwrap();
    let at = |ms: u64| late + ms * MS;
    maker.thread(at(1), 1, 100, "main").unwrap();
    maker.thread(at(1), 2, 101, "tidier").unwrap();
    let label = maker.intern(at(1), b"arena").unwrap();
    maker.label(at(1), LOCK, label).unwrap();
    maker.add(1, 1, at(2), &GetBegin { key: 1 }).unwrap();
    maker.add(1, 1, at(3), &GetEnd { key: 1 }).unwrap();
    maker.add(1, 1, at(9), &GetBegin { key: 2 }).unwrap();
    maker.add(1, 1, at(26), &GetEnd { key: 2 }).unwrap();
    maker.add(2, 2, at(9), &TidyBegin { pages: 3 }).unwrap();
    maker.add(2, 2, at(25), &TidyEnd { pages: 3 }).unwrap();
    syncs().into_iter().for_each(|sync| maker.sync(sync).unwrap());
    maker.finish().unwrap();
    bytes
}

/// The logs in a folder.
struct Logs {
    _directory: TempDir,
    kernel: String,
    program: String,
    out: String,
}

fn logs() -> Logs {
    logs_with(program(BOOT, 0))
}

fn logs_with(program: Vec<u8>) -> Logs {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (kernel_path, program_path, out) = (path("kernel.log"), path("p.log"), path("waits.log"));
    fs::write(&kernel_path, kernel(BOOT)).unwrap();
    fs::write(&program_path, program).unwrap();
    Logs { _directory: directory, kernel: kernel_path, program: program_path, out }
}

fn explain(args: &[&str]) -> String {
    let (text, code, errors) = run(&[&["waits", "explain"], args].concat());
    assert_eq!((code, &*errors), (0, ""), "{args:?}");
    String::from_utf8(text).unwrap()
}

/// `.waits.answer`: a name may fit a process that slept all the time.
#[test]
fn a_busy_target_comes_before_an_idle_namesake() {
    let directory = TempDir::new().unwrap();
    let mut bytes = Vec::new();
    let mut out = Output::new(&mut bytes, &origin("kernel", BOOT)).unwrap();
    for (thread, process) in [(100, 100), (200, 200)] {
        out.thread(1, thread, process, b"shop").unwrap();
    }
    let switch = |prev, next, state| Switch { prev, next, state, stack: 0 };
    out.add(1, MS, &switch(0, 200, 0)).unwrap();
    out.add(1, MS + 1000, &switch(200, 0, 1)).unwrap();
    for round in 1..9 {
        let waking = Waking { waker: 0, target: 100, context: 2, stack: 0 };
        out.add(0, round * 10 * MS, &waking).unwrap();
        out.add(0, round * 10 * MS + 5000, &switch(0, 100, 0)).unwrap();
        out.add(0, round * 10 * MS + 4 * MS, &switch(100, 0, 1)).unwrap();
    }
    out.finish().unwrap();
    let path = directory.path().join("k.log");
    fs::write(&path, bytes).unwrap();
    let told = |of: &str| -> Value {
        let (text, code, errors) =
            run(&["waits", "explain", path.to_str().unwrap(), "--of", of, "--json"]);
        // The log has no rows of timers: which interrupts these are is unknown.
        let is_noted =
            errors.lines().count() == 1 && errors.contains("waits with an unknown end: ");
        assert!(code == 0 && (of == "200" || is_noted), "{errors}");
        serde_json::from_slice(&text).unwrap()
    };
    let all = told("shop");
    let waits = all["waits"].as_array().unwrap();
    let of = |at: usize| waits[at]["ns"].as_u64().unwrap();
    let longest = waits.iter().map(|wait| wait["ns"].as_u64().unwrap()).max();
    assert_eq!(Some(of(waits.len() - 1)), longest, "the namesake waited for longer: {all}");
    assert!(waits.len() > 1 && of(0) < of(waits.len() - 1), "{all}");
    assert!(all["path_of"].as_str().unwrap().contains("100"), "{all}");
    // Alone, the namesake is the target.
    let alone = told("200");
    assert!(alone["path_of"].as_str().unwrap().contains("200"), "{alone}");
}

#[test]
fn the_logs_are_the_golden_ones_which_the_examples_use() {
    assert_golden("explain/kernel.log", &kernel(BOOT));
    assert_golden("explain/store.log", &program(BOOT, 0));
}

#[test]
fn the_answer_names_the_lock_its_holder_and_what_both_did() {
    let logs = logs();
    let text = explain(&[&logs.program, &logs.kernel, "--of", "store"]);
    for expected in [
        "store (100) waited 8.00 ms in fsync of /data/journal for a write to disk 8:0, under Get; \
         at +0.016000 s.",
        "store (100) waited 3.01 ms for `arena`, which tidier (101) gave up in Tidy, under Get; at \
         +0.010000 s.",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(!text.contains("stranger"), "{text}");
    assert_golden("explain/store.txt", text.as_bytes());
    // Without the program's log, the lock has its address alone.
    let text = explain(&[&logs.kernel, "--of", "tid:100"]);
    assert!(text.contains("for the lock at 0x7f00, which tidier (101) gave up; at"), "{text}");
}

/// `.waits.answer`: the events around a wait are of the group.
#[test]
fn waits_between_other_events_are_another_group() {
    let (mut bytes, mut program) = (Vec::new(), Vec::new());
    let mut out = Output::new(&mut bytes, &origin("kernel", BOOT)).unwrap();
    out.thread(1, 100, 100, b"shop").unwrap();
    let switch = |prev, next, state| Switch { prev, next, state, stack: 0 };
    out.add(0, MS, &switch(0, 100, 0)).unwrap();
    let mut maker = Maker::new(&mut program);
    let mut origin = origin("program", BOOT);
    (origin.pid, origin.program) = (100, "shop".into());
    maker.begin(&origin).unwrap();
    maker.thread(MS, 1, 100, "main").unwrap();
    // Two waits between a get and a tidying, and one between a tidying and a get.
    for round in 1..4 {
        let at = round * 10 * MS;
        match round {
            2 => maker.add(1, 1, at - MS, &TidyEnd { pages: 1 }).unwrap(),
            _ => maker.add(1, 1, at - MS, &GetEnd { key: 1 }).unwrap(),
        }
        out.add(0, at, &switch(100, 0, 1)).unwrap();
        let waking = Waking { waker: 0, target: 100, context: 2, stack: 0 };
        out.add(0, at + round * MS, &waking).unwrap();
        out.add(0, at + round * MS, &switch(0, 100, 0)).unwrap();
        match round {
            2 => maker.add(1, 1, at + 5 * MS, &GetBegin { key: 1 }).unwrap(),
            _ => maker.add(1, 1, at + 5 * MS, &TidyBegin { pages: 1 }).unwrap(),
        }
    }
    syncs().into_iter().for_each(|sync| maker.sync(sync).unwrap());
    syncs().into_iter().for_each(|sync| out.sync(sync).unwrap());
    maker.finish().unwrap();
    out.finish().unwrap();
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("k.log"), bytes).unwrap();
    fs::write(path("p.log"), program).unwrap();
    let (text, code, errors) =
        run(&["waits", "explain", &path("k.log"), &path("p.log"), "--of", "shop"]);
    assert_eq!(code, 0, "{errors}");
    let text = String::from_utf8(text).unwrap();
    for expected in [
        "between GetEnd and TidyBegin; 2 times, the longest 3.00 ms",
        "between TidyEnd and GetBegin; at +0.020000 s",
    ] {
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn the_shares_of_the_json_sum_to_the_total() {
    let logs = logs();
    for of in ["store", "100", "pid:100", "tid:101", "tidier", "stranger"] {
        let json: Value =
            serde_json::from_str(&explain(&[&logs.kernel, "--of", of, "--json"])).unwrap();
        let shares = json["shares"].as_array().unwrap().iter();
        let sum: u64 = shares.map(|share| share["ns"].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), json["total_ns"].as_u64(), "{of}");
        assert!(sum > 0);
    }
    let of_program = explain(&[&logs.program, &logs.kernel, "--json"]);
    assert_golden("explain/store.json", of_program.as_bytes());
    let csv = explain(&[&logs.program, &logs.kernel, "--csv"]);
    assert!(csv.contains("store (100),futex,0x7f00,arena,woken by a thread"), "{csv}");
}

#[test]
fn an_interval_counts_the_time_between_two_events() {
    let logs = logs();
    let args = [&*logs.program, &logs.kernel, "--from", "getbegin", "--to", "GetEnd"];
    let json: Value = serde_json::from_str(&explain(&[&args[..], &["--json"]].concat())).unwrap();
    assert_eq!(json["total_ns"], 18 * MS);
    let path: u64 =
        json["path"].as_array().unwrap().iter().map(|piece| piece["ns"].as_u64().unwrap()).sum();
    assert_eq!(path, 17 * MS, "the path is of the longest interval");
    let text = explain(&[&args[..], &["--path"]].concat());
    assert_golden("explain/path.txt", text.as_bytes());
}

#[test]
fn the_log_of_the_answer_works_in_every_command() {
    let logs = logs();
    let args = [&*logs.program, &logs.kernel, "-o", &logs.out];
    assert!(explain(&args).contains("waits.log: "));
    let (_, code, errors) = run(&["verify", &logs.out]);
    assert_eq!(code, 0, "{errors}");
    let first = fs::read(&logs.out).unwrap();
    explain(&[&args[..], &["--force"]].concat());
    assert_eq!(fs::read(&logs.out).unwrap(), first, "the same logs give the same bytes");
    let out = |args: &[&str]| {
        let (text, code, errors) = run(args);
        assert_eq!(code, 0, "{args:?}: {errors}");
        String::from_utf8(text).unwrap()
    };
    let pairs = out(&["pairs", &logs.out, "--csv"]);
    let names = ["Run,", "Wait futex 0x7f00: woken by tidier (101),", "Wait fsync /data/journal: "];
    assert!(names.iter().all(|name| pairs.contains(name)), "{pairs}");
    let folded = out(&["export", "--format", "folded", &logs.out, "-o", "-", "--weight", "ns"]);
    assert!(
        folded.contains("store (100);store (100);fsync /data/journal: a write to disk 8:0 8000000"),
        "{folded}"
    );
    let json = out(&["export", "--format", "chrome", &logs.out, "-o", "-"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let has = |name: &str| events.iter().any(|event| event["name"] == name);
    assert!(has("Run") && has("futex 0x7f00: woken by tidier (101)"), "{json:#}");
    assert!(events.iter().any(|event| event["ph"] == "s"), "a wake is a flow");
    // On the tracks of the program's own threads.
    let merged = out(&["export", "--format", "chrome", &logs.program, &logs.out, "-o", "-"]);
    let merged: Value = serde_json::from_str(&merged).unwrap();
    let events = merged["traceEvents"].as_array().unwrap();
    let place = |name: &str| {
        let event = events.iter().find(|event| event["name"] == name).unwrap();
        (event["pid"].clone(), event["tid"].clone())
    };
    assert_eq!(place("Get"), place("Run"));
}

#[cfg(feature = "sql")]
#[test]
fn the_log_of_the_answer_has_the_shares_and_the_events_in_sql() {
    let logs = logs();
    explain(&[&logs.program, &logs.kernel, "-o", &logs.out]);
    let query = |text: &str| {
        let (found, code, errors) = run(&["query", &logs.out, text]);
        assert_eq!(code, 0, "{errors}");
        String::from_utf8(found).unwrap()
    };
    assert!(query("SELECT sum(ns) FROM Share").contains("50000000"));
    // The number of the GetBegin that was open.
    let found = query("SELECT openBuffer, openNumber FROM WaitEnd WHERE ns = 8000000");
    assert!(found.lines().last().unwrap().split_whitespace().eq(["1", "2"]), "{found}");
}

#[test]
fn errors_say_what_is_wrong_with_the_logs() {
    let good = logs();
    let other = logs_with(program([9; 16], 0));
    let later = logs_with(program(BOOT, 50 * MS));
    let strange = logs_with(program(BOOT, 15 * MS));
    for (args, expected) in [
        (
            vec![&*good.program],
            "none of the inputs is a kernel log; record one with `eventcnv record --kernel`",
        ),
        (vec![&good.kernel], "state whose time to explain: --of"),
        (vec![&good.kernel, "--of", "stor"], "unknown thread \"stor\"; did you mean store?"),
        (vec![&good.kernel, "--of", "77"], "unknown thread \"77\"; the log has"),
        (vec![&other.program, &other.kernel], "the log of store is of another boot"),
        (vec![&later.program, &later.kernel], "have no time in common: 21.0 ms lie between"),
        (
            vec![&strange.program, &strange.kernel],
            "the log of store does not belong to the log of the kernel: of 4 events that were \
             compared, 3 were recorded while the process did not run",
        ),
        (
            vec![&good.kernel, "--of", "100", "--from", "A", "--to", "B"],
            "need the log of the program",
        ),
        (
            vec![&good.program, &good.kernel, "--from", "GetBegn", "--to", "GetEnd"],
            "unknown event \"GetBegn\"; did you mean GetBegin?",
        ),
        (
            vec![&good.program, &good.kernel, "--from", "GetEnd", "--to", "TidyEnd"],
            "no thread of the target has a GetEnd before a TidyEnd",
        ),
        (vec![&good.kernel, "--of", "100", "-o", &good.kernel], "is an input; give another output"),
    ] {
        let (_, code, errors) = run(&[&["waits", "explain"], &args[..]].concat());
        assert_eq!(code, 2, "{expected}: {errors}");
        assert!(errors.contains(expected), "{args:?}: {errors}");
    }
}

/// `.waits.same`: an import does not state its boot. The user may say it, and may err.
#[test]
fn the_user_may_say_that_logs_are_of_one_boot() {
    let logs = logs();
    fs::write(&logs.kernel, kernel([0; 16])).unwrap();
    let (_, code, errors) = run(&["waits", "explain", &logs.program, &logs.kernel]);
    assert_eq!(code, 2);
    assert!(
        errors.contains("does not state its boot") && errors.contains("--same-boot"),
        "{errors}"
    );
    let text = explain(&[&logs.program, &logs.kernel, "--same-boot"]);
    assert_golden("explain/store.txt", text.as_bytes());
    fs::write(&logs.program, program(BOOT, 15 * MS)).unwrap();
    let (_, code, errors) = run(&["waits", "explain", &logs.program, &logs.kernel, "--same-boot"]);
    assert_eq!(code, 2);
    assert!(errors.contains("does not belong to the log of the kernel"), "{errors}");
}

/// `.waits.model`: input is hostile.
#[test]
fn damaged_logs_never_panic() {
    let logs = logs();
    let kernel = fs::read(&logs.kernel).unwrap();
    // Each block's payload lies at its end: a stride that meets every kind of byte.
    for at in (0..kernel.len()).step_by(61) {
        let mut damaged = kernel.clone();
        damaged[at] ^= 0x55;
        fs::write(&logs.kernel, &damaged).unwrap();
        let (_, code, errors) =
            run(&["waits", "explain", &logs.kernel, "--of", "100", "--path", "--json"]);
        assert!((0..=2).contains(&code), "{at}: {code} {errors}");
        assert!(!errors.contains("panicked"), "{at}: {errors}");
    }
}
