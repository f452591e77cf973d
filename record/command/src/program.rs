//! A program that runs while it is recorded: it gets signals, and has an exit code.
//!
//! ```text
//!  signals for this process ── all but those of a terminal's keys ──▶ the program ──▶ exit code
//! ```
//!
//! Design: `.rep.record` in `design/replay.md`, `.waits.record` in `design/waits.md`.

use cli::Stop;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

/// Begins to take signals, so that none ends this process alone. Ignored signals stay ignored, for
/// the program too.
pub(crate) fn take_signals() -> Result<Signals, Stop> {
    let taken = cli::heeded(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]);
    let failed = |error| Stop::Message(format!("cannot take signals: {error}"));
    // Where the parent ignores SIGCHLD, the kernel would forget how the program ended. A limit of
    // file sizes (ulimit -f) is an error of a write, not the end of this process.
    for signal in [SIGCHLD, SIGXFSZ] {
        flag::register(signal, Arc::default()).map_err(failed)?;
    }
    Signals::new(taken).map_err(failed)
}

/// Waits for the program, and passes signals on to it. (It gets those of a terminal's keys itself.)
pub(crate) fn wait(mut child: Child, mut signals: Signals) -> Result<ExitStatus, Stop> {
    let process = Pid::from_child(&child);
    let handle = signals.handle();
    let passer = std::thread::spawn(move || {
        for signal in signals.forever().filter(|signal| ![SIGINT, SIGQUIT].contains(signal)) {
            if let Some(signal) = Signal::from_named_raw(signal) {
                // The program may have ended.
                let _ = kill_process(process, signal);
            }
        }
    });
    let status = child.wait();
    handle.close();
    let _ = passer.join();
    status.map_err(|error| Stop::Message(format!("cannot wait for the program: {error}")))
}

/// Waits for a signal, or until this time is over.
pub(crate) fn wait_for_signal(mut signals: Signals, time: Option<Duration>) {
    if let Some(time) = time {
        let handle = signals.handle();
        std::thread::spawn(move || {
            std::thread::sleep(time);
            handle.close();
        });
    }
    let _ = signals.forever().next();
}

/// Returns the exit code of a program, as a shell has it.
pub(crate) fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(2)
}
