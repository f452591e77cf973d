//! A program that records, for the tests to run. Its first argument selects its work.
//!
//! ```text
//!  recorder kinds              one event of each standard kind, two registries, strings, labels
//!  recorder threads N M        N threads record M events each, of three kinds
//!  recorder held N M           the same; then it flushes until standard input ends
//!  recorder forever N FILE     N threads record until killed; FILE has the progress of each
//!  recorder one-by-one N M     N threads record M events each, one thread after the other
//!  recorder quiet N            ten events of one kind, then N of another
//!  recorder labels N           N labels, and an event
//!  recorder late N             N events, then their kind is switched on and flushed
//!  recorder busy N             N threads record until standard input ends
//!  recorder dying HOW          four threads record; then it says `ready` and dies of an `overflow`
//!                              of its stack, of an `abort`, or when it is told to
//!  recorder sorts              every sort at its extremes, and a pause too long for 32 bits
//! ```
//!
//! Prints how many events were requested, recorded, overwritten and not written; `held` also prints
//! the bytes that its host has taken. The environment selects the output: `.control.env` in
//! `design/telemetry.md`.
#![forbid(unsafe_code)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;
use std::{env, thread};
use telemetry::{add_string, event, label};
use tests::work;

mod heap {
    telemetry::events! {
        /// The events of a heap: one of each standard kind.
        registry "heap" version(1, 0, 0);
        kinds standard;

        /// An arena was created.
        ArenaCreate(0x0009, always, Arena) {
            /// the arena
            arena: P,
            /// its size in bytes
            size: W,
        }
        /// A pool was created.
        PoolInit(0x002D, always, Pool) {
            /// the pool
            pool: P,
            /// the arena that it takes memory from
            arena: P,
        }
        /// A collection began.
        TraceStart(0x0016, always, Trace) {
            /// its number
            trace: U,
            /// the part of memory that is expected to die
            mortality: D,
        }
        /// A segment was made.
        SegAlloc(0x0018, always, Seg) {
            /// its first byte
            base: A,
            /// its size in bytes
            size: W,
        }
        /// A reference was fixed.
        TraceFix(0x0020, always, Ref) {
            /// where it is
            place: A,
            /// whether it was moved
            moved: B,
        }
        /// Memory was handed out.
        PoolAlloc(0x002A, always, Object) {
            /// the pool
            pool: P,
            /// the memory
            address: A,
            /// its size in bytes
            size: W,
        }
        /// Somebody said something.
        Said(0x0060, always, User) {
            /// how loud
            loudness: U,
            /// what
            what: S,
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let numbers: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    match (&words[..], &numbers[..]) {
        (["kinds"], _) => record_kinds(),
        (["sorts"], _) => record_sorts(),
        (["dying", how], _) => die(how),
        (["busy", _], &[threads]) => record_until_input_ends(threads),
        (["forever", _, file], &[threads]) => record_forever(threads, Path::new(file)),
        (["one-by-one", ..], &[threads, events]) => {
            (0..threads).for_each(|thread| one_thread(thread, events));
        }
        (["quiet", _], &[events]) => record_quietly(events),
        (["labels", _], &[count]) => record_labels(count),
        (["late", _], &[events]) => record_late(events),
        (["threads" | "held", ..], &[threads, events]) => record_threads(threads, events),
        _ => return ExitCode::FAILURE,
    }
    let losses = telemetry::losses();
    println!("{} {} {} {}", losses.requested, losses.recorded, losses.overwritten, losses.io);
    if words.first() == Some(&"held") {
        flush_until_input_ends();
    }
    ExitCode::SUCCESS
}

fn record_kinds() {
    let arena = 0x7F49_6000_3000 as *const u8;
    let pool = 0x7F49_6000_4000 as *const u8;
    label(pool, add_string("the \"word\" pool"));
    event!(heap::ArenaCreate, arena, 1usize << 20);
    event!(heap::PoolInit, pool, arena);
    event!(heap::TraceStart, 1u32, 0.45);
    event!(heap::SegAlloc, 0x7F49_6000_8000usize, 4096usize);
    event!(heap::TraceFix, 0x7F49_6000_8010usize, true);
    event!(heap::PoolAlloc, pool, 0x7F49_6000_8020usize, 16usize);
    event!(heap::Said, 3u32, "hello");
    event!(work::Begun, 1usize, 2usize, 4usize);
}

fn record_sorts() {
    for word in [0, 1, usize::MAX, usize::MAX >> 1, 0x1234_5678] {
        event!(heap::PoolAlloc, word as *const u8, word, word);
    }
    for double in [0.0, -0.0, 1.0, -1.5, 1e300, 1e-300, f64::INFINITY, f64::MAX, 0.1, 123_456.789] {
        event!(heap::TraceStart, u32::MAX, double);
    }
    event!(heap::TraceFix, 0usize, false);
    // 32 bits of ticks span 1.4 s at 3 GHz: after the pause a base record is needed.
    thread::sleep(Duration::from_secs(2));
    for size in 0..24 {
        event!(heap::Said, size as u32, &"abcdefghijklmnopqrstuvwxyz"[..size]);
    }
    event!(heap::Said, 0u32, "say \"hi\"\\\n\tünïcödé\0 after a NUL");
    event!(heap::Said, 0u32, "long ".repeat(10_000).as_str());
    event!(work::WentOn, 1usize, 2usize, 4usize);
}

fn record_threads(thread_count: usize, event_count: usize) {
    thread::scope(|scope| {
        for thread in 0..thread_count {
            scope.spawn(move || {
                for index in 0..event_count {
                    record_work(thread, index);
                }
            });
        }
    });
}

/// Makes the host write the bytes that it holds.
fn flush_until_input_ends() {
    telemetry::flush();
    println!("{}", telemetry::status().size);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                telemetry::flush();
                thread::sleep(Duration::from_millis(1));
            }
        });
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        done.store(true, Ordering::Relaxed);
    });
}

