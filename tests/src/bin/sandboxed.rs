//! A program that gives up rights and goes on, for the tests of sandboxes.
//!
//! ```text
//!  sandboxed make     rights on files: read, write, create, remove; then the first event (xz 5.6)
//!  sandboxed write    rights on files: write; then the first event
//!  sandboxed late     the first event and a flush; then no right on any file
//!  sandboxed steps    no restriction: each step of a recording after a mark, for strace
//!  sandboxed still    the same steps without an event
//! ```
//!
//! A mark is a write of the step's name to the file number -1, which fails. Design: `.sol.sandbox`
//! in `design/telemetry.md`.
#![expect(unsafe_code, reason = "calls of Landlock, which the standard library lacks")]

use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use telemetry::event;

telemetry::events! {
    /// What happens in a sandbox.
    registry "sandboxed" version(1, 0, 0);
    kinds standard;

    /// A toy is used.
    Play(0x0001, always, User) {
        /// its number
        number: W,
    }
}

const COUNT: usize = 1000;
/// As many events as fill a few blocks.
const COUNT_FULL: usize = 60_000;

/// Rights of Landlock.
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_REG: u64 = 1 << 8;
/// All of its version 3: with that of truncation.
const ALL: u64 = (1 << 15) - 1;

/// Gives up all rights on files but these. Returns false if the kernel has no such version.
fn restrict(rights: u64) -> bool {
    let handled = [ALL & !rights];
    // SAFETY: the calls read `handled`, whose size they are told, and touch no other memory.
    unsafe {
        let version = libc::syscall(libc::SYS_landlock_create_ruleset, 0, 0, 1);
        if version < 3 {
            return false;
        }
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        let size = size_of_val(&handled);
        let rules = libc::syscall(libc::SYS_landlock_create_ruleset, handled.as_ptr(), size, 0);
        rules >= 0 && libc::syscall(libc::SYS_landlock_restrict_self, rules, 0) == 0
    }
}

fn play(numbers: std::ops::Range<usize>) {
    for number in numbers {
        event!(Play, number);
    }
}

/// Shows in a list of system calls where a step begins.
fn mark(step: &str) {
    // SAFETY: no file has this number: the call fails and reads nothing.
    unsafe { libc::write(-1, step.as_ptr().cast(), step.len()) };
}

fn steps(is_still: bool) {
    let play = move |numbers| {
        if !is_still {
            play(numbers);
        }
    };
    let flush = || {
        if !is_still {
            telemetry::flush();
        }
    };
    mark("begin");
    play(0..1);
    flush();
    // The writer thread may still begin.
    thread::sleep(Duration::from_millis(50));
    mark("go on");
    play(0..COUNT_FULL);
    flush();
    mark("rest");
    let other = move || {
        mark("thread");
        play(0..1);
        mark("thread ends");
    };
    thread::spawn(other).join().expect("it ends");
    mark("end");
}

fn main() -> ExitCode {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let is_restricted = match &*mode {
        "make" => restrict(READ_FILE | WRITE_FILE | READ_DIR | REMOVE_FILE | MAKE_REG),
        "write" => restrict(WRITE_FILE),
        "late" => {
            play(0..1);
            telemetry::flush();
            restrict(0)
        }
        "steps" | "still" => {
            steps(mode == "still");
            return ExitCode::SUCCESS;
        }
        _ => return ExitCode::from(2),
    };
    if !is_restricted {
        println!("no Landlock");
        return ExitCode::SUCCESS;
    }
    play(if mode == "late" { 1..COUNT } else { 0..COUNT });
    println!("{COUNT}");
    ExitCode::SUCCESS
}
