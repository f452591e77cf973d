//! How much memory there is to play with.
//!
//! ```text
//!  MemAvailable of /proc/meminfo │ what is left of the limit of a control group ──▶ the least
//! ```
//!
//! Design: `.rep.room` in `design/replay.md`.

use std::fs;
use std::path::Path;

/// Where control groups are.
const GROUPS: &str = "/sys/fs/cgroup";

/// Bytes that can be used without harm to others; `None` where that is not known.
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

/// What is left of the limit of a group. Files that the kernel keeps in memory give way.
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
    fn memory_of_the_machine_is_read_as_the_kernel_writes_it() {
        let text = "MemTotal: 9 kB\nMemAvailable:   15234 kB\nBuffers: 1 kB\n";
        assert_eq!(of_machine(text), Some(15234 << 10));
        assert_eq!(of_machine("MemTotal: 9 kB\n"), None);
        let parts = "anon 50\nfile 40\nshmem 10\ninactive_file 20\nactive_file 10\n";
        assert_eq!(of_group("100\n", "90\n", parts), Some(40));
        assert_eq!(of_group("max\n", "90\n", parts), None);
    }
}
