//! A function whose statements are worth a look: a loop that multiplies by adding.
//!
//! ```text
//!  MPS_TELEMETRY_PROFILE=time cargo run --release -p mps-calls --example multiply -- 1000 20
//!  eventcnv lines mpsio.log
//! ```
#![forbid(unsafe_code)]

use calls::profiled;
use std::hint::black_box;

#[profiled]
#[inline(never)]
fn multiply(a: u64, b: u64) -> u64 {
    let mut product = 0;
    let mut left = b;
    while left > 0 {
        product = black_box(product + a);
        left = black_box(left - 1);
    }
    product
}

fn main() {
    let mut arguments = std::env::args().skip(1).map_while(|word| word.parse().ok());
    let (count, factor) = (arguments.next().unwrap_or(1000), arguments.next().unwrap_or(20));
    let sum: u64 = (0..count).map(|number| multiply(number, factor)).sum();
    println!("{sum}");
}
