//! Shells in shells, and a sleep of 200 ms in the innermost.

use crate::chain::now;
use crate::truth::Truth;
use rustix::time::ClockId;
use std::io;
use std::process::Command;

const COUNT: u64 = 3;
/// The sleep, in ns.
const SLEEP: u64 = 200_000_000;

pub(crate) fn run() -> io::Result<()> {
    let mut truth = Truth::begin();
    let begin = now(ClockId::Monotonic);
    for _ in 0..COUNT {
        let script = "sh -c 'sleep 0.2; exit 0'; exit 0";
        Command::new("sh").args(["-c", script]).status()?;
    }
    let ns = now(ClockId::Monotonic) - begin;
    truth.share("deliberate sleep", COUNT * SLEEP);
    truth.share("rest", ns.saturating_sub(COUNT * SLEEP));
    truth.end();
    Ok(())
}
