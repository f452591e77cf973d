//! Children that the kernel's call makes: no function of the runtime hears of the fork.
//!
//! ```text
//!  clone ─▶ events into a copy of the parent's block ─▶ noticed ─▶ its own log, with their count
//! ```
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "clone, exits, limits")]

mod common;

use common::{Ran, Stream, Three, WORD, ran};
use telemetry::event;

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");
/// The number of `Three` in a block of the default size.
const BLOCK: u64 = (65536 - 128) / (8 + 3 * WORD as u64).next_multiple_of(8);
const COUNT: u64 = 10_000;
/// The kind of `Three`.
const OBJECT: u8 = 5;

fn record(indexes: std::ops::Range<u64>) {
    let pid = std::process::id() as usize;
    indexes.for_each(|index| event!(Three, pid, index as usize, index as usize));
}

/// Runs `child` in a child made by the kernel's call alone, and waits for its end. Notes the
/// numbers of both processes.
fn cloned(child: impl FnOnce()) {
    // SAFETY: as fork, for a process with one thread.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as i32;
    if pid == 0 {
        child();
        telemetry::flush();
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    let mut status = 1;
    // SAFETY: waits for a child, and writes to `status`.
    unsafe { assert_eq!(libc::waitpid(pid, &mut status, 0), pid) };
    assert_eq!(status, 0, "the child failed");
    std::fs::write("pids", format!("{} {pid}", std::process::id())).unwrap();
}

/// Returns UUID and parent of the header.
fn header(log: &[u8]) -> ([u8; 16], [u8; 16]) {
    [32, 64].map(|at| log[at..at + 16].try_into().unwrap()).into()
}

/// Returns the logs of parent and child, after checking that each has events of its process alone.
fn logs(ran: &Ran) -> (Stream, Stream) {
    let pids = String::from_utf8(ran.file("pids")).unwrap();
    let (parent, child) = pids.split_once(' ').unwrap();
    let names = ["mpsio.log".to_owned(), format!("mpsio.log-{child}")];
    let files = names.map(|name| ran.file(&name));
    assert_eq!(header(&files[1]).1, header(&files[0]).0);
    let streams = files.map(|file| common::read(&file));
    for (stream, pid) in streams.iter().zip([parent, child]) {
        let pid: u64 = pid.parse().unwrap();
        assert!(stream.words(1, 0).iter().all(|who| *who == pid), "{pid}");
    }
    streams.into()
}

/// Returns the events of the child in its log, after checking that these are its newest, and what
/// the log counts as lost.
fn newest_and_lost(child: &Stream, count: u64) -> (u64, u64) {
    let indexes = child.words(1, 1);
    let recorded = indexes.len() as u64;
    assert!(indexes.into_iter().eq(count - recorded..count), "{recorded}");
    let told = child.told_of(OBJECT);
    assert_eq!((told.full, told.large, told.io, told.overwritten), (0, 0, 0, 0));
    (recorded, told.nested.into())
}

/// `.sol.fork`
#[test]
fn a_child_made_by_clone_leaves_its_parents_log_alone() {
    let test = "a_child_made_by_clone_leaves_its_parents_log_alone";
    let Some(ran) = ran(test, &[ALL, SMALL], || {
        record(0..1000);
        cloned(|| record(0..1000));
        record(1000..2000);
    }) else {
        return;
    };
    let (parent, child) = logs(&ran);
    assert!(parent.words(1, 1).into_iter().eq(0..2000));
    // Until its block was full, the child recorded into a block of the parent.
    let (recorded, lost) = newest_and_lost(&child, 1000);
    assert!(recorded > 1000 - 125 && recorded + lost >= 1000, "{recorded}, {lost}");
}

#[test]
fn events_before_a_clone_is_noticed_are_counted() {
    let test = "events_before_a_clone_is_noticed_are_counted";
    let Some(ran) = ran(test, &[ALL], || {
        record(0..300);
        cloned(|| record(0..COUNT));
    }) else {
        return;
    };
    let (parent, child) = logs(&ran);
    assert_eq!(parent.words(1, 1).len(), 300);
    let (recorded, lost) = newest_and_lost(&child, COUNT);
    assert!(recorded < COUNT && recorded + lost >= COUNT, "{recorded}, {lost}");
    assert!(lost <= BLOCK, "{lost} in a block of {BLOCK}");
}

/// The start of a process is known by some ms. What its parent recorded long before is not lost.
#[test]
fn events_long_before_a_clone_are_not_counted() {
    let test = "events_long_before_a_clone_are_not_counted";
    let Some(ran) = ran(test, &[ALL], || {
        record(0..300);
        std::thread::sleep(std::time::Duration::from_millis(500));
        cloned(|| record(0..COUNT));
    }) else {
        return;
    };
    let (recorded, lost) = newest_and_lost(&logs(&ran).1, COUNT);
    assert_eq!(recorded + lost, COUNT);
    assert_eq!(lost, BLOCK - 300, "the rest of the block");
}

/// `/proc` cannot be read where the process may open no file.
#[test]
fn a_clone_of_unknown_start_counts_the_whole_block() {
    let test = "a_clone_of_unknown_start_counts_the_whole_block";
    let Some(ran) = ran(test, &[ALL], || {
        record(0..300);
        std::thread::sleep(std::time::Duration::from_millis(500));
        cloned(|| {
            record(0..500);
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: the structures live through the calls.
            let open_files = unsafe {
                libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
                let none = libc::rlimit { rlim_cur: 0, ..limit };
                libc::setrlimit(libc::RLIMIT_NOFILE, &none);
                limit
            };
            let _ = telemetry::add_string("noticed");
            // SAFETY: the structure lives through the call.
            unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &open_files) };
            record(500..COUNT);
        });
    }) else {
        return;
    };
    assert_eq!(newest_and_lost(&logs(&ran).1, COUNT), (COUNT - 500, 300 + 500));
}
