//! A program whose allocator records, for the tests to run: threads that hand memory to each other.
//!
//! ```text
//!  allocating N         N rounds on each of four threads; memory is freed by another thread
//!  allocating overflow  a hundred allocations, then it overflows its stack
//!  allocating refused   allocations that fail, among others
//! ```
//!
//! The environment selects the output and its place. Design: `.sol.alloc` in `design/telemetry.md`.
#![forbid(unsafe_code)]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::{env, hint, thread};
use telemetry::Kinds;
use telemetry::alloc::{CONTROL, Recorder};

#[global_allocator]
static ALLOCATOR: Recorder = Recorder::new();

const THREAD_COUNT: usize = 4;

fn main() {
    if env::args().nth(1).is_some_and(|text| text == "overflow") {
        (0..100).for_each(|size| drop(hint::black_box(vec![0u8; 1000 + size])));
        hint::black_box(overflow(1));
    }
    if env::args().nth(1).is_some_and(|text| text == "refused") {
        return refused();
    }
    let rounds = env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let (sends, receives): (Vec<_>, Vec<_>) = (0..THREAD_COUNT).map(|_| channel()).unzip();
    thread::scope(|scope| {
        for (index, receive) in receives.into_iter().enumerate() {
            let next = sends[(index + 1) % THREAD_COUNT].clone();
            let named = thread::Builder::new().name(format!("hands-on-{index}"));
            named.spawn_scoped(scope, move || hand_on(&next, &receive, rounds)).expect("a thread");
        }
        drop(sends);
    });
    let losses = telemetry::losses_of(&CONTROL, Kinds::all());
    println!("{} {}", losses.requested, losses.recorded);
}

/// Allocates for the next thread, and frees the memory of the thread before.
fn hand_on(next: &Sender<Vec<u8>>, receive: &Receiver<Vec<u8>>, rounds: usize) {
    for round in 0..rounds {
        let mut memory = vec![0; 16 + round % 3 * 16];
        if round % 5 == 0 {
            memory.reserve_exact(200 + round % 7 * 100);
        }
        // If the next thread has ended, the memory is freed here.
        let _ = next.send(hint::black_box(memory));
        for _ in 0..2 {
            drop(receive.try_recv());
        }
    }
}

/// Asks for more than there is, for new memory and for more of what there is.
fn refused() {
    let mut kept: Vec<Vec<u8>> = (1..100).map(|size| vec![1; size * 10]).collect();
    for memory in &mut kept {
        assert!(memory.try_reserve_exact(isize::MAX as usize - memory.len()).is_err());
        assert!(Vec::<u8>::new().try_reserve_exact(isize::MAX as usize).is_err());
    }
    hint::black_box(&kept);
    kept.truncate(50);
}

/// Recurses until the stack overflows.
#[expect(unconditional_recursion, reason = "to overflow the stack")]
fn overflow(depth: u64) -> u64 {
    let room = hint::black_box([depth; 512]);
    overflow(depth + 1) + room[0]
}
