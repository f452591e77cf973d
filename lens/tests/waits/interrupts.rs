//! Interrupts: which time of threads they took, in a recording of perf, and who then had a
//! processor.
//!
//! ```text
//!  soft.perf.data, soft.txt (perf script) ──▶ Model ─┐
//!  soft.txt, line by line ───────────────────────────┴─▶ the same sums
//! ```
//!
//! Design: `.waits.interrupts` in `design/waits.md`.

use super::fixtures;
use super::made;

use fixtures::{golden, import};
use lens::waits::account::{lives_of, windows_of};
use lens::waits::critical::Walker;
use lens::waits::delay::{Holder, Ready, holders};
use lens::waits::events::kernel::{IrqEnter, IrqLeave, SoftEnter, SoftLeave};
use lens::waits::model::{Interrupter, Model, Options};
use lens::waits::waited::waits_of;
use made::{ASLEEP, HARD, Made, READY, life};
use std::collections::BTreeMap;

type Sums = BTreeMap<u32, u64>;

/// Returns the time of soft interrupts by their numbers, in ns: all of it, and the part within runs
/// of the thread of this number.
fn naive(text: &str, thread: &str) -> (Sums, Sums) {
    let (mut all, mut own) = (Sums::new(), Sums::new());
    let mut open: BTreeMap<&str, u64> = BTreeMap::new();
    let mut running: BTreeMap<&str, bool> = BTreeMap::new();
    for line in text.lines() {
        let (head, rest) = line.split_once(" [").unwrap();
        let (cpu, rest) = rest.split_once("] ").unwrap();
        let (time, rest) = rest.trim().split_once(": ").unwrap();
        let ns: u64 = time.replace('.', "").parse().unwrap();
        let event = rest.trim_start();
        let is_own = head.trim_end().ends_with(&format!(" {thread}"));
        if event.starts_with("irq:softirq_entry") {
            open.insert(cpu, ns);
        } else if let Some(payload) = event.strip_prefix("irq:softirq_exit: vec=") {
            let vector = payload.split(' ').next().unwrap().parse().unwrap();
            let Some(from) = open.remove(cpu) else { continue };
            *all.entry(vector).or_default() += ns - from;
            // perf names the thread that was interrupted.
            if is_own && running.get(cpu).is_none_or(|is_it| *is_it) {
                *own.entry(vector).or_default() += ns - from;
            }
        } else if event.starts_with("sched:sched_switch") {
            running.insert(cpu, event.contains(&format!(" next_pid={thread} ")));
        }
    }
    (all, own)
}

fn sums(found: impl Iterator<Item = (Interrupter, u64)>) -> Sums {
    let mut sums = Sums::new();
    for (by, ns) in found {
        if let Interrupter::Soft(vector) = by {
            *sums.entry(vector).or_default() += ns;
        }
    }
    sums
}

#[test]
fn soft_interrupts_take_the_time_that_their_rows_tell() {
    let text = golden("soft.txt.gz");
    let (all, own) = naive(std::str::from_utf8(&text).unwrap(), "23088");
    assert!(own[&3] > 300_000 && all.len() > 1, "{all:?} {own:?}");
    for form in [golden("soft.perf.data.gz"), text] {
        let (done, log) = import(&form).unwrap();
        assert_eq!((done.fault_count, done.unknown_count), (0, 0), "{:?}", done.left_out);
        let model = fixtures::model(&log);
        let rows = model.interrupts.iter().map(|row| (row.by, row.to - row.from));
        assert_eq!(sums(rows), all);
        let windows = windows_of(&model, &lives_of(&model, "soft"));
        let mut walker = Walker::new(&model, Options::default().grace);
        let waits = waits_of(&model, &windows, &mut walker);
        let (ran, found) = (waits.ran.values().sum::<u64>(), sums(waits.interrupted.into_iter()));
        assert_eq!(found.get(&3), own.get(&3), "{own:?}");
        assert!(ran > found[&3]);
    }
}

/// Thread 1 is woken at 100 and runs at 200. Processor 0 runs thread 2, except for interrupts.
fn delayed(told: impl Fn(&mut Made)) -> (Model, BTreeMap<Holder, u64>) {
    let mut made = Made::new();
    made.switch(0, 10, 0, 1, 0).switch(0, 20, 1, 2, ASLEEP);
    told(&mut made);
    made.waking(1, 100, 0, 1, HARD).switch(0, 200, 2, 1, READY).switch(0, 300, 1, 0, ASLEEP);
    let model = made.model();
    let ready = Ready { cpu: 0, from: 100, to: 200, life: life(&model, 1), of: 0 };
    let found = holders(&model, vec![ready], 1, |life, _| life).remove(0);
    (model, found)
}

#[test]
fn an_interrupt_has_the_processor_of_the_thread_that_it_interrupts() {
    // One within another one has its own time.
    let (model, found) = delayed(|made| {
        made.add(0, 80, SoftEnter { vector: 3 });
        made.add(0, 130, IrqEnter { irq: 9, name: b"eth0" }).add(0, 140, IrqLeave { irq: 9 });
        made.add(0, 150, SoftLeave { vector: 3 });
    });
    let expected = [
        (Holder::Thread(life(&model, 2)), 50),
        (Holder::Interrupt(Interrupter::Device(0)), 10),
        (Holder::Interrupt(Interrupter::Soft(3)), 40),
    ];
    assert_eq!(found, BTreeMap::from(expected));
    // An interrupt without an end in the log, or without a begin, is left out.
    let (model, found) = delayed(|made| {
        made.add(0, 50, SoftLeave { vector: 1 }).add(0, 120, SoftEnter { vector: 3 });
    });
    assert_eq!(found, BTreeMap::from([(Holder::Thread(life(&model, 2)), 100)]));
}
