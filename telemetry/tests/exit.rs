//! What the log holds when a program ends.

mod common;

use common::{Pooled, Rare, Three, ran, wait_until};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use telemetry::event;

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");

/// `.part.end`: the end mark is the last thing in the stream. Threads that still record write
/// nothing after the mark and tear nothing.
#[test]
fn threads_that_record_during_the_exit_leave_no_hole() {
    let test = "threads_that_record_during_the_exit_leave_no_hole";
    for _ in 0..10 {
        let Some(ran) = ran(test, &[ALL, SMALL], || {
            static BEGUN: AtomicUsize = AtomicUsize::new(0);
            for thread in 0..4usize {
                std::thread::spawn(move || {
                    for index in 0..usize::MAX {
                        event!(Three, thread, index, index);
                        if index == 0 {
                            BEGUN.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            wait_until("all record", || BEGUN.load(Ordering::Relaxed) == 4);
            std::thread::sleep(Duration::from_millis(30));
        }) else {
            return;
        };
        let log = ran.file("mpsio.log");
        let stream = common::read(&log);
        assert_eq!((stream.holes, stream.ended), (0, true));
        // The log counts the missing events: the other threads recorded them while the exit ran.
        let told = stream.told_of(5);
        assert_eq!(told, common::Told { full: told.full, ..common::Told::default() });
        let mut missing = 0;
        let mut indexes = std::collections::BTreeMap::<_, Vec<u64>>::new();
        for event in stream.of(1) {
            indexes.entry(event.word(0)).or_default().push(event.word(1));
        }
        assert_eq!(indexes.len(), 4);
        for indexes in indexes.values() {
            assert!(indexes.is_sorted());
            missing += indexes.last().unwrap() + 1 - indexes.len() as u64;
        }
        assert!(missing <= u64::from(told.full), "{missing} missing, {told:?}");
        assert_eq!(stream.end_count, Some((log.len() / 4096) as u64), ".part.end");
    }
}

extern "C" fn record_late() {
    (0..3usize).for_each(|index| event!(Pooled, index));
    event!(Rare, 7usize);
    telemetry::label_address(0x77, telemetry::add_string("late"));
}

extern "C" fn label_later_still() {
    telemetry::label_address(0x78, telemetry::add_string("later"));
}

/// `.part.end`: exit functions that the program registered before its first event run after the
/// runtime's own.
#[test]
#[expect(unsafe_code, reason = "atexit")]
fn the_log_holds_the_events_of_exit_functions() {
    let test = "the_log_holds_the_events_of_exit_functions";
    let Some(ran) = ran(test, &[ALL], || {
        // SAFETY: the functions are static and may run at any time.
        unsafe {
            libc::atexit(label_later_still);
            libc::atexit(record_late);
        }
        event!(Pooled, 100usize);
        event!(Three, 0usize, 0usize, 0usize);
    }) else {
        return;
    };
    let stream = ran.stream();
    assert_eq!(stream.words(5, 0), [100, 0, 1, 2]);
    assert_eq!((stream.words(4, 0), stream.words(1, 0)), (vec![7], vec![0]));
    let labels: Vec<_> = stream.store(0xFF02).iter().map(|event| event.word(0)).collect();
    assert_eq!((labels, stream.ended), (vec![0x77, 0x78], true));
    assert_eq!(stream.told_of(1), common::Told::default());
}

extern "C" fn record_first(_: i32) {
    event!(Pooled, 100usize);
}

/// The program may register the functions at any time. Here the first event comes in a signal
/// handler, and no ordinary event follows.
#[test]
#[cfg(not(target_vendor = "apple"))]
#[expect(unsafe_code, reason = "quick_exit, signals")]
fn the_log_holds_the_events_of_quick_exit_functions() {
    let test = "the_log_holds_the_events_of_quick_exit_functions";
    unsafe extern "C" {
        fn at_quick_exit(call: extern "C" fn()) -> i32;
        fn quick_exit(status: i32) -> !;
    }
    let Some(ran) = ran(test, &[ALL], || {
        // SAFETY: the functions are static, and the handler only records.
        unsafe {
            at_quick_exit(label_later_still);
            let handler = record_first as extern "C" fn(i32) as libc::sighandler_t;
            libc::signal(libc::SIGUSR1, handler);
            libc::raise(libc::SIGUSR1);
            at_quick_exit(record_late);
            // The test harness does not get to print this line.
            println!("1 passed");
            quick_exit(0)
        }
    }) else {
        return;
    };
    let stream = ran.stream();
    assert_eq!(stream.words(5, 0), [100, 0, 1, 2]);
    let labels: Vec<_> = stream.store(0xFF02).iter().map(|event| event.word(0)).collect();
    assert_eq!((labels, stream.ended), (vec![0x77, 0x78], true));
}

/// `.part.end`: also if the end part begins a new parts block.
#[test]
fn the_end_part_states_the_number_of_blocks() {
    let test = "the_end_part_states_the_number_of_blocks";
    let count = || std::env::var("COUNT").map_or(0, |count| count.parse::<usize>().unwrap());
    for flush_count in 0..=32 {
        let count_variable = ("COUNT", &*flush_count.to_string());
        let Some(ran) = ran(test, &[ALL, SMALL, count_variable], || {
            for index in 0..count() {
                event!(Rare, index);
                telemetry::flush();
            }
        }) else {
            return;
        };
        if flush_count != 0 {
            let log = ran.file("mpsio.log");
            let end_count = common::read(&log).end_count;
            assert_eq!(end_count, Some((log.len() / 4096) as u64), "{flush_count} flushes");
        }
    }
}

/// SIGKILL leaves strings, labels and thread names in the log, before the blocks that need them.
#[test]
#[expect(unsafe_code, reason = "a signal")]
fn a_killed_program_leaves_labels_and_thread_names() {
    let test = "a_killed_program_leaves_labels_and_thread_names";
    if std::env::var_os(common::PROCESS_VARIABLE).is_some() {
        for round in 1..4usize {
            let name = telemetry::add_string(format!("pool {round}"));
            telemetry::label_address(round, name);
            (0..200usize).for_each(|index| event!(Three, round, index, index));
        }
        // SAFETY: the call touches no memory.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = common::command(test, &[ALL, SMALL]);
    let status = command.stdout(std::process::Stdio::null()).current_dir(&folder).status();
    assert!(!status.unwrap().success());
    let stream = common::read(&std::fs::read(folder.path().join("mpsio.log")).unwrap());
    // The header of a block has 128 bytes, that of an event 8; an event ends at a multiple of 8.
    let of_block = (4096 - 128) / (8 + 3 * size_of::<usize>()).next_multiple_of(8);
    let of_three = 600 / of_block * of_block;
    assert_eq!((stream.of(1).len(), stream.ended), (of_three, false));
    let strings: Vec<_> = stream.store(0xFF01).iter().map(|event| event.string(1)).collect();
    assert_eq!(strings, ["pool 1", "pool 2", "pool 3"]);
    let labels: Vec<_> = stream.store(0xFF02).iter().map(|event| event.word(0)).collect();
    assert_eq!((labels, stream.store(0xFF03).len()), (vec![1, 2, 3], 1));
    assert_eq!(stream.event_parts, 3, "the store had new entries three times in four blocks");
}

#[expect(unsafe_code, reason = "threads that are cancelled")]
mod cancelled {
    use super::*;
    use std::sync::atomic::AtomicBool;

    static IS_ASKED: AtomicBool = AtomicBool::new(false);

    unsafe extern "C-unwind" {
        fn pthread_cancel(thread: libc::pthread_t) -> i32;
        fn pthread_testcancel();
    }

    extern "C-unwind" fn record_once_cancelled(_: *mut std::ffi::c_void) -> *mut std::ffi::c_void {
        while !IS_ASKED.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        (0..3000usize).for_each(|index| event!(Three, 0usize, index, index));
        // SAFETY: the function holds nothing that must be dropped.
        unsafe { pthread_testcancel() };
        unreachable!("the thread is cancelled")
    }

    /// Recording is not a cancellation point: its system calls neither end the thread nor leave a
    /// hole.
    #[test]
    fn recording_is_not_a_cancellation_point() {
        type Run = extern "C" fn(*mut std::ffi::c_void) -> *mut std::ffi::c_void;
        let test = "cancelled::recording_is_not_a_cancellation_point";
        let environment =
            [("MPS_TELEMETRY_CONTROL", "Object"), ("MPS_TELEMETRY_BLOCK_SIZE", "4096")];
        let Some(ran) = ran(test, &environment, || {
            for _ in 0..10 {
                IS_ASKED.store(false, Ordering::Relaxed);
                // SAFETY: a new thread, which is waited for. The C library calls the function as
                // one that may unwind.
                unsafe {
                    let run: Run = std::mem::transmute(record_once_cancelled as *const ());
                    let (mut thread, none) = (std::mem::zeroed(), std::ptr::null_mut());
                    assert_eq!(libc::pthread_create(&mut thread, std::ptr::null(), run, none), 0);
                    assert_eq!(pthread_cancel(thread), 0);
                    IS_ASKED.store(true, Ordering::Relaxed);
                    let mut result = std::ptr::null_mut();
                    assert_eq!(libc::pthread_join(thread, &mut result), 0);
                    assert_eq!(result.addr(), usize::MAX, "PTHREAD_CANCELED");
                }
            }
        }) else {
            return;
        };
        let stream = ran.stream();
        assert_eq!((stream.holes, stream.ended), (0, true));
        assert_eq!(stream.of(1).len(), 10 * 3000);
    }
}
