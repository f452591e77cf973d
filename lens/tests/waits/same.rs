//! Whose log it is: programs in namespaces, recorded together with the kernel.
//!
//! ```text
//!  lodger.kernel.log   waits record of four programs, cut to switches, wakes, calls, forks, names
//!  lodger.plain.log    in no namespace
//!  lodger.first.log    process 100 of a namespace; it ended before any look at /proc
//!  lodger.second.log   process 100 of the same namespace, later
//!  lodger.nested.log   in a namespace of a namespace, whose CLOCK_MONOTONIC is 10,000 s ahead
//!  lodger.truth.txt    what each printed: how long it waited for its lock and for its child
//! ```
//!
//! `lodgers.sh` next to this file recorded them. Other rows are made, as they cannot be recorded:
//! logs of other hosts, and events that fit several processes. Design: `.waits.same` in
//! `design/waits.md`.

use super::fixtures;
use super::made;

use eventlog::format::ClockSync;
use eventlog::reader::{Clock, ClockBase, Filter, Log, Order};
use eventlog::writer::{Maker, Origin};
use fixtures::golden;
use lens::waits::events::kernel::{Inside, SyscallDone};
use lens::waits::model::{self, Cause, Model, Options, Stretch, What, kernel_streams};
use lens::waits::names::Names;
use lens::waits::tracks::{Fit, Tracks, Verdict};
use lens::waits::under::{Moment, under};
use made::{ASLEEP, ENDED, Made, READY, life};
use std::collections::HashMap;

eventdef::events! {
    /// What a program does.
    registry "program" version(1, 0, 0);
    kinds {
        /// Work.
        Work = 0,
    }
    /// It did something.
    Done(0x0001, always, Work) {}
}

const LODGERS: [&str; 4] = ["plain", "first", "second", "nested"];

/// A program's log next to that of the kernel.
struct Told {
    log: Log,
    clock: Clock,
    kernel: u16,
    model: Model,
    tracks: Tracks,
}

fn told(lodgers: &[&str]) -> Told {
    let logs = lodgers.iter().map(|lodger| golden(&format!("lodger.{lodger}.log.gz")));
    told_of(logs.chain([golden("lodger.kernel.log.gz")]).collect())
}

fn told_of(logs: Vec<Vec<u8>>) -> Told {
    let bytes = logs.concat();
    let log = Log::from_source(bytes).unwrap();
    let kernel = kernel_streams(&log)[0];
    let clock = Clock::led_by(&log, kernel, false);
    let (model, _) = model::read(&log, kernel, &clock, &Options::default()).unwrap();
    let tracks = Tracks::of(&log, &clock, kernel, &model);
    Told { log, clock, kernel, model, tracks }
}

impl Told {
    /// Returns the first life of the process of the first program.
    fn lodger(&self) -> u32 {
        match self.tracks.verdicts().next() {
            Some((0, Verdict::Process(first))) => *first,
            verdict => panic!("{verdict:?}"),
        }
    }

    /// Returns the waits of a life, and the slice of the program under which each lies.
    fn waits(&self, life: u32) -> Vec<(Stretch, String)> {
        let waits = self.model.backwards(life).filter(|(_, own)| own.what == What::Wait);
        let waits: Vec<Stretch> = waits.map(|(_, wait)| *wait).collect();
        let track = self.tracks.track(life).expect("a thread of the program");
        let moment = |wait: &Stretch| Moment { track, ns: wait.begin, object: 0 };
        let moments: Vec<Moment> = waits.iter().map(moment).collect();
        let under = under(&self.log, &self.clock, self.kernel, &moments);
        let open = |at: usize| under.around[at].open.map_or("", |own| under.name(own.name));
        waits.iter().enumerate().map(|(at, wait)| (*wait, open(at).to_owned())).collect()
    }
}

/// Returns what a lodger printed: the ns that it waited for its lock and for its child.
fn truth(lodger: &str) -> HashMap<String, u64> {
    let text = String::from_utf8(golden("lodger.truth.txt")).unwrap();
    let own = text.lines().filter_map(|line| line.strip_prefix(lodger)?.strip_prefix(' '));
    let own = own.map(|line| line.split_once(' ').unwrap());
    own.map(|(what, ns)| (what.to_owned(), ns.parse().unwrap())).collect()
}

fn assert_close(what: &str, own: u64, truth: u64) {
    // Between the readings of the program's clock lie system calls, too.
    let most = truth / 50 + 100_000;
    assert!(own.abs_diff(truth) <= most, "{what}: {own} ns, in truth {truth}");
}

