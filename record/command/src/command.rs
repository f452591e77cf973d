//! Runs a program while it is recorded, or records the kernel alone.
//!
//! ```text
//!  Args ─▶ kernel begins, calls begin ─▶ PROGRAM ─▶ kernel ends, calls end ─▶ exit code
//! ```
//!
//! Design: `.rep.record` in `design/replay.md`, `.waits.record` in `design/waits.md`.

use crate::args::Args;
use crate::calls::Calls;
use crate::kernel::{self, Kernel};
use crate::logs::Recorded;
use crate::program;
use cli::{Stop, complain, said};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;

/// Records. With a program, ends this process with the program's exit code. `tool` is the name of
/// this program in messages.
pub fn run(args: &Args, tool: &str) -> Result<bool, Stop> {
    let say = |line: &str| complain(&format!("{tool}: {line}\n"));
    let kernel_log = args.kernel.then(|| kernel::log(args)).transpose()?;
    // From here on a signal ends the recording, not this process alone.
    let signals = program::take_signals()?;
    let mut kernel = match kernel_log.map(|log| Kernel::begin(args, log)).transpose() {
        Ok(kernel) => kernel,
        Err(error) if args.anyway => {
            say(&format!("{error}; the kernel's events are not recorded"));
            None
        }
        Err(error) => {
            let hint = if args.command.is_empty() { "" } else { "; --anyway runs the program" };
            return Err(Stop::Message(format!("{error}{hint}")));
        }
    };
    let Some((program, arguments)) = args.command.split_first() else {
        program::wait_for_signal(signals, args.seconds);
        let lines = kernel.map(Kernel::finish).transpose()?;
        lines.into_iter().flatten().for_each(|line| say(&line));
        return Ok(true);
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let calls = match args.what() {
        Some(what) => {
            let (calls, warning) = Calls::begin(args, what, program, &mut command)?;
            warning.iter().for_each(|line| say(line));
            Some(calls)
        }
        None => None,
    };
    let child = command.spawn().map_err(|error| not_run(program, &error))?;
    let process = child.id();
    if let Some(kernel) = &mut kernel {
        kernel.watch(process);
    }
    let status = program::wait(child, signals)?;
    let (mut recorded, mut lines) = (Recorded::Whole, Vec::new());
    match kernel.map(Kernel::finish).transpose() {
        Ok(said) => lines.extend(said.into_iter().flatten()),
        Err(stop) => {
            recorded = Recorded::Nothing;
            lines.extend(match stop {
                Stop::Message(message) => Some(message),
                Stop::Closed | Stop::Lost => None,
            });
        }
    }
    if let Some(calls) = calls {
        let (of_calls, said) = calls.finish(process, program, status);
        recorded = recorded.min(of_calls);
        lines.extend(said);
    }
    lines.iter().for_each(|line| say(line));
    std::process::exit(match (program::code(status), recorded) {
        (0, Recorded::Nothing) => 2,
        (0, Recorded::Part) => 1,
        (code, _) => code,
    })
}

fn not_run(program: &OsStr, error: &io::Error) -> Stop {
    let name = said(Path::new(program));
    Stop::Message(match error.kind() {
        io::ErrorKind::NotFound => format!("{name}: program not found"),
        _ if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) => format!(
            "{name}: cannot be run (exec format error); a script needs its interpreter: sh {name}"
        ),
        _ => format!("{name}: cannot be run ({error})"),
    })
}
