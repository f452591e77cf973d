//! How a program ends, and what is in its log then.

mod common;

use common::{Pooled, Rare, Three, ran, wait_until};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use telemetry::event;

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const SMALL: (&str, &str) = ("MPS_TELEMETRY_BLOCK_SIZE", "4096");

/// `.part.end`: the end mark is drawn under the stream; other threads, which record while the
/// process dies, put nothing below it and tear nothing.
#[test]
fn threads_that_record_while_the_program_exits_leave_no_hole() {
    let test = "threads_that_record_while_the_program_exits_leave_no_hole";
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
        // What is missing before the line is counted: what came while the others waited for it.
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

/// `.part.end`: functions that the program has had called at exit since before its first event are
/// called after the runtime's.
#[test]
#[expect(unsafe_code, reason = "atexit")]
fn events_of_functions_that_are_called_at_exit_are_in_the_log() {
    let test = "events_of_functions_that_are_called_at_exit_are_in_the_log";
    let Some(ran) = ran(test, &[ALL], || {
        // SAFETY: functions that stay, and that may be called at any time.
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

/// Whenever the program asked for them, and also where the first event is one of a handler, and no
/// ordinary one follows.
#[test]
#[cfg(not(target_vendor = "apple"))]
#[expect(unsafe_code, reason = "quick_exit, signals")]
fn events_of_functions_that_quick_exit_calls_are_in_the_log() {
    let test = "events_of_functions_that_quick_exit_calls_are_in_the_log";
    unsafe extern "C" {
        fn at_quick_exit(call: extern "C" fn()) -> i32;
        fn quick_exit(status: i32) -> !;
    }
    let Some(ran) = ran(test, &[ALL], || {
        // SAFETY: functions that stay, and a handler that only records.
        unsafe {
            at_quick_exit(label_later_still);
            let handler = record_first as extern "C" fn(i32) as libc::sighandler_t;
            libc::signal(libc::SIGUSR1, handler);
            libc::raise(libc::SIGUSR1);
            at_quick_exit(record_late);
            // The harness does not come to say it.
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

/// `.part.end`: also where it begins a parts block.
#[test]
fn the_end_says_how_many_blocks_there_are() {
    let test = "the_end_says_how_many_blocks_there_are";
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

/// Whatever a program is killed with: strings, labels and thread names are in the log before the
/// blocks that need them.
#[test]
#[expect(unsafe_code, reason = "a signal")]
fn a_program_that_is_killed_leaves_labels_and_thread_names_with_its_blocks() {
    let test = "a_program_that_is_killed_leaves_labels_and_thread_names_with_its_blocks";
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
    let of_three = 600 / 124 * 124;
    assert_eq!((stream.of(1).len(), stream.ended), (of_three, false));
    let strings: Vec<_> = stream.store(0xFF01).iter().map(|event| event.string(16)).collect();
    assert_eq!(strings, ["pool 1", "pool 2", "pool 3"]);
    let labels: Vec<_> = stream.store(0xFF02).iter().map(|event| event.word(0)).collect();
    assert_eq!((labels, stream.store(0xFF03).len()), (vec![1, 2, 3], 1));
    assert_eq!(stream.event_parts, 3, "the store has something new three times, for four blocks");
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
        // SAFETY: nothing here minds that the thread ends now.
        unsafe { pthread_testcancel() };
        unreachable!("it is cancelled")
    }

    /// Recording is not a cancellation point: its system calls neither end the thread in the
    /// middle, nor leave a hole.
    #[test]
    fn a_thread_that_is_cancelled_ends_where_it_would_have() {
        type Run = extern "C" fn(*mut std::ffi::c_void) -> *mut std::ffi::c_void;
        let test = "cancelled::a_thread_that_is_cancelled_ends_where_it_would_have";
        let environment =
            [("MPS_TELEMETRY_CONTROL", "Object"), ("MPS_TELEMETRY_BLOCK_SIZE", "4096")];
        let Some(ran) = ran(test, &environment, || {
            for _ in 0..10 {
                IS_ASKED.store(false, Ordering::Relaxed);
                // SAFETY: a thread of its own, that is waited for; the function is called as one
                // that may unwind, as the C library has it.
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
