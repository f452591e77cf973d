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
        let number = |name: &str| {
            fs::read_to_string(folder.join(name)).ok().and_then(|text| text.trim().parse().ok())
        };
        let (most, used): (u64, u64) = (number("memory.max")?, number("memory.current")?);
        Some(most.saturating_sub(used))
    });
    memory.into_iter().chain(of_groups).min()
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
    }
}
