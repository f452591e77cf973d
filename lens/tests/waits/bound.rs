//! Recordings of one program by `perf record` without `-a`: runs as long as the program says.
//!
//! ```text
//!  tests/golden/waits/bound.c ── perf record -e cpu-clock -e sched:sched_switch --switch-events
//!                     │            --call-graph dwarf,512 -z ──▶ bound.perf.data.gz
//!                     └─ prints what each thread ran ──▶ bound.txt
//! ```
//!
//! `seats.perf.data.gz` has no tracepoint, and its records do not tell their processors. Design:
//! `.waits.perf` in `design/waits.md`.

use super::fixtures;

use fixtures::{golden, import, model, ms};
use lens::waits::model::What;

/// Returns what each thread printed: its number, and how long it ran and lasted in ms.
fn truth(name: &str) -> Vec<(u32, f64, f64)> {
    let text = String::from_utf8(golden(name)).unwrap();
    let numbers = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[1].parse().unwrap(), words[3].parse().unwrap(), words[6].parse().unwrap())
    };
    text.lines().map(numbers).collect()
}

/// Checks that runs and samples of a recording are those that its program printed.
fn check(name: &str) {
    let (done, log) = import(&golden(&format!("{name}.perf.data.gz"))).unwrap();
    assert_eq!((done.fault_count, done.unknown_count), (0, 0), "{:?}", done.faults);
    let model = model(&log);
    // The first thread ran before its program, which perf does not record.
    for (thread, ran, lasted) in truth(&format!("{name}.txt")).into_iter().skip(1) {
        let life = model.lives.iter().find(|life| life.thread == thread).unwrap();
        let found = ms(&model, life, What::Run);
        assert!((found - ran).abs() < 0.4, "{thread} ran {found} ms, not {ran}");
        assert_eq!((life.missing, life.is_ended), (0, true), "{thread}");
        let all = (life.end - life.begin) as f64 / 1e6;
        assert!(all >= lasted && all < lasted + 15.0, "{thread} lasted {all} ms, not {lasted}");
        let unknown = ms(&model, life, What::Unknown) + ms(&model, life, What::Lost);
        assert!(unknown == 0.0, "{thread}: {unknown} ms are unknown");
    }
    assert_eq!(model.counts.samples_dropped, 0);
    assert!(model.stretches.iter().map(|own| own.samples).sum::<u32>() >= 20);
}

#[test]
fn switches_of_one_program_tell_the_way_in() {
    check("bound");
}

#[test]
fn switches_without_processors_keep_threads_apart() {
    check("seats");
    let (done, _) = import(&golden("seats.perf.data.gz")).unwrap();
    assert!(done.notes.iter().any(|note| note.contains("--sample-cpu")), "{:?}", done.notes);
}

#[test]
fn records_without_a_time_are_left_out_and_counted() {
    let (done, log) = import(&golden("timeless.perf.data.gz")).unwrap();
    // As perf report --stats prints it: 2 samples, 24 switches, an end.
    let note = "27 records have no time and are left out; record with --timestamp";
    assert!(done.notes.iter().any(|own| own == note), "{:?}", done.notes);
    let counts = fixtures::counts(&log);
    assert_eq!((counts.get("CpuSample"), counts.get("Exit")), (None, None), "{counts:?}");
}

#[test]
fn a_recording_without_switches_has_no_switches() {
    // perf record -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit, without -a.
    let (_, log) = import(&golden("noswitch.perf.data.gz")).unwrap();
    let counts = fixtures::counts(&log);
    assert!(counts["Syscall"] > 20 && counts.contains_key("Exit"), "{counts:?}");
    assert_eq!(model(&log).counts.switches, 0);
}
