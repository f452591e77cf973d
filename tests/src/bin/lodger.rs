//! A lodger: a program that lives in another's house, a namespace, and knows its own waits.
//!
//! ```text
//!  lodger   main: Round: waits for the lock that `clerk` holds for 2 ms · then sleeps · 5 times
//!                 Care:  waits for a child that sleeps for 10 ms
//!  output   lock NS, child NS: how long it waited for each, by its own clock
//! ```
//!
//! Its sleeps begin as soon as a Round has ended: none lies under one. Design: `.waits.same` in
//! `design/waits.md`.
#![forbid(unsafe_code)]

use std::process::Command;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use telemetry::event;

telemetry::events! {
    /// What a lodger does.
    registry "lodger" version(1, 0, 0);
    kinds standard;

    /// A round begins.
    RoundBegin(0x0001, always, User) {
        /// its number
        number: U,
    }
    /// A round ends.
    RoundEnd(0x0002, always, User) {
        /// its number
        number: U,
    }
    /// A child begins.
    CareBegin(0x0003, always, User) {
        /// its process
        process: U,
    }
    /// A child has ended.
    CareEnd(0x0004, always, User) {
        /// its process
        process: U,
    }
    /// The clerk holds the lock.
    HoldBegin(0x0005, always, User) {}
    /// The clerk gives the lock up.
    HoldEnd(0x0006, always, User) {}
}

const ROUND_COUNT: u32 = 5;
const HOLD: Duration = Duration::from_millis(2);
const SLEEP: Duration = Duration::from_micros(300);

fn main() {
    let (lock, barrier) = (Arc::new(Mutex::new(())), Arc::new(Barrier::new(2)));
    let of_clerk = (Arc::clone(&lock), Arc::clone(&barrier));
    let clerk = move || {
        let (lock, barrier) = of_clerk;
        for _ in 0..ROUND_COUNT {
            let held = lock.lock().expect("no thread panics");
            event!(HoldBegin);
            barrier.wait();
            thread::sleep(HOLD);
            event!(HoldEnd);
            drop(held);
            barrier.wait();
        }
    };
    let clerk = thread::Builder::new().name("clerk".to_owned()).spawn(clerk).expect("a thread");
    let mut waited = Duration::ZERO;
    for number in 0..ROUND_COUNT {
        barrier.wait();
        event!(RoundBegin, number);
        let begin = Instant::now();
        drop(lock.lock().expect("no thread panics"));
        waited += begin.elapsed();
        event!(RoundEnd, number);
        thread::sleep(SLEEP);
        barrier.wait();
    }
    clerk.join().expect("it ends");
    println!("lock {}", waited.as_nanos());
    let mut child = Command::new("sleep").arg("0.01").spawn().expect("sleep");
    event!(CareBegin, child.id());
    let begin = Instant::now();
    child.wait().expect("it is a child");
    println!("child {}", begin.elapsed().as_nanos());
    event!(CareEnd, child.id());
}
