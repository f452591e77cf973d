//! Starts a program that stops before its first instruction.
//!
//! ```text
//!  this thread ─ spawns ─▶ the starter: traceme, no random addresses, exec ─▶ program, stopped
//! ```
//!
//! The starter is a process of the tool itself, because only a process can ask to be traced.
//!
//! Design: `.collect.traps` in `design/collect.md`.

use crate::CollectError;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::personality::{self, Persona};
use nix::sys::ptrace::{self, Options};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A program to run, always in the same way.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The command that becomes the program: it calls [`enter`] with the words after its own.
    pub starter: Vec<OsString>,
    /// The program, as a path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The file that it reads as its standard input; nothing by default.
    pub input: Option<PathBuf>,
    /// Its environment; that of this process by default.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// The folder that it runs in; that of this process by default.
    pub folder: Option<PathBuf>,
}

/// A program that this thread traces. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Started {
    child: Child,
    pub(crate) process: Pid,
    is_over: bool,
}

/// Where the output of a program goes.
#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) out: File,
    pub(crate) errors: File,
}

impl Launch {
    fn failed(&self, cause: io::Error) -> CollectError {
        CollectError::Start { program: self.program.clone(), cause }
    }

    /// Returns the command with the streams, the folder and the environment of this launch.
    pub(crate) fn command(
        &self,
        words: &[OsString],
        outputs: &Outputs,
    ) -> Result<Command, CollectError> {
        let failed = |cause| self.failed(cause);
        let (first, rest) =
            words.split_first().ok_or_else(|| failed(io::Error::other("no command starts it")))?;
        let mut command = Command::new(first);
        command.args(rest).arg(&self.program).args(&self.arguments);
        command.stdin(match &self.input {
            Some(path) => Stdio::from(File::open(path).map_err(failed)?),
            None => Stdio::null(),
        });
        command.stdout(outputs.out.try_clone().map_err(failed)?);
        command.stderr(outputs.errors.try_clone().map_err(failed)?);
        if let Some(environment) = &self.environment {
            command.env_clear().envs(environment.iter().cloned());
        }
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        Ok(command)
    }

    /// Starts the program. It stops before its first instruction.
    pub(crate) fn start(&self, outputs: &Outputs) -> Result<Started, CollectError> {
        let child =
            self.command(&self.starter, outputs)?.spawn().map_err(|cause| self.failed(cause))?;
        let process = Pid::from_raw(child.id().cast_signed());
        let mut started = Started { child, process, is_over: false };
        match waitpid(process, None)? {
            WaitStatus::Stopped(..) => {}
            status => {
                started.is_over = true;
                let mut text = String::new();
                let errors = outputs.errors.try_clone().ok();
                let read = errors.and_then(|mut errors| {
                    io::Seek::rewind(&mut errors).ok()?;
                    io::Read::read_to_string(&mut errors, &mut text).ok()
                });
                let said = text.trim().rsplit(": ").next().unwrap_or_default().to_owned();
                let cause = match read {
                    Some(_) if !said.is_empty() => said,
                    _ => format!("{status:?}"),
                };
                return Err(self.failed(io::Error::other(cause)));
            }
        }
        ptrace::setoptions(
            process,
            Options::PTRACE_O_EXITKILL
                | Options::PTRACE_O_TRACEEXEC
                | Options::PTRACE_O_TRACECLONE
                | Options::PTRACE_O_TRACEFORK
                | Options::PTRACE_O_TRACEVFORK
                | Options::PTRACE_O_TRACEVFORKDONE,
        )?;
        Ok(started)
    }
}

impl Started {
    /// Notes that the process ended and was waited for.
    pub(crate) fn is_over(&mut self) {
        self.is_over = true;
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if !self.is_over {
            // It may have ended by itself meanwhile.
            let _ = self.child.kill();
            // Its threads first: they are traced, and it ends after them.
            let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
            while waitpid(None, Some(flags)).is_ok() {}
        }
    }
}

/// Lets this process become a program that its parent traces. Returns only if that fails.
pub fn enter(program: &OsString, arguments: &[OsString]) -> io::Error {
    let own = personality::get().unwrap_or(Persona::empty());
    if let Err(error) = personality::set(own | Persona::ADDR_NO_RANDOMIZE) {
        return error.into();
    }
    if let Err(error) = ptrace::traceme() {
        return error.into();
    }
    Command::new(program).args(arguments).exec()
}

/// Lets this thread, and the programs that it starts, run on one processor of those allowed.
/// Returns the processors that were allowed before.
pub(crate) fn pin(number: usize) -> Result<CpuSet, CollectError> {
    let own = Pid::from_raw(0);
    let before = sched_getaffinity(own)?;
    let allowed: Vec<usize> =
        (0..CpuSet::count()).filter(|cpu| before.is_set(*cpu).unwrap_or(false)).collect();
    let mut one = CpuSet::new();
    if let Some(cpu) = allowed.get(number % allowed.len().max(1)) {
        one.set(*cpu)?;
        sched_setaffinity(own, &one)?;
    }
    Ok(before)
}
