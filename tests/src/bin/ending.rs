//! A program with profiled statements that ends in the middle: `ending HOW COUNT`.
//!
//! ```text
//!  ending crash 40   40 statements ── telemetry::flush ── abort: a core
//!  ending wait 40    40 statements ── telemetry::flush ── `ready` ── until killed
//!  ending fork 40    40 statements, a child with 13 more, and 2 after it
//! ```
#![expect(unsafe_code, reason = "fork")]

use calls::profiled;
use std::hint::black_box;
use std::io::{Read, Write};

#[profiled]
#[inline(never)]
fn works(count: u64) {
    for turn in 0..count {
        black_box(turn);
    }
}

/// What is open when the program ends.
#[profiled]
fn ends(how: &str) {
    match how {
        "crash" => std::process::abort(),
        "wait" => {
            println!("ready");
            std::io::stdout().flush().expect("a pipe");
            // Killed before, or left alone.
            let _ = std::io::stdin().read(&mut [0]);
        }
        _ => fork(),
    }
}

fn fork() {
    // SAFETY: the process has one thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        works(13);
        std::process::exit(0);
    }
    let mut status = 1;
    // SAFETY: waits for a child; `status` lives through the call.
    unsafe { assert_eq!((libc::waitpid(child, &mut status, 0), status), (child, 0)) };
    works(2);
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [how, count] = &words[..] else { panic!("ending HOW COUNT") };
    works(count.parse().expect("a number"));
    telemetry::flush();
    ends(how);
}
