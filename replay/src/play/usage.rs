//! Figures of the operating system about a process and its memory.
//!
//! ```text
//!  Linux: /proc/PID/statm, VmHWM of /proc/PID/status (clear_refs resets it)   faults: getrusage
//!  processor time: the clocks of the process and of a thread
//!  available memory: MemAvailable of /proc/meminfo, limits of control groups
//! ```
//!
//! The functions for the playing process allocate nothing: it may share an allocator with the
//! measured heap.
//!
//! Design: `.rep.process`, `.rep.room` in `design/replay.md`.

use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Returns the ns of the monotonic clock, which all processes share.
pub(crate) fn now() -> u64 {
    clock(ClockId::CLOCK_MONOTONIC)
}

/// Returns the page faults of this process so far: minor, major.
pub(crate) fn faults() -> (u64, u64) {
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    getrusage(UsageWho::RUSAGE_SELF).map_or((0, 0), |usage| {
        (count(usage.minor_page_faults()), count(usage.major_page_faults()))
    })
}

fn clock(id: ClockId) -> u64 {
    let time = clock_gettime(id).map(std::time::Duration::from);
    time.map_or(0, |time| time.as_nanos() as u64)
}

/// Returns the processor time of this process so far, of all its threads, in ns.
pub(crate) fn processor() -> u64 {
    clock(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// Returns the processor time of this thread so far, in ns.
pub(crate) fn processor_of_thread() -> u64 {
    clock(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// The file with the resident memory of a process, and the size of a page.
#[derive(Debug)]
pub(crate) struct Statm(Option<File>, u64);

impl Statm {
    /// Opens the file of a process; `None` is this process.
    pub(crate) fn open(pid: Option<u32>) -> Statm {
        let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten();
        let file = match pid {
            Some(pid) => File::open(format!("/proc/{pid}/statm")),
            None => File::open("/proc/self/statm"),
        };
        Statm(file.ok(), page.and_then(|page| u64::try_from(page).ok()).unwrap_or(4096))
    }

    /// Returns the resident memory in bytes; `None` if the system has no such file.
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

/// Resets the peak of resident memory to the current value, if the system can do so.
pub(crate) fn reset_peak() {
    if let Ok(mut file) = File::options().write(true).open("/proc/self/clear_refs") {
        let _ = file.write_all(b"5");
    }
}

/// Returns the peak of resident memory of this process, in bytes.
pub(crate) fn peak() -> Option<u64> {
    let mut text = [0; 4096];
    let size = File::open("/proc/self/status").ok()?.read(&mut text).ok()?;
    peak_of(text.get(..size)?)
}

fn peak_of(status: &[u8]) -> Option<u64> {
    let mut lines = status.split(|byte| *byte == b'\n');
    let line = lines.find_map(|line| line.strip_prefix(b"VmHWM:"))?;
    let words = str::from_utf8(line).ok()?;
    Some(words.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Returns whether this process maps a file; `None` if the system does not tell.
pub(crate) fn is_mapped(inode: u64) -> Option<bool> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let inode = inode.to_string();
    Some(maps.lines().any(|line| line.split_whitespace().nth(4) == Some(&inode)))
}

/// The folder of control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// Returns the bytes that are available without harm to others; `None` if that is not known.
pub(crate) fn available() -> Option<u64> {
    let memory = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_machine(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let path = Path::new(GROUPS).join(group.trim_start_matches('/'));
    let of_groups = path.ancestors().filter_map(|folder| {
        let text = |name| fs::read_to_string(folder.join(name)).ok();
        of_group(&text("memory.max")?, &text("memory.current")?, &text("memory.stat")?)
    });
    memory.into_iter().chain(of_groups).min()
}

/// Returns the rest of the limit of a group. Files that the kernel caches do not count as used.
fn of_group(most: &str, used: &str, parts: &str) -> Option<u64> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let of_file = parts.lines().filter_map(|line| {
        let line = line.strip_prefix("inactive_").or(line.strip_prefix("active_"))?;
        number(line.strip_prefix("file ")?)
    });
    let used = number(used)?.saturating_sub(of_file.fold(0, u64::saturating_add));
    Some(number(most)?.saturating_sub(used))
}

fn of_machine(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_kernel_are_parsed() {
        assert_eq!(second_number(b"1234 567 89 1 0 2 0\n"), Some(567));
        assert_eq!(second_number(b""), None);
        assert_eq!(peak_of(b"Name:\tx\nVmHWM:\t    5432 kB\nVmRSS:\t1 kB\n"), Some(5432 * 1024));
    }

    #[test]
    fn available_memory_is_parsed() {
        let text = "MemTotal: 9 kB\nMemAvailable:   15234 kB\nBuffers: 1 kB\n";
        assert_eq!(of_machine(text), Some(15234 << 10));
        assert_eq!(of_machine("MemTotal: 9 kB\n"), None);
        let parts = "anon 50\nfile 40\nshmem 10\ninactive_file 20\nactive_file 10\n";
        assert_eq!(of_group("100\n", "90\n", parts), Some(40));
        assert_eq!(of_group("max\n", "90\n", parts), None);
    }
}
