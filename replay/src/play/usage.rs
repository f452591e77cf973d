//! Figures of the operating system about a process and its memory.
//!
//! ```text
//!  Linux: /proc/PID/statm, VmHWM of /proc/PID/status (clear_refs resets it)   faults: stat
//!  processor time: the clocks of the process and of a thread
//!  available memory: MemAvailable of /proc/meminfo, limits of control groups
//! ```
//!
//! The functions for the playing process allocate nothing: it may share an allocator with the
//! measured heap.
//!
//! Design: `.rep.process`, `.rep.room` in `design/replay.md`.

use rustix::param::page_size;
use rustix::time::{ClockId, clock_gettime};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Returns the ns of the monotonic clock, which all processes share.
pub(crate) fn now() -> u64 {
    clock(ClockId::Monotonic)
}

/// Returns the page faults of this process so far: minor, major.
pub(crate) fn faults() -> (u64, u64) {
    let mut text = [0; 1024];
    let size = File::open("/proc/self/stat").and_then(|mut file| file.read(&mut text));
    size.ok().and_then(|size| faults_of(text.get(..size)?)).unwrap_or_default()
}

/// Finds the two counts behind the name of the program, which is in brackets and may be any text.
fn faults_of(stat: &[u8]) -> Option<(u64, u64)> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = str::from_utf8(stat.get(name_end..)?).ok()?.split(' ').skip(8);
    Some((fields.next()?.parse().ok()?, fields.nth(1)?.parse().ok()?))
}

fn clock(id: ClockId) -> u64 {
    let time = clock_gettime(id);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the processor time of this process so far, of all its threads, in ns.
pub(crate) fn processor() -> u64 {
    clock(ClockId::ProcessCPUTime)
}

/// Returns the processor time of this thread so far, in ns.
pub(crate) fn processor_of_thread() -> u64 {
    clock(ClockId::ThreadCPUTime)
}

/// The file with the resident memory of a process, and the size of a page.
#[derive(Debug)]
pub(crate) struct Statm(Option<File>, u64);

impl Statm {
    /// Opens the file of a process; `None` is this process.
    pub(crate) fn open(pid: Option<u32>) -> Statm {
        let file = match pid {
            Some(pid) => File::open(format!("/proc/{pid}/statm")),
            None => File::open("/proc/self/statm"),
        };
        Statm(file.ok(), page_size() as u64)
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
        // Of a program called "a) b", as `ps -o min_flt` has it.
        let stat = b"31866 (a) b) S 31816 31795 26332 0 -1 4194304 117 0 4 0 0 0 0 0 20 0 1 0 2005";
        assert_eq!(faults_of(stat), Some((117, 4)));
        assert_eq!(peak_of(b"Name:\tx\nVmHWM:\t    5432 kB\nVmRSS:\t1 kB\n"), Some(5432 * 1024));
    }

    #[test]
    fn faults_of_new_memory_are_counted() {
        let before = faults().0;
        let memory = vec![1u8; 16 << 20];
        assert!(faults().0 - before > 1, "{} bytes", std::hint::black_box(memory).len());
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
