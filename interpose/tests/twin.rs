//! What is recorded of a program is what it asked, call by call: it says so itself.
//!
//! ```text
//!  twin.c ─┬─ malloc, … ─▶ libinterpose.so ─▶ logs ──▶ lines of each process and thread ┐ the
//!          └─ what it did ─▶ a file ─────────────────▶ the same ────────────────────────┘ same
//! ```
//!
//! Design: `.rep.record` in `design/replay.md`.

mod common;

use common::{Recorded, compile, judge, recording, run};
use std::collections::BTreeMap;

/// Calls that the C library makes by itself in a thread of the program, at most.
const OTHERS_MAX: usize = 24;

/// The program, recorded.
fn twin(what: &str, environment: &[(&str, &str)]) -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("twin.c", folder.path(), &["-pthread"]);
    let mut command = recording(&program, folder.path());
    command.arg(what).envs(environment.iter().copied());
    let recorded = run(command, folder);
    assert!(recorded.status.success(), "{:?}: {}", recorded.status, recorded.errors);
    assert_eq!(recorded.errors, "");
    recorded
}

/// Each process that said something has logs, which say the same of each of its threads, and hardly
/// anything else: what the C library asks for by itself.
fn assert_same(recorded: &Recorded) {
    let (said, logged) = (recorded.said(), recorded.logged());
    for (process, said) in &said {
        let logged = logged.get(process).unwrap_or_else(|| panic!("no log of {process}"));
        for calls in said.values() {
            assert!(calls.iter().all(|call| !call.starts_with("wrong")), "{calls:?}");
            let missing = logged.values().map(|other| first_missing(calls, other));
            // The best of the threads is this one.
            let best = missing.max().unwrap();
            assert_eq!(best, calls.len(), "{process}: not there: {}", calls[best]);
        }
        let count =
            |calls: &BTreeMap<u32, Vec<String>>| calls.values().map(Vec::len).sum::<usize>();
        let others = count(logged) - count(said);
        assert!(others <= OTHERS_MAX * logged.len(), "{others} other calls");
    }
}

/// The first of these calls that the others do not have, in this order; all calls: they do.
fn first_missing(calls: &[String], others: &[String]) -> usize {
    let mut found = 0;
    for other in others {
        found += usize::from(calls.get(found) == Some(other));
    }
    found
}

/// `.rep.record`, `.rep.record.ends`: before `main`, in functions called at exit, in destructors.
#[test]
fn every_call_of_every_function_is_recorded_from_the_first_to_the_last() {
    let recorded = twin("all", &[]);
    assert_same(&recorded);
    let said = &recorded.said()[&recorded.process][&0];
    assert!(said[0].starts_with("malloc ") && said[0].ends_with(" 73"), "{}", said[0]);
    assert!(said.iter().any(|call| call.ends_with(" 71")), "a function called at exit");
    assert!(said[said.len() - 2].ends_with(" 74"), "a destructor");
    for log in recorded.logs().values() {
        assert!(log.is_closed());
        judge(log, &BTreeMap::new());
    }
}

/// `.rep.record.order`
#[test]
fn each_thread_has_its_calls_and_no_address_is_handed_out_twice() {
    for environment in
        [&[][..], &[("MPS_TELEMETRY_WRITER", "thread"), ("MPS_TELEMETRY_BLOCK_SIZE", "4096")]]
    {
        let recorded = twin("threads", environment);
        assert_same(&recorded);
        assert_eq!(recorded.said()[&recorded.process].len(), 5);
        for log in recorded.logs().values() {
            judge(log, &BTreeMap::new());
        }
    }
}

/// `.rep.record.real`, `.rep.record.nested`: what its calloc asks of malloc is not the program's.
#[test]
fn what_an_allocator_behind_the_library_asks_of_itself_is_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let behind = compile("behind.c", folder.path(), &["-shared", "-fPIC"]);
    let both = format!("{}:{}", common::library().display(), behind.display());
    let recorded = twin("threads", &[("LD_PRELOAD", &both)]);
    assert_same(&recorded);
    judge(&recorded.logs()[&(recorded.process, 1)], &BTreeMap::new());
}

/// `.rep.record.logs`, `.rep.record.ends`: a child that exits, one that calls `_exit`, one made by
/// vfork that does, and one that executes a program, which calls quick_exit.
#[test]
fn each_child_has_a_log_of_its_own() {
    let recorded = twin("forks", &[]);
    assert_same(&recorded);
    assert_eq!(recorded.said().len(), 4, "the program, two children, what a third executed");
    judge(&recorded.logs()[&(recorded.process, 1)], &BTreeMap::new());
}

/// `.rep.record.ends`
#[test]
fn what_was_recorded_is_there_when_a_program_becomes_another() {
    for what in ["becomes", "becomes-by-path"] {
        let recorded = twin(what, &[]);
        assert_same(&recorded);
        assert_eq!(recorded.said().len(), 1);
        let of_process: Vec<_> = recorded.logs().into_keys().collect();
        assert_eq!(of_process, [(recorded.process, 1), (recorded.process, 2)]);
        let said = &recorded.said()[&recorded.process][&0];
        assert!(said.iter().any(|call| call.ends_with(" 82")));
        assert!(said[said.len() - 2].ends_with(" 81"));
    }
}