#[test]
fn a_program_in_any_namespace_is_found_by_what_it_did() {
    let mut found = Vec::new();
    for lodger in LODGERS {
        let told = told(&[lodger]);
        let life = &told.model.lives[told.lodger() as usize];
        assert_eq!(&*life.name, b"lodger", "{lodger}");
        let pid = told.log.streams()[0].pid as u32;
        let (own, is_plain) = (told.tracks.number(told.lodger()), lodger == "plain");
        assert_eq!((own, life.number), (Some(pid), pid), "{lodger}");
        assert_eq!(life.thread == pid, is_plain, "{lodger}: {life:?}");
        let threads: Vec<_> = told.tracks.process(told.lodger());
        let names = threads.iter().map(|life| &*told.model.lives[*life as usize].name);
        assert_eq!(names.collect::<Vec<_>>(), [&b"lodger"[..], b"clerk"], "{lodger}");
        assert!(threads.iter().all(|life| told.tracks.track(*life).is_some()), "{lodger}");
        found.push(life.thread);
    }
    let twice = told(&["first", "second"]);
    let pids: Vec<u64> = twice.log.streams().iter().map(|stream| stream.pid).collect();
    assert_eq!(pids[..2], [100, 100], "one number, used twice");
    let both: Vec<_> = twice.tracks.verdicts().map(|(_, verdict)| verdict.clone()).collect();
    assert_ne!(both[0], both[1]);
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), LODGERS.len());
}

#[test]
fn waits_in_namespaces_have_their_own_times_and_slices() {
    for lodger in LODGERS {
        let (told, truth) = (told(&[lodger]), truth(lodger));
        assert_eq!(told.clock.base, ClockBase::Monotonic);
        let (mut lock, mut child, mut sleeps) = (0, 0, 0);
        let names = Names::new(&told.model);
        for (wait, slice) in told.waits(told.lodger()) {
            let call = names.call(&wait).unwrap_or_default();
            match (&*call, &*slice) {
                ("futex", "Round") => {
                    lock += wait.ns();
                    assert_eq!(wait.cause, Cause::Thread);
                    assert!(names.thread(wait.aid, wait.woken).starts_with("clerk"), "{lodger}");
                }
                ("wait4" | "waitid", "Care") => {
                    child += wait.ns();
                    let object = names.object(&wait).unwrap_or_default();
                    assert!(object.starts_with("sleep ("), "{lodger}: {call} of {object}");
                }
                // It begins when the round has ended, 2 µs before or less.
                ("clock_nanosleep", slice) => {
                    assert_eq!(slice, "", "{lodger}");
                    sleeps += 1;
                }
                _ => {}
            }
        }
        assert_eq!(sleeps, 5, "{lodger}");
        assert_close(lodger, lock, truth["lock"]);
        assert_close(lodger, child, truth["child"]);
    }
}

#[test]
fn an_event_lies_in_a_run_of_its_thread_to_the_tick() {
    for lodger in LODGERS {
        let told = told(&[lodger]);
        let filter = Filter::new().events(["RoundBegin", "RoundEnd", "HoldEnd"]);
        let mut events = told.log.events(Order::Time, &filter);
        let mut count = 0;
        while let Some(event) = events.next() {
            let life = told.tracks.life((event.stream, event.thread)).unwrap();
            let ns = told.clock.ns(event.stream, event.ticks);
            let mut runs = told.model.backwards(life).filter(|(_, own)| own.what == What::Run);
            assert!(runs.any(|(_, run)| run.begin <= ns && ns <= run.end), "{lodger}: {ns}");
            count += 1;
        }
        assert_eq!(count, 15, "{lodger}");
    }
}

const MS: u64 = 1_000_000;

/// Returns the log of a program of one thread, which recorded events at these times in ms.
fn program(pid: u32, name: &str, times: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut maker = Maker::new(&mut bytes);
    let mut origin = Origin::new();
    (origin.boot_id, origin.pid, origin.program) = ([7; 16], pid.into(), name.into());
    maker.begin(&origin).unwrap();
    maker.thread(1, 1, pid as usize, "main").unwrap();
    for at in times {
        maker.add(1, 1, at * MS, &Done {}).unwrap();
    }
    for ticks in [1, 1000 * MS] {
        let realtime = 1_700_000_000_000_000_000 + ticks;
        maker.sync(ClockSync { ticks, monotonic: ticks, realtime, uncertainty: 0 }).unwrap();
    }
    maker.finish().unwrap();
    bytes
}

/// Returns the process that recorded a program's log: the number of its first thread.
fn verdict(program: Vec<u8>, kernel: &Made) -> Result<u32, Verdict> {
    let told = told_of(vec![program, kernel.bytes()]);
    match told.tracks.verdicts().next().unwrap().1 {
        Verdict::Process(first) => Ok(told.model.lives[*first as usize].thread),
        verdict => Err(verdict.clone()),
    }
}

