//! The example of TDK's profiler, with its statements profiled: `multiply X Y PAUSE_MS`.
//!
//! ```text
//!  main ── multiply: a loop of Y turns ── wait: PAUSE_MS        unused: never called
//! ```
#![forbid(unsafe_code)]

use calls::profiled;
use std::hint::black_box;
use std::time::Duration;

#[profiled]
#[inline(never)]
fn multiply(x: u64, y: u64) -> u64 {
    let mut product = 0;
    let mut turn = 0;
    while turn < y {
        product += black_box(x);
        turn += 1;
    }
    if product == u64::MAX {
        return unused(product);
    }
    product
}

#[profiled]
fn wait(pause: Duration) {
    std::thread::sleep(pause);
}

#[profiled]
fn unused<T>(value: T) -> T {
    black_box(value)
}

#[profiled]
fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse().unwrap_or(0));
    let mut next = || words.next().unwrap_or(0);
    let (x, y, pause) = (next(), next(), next());
    println!("{}", multiply(x, y));
    wait(Duration::from_millis(pause));
}
