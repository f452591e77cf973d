//! Losses of `perf record` and `trace-cmd record` with small buffers: each counts once.
//!
//! ```text
//!  perf record -a -k mono -m 1 -e sched:sched_switch -e raw_syscalls:sys_enter   next to two dd
//!    ──▶ loss.perf.data.gz: two LOST, and what each event lost in all
//!  trace-cmd record -b 4 -C mono -e sched_switch -e raw_syscalls   of two dd
//!    ──▶ loss.7.zstd.dat: pages that count their losses, one that does not, CPUSTAT
//! ```
//!
//! Design: `.waits.lost` in `design/waits.md`.

use super::fixtures;

use eventlog::reader::{Faults, Filter, Log, Order, Value};
use fixtures::{golden, import};

/// Returns the processor and the count of each `Lost`, in order of time.
fn lost(log: &[u8]) -> Vec<(u32, u64)> {
    let log = Log::from_source(log.to_vec()).unwrap();
    let mut events = log.events(Order::Time, &Filter::default());
    let mut found = Vec::new();
    while let Some(event) = events.next() {
        if event.name() == "Lost" {
            let count = event.params().find(|(param, _)| *param.name == *"count");
            let Some((_, Value::W(count))) = count else { panic!("a count") };
            found.push((event.buffer - 2, count));
        }
    }
    found
}

/// Returns the events that a log states as lost.
fn stated(log: &[u8]) -> u64 {
    let log = Log::from_source(log.to_vec()).unwrap();
    log.losses(&Faults::default()).total()
}

#[test]
fn losses_that_perf_tells_twice_count_once() {
    let (done, log) = import(&golden("loss.perf.data.gz")).unwrap();
    // perf script -D prints LOST of 110 on processor 1 and of 2723 on processor 0, and in
    // LOST_SAMPLES 7 + 6089 for events of processor 0 and 3 + 105 + 2 for those of processor 1.
    assert_eq!(lost(&log), [(1, 110), (0, 2723), (0, 7 + 6089 - 2723)]);
    assert_eq!((done.lost_count, stated(&log)), (6206, 6206));
}

#[test]
fn losses_that_no_page_counts_are_those_of_cpustat() {
    let (done, log) = import(&golden("loss.7.zstd.dat")).unwrap();
    // trace-cmd report prints the gaps, the first one without a count.
    assert_eq!(lost(&log), [(0, 0), (1, 756), (0, 3444), (1, 6719), (0, 6300)]);
    // CPUSTAT: "overrun: 9899" and "overrun: 7475".
    assert_eq!((done.lost_count, stated(&log)), (9899 + 7475, 9899 + 7475));
}
