//! A program in memory: where its image lies, its bytes, room for displaced code.

use crate::CollectError;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;

/// The type of the entry of the auxiliary vector that has the program's first instruction.
const AT_ENTRY: u64 = 9;
const MMAP: u64 = 9;
const PROT_READ_EXECUTE: u64 = 1 | 4;
/// Private, anonymous, at this place or not at all.
const MAP_FLAGS: u64 = 0x2 | 0x20 | 0x10_0000;
const PAGE: u64 = 4096;
/// `syscall` and a breakpoint.
const CALL: [u8; 3] = [0x0f, 0x05, 0xcc];

/// The memory of a stopped program.
#[derive(Debug)]
pub(crate) struct Memory {
    file: File,
    process: Pid,
    /// What to add to an address of the file.
    pub(crate) bias: u64,
}

impl Memory {
    /// Opens the memory of a program whose file begins with the instruction at `entry`.
    pub(crate) fn open(process: Pid, entry: u64) -> Result<Memory, CollectError> {
        let path = format!("/proc/{process}/mem");
        let file =
            OpenOptions::new().read(true).write(true).open(path).map_err(CollectError::Memory)?;
        let vector = fs::read(format!("/proc/{process}/auxv")).map_err(CollectError::Memory)?;
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let place = vector
            .chunks_exact(16)
            .find(|pair| word(&pair[..8]) == AT_ENTRY)
            .map(|pair| word(&pair[8..]))
            .ok_or(CollectError::OtherImage)?;
        Ok(Memory { file, process, bias: place.wrapping_sub(entry) })
    }

    pub(crate) fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), CollectError> {
        self.file.read_exact_at(bytes, at).map_err(CollectError::Memory)
    }

    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Result<(), CollectError> {
        self.file.write_all_at(bytes, at).map_err(CollectError::Memory)
    }

    pub(crate) fn word(&self, at: u64) -> Result<u64, CollectError> {
        let mut bytes = [0; 8];
        self.read(at, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Maps executable pages near the image. The program must be at its first stop.
    pub(crate) fn room(&self, size: u64) -> Result<u64, CollectError> {
        let size = size.next_multiple_of(PAGE).max(PAGE);
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.process))
            .map_err(CollectError::Memory)?;
        let lowest = maps
            .lines()
            .filter_map(|line| u64::from_str_radix(line.split('-').next()?, 16).ok())
            .find(|start| *start >= self.bias & !(PAGE - 1))
            .ok_or(CollectError::NoRoom)?;
        // The pages below the image are free: it is the lowest that the system maps.
        let mut at = lowest.checked_sub(size).ok_or(CollectError::NoRoom)? & !0xffff;
        for _ in 0..16 {
            if at < 0x1_0000 {
                break;
            }
            let got = self.call(MMAP, [at, size, PROT_READ_EXECUTE, MAP_FLAGS, u64::MAX, 0])?;
            if got == at {
                return Ok(at);
            }
            at = at.saturating_sub(0x10_0000);
        }
        Err(CollectError::NoRoom)
    }

    /// Lets the stopped program make a system call, and be as before.
    fn call(&self, number: u64, arguments: [u64; 6]) -> Result<u64, CollectError> {
        let before = ptrace::getregs(self.process)?;
        let mut bytes = [0; CALL.len()];
        self.read(before.rip, &mut bytes)?;
        self.write(before.rip, &CALL)?;
        let mut registers = before;
        registers.rax = number;
        // Not a system call that the kernel would begin again.
        registers.orig_rax = u64::MAX;
        [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9] =
            arguments;
        ptrace::setregs(self.process, registers)?;
        ptrace::cont(self.process, None)?;
        let status = waitpid(self.process, None)?;
        if !matches!(status, WaitStatus::Stopped(_, Signal::SIGTRAP)) {
            return Err(CollectError::NotPrepared(format!("{status:?}")));
        }
        let result = ptrace::getregs(self.process)?.rax;
        self.write(before.rip, &bytes)?;
        ptrace::setregs(self.process, before)?;
        Ok(result)
    }
}
