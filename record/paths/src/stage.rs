//! A traced program: its stops, its breakpoints, its children.
//!
//! Design: `.collect.traps` in `design/collect.md`.

use crate::CollectError;
use crate::image::Memory;
use crate::launch::{Launch, Outputs, Started};
use nix::libc::user_regs_struct as Registers;
use nix::sys::ptrace::{self, Event};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileExt;

const BREAKPOINT: u8 = 0xcc;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The first function returned; then the program exited with this code.
    Returned(i32),
    /// The program exited with this code before that.
    Exited(i32),
    /// A signal ended the program.
    Killed(i32),
}

/// What the program did.
#[expect(clippy::large_enum_variant, reason = "a box would allocate at each stop")]
pub(crate) enum Stop {
    /// It stopped at this breakpoint.
    Trap(Registers),
    Ended(Ended),
}

/// What a wait saw.
enum Seen {
    Trap,
    Ended(Ended),
    /// A signal or an event: the program goes on.
    Other,
}

/// A traced program and the breakpoints in its memory.
pub(crate) struct Stage {
    pub(crate) started: Started,
    pub(crate) memory: Memory,
    /// The bytes under breakpoints, by addresses of memory.
    bytes: HashMap<u64, u8>,
    /// Signals for the program, which it gets one by one as it goes on.
    signals: VecDeque<Signal>,
    /// Threads that it began, which have not run.
    threads: Vec<Pid>,
    pub(crate) children: u64,
}

impl Stage {
    pub(crate) fn open(
        launch: &Launch,
        entry: u64,
        outputs: &Outputs,
    ) -> Result<Stage, CollectError> {
        let started = launch.start(outputs)?;
        let memory = Memory::open(started.process, entry)?;
        let (bytes, signals, threads) = (HashMap::new(), VecDeque::new(), Vec::new());
        Ok(Stage { started, memory, bytes, signals, threads, children: 0 })
    }

    /// Puts a breakpoint at an address. Returns whether it had none.
    pub(crate) fn insert(&mut self, at: u64) -> Result<bool, CollectError> {
        if self.bytes.contains_key(&at) {
            return Ok(false);
        }
        let mut byte = [0];
        self.memory.read(at, &mut byte)?;
        self.memory.write(at, &[BREAKPOINT])?;
        self.bytes.insert(at, byte[0]);
        Ok(true)
    }

    pub(crate) fn remove(&mut self, at: u64) -> Result<(), CollectError> {
        match self.bytes.remove(&at) {
            Some(byte) => self.memory.write(at, &[byte]),
            None => Ok(()),
        }
    }

