//! Statements in hard places: signal handlers, the allocator, forks, many threads, sudden ends.
//!
//! ```text
//!  a process ─ fork │ exit │ kill -9 │ signals │ 10,000 threads ─▶ its log ─▶ sums that add up
//! ```
//!
//! Design: `.statements.table`, `.statements.events` in `design/statements.md`.
#![expect(unsafe_code, reason = "signal handlers, forks, and an allocator")]

mod common;
#[macro_use]
#[path = "common/sums.rs"]
mod sums;

use calls::__private::block;
use common::{command, open, ran};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use sums::{COUNT, TIME, counts, sums};

/// An allocator with a block in each call, where a test asks for it.
struct Profiled;

static IN_ALLOCATOR: AtomicBool = AtomicBool::new(false);
static ALLOCATED: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Profiled = Profiled;

// SAFETY: the system's allocator does all of the work.
unsafe impl GlobalAlloc for Profiled {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IN_ALLOCATOR.load(Ordering::Relaxed) {
            ALLOCATED.fetch_add(1, Ordering::Relaxed);
            let statements = statements!(1 2);
            let mut block = block(statements, 0);
            black_box(0);
            block.at(1);
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline(never)]
fn works() {
    let statements = statements!(10 11);
    let mut block = block(statements, 0);
    black_box(0);
    block.at(1);
    black_box(0);
}

static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn handle(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
    works();
}

fn install() {
    // SAFETY: the structure is filled before use; the handler calls only what a handler may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
}

#[test]
fn the_first_statement_may_come_in_a_signal_handler() {
    let name = "the_first_statement_may_come_in_a_signal_handler";
    let what = || {
        install();
        // SAFETY: the signal has a handler.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
        works();
    };
    let Some(ran) = ran(name, &[TIME], what) else { return };
    assert_eq!(counts(&ran.log()), ["works:10:1 2", "works:11:1 2"]);
}

#[test]
fn the_first_statement_may_come_inside_the_allocator() {
    let name = "the_first_statement_may_come_inside_the_allocator";
    let what = || {
        IN_ALLOCATOR.store(true, Ordering::Relaxed);
        let boxes: Vec<Box<u64>> = (0..1000).map(Box::new).collect();
        let threads = (0..4)
            .map(|_| std::thread::spawn(|| (0..1000).for_each(|i| drop(black_box(Box::new(i))))));
        threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
        IN_ALLOCATOR.store(false, Ordering::Relaxed);
        drop(boxes);
        eprintln!("allocated {}", ALLOCATED.load(Ordering::Relaxed));
    };
    let Some(ran) = ran(name, &[TIME], what) else { return };
    let allocated: u64 = ran.stderr.trim().strip_prefix("allocated ").unwrap().parse().unwrap();
    assert!(allocated > 5000);
    let sums = sums(&ran.log());
    assert_eq!(sums.len(), 2, "{sums:?}");
    assert!(sums.values().all(|sum| sum.count == allocated && sum.timed == allocated), "{sums:?}");
}

/// A timer interrupts statements all the time. Each execution is counted, or dropped and counted as
/// discarded.
#[test]
fn a_storm_of_signals_loses_nothing_in_silence() {
    const SIGNALS: u64 = 1000;
    let name = "a_storm_of_signals_loses_nothing_in_silence";
    let what = || {
        install();
        // SAFETY: this thread's number, which stays valid while it waits for the other thread.
        let thread = unsafe { libc::pthread_self() };
        static IS_OVER: AtomicBool = AtomicBool::new(false);
        let signals = std::thread::spawn(move || {
            while !IS_OVER.load(Ordering::Relaxed) {
                // SAFETY: the thread lives: it joins this one.
                assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGUSR1) }, 0);
                std::thread::sleep(Duration::from_micros(20));
            }
        });
        let mut blocks = 0;
        while HANDLED.load(Ordering::Relaxed) < SIGNALS {
            (0..100).for_each(|_| works());
            blocks += 100;
        }
        IS_OVER.store(true, Ordering::Relaxed);
        signals.join().unwrap();
        telemetry::flush();
        let losses = telemetry::losses_of(&calls::events::CONTROL, calls::events::Kinds::Profile);
        eprintln!("{blocks} {} {}", HANDLED.load(Ordering::Relaxed), losses.full);
    };
    for mode in [TIME, COUNT] {
        let Some(ran) = ran(name, &[mode], what) else { return };
        let numbers: Vec<u64> =
            ran.stderr.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let [blocks, handled, dropped] = numbers[..] else { panic!("{}", ran.stderr) };
        let sums = sums(&ran.log());
        let [first, second] = ["works:10:1", "works:11:1"].map(|name| sums[name]);
        let most = blocks + handled;
        assert!(first.count <= most && second.count <= first.count, "{first:?} {second:?}");
        assert!(most - first.count <= dropped, "{most} {first:?} {dropped}");
        let timed = if mode == TIME { first.count } else { 0 };
        assert_eq!((first.timed, second.timed), (timed, timed));
        assert!(first.longest <= first.total && first.own <= first.total, "{first:?}");
    }
}

