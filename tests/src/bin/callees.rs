//! A program whose calls are recorded and counted by callgrind too: `callees COUNT`.
//!
//! ```text
//!  work ─┬─ fibonacci ⟲        is_even ⇄ is_odd       two threads
//!        └─ fill ─ <Stack as Store>::put ─ grow       a generic function, a method of a trait
//! ```
#![forbid(unsafe_code)]

use calls::traced;
use std::hint::black_box;

#[traced]
trait Store {
    fn put(&mut self, value: u64);
}

#[derive(Default)]
struct Stack {
    values: Vec<u64>,
    room: u64,
}

#[traced]
impl Store for Stack {
    #[inline(never)]
    fn put(&mut self, value: u64) {
        if self.room == 0 {
            self.room = grow(self.values.len());
        }
        self.room -= 1;
        self.values.push(value);
    }
}

#[traced]
#[inline(never)]
fn grow(len: usize) -> u64 {
    black_box(len as u64 / 2 + 3)
}

#[traced]
#[inline(never)]
fn fill<S: Store>(store: &mut S, count: u64) {
    for value in 0..count {
        store.put(value);
    }
}

#[traced]
#[inline(never)]
fn fibonacci(n: u64) -> u64 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

#[traced]
#[inline(never)]
fn is_even(n: u64) -> bool {
    if n == 0 { true } else { !black_box(is_odd(n)) }
}

#[traced]
#[inline(never)]
fn is_odd(n: u64) -> bool {
    !black_box(is_even(n - 1))
}

#[traced]
#[inline(never)]
fn work(count: u64) -> u64 {
    let mut stack = Stack::default();
    fill(&mut stack, count);
    for n in 0..count {
        black_box(is_even(n));
        if n % 3 == 0 {
            fibonacci(n % 12);
        }
    }
    grow(0) + fibonacci(8)
}

fn main() {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(40);
    let thread = std::thread::spawn(move || work(count));
    println!("{} {:?}", work(count / 2), thread.join());
}
