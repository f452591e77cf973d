//! This kernel's events: the reader of pages counts as the kernel does.
//!
//! ```text
//!  Recording ──▶ log ──▶ as many records as per_cpu/cpuN/stats has read, as many rows
//! ```
#![cfg(target_os = "linux")]

use eventlog::reader::{Clock, Filter, Log, Order};
use lens::waits::model::{self, What, kernel_streams};
use record_waits::{CollectError, Options, Recording};
use std::collections::HashMap;
use std::io::{Read, Write, pipe};
use std::time::{Duration, Instant};

fn begin(options: &Options) -> Option<Recording> {
    match Recording::begin(options, tempfile::tempfile().unwrap()) {
        Ok(recording) => Some(recording),
        Err(error @ (CollectError::Rights { .. } | CollectError::Absent)) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Two threads wake each other.
fn work() {
    let ((mut a, mut to_a), (mut b, mut to_b)) = (pipe().unwrap(), pipe().unwrap());
    let other = std::thread::spawn(move || {
        let mut byte = [0];
        while b.read(&mut byte).unwrap() > 0 {
            to_a.write_all(&byte).unwrap();
        }
    });
    for _ in 0..2000 {
        to_b.write_all(&[1]).unwrap();
        a.read_exact(&mut [0]).unwrap();
    }
    drop(to_b);
    other.join().unwrap();
}

#[test]
fn each_record_that_the_kernel_counts_is_read() {
    for has_stacks in [false, true] {
        let mut options = Options::default();
        options.has_stacks = has_stacks;
        let Some(recording) = begin(&options) else { return };
        work();
        let mut bytes = Vec::new();
        let recorded = recording.finish(&mut bytes).unwrap();
        let counts = recorded.counts;
        assert_eq!((counts.unknown, counts.damaged, counts.damaged_pages), (0, 0, 0), "{counts:?}");
        assert_eq!(counts.known, recorded.read_count, "{recorded:?}");
        assert_eq!(recorded.lost_count, 0);
        let log = Log::from_source(bytes).unwrap();
        let mut events = log.events(Order::Time, &Filter::default());
        let (mut switches, mut with_stack) = (0, 0);
        while let Some(event) = events.next() {
            if event.name() == "Switch" {
                switches += 1;
                let stack = event.param("stack").and_then(|stack| stack.as_u64());
                with_stack += u64::from(stack != Some(0));
            }
        }
        assert_eq!(switches, recorded.switch_count);
        assert!(switches > 2000, "{switches}");
        assert_eq!(with_stack > switches / 2, has_stacks, "{with_stack} of {switches}");
    }
}

/// Each thread drains its own processors: nothing depends on how many such threads there are.
#[test]
fn any_number_of_draining_threads_keeps_all_events() {
    for cpus_per_drain in [usize::MAX, 4, 2, 1] {
        let mut options = Options::default();
        options.cpus_per_drain = cpus_per_drain;
        let Some(recording) = begin(&options) else { return };
        let pairs: Vec<_> = (0..8).map(|_| std::thread::spawn(work)).collect();
        pairs.into_iter().for_each(|pair| pair.join().unwrap());
        let mut bytes = Vec::new();
        let recorded = recording.finish(&mut bytes).unwrap();
        let counts = recorded.counts;
        assert_eq!((counts.unknown, counts.damaged, counts.damaged_pages), (0, 0, 0), "{counts:?}");
        assert_eq!((recorded.lost_count, counts.known), (0, recorded.read_count), "{recorded:?}");
        assert!(recorded.switch_count > 8 * 2000, "{recorded:?}");
        let log = Log::from_source(bytes).unwrap();
        let stream = kernel_streams(&log)[0];
        let (model, faults) =
            model::read(&log, stream, &Clock::new(&log), &model::Options::default()).unwrap();
        assert_eq!(faults.count(), 0);
        assert_eq!((model.counts.backwards, model.counts.gaps), (0, 0), "{:?}", model.counts);
        // The process of a new thread is known, whichever processor told of its maker.
        let own = std::process::id();
        let made = model.lives.iter().filter(|life| life.process == own).count();
        assert!(made >= 16, "{made}");
    }
}

#[test]
fn ticks_lie_between_the_clock_syncs_of_the_log() {
    let Some(recording) = begin(&Options::default()) else { return };
    work();
    let mut bytes = Vec::new();
    recording.finish(&mut bytes).unwrap();
    let log = Log::from_source(bytes).unwrap();
    let mut events = log.events(Order::Time, &Filter::default());
    let now = std::time::SystemTime::now();
    let mut count = 0;
    while let Some(event) = events.next() {
        let time = event.wall_time().expect("a time of day");
        let age = now.duration_since(time).expect("before now");
        assert!(age.as_secs() < 600, "{age:?}");
        count += 1;
    }
    assert!(count > 2000);
}

#[test]
fn a_recording_that_is_dropped_leaves_nothing() {
    // tracefs stays reachable while another recording holds it.
    let Some(other) = begin(&Options::default()) else { return };
    let Some(recording) = begin(&Options::default()) else { return };
    let place = other.instance().parent().unwrap().to_owned();
    let name = recording.instance().file_name().unwrap().to_owned();
    assert!(place.join(&name).exists());
    drop(recording);
    assert!(!place.join(&name).exists());
    assert!(other.instance().exists());
}

/// Returns how often a processor switched from another thread than the one that it switched to.
/// Some kernels do not tell of all switches of some threads.
fn broken_chains(log: &Log) -> u64 {
    let mut running: HashMap<u32, u64> = HashMap::new();
    let mut events = log.events(Order::Time, &Filter::default());
    let mut count = 0;
    while let Some(event) = events.next() {
        if event.name() == "Switch" {
            let [prev, next] =
                ["prev", "next"].map(|name| event.param(name).and_then(|id| id.as_u64()).unwrap());
            let before = running.insert(event.buffer, next);
            count += u64::from(before.is_some_and(|before| before != prev));
        }
    }
    count
}

#[test]
fn a_clean_recording_contradicts_nothing() {
    for has_stacks in [false, true] {
        let mut options = Options::default();
        options.has_stacks = has_stacks;
        let Some(recording) = begin(&options) else { return };
        work();
        let mut bytes = Vec::new();
        let recorded = recording.finish(&mut bytes).unwrap();
        assert_eq!(recorded.lost_count, 0);
        let log = Log::from_source(bytes).unwrap();
        let stream = kernel_streams(&log)[0];
        let (model, faults) =
            model::read(&log, stream, &Clock::new(&log), &model::Options::default()).unwrap();
        assert_eq!(faults.count(), 0);
        let counts = model.counts;
        let wrong = (counts.contradictions, counts.backwards, counts.left_out, counts.gaps);
        assert_eq!(wrong, (0, 0, 0, 0), "{counts:?}");
        // Each break shows at the thread before and at the thread after.
        let broken = broken_chains(&log);
        assert!(counts.missing <= 2 * broken, "{counts:?}, {broken} broken chains");
        let own: Vec<_> =
            model.lives.iter().filter(|life| life.process == std::process::id()).collect();
        assert!(own.len() >= 2);
        if broken == 0 {
            assert!(own.iter().all(|life| life.missing == 0), "{own:?}");
        }
    }
}

#[test]
fn what_a_full_buffer_loses_is_counted_alike_everywhere() {
    let mut options = Options::default();
    options.buffer_size = 8192;
    // Two pages a processor fill while the reader waits for a quarter of them; now and then it
    // keeps up with all, or loses the last ones alone.
    let mut kept = None;
    for _ in 0..20 {
        let Some(recording) = begin(&options) else { return };
        for _ in 0..10 {
            work();
        }
        let mut bytes = Vec::new();
        let recorded = recording.finish(&mut bytes).unwrap();
        if recorded.counts.gaps > 4 {
            kept = Some((recorded, bytes));
            break;
        }
    }
    let (recorded, bytes) = kept.expect("a buffer of two pages is too small");
    let log = Log::from_source(bytes).unwrap();
    let mut events = log.events(Order::Time, &Filter::default());
    let (mut count, mut gaps, mut uncounted) = (0, 0, 0);
    while let Some(event) = events.next() {
        if event.name() == "Lost" {
            gaps += 1;
            let lost = event.param("count").and_then(|count| count.as_u64()).unwrap();
            (count, uncounted) = (count + lost, uncounted + u64::from(lost == 0));
        }
    }
    assert_eq!(gaps, recorded.counts.gaps, "{recorded:?}");
    // A full page has no room for the count of the gap before it: the kernel's statistics have it.
    match uncounted {
        0 => assert_eq!(count, recorded.lost_count, "{recorded:?}"),
        _ => assert!(count < recorded.lost_count, "{count} {uncounted} {recorded:?}"),
    }
    let stream = kernel_streams(&log)[0];
    let (model, _) =
        model::read(&log, stream, &Clock::new(&log), &model::Options::default()).unwrap();
    assert_eq!(model.counts.gaps, gaps);
    assert!(model.stretches.iter().any(|stretch| stretch.what == What::Lost));
    let losses = log.losses(events.faults());
    let least = recorded.lost_count;
    assert!((least..=least + gaps).contains(&losses.total()), "{losses:?}, {least} in {gaps}");
}

/// Returns the sum that /proc/stat has of the time of hypervisors, in ns: each tick is 10 ms.
fn stolen() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let of = |line: &str| line.split_whitespace().nth(8).unwrap().parse::<u64>().unwrap();
    let lines = text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
    lines.map(of).sum::<u64>() * 10_000_000
}

/// Whatever the host does meanwhile: the time is between that of two looks inside of the recording
/// and that of two looks around it.
#[test]
fn the_time_of_a_hypervisor_is_in_the_log() {
    let around = stolen();
    let Some(recording) = begin(&Options::default()) else { return };
    let inside = stolen();
    // On a host with other work, some of it is stolen: more threads than processors.
    let count = std::thread::available_parallelism().unwrap().get();
    let begun = Instant::now();
    let busy = || while begun.elapsed() < Duration::from_millis(500) {};
    std::thread::scope(|scope| (0..=count).for_each(|_| drop(scope.spawn(busy))));
    let inside = stolen() - inside;
    let mut bytes = Vec::new();
    recording.finish(&mut bytes).unwrap();
    let around = stolen() - around;
    let log = Log::from_source(bytes).unwrap();
    let stream = kernel_streams(&log)[0];
    let (model, _) =
        model::read(&log, stream, &Clock::new(&log), &model::Options::default()).unwrap();
    let told = model.counts.stolen_ns;
    println!("{inside} ≤ {told} ≤ {around}");
    assert!((inside..=around).contains(&told), "{inside} ≤ {told} ≤ {around}");
}
