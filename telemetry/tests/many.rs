//! Thousands of threads, and the events at their ends.
//!
//! ```text
//!  start ─ events ─ destructors of thread-locals ─ keys: round 1 … 4 ─ gone      rings: reused
//!  main  ─ exit ─ atexit functions ─ .fini_array                                 log: everything
//! ```
//!
//! Design: `.sol.thread`, `.sol.exit` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of the C library")]

mod common;

use common::{CONTROL, Kinds, Pooled, Rare, Stream, Three, ThreeSeg, ran};
use std::collections::{BTreeMap, BTreeSet};
use std::thread::{Builder, spawn};
use telemetry::{control, event};

const ALL: (&str, &str) = ("MPS_TELEMETRY_CONTROL", "all");
const THREAD_COUNT: usize = 10_000;
const AT_A_TIME: usize = 16;
const EVENT_COUNT: usize = 5;

/// Returns the names of threads by their indexes (`.store.thread`).
fn names(stream: &Stream) -> BTreeMap<u32, String> {
    let threads = stream.store(0xFF03);
    threads.iter().map(|thread| (thread.word(0) as u32, thread.string(2))).collect()
}

/// Returns the buffers of the test's own events.
fn buffers(stream: &Stream) -> BTreeSet<u32> {
    let of_test = stream.events.iter().filter(|(_, event)| event.registry == 1);
    of_test.map(|((buffer, _), _)| *buffer).collect()
}

/// Returns a value of /proc/self/status, in KiB.
fn memory(line: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|found| found.strip_prefix(line)).unwrap();
    line.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

/// `.req.loss`: 16 threads at a time record 150,000 events; memory stops growing at 16.
#[test]
fn ten_thousand_threads_share_the_rings_of_sixteen() {
    let test = "ten_thousand_threads_share_the_rings_of_sixteen";
    let Some(ran) = ran(test, &[ALL], || {
        let peak = |count: usize| {
            std::thread::scope(|scope| {
                for first in 0..AT_A_TIME {
                    scope.spawn(move || {
                        (first..count).step_by(AT_A_TIME).for_each(record_in_a_thread);
                    });
                }
            });
            memory("VmRSS:")
        };
        let before = peak(20 * AT_A_TIME);
        let after = peak(THREAD_COUNT);
        // A ring has 128 KiB: keeping the rings of one thread in a hundred would take 37 MiB.
        assert!(after < before + 8 * 1024, "{before} KiB, then {after}");
        let losses = telemetry::losses_of(&CONTROL, Kinds::all());
        let count = (3 * EVENT_COUNT * (THREAD_COUNT + 20 * AT_A_TIME)) as u64;
        assert_eq!((losses.requested, losses.recorded, losses.io), (count, count, 0));
    }) else {
        return;
    };
    let stream = ran.stream();
    assert!(stream.ended);
    // 16 threads that start others, and 16 started ones; a few more while one ends.
    assert!(buffers(&stream).len() <= 3 * 3 * AT_A_TIME, "{}", buffers(&stream).len());
    let names = names(&stream);
    let mut of_threads = BTreeMap::<u32, Vec<_>>::new();
    for event in stream.events.values().filter(|event| event.registry == 1) {
        let (thread, index) = match event.code {
            5 => (event.word(0) / EVENT_COUNT as u64, event.word(0) % EVENT_COUNT as u64),
            _ => (event.word(0), event.word(1)),
        };
        assert_eq!(names[&event.thread], format!("short-{thread}"), "each event's thread");
        of_threads.entry(event.thread).or_default().push((event.code, index));
    }
    assert_eq!(of_threads.len(), THREAD_COUNT + 20 * AT_A_TIME);
    let mut expected: Vec<_> =
        (0..EVENT_COUNT as u64).flat_map(|at| [1, 2, 5].map(|code| (code, at))).collect();
    expected.sort_unstable();
    for events in of_threads.values_mut() {
        events.sort_unstable();
        assert_eq!(*events, expected);
    }
}

fn record_in_a_thread(thread: usize) {
    let record = move || {
        for index in 0..EVENT_COUNT {
            event!(Three, thread, index, 0usize);
            event!(ThreeSeg, thread, index, 0usize);
            event!(Pooled, thread * EVENT_COUNT + index);
        }
    };
    Builder::new().name(format!("short-{thread}")).spawn(record).unwrap().join().unwrap();
}

/// `.sol.buffer`: the history of an ended thread.
#[test]
fn an_ended_thread_keeps_its_history_until_its_ring_is_reused() {
    let test = "an_ended_thread_keeps_its_history_until_its_ring_is_reused";
    let Some(ran) = ran(test, &[("MPS_TELEMETRY_CONTROL", "Object")], || {
        let record = |values: std::ops::Range<usize>| {
            let work = move || {
                event!(Three, 0usize, values.start, 0usize);
                values.for_each(|index| event!(ThreeSeg, 0usize, index, 0usize));
            };
            spawn(work).join().unwrap();
        };
        // The threads share one ring of two blocks: one is history while the other is filled.
        record(0..10);
        record(10..20);
        record(20..30);
        control::of(&CONTROL).set_output(Kinds::Seg);
        telemetry::flush();
        let losses = telemetry::losses_of(&CONTROL, Kinds::Seg);
        assert_eq!((losses.recorded, losses.overwritten), (30, 10), "{losses:?}");
    }) else {
        return;
    };
    let stream = ran.stream();
    assert_eq!(stream.words(2, 1), (10..30).collect::<Vec<_>>());
    assert_eq!(stream.words(1, 1), [0, 10, 20]);
    let threads: BTreeSet<_> = stream.of(2).iter().map(|event| event.thread).collect();
    assert_eq!(threads.len(), 2, "both threads keep their events");
}

