//! Programs with a known schedule, which measure their own time: the truth that the lens of waits
//! is judged by.
//!
//! ```text
//!  scenario NAME [FOLDER] ─┬─▶ its events: WindowBegin … WindowEnd, and what happens between
//!                          └─▶ standard output: share, owner, total in ns, by clocks of its own
//! ```
//!
//! The seven scenarios stand for those of the paper on RSP. Each prints the truth between its
//! `WindowBegin` and `WindowEnd`. Design: `.waits.scenarios` in `design/waits.md`.
#![forbid(unsafe_code)]

mod chain;
mod compile;
mod curl;
mod events;
mod frames;
mod mail;
mod pass;
mod shell;
mod truth;
mod workers;

use rustix::thread::{CpuSet, sched_setaffinity, set_name};
use std::ffi::CString;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, io};

/// Returns this program as another process, of another name.
fn process(words: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(words);
    Ok(command)
}

/// Starts this program as another process with pipes for its standard input and output.
fn start(words: &[&str]) -> io::Result<Child> {
    process(words)?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

/// Computes for a time. (It looks at the clock without a system call.)
fn work(time: Duration) {
    let begin = Instant::now();
    let mut value = 1u64;
    while begin.elapsed() < time {
        for _ in 0..100 {
            value = std::hint::black_box(value.wrapping_mul(6364136223846793005).wrapping_add(1));
        }
    }
}

/// Threads that run on the second processor. Each runs on another one than the thread that wakes
/// it: else the waker waits for a processor, and not for the woken thread.
const ON_SECOND: [&str; 7] = ["pass-b", "front", "auth", "server", "decoder", "asker", "resolver"];

/// Programs whose children choose their processors, and a stranger.
const FREE: [&str; 3] = ["shell", "compile", "spinner"];

/// Names this thread, and gives it its processor.
fn settle(name: &str) -> io::Result<()> {
    set_name(&CString::new(name)?)?;
    if FREE.contains(&name) {
        return Ok(());
    }
    let of = |processor| {
        let mut set = CpuSet::new();
        set.set(processor);
        sched_setaffinity(None, &set)
    };
    // A machine may have one processor alone.
    let second = if ON_SECOND.contains(&name) { of(1) } else { of(0) };
    Ok(second.or_else(|_| of(0))?)
}

/// Computes until it is killed: a stranger in the same system.
fn spin() -> ! {
    loop {
        work(Duration::from_secs(1));
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let name = words.first().copied().unwrap_or_default();
    if let Err(error) = settle(name) {
        eprintln!("scenario {name}: {error}");
        return ExitCode::FAILURE;
    }
    let done = match words[..] {
        ["spinner"] => spin(),
        ["pass-a"] => pass::first(),
        ["pass-b"] => pass::second(),
        ["client", folder] => mail::client(&PathBuf::from(folder)),
        ["front", back] => mail::relay(chain::Who::Front, back),
        ["back", auth] => mail::relay(chain::Who::Back, auth),
        ["auth", folder] => mail::auth(&PathBuf::from(folder)),
        ["shell"] => shell::run(),
        ["customer"] => workers::customer(),
        ["server"] => workers::server(),
        ["compile", folder] => compile::run(&PathBuf::from(folder)),
        ["player"] => frames::player(),
        ["decoder"] => frames::decoder(),
        ["curl"] => curl::run(false),
        ["curl-mended"] => curl::run(true),
        ["resolver"] => curl::resolver(),
        _ => {
            eprintln!(
                "usage: scenario pass-a | client FOLDER | shell | customer | compile FOLDER | \
                 player | curl | curl-mended | spinner"
            );
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scenario {name}: {error}");
            ExitCode::FAILURE
        }
    }
}
