//! The log of a program has exactly the calls that the program itself lists.
//!
//! ```text
//!  twin.c ─┬─ malloc, … ─▶ libinterpose.so ─▶ logs ──▶ lines of each process and thread ┐ the
//!          └─ its own list ─▶ a file ────────────────▶ the same ────────────────────────┘ same
//! ```
//!
//! Design: `.rep.record` in `design/replay.md`.

mod common;

use common::{Recorded, compile, judge, recording, run};
use std::collections::BTreeMap;

/// The maximum number of calls that the C library makes by itself in a thread of the program.
const OTHERS_MAX: usize = 24;

/// Runs the program, and records it.
fn twin(mode: &str, environment: &[(&str, &str)]) -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("twin.c", folder.path(), &["-pthread"]);
    let mut command = recording(&program, folder.path());
    command.arg(mode).envs(environment.iter().copied());
    let recorded = run(command, folder);
    assert!(recorded.status.success(), "{:?}: {}", recorded.status, recorded.errors);
    assert_eq!(recorded.errors, "");
    recorded
}

/// Asserts that each process that listed calls has logs with the same calls in each thread, and few
/// others: those of the C library.
fn assert_same(recorded: &Recorded) {
    let (listed, logged) = (recorded.listed(), recorded.logged());
    for (process, listed) in &listed {
        let logged = logged.get(process).unwrap_or_else(|| panic!("no log of {process}"));
        for calls in listed.values() {
            assert!(calls.iter().all(|call| !call.starts_with("wrong")), "{calls:?}");
            let missing = logged.values().map(|other| first_missing(calls, other));
            // The logged thread with the most of these calls is the same thread.
            let best = missing.max().unwrap();
            assert_eq!(best, calls.len(), "{process}: missing: {}", calls[best]);
        }
        let count =
            |calls: &BTreeMap<u32, Vec<String>>| calls.values().map(Vec::len).sum::<usize>();
        let others = count(logged) - count(listed);
        assert!(others <= OTHERS_MAX * logged.len(), "{others} other calls");
    }
}

/// Returns the index of the first call that the others lack, in this order; else the number of
/// calls.
fn first_missing(calls: &[String], others: &[String]) -> usize {
    let mut found = 0;
    for other in others {
        found += usize::from(calls.get(found) == Some(other));
    }
    found
}

/// `.rep.record`, `.rep.record.ends`: before `main`, in functions called at exit, in destructors.
#[test]
fn every_call_is_recorded_from_the_first_to_the_last() {
    let recorded = twin("all", &[]);
    assert_same(&recorded);
    let listed = &recorded.listed()[&recorded.process][&0];
    assert!(listed[0].starts_with("malloc ") && listed[0].ends_with(" 73"), "{}", listed[0]);
    assert!(listed.iter().any(|call| call.ends_with(" 71")), "a function called at exit");
    assert!(listed[listed.len() - 2].ends_with(" 74"), "a destructor");
    for log in recorded.logs().values() {
        assert!(log.is_closed());
        judge(log, &BTreeMap::new());
    }
}

/// `.rep.record.order`
#[test]
fn each_thread_has_its_calls_and_no_address_is_reused_early() {
    for environment in
        [&[][..], &[("MPS_TELEMETRY_WRITER", "thread"), ("MPS_TELEMETRY_BLOCK_SIZE", "4096")]]
    {
        let recorded = twin("threads", environment);
        assert_same(&recorded);
        assert_eq!(recorded.listed()[&recorded.process].len(), 5);
        for log in recorded.logs().values() {
            judge(log, &BTreeMap::new());
        }
    }
}

/// `.rep.record.real`, `.rep.record.nested`: the allocator's calloc itself calls malloc.
#[test]
fn calls_within_another_allocator_are_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let behind = compile("behind.c", folder.path(), &["-shared", "-fPIC"]);
    let both = format!("{}:{}", common::library().display(), behind.display());
    let recorded = twin("threads", &[("LD_PRELOAD", &both)]);
    assert_same(&recorded);
    judge(&recorded.logs()[&(recorded.process, 1)], &BTreeMap::new());
}

/// `.rep.record.logs`, `.rep.record.ends`: one child exits, one calls `_exit`, one made by vfork
/// calls `_exit` too, and one executes a program that calls quick_exit.
#[test]
fn each_child_has_its_own_log() {
    let recorded = twin("forks", &[]);
    assert_same(&recorded);
    assert_eq!(recorded.listed().len(), 4, "the program, two children, and an executed program");
    judge(&recorded.logs()[&(recorded.process, 1)], &BTreeMap::new());
}

/// `.rep.record.ends`
#[test]
fn records_survive_when_a_process_executes_another_program() {
    for mode in ["becomes", "becomes-by-path"] {
        let recorded = twin(mode, &[]);
        assert_same(&recorded);
        assert_eq!(recorded.listed().len(), 1);
        let of_process: Vec<_> = recorded.logs().into_keys().collect();
        assert_eq!(of_process, [(recorded.process, 1), (recorded.process, 2)]);
        let listed = &recorded.listed()[&recorded.process][&0];
        assert!(listed.iter().any(|call| call.ends_with(" 82")));
        assert!(listed[listed.len() - 2].ends_with(" 81"));
    }
}