/// Records an event at the end of a thread, and sets the value again for the next round.
extern "C" fn at_thread_end(value: *mut libc::c_void) {
    event!(Three, 2usize, value.addr(), 0usize);
    set(value.addr());
}

/// Records an event in the last round alone, after which no destructor runs.
extern "C" fn at_thread_end_last(value: *mut libc::c_void) {
    let (round, key) = (value.addr() >> 32, value.addr() & 0xFFFF_FFFF);
    if round == 4 {
        event!(Pooled, key);
    }
    set(key | (round + 1) << 32);
}

fn set(value: usize) {
    let key = (value & 0xFFFF_FFFF) as libc::pthread_key_t - 1;
    let value = std::ptr::without_provenance::<libc::c_void>(value);
    // SAFETY: the key exists.
    unsafe { libc::pthread_setspecific(key, value) };
}

/// Returns a new key, plus one.
fn make_key(call: extern "C" fn(*mut libc::c_void)) -> usize {
    let mut key = 0;
    // SAFETY: the call writes one key; the function is static.
    assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(call)) }, 0);
    key as usize + 1
}

/// Destructors record in every round, also in the last one, after which the runtime's destructor
/// does not run. The log has the events, and the rings are reused.
#[test]
fn the_log_has_the_events_of_every_round_of_destructors() {
    struct Records;
    impl Drop for Records {
        fn drop(&mut self) {
            event!(Three, 1usize, 0usize, 0usize);
        }
    }
    thread_local!(static RECORDS: Records = const { Records });
    const COUNT: usize = 500;
    let test = "the_log_has_the_events_of_every_round_of_destructors";
    let Some(ran) = ran(test, &[ALL], || {
        // The runtime's key comes first: its destructor has already run in the last round.
        event!(Rare, 0usize);
        let (key, last) = (make_key(at_thread_end), make_key(at_thread_end_last));
        for _ in 0..COUNT {
            let silent = spawn(move || RECORDS.with(|_| set(key)));
            silent.join().unwrap();
            spawn(move || set(last | 1 << 32)).join().unwrap();
        }
    }) else {
        return;
    };
    let stream = ran.stream();
    let count = |value| stream.of(1).iter().filter(|event| event.word(0) == value).count();
    assert_eq!(count(1), COUNT, "destructors of thread-locals");
    assert_eq!(count(2), 4 * COUNT, "a key's destructor, in four rounds");
    assert_eq!(stream.of(5).len(), COUNT, "in the last round");
    assert!(buffers(&stream).len() <= 40, "{}", buffers(&stream).len());
    let threads: BTreeSet<_> = stream.of(1).iter().map(|event| event.thread).collect();
    assert_eq!(threads.len(), COUNT, "a thread keeps one index to its end");
}

extern "C" fn at_exit_before() {
    event!(Rare, 1usize);
}
extern "C" fn at_exit_after() {
    event!(Rare, 2usize);
}
extern "C" fn after_exit() {
    if std::env::var_os("TELEMETRY_TEST_AT_EXIT").is_some() {
        event!(Rare, 3usize);
        event!(Pooled, 3usize);
    }
}
#[used]
#[unsafe(link_section = ".fini_array")]
static AFTER: extern "C" fn() = after_exit;

/// Exit functions before and after the runtime's own, functions of the linker's section, and a
/// sleeping thread that has recorded.
#[test]
fn the_log_has_events_of_the_exit_and_of_sleeping_threads() {
    let test = "the_log_has_events_of_the_exit_and_of_sleeping_threads";
    let Some(ran) = ran(test, &[ALL, ("TELEMETRY_TEST_AT_EXIT", "1")], || {
        // SAFETY: the function is static.
        unsafe { libc::atexit(at_exit_before) };
        let (send, receive) = std::sync::mpsc::channel();
        spawn(move || {
            (0..3usize).for_each(|index| event!(Three, 0usize, index, 0usize));
            send.send(()).unwrap();
            std::thread::park();
        });
        receive.recv().unwrap();
        // SAFETY: the function is static.
        unsafe { libc::atexit(at_exit_after) };
    }) else {
        return;
    };
    let stream = ran.stream();
    assert_eq!(stream.words(1, 1), [0, 1, 2]);
    let mut rare = stream.words(4, 0);
    rare.sort_unstable();
    assert_eq!((rare, stream.words(5, 0)), (vec![1, 2, 3], vec![3]));
    assert!(stream.ended && stream.holes == 0);
}
