//! A program that records in many threads until it dies, for the tests of cores to run.
//!
//! ```text
//!  crasher THREADS FILE              until killed
//!  crasher THREADS FILE COUNT        thread 5 reads through a null pointer after COUNT events
//!  crasher THREADS FILE COUNT SIZE   … with SIZE bytes more of memory in use
//! ```
//!
//! FILE has two numbers of eight bytes for each thread: events begun, and events certainly
//! recorded. Prints `ready` when all threads record. Design: `.debug.core` in
//! `design/telemetry.md`.
#![expect(unsafe_code, reason = "a file that is memory, and a pointer to nothing")]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, ptr, thread};
use telemetry::event;
use tests::work;

mod side {
    telemetry::events! {
        /// A second registry, of other work of the threads.
        registry "side" version(1, 0, 0);
        kinds standard;

        /// Memory was handed out.
        Handed(0x0001, always, Object) {
            /// the thread
            thread: W,
            /// the number of the event in its thread
            index: W,
            /// how
            how: S,
        }
    }
}

const VICTIM: usize = 5;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse::<usize>().ok());
    let thread_count = number(0).expect("a number of threads");
    let progress = map(arguments.get(1).expect("a file"), thread_count * 2);
    let count = number(2).unwrap_or(usize::MAX);
    let mut memory = vec![0u8; number(3).unwrap_or(0)];
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 0xA7);
    telemetry::label_address(0x77, telemetry::add_string("the seventy-seventh"));
    let ready = &Barrier::new(thread_count);
    thread::scope(|scope| {
        for index in 0..thread_count {
            let told = &progress[2 * index..][..2];
            let named = thread::Builder::new().name(format!("worker {index}"));
            let spawned = named.spawn_scoped(scope, move || {
                record(index, 0, told);
                ready.wait();
                if index == 0 {
                    println!("ready");
                }
                for event in 1.. {
                    if index == VICTIM && event == count {
                        // SAFETY: the read faults on purpose.
                        let nothing = unsafe { ptr::null::<u8>().read_volatile() };
                        println!("{nothing}");
                    }
                    record(index, event, told);
                }
            });
            spawned.expect("a thread can be made");
        }
    });
    drop(memory);
}

/// Records an event, and counts it in the file before and after.
fn record(thread: usize, index: usize, told: &[AtomicU64]) {
    told[0].store(index as u64 + 1, Ordering::SeqCst);
    match index % 4 {
        3 => event!(side::Handed, thread, index, &"well enough"[..index % 12]),
        kind => work::record(kind, thread, index, index.wrapping_mul(index)),
    }
    told[1].store(index as u64 + 1, Ordering::SeqCst);
}

/// Maps a file as `count` numbers.
fn map(path: &str, count: usize) -> &'static [AtomicU64] {
    let file = File::options().read(true).write(true).open(path).expect("the file can be opened");
    file.set_len(count as u64 * 8).expect("the file can be resized");
    // SAFETY: a new mapping of a file of that size, which stays mapped. Any bytes are valid
    // numbers, and all accesses are atomic.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED;
        let at = libc::mmap(ptr::null_mut(), count * 8, protection, flags, file.as_raw_fd(), 0);
        assert!(at != libc::MAP_FAILED, "the file can be mapped");
        std::slice::from_raw_parts(at.cast::<AtomicU64>(), count)
    }
}