/// Thread 100 of the process 100 runs from 10 to 20 ms, thread 200 from 10 to 90 ms.
fn two() -> Made {
    let mut kernel = Made::new();
    kernel.name(MS, 100, 100, "shop").name(MS, 200, 200, "store");
    kernel.switch(0, 10 * MS, 0, 100, READY).switch(1, 10 * MS, 0, 200, READY);
    kernel.switch(0, 20 * MS, 100, 0, ASLEEP).switch(1, 90 * MS, 200, 0, ASLEEP);
    kernel
}

#[test]
fn a_log_whose_events_no_run_has_is_a_strangers() {
    let kernel = two();
    assert_eq!(verdict(program(100, "shop", &[11, 12, 19]), &kernel), Ok(100));
    // Another host, another boot, a clock that jumped: the process slept, and the others too.
    let late = verdict(program(100, "shop", &[21, 22, 60, 89]), &kernel);
    assert_eq!(late, Err(Verdict::Stranger(Fit { misses: 4, ..Fit::default() })));
    let unknown = verdict(program(77, "none", &[1, 2, 3]), &kernel);
    assert_eq!(unknown, Err(Verdict::Stranger(Fit { misses: 3, ..Fit::default() })));
    // The run of thread 200 has all these events. That proves it for a program of its name.
    assert_eq!(verdict(program(100, "store", &[21, 22, 60, 89]), &kernel), Ok(200));
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let mut kernel = two();
    kernel.exit(0, 95 * MS, 100);
    kernel.switch(0, 94 * MS, 0, 100, READY).switch(0, 96 * MS, 100, 0, ENDED);
    kernel.fork(1, 100 * MS, 200, 100, 100).switch(0, 101 * MS, 0, 100, READY);
    kernel.switch(0, 110 * MS, 100, 0, ASLEEP);
    for (times, is_second) in [([12, 13, 14], false), ([102, 103, 105], true)] {
        let told = told_of(vec![program(100, "shop", &times), kernel.bytes()]);
        let own = told.tracks.life((0, 1)).unwrap();
        assert_eq!(own == life(&told.model, 100), is_second, "{times:?}");
        assert_eq!(told.tracks.process(told.lodger()), [own], "the other process has its number");
    }
}

#[test]
fn of_processes_that_fit_a_number_or_a_name_decides() {
    let events = [11, 12, 13];
    let mut twins = two();
    twins.name(2 * MS, 100, 100, "store");
    let both = verdict(program(2, "store", &events), &twins);
    let Err(Verdict::Several(firsts)) = both else { panic!("{both:?}") };
    assert_eq!(firsts.len(), 2);
    assert_eq!(verdict(program(2, "/bin/store", &events), &two()), Ok(200));
    // `gettid` returned 2.
    let mut kernel = two();
    kernel.add(0, 15 * MS, SyscallDone { thread: 100, call: 186, result: 2 });
    assert_eq!(verdict(program(2, "store", &events), &kernel), Ok(100));
    // /proc told 2.
    let mut kernel = two();
    kernel.add(0, 15 * MS, Inside { thread: 100, number: 2 });
    assert_eq!(verdict(program(2, "store", &events), &kernel), Ok(100));
}

#[test]
fn a_log_without_events_meanwhile_needs_number_and_name() {
    assert_eq!(verdict(program(100, "shop", &[]), &two()), Ok(100));
    assert_eq!(verdict(program(100, "store", &[]), &two()), Err(Verdict::Untold));
    assert_eq!(verdict(program(2, "shop", &[]), &two()), Err(Verdict::Untold));
}

/// `.waits.same`: input is hostile.
#[test]
fn damage_of_either_log_never_panics() {
    let logs = ["lodger.nested.log.gz", "lodger.kernel.log.gz"].map(golden);
    let places =
        |own: usize, step: usize| (0..logs[own].len()).step_by(step).map(move |at| (own, at));
    for (own, at) in places(0, 997).chain(places(1, 1999)) {
        let mut damaged = logs.clone();
        damaged[own][at] ^= 0x55;
        let Ok(log) = Log::from_source(damaged.concat()) else { continue };
        let [kernel] = kernel_streams(&log)[..] else { continue };
        let clock = Clock::led_by(&log, kernel, true);
        if let Some((model, _)) = model::read(&log, kernel, &clock, &Options::default()) {
            let tracks = Tracks::of(&log, &clock, kernel, &model);
            assert!(tracks.verdicts().count() < log.streams().len());
            clock.ticks(kernel, u64::MAX);
        }
    }
}
