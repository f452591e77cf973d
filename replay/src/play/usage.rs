//! What the operating system says of a process: resident memory, its peak, page faults.
//!
//! ```text
//!  Linux: /proc/PID/statm, VmHWM of /proc/PID/status (clear_refs: anew)     faults: getrusage
//!  processor time: the clocks of the process and of a thread
//!  elsewhere: the greatest resident memory, of getrusage
//! ```
//!
//! Allocates nothing: what asks may share an allocator with what is measured.
//!
//! Design: `.rep.process` in `design/replay.md`.

use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;

/// ns of the monotonic clock, which all processes share.
pub(crate) fn now() -> u64 {
    clock(ClockId::CLOCK_MONOTONIC)
}

/// Page faults of this process so far: minor, major.
pub(crate) fn faults() -> (u64, u64) {
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    getrusage(UsageWho::RUSAGE_SELF).map_or((0, 0), |usage| {
        (count(usage.minor_page_faults()), count(usage.major_page_faults()))
    })
}

/// Processor time of a clock, in ns.
fn clock(id: ClockId) -> u64 {
    let time = clock_gettime(id).map(std::time::Duration::from);
    time.map_or(0, |time| time.as_nanos() as u64)
}

/// Processor time of this process so far, user and system, of all its threads, in ns.
pub(crate) fn processor() -> u64 {
    clock(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// The same of this thread.
pub(crate) fn processor_of_thread() -> u64 {
    clock(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// Where resident memory of a process is read.
#[derive(Debug)]
pub(crate) struct Statm(Option<File>, u64);

impl Statm {
    /// Of a process; `None` is this one.
    pub(crate) fn open(pid: Option<u32>) -> Statm {
        let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten();
        let file = match pid {
            Some(pid) => File::open(format!("/proc/{pid}/statm")),
            None => File::open("/proc/self/statm"),
        };
        Statm(file.ok(), page.and_then(|page| u64::try_from(page).ok()).unwrap_or(4096))
    }

    /// Bytes; `None` where that cannot be had.
    pub(crate) fn resident(&self) -> Option<u64> {
        let mut text = [0; 128];
        let size = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        Some(second_number(text.get(..size)?)? * self.1)
    }
}

fn second_number(text: &[u8]) -> Option<u64> {
    let word = text.split(|byte| *byte == b' ').nth(1)?;
    str::from_utf8(word).ok()?.parse().ok()
}

/// Begins the peak anew at what is resident now, where that can be done.
pub(crate) fn reset_peak() {
    if let Ok(mut file) = File::options().write(true).open("/proc/self/clear_refs") {
        let _ = file.write_all(b"5");
    }
}

/// The most resident memory of this process, in bytes.
pub(crate) fn peak() -> Option<u64> {
    let mut text = [0; 4096];
    if let Ok(mut file) = File::open("/proc/self/status") {
        let size = file.read(&mut text).ok()?;
        return peak_of(text.get(..size)?);
    }
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    Some(u64::try_from(usage.max_rss()).ok()? * unit)
}

fn peak_of(status: &[u8]) -> Option<u64> {
    let mut lines = status.split(|byte| *byte == b'\n');
    let line = lines.find_map(|line| line.strip_prefix(b"VmHWM:"))?;
    let words = str::from_utf8(line).ok()?;
    Some(words.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Whether a file is mapped into this process, where that can be told.
pub(crate) fn is_mapped(inode: u64) -> Option<bool> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let inode = inode.to_string();
    Some(maps.lines().any(|line| line.split_whitespace().nth(4) == Some(&inode)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_the_kernel_writes_it() {
        assert_eq!(second_number(b"1234 567 89 1 0 2 0\n"), Some(567));
        assert_eq!(second_number(b""), None);
        assert_eq!(peak_of(b"Name:\tx\nVmHWM:\t    5432 kB\nVmRSS:\t1 kB\n"), Some(5432 * 1024));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_this_process_writes_becomes_resident() {
        let (own, same) = (Statm::open(None), Statm::open(Some(std::process::id())));
        let written = || {
            let before = own.resident().expect("/proc is there");
            let memory = std::hint::black_box(vec![1u8; 8 << 20]);
            let after = same.resident().expect("/proc is there");
            after >= before + (memory.len() as u64 / 2)
        };
        // Meanwhile other tests of this process may give memory back.
        assert!((0..50).any(|_| written()));
        assert!(peak() > Some(0));
    }
}