    /// Removes all breakpoints but some.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(u64) -> bool) -> Result<(), CollectError> {
        let all: Vec<u64> = self.bytes.keys().copied().filter(|at| !is_kept(*at)).collect();
        all.into_iter().try_for_each(|at| self.remove(at))
    }

    pub(crate) fn has_signals(&self) -> bool {
        !self.signals.is_empty()
    }

    pub(crate) fn registers(&self) -> Result<Registers, CollectError> {
        Ok(ptrace::getregs(self.started.process)?)
    }

    pub(crate) fn set(&self, registers: Registers) -> Result<(), CollectError> {
        Ok(ptrace::setregs(self.started.process, registers)?)
    }

    /// Lets the program go on to the next breakpoint.
    pub(crate) fn go(&mut self) -> Result<Stop, CollectError> {
        loop {
            ptrace::cont(self.started.process, self.signals.pop_front())?;
            match self.wait()? {
                Seen::Ended(ended) => return Ok(Stop::Ended(ended)),
                Seen::Other => {}
                Seen::Trap => {
                    let mut registers = self.registers()?;
                    registers.rip = registers.rip.wrapping_sub(1);
                    if self.bytes.contains_key(&registers.rip) {
                        return Ok(Stop::Trap(registers));
                    }
                    self.signals.push_back(Signal::SIGTRAP);
                }
            }
        }
    }

    /// Lets the program run one instruction, unless it ended. A signal waits until it goes on, and
    /// so does the instruction that causes it.
    fn step(&mut self) -> Result<Option<Ended>, CollectError> {
        loop {
            let signals = self.signals.len();
            ptrace::step(self.started.process, None)?;
            match self.wait()? {
                Seen::Trap => return Ok(None),
                Seen::Ended(ended) => return Ok(Some(ended)),
                Seen::Other if self.signals.back().is_some_and(is_fault) => return Ok(None),
                Seen::Other if self.signals.len() > signals => {}
                // An event, as of a child: the instruction is done.
                Seen::Other => return Ok(None),
            }
        }
    }

    /// Runs the instruction under a breakpoint, unless the program ended.
    pub(crate) fn step_over(&mut self, at: u64) -> Result<Option<Ended>, CollectError> {
        let byte = self.bytes.get(&at).copied();
        if let Some(byte) = byte {
            self.memory.write(at, &[byte])?;
        }
        let ended = self.step()?;
        if byte.is_some() && ended.is_none() {
            self.memory.write(at, &[BREAKPOINT])?;
        }
        Ok(ended)
    }

    /// Waits for the program.
    fn wait(&mut self) -> Result<Seen, CollectError> {
        let process = self.started.process;
        let ended = match waitpid(process, Some(WaitPidFlag::__WALL))? {
            WaitStatus::Stopped(_, Signal::SIGTRAP) => return Ok(Seen::Trap),
            WaitStatus::Stopped(_, signal) => {
                self.signals.push_back(signal);
                return Ok(Seen::Other);
            }
            WaitStatus::PtraceEvent(_, _, event) => {
                self.event(event)?;
                return Ok(Seen::Other);
            }
            WaitStatus::Exited(_, code) => Ended::Exited(code),
            WaitStatus::Signaled(_, signal, _) => Ended::Killed(signal as i32),
            _ => return Ok(Seen::Other),
        };
        self.started.is_over();
        Ok(Seen::Ended(ended))
    }

    fn event(&mut self, event: i32) -> Result<(), CollectError> {
        let is = |wanted: Event| event == wanted as i32;
        if is(Event::PTRACE_EVENT_EXEC) {
            // The breakpoints went with the image.
            self.bytes.clear();
            return Err(CollectError::Executed);
        }
        if is(Event::PTRACE_EVENT_VFORK_DONE) {
            // The memory is its own again.
            return self.bytes.keys().try_for_each(|at| self.memory.write(*at, &[BREAKPOINT]));
        }
        let is_child = is(Event::PTRACE_EVENT_FORK) || is(Event::PTRACE_EVENT_VFORK);
        if !is_child && !is(Event::PTRACE_EVENT_CLONE) {
            return Ok(());
        }
        let number = ptrace::getevent(self.started.process)?;
        let child = Pid::from_raw(i32::try_from(number).unwrap_or_default());
        if !is_child && self.is_thread(child) {
            self.threads.push(child);
            return Err(CollectError::Thread);
        }
        self.children += 1;
        waitpid(child, Some(WaitPidFlag::__WALL))?;
        // A child that shares the memory gives it back; the memory has no breakpoints meanwhile.
        let memory = fs::OpenOptions::new().write(true).open(format!("/proc/{child}/mem"));
        let memory = memory.map_err(CollectError::Memory)?;
        for (at, byte) in &self.bytes {
            memory.write_all_at(&[*byte], *at).map_err(CollectError::Memory)?;
        }
        Ok(ptrace::detach(child, None)?)
    }

    fn is_thread(&self, child: Pid) -> bool {
        fs::exists(format!("/proc/{}/task/{child}", self.started.process)).unwrap_or(true)
    }

    /// Lets the program end without breakpoints.
    pub(crate) fn finish(&mut self) -> Result<Ended, CollectError> {
        self.keep(|_| false)?;
        for thread in core::mem::take(&mut self.threads) {
            waitpid(thread, Some(WaitPidFlag::__WALL))?;
            ptrace::detach(thread, None)?;
        }
        let process = self.started.process;
        ptrace::detach(process, self.signals.pop_front())?;
        let status = waitpid(process, None)?;
        self.started.is_over();
        Ok(match status {
            WaitStatus::Exited(_, code) => Ended::Returned(code),
            WaitStatus::Signaled(_, signal, _) => Ended::Killed(signal as i32),
            _ => return Err(CollectError::Memory(io::Error::other("the program stopped"))),
        })
    }

    /// Runs to the root. Returns the registers there.
    pub(crate) fn reach(&mut self, root: u64) -> Result<Registers, CollectError> {
        let at = root.wrapping_add(self.memory.bias);
        self.insert(at)?;
        match self.go()? {
            Stop::Ended(ended) => Err(CollectError::NotBegun(format!("{ended:?}"))),
            Stop::Trap(registers) => {
                self.remove(at)?;
                self.set(registers)?;
                Ok(registers)
            }
        }
    }
}

/// Returns whether an instruction caused a signal, and cannot run before the program has it.
fn is_fault(signal: &Signal) -> bool {
    use Signal::{SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS};
    matches!(signal, SIGBUS | SIGFPE | SIGILL | SIGSEGV | SIGSYS)
}

pub(crate) fn whole(mut file: File) -> Result<Vec<u8>, CollectError> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(CollectError::Memory)?;
    Ok(bytes)
}