fn deep(depth: u32, end: &dyn Fn()) {
    let statements = statements!(20 21);
    let mut block = block(statements, 0);
    if depth == 0 {
        end();
    } else {
        deep(depth - 1, end);
    }
    block.at(1);
}

#[test]
fn an_exit_in_the_middle_keeps_what_began_and_ended() {
    let name = "an_exit_in_the_middle_keeps_what_began_and_ended";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        works();
        deep(9, &|| std::process::exit(0));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let status = command(name, &[TIME]).current_dir(folder.path()).status().unwrap();
    assert!(status.success());
    let log = open(&folder.path().join("mpsio.log"));
    assert_eq!(counts(&log), ["deep:20:1 10", "works:10:1 1", "works:11:1 1"]);
    let sums = sums(&log);
    assert_eq!((sums["deep:20:1"].timed, sums["works:11:1"].timed), (0, 1));
}

/// A killed process lacks at most a second.
#[test]
fn a_killed_process_lacks_at_most_a_second() {
    let name = "a_killed_process_lacks_at_most_a_second";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        for number in 0u64.. {
            works();
            if number.is_multiple_of(100) {
                std::fs::write("number", number.to_string()).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    for mode in [TIME, COUNT] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = command(name, &[mode]).current_dir(folder.path()).spawn().unwrap();
        let file = folder.path().join("number");
        let begin = std::time::Instant::now();
        let number = || loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if let Ok(number) = text.parse::<u64>() {
                break number;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "it does not begin");
            std::thread::sleep(Duration::from_millis(1));
        };
        number();
        std::thread::sleep(Duration::from_millis(1500));
        let early = number();
        // A second, and what a busy machine may take for the writing.
        std::thread::sleep(Duration::from_millis(2500));
        child.kill().unwrap();
        child.wait().unwrap();
        let sums = sums(&open(&folder.path().join("mpsio.log")));
        let count = sums.get("works:10:1").map_or(0, |sum| sum.count);
        assert!(early > 0 && count >= early, "{mode:?}: {count} of at least {early}");
    }
}

/// A forked child begins with empty sums, and has a log of its own.
#[test]
fn a_forked_child_has_its_own_sums() {
    let name = "a_forked_child_has_its_own_sums";
    let what = || {
        (0..5).for_each(|_| works());
        // Another thread's table is free in the child.
        let (begun, wait) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                works();
                begun.wait();
                wait.wait();
                works();
            });
            begun.wait();
            let fork = || {
                // SAFETY: the child calls only what a forked child may, and ends.
                match unsafe { libc::fork() } {
                    0 => {
                        (0..3).for_each(|_| works());
                        std::process::exit(0)
                    }
                    child => {
                        let mut status = 0;
                        // SAFETY: waits for the child.
                        unsafe { libc::waitpid(child, &mut status, 0) };
                        assert_eq!(status, 0);
                    }
                }
            };
            deep(2, &fork);
            wait.wait();
        });
    };
    let environment = [TIME, ("MPS_TELEMETRY_FILENAME", "%p.log")];
    let Some(ran) = ran(name, &environment, what) else { return };
    let mut found: Vec<Vec<String>> =
        ran.files().iter().map(|file| counts(&ran.log_named(file))).collect();
    found.sort_by_key(Vec::len);
    let child = vec!["works:10:1 3".to_owned(), "works:11:1 3".to_owned()];
    let parent = ["deep:20:1 3", "deep:21:1 3", "works:10:1 7", "works:11:1 7"];
    assert_eq!(found, [child, parent.map(str::to_owned).to_vec()]);
}

/// Tables are handed on, so memory stays bounded.
#[test]
fn ten_thousand_threads_share_few_tables() {
    const THREADS: u64 = 10_000;
    let name = "ten_thousand_threads_share_few_tables";
    let what = || {
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("VmSize")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        let run = |count: u64| {
            for _ in 0..count / 4 {
                let threads = [(); 4].map(|()| std::thread::spawn(works));
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            }
        };
        run(100);
        let before = resident();
        run(THREADS - 100);
        let after = resident();
        assert!(after < before + 4096, "{before} KiB before, {after} KiB after");
    };
    for mode in [COUNT, TIME] {
        let Some(ran) = ran(name, &[mode], what) else { return };
        let log = ran.log();
        let count = format!("works:10:1 {THREADS}");
        assert_eq!(counts(&log)[0], count);
        let mut tables = std::collections::BTreeSet::new();
        common::each(&log, |event| {
            if event.name() == "StatementSum" {
                tables.insert(event.param("table").unwrap().as_u64());
            }
        });
        assert!(tables.len() < 16, "{} tables", tables.len());
    }
}