/// Runs threads that record about a hundred thousand events a second each.
fn record_until_input_ends(thread_count: usize) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let done = &done;
        for thread in 0..thread_count {
            scope.spawn(move || {
                for index in 0.. {
                    record_work(thread, index);
                    if index.is_multiple_of(100) {
                        thread::sleep(Duration::from_millis(1));
                    }
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        println!("busy");
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        done.store(true, Ordering::Relaxed);
    });
}

/// Runs threads that record until the process is killed. `file` has the number of certainly
/// recorded events of each, in eight bytes.
fn record_forever(thread_count: usize, file: &Path) {
    let file = File::options().write(true).open(file).expect("the file can be opened");
    let file = &file;
    thread::scope(|scope| {
        for thread in 0..thread_count {
            scope.spawn(move || {
                for index in 0.. {
                    record_work(thread, index);
                    if index % 8 == 7 {
                        let told = (index as u64 + 1).to_le_bytes();
                        file.write_all_at(&told, thread as u64 * 8).expect("a writable file");
                    }
                }
            });
        }
    });
}

fn one_thread(thread: usize, event_count: usize) {
    let records = move || (0..event_count).for_each(|index| record_work(thread, index));
    thread::spawn(records).join().expect("the thread ends");
}

fn record_quietly(event_count: usize) {
    (0..10usize).for_each(|index| event!(work::Begun, 0usize, index, 0usize));
    (0..event_count).for_each(|index| event!(work::WentOn, 0usize, index, 0usize));
}

fn record_labels(count: usize) {
    for index in 1..=count {
        telemetry::label_address(index, add_string(format!("number {index}")));
    }
    event!(work::Begun, 0usize, 0usize, 0usize);
}

fn record_late(event_count: usize) {
    (0..event_count).for_each(|index| event!(work::Begun, 0usize, index, 0usize));
    telemetry::control::of(&work::CONTROL).set_output(work::Kinds::Begin);
    telemetry::flush();
    (0..10usize).for_each(|index| event!(work::Begun, 0usize, event_count + index, 0usize));
    telemetry::flush();
}

fn record_work(thread: usize, index: usize) {
    work::record(index % 3, thread, index, index.wrapping_mul(index));
}

fn die(how: &str) {
    const THREAD_COUNT: usize = 4;
    let recorded = Arc::new(Barrier::new(THREAD_COUNT + 1));
    for thread in 0..THREAD_COUNT {
        let recorded = recorded.clone();
        thread::spawn(move || {
            (0..5000).for_each(|index| record_work(thread, index));
            recorded.wait();
            thread::sleep(Duration::from_secs(60));
        });
    }
    recorded.wait();
    println!("ready");
    match how {
        "overflow" => println!("{}", overflow(0)),
        "abort" => std::process::abort(),
        _ => thread::sleep(Duration::from_secs(60)),
    }
}

#[expect(unconditional_recursion, reason = "that is what it does")]
fn overflow(depth: usize) -> usize {
    let page = std::hint::black_box([depth; 512]);
    overflow(page[depth % 512] + 1) + page[3]
}
